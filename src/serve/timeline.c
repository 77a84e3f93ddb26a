/* timeline.c - see timeline.h: options to a question, intervals to columns, labels to words. */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "request.h"
#include "views/names.h"

enum { FULL = 65535 }; /* a share of 1 */

/* ---- what is asked --------------------------------------------------------------------------- */

typedef SONDE_VECTOR(struct sonde_lane_id) lane_ids;

static bool read_id(const char **text, uint32_t *out)
{
    char *end = NULL;
    errno = 0;
    const unsigned long number = **text >= '0' && **text <= '9' ? strtoul(*text, &end, 10) : 0;
    const bool good = end && !errno && number <= UINT32_MAX;
    *text = end ? end : *text;
    *out = (uint32_t)number;
    return good;
}

static int read_lanes(const char *text, lane_ids *out, struct sonde_diag *diag)
{
    const char *at = text ? text : "";
    for (bool more = true; more;) {
        struct sonde_lane_id id;
        bool good = read_id(&at, &id.process) && *at == ':';
        at += good;
        good = good && read_id(&at, &id.lane) && (!*at || *at == ',');
        if (!good)
            return sonde_diag_set(diag, SONDE_EINVALID, NULL, "lanes must be numbers of a process and a lane, such as 0:1,0:2, not '%s'",
                                  text ? text : "");
        if (sonde_vector_push(out, id))
            return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot read which lanes are asked for");
        more = *at == ',';
        at += more;
    }
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------------- */

/* As the view statistics and the request find call it: kernels by their whole name. */
static void name_routine(const struct sonde_query *q, const struct sonde_timeline_label *label, struct sonde_text *out)
{
    const struct sonde_profile_frame *f = &label->frame;
    const struct sonde_cct_node node = {.kind = f->kind, .op = f->op, .name = f->name, .file = f->file, .module = f->module};
    sonde_name_routine(q, out, &node);
}

static void name_label(const struct sonde_query *q, const struct sonde_timeline_label *label, struct sonde_text *out)
{
    const struct sonde_profile_frame *f = &label->frame;
    const struct sonde_group group = {.op = f->op, .name = f->name};
    if (!label->routine)
        sonde_text_add(out, label->kind == SONDE_DRAWN_OFF ? "off the CPU" : "not read yet");
    else if (!f->kind)
        sonde_text_add(out, "call path lost");
    else if (f->kind != SONDE_FRAME_OP)
        name_routine(q, label, out);
    else
        sonde_text_add(out, *f->name ? sonde_name_group_title(q, &group) : sonde_name_copy(&group));
}

typedef void namer(const struct sonde_query *q, const struct sonde_timeline_label *label, struct sonde_text *out);

static int add_text(json_t *list, const struct sonde_query *q, const struct sonde_timeline_label *label, namer *name)
{
    struct sonde_text text = {0};
    name(q, label, &text);
    const int rc = text.failed || json_array_append_new(list, sonde_packed_text(sonde_text_get(&text))) ? SONDE_ENOMEM : 0;
    sonde_text_fini(&text);
    return rc;
}

static int add_null(json_t *list)
{
    return json_array_append_new(list, json_null()) ? SONDE_ENOMEM : 0;
}

static int add_words(struct sonde_packed *packed, const struct sonde_query *q, const struct sonde_timeline_answer *a)
{
    json_t *labels = json_array(), *routines = json_array(), *frames = json_array(), *kinds = json_array();
    int rc = 0;
    for (size_t i = 0; i < a->labels.count && !rc; i++) {
        const struct sonde_timeline_label *label = &a->labels.items[i];
        rc = add_text(labels, q, label, name_label);
        if (!rc)
            rc = label->routine && label->frame.kind ? add_text(routines, q, label, name_routine) : add_null(routines);
        if (!rc && json_array_append_new(frames, label->routine ? json_string(sonde_name_frame_kind(label->frame.kind)) : json_null()))
            rc = SONDE_ENOMEM;
    }
    for (int i = 0; i < SONDE_DRAWN_COUNT && !rc; i++)
        rc = json_array_append_new(kinds, json_string(sonde_drawn_name((enum sonde_drawn)i))) ? SONDE_ENOMEM : 0;
    const bool failed = json_object_set_new(packed->header, "strings", labels) | json_object_set_new(packed->header, "routines", routines) |
                        json_object_set_new(packed->header, "frames", frames) | json_object_set_new(packed->header, "kinds", kinds);
    return rc || failed ? SONDE_ENOMEM : 0;
}

/* ---- timeline --------------------------------------------------------------------------------------- */

static json_t *whole(uint64_t number) /* what does not fit is the largest number that does */
{
    return json_integer((json_int_t)(number < INT64_MAX ? number : INT64_MAX));
}

static int add_head(struct sonde_packed *packed, const struct sonde_timeline_answer *a, uint32_t depth)
{
    json_t *lanes = json_array(), *h = packed->header;
    size_t first = 0, first_total = 0;
    bool failed = false;
    for (size_t i = 0; i < a->lanes.count; i++) {
        const struct sonde_timeline_lane *lane = &a->lanes.items[i];
        failed |= json_array_append_new(
                      lanes, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "process", (json_int_t)lane->id.process, "lane",
                                       (json_int_t)lane->id.lane, "first", (json_int_t)first, "count",
                                       (json_int_t)lane->intervals.count, "first_total", (json_int_t)first_total, "totals",
                                       (json_int_t)lane->totals.count, "tracks", (json_int_t)lane->tracks, "partial",
                                       lane->partial, "bad_times", whole(lane->bad_times))) != 0;
        first += lane->intervals.count;
        first_total += lane->totals.count;
    }
    failed |= json_object_set_new(h, "from_ns", whole(a->from_ns)) | json_object_set_new(h, "to_ns", whole(a->to_ns)) |
              json_object_set_new(h, "bin_ns", whole(a->bin_ns)) | json_object_set_new(h, "depth", whole(depth)) |
              json_object_set_new(h, "partial", json_boolean(a->partial)) | json_object_set_new(h, "read_rows", whole(a->read_rows));
    failed |= json_object_set_new(h, "lanes", lanes) != 0;
    return failed ? SONDE_ENOMEM : 0;
}

static uint16_t share(uint64_t part, uint64_t of)
{
    return part >= of ? FULL : (uint16_t)((double)part / (double)of * FULL + 0.5);
}

static int add_intervals(struct sonde_packed *packed, const struct sonde_timeline_answer *a)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < a->lanes.count; i++)
        count += a->lanes.items[i].intervals.count;
    uint64_t *begin = sonde_packed_column(packed, "begin_ns", SONDE_PACKED_U64, count);
    uint64_t *end = sonde_packed_column(packed, "end_ns", SONDE_PACKED_U64, count);
    uint64_t *time = sonde_packed_column(packed, "time_ns", SONDE_PACKED_U64, count);
    uint64_t *correlation = sonde_packed_column(packed, "correlation", SONDE_PACKED_U64, count);
    uint32_t *label = sonde_packed_column(packed, "label", SONDE_PACKED_U32, count);
    uint32_t *node = sonde_packed_column(packed, "node", SONDE_PACKED_U32, count);
    uint32_t *rows = sonde_packed_column(packed, "rows", SONDE_PACKED_U32, count);
    uint32_t *track = sonde_packed_column(packed, "track", SONDE_PACKED_U32, count);
    uint16_t *busy = sonde_packed_column(packed, "busy", SONDE_PACKED_U16, count);
    uint8_t *kind = sonde_packed_column(packed, "kind", SONDE_PACKED_U8, count);
    uint8_t *merged = sonde_packed_column(packed, "merged", SONDE_PACKED_U8, count);
    if (packed->failed)
        return packed->failed;
    for (size_t i = 0; i < a->lanes.count; i++)
        for (size_t k = 0; k < a->lanes.items[i].intervals.count; k++, at++) {
            const struct sonde_timeline_interval *one = &a->lanes.items[i].intervals.items[k];
            begin[at] = one->begin_ns;
            end[at] = one->end_ns;
            time[at] = one->time_ns;
            correlation[at] = one->correlation;
            label[at] = one->label;
            node[at] = one->node;
            rows[at] = one->rows;
            track[at] = one->track;
            busy[at] = one->merged ? share(one->all_ns, a->bin_ns) : FULL;
            kind[at] = (uint8_t)one->kind;
            merged[at] = one->merged;
        }
    return 0;
}

static int add_totals(struct sonde_packed *packed, const struct sonde_timeline_answer *a)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < a->lanes.count; i++)
        count += a->lanes.items[i].totals.count;
    uint64_t *time = sonde_packed_column(packed, "total_time_ns", SONDE_PACKED_U64, count);
    uint64_t *rows = sonde_packed_column(packed, "total_rows", SONDE_PACKED_U64, count);
    uint32_t *label = sonde_packed_column(packed, "total_label", SONDE_PACKED_U32, count);
    if (packed->failed)
        return packed->failed;
    for (size_t i = 0; i < a->lanes.count; i++)
        for (size_t k = 0; k < a->lanes.items[i].totals.count; k++, at++) {
            const struct sonde_timeline_total *one = &a->lanes.items[i].totals.items[k];
            time[at] = one->time_ns;
            rows[at] = one->rows;
            label[at] = one->label;
        }
    return 0;
}

int sonde_serve_timeline(const struct sonde_query *q, struct sonde_timeline *timeline, const struct sonde_timeline_options *options,
                         struct sonde_text *out, struct sonde_diag *diag)
{
    struct sonde_timeline_answer answer = {0};
    struct sonde_packed packed;
    lane_ids lanes = {0};
    sonde_packed_begin(&packed);
    int rc = read_lanes(options->lanes, &lanes, diag);
    const struct sonde_timeline_question question = {
        .lanes = lanes.items,
        .lane_count = lanes.count,
        .from_ns = (uint64_t)options->from_ns,
        .to_ns = (uint64_t)options->to_ns,
        .pixels = (uint32_t)options->pixels,
        .depth = (uint32_t)options->depth,
        .exact = options->exact,
    };
    rc = rc ? rc : sonde_timeline_ask(timeline, &question, &answer, diag);
    if (!rc) {
        rc = packed.header ? add_head(&packed, &answer, (uint32_t)options->depth) : SONDE_ENOMEM;
        rc = rc ? rc : add_words(&packed, q, &answer);
        rc = rc ? rc : add_intervals(&packed, &answer);
        rc = rc ? rc : add_totals(&packed, &answer);
        rc = rc ? rc : sonde_packed_write(&packed, out);
        if (rc)
            sonde_diag_set(diag, rc, q->path, "cannot write the answer about");
    }
    sonde_packed_fini(&packed);
    sonde_timeline_answer_fini(&answer);
    sonde_vector_fini(&lanes);
    return rc;
}

/* ---- overview ---------------------------------------------------------------------------------------- */

static int add_overview(struct sonde_packed *packed, const struct sonde_query *q, const struct sonde_overview *o)
{
    json_t *devices = json_array();
    uint16_t *busy = sonde_packed_column(packed, "busy", SONDE_PACKED_U16, o->devices.count * o->pixels);
    bool failed = !busy;
    for (size_t i = 0; i < o->devices.count && !failed; i++) {
        const struct sonde_overview_device *d = &o->devices.items[i];
        struct sonde_text name = {0};
        sonde_name_device(q, &name, d->process, d->device);
        failed |= json_array_append_new(devices, json_pack("{s:I, s:o, s:o}", "process", (json_int_t)d->process, "device",
                                                           d->device ? json_integer(d->device - 1) : json_null(), "name",
                                                           sonde_packed_text(sonde_text_get(&name)))) != 0;
        sonde_text_fini(&name);
        for (uint32_t k = 0; k < o->pixels; k++) {
            const uint64_t width = sonde_overview_at(o, k + 1) - sonde_overview_at(o, k);
            busy[i * o->pixels + k] = width ? share(d->busy_ns[k], width) : 0;
        }
    }
    json_t *h = packed->header;
    failed |= json_object_set_new(h, "to_ns", whole(o->to_ns)) | json_object_set_new(h, "pixels", whole(o->pixels)) |
              json_object_set_new(h, "partial", json_boolean(o->partial)) | json_object_set_new(h, "read_rows", whole(o->read_rows)) |
              json_object_set_new(h, "devices", devices);
    return failed ? SONDE_ENOMEM : 0;
}

int sonde_serve_overview(const struct sonde_query *q, const struct sonde_timeline_options *options, struct sonde_text *out,
                         struct sonde_diag *diag)
{
    struct sonde_overview overview = {0};
    struct sonde_packed packed;
    sonde_packed_begin(&packed);
    int rc = sonde_overview_compute(q->m, (uint32_t)options->pixels, options->exact, 0, &overview, diag);
    if (!rc) {
        rc = packed.header ? add_overview(&packed, q, &overview) : SONDE_ENOMEM;
        rc = rc ? rc : sonde_packed_write(&packed, out);
        if (rc)
            sonde_diag_set(diag, rc, q->path, "cannot write the answer about");
    }
    sonde_packed_fini(&packed);
    sonde_overview_fini(&overview);
    return rc;
}

/* ---- the requests --------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct sonde_timeline_options, field)
#define PIXELS {.name = "pixels", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = SONDE_TIMELINE_PIXELS, .offset = AT(pixels), .help = "how wide the picture is (default 1920)"}
#define EXACT  {.name = "exact", .type = SONDE_OPTION_FLAG, .offset = AT(exact), .help = "read whatever is needed, however long that takes"}

static const struct sonde_option timeline_options[] = {
    {.name = "lanes", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(lanes), .help = "numbers of processes and lanes: 0:1,0:2"},
    {.name = "from", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(from_ns), .help = "begin of the range, since the run began (default 0)"},
    {.name = "to", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(to_ns), .help = "its end (default: the run's)"},
    PIXELS,
    {.name = "depth", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = AT(depth), .help = "of threads: call paths from the outermost on (default: the innermost)"},
    EXACT,
    {.name = NULL},
};
static const struct sonde_option overview_options[] = {PIXELS, EXACT, {.name = NULL}};
static const struct sonde_timeline_options defaults = {.pixels = SONDE_TIMELINE_PIXELS_DEFAULT};

static int answer_timeline(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                           struct sonde_problem *problem)
{
    (void)argument;
    out->type = SONDE_PACKED_MEDIA_TYPE;
    return sonde_serve_timeline(&session->query, session->timeline, options, &out->text, &problem->diag);
}

static int answer_overview(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                           struct sonde_problem *problem)
{
    (void)argument;
    out->type = SONDE_PACKED_MEDIA_TYPE;
    return sonde_serve_overview(&session->query, options, &out->text, &problem->diag);
}

const struct sonde_request sonde_request_timeline = {
    .name = "timeline",
    .summary = "what is drawn of lanes in a time range, at a level of detail",
    .options = timeline_options,
    .options_bytes = sizeof(struct sonde_timeline_options),
    .defaults = &defaults,
    .answer = answer_timeline,
};

const struct sonde_request sonde_request_overview = {
    .name = "overview",
    .summary = "how busy each device was over the whole run",
    .options = overview_options,
    .options_bytes = sizeof(struct sonde_timeline_options),
    .defaults = &defaults,
    .answer = answer_overview,
};
