/* timeline.c - the answers of `timeline` and `overview`, read by what docs/developers/requests.md says of their bytes; options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "scene.h"
#include "serve/columns.h"
#include "serve/request.h"
#include "serve/timeline.h"

/* ---- a reader of columns ------------------------------------------------------------------------ */

struct body {
    json_t *header;
    const uint8_t *bytes; /* of the first column */
    size_t length;
    char *copy;           /* aligned */
};

static struct body read_body(const struct sonde_text *text)
{
    struct body b = {.copy = malloc(text->length)};
    uint32_t length, zero;
    assert_true(text->length >= 16);
    memcpy(b.copy, text->bytes, text->length);
    assert_memory_equal(b.copy, "SNDCOLS1", 8);
    memcpy(&length, b.copy + 8, 4);
    memcpy(&zero, b.copy + 12, 4);
    assert_int_equal(zero, 0);
    b.header = json_loadb(b.copy + 16, length, 0, NULL);
    assert_non_null(b.header);
    const size_t first = 16 + (length + 7) / 8 * 8;
    for (size_t i = 16 + length; i < first; i++)
        assert_int_equal(b.copy[i], ' ');
    b.bytes = (const uint8_t *)b.copy + first;
    b.length = text->length - first;
    return b;
}

/* The column of a name, of the type, with its count. */
static const void *column(const struct body *b, const char *name, const char *type, size_t *count)
{
    size_t at = 0, i;
    const void *found = NULL;
    json_t *c;
    json_array_foreach (json_object_get(b->header, "columns"), i, c) {
        const char *its = json_string_value(json_object_get(c, "type"));
        const size_t values = (size_t)json_integer_value(json_object_get(c, "count"));
        const size_t bytes = values * (size_t)(strcmp(its, "u8") ? atoi(its + 1) / 8 : 1);
        if (strcmp(json_string_value(json_object_get(c, "name")), name) == 0) {
            assert_string_equal(its, type);
            found = b->bytes + at;
            *count = values;
        }
        for (size_t k = at + bytes; k < (at + bytes + 7) / 8 * 8; k++)
            assert_int_equal(b->bytes[k], 0);
        at = (at + bytes + 7) / 8 * 8;
    }
    assert_int_equal(at, b->length);
    assert_non_null(found);
    assert_int_equal((uintptr_t)found % 8, 0);
    return found;
}

static void body_fini(struct body *b)
{
    json_decref(b->header);
    free(b->copy);
}

static void every_type(void **state)
{
    struct sonde_packed packed;
    struct sonde_text text = {0};
    size_t count;
    (void)state;
    sonde_packed_begin(&packed);
    double *real = sonde_packed_column(&packed, "real", SONDE_PACKED_F64, 2);
    uint8_t *small = sonde_packed_column(&packed, "small", SONDE_PACKED_U8, 3);
    uint16_t *half = sonde_packed_column(&packed, "half", SONDE_PACKED_U16, 1);
    (void)sonde_packed_column(&packed, "none", SONDE_PACKED_U32, 0);
    uint64_t *large = sonde_packed_column(&packed, "large", SONDE_PACKED_U64, 1);
    real[0] = -0.5, real[1] = 1e300;
    small[2] = 255;
    half[0] = 65535;
    large[0] = UINT64_MAX;
    json_object_set_new(packed.header, "text", sonde_packed_text("a\xff<script>"));
    sonde_text_add(&text, "before! "); /* appended, at a multiple of 8 */
    assert_int_equal(sonde_packed_write(&packed, &text), 0);
    sonde_packed_fini(&packed);
    const struct sonde_text rest = {.bytes = text.bytes + 8, .length = text.length - 8};
    struct body b = read_body(&rest);
    assert_memory_equal(column(&b, "real", "f64", &count), ((double[]){-0.5, 1e300}), 16);
    assert_int_equal(count, 2);
    assert_int_equal(((const uint8_t *)column(&b, "small", "u8", &count))[2], 255);
    assert_int_equal(*(const uint16_t *)column(&b, "half", "u16", &count), 65535);
    column(&b, "none", "u32", &count);
    assert_int_equal(count, 0);
    assert_int_equal(*(const uint64_t *)column(&b, "large", "u64", &count), UINT64_MAX);
    assert_string_equal(json_string_value(json_object_get(b.header, "text")), "a\xef\xbf\xbd<script>");
    body_fini(&b);
    sonde_text_fini(&text);
}

/* ---- the requests --------------------------------------------------------------------------------- */

struct loaded {
    struct sonde_query q;
    struct sonde_timeline *timeline;
    uint32_t queue, thread;
};

/* A kernel of 400 and ten short ones on a queue, a call of 600 and a range on a thread; the run lasts 1024. */
static struct loaded load(void)
{
    struct scene *s = scene_create();
    struct loaded l = {.q = {.path = "made"}};
    l.queue = scene_queue(s, scene_device(s, "gpu"));
    l.thread = scene_thread(s);
    const uint32_t api = scene_api(s, l.thread, scene_function(s, l.thread, 0, "main"), "clFinish");
    const uint32_t kernel = scene_kernel(s, l.thread, api, "<script>"), small = scene_kernel(s, l.thread, api, "small");
    const struct sonde_row_range range = {.begin_ns = 100, .end_ns = 300, .name = synth_add_string(scene_build(s), "epoch"), .domain = synth_add_string(scene_build(s), "trainer")};
    scene_op(s, l.queue, kernel, 0, 400, 7);
    for (uint64_t i = 0; i < 10; i++)
        scene_op(s, l.queue, small, 512 + i * 10, 512 + i * 10 + 5, 8 + i);
    scene_call(s, l.thread, api, 100, 700, 7);
    synth_add(scene_build(s), SONDE_TABLE_RANGE, l.thread, &range);
    scene_header(s)->stop_ns = 1024;
    l.q.m = scene_open(s);
    assert_int_equal(sonde_query_prepare(&l.q, NULL), 0);
    assert_int_equal(sonde_timeline_create(l.q.m, l.q.profile, 0, &l.timeline), 0);
    return l;
}

static void unload(struct loaded *l)
{
    sonde_timeline_destroy(l->timeline);
    sonde_query_fini(&l->q);
}

struct pair {
    const char *name, *value; /* NULL: it is not there */
};

/* As a session reads them. */
static int read_options(const struct sonde_request *request, const struct pair *pairs, size_t count, struct sonde_timeline_options *out)
{
    int rc = 0;
    memcpy(out, request->defaults, sizeof *out);
    for (size_t i = 0; i < count && !rc; i++) {
        const struct sonde_option *option = sonde_option_find(request->options, pairs[i].name, strlen(pairs[i].name));
        struct sonde_text wrong = {0};
        struct sonde_nearest nearest;
        if (option && (pairs[i].value || option->type == SONDE_OPTION_FLAG))
            rc = sonde_option_read(option, option->name, pairs[i].value, out, &wrong, &nearest);
        else if (!option)
            rc = SONDE_EINVALID;
        sonde_text_fini(&wrong);
    }
    return rc;
}

static int serve(const struct loaded *l, const struct pair *pairs, size_t count, struct sonde_text *out)
{
    struct sonde_timeline_options options;
    struct sonde_diag diag = {0};
    int rc = read_options(&sonde_request_timeline, pairs, count, &options);
    if (rc)
        return rc;
    rc = sonde_serve_timeline(&l->q, l->timeline, &options, out, &diag);
    assert_true(!rc || *diag.what);
    return rc;
}

static void two_lanes(void **state)
{
    struct loaded l = load();
    struct sonde_text text = {0};
    char ids[32];
    size_t count;
    (void)state;
    snprintf(ids, sizeof ids, "0:%u,0:%u", l.thread, l.queue);
    assert_int_equal(serve(&l, (struct pair[]){{"lanes", ids}, {"pixels", "8"}, {"depth", "1"}}, 3, &text), 0);
    struct body b = read_body(&text);
    json_t *lanes = json_object_get(b.header, "lanes"), *strings = json_object_get(b.header, "strings");
    json_t *kinds = json_object_get(b.header, "kinds"), *thread = json_array_get(lanes, 0), *queue = json_array_get(lanes, 1);
    const uint64_t *begin = column(&b, "begin_ns", "u64", &count), *end = column(&b, "end_ns", "u64", &count);
    const uint64_t *time = column(&b, "time_ns", "u64", &count), *correlation = column(&b, "correlation", "u64", &count);
    const uint32_t *label = column(&b, "label", "u32", &count), *rows = column(&b, "rows", "u32", &count);
    const uint32_t *track = column(&b, "track", "u32", &count);
    const uint16_t *busy = column(&b, "busy", "u16", &count);
    const uint8_t *kind = column(&b, "kind", "u8", &count), *merged = column(&b, "merged", "u8", &count);
    assert_int_equal(count, 4); /* call, range, kernel, a bin */
    assert_int_equal(json_integer_value(json_object_get(b.header, "bin_ns")), 128);
    assert_int_equal(json_integer_value(json_object_get(b.header, "to_ns")), 1024);
    assert_true(json_is_false(json_object_get(b.header, "partial")));
    assert_int_equal(json_integer_value(json_object_get(thread, "lane")), l.thread);
    assert_int_equal(json_integer_value(json_object_get(thread, "count")), 2);
    assert_int_equal(json_integer_value(json_object_get(thread, "tracks")), 2);
    assert_int_equal(json_integer_value(json_object_get(queue, "first")), 2);
    assert_int_equal(json_integer_value(json_object_get(queue, "count")), 2);
    static const struct {
        uint64_t begin, end, time, correlation;
        uint32_t rows, track;
        uint8_t merged;
        const char *kind, *label;
    } expected[] = {
        {100, 700, 600, 7, 1, 0, 0, "call", "main() scene.py"},
        {100, 300, 200, 0, 1, 1, 0, "range", "[trainer: epoch]"},
        {0, 400, 400, 7, 1, 0, 0, "operation", "<script>"},
        {512, 640, 50, 0, 10, 0, 1, "operation", "small"},
    };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(begin[i], expected[i].begin);
        assert_int_equal(end[i], expected[i].end);
        assert_int_equal(time[i], expected[i].time);
        assert_int_equal(correlation[i], expected[i].correlation);
        assert_int_equal(rows[i], expected[i].rows);
        assert_int_equal(track[i], expected[i].track);
        assert_int_equal(merged[i], expected[i].merged);
        assert_string_equal(json_string_value(json_array_get(kinds, kind[i])), expected[i].kind);
        assert_string_equal(json_string_value(json_array_get(strings, label[i])), expected[i].label);
    }
    assert_int_equal(busy[2], 65535);
    assert_int_equal(busy[3], 25600); /* 50 of 128 */
    const uint64_t *total = column(&b, "total_time_ns", "u64", &count);
    const uint32_t *of = column(&b, "total_label", "u32", &count);
    assert_int_equal(count, 4);
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++)
        sum += strcmp(json_string_value(json_array_get(strings, of[i])), "small") ? 0 : total[i];
    assert_int_equal(sum, 50);
    body_fini(&b);
    sonde_text_fini(&text);
    unload(&l);
}

static void what_cannot_be_asked(void **state)
{
    struct loaded l = load();
    static const struct pair wrong[] = {
        {"lane", "0:1"},
        {"lanes", ""},
        {"lanes", "0"},
        {"lanes", "0:1,"},
        {"lanes", "0:1:2"},
        {"lanes", "0:-1"},
        {"lanes", " 0:1"},
        {"lanes", "0:99999999999"},
        {"lanes", "0:1,0:1"},
        {"lanes", NULL},
        {"pixels", "0"},
        {"pixels", "16385"},
        {"pixels", "1e3"},
        {"from", "-1"},
        {"from", "18446744073709551616"},
        {"from", "1024"},
        {"to", "x"},
        {"depth", "4294967296"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sonde_text text = {0};
        const bool lanes = strcmp(wrong[i].name, "lanes") == 0;
        assert_int_equal(serve(&l, (struct pair[]){wrong[i], {"lanes", lanes && wrong[i].value ? wrong[i].value : lanes ? NULL
                                                                                                                        : "0:1"}},
                               2, &text),
                         SONDE_EINVALID);
        sonde_text_fini(&text);
    }
    struct sonde_text text = {0};
    assert_int_equal(serve(&l, (struct pair[]){{"lanes", "0:77"}}, 1, &text), SONDE_ENOTFOUND);
    sonde_text_fini(&text);
    unload(&l);
}

static void strip_of_devices(void **state)
{
    struct loaded l = load();
    struct sonde_timeline_options options;
    struct sonde_text text = {0};
    size_t count;
    (void)state;
    assert_int_equal(read_options(&sonde_request_overview, (struct pair[]){{"pixels", "4"}}, 1, &options), 0);
    assert_int_equal(sonde_serve_overview(&l.q, &options, &text, NULL), 0);
    struct body b = read_body(&text);
    const uint16_t *busy = column(&b, "busy", "u16", &count);
    assert_int_equal(count, 4);
    assert_int_equal(busy[0], 65535);
    assert_int_equal(busy[1], 36863); /* 144 of 256 */
    assert_int_equal(busy[2], 12800); /* 50 of 256 */
    assert_int_equal(busy[3], 0);
    json_t *device = json_array_get(json_object_get(b.header, "devices"), 0);
    assert_int_equal(json_integer_value(json_object_get(device, "device")), 0);
    assert_string_equal(json_string_value(json_object_get(device, "name")), "0 gpu");
    body_fini(&b);
    sonde_text_fini(&text);
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(two_lanes),
        cmocka_unit_test(what_cannot_be_asked),
        cmocka_unit_test(strip_of_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
