/* series.c - the request `series`: memory, operations in flight and busy time over a time range, as columns. */
#include "analyze/answers/timeline/series.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/answers/timeline/timeline.h"
#include "columns.h"
#include "request.h"
#include "views/names.h"

struct asked {
    const char *series;
    int64_t from_ns, to_ns, pixels;
    int exact;
};

#define AT(field) offsetof(struct asked, field)
static const struct sonde_option options_table[] = {
    {.name = "series", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(series), .help = "numbers of series: 0,2; none: only what there is (default: all)"},
    {.name = "from", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(from_ns), .help = "begin of the range, since the run began (default 0)"},
    {.name = "to", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(to_ns), .help = "its end (default: the run's)"},
    {.name = "pixels", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = SONDE_TIMELINE_PIXELS, .offset = AT(pixels), .help = "how wide the picture is (default 1920)"},
    {.name = "exact", .type = SONDE_OPTION_FLAG, .offset = AT(exact), .help = "read whatever is needed, however long that takes"},
    {.name = NULL},
};
static const struct asked defaults = {.pixels = 1920};

typedef SONDE_VECTOR(uint32_t) numbers;

/* "": none of them. */
static int read_numbers(const char *text, numbers *out, struct sonde_problem *problem)
{
    for (const char *at = text; *at;) {
        char *end = NULL;
        errno = 0;
        const unsigned long number = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (!end || errno || number > UINT32_MAX || (*end && (*end != ',' || !end[1]))) {
            problem->option = "series";
            return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "series must be numbers, such as 0,2, not '%s'", text);
        }
        if (sonde_vector_push(out, (uint32_t)number))
            return sonde_diag_set(&problem->diag, SONDE_ENOMEM, NULL, "cannot read which series are asked for");
        at = *end ? end + 1 : end;
    }
    return 0;
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static json_t *about_json(const struct sonde_query *q, const struct sonde_series_about *about)
{
    struct sonde_text name = {0};
    if (about->device)
        sonde_name_device_alone(q, &name, about->process, about->device);
    json_t *made = json_pack("{s:I, s:o, s:o, s:s, s:s}", "process", (json_int_t)about->process, "device",
                             about->device ? json_integer(about->device - 1) : json_null(), "device_name",
                             about->device ? sonde_packed_text(sonde_text_get(&name)) : json_null(), "name", about->name, "unit",
                             sonde_series_unit_name(about->unit));
    sonde_text_fini(&name);
    return made;
}

static int add_head(struct sonde_packed *packed, const struct sonde_query *q, const struct sonde_series *series,
                    const struct sonde_series_answer *a)
{
    json_t *all = json_array(), *lines = json_array(), *h = packed->header;
    size_t first = 0;
    bool failed = false;
    for (size_t i = 0; i < sonde_series_count(series); i++)
        failed |= json_array_append_new(all, about_json(q, sonde_series_about(series, i))) != 0;
    for (size_t i = 0; i < a->lines.count; i++) {
        const struct sonde_series_line *line = &a->lines.items[i];
        failed |= json_array_append_new(lines, json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "series", (json_int_t)line->number, "first",
                                                         (json_int_t)first, "count", (json_int_t)line->bins.count, "from_ns",
                                                         (json_int_t)line->from_ns, "bin_ns", (json_int_t)line->bin_ns, "partial",
                                                         line->partial)) != 0;
        first += line->bins.count;
    }
    failed |= json_object_set_new(h, "from_ns", json_integer((json_int_t)a->from_ns)) |
              json_object_set_new(h, "to_ns", json_integer((json_int_t)(a->to_ns < INT64_MAX ? a->to_ns : INT64_MAX))) |
              json_object_set_new(h, "bin_ns", json_integer((json_int_t)a->bin_ns)) |
              json_object_set_new(h, "partial", json_boolean(a->partial)) |
              json_object_set_new(h, "read_rows", json_integer((json_int_t)a->read_rows));
    failed |= json_object_set_new(h, "series", all) | json_object_set_new(h, "lines", lines);
    return failed ? SONDE_ENOMEM : 0;
}

static int add_bins(struct sonde_packed *packed, const struct sonde_series_answer *a)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < a->lines.count; i++)
        count += a->lines.items[i].bins.count;
    double *least = sonde_packed_column(packed, "min", SONDE_PACKED_F64, count);
    double *most = sonde_packed_column(packed, "max", SONDE_PACKED_F64, count);
    double *last = sonde_packed_column(packed, "last", SONDE_PACKED_F64, count);
    double *mean = sonde_packed_column(packed, "mean", SONDE_PACKED_F64, count);
    if (packed->failed)
        return packed->failed;
    for (size_t i = 0; i < a->lines.count; i++)
        for (size_t k = 0; k < a->lines.items[i].bins.count; k++, at++) {
            const struct sonde_series_bin *bin = &a->lines.items[i].bins.items[k];
            least[at] = (double)bin->least;
            most[at] = (double)bin->most;
            last[at] = (double)bin->last;
            mean[at] = bin->mean;
        }
    return 0;
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct asked *asked = options;
    struct sonde_series_answer found = {0};
    struct sonde_packed packed;
    numbers list = {0};
    (void)argument;
    sonde_packed_begin(&packed);
    int rc = asked->series ? read_numbers(asked->series, &list, problem) : 0;
    const uint32_t none = 0;
    const struct sonde_series_question question = {
        .numbers = !asked->series ? NULL : list.items ? list.items
                                                      : &none,
        .count = list.count,
        .from_ns = (uint64_t)asked->from_ns,
        .to_ns = (uint64_t)asked->to_ns,
        .pixels = (uint32_t)asked->pixels,
        .exact = asked->exact,
    };
    out->type = SONDE_PACKED_MEDIA_TYPE;
    rc = rc ? rc : sonde_series_ask(session->series, &question, &found, &problem->diag);
    if (!rc) {
        rc = packed.header ? add_head(&packed, &session->query, session->series, &found) : SONDE_ENOMEM;
        rc = rc ? rc : add_bins(&packed, &found);
        rc = rc ? rc : sonde_packed_write(&packed, &out->text);
        if (rc)
            sonde_diag_set(&problem->diag, rc, session->path, "cannot write the answer about");
    }
    sonde_packed_fini(&packed);
    sonde_series_answer_fini(&found);
    sonde_vector_fini(&list);
    return rc;
}

const struct sonde_request sonde_request_series = {
    .name = "series",
    .summary = "memory, operations in flight and busy time over a time range",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .defaults = &defaults,
    .answer = answer,
};
