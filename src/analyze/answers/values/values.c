/* values.c - see values.h: rows by object and operation become sites and places.
 */
#include "values.h"

#include <stdlib.h>
#include <string.h>

#include "base/kinds.h"
#include "base/map.h"
#include "typing.h"

#define ELEMENT_ASSUMED 4u

struct builder {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_values *out;
    struct sonde_map by_site, by_object, by_leaf;
    struct sonde_map elements; /* of objects, as what writes them says; */
    struct sonde_map read_as;  /* of those of a site, as what reads them says */
    struct sonde_map by_operation;
    SONDE_VECTOR(struct sonde_value_blocks) blocks; /* of an operation, by that */
};

static const struct sonde_row_value *rows_of(const struct sonde_process *p, uint32_t *count)
{
    *count = p->tables[SONDE_TABLE_VALUE].count;
    return p->tables[SONDE_TABLE_VALUE].rows;
}

/* ---- sites --------------------------------------------------------------------------------- */

static uint64_t site_key(uint32_t kind, uint32_t node)
{
    return ((uint64_t)kind << 32 | node) + 1;
}

static uint64_t site_key_of(const struct builder *b, uint32_t process, uint32_t object)
{
    const struct sonde_process *p = &b->m->processes[process];
    const struct sonde_row_object *o = object && object < p->object_count ? &p->objects[object] : NULL;
    return site_key(o ? o->kind : 0, o ? sonde_profile_locate(b->profile, process, o->node) : 0);
}

static struct sonde_value_site *site_of(struct builder *b, uint32_t process, uint32_t object)
{
    const struct sonde_process *p = &b->m->processes[process];
    const struct sonde_row_object *o = object && object < p->object_count ? &p->objects[object] : NULL;
    const uint32_t node = o ? sonde_profile_locate(b->profile, process, o->node) : 0;
    const uint64_t key = site_key(o ? o->kind : 0, node), self = ((uint64_t)process << 32 | object) + 1;
    uint64_t at, seen;
    if (!sonde_map_get(&b->by_site, key, &at)) {
        at = b->out->sites.count;
        if (sonde_map_put(&b->by_site, key, at) || sonde_vector_push(&b->out->sites, (struct sonde_value_site){.kind = o ? o->kind : 0, .node = node}))
            return NULL;
    }
    struct sonde_value_site *site = &b->out->sites.items[at];
    if (!sonde_map_get(&b->by_object, self, &seen)) {
        if (sonde_map_put(&b->by_object, self, 1))
            return NULL;
        site->objects++;
        site->bytes += o ? o->bytes : 0;
    }
    return site;
}

/* The elements of an object are those of its kernels; where these differ, the smallest. */
static int learn_element(struct builder *b, uint32_t process, const struct sonde_row_value *row)
{
    const uint64_t key = ((uint64_t)process << 32 | row->object) + 1;
    uint64_t known = 0;
    sonde_map_get(&b->elements, key, &known);
    if (!row->element_bytes || (known && known <= row->element_bytes))
        return 0;
    return sonde_map_put(&b->elements, key, row->element_bytes);
}

/* The smallest elements that are loaded from the objects of each site. */
static int learn_loads(struct builder *b)
{
    for (uint32_t i = 0; i < b->m->process_count; i++) {
        const struct sonde_row_access *rows = b->m->processes[i].tables[SONDE_TABLE_ACCESS].rows;
        for (uint32_t k = 1; k < b->m->processes[i].tables[SONDE_TABLE_ACCESS].count; k++) {
            uint64_t known = UINT64_MAX;
            if (!rows[k].node || !rows[k].object || rows[k].what != SONDE_ACCESS_LOAD || !rows[k].element_bytes || rows[k].element_bytes > 8)
                continue;
            const uint64_t site = site_key_of(b, i, rows[k].object);
            sonde_map_get(&b->read_as, site, &known);
            if (rows[k].element_bytes < known && sonde_map_put(&b->read_as, site, rows[k].element_bytes))
                return SONDE_ENOMEM;
        }
    }
    return 0;
}

/* Its own, of what writes the object, of what reads such objects; 0: nothing says it. */
static uint64_t element_of(const struct builder *b, uint32_t process, const struct sonde_row_value *row)
{
    uint64_t bytes = row->element_bytes;
    if (!bytes && !sonde_map_get(&b->elements, ((uint64_t)process << 32 | row->object) + 1, &bytes))
        sonde_map_get(&b->read_as, site_key_of(b, process, row->object), &bytes);
    return bytes;
}

/* NULL: it is not there. */
static struct sonde_value_redundant *redundant_in(struct sonde_value_site *site, uint32_t operation)
{
    for (size_t i = 0; i < site->redundant.count; i++)
        if (site->redundant.items[i].operation == operation)
            return &site->redundant.items[i];
    return NULL;
}

static struct sonde_value_redundant *redundant_of(struct sonde_value_site *site, uint32_t operation)
{
    struct sonde_value_redundant *known = redundant_in(site, operation);
    if (known)
        return known;
    if (sonde_vector_push(&site->redundant, (struct sonde_value_redundant){.operation = operation, .exact = true}))
        return NULL;
    return &site->redundant.items[site->redundant.count - 1];
}

static uint64_t of_size(uint32_t bytes, uint64_t of1, uint64_t of2, uint64_t of4, uint64_t of8)
{
    return bytes == 1 ? of1 : (bytes == 2 ? of2 : (bytes == 8 ? of8 : of4));
}

/* Where what was written is not known, an object that has not changed at all may not have been written at all. */
static bool may_be_read(const struct sonde_row_value *row)
{
    return row->flags & SONDE_VALUE_MAYBE && row->unchanged1 == row->elements1;
}

static int add_change(struct builder *b, uint32_t process, const struct sonde_row_value *row)
{
    struct sonde_value_site *site = site_of(b, process, row->object);
    if (!site)
        return SONDE_ENOMEM;
    if (may_be_read(row) || !row->elements1) /* it wrote nothing of it, or nothing that was written before */
        return 0;
    struct sonde_value_redundant *r = redundant_of(site, sonde_profile_locate(b->profile, process, row->node));
    uint64_t bytes = element_of(b, process, row);
    if (!r)
        return SONDE_ENOMEM;
    if (!bytes) {
        bytes = ELEMENT_ASSUMED;
        r->element_assumed = true;
    }
    const uint64_t unchanged = of_size((uint32_t)bytes, row->unchanged1, row->unchanged2, row->unchanged4, row->unchanged8);
    r->element_bytes = r->operations && r->element_bytes != bytes ? 0 : (uint32_t)bytes;
    r->exact &= !(row->flags & (SONDE_VALUE_MAYBE | SONDE_VALUE_RACED));
    r->maybe |= (row->flags & SONDE_VALUE_MAYBE) != 0;
    r->operations += row->operations;
    r->elements += of_size((uint32_t)bytes, row->elements1, row->elements2, row->elements4, row->elements8);
    r->unchanged += unchanged;
    r->unchanged_bytes += unchanged * bytes;
    return 0;
}

/* Where the code of an operation writes the objects of a site: a row of an access without elements. */
static void add_line(struct builder *b, uint32_t process, const struct sonde_row_access *row)
{
    const char *file = row->file ? sonde_process_string(&b->m->processes[process], row->file) : NULL;
    uint64_t at;
    if (!sonde_map_get(&b->by_site, site_key_of(b, process, row->object), &at))
        return;
    struct sonde_value_redundant *r = redundant_in(&b->out->sites.items[at], sonde_profile_locate(b->profile, process, row->node));
    if (!r)
        return;
    r->several_lines |= !file || !row->line || (r->file && (r->line != row->line || strcmp(r->file, file) != 0));
    r->line = r->several_lines ? 0 : row->line;
    r->file = r->several_lines ? NULL : file;
}

/* ---- accesses --------------------------------------------------------------------------------- */

static struct sonde_value_accessed *access_of(const struct builder *b, struct sonde_value_site *site, uint32_t operation, const struct sonde_row_access *row, const char *file)
{
    uint64_t at;
    for (size_t i = 0; i < site->accesses.count; i++) {
        struct sonde_value_accessed *a = &site->accesses.items[i];
        if (a->operation == operation && a->number == row->number && a->line == row->line && a->element_bytes == row->element_bytes && a->type == row->type)
            return a;
    }
    struct sonde_value_accessed fresh = {
        .operation = operation,
        .number = row->number,
        .file = file,
        .line = row->line,
        .element_bytes = row->element_bytes,
        .what = row->what,
        .type = row->type,
        .all = UINT64_MAX,
        .least = INT64_MAX,
        .most = INT64_MIN,
    };
    if (sonde_map_get(&b->by_operation, (uint64_t)operation + 1, &at))
        fresh.blocks = b->blocks.items[at];
    return sonde_vector_push(&site->accesses, fresh) ? NULL : &site->accesses.items[site->accesses.count - 1];
}

void sonde_value_linear_join(struct sonde_value_guess *sum, const struct sonde_value_guess *more)
{
    const bool same = sum->slope == more->slope && sum->offset == more->offset;
    if (same && sum->checked) {
        sum->checked += more->checked;
        sum->matching += more->matching;
    } else if (more->matching > sum->matching || !sum->checked) {
        *sum = *more;
    }
}

void sonde_value_common_join(struct sonde_value_guess sum[SONDE_VALUE_COMMON], const struct sonde_value_guess *more)
{
    struct sonde_value_guess *least = sum;
    if (!more->checked)
        return;
    for (unsigned i = 0; i < SONDE_VALUE_COMMON; i++) {
        if (!sum[i].checked || sum[i].value == more->value) { /* those that there are come first */
            sum[i].value = more->value;
            sum[i].checked += more->checked;
            sum[i].matching += more->matching;
            return;
        }
        least = sum[i].matching < least->matching ? &sum[i] : least;
    }
    if (more->matching > least->matching)
        *least = *more;
}

/* Of an access that was never executed nothing is known. */
static int add_access(struct builder *b, uint32_t process, const struct sonde_row_access *row)
{
    const struct sonde_process *p = &b->m->processes[process];
    struct sonde_value_site *site = row->node && row->elements ? site_of(b, process, row->object) : NULL;
    if (!row->node || !row->elements)
        return 0;
    const uint32_t leaf = sonde_profile_locate(b->profile, process, row->node);
    struct sonde_value_accessed *a = site ? access_of(b, site, leaf, row, row->file ? sonde_process_string(p, row->file) : NULL) : NULL;
    if (!a)
        return SONDE_ENOMEM;
    a->elements += row->elements;
    a->any |= row->any;
    a->all &= row->all;
    a->least = (int64_t)row->least < a->least ? (int64_t)row->least : a->least;
    a->most = (int64_t)row->most > a->most ? (int64_t)row->most : a->most;
    sonde_value_common_join(a->common, &(struct sonde_value_guess){row->checked, row->equal, row->value, 0, 0});
    sonde_value_linear_join(&a->linear, &(struct sonde_value_guess){row->slope ? row->checked : 0, row->lined, 0, (int64_t)row->slope, (int64_t)row->offset});
    return 0;
}

static int add_accesses(struct builder *b)
{
    int rc = 0;
    for (uint32_t i = 0; i < b->m->process_count && !rc; i++) {
        const struct sonde_row_access *rows = b->m->processes[i].tables[SONDE_TABLE_ACCESS].rows;
        const uint32_t count = b->m->processes[i].tables[SONDE_TABLE_ACCESS].count;
        struct sonde_value_typing types = {0};
        rc = sonde_value_typing_find(&b->m->processes[i], &types);
        for (uint32_t k = 1; k < count && !rc; k++) {
            struct sonde_row_access row = rows[k];
            sonde_value_typing_read(&types, k, &row);
            if (row.node && !row.element_bytes)
                add_line(b, i, &row);
            else
                rc = add_access(b, i, &row);
        }
        sonde_value_typing_fini(&types);
    }
    return rc;
}

/* A row of accesses names one object of all those that were allocated where it was: each that was looked at counts. */
static int count_looked_at(struct builder *b)
{
    uint64_t at;
    for (uint32_t i = 0; i < b->m->process_count; i++) {
        const struct sonde_process *p = &b->m->processes[i];
        for (uint32_t k = 1; k < p->object_count; k++)
            if (p->objects[k].flags & SONDE_OBJECT_LOOKED_AT &&
                sonde_map_get(&b->by_site, site_key(p->objects[k].kind, sonde_profile_locate(b->profile, i, p->objects[k].node)), &at) && !site_of(b, i, k))
                return SONDE_ENOMEM;
    }
    return 0;
}

/* ---- duplicates ------------------------------------------------------------------------------- */

static int add_pair(struct sonde_value_site *site, uint32_t leaf, const struct sonde_value_site *other, const struct sonde_row_duplicate *row)
{
    struct sonde_value_duplicates *d = site->duplicates.items;
    size_t i = 0;
    while (i < site->duplicates.count && (d[i].operation != leaf || d[i].kind != other->kind || d[i].node != other->node))
        i++;
    if (i == site->duplicates.count &&
        sonde_vector_push(&site->duplicates, (struct sonde_value_duplicates){.operation = leaf, .kind = other->kind, .node = other->node}))
        return SONDE_ENOMEM;
    site->duplicates.items[i].operations += row->operations;
    site->duplicates.items[i].bytes += row->bytes;
    return 0;
}

static int add_duplicate(struct builder *b, uint32_t process, const struct sonde_row_duplicate *row)
{
    if (!row->node || !site_of(b, process, row->object)) /* it makes both, before either is pointed to */
        return row->node ? SONDE_ENOMEM : 0;
    struct sonde_value_site *other = site_of(b, process, row->other), *site = other ? site_of(b, process, row->object) : NULL;
    const uint32_t leaf = sonde_profile_locate(b->profile, process, row->node);
    if (!site || add_pair(site, leaf, other, row))
        return SONDE_ENOMEM;
    return site == other ? 0 : add_pair(other, leaf, site, row);
}

static int add_duplicates(struct builder *b)
{
    int rc = 0;
    for (uint32_t i = 0; i < b->m->process_count && !rc; i++) {
        const struct sonde_row_duplicate *rows = b->m->processes[i].tables[SONDE_TABLE_DUPLICATE].rows;
        for (uint32_t k = 1; k < b->m->processes[i].tables[SONDE_TABLE_DUPLICATE].count && !rc; k++)
            rc = add_duplicate(b, i, &rows[k]);
    }
    return rc;
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* A launch of a graph runs kernels, but has no name, nor has a native kernel: their calls have. */
static bool is_kernel(const struct sonde_cct_node *op)
{
    return op->kind == SONDE_FRAME_OP && sonde_op_kind_runs(op->op) && op->op != SONDE_OP_GRAPH && op->name[0];
}

const char *sonde_value_operation_name(const struct sonde_profile *profile, uint32_t leaf)
{
    const struct sonde_cct_node *op = &profile->nodes.items[leaf];
    return is_kernel(op) ? op->name : profile->nodes.items[op->parent].name;
}

/* Of a kernel, wherever its launches are in the tree: those of a graph are not where it was captured. */
static uint64_t launches_of(const struct sonde_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->ops.count; i++)
        if (sonde_op_kind_runs(profile->ops.items[i].op) && strcmp(profile->ops.items[i].name, name) == 0)
            return profile->ops.items[i].stat.count;
    return 0;
}

/* Of a graph the call: its nodes are operations of their own, or it is one. */
static uint64_t operations_at(const struct sonde_profile *profile, uint32_t leaf)
{
    const struct sonde_cct_node *op = &profile->nodes.items[leaf];
    return op->kind == SONDE_FRAME_OP && op->op == SONDE_OP_GRAPH ? profile->nodes.items[op->parent].self.api_calls : op->self.operations;
}

static void add_blocks(struct sonde_value_blocks *sum, const struct sonde_row_value *row)
{
    sum->all += row->elements1;
    sum->looked_at += row->elements2;
    sum->launches += row->operations;
}

/* Where not all are looked at. */
static int add_blocks_of(struct builder *b, uint32_t leaf, const struct sonde_row_value *row)
{
    uint64_t at = b->blocks.count;
    if (!sonde_map_get(&b->by_operation, (uint64_t)leaf + 1, &at) &&
        (sonde_map_put(&b->by_operation, (uint64_t)leaf + 1, at) || sonde_vector_push(&b->blocks, (struct sonde_value_blocks){0})))
        return SONDE_ENOMEM;
    add_blocks(&b->blocks.items[at], row);
    return 0;
}

/* Each place counts its operations once, whichever process brought it. */
static int add_coverage(struct builder *b, uint32_t process, const struct sonde_row_value *row)
{
    const uint32_t leaf = sonde_profile_locate(b->profile, process, row->node);
    const char *name = sonde_value_operation_name(b->profile, leaf);
    size_t i = 0;
    uint64_t seen;
    while (i < b->out->coverage.count && strcmp(b->out->coverage.items[i].name, name) != 0)
        i++;
    const bool kernel = is_kernel(&b->profile->nodes.items[leaf]);
    if (i == b->out->coverage.count &&
        sonde_vector_push(&b->out->coverage, (struct sonde_value_coverage){.name = name, .operations = kernel ? launches_of(b->profile, name) : 0}))
        return SONDE_ENOMEM;
    struct sonde_value_coverage *c = &b->out->coverage.items[i];
    if (!kernel && !sonde_map_get(&b->by_leaf, (uint64_t)leaf + 1, &seen)) {
        if (sonde_map_put(&b->by_leaf, (uint64_t)leaf + 1, 1))
            return SONDE_ENOMEM;
        c->operations += operations_at(b->profile, leaf);
    }
    if (row->object) {
        c->maybe |= (row->flags & SONDE_VALUE_MAYBE) != 0;
        c->raced |= (row->flags & SONDE_VALUE_RACED) != 0;
        return 0;
    }
    c->engines |= row->flags;
    if (row->elements1) {
        add_blocks(&c->blocks, row);
        if (add_blocks_of(b, leaf, row))
            return SONDE_ENOMEM;
    }
    if (row->missed == SONDE_VALUE_MISSED_NONE)
        c->whole += row->operations;
    else if (row->missed < SONDE_VALUE_MISSED_COUNT)
        c->missed[row->missed] += row->operations;
    return 0;
}

uint64_t sonde_value_unseen(const struct sonde_value_coverage *c)
{
    uint64_t known = c->whole;
    for (unsigned k = 1; k < SONDE_VALUE_MISSED_COUNT; k++)
        known += c->missed[k];
    return known < c->operations ? c->operations - known : 0;
}

/* ---- all -------------------------------------------------------------------------------------- */

static int for_all(struct builder *b, int (*each)(struct builder *b, uint32_t process, const struct sonde_row_value *row), bool objects)
{
    for (uint32_t i = 0; i < b->m->process_count; i++) {
        uint32_t count;
        const struct sonde_row_value *rows = rows_of(&b->m->processes[i], &count);
        for (uint32_t k = 1; k < count; k++)
            if (rows[k].node && (!objects || rows[k].object) && each(b, i, &rows[k]))
                return SONDE_ENOMEM;
    }
    return 0;
}

static int by_waste(const void *left, const void *right)
{
    const struct sonde_value_site *a = left, *b = right;
    if (a->wasted != b->wasted)
        return a->wasted < b->wasted ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_unchanged(const void *left, const void *right)
{
    const struct sonde_value_redundant *a = left, *b = right;
    if (a->unchanged_bytes != b->unchanged_bytes)
        return a->unchanged_bytes < b->unchanged_bytes ? 1 : -1;
    return a->operation < b->operation ? -1 : a->operation > b->operation;
}

static int by_number(const void *left, const void *right)
{
    const struct sonde_value_accessed *a = left, *b = right;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_bytes(const void *left, const void *right)
{
    const struct sonde_value_duplicates *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_operations(const void *left, const void *right)
{
    const struct sonde_value_coverage *a = left, *b = right;
    if (a->operations != b->operations)
        return a->operations < b->operations ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void sort(struct sonde_values *v)
{
    for (size_t i = 0; i < v->sites.count; i++) {
        struct sonde_value_site *site = &v->sites.items[i];
        if (site->redundant.count)
            qsort(site->redundant.items, site->redundant.count, sizeof *site->redundant.items, by_unchanged);
        if (site->accesses.count)
            qsort(site->accesses.items, site->accesses.count, sizeof *site->accesses.items, by_number);
        if (site->duplicates.count)
            qsort(site->duplicates.items, site->duplicates.count, sizeof *site->duplicates.items, by_bytes);
        for (size_t k = 0; k < site->redundant.count; k++)
            site->wasted += sonde_value_is_redundant(&site->redundant.items[k], v->threshold) ? site->redundant.items[k].unchanged_bytes : 0;
    }
    if (v->sites.count)
        qsort(v->sites.items, v->sites.count, sizeof *v->sites.items, by_waste);
    if (v->coverage.count)
        qsort(v->coverage.items, v->coverage.count, sizeof *v->coverage.items, by_operations);
}

static void read_mode(const struct sonde_measurement *m, struct sonde_values *out)
{
    const char *mode = json_string_value(json_object_get(json_object_get(m->manifest, "options"), "values"));
    out->coarse = mode && (strcmp(mode, "coarse") == 0 || strcmp(mode, "all") == 0);
    out->fine = mode && (strcmp(mode, "fine") == 0 || strcmp(mode, "all") == 0);
}

static void builder_fini(struct builder *b)
{
    sonde_map_fini(&b->by_site);
    sonde_map_fini(&b->by_object);
    sonde_map_fini(&b->by_leaf);
    sonde_map_fini(&b->elements);
    sonde_map_fini(&b->read_as);
    sonde_map_fini(&b->by_operation);
    sonde_vector_fini(&b->blocks);
}

int sonde_values_cover(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_values *out)
{
    struct builder b = {.m = m, .profile = profile, .out = out};
    read_mode(m, out);
    const int rc = for_all(&b, add_coverage, false);
    sort(out);
    builder_fini(&b);
    return rc;
}

int sonde_values_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, double threshold, struct sonde_values *out)
{
    struct builder b = {.m = m, .profile = profile, .out = out};
    read_mode(m, out);
    out->threshold = threshold;
    int rc = for_all(&b, learn_element, true);
    rc = rc ? rc : learn_loads(&b);
    rc = rc ? rc : for_all(&b, add_change, true);
    rc = rc ? rc : for_all(&b, add_coverage, false);
    rc = rc ? rc : add_accesses(&b);
    rc = rc ? rc : add_duplicates(&b);
    rc = rc ? rc : count_looked_at(&b);
    sort(out);
    builder_fini(&b);
    return rc;
}

void sonde_values_fini(struct sonde_values *v)
{
    for (size_t i = 0; i < v->sites.count; i++)
        sonde_vector_fini(&v->sites.items[i].redundant);
    for (size_t i = 0; i < v->sites.count; i++) {
        sonde_vector_fini(&v->sites.items[i].accesses);
        sonde_vector_fini(&v->sites.items[i].duplicates);
    }
    sonde_vector_fini(&v->sites);
    sonde_vector_fini(&v->coverage);
}
