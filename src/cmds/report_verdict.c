/* report_verdict.c - the first line of the summary: what the run waited for, in one sentence. */
#include "analyze/verdict.h"
#include "report.h"

enum { WORTH_SAYING = 5 }; /* percent of the run, of what comes second */

static void add_share(struct sonde_text *out, const struct sonde_verdict *v, double ns)
{
    char share[SONDE_NUMBER_MAX];
    sonde_text_add(out, sonde_number_percent(share, ns, v->range_ns));
}

static void add_time(struct sonde_text *out, const struct sonde_verdict *v, double ns)
{
    char time[SONDE_NUMBER_MAX];
    add_share(out, v, ns);
    sonde_text_format(out, " of %s", sonde_number_time(time, v->range_ns));
}

void report_verdict_place(const struct report *r, struct sonde_text *out, const struct sonde_verdict_part *part)
{
    if (part->waited_ns * 2 > part->most_ns)
        sonde_text_format(out, "%s in ", r->q.profile->nodes.items[part->wait].name);
    sonde_name_place(&r->q, out, part->node);
}

/* "most of it in build() heat.c:20", where most of it is in one place. */
static void add_place(const struct report *r, const struct sonde_verdict_part *part, struct sonde_text *out)
{
    char share[SONDE_NUMBER_MAX];
    if (!part->node)
        return;
    sonde_text_format(out, ", %s of it in ", part->most_ns * 2 > part->ns ? "most" :
                      sonde_number_percent(share, part->most_ns, part->ns));
    report_verdict_place(r, out, part);
}

static void add_busy_with(const struct report *r, const struct sonde_verdict *v, const struct sonde_verdict_part *part,
                          struct sonde_text *out)
{
    const struct sonde_cct_node *node = &r->q.profile->nodes.items[part->node];
    if (!part->node)
        return;
    sonde_text_format(out, v->copy_ns > v->kernel_ns ? ", mostly with copies; %s takes most" : ", mostly with kernels; %s takes most",
                      *node->name ? node->name : sonde_op_kind_name(node->op));
}

/* "The run waited for …" */
static void say_first(const struct report *r, const struct sonde_verdict *v, struct sonde_text *out)
{
    static const char *const whats[SONDE_VERDICT_COUNT] = {
        [SONDE_VERDICT_START_UP] = "its start-up, before the first API call,",
        [SONDE_VERDICT_HOST] = "host code",
        [SONDE_VERDICT_COMPILES] = "device code to be compiled or loaded",
        [SONDE_VERDICT_MEMORY] = "memory to be allocated and freed",
        [SONDE_VERDICT_CALLS] = "API calls to return",
        [SONDE_VERDICT_WAITS] = "operations to start and their ends to be noticed",
        [SONDE_VERDICT_NOBODY] = "something else than its threads, none of which was active,",
        [SONDE_VERDICT_UNKNOWN] = "something that is not known",
    };
    const struct sonde_verdict_part *part = &v->parts[0];
    const bool one = r->q.totals.devices.count == 1;
    if (part->kind == SONDE_VERDICT_BUSY) {
        sonde_text_format(out, "The run waited for the device%s: busy for ", one ? "" : "s");
        add_time(out, v, part->ns);
        add_busy_with(r, v, part, out);
        return;
    }
    sonde_text_format(out, "The run waited for %s for ", whats[part->kind]);
    add_time(out, v, part->ns);
    sonde_text_add(out, one ? ", with the device idle" : ", with no device busy");
    add_place(r, part, out);
}

/* What comes second. */
static void say_second(const struct report *r, const struct sonde_verdict *v, struct sonde_text *out)
{
    static const char *const whats[SONDE_VERDICT_COUNT] = {
        [SONDE_VERDICT_START_UP] = "start-up took",
        [SONDE_VERDICT_HOST] = "host code took",
        [SONDE_VERDICT_COMPILES] = "compiling and loading device code took",
        [SONDE_VERDICT_MEMORY] = "allocating and freeing memory took",
        [SONDE_VERDICT_CALLS] = "other API calls took",
        [SONDE_VERDICT_WAITS] = "starting operations and noticing their ends took",
        [SONDE_VERDICT_NOBODY] = "no thread was active for",
        [SONDE_VERDICT_UNKNOWN] = "what is not known took",
    };
    const struct sonde_verdict_part *part = &v->parts[1];
    if (part->ns * 100 < v->range_ns * WORTH_SAYING)
        return;
    sonde_text_format(out, "; %s ", part->kind != SONDE_VERDICT_BUSY ? whats[part->kind] :
                      r->q.totals.devices.count == 1 ? "the device was busy for" : "a device was busy for");
    add_share(out, v, part->ns);
    add_place(r, part->kind == SONDE_VERDICT_BUSY ? &(struct sonde_verdict_part){0} : part, out);
}

static int compute(const struct report *r, const struct sonde_blame *blame, struct sonde_verdict *out, struct sonde_diag *diag)
{
    const int rc = sonde_verdict_compute(r->q.profile, &r->q.totals, blame, out);
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot sum up") : 0;
}

int report_verdict(const struct report *r, const struct sonde_blame *blame, struct sonde_text *out, struct sonde_diag *diag)
{
    struct sonde_verdict v = {0};
    int rc = compute(r, blame, &v, diag);
    if (rc || !v.known || v.range_ns <= 0)
        return rc;
    say_first(r, &v, out);
    say_second(r, &v, out);
    sonde_text_add(out, ".");
    return 0;
}

json_t *report_verdict_part_json(const struct report *r, const struct sonde_verdict_part *part)
{
    struct sonde_text place = {0};
    if (part->node && part->kind != SONDE_VERDICT_BUSY)
        sonde_name_place(&r->q, &place, part->node);
    json_t *value = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", sonde_verdict_name(part->kind),
                              "ns", report_json_ns(true, part->ns), "place", report_json_text(sonde_text_get(&place)),
                              "place_ns", report_json_ns(place.length > 0, part->most_ns),
                              "waited_ns", report_json_ns(place.length > 0, part->waited_ns),
                              "waits_in", report_json_text(part->wait ? r->q.profile->nodes.items[part->wait].name : ""));
    sonde_text_fini(&place);
    return value;
}

json_t *report_verdict_json(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag)
{
    struct sonde_verdict v = {0};
    struct sonde_text sentence = {0};
    if (report_verdict(r, blame, &sentence, diag) || compute(r, blame, &v, diag))
        return NULL;
    json_t *parts = json_array(), *value = json_null();
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        json_array_append_new(parts, report_verdict_part_json(r, &v.parts[i]));
    if (v.known && v.range_ns > 0)
        value = json_pack("{s:o, s:o, s:O}", "sentence", report_json_text(sonde_text_get(&sentence)),
                          "range_ns", report_json_ns(true, v.range_ns), "parts", parts);
    json_decref(parts);
    sonde_text_fini(&sentence);
    return value;
}
