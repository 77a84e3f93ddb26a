/* heads.c (test) - of a job, what is asked for is read: the files of the other ranks hold zeros where their tables and traces were, which whoever
 * read them would count as damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parallel.h"
#include "folder.h"
#include "format/files.h"

enum { RANKS = 4,
       ASKED = 2 };

static const struct synth_options options = {.operations = 3000, .lanes = 3, .threads = 2, .processes = RANKS, .seed = 1, .cpu_hz = 997, .ranks = true};

/* All but what opening needs. */
static bool is_left(uint32_t table)
{
    return table != SONDE_TABLE_PROCESS && table != SONDE_TABLE_DEVICE && table != SONDE_TABLE_LANE && table != SONDE_TABLE_CLOCK &&
           table != SONDE_TABLE_PAUSE && table != SONDE_TABLE_INDEX;
}

/* The measurement of a job of which one rank alone is whole. */
static const char *make(uint32_t emptied[RANKS])
{
    const char *path = folder_new();
    struct synth_totals totals;
    assert_int_equal(synth_write(path, &options, &totals, NULL), 0);
    sonde__read_through_bytes = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        emptied[rank] = rank == ASKED ? 0 : synth_empty(path, rank, is_left);
    return path;
}

static uint64_t count_rows(const struct sonde_process *p)
{
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    uint64_t rows = 0;
    for (uint32_t i = 0; i < p->trace_count; i++)
        rows += sonde_chunk_reader_rows(reader, p, i) && p->traces[i].table == SONDE_TABLE_OP ? p->traces[i].count : 0;
    sonde_chunk_reader_destroy(reader);
    return rows;
}

static void heads_are_there(const struct sonde_measurement *m)
{
    assert_int_equal(m->process_count, RANKS);
    assert_int_equal(m->damaged_chunks, 0);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct sonde_process *p = &m->processes[i];
        assert_int_equal(p->header.rank, i + 1);
        assert_int_equal(p->header.ledger.seen, options.operations);
        assert_int_equal(p->lane_count, 1 + options.threads + options.lanes);
        assert_int_equal(p->device_count, 2);
        assert_int_equal(p->clock_count, 1);
        assert_true(p->trace_count > 0);
        assert_null(p->strings);
        assert_null(p->profiles);
        assert_int_equal(p->string_count + p->node_block_count + p->profile_count + p->symbol_count, 0);
    }
}

static void one_rank_is_read_alone(void **unused)
{
    uint32_t emptied[RANKS];
    struct sonde_measurement *m;
    (void)unused;
    const char *path = make(emptied);
    assert_int_equal(sonde_measurement_open_heads(path, &m, NULL), 0);
    heads_are_there(m);
    const struct sonde_process *p = &m->processes[ASKED];
    assert_int_equal(sonde_process_load(p, SONDE_LOAD_STRINGS), 0);
    assert_string_equal(sonde_process_string(p, p->devices[1].name), "Synthetic Device");
    assert_null(p->frames);
    const struct sonde_string *strings = p->strings;
    assert_int_equal(sonde_process_load(p, SONDE_LOAD_ALL), 0);
    assert_ptr_equal(p->strings, strings);
    assert_true(p->frame_count > 1 && p->profile_count > 1 && p->symbol_count && p->node_block_count);
    assert_int_equal(count_rows(p), options.operations);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(m->processes[i].damaged_chunks, 0);
    sonde_measurement_close(m);
}

/* Who asks for all is told what is missing: when tables are loaded, or at once, and of traces when they are read. */
static void damage_is_found_by_who_asks(void **unused)
{
    uint32_t emptied[RANKS], tables = 0;
    struct sonde_measurement *m;
    (void)unused;
    const char *path = make(emptied);
    assert_int_equal(sonde_measurement_open_heads(path, &m, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(sonde_measurement_load(m, SONDE_LOAD_ALL), 0);
        tables = i ? tables : m->damaged_chunks;
        assert_int_equal(m->damaged_chunks, tables); /* each is told once */
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        struct sonde_process *p = &m->processes[i];
        assert_true(i == ASKED ? !p->damaged_chunks : p->damaged_chunks > 5);
        assert_int_equal(count_rows(p), i == ASKED ? options.operations : 0);
        assert_int_equal(p->damaged_chunks, emptied[i]);
        assert_int_equal(p->string_count > 1, i == ASKED);
    }
    sonde_measurement_close(m);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_int_equal(m->damaged_chunks, tables);
    sonde_measurement_close(m);
}

static int load_in_turn(void *user, uint32_t task)
{
    const struct sonde_measurement *m = user;
    const struct sonde_process *p = &m->processes[task % RANKS];
    const int rc = sonde_process_load(p, task % 3 ? SONDE_LOAD_ALL : SONDE_LOAD_STRINGS);
    return rc || p->string_count < 2 ? 1 : 0;
}

static void threads_load_once(void **unused)
{
    const char *path = folder_new();
    struct synth_totals totals;
    struct sonde_measurement *m;
    (void)unused;
    assert_int_equal(synth_write(path, &options, &totals, NULL), 0);
    for (int way = 0; way < 2; way++) {
        sonde__read_through_bytes = way ? 0 : 1ull << 30;
        assert_int_equal(sonde_measurement_open_heads(path, &m, NULL), 0);
        heads_are_there(m);
        assert_int_equal(sonde_parallel_run(4, 100, load_in_turn, m), 0);
        assert_int_equal(m->processes[0].damaged_chunks, 0);
        sonde_measurement_close(m);
    }
}

/* Of programs that were killed, or still run, all is read: what they did last is told by their tables. */
static void what_is_not_sealed_is_read_whole(void **unused)
{
    const char *path = folder_new();
    struct synth_options unsealed = options;
    struct synth_totals totals;
    struct sonde_measurement *m;
    (void)unused;
    unsealed.unsealed = true;
    assert_int_equal(synth_write(path, &unsealed, &totals, NULL), 0);
    assert_int_equal(sonde_measurement_open_heads(path, &m, NULL), 0);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_true(m->processes[i].string_count > 1 && m->processes[i].profile_count > 1);
    sonde_measurement_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_is_read_alone),
        cmocka_unit_test(damage_is_found_by_who_asks),
        cmocka_unit_test(threads_load_once),
        cmocka_unit_test(what_is_not_sealed_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
