/* chunk.c (test) - every table survives encoding and decoding, whatever its rows hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sonde/error.h>

#include "format/chunk.h"
#include "format/decode.h"
#include "folder.h"

#define ROWS_BYTES (SONDE_CHUNK_ROOM + 64)

static uint64_t state = 1;
static uint8_t *out, *rows, *back;
static void *scratch;

static uint64_t noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int prepare(void **unused)
{
    (void)unused;
    out = malloc(sonde_chunk_bound());
    rows = malloc(ROWS_BYTES);
    back = malloc(ROWS_BYTES);
    scratch = aligned_alloc(64, sonde_chunk_scratch_bytes());
    return !out || !rows || !back || !scratch;
}

static int release(void **unused)
{
    (void)unused;
    free(out);
    free(rows);
    free(back);
    free(scratch);
    return 0;
}

/* Some fields of the rows alone, with what they are predicted from in the chunk only. */
static void assert_some_fields(const struct sonde_chunk *h, size_t size, uint64_t fields)
{
    struct sonde__decoder *decoder = sonde__decoder_create();
    size_t width = sonde_row_bytes((enum sonde_table)h->table), bytes = h->count * width;

    memset(back, 0xcc, ROWS_BYTES);
    assert_int_equal(sonde__decoder_fields(decoder, out, size, h, fields, SONDE__ALL_FIELDS, back), 0);
    for (size_t at = 0; at < bytes; at++)
        if (fields >> at % width / 2 & 1 && rows[at] != back[at])
            fail_msg("%s: byte %zu with fields %llx", sonde_table_name((enum sonde_table)h->table), at, (unsigned long long)fields);
    assert_int_equal(back[bytes], 0xcc);
    sonde__decoder_destroy(decoder);
}

/* Rows that have some fields only, one after the other; a field is there as a whole. */
static void assert_kept_fields(const struct sonde_chunk *h, size_t size)
{
    struct sonde__decoder *decoder = sonde__decoder_create();
    const struct sonde_table_info *table = sonde_table_info(h->table);
    const size_t bytes = h->count * (size_t)table->row_bytes;
    uint64_t kept = 0;
    size_t to = 0;

    for (uint32_t i = 0; i < table->column_count; i++)
        for (uint32_t at = 0, here = noise() & 1; here && at < table->columns[i].width; at += 2)
            kept |= 1ull << (table->columns[i].offset + at) / 2;
    memset(back, 0xcc, ROWS_BYTES);
    assert_int_equal(sonde__decoder_fields(decoder, out, size, h, SONDE__ALL_FIELDS, kept, back), 0);
    for (size_t at = 0; at < bytes; at++)
        if (kept >> at % table->row_bytes / 2 & 1 && rows[at] != back[to++])
            fail_msg("%s: byte %zu of what is kept with %llx", table->name, to - 1, (unsigned long long)kept);
    assert_int_equal(back[to], 0xcc);
    if (h->count && table->columns[0].width > 2)
        assert_int_equal(sonde__decoder_fields(decoder, out, size, h, SONDE__ALL_FIELDS, 1ull << table->columns[0].offset / 2, back),
                         SONDE_EFORMAT);
    sonde__decoder_destroy(decoder);
}

/* Encode, check, decode; the scratch and the output are dirty before. */
static struct sonde_chunk round_trip(enum sonde_table table, uint32_t count)
{
    struct sonde_chunk h;
    size_t bytes = (size_t)count * sonde_row_bytes(table);

    memset(scratch, 0xa5, sonde_chunk_scratch_bytes());
    memset(out, 0x5a, sonde_chunk_bound());
    memset(back, 0xcc, ROWS_BYTES);
    long size = sonde_chunk_encode(table, 7, 11, rows, count, scratch, out, sonde_chunk_bound());
    assert_true(size > 0 && (size_t)size <= sonde_chunk_bound());
    assert_int_equal(size % 8, 0);
    assert_int_equal(sonde_chunk_check(out, (size_t)size, &h), 0);
    assert_int_equal(sonde_chunk_size(&h), size);
    assert_int_equal(h.table, table);
    assert_int_equal(h.owner, 7);
    assert_int_equal(h.first, 11);
    assert_int_equal(sonde_chunk_decode(out, (size_t)size, &h, back), 0);
    assert_memory_equal(rows, back, bytes);
    assert_int_equal(back[bytes], 0xcc); /* not a byte more */
    if (sonde_table_is_trace(table)) {
        assert_some_fields(&h, (size_t)size, 1ull << noise() % 64);
        assert_some_fields(&h, (size_t)size, noise() & noise() & noise());
        assert_kept_fields(&h, (size_t)size);
    }
    for (size_t cut = 0; cut < (size_t)size && cut < sizeof h + h.stored_bytes; cut += 1 + cut / 4)
        assert_int_equal(sonde_chunk_check(out, cut, &h), SONDE_EFORMAT);
    return h;
}

enum pattern {
    ZEROS,
    ONES,
    RANDOM,
    SMALL,
    EXTREMES,
    RAMP,
    MULTIPLES,
    TWO_KINDS,
    OUTLIER,
    PATTERNS,
};

/* Fill the rows as 2-, 4- or 8-byte numbers: the columns cut them where they like. */
static void fill(enum pattern pattern, uint32_t bytes)
{
    static const uint64_t extreme[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, UINT32_MAX, 0x80000000, 255};
    uint32_t unit = 2u << noise() % 3;

    memset(rows, pattern == ONES ? 0xff : 0, ROWS_BYTES);
    for (uint32_t at = 0, i = 0; at < bytes && pattern > ONES; at += unit, i++) {
        uint64_t v = 0;
        switch (pattern) {
        case RANDOM: v = noise(); break;
        case SMALL: v = 1000000 + noise() % 100; break;
        case EXTREMES: v = extreme[noise() % 8]; break;
        case RAMP: v = (uint64_t)i * 1500 + noise() % 64; break;
        case MULTIPLES: v = noise() % 1000 * 1000; break;
        case TWO_KINDS: v = i % 2 ? 50000 + noise() % 500 : 1000 + noise() % 50; break;
        case OUTLIER: v = noise() % 400 ? noise() % 16 : noise(); break;
        default: break;
        }
        memcpy(rows + at, &v, unit < bytes - at ? unit : bytes - at);
    }
}

static void every_table_survives(void **unused)
{
    (void)unused;
    for (int table = SONDE_TABLE_STRING + 1; table < SONDE_TABLE_COUNT; table++) {
        uint32_t width = sonde_row_bytes(table), most = sonde_chunk_room((uint32_t)table) / width;
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            for (uint32_t k = 0; k < 8; k++) {
                uint32_t count = k == 0 ? 1 : (k == 1 ? most : (k == 2 ? 2 : 1 + (uint32_t)(noise() % most)));
                count = count > most ? most : count;
                fill((enum pattern)pattern, count * width);
                struct sonde_chunk h = round_trip(table, count);
                assert_int_equal(h.count, count);
            }
    }
}

static void strings_survive(void **unused)
{
    (void)unused;
    for (int k = 0; k < 300; k++) {
        uint32_t at = 0, count = 0, most = 1 + (uint32_t)(noise() % 3000);
        memset(rows, 0, ROWS_BYTES);
        for (;;) {
            uint32_t length = (uint32_t)(noise() % most), size = 4 + ((length + 3) & ~3u);
            if (at + size > SONDE_SEGMENT_ROOM || noise() % 500 == 0)
                break;
            memcpy(rows + at, &length, 4);
            for (uint32_t i = 0; i < length; i++)
                rows[at + 4 + i] = (uint8_t)noise();
            at += size;
            count++;
        }
        if (count)
            assert_int_equal(round_trip(SONDE_TABLE_STRING, at).count, count);
    }
}

static void constant_columns_cost_nothing_per_row(void **unused)
{
    struct sonde_row_op *op = (void *)rows;
    struct sonde_chunk few, many;
    (void)unused;

    for (uint32_t i = 0; i < 900; i++)
        op[i] = (struct sonde_row_op){
            .start_ns = 1000 + i * 100,
            .end_ns = 1050 + i * 100,
            .queued_ns = 20 + i * 100,
            .submit_ns = 30 + i * 100,
            .enter_ns = 10 + i * 100,
            .correlation = i,
            .node = 9,
            .kind = 1,
        };
    few = round_trip(SONDE_TABLE_OP, 10);
    many = round_trip(SONDE_TABLE_OP, 900);
    assert_true(many.stored_bytes <= few.stored_bytes + 8);
    assert_int_equal(many.flags & SONDE_CHUNK_SORTED, SONDE_CHUNK_SORTED);
    assert_int_equal(many.time_min, 1000);
    assert_int_equal(many.time_max, 1050 + 899 * 100);
}

/* The queue is waited for before the submission, or after it: what follows
 * from the previous row costs no bits. 6 bits of noise in two columns are left. */
static void waits_are_predicted_on_either_side(void **unused)
{
    struct sonde_row_op *op = (void *)rows;
    (void)unused;
    for (int held = 0; held < 2; held++) {
        uint64_t now = 1000000, end = 0;
        for (uint32_t i = 0; i < 900; i++, now += 300 + noise() % 64) {
            uint64_t queued = now + 200, ready = queued + 40, submit, start;
            submit = held ? (end > queued ? end : queued) + 70 : ready;
            start = (held || submit > end ? submit : end) + 500;
            end = start + 200 + noise() % 64;
            op[i] = (struct sonde_row_op){
                .start_ns = start,
                .end_ns = end,
                .queued_ns = queued,
                .submit_ns = submit,
                .enter_ns = now,
                .correlation = i + 1,
                .node = 9,
                .kind = 1,
            };
        }
        assert_true(round_trip(SONDE_TABLE_OP, 900).stored_bytes * 8 < 900 * 15);
    }
}

/* A thread that enters its next call right after the last: the call's own noise
 * is stored once, not in the distance to the next entry as well. Or one that
 * enters by a clock, however long its calls take. */
static void calls_follow_each_other(void **unused)
{
    struct sonde_row_call *call = (void *)rows;
    struct sonde_row_op *op = (void *)rows;
    (void)unused;
    for (int paced = 0; paced < 2; paced++) {
        uint64_t now = 1000000;
        for (uint32_t i = 0; i < 2000; i++) {
            uint64_t leave = now + 500 + noise() % 256;
            call[i] = (struct sonde_row_call){now, leave, 1000000 + i, 9, 2};
            now = paced ? now + 4000 : leave + 70;
        }
        assert_true(round_trip(SONDE_TABLE_CALL, 2000).stored_bytes < 2000 + 200);
        for (uint32_t i = 0; i < 2000; i++) {
            uint64_t queued = now + 500 + noise() % 256;
            op[i] = (struct sonde_row_op){
                .enter_ns = now,
                .queued_ns = queued,
                .submit_ns = queued + 10,
                .start_ns = queued + 20,
                .end_ns = queued + 30,
                .correlation = i + 1,
                .node = 9,
                .kind = 1,
            };
            now = paced ? now + 4000 : queued + 70;
        }
        assert_true(round_trip(SONDE_TABLE_OP, 2000).stored_bytes < 2000 + 250);
    }
}

/* A runtime that says neither when it queued nor when it submitted: the zeros cost nothing, and
 * an operation starts after its call or when the queue is free. 8 bits of noise in three columns are left. */
static void unknown_times_cost_nothing(void **unused)
{
    struct sonde_row_op *op = (void *)rows;
    uint64_t now = 1000000, end = 0;
    (void)unused;
    for (uint32_t i = 0; i < 2000; i++, now += 4000 + noise() % 256) {
        const bool crowded = i / 50 % 2; /* the queue is never free then */
        uint64_t start = now + 3000 + noise() % 256;
        start = start > end + 500 ? start : end + 500;
        end = start + (crowded ? 5000 : 1000) + noise() % 256;
        op[i] = (struct sonde_row_op){.enter_ns = now, .start_ns = start, .end_ns = end, .correlation = i + 1, .node = 9, .kind = 1};
    }
    assert_true(round_trip(SONDE_TABLE_OP, 2000).stored_bytes < 2000 * 4);
}

/* A thread runs and waits by turns: each time is stored once. */
static void switches_alternate(void **unused)
{
    struct sonde_row_switch *away = (void *)rows;
    uint64_t now = 1000000;
    (void)unused;
    for (uint32_t i = 0; i < 2000; i++) {
        const uint64_t left = now + 500 + noise() % 256;
        now = left + 20000 + noise() % 65536;
        away[i] = (struct sonde_row_switch){.out_ns = left, .in_ns = now};
    }
    assert_true(round_trip(SONDE_TABLE_SWITCH, 2000).stored_bytes < 2000 * 3 + 200);
}

static void zeros_among_correlations_are_cheap(void **unused)
{
    struct sonde_row_call *call = (void *)rows;
    (void)unused;
    for (uint32_t i = 0; i < 2000; i++)
        call[i] = (struct sonde_row_call){1000 * i, 1000 * i + 500, i % 2 ? 0 : 1000000 + i / 2, 9, 2};
    assert_true(round_trip(SONDE_TABLE_CALL, 2000).stored_bytes < 200);
}

static void wrong_arguments_are_refused(void **unused)
{
    size_t bound = sonde_chunk_bound();
    (void)unused;
    memset(rows, 0xff, ROWS_BYTES);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_FREE, 0, 0, rows, 1, scratch, out, bound), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_COUNT, 0, 0, rows, 1, scratch, out, bound), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_OP, 0, 0, rows, 0, scratch, out, bound), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_OP, 0, 0, rows, 3638, scratch, out, bound), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_NODE, 0, 0, rows, 8185, scratch, out, bound), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_OP, 0, 0, rows, 1, scratch, out, bound - 1), SONDE_EINVALID);
    assert_int_equal(sonde_chunk_encode(SONDE_TABLE_STRING, 0, 0, rows, 8, scratch, out, bound), SONDE_EINVALID);
}

static void every_flipped_bit_is_seen(void **unused)
{
    struct sonde_chunk h;
    (void)unused;
    fill(RAMP, 50 * 72);
    round_trip(SONDE_TABLE_OP, 50);
    memcpy(&h, out, sizeof h);
    size_t size = sizeof h + h.stored_bytes;
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct sonde_chunk other;
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(sonde_chunk_check(out, size, &other), SONDE_EFORMAT);
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* Make `out` a chunk around `payload`, by the specification and by hand. */
static size_t by_hand(struct sonde_chunk h, const void *payload, size_t size)
{
    h.magic = 0x31434e53;
    h.version = h.version ? h.version : SONDE_FORMAT_VERSION;
    h.raw_bytes = h.stored_bytes = (uint32_t)size;
    h.checksum = 0;
    memcpy(out, &h, sizeof h);
    memcpy(out + sizeof h, payload, size);
    h.checksum = XXH3_64bits(out, sizeof h + size);
    memcpy(out, &h, sizeof h);
    return sizeof h + size;
}

/* Three clock rows, coded by hand: device is 3; host 100, 150, 230 (distances 50, 80: least 50, planes of
 * 0 and 30); device_ns = host + 7, in DIFF to column 1. The rest is zeros. */
static void payloads_by_hand(void **unused)
{
    static const uint8_t payload[] = {
        0x00, 0x00, 4, 0, 6, 0,              /* ZERO, width 4 at 0, first 3, least 0 */
        0x11, 0x00, 8, 8, 0xc8, 0x01, 100,   /* DELTA, 1 plane, width 8 at 8, first 100, least 50 */
        0x02, 0x00, 8, 16, 1, 14, 14,        /* DIFF to 1, width 8 at 16, first 7, least 7 */
        0x00, 0x00, 4, 4, 0, 0,              /* ZERO, width 4 at 4 */
        0x00, 0x00, 8, 24, 0, 0,             /* ZERO, width 8 at 24 */
        0, 30};
    static const uint8_t divided[] = {
        0x01, 0x83, 8, 8, 0, 0, 10,          /* DELTA, 3 packed bits, divisor 10: distances 20, 70 */
        0x00, 0x00, 8, 0, 0, 0, 0x00, 0x00, 8, 16, 0, 0, 0x00, 0x00, 8, 24, 0, 0,
        0x3a};
    struct sonde_row_clock *clock = (void *)back;
    struct sonde_chunk h = {.table = SONDE_TABLE_CLOCK, .count = 3, .columns = 5, .row_bytes = 32}, got;
    size_t size;
    (void)unused;

    /* The first column's distances are 0 from row 1 on, its values 0: ZERO predicts nothing. */
    size = by_hand(h, payload, sizeof payload);
    assert_int_equal(sonde_chunk_check(out, size, &got), 0);
    memset(back, 0xcc, 4 * sizeof *clock);
    assert_int_equal(sonde_chunk_decode(out, size, &got, back), 0);
    assert_int_equal(clock[0].device, 3);
    assert_int_equal(clock[1].device, 0);
    for (int i = 0; i < 3; i++) {
        static const uint64_t host[] = {100, 150, 230};
        assert_int_equal(clock[i].host_ns, host[i]);
        assert_int_equal(clock[i].device_ns, host[i] + 7);
        assert_int_equal(clock[i].bound_ns, 0);
    }
    assert_int_equal(((uint8_t *)&clock[3])[0], 0xcc);

    h.columns = 4;
    size = by_hand(h, divided, sizeof divided);
    assert_int_equal(sonde_chunk_check(out, size, &got), 0);
    assert_int_equal(sonde_chunk_decode(out, size, &got, back), 0);
    assert_int_equal(clock[0].host_ns, 0);
    assert_int_equal(clock[1].host_ns, 20);
    assert_int_equal(clock[2].host_ns, 90);

    h.columns = 2; /* of three that are there: not all of the row */
    size = by_hand(h, (const uint8_t[]){0x00, 0x00, 8, 0, 0, 0, 0x00, 0x00, 8, 16, 0, 0}, 12);
    assert_int_equal(sonde_chunk_check(out, size, &got), 0);
    assert_int_equal(sonde_chunk_decode(out, size, &got, back), SONDE_EFORMAT);
}

static void other_versions_are_told_apart(void **unused)
{
    struct sonde_chunk h = {.table = 999, .count = 1, .row_bytes = 8}, got;
    (void)unused;
    for (int later = -1; later < 2; later += 2) {
        h.version = (uint16_t)((int)SONDE_FORMAT_VERSION + later);
        size_t size = by_hand(h, "other", 5);
        assert_int_equal(sonde_chunk_check(out, size, &got), SONDE_EVERSION);
        assert_int_equal(got.version, h.version);
    }
    h.version = 0;
    h.table = SONDE_TABLE_CLOCK;
    for (h.row_bytes = 24; h.row_bytes < 4000; h.row_bytes += 16) { /* not this row's, in the same version */
        size_t size = by_hand(h, "other", 5);
        assert_int_equal(sonde_chunk_check(out, size, &got), SONDE_EFORMAT);
    }
}

/* Payloads that pass the checksum and lie: each must be refused, never followed. */
static void lying_payloads_are_refused(void **unused)
{
    struct sonde_chunk h = {.table = SONDE_TABLE_CLOCK, .count = 3, .columns = 1, .row_bytes = 32}, got;
    uint8_t payload[64];
    (void)unused;
    for (int k = 0; k < 200000 / EVERY; k++) {
        size_t length = noise() % sizeof payload;
        for (size_t i = 0; i < length; i++)
            payload[i] = noise() % 4 ? (uint8_t)(noise() % 10) : (uint8_t)noise();
        h.columns = (uint16_t)(noise() % 4);
        size_t size = by_hand(h, payload, length);
        assert_int_equal(sonde_chunk_check(out, size, &got), 0);
        int status = sonde_chunk_decode(out, size, &got, back);
        assert_true(status == 0 || status == SONDE_EFORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_survives),
        cmocka_unit_test(strings_survive),
        cmocka_unit_test(constant_columns_cost_nothing_per_row),
        cmocka_unit_test(waits_are_predicted_on_either_side),
        cmocka_unit_test(calls_follow_each_other),
        cmocka_unit_test(unknown_times_cost_nothing),
        cmocka_unit_test(switches_alternate),
        cmocka_unit_test(zeros_among_correlations_are_cheap),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(payloads_by_hand),
        cmocka_unit_test(other_versions_are_told_apart),
        cmocka_unit_test(lying_payloads_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, release);
}
