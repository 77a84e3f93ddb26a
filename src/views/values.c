/* values.c - the view `values`: work that left values as they were, by object.
 *
 * docs/values.md says how each number is computed.
 */
#include "analyze/answers/values/patterns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "values_graph.h"

enum { FRAMES_MAX = 64 };

static const char *const engine_names[] = {
#define X(name, text) text,
    SONDE_ENGINE_MAP(X)
#undef X
};

static const struct sonde_view_column pattern_columns[] = {
    {"pattern", NULL, SONDE_CELL_TEXT, 0, 0,
     "redundant: elements were written that held the same value before; duplicate: another object held the same values; single_zero, single_value, heavy_type, structured, frequent, "
     "approximate: what elements that were accessed have in common"},
    {"operation", NULL, SONDE_CELL_TEXT, 0, 0, "kernel, or API call of another operation"},
    {"called_from", NULL, SONDE_CELL_TEXT, 0, 0, "calling context of the operation, innermost frame first"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "number of operations compared"},
    {"share", NULL, SONDE_CELL_SHARE, 0, 0, "part of the elements that match the pattern"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of these elements, summed over the operations"},
    {"element_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of an element; null: of several sizes"},
    {"line", NULL, SONDE_CELL_TEXT, 0, 0, "line of the kernel's source with the access, of redundant values with the store; null: on several lines, or not known"},
    {"evidence", NULL, SONDE_CELL_TEXT, 0, 0, "the numbers behind it, in one sentence"},
    {"exact", NULL, SONDE_CELL_BOOLEAN, 0, 0,
     "false: elements that the operations may not have written are counted as unchanged; another operation may have written the object at the "
     "same time; or not all accesses were looked at for this pattern, or not all blocks"},
    {"share_low", NULL, SONDE_CELL_SHARE, 0, 0, "--values-blocks: the share of all blocks is likely (95 %) to lie between this one"},
    {"share_high", NULL, SONDE_CELL_SHARE, 0, 0, "and this one; both null: all blocks were looked at"},
};
static const struct sonde_view_columns patterns = SONDE_VIEW_COLUMNS("patterns", pattern_columns);

static const struct sonde_view_column object_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kind of the objects and the user's function that allocated them"},
    {"site", NULL, SONDE_CELL_TEXT, 0, 0, "calling context of the allocation, innermost frame first"},
    {"count", NULL, SONDE_CELL_COUNT, 0, 0, "objects allocated there that were compared"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "their total size"},
    {"patterns", NULL, SONDE_CELL_LIST, 0, 0, "patterns found, largest first", .of = &patterns},
    {"names", NULL, SONDE_CELL_LIST, 0, 0, "names that the program gave to parts of these objects (sonde/sonde.h)", .of = &sonde_names},
};
static const struct sonde_view_columns objects = SONDE_VIEW_COLUMNS("objects", object_columns);

static const struct sonde_view_column coverage_columns[] = {
    {"kernel", "Looked at", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel, or API call of another operation that writes memory"},
    {"engine", NULL, SONDE_CELL_TEXT, 0, 0, "how the kernel was instrumented: ptx; spirv (in LLVM bitcode, too); sanitizer (machine code); none"},
    {"launches", "operations", SONDE_CELL_COUNT, 0, 0, "number of operations completed"},
    {"looked_at", "compared", SONDE_CELL_COUNT, 0, 0, "operations of which everything that they may have written was compared"},
    {"blocks", NULL, SONDE_CELL_COUNT, 0, 0, "--values-blocks: blocks, or work-groups, of the launches that were looked at; null: all of these were, too"},
    {"blocks_looked_at", NULL, SONDE_CELL_COUNT, 0, 0, "those of them that were"},
    {"reason", "why not all, or not exactly", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "why fewer were compared than completed, or why the result is not exact"},
};
static const struct sonde_view_columns coverage = SONDE_VIEW_COLUMNS("coverage", coverage_columns);

static const struct sonde_view_column answer_columns[] = {
    {"objects", NULL, SONDE_CELL_LIST, 0, 0, "data objects by allocation site, most wasted bytes first", .of = &objects},
    {"coverage", NULL, SONDE_CELL_LIST, 0, 0, "what was compared, by kernel or API call", .of = &coverage},
    {"graph", NULL, SONDE_CELL_OBJECT, 0, 0, "the value flow graph", .of = &sonde__values_graph},
};
static const struct sonde_view_columns answer = SONDE_VIEW_COLUMNS("answer", answer_columns);

static const struct sonde_view_column row_columns[] = {
    {NULL, "Unchanged by", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "operation that wrote values that were there already (definition 3.1: redundant values), and the line of its kernel's source, where that is known"},
    {NULL, "count", SONDE_CELL_COUNT, 0, 2, "number of operations compared"},
    {NULL, "% unchanged", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0, "% of the elements written that held the same value before; ≤: those not written are counted, too"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 1, "size of the unchanged elements, summed over the operations"},
    {NULL, "called from", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first"},
    {NULL, "object", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "kind of data object and where it was allocated"},
};
static const struct sonde_view_columns rows = SONDE_VIEW_COLUMNS("values", row_columns);

static const struct sonde_view_column access_columns[] = {
    {NULL, "Pattern", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "what elements accessed have in common, or objects (definitions 3.2 to 3.8)"},
    {NULL, "kernel", SONDE_CELL_TEXT, 0, 0, "kernel that accessed them, or operation after which objects were equal"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 1, "size of these elements, each counted as often as it was accessed"},
    {NULL, "% accesses", SONDE_CELL_SHARE, 0, 0, "part of all elements that the kernel accessed in these objects"},
    {NULL, "line", SONDE_CELL_TEXT, 0, 0, "line of the kernel's source with the access; -: of several accesses, or not known"},
    {NULL, "values", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "the values that were found"},
    {NULL, "object", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "kind of data object and where it was allocated"},
};
static const struct sonde_view_columns accesses = SONDE_VIEW_COLUMNS("accesses", access_columns);

/* ---- cells -------------------------------------------------------------------------------- */

static void cell_callers(struct sonde_view_table *t, const struct sonde_query *q, uint32_t node, uint32_t max)
{
    struct sonde_text text = {0};
    sonde_name_callers(q, &text, node, max);
    sonde_cell_take(t, &text);
}

/* "buffer in setup() heat.c:20 ← main() heat.c:140" */
static void name_site(const struct sonde_query *q, struct sonde_text *out, uint32_t kind, uint32_t node)
{
    sonde_text_format(out, node ? "%s in " : "%s", sonde_object_kind_name(kind));
    if (node)
        sonde_name_callers(q, out, node, 2);
}

static void name_object(const struct sonde_query *q, struct sonde_text *out, const struct sonde_value_site *site)
{
    name_site(q, out, site->kind, site->node);
}

static void cell_object(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site)
{
    struct sonde_text text = {0};
    name_object(q, &text, site);
    sonde_cell_take(t, &text);
}

static void cell_evidence(struct sonde_view_table *t, const struct sonde_value_redundant *r)
{
    char unchanged[SONDE_NUMBER_MAX], elements[SONDE_NUMBER_MAX], count[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s of %s elements", sonde_number_count(unchanged, r->unchanged), sonde_number_count(elements, r->elements));
    if (r->element_bytes)
        sonde_text_format(&text, " of %u byte%s%s", r->element_bytes, r->element_bytes == 1 ? "" : "s", r->element_assumed ? " (assumed)" : "");
    sonde_text_format(&text, " held the same value before, in %s operation%s", sonde_number_count(count, r->operations), r->operations == 1 ? "" : "s");
    if (!r->exact)
        sonde_text_format(&text, "%s", r->maybe ? "; some of them may not have been written" : "; others may have written them meanwhile");
    sonde_cell_take(t, &text);
}

/* file NULL, line 0: not known. */
static void cell_place(struct sonde_view_table *t, const char *file, uint32_t line)
{
    struct sonde_text text = {0};
    if (file && line)
        sonde_text_format(&text, "%s:%" PRIu32, sonde_path_base(file), line);
    sonde_cell_take(t, &text);
}

static void cell_line(struct sonde_view_table *t, const struct sonde_value_pattern *p)
{
    cell_place(t, p->accesses == 1 ? p->of.file : NULL, p->of.line);
}

/* Of machine code the type is not known: larger ones are told as bits, for they are hardly integers. */
static void say_bits(struct sonde_text *text, const struct sonde_value_accessed *a, int64_t number)
{
    const uint64_t bits = (uint64_t)number & (a->element_bytes < 8 ? (1ull << 8 * a->element_bytes) - 1 : UINT64_MAX);
    struct sonde_value_accessed real = *a;
    real.type = SONDE_ELEMENT_FLOAT;
    sonde_text_format(text, "0x%0*" PRIx64, 2 * a->element_bytes, bits);
    if (sonde_value_is_real(&real))
        sonde_text_format(text, ", as a %s %.9g", a->element_bytes == 8 ? "double" : "float", sonde_value_number(&real, sonde_value_of_bits(&real, bits)));
}

static void say_number(struct sonde_text *text, const struct sonde_value_accessed *a, int64_t number)
{
    if (sonde_value_is_told_as_real(a))
        sonde_text_format(text, "%.9g", sonde_value_number(a, number));
    else if (a->type == SONDE_ELEMENT_BITS && (number < INT16_MIN || number > UINT16_MAX))
        say_bits(text, a, number);
    else
        sonde_text_format(text, "%" PRId64, number);
}

/* "all are ", "75 % are "; where not all were compared, "≈ 75 % are ". */
static void say_share(struct sonde_text *text, const struct sonde_value_pattern *p, const struct sonde_value_guess *guess)
{
    char share[SONDE_NUMBER_MAX];
    if (guess->matching == p->of.elements)
        sonde_text_format(text, "all are ");
    else
        sonde_text_format(text, "%s%s are ", p->exact ? "" : "≈ ", sonde_number_percent(share, (double)guess->matching, (double)guess->checked));
}

/* "3 * i + 1": i counts from where the kernel's parameter points. */
static void say_line(struct sonde_text *text, const struct sonde_value_accessed *a)
{
    double slope, offset;
    memcpy(&slope, &a->linear.slope, sizeof slope);
    memcpy(&offset, &a->linear.offset, sizeof offset);
    if (sonde_value_is_real(a))
        sonde_text_format(text, "%.9g * i", slope);
    else
        sonde_text_format(text, "%" PRId64 " * i", a->linear.slope);
    if (sonde_value_is_real(a) && offset != 0)
        sonde_text_format(text, " %c %.9g", offset < 0 ? '-' : '+', fabs(offset));
    else if (!sonde_value_is_real(a) && a->linear.offset)
        sonde_text_format(text, " %c %" PRIu64, a->linear.offset < 0 ? '-' : '+', a->linear.offset < 0 ? -(uint64_t)a->linear.offset : (uint64_t)a->linear.offset);
}

/* "all are 2.5", "-3 to 117: int8_t would do". */
static void say_values(struct sonde_text *text, const struct sonde_value_pattern *p)
{
    const struct sonde_value_accessed *a = &p->of;
    switch (p->kind) {
    case SONDE_PATTERN_SINGLE_ZERO:
        sonde_text_format(text, "all are zero");
        return;
    case SONDE_PATTERN_SINGLE_VALUE:
        sonde_text_format(text, "all are %s", a->least > a->most ? "NaN" : "");
        if (a->least <= a->most)
            say_number(text, a, a->least);
        return;
    case SONDE_PATTERN_FREQUENT:
        say_share(text, p, &p->guess);
        say_number(text, a, sonde_value_of_bits(a, p->guess.value));
        return;
    case SONDE_PATTERN_STRUCTURED:
        say_share(text, p, &p->guess);
        say_line(text, a);
        return;
    default:
        if (p->as == SONDE_PATTERN_FREQUENT) {
            char share[SONDE_NUMBER_MAX];
            sonde_text_format(text, "≥ %s are ", sonde_number_percent(share, (double)p->guess.matching, (double)p->guess.checked));
            say_number(text, a, sonde_value_of_bits(a, p->guess.value));
            sonde_text_format(text, " within %u bits of mantissa", p->mantissa);
            return;
        }
        say_number(text, a, a->least);
        sonde_text_format(text, " to ");
        say_number(text, a, a->most);
    }
    if (p->narrower && p->as == SONDE_PATTERN_HEAVY_TYPE)
        sonde_text_format(text, ": %s would do for %u bits of mantissa", p->narrower, p->mantissa);
    else if (p->narrower)
        sonde_text_format(text, ": %s would do", p->narrower);
    else
        sonde_text_format(text, ": the same within %u bits of mantissa", p->mantissa);
}

/* "40 % to 61 % of all blocks" */
static void say_interval(struct sonde_text *text, const struct sonde_value_pattern *p)
{
    char low[SONDE_NUMBER_MAX], high[SONDE_NUMBER_MAX];
    sonde_text_format(text, "%s to %s", sonde_number_percent(low, p->low, 1), sonde_number_percent(high, p->high, 1));
}

static void cell_found(struct sonde_view_table *t, const struct sonde_value_pattern *p)
{
    char elements[SONDE_NUMBER_MAX], checked[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s element%s of %u byte%s, accessed in %" PRIu32 " place%s", sonde_number_count(elements, p->of.elements),
                      p->of.elements == 1 ? "" : "s", p->of.element_bytes, p->of.element_bytes == 1 ? "" : "s", p->accesses, p->accesses == 1 ? "" : "s");
    if (p->guess.checked && !p->exact && p->as == SONDE_PATTERN_NONE)
        sonde_text_format(&text, ", %s of them counted", sonde_number_count(checked, p->guess.checked));
    sonde_text_format(&text, ": ");
    say_values(&text, p);
    if (p->estimated) {
        sonde_text_format(&text, "; in %s", sonde_number_count(elements, p->of.blocks.looked_at));
        sonde_text_format(&text, " of %s blocks: the share in all is likely to be ", sonde_number_count(checked, p->of.blocks.all));
        say_interval(&text, p);
    }
    sonde_cell_take(t, &text);
}

static void found_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_pattern *p)
{
    sonde_cell_text(t, sonde_pattern_name(p->kind));
    sonde_cell_text(t, sonde_value_operation_name(q->profile, p->of.operation));
    cell_callers(t, q, p->of.operation, FRAMES_MAX);
    sonde_cell_int(t, true, q->profile->nodes.items[p->of.operation].self.operations);
    sonde_cell_share(t, (double)p->elements, (double)p->all_elements);
    sonde_cell_int(t, true, p->elements * p->of.element_bytes);
    sonde_cell_int(t, true, p->of.element_bytes);
    cell_line(t, p);
    cell_found(t, p);
    sonde_cell_boolean(t, p->exact);
    sonde_cell_share(t, p->low, p->estimated);
    sonde_cell_share(t, p->high, p->estimated);
}

static void access_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site, const struct sonde_value_pattern *p)
{
    struct sonde_text text = {0};
    sonde_cell_text(t, sonde_pattern_name(p->kind));
    sonde_cell_text(t, sonde_value_operation_name(q->profile, p->of.operation));
    sonde_cell_int(t, true, p->elements * p->of.element_bytes);
    sonde_cell_share(t, (double)p->elements, (double)p->all_elements);
    cell_line(t, p);
    say_values(&text, p);
    if (p->estimated) {
        sonde_text_format(&text, " (");
        say_interval(&text, p);
        sonde_text_format(&text, " of all blocks)");
    }
    sonde_cell_take(t, &text);
    cell_object(t, q, site);
}

/* "the same as buffer in setup() heat.c:20 ← main() heat.c:140" */
static void say_other(const struct sonde_query *q, struct sonde_text *text, const struct sonde_value_site *site, const struct sonde_value_duplicates *d)
{
    const bool same = site->kind == d->kind && site->node == d->node;
    sonde_text_format(text, same ? "the same as another " : "the same as ");
    name_site(q, text, d->kind, d->node);
}

/* All blocks mark what they write. */
static void no_interval(struct sonde_view_table *t)
{
    sonde_cell_share(t, 0, 0);
    sonde_cell_share(t, 0, 0);
}

static void duplicate_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site, const struct sonde_value_duplicates *d)
{
    char bytes[SONDE_NUMBER_MAX], count[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_cell_text(t, "duplicate");
    sonde_cell_text(t, sonde_value_operation_name(q->profile, d->operation));
    cell_callers(t, q, d->operation, FRAMES_MAX);
    sonde_cell_int(t, true, d->operations);
    sonde_cell_share(t, 1, 1);
    sonde_cell_int(t, true, d->bytes);
    sonde_cell_int(t, true, 1);
    sonde_cell_text(t, NULL);
    sonde_text_format(&text, "all %s bytes were ", sonde_number_count(bytes, d->bytes / d->operations));
    say_other(q, &text, site, d);
    sonde_text_format(&text, ", after %s operation%s", sonde_number_count(count, d->operations), d->operations == 1 ? "" : "s");
    sonde_cell_take(t, &text);
    sonde_cell_boolean(t, true);
    no_interval(t);
}

static void same_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site, const struct sonde_value_duplicates *d)
{
    struct sonde_text text = {0};
    sonde_cell_text(t, "duplicate");
    sonde_cell_text(t, sonde_value_operation_name(q->profile, d->operation));
    sonde_cell_int(t, true, d->bytes);
    sonde_cell_share(t, 1, 1);
    sonde_cell_text(t, NULL);
    say_other(q, &text, site, d);
    sonde_cell_take(t, &text);
    cell_object(t, q, site);
}

static void pattern_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_redundant *r)
{
    sonde_cell_text(t, "redundant");
    sonde_cell_text(t, sonde_value_operation_name(q->profile, r->operation));
    cell_callers(t, q, r->operation, FRAMES_MAX);
    sonde_cell_int(t, true, r->operations);
    sonde_cell_share(t, (double)r->unchanged, (double)r->elements);
    sonde_cell_int(t, true, r->unchanged_bytes);
    sonde_cell_int(t, r->element_bytes != 0, r->element_bytes);
    cell_place(t, r->file, r->line);
    cell_evidence(t, r);
    sonde_cell_boolean(t, r->exact);
    no_interval(t);
}

static void object_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site, double threshold,
                       const struct sonde_value_patterns *found)
{
    cell_object(t, q, site);
    cell_callers(t, q, site->node, FRAMES_MAX);
    sonde_cell_int(t, true, site->objects);
    sonde_cell_int(t, true, site->bytes);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < site->redundant.count; i++)
        if (sonde_value_is_redundant(&site->redundant.items[i], threshold))
            pattern_row(list, q, &site->redundant.items[i]);
    for (size_t i = 0; i < site->duplicates.count; i++)
        duplicate_row(list, q, site, &site->duplicates.items[i]);
    for (size_t i = 0; i < found->items.count; i++)
        found_row(list, q, &found->items.items[i]);
    sonde_cell_names(t, q, SONDE_STRETCHES_ALL, site->kind, site->node);
}

static void row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_value_site *site, const struct sonde_value_redundant *r)
{
    char share[SONDE_NUMBER_MAX];
    struct sonde_text operation = {0}, text = {0};
    sonde_text_format(&operation, "%s", sonde_value_operation_name(q->profile, r->operation));
    if (r->line)
        sonde_text_format(&operation, " %s:%" PRIu32, sonde_path_base(r->file), r->line);
    sonde_text_format(&text, "%s%s", r->exact ? "" : "≤ ", sonde_number_percent(share, (double)r->unchanged, (double)r->elements));
    sonde_cell_take(t, &operation);
    sonde_cell_int(t, true, r->operations);
    sonde_cell_take(t, &text);
    sonde_cell_int(t, true, r->unchanged_bytes);
    cell_callers(t, q, r->operation, 2);
    cell_object(t, q, site);
}

/* The commonest. NULL: there is none. */
static const char *reason_of(const struct sonde_value_coverage *c)
{
    unsigned why = 0;
    for (unsigned k = 1; k < SONDE_VALUE_MISSED_COUNT; k++)
        why = c->missed[k] > (why ? c->missed[why] : 0) ? k : why;
    if (why)
        return sonde_value_missed_text(why);
    if (sonde_value_unseen(c))
        return SONDE_VALUE_UNSEEN;
    if (c->maybe)
        return "what it wrote is not known: all of its buffers were compared";
    return c->raced ? "another queue, or the host, may have written the same memory meanwhile" : NULL;
}

static void cell_reason(struct sonde_view_table *t, const struct sonde_value_coverage *c)
{
    char all[SONDE_NUMBER_MAX], blocks[SONDE_NUMBER_MAX];
    const char *reason = reason_of(c);
    struct sonde_text text = {0};
    if (sonde_value_is_sample(&c->blocks))
        sonde_text_format(&text, "values of %s of %s blocks (--values-blocks)%s%s", sonde_number_count(blocks, c->blocks.looked_at),
                          sonde_number_count(all, c->blocks.all), reason ? "; others: " : "", reason ? reason : "");
    else if (reason)
        sonde_text_format(&text, "%s", reason);
    sonde_cell_take(t, &text);
}

static void coverage_row(struct sonde_view_table *t, const struct sonde_value_coverage *c)
{
    unsigned engine = SONDE_ENGINE_COUNT - 1;
    while (engine && !(c->engines >> engine & 1))
        engine--;
    sonde_cell_text(t, c->name);
    sonde_cell_text(t, engine_names[engine]);
    sonde_cell_int(t, true, c->operations);
    sonde_cell_int(t, true, c->whole < c->operations ? c->whole : c->operations);
    sonde_cell_int(t, c->blocks.all != 0, c->blocks.all);
    sonde_cell_int(t, c->blocks.all != 0, c->blocks.looked_at);
    cell_reason(t, c);
}

/* ---- the view ------------------------------------------------------------------------------- */

static bool is_asked_for(const struct sonde_query *q, const struct sonde_value_site *site)
{
    struct sonde_text name = {0};
    name_object(q, &name, site);
    const bool found = !q->values.object || strstr(sonde_text_get(&name), q->values.object);
    sonde_text_fini(&name);
    return found;
}

/* A table with as many rows as are asked for. */
struct listed {
    struct sonde_view_table *table;
    size_t found;
};

static bool has_place(const struct sonde_query *q, struct listed *l)
{
    l->found++;
    const bool place = sonde_query_rows(q, l->found) == l->found;
    l->table->left_out += !place;
    return place;
}

static int site_rows(const struct sonde_query *q, const struct sonde_value_site *site, double threshold, struct sonde_view_table *list,
                     struct listed *unchanged, struct listed *accessed)
{
    struct sonde_value_patterns found = {0};
    const struct sonde_value_asked asked = {
        .narrow = q->values.mantissa_given,
        .mantissa = q->values.mantissa_given ? q->values.mantissa : SONDE_PATTERN_MANTISSA,
        .common = q->values.frequent_given ? q->values.frequent : SONDE_PATTERN_COMMON,
    };
    const int rc = sonde_value_patterns_find(site, &asked, &found);
    if (!rc)
        object_row(list, q, site, threshold, &found);
    for (size_t k = 0; k < site->redundant.count && !rc; k++)
        if (sonde_value_is_redundant(&site->redundant.items[k], threshold) && has_place(q, unchanged))
            row(unchanged->table, q, site, &site->redundant.items[k]);
    for (size_t k = 0; k < site->duplicates.count && !rc; k++)
        if (has_place(q, accessed))
            same_row(accessed->table, q, site, &site->duplicates.items[k]);
    for (size_t k = 0; k < found.items.count && !rc; k++)
        if (has_place(q, accessed))
            access_row(accessed->table, q, site, &found.items.items[k]);
    sonde_value_patterns_fini(&found);
    return rc;
}

static void show(const struct sonde_values *v, const struct listed *unchanged, const struct listed *accessed, struct sonde_view_data *out)
{
    if (unchanged->found)
        sonde_view_show(out, unchanged->table, false);
    else if (v->coarse && v->threshold > 0)
        sonde_view_say(out, false, "no operation left %.3g %% or more of what it wrote as it was", 100 * v->threshold);
    else if (v->coarse)
        sonde_view_say(out, false, "no operation is known to have written what was compared");
    if (accessed->found)
        sonde_view_show(out, accessed->table, unchanged->found > 0);
    else if (v->fine)
        sonde_view_say(out, false, "the values that kernels accessed have nothing in common");
}

static int fill(const struct sonde_query *q, const struct sonde_values *v, const struct sonde_flow *g, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &answer);
    struct listed unchanged = {.table = sonde_view_table(out, &rows)}, accessed = {.table = sonde_view_table(out, &accesses)};
    struct sonde_view_table *list = sonde_cell_list(t), *looked_at = sonde_cell_list(t);
    int rc = 0;
    for (size_t i = 0; i < v->sites.count && !rc; i++)
        if (is_asked_for(q, &v->sites.items[i]))
            rc = site_rows(q, &v->sites.items[i], v->threshold, list, &unchanged, &accessed);
    for (size_t i = 0; i < v->coverage.count; i++)
        coverage_row(looked_at, &v->coverage.items[i]);
    struct sonde_view_table *flow = sonde_view_table(out, &sonde__values_flow);
    sonde__values_graph_fill(q, g, sonde_cell_object(t), flow);
    if (q->values.graph) {
        if (g->edges.count)
            sonde_view_show(out, flow, false);
        else
            sonde_view_say(out, false, "no operation is known that used a data object%s", v->coarse ? "" : ": sonde record --values");
        return rc;
    }
    if (!v->coarse && !v->fine && !v->coverage.count && !accessed.found)
        sonde_view_say(out, false, "values were not recorded: sonde record --values");
    else if (q->values.object && !sonde_view_rows(list))
        sonde_view_say(out, false, "no data object that was looked at has '%s' in its name", q->values.object);
    else
        show(v, &unchanged, &accessed, out);
    if (v->coverage.count)
        sonde_view_show(out, looked_at, true);
    return rc;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_values values = {0};
    struct sonde_flow graph = {0};
    const double otherwise = q->values.object ? 0 : SONDE_VALUES_THRESHOLD; /* of what was asked for, all */
    int rc = sonde_values_compute(q->m, q->profile, q->values.threshold_given ? q->values.threshold : otherwise, &values);
    rc = rc ? rc : sonde_flow_compute(q->m, q->profile, &values, &graph);
    if (rc)
        sonde_diag_set(diag, rc, q->path, "cannot read the values of");
    rc = rc ? rc : sonde__values_graph_take(q, &graph, diag);
    if (!rc && fill(q, &values, &graph, out))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot read the values of");
    sonde_flow_fini(&graph);
    sonde_values_fini(&values);
    return rc;
}

const struct sonde_view sonde_view_values = {
    .name = "values",
    .summary = "wasted values: operations that wrote what was there already, by object (record --values)",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&answer, &rows, &accesses, &sonde__values_flow, NULL},
    .options = (const char *const[]){"threshold", "frequent", "mantissa", "object", "graph", "vertex", "important", NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .make = make,
};
