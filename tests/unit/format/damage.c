/* damage.c (test) - every byte of a small measurement damaged, every length cut:
 * the reader never fails worse than it must, and loses only what was hit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "folder.h"
#include "format/chunk.h"
#include "format/writer.h"

static const char *make(uint64_t operations, bool unsealed, struct synth_totals *totals)
{
    struct synth_options o = {.operations = operations, .lanes = 2, .threads = 1, .processes = 1, .seed = 5, .unsealed = unsealed};
    const char *path = folder_new();
    assert_int_equal(synth_write(path, &o, totals, NULL), 0);
    return path;
}

/* The chunk at or before a byte. */
static struct sonde_chunk chunk_of(const uint8_t *bytes, size_t size, size_t byte)
{
    struct sonde_chunk h = {0};
    for (size_t at = 0; at <= byte; at += sonde_chunk_size(&h))
        assert_int_equal(sonde_chunk_check(bytes + at, size - at, &h), 0);
    return h;
}

static void every_byte_of_a_sealed_measurement(void **unused)
{
    struct synth_totals known;
    const char *path = make(60, false, &known);
    const char *dir = folder_process(path);
    struct tally whole = tally(path);
    size_t size;
    uint8_t *bytes = folder_read(dir, "data.sonde", &size);
    (void)unused;
    assert_int_equal(whole.damaged, 0);
    for (size_t at = 0; at < size; at += EVERY) {
        struct sonde_chunk h = chunk_of(bytes, size, at);
        bytes[at] ^= (uint8_t)(1 << at % 8);
        folder_write(dir, "data.sonde", bytes, size);
        bytes[at] ^= (uint8_t)(1 << at % 8);
        struct tally t = tally(path);
        assert_int_equal(t.status, 0);
        assert_in_range(t.damaged, 1, 2);
        /* One bit, one chunk; a bit in the padding costs nothing. */
        assert_true(t.ops == whole.ops || (h.table == SONDE_TABLE_OP && t.ops == whole.ops - h.count));
        assert_true(t.calls == whole.calls || (h.table == SONDE_TABLE_CALL && t.calls == whole.calls - h.count));
        assert_true(t.nodes == whole.nodes || (h.table == SONDE_TABLE_NODE && t.nodes == whole.nodes - h.count));
        assert_true(t.profiles == whole.profiles || h.table == SONDE_TABLE_PROFILE);
        assert_true(t.strings == whole.strings || h.table == SONDE_TABLE_STRING);
        assert_true(t.symbols == whole.symbols || h.table == SONDE_TABLE_SYMBOL);
        assert_true(t.ledger.seen == known.seen || h.table == SONDE_TABLE_PROCESS);
    }
    free(bytes);
}

static void every_length_of_a_sealed_measurement(void **unused)
{
    struct synth_totals known;
    const char *path = make(60, false, &known);
    const char *dir = folder_process(path);
    size_t size, border = 0;
    bool footer = false; /* was what ends at `border` */
    uint8_t *bytes = folder_read(dir, "data.sonde", &size);
    uint64_t ops = 0, calls = 0;
    (void)unused;
    struct sonde_chunk h;
    memcpy(&h, bytes, sizeof h);
    for (size_t cut = 0; cut < size; cut++) {
        if (cut == border + sizeof h + h.stored_bytes) { /* one more chunk is whole */
            ops += h.table == SONDE_TABLE_OP ? h.count : 0;
            calls += h.table == SONDE_TABLE_CALL ? h.count : 0;
            border += sonde_chunk_size(&h);
            footer = h.table == SONDE_TABLE_INDEX && h.count == 0;
            memcpy(&h, bytes + border, sizeof h);
        }
        if (cut % EVERY)
            continue;
        folder_write(dir, "data.sonde", bytes, cut);
        struct tally t = tally(path);
        if (!border && cut) { /* nothing whole in it */
            assert_int_equal(t.status, cut < sizeof h + h.stored_bytes ? SONDE_EFORMAT : 0);
            continue;
        }
        assert_int_equal(t.status, 0);
        assert_int_equal(t.ops, ops);
        assert_int_equal(t.calls, calls);
        /* The torn chunk, or the footer that a whole file ends with. */
        assert_int_equal(t.damaged, cut > border || (cut && !footer));
    }
    free(bytes);
}

static void every_byte_of_a_live_measurement(void **unused)
{
    struct synth_totals known;
    const char *path = make(30, true, &known);
    const char *dir = folder_process(path);
    size_t size;
    uint8_t *bytes = folder_read(dir, "live.sonde", &size);
    (void)unused;
    for (size_t at = 0; at < size; at++) {
        size_t within = at % SONDE_SEGMENT_BYTES;
        if (at < SONDE_SEGMENT_BYTES ? within > 640 : within > 400 || (within > 120 && within % 7))
            continue; /* rows look alike, and the rest is empty */
        if (at >= 64 && at % EVERY)
            continue;
        for (int bit = 0; bit < 8; bit += at < 64 || within < 64 ? 1 : 5) {
            bytes[at] ^= (uint8_t)(1 << bit);
            folder_write(dir, "live.sonde", bytes, size);
            bytes[at] ^= (uint8_t)(1 << bit);
            struct tally t = tally(path);
            /* live.sonde has no checksums: only what names and sizes things can be doubted. */
            if (at >= 8 && at < 12)
                assert_int_equal(t.status, SONDE_EVERSION);
            else
                assert_int_equal(t.status, 0);
            if (at < SONDE_SEGMENT_BYTES && !t.status)
                assert_int_equal(t.ops, known.seen);
            if (at < 8)
                assert_int_equal(t.damaged, 1);
            if (at >= SONDE_SEGMENT_BYTES && within < 4) {
                assert_int_equal(t.damaged, 1);
                assert_true(t.ops + t.calls + 32 >= known.seen + known.calls);
            }
        }
    }
    for (size_t cut = 0; cut < size; cut += cut % SONDE_SEGMENT_BYTES < 400 ? EVERY : 4001) {
        folder_write(dir, "live.sonde", bytes, cut);
        struct tally t = tally(path);
        assert_true(t.status == 0 || t.status == SONDE_EFORMAT);
        assert_true(t.ops <= known.seen && t.calls <= known.calls);
    }
    free(bytes);
}

static void garbage_between_chunks_is_stepped_over(void **unused)
{
    struct synth_totals known;
    const char *path = make(4000, false, &known);
    const char *dir = folder_process(path);
    size_t size;
    uint8_t *bytes = folder_read(dir, "data.sonde", &size), *more = malloc(size + 4096);
    (void)unused;
    struct sonde_chunk h;
    memcpy(&h, bytes, sizeof h);
    size_t border = sonde_chunk_size(&h);
    for (size_t hole = 8; hole <= 4096; hole *= 2)
        for (int filler = 0; filler < 3; filler++) {
            memcpy(more, bytes, border);
            for (size_t i = 0; i < hole; i++) /* zeros, noise, or what looks like chunks */
                more[border + i] = filler == 0 ? 0 : (filler == 1 ? (uint8_t)(i * 131 + i / 256) : bytes[i % 64]);
            memcpy(more + border + hole, bytes + border, size - border);
            folder_write(dir, "data.sonde", more, size + hole);
            struct tally t = tally(path);
            assert_int_equal(t.status, 0);
            assert_int_equal(t.ops, known.seen);
            assert_int_equal(t.calls, known.calls);
            assert_int_equal(t.damaged, 1);
        }
    free(bytes);
    free(more);
}

static void assert_refused(const char *path, int code)
{
    struct sonde_measurement *m = (void *)1;
    struct sonde_diag diag;
    assert_int_equal(sonde_measurement_open(path, &m, &diag), code);
    assert_null(m);
    assert_int_equal(diag.code, code);
    assert_true(diag.what[0]);
    assert_non_null(strstr(diag.where, path));
    assert_int_equal(sonde_measurement_open(path, &m, NULL), code);
}

static void write_manifest(const char *path, const char *text)
{
    folder_write(path, "manifest.json", text, strlen(text));
}

/* Of this version, with `more` keys. */
static void write_own_manifest(const char *path, const char *more)
{
    char text[160];
    snprintf(text, sizeof text, "{\"format\": \"sonde\", \"format_version\": %u%s}", SONDE_FORMAT_VERSION, more);
    write_manifest(path, text);
}

static void foreign_and_missing_directories(void **unused)
{
    const char *path = folder_new();
    (void)unused;
    assert_refused(path, SONDE_ENOTFOUND);
    mkdir(path, 0777);
    assert_refused(path, SONDE_EFORMAT);
    folder_write(path, "notes.txt", "hello", 5);
    assert_refused(path, SONDE_EFORMAT);
    write_manifest(path, "{\"name\": \"an app\"}"); /* many have a manifest.json */
    assert_refused(path, SONDE_EFORMAT);
    write_manifest(path, "{\"form");
    assert_refused(path, SONDE_EFORMAT);
    write_own_manifest(path, "");
    assert_int_equal(tally(path).status, 0); /* a program that used no device */
    assert_int_equal(tally(path).processes, 0);
    folder_write(path, "data.sonde", "#!/bin/sh\necho this is no measurement at all, but a script\n", 60);
    assert_refused(path, SONDE_EFORMAT);
    static char file[300];
    snprintf(file, sizeof file, "%s/notes.txt", path);
    assert_refused(file, SONDE_EFORMAT);
}

static void other_versions_are_named(void **unused)
{
    struct synth_totals known;
    const char *path = make(10, false, &known);
    const char *dir = folder_process(path);
    struct sonde_chunk h = {.magic = SONDE_CHUNK_MAGIC, .version = SONDE_FORMAT_VERSION + 1, .table = 77, .count = 1, .row_bytes = 8};
    struct sonde_diag diag;
    struct sonde_measurement *m;
    size_t size;
    (void)unused;
    uint8_t *bytes = folder_read(dir, "data.sonde", &size);
    bytes = realloc(bytes, size + sizeof h);
    h.checksum = XXH3_64bits(&h, sizeof h);
    memcpy(bytes + size, &h, sizeof h);
    folder_write(dir, "data.sonde", bytes, size + sizeof h);
    assert_refused(path, SONDE_EVERSION);
    sonde_measurement_open(path, &m, &diag);
    char versions[64];
    snprintf(versions, sizeof versions, "version %u, this build reads version %u", SONDE_FORMAT_VERSION + 1, SONDE_FORMAT_VERSION);
    assert_non_null(strstr(diag.hint, versions));
    free(bytes);

    path = make(10, false, &known);
    write_manifest(path, "{\"format\": \"sonde\", \"format_version\": 1000}");
    assert_refused(path, SONDE_EVERSION);
    write_manifest(path, "{\"format\": \"sonde\", \"format_version\": 3}");
    assert_refused(path, SONDE_EVERSION);

    path = make(10, true, &known);
    dir = folder_process(path);
    bytes = folder_read(dir, "live.sonde", &size);
    ((struct sonde_live_header *)(void *)bytes)->version = SONDE_FORMAT_VERSION + 1;
    folder_write(dir, "live.sonde", bytes, size);
    assert_refused(path, SONDE_EVERSION);
    free(bytes);
}

static uint64_t unknown_rows(const char *path)
{
    struct sonde_measurement *m;
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    uint64_t rows = m->processes[0].unknown_rows;
    sonde_measurement_close(m);
    return rows;
}

/* Tables that this build does not know, as large as a trace's may be: left alone, counted, and in nobody's rows. */
static void unknown_tables_are_left_alone(void **unused)
{
    enum { ROWS = 2600 };
    enum { ROW_BYTES = 100 };
    struct synth_totals known;
    const char *path = make(4000, false, &known), *dir = folder_process(path);
    struct sonde_chunk h = {
        .magic = SONDE_CHUNK_MAGIC,
        .version = SONDE_FORMAT_VERSION,
        .table = 62,
        .owner = 1,
        .count = ROWS,
        .raw_bytes = ROWS * ROW_BYTES,
        .stored_bytes = ROWS * ROW_BYTES,
        .row_bytes = ROW_BYTES,
    };
    size_t size;
    (void)unused;
    uint8_t *bytes = folder_read(dir, "data.sonde", &size), *more = malloc(size + sizeof h + h.stored_bytes);
    uint8_t *chunk = more; /* before the others */
    memset(chunk, 7, sizeof h + h.stored_bytes);
    memcpy(chunk, &h, sizeof h);
    h.checksum = XXH3_64bits(chunk, sizeof h + h.stored_bytes);
    memcpy(chunk, &h, sizeof h);
    memcpy(more + sizeof h + h.stored_bytes, bytes, size);
    folder_write(dir, "data.sonde", more, size + sizeof h + h.stored_bytes);
    struct tally t = tally(path);
    assert_int_equal(t.status + t.damaged, 0);
    assert_int_equal(t.ops, known.seen);
    assert_int_equal(t.calls, known.calls);
    assert_int_equal(unknown_rows(path), ROWS);
    free(bytes);
    free(more);

    path = make(30, true, &known);
    dir = folder_process(path);
    bytes = folder_read(dir, "live.sonde", &size);
    more = calloc(1, size + 2 * SONDE_SEGMENT_BYTES);
    memcpy(more, bytes, size);
    size += -size & (SONDE_SEGMENT_BYTES - 1);
    struct sonde_segment s = {.magic = SONDE_SEGMENT_MAGIC, .table = 63, .owner = 1, .used = 5, .row_bytes = ROW_BYTES};
    memcpy(more + size, &s, sizeof s);
    folder_write(dir, "live.sonde", more, size + SONDE_SEGMENT_BYTES);
    t = tally(path);
    assert_int_equal(t.status + t.damaged, 0);
    assert_int_equal(t.ops, known.seen);
    assert_int_equal(unknown_rows(path), 5);
    assert_int_equal(sonde_process_seal(dir, NULL), SONDE_EVERSION); /* they would be lost */
    assert_true(folder_has(dir, "live.sonde"));
    s.used = 5000; /* more than a segment holds */
    memcpy(more + size, &s, sizeof s);
    folder_write(dir, "live.sonde", more, size + SONDE_SEGMENT_BYTES);
    assert_int_equal(tally(path).damaged, 1);
    assert_int_equal(unknown_rows(path), 0);
    free(bytes);
    free(more);
}

/* The program was killed while the file was being made: nothing recorded, nothing damaged.
 * The magic number is the last that is written of the header. */
static void a_file_without_its_magic_number_is_empty(void **unused)
{
    struct synth_totals known;
    const char *path = make(10, true, &known);
    const char *dir = folder_process(path);
    size_t whole;
    uint8_t *live = folder_read(dir, "live.sonde", &whole), *begun = calloc(1, SONDE_SEGMENT_BYTES);
    (void)unused;
    folder_write(dir, "data.sonde", "", 0);
    for (size_t filled = 0; filled <= sizeof(struct sonde_live_header); filled += 8) {
        memcpy(begun, live, filled);
        memset(begun, 0, sizeof((struct sonde_live_header *)0)->magic);
        folder_write(dir, "live.sonde", begun,
                     !filled ? 0 : (filled % 16 ? SONDE_SEGMENT_BYTES : sizeof(struct sonde_live_header)));
        struct tally t = tally(path);
        assert_int_equal(t.status, 0);
        assert_int_equal(t.processes + t.damaged, 0);
    }
    assert_int_equal(sonde_process_seal(dir, NULL), 0);
    assert_true(access(dir, F_OK) != 0); /* nothing of it is left over */
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(sonde_process_seal(dir, NULL), 0);
    assert_true(access(dir, F_OK) != 0);
    assert_int_equal(sonde_process_seal(dir, NULL), SONDE_ENOTFOUND);
    /* With rows behind it, it was there once. */
    assert_int_equal(mkdir(dir, 0700), 0);
    memset(live, 0, sizeof(struct sonde_live_header));
    folder_write(dir, "live.sonde", live, whole);
    struct tally t = tally(path);
    assert_int_equal(t.processes, 1);
    assert_true(t.damaged > 0);
    free(live);
    free(begun);
}

/* What is no word ends the command line. */
static void the_command_line_is_read_by_words(void **unused)
{
    const char *path = folder_new();
    struct sonde_measurement *m;
    (void)unused;
    mkdir(path, 0777);
    write_own_manifest(path, ", \"command\": [\"./heat\", \"\", 4, \"-n\"]");
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_string_equal(sonde_measurement_word(m, 0), "./heat");
    assert_string_equal(sonde_measurement_word(m, 1), "");
    assert_null(sonde_measurement_word(m, 2));
    assert_null(sonde_measurement_word(m, 4));
    sonde_measurement_close(m);
    write_own_manifest(path, ", \"command\": \"heat\"");
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_null(sonde_measurement_word(m, 0));
    sonde_measurement_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_a_sealed_measurement),
        cmocka_unit_test(every_length_of_a_sealed_measurement),
        cmocka_unit_test(every_byte_of_a_live_measurement),
        cmocka_unit_test(garbage_between_chunks_is_stepped_over),
        cmocka_unit_test(foreign_and_missing_directories),
        cmocka_unit_test(other_versions_are_named),
        cmocka_unit_test(unknown_tables_are_left_alone),
        cmocka_unit_test(a_file_without_its_magic_number_is_empty),
        cmocka_unit_test(the_command_line_is_read_by_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
