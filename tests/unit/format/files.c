/* files.c (test) - whole measurements: sealing, reading live, doing both twice, appending.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder.h"
#include "format/chunk.h"
#include "format/files.h"
#include "format/writer.h"

static struct synth_totals make(const char *path, uint64_t operations, uint32_t lanes, uint32_t threads, bool unsealed)
{
    struct synth_options o = {
        .operations = operations,
        .lanes = lanes,
        .threads = threads,
        .processes = 1,
        .seed = operations + lanes,
        .unsealed = unsealed,
    };
    struct synth_totals totals;
    assert_int_equal(synth_write(path, &o, &totals, NULL), 0);
    return totals;
}

static uint64_t sum(const uint64_t *values)
{
    uint64_t total = 0;
    for (int i = 0; i < SONDE_OP_KIND_COUNT; i++)
        total += values[i];
    return total;
}

static void assert_totals(const struct tally *t, const struct synth_totals *known)
{
    assert_int_equal(t->status, 0);
    assert_int_equal(t->damaged, 0);
    assert_int_equal(t->ops, known->seen);
    assert_int_equal(t->calls, known->calls);
    assert_int_equal(t->op_ns, sum(known->kind_ns));
    assert_int_equal(t->op_bytes, sum(known->kind_bytes));
    assert_int_equal(t->correlations, known->seen * (known->seen + 1) / 2);
    assert_int_equal(t->ledger.seen, known->seen);
}

static void sealed_and_live_hold_the_same(void **unused)
{
    static const struct {
        uint64_t operations;
        uint32_t lanes, threads;
    } shapes[] = {
        {0, 1, 1},
        {1, 1, 1},
        {909, 1, 1},
        {910, 1, 1},
        {5000, 1, 1},
        {20000, 7, 3},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int unsealed = 0; unsealed < 2; unsealed++) {
            const char *path = folder_new();
            struct synth_totals known = make(path, shapes[i].operations, shapes[i].lanes, shapes[i].threads, unsealed);
            struct tally t = tally(path);
            assert_totals(&t, &known);
            assert_int_equal(t.sealed, !unsealed);
            assert_int_equal(t.symbols, unsealed ? 0 : 2);
            if (!unsealed)
                continue;
            assert_int_equal(sonde_process_seal(folder_process(path), NULL), 0);
            assert_int_equal(sonde_process_seal(folder_process(path), NULL), 0); /* again: nothing to do */
            t = tally(path);
            assert_totals(&t, &known);
            assert_true(t.sealed);
        }
}

/* The agent may have been killed before it made data.sonde. */
static void what_sealing_makes_is_private(void **unused)
{
    static const mode_t masks[] = {0, 022, 0777};
    (void)unused;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const char *path = folder_new();
        char data[300];
        struct stat made;
        make(path, 0, 1, 1, true);
        snprintf(data, sizeof data, "%s/data.sonde", folder_process(path));
        assert_int_equal(unlink(data), 0);
        const mode_t before = umask(masks[i]);
        const int rc = sonde_process_seal(folder_process(path), NULL);
        umask(before);
        assert_int_equal(rc, 0);
        assert_int_equal(stat(data, &made), 0);
        assert_int_equal(made.st_mode & 0777, 0600);
    }
}

static int check_row(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_op *op = rows;
    const struct sonde_process *p = user;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_row_node *leaf = sonde_process_node(p, op[i].node, NULL);
        const struct sonde_row_node *api = leaf ? sonde_process_node(p, leaf->parent, NULL) : NULL;
        const struct sonde_row_node *step = api ? sonde_process_node(p, api->parent, NULL) : NULL;
        assert_non_null(step);
        assert_int_equal(p->frames[leaf->frame].kind, SONDE_FRAME_OP);
        assert_int_equal(p->frames[leaf->frame].op, op[i].kind);
        assert_int_equal(p->frames[api->frame].kind, SONDE_FRAME_API);
        assert_int_equal(p->frames[step->frame].offset, 0x1280);
        assert_true(op[i].enter_ns <= op[i].queued_ns && op[i].queued_ns <= op[i].submit_ns &&
                    op[i].submit_ns <= op[i].start_ns && op[i].start_ns <= op[i].end_ns);
        assert_int_equal(p->lanes[lane].kind, SONDE_LANE_KIND_QUEUE);
    }
    return 0;
}

/* Profile, contexts, names: what a report is made of, against what was made up. */
static void tables_come_back(void **unused)
{
    const char *path = folder_new();
    struct synth_totals known = make(path, 6000, 3, 2, false);
    struct sonde_measurement *m;
    uint64_t count[SYNTH_KERNELS] = {0}, total[SYNTH_KERNELS] = {0};
    (void)unused;

    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_non_null(m->manifest);
    struct sonde_process *p = &m->processes[0];
    assert_string_equal(p->header.executable, "/usr/bin/synthetic");
    assert_string_equal(sonde_process_string(p, p->devices[1].name), "Synthetic Device");
    assert_string_equal(sonde_process_string(p, p->symbols[0].function), "main");
    assert_string_equal(sonde_process_string(p, UINT32_MAX), "");
    assert_null(sonde_process_node(p, 0, NULL));
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        uint32_t slot = 0;
        const struct sonde_row_node *node = sonde_process_node(p, row->node, &slot);
        const struct sonde_row_frame *frame = &p->frames[node->frame];
        uint64_t in_histogram = 0;
        assert_in_range(slot, 1, 2);
        for (int k = 0; k < 40; k++)
            for (int part = 0; part < 16; part++)
                in_histogram += p->histograms[row->histogram[k]].count[part];
        assert_int_equal(in_histogram, row->count);
        for (int k = 0; k < SYNTH_KERNELS; k++)
            if (frame->kind == SONDE_FRAME_OP && !strcmp(sonde_process_string(p, frame->name), known.kernels[k].name)) {
                count[k] += row->count;
                total[k] += row->sum_ns;
            }
    }
    for (int k = 0; k < SYNTH_KERNELS; k++) {
        assert_int_equal(count[k], known.kernels[k].count);
        assert_int_equal(total[k], known.kernels[k].total_ns);
    }
    assert_int_equal(sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, check_row, p), 0);
    sonde_measurement_close(m);
    struct tally single = tally(folder_process(path)); /* a process directory by itself */
    assert_totals(&single, &known);
}

static int stop_at_once(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane, (void)rows;
    *(uint64_t *)user += count;
    return 42;
}

static int count_in_range(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    uint64_t *range = user; /* from, to, seen, chunks */
    const struct sonde_row_op *op = rows;
    (void)lane;
    for (uint32_t i = 0; i < count; i++)
        range[2] += op[i].end_ns >= range[0] && op[i].start_ns <= range[1];
    range[3]++;
    return 0;
}

static void time_ranges_skip_whole_chunks_only(void **unused)
{
    const char *path = folder_new();
    struct sonde_measurement *m;
    uint64_t all[4] = {0, UINT64_MAX}, seen = 0;
    (void)unused;
    make(path, 20000, 2, 1, true);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    struct sonde_process *p = &m->processes[0];
    assert_int_equal(sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, stop_at_once, &seen), 42);
    assert_in_range(seen, 1, SONDE_CHUNK_ROOM / sizeof(struct sonde_row_op));
    sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, count_in_range, all);
    assert_int_equal(all[2], 20000);
    for (uint64_t at = p->header.start_ns; at < p->header.stop_ns; at += 5000000) {
        uint64_t narrow[4] = {at, at + 3000000}, full[4] = {at, at + 3000000};
        sonde_process_trace(p, SONDE_TABLE_OP, 0, narrow[0], narrow[1], count_in_range, narrow);
        sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, count_in_range, full);
        assert_int_equal(narrow[2], full[2]);
        assert_true(narrow[3] < full[3]);
    }
    sonde_measurement_close(m);
}

/* Killed between writing a chunk and freeing its segment, or anywhere while
 * sealing: every prefix of what sealing adds, with live.sonde still there. */
static void sealing_may_be_killed_anywhere(void **unused)
{
    const char *path = folder_new(), *dir;
    struct synth_totals known = make(path, 3000, 2, 1, true);
    size_t live_size, before_size, after_size;
    (void)unused;
    dir = folder_process(path);
    uint8_t *live = folder_read(dir, "live.sonde", &live_size);
    uint8_t *before = folder_read(dir, "data.sonde", &before_size);
    struct tally whole = tally(path);
    assert_int_equal(sonde_process_seal(dir, NULL), 0);
    uint8_t *after = folder_read(dir, "data.sonde", &after_size);
    assert_true(after_size > before_size && !memcmp(before, after, before_size));

    for (size_t size = before_size; size <= after_size; size = size < after_size && size + 97 > after_size ? after_size : size + 97) {
        folder_write(dir, "data.sonde", after, size);
        folder_write(dir, "live.sonde", live, live_size);
        struct tally t = tally(path);
        assert_int_equal(t.ops, known.seen);
        assert_int_equal(t.calls, known.calls);
        assert_int_equal(t.profiles, whole.profiles);
        assert_int_equal(t.nodes, whole.nodes);
        assert_int_equal(t.strings, whole.strings);
        assert_int_equal(t.clocks, whole.clocks);
        assert_false(t.sealed);
        assert_int_equal(sonde_process_seal(dir, NULL), 0);
        assert_false(folder_has(dir, "live.sonde"));
        t = tally(path);
        assert_totals(&t, &known);
        assert_int_equal(t.nodes, whole.nodes);
        assert_int_equal(t.clocks, whole.clocks);
        assert_true(t.sealed);
    }
    free(live);
    free(before);
    free(after);
}

/* live.sonde with `full` full segments of one queue lane, in no order, a part of
 * one more, and one of the lane after it. Rows count from 1 in `correlation`. */
static uint8_t *live_of(uint32_t full, size_t *size, uint64_t *rows)
{
    uint32_t room = SONDE_SEGMENT_ROOM / sizeof(struct sonde_row_op), segments = full + 2;
    uint8_t *file = calloc(segments + 1, SONDE_SEGMENT_BYTES);
    struct sonde_live_header *h = (void *)file;

    *h = (struct sonde_live_header){
        .magic = SONDE_LIVE_MAGIC,
        .version = SONDE_FORMAT_VERSION,
        .segment_bytes = SONDE_SEGMENT_BYTES,
        .segment_count = segments + 1,
        .state = 1,
    };
    *rows = 0;
    for (uint32_t i = 0; i < segments; i++) {
        struct sonde_segment *s = (void *)(file + (size_t)(1 + (i * 5) % segments) * SONDE_SEGMENT_BYTES);
        struct sonde_row_op *op = (void *)(s + 1);
        *s = (struct sonde_segment){
            .magic = SONDE_SEGMENT_MAGIC,
            .table = SONDE_TABLE_OP,
            .owner = i == full + 1 ? 2 : 1,
            .used = i < full ? room : 100,
            .first = i == full + 1 ? 0 : i * room,
            .row_bytes = sizeof *op,
        };
        for (uint32_t k = 0; k < s->used; k++, ++*rows)
            op[k] = (struct sonde_row_op){
                .enter_ns = 1000 + *rows * 90,
                .queued_ns = 1020 + *rows * 90 + *rows % 7,
                .submit_ns = 1030 + *rows * 90,
                .start_ns = 1040 + *rows * 90 + *rows % 5,
                .end_ns = 1060 + *rows * 90,
                .correlation = *rows + 1,
                .kind = 1,
            };
    }
    *size = (size_t)(segments + 1) * SONDE_SEGMENT_BYTES;
    return file;
}

static int check_order(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_op *op = rows;
    uint64_t *next = user; /* next correlation, batches */
    (void)lane;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(op[i].correlation, next[0]++);
    next[1]++;
    return 0;
}

/* Segments are read as far as the header says that they were used; where it says too few, or nothing, as far as the file goes. */
static void no_number_of_segments_hides_rows(void **unused)
{
    const char *path = folder_new();
    uint64_t rows;
    size_t size;
    (void)unused;

    mkdir(path, 0777);
    uint8_t *live = live_of(6, &size, &rows), *longer = calloc(4, size);
    struct sonde_live_header *h = (void *)longer;
    memcpy(longer, live, size);
    const uint32_t used = h->segment_count, numbers[] = {0, 1, 2, used - 1, used, used + 1, 3 * used, 4 * used, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        h->segment_count = numbers[i];
        folder_write(path, "live.sonde", longer, 4 * size); /* room that was never used */
        assert_int_equal(tally(path).ops, rows);
        folder_write(path, "live.sonde", longer, size);
        assert_int_equal(tally(path).ops, rows);
    }
    free(live);
    free(longer);
}

/* Several segments become one chunk. Killed before they are freed, each of them
 * is there twice and is read and sealed once. */
static void segments_of_a_lane_share_a_chunk(void **unused)
{
    const uint32_t full = 6; /* and segments * 5 visits each place once */
    const char *path = folder_new();
    uint64_t rows, next[2] = {1, 0};
    size_t size;
    struct sonde_measurement *m;
    (void)unused;

    mkdir(path, 0777);
    uint8_t *live = live_of(full, &size, &rows);
    folder_write(path, "live.sonde", live, size);
    struct tally t = tally(path);
    assert_int_equal(t.ops, rows);
    assert_int_equal(sonde_process_seal(path, NULL), 0);
    for (int again = 0; again < 3; again++) { /* sealed; both files there; sealed once more */
        if (again == 1)
            folder_write(path, "live.sonde", live, size);
        if (again == 2)
            assert_int_equal(sonde_process_seal(path, NULL), 0);
        t = tally(path);
        assert_int_equal(t.status, 0);
        assert_int_equal(t.damaged, 0);
        assert_int_equal(t.ops, rows);
        assert_int_equal(t.correlations, rows * (rows + 1) / 2);
        assert_int_equal(t.sealed, again != 1);
        assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
        next[0] = 1, next[1] = 0;
        assert_int_equal(sonde_process_trace(&m->processes[0], SONDE_TABLE_OP, 0, 0, UINT64_MAX, check_order, next), 0);
        assert_int_equal(next[1], (full + SONDE_CHUNK_SEGMENTS) / SONDE_CHUNK_SEGMENTS + 1);
        sonde_measurement_close(m);
    }
    free(live);
}

/* Seal while files may be `limit` bytes long. */
static int seal_within(const char *dir, size_t limit, struct sonde_diag *diag)
{
    struct rlimit old, low;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = limit;
    setrlimit(RLIMIT_FSIZE, &low);
    int status = sonde_process_seal(dir, diag);
    setrlimit(RLIMIT_FSIZE, &old);
    return status;
}

static void full_disks_lose_nothing(void **unused)
{
    const char *path = folder_new(), *dir;
    struct synth_totals known = make(path, 3000, 1, 1, true);
    struct sonde_diag diag;
    size_t size, now;
    (void)unused;
    dir = folder_process(path);
    free(folder_read(dir, "data.sonde", &size));
    size_t first = size, failed = 0;
    for (size_t limit = size + 200; seal_within(dir, limit, &diag); limit += 1700, failed++) {
        assert_int_equal(diag.code, SONDE_EIO);
        assert_true(diag.what[0] && diag.where[0] && diag.why[0]);
        free(folder_read(dir, "data.sonde", &now));
        assert_in_range(now, size, limit); /* whole chunks stay, of which a report may make use already */
        size = now;
        struct tally t = tally(path);
        assert_totals(&t, &known);
    }
    assert_true(failed >= 3 && size > first);
    struct tally t = tally(path);
    assert_true(t.sealed);
    assert_totals(&t, &known);
}

/* The reader's own mmap comes here: somebody cuts the file behind its last sound chunk just then. */
static off_t cut_to;
static char cut_file[300];

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *at = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (at != MAP_FAILED && cut_file[0] && fd >= 0 && flags == MAP_PRIVATE)
        assert_int_equal(truncate(cut_file, cut_to), 0);
    return at;
}

static void files_may_be_cut_while_they_are_read(void **unused)
{
    const char *path = folder_new(), *dir;
    struct synth_totals known = make(path, 3000, 1, 1, false);
    size_t size;
    (void)unused;
    dir = folder_process(path);
    snprintf(cut_file, sizeof cut_file, "%s/data.sonde", dir);
    for (int way = 0; way < 2; way++) { /* read through, by the index */
        uint8_t *sound = folder_read(dir, "data.sonde", &size), *torn = calloc(1, size + 300000);
        memcpy(torn, sound, size);
        for (size_t i = 0; i < 300000; i++)
            torn[size + i] = (uint8_t)(i * 7 + 1);
        folder_write(dir, "data.sonde", torn, size + 300000);
        cut_to = (off_t)size;
        sonde__read_through_bytes = way ? 0 : 1ull << 30;
        struct tally t = tally(path);
        t.damaged = 0; /* the torn part */
        assert_totals(&t, &known);
        free(sound);
        free(torn);
    }
    sonde__read_through_bytes = 1ull << 30;
    cut_file[0] = 0;
}

/* Killed after an operation was counted as done and before the profile had it: it was in flight. */
static void what_a_kill_cut_is_not_done(void **unused)
{
    const char *path = folder_new(), *dir;
    (void)unused;
    struct synth_totals known = make(path, 10, 1, 1, true);
    const uint64_t all = sum(known.operations);
    dir = folder_process(path);
    for (uint64_t more = 0; more < 3; more++) {
        struct sonde_measurement *m;
        size_t size;
        uint8_t *live = folder_read(dir, "live.sonde", &size);
        struct sonde_live_header *h = (void *)live;
        h->ledger.seen = h->ledger.done = all + more;
        folder_write(dir, "live.sonde", live, size);
        free(live);
        assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
        assert_int_equal(m->processes[0].header.ledger.seen, all + more);
        assert_int_equal(m->processes[0].header.ledger.done, all + (more > 1 ? more : 0)); /* two is another fault */
        sonde_measurement_close(m);
    }
}

static void running_processes_are_not_sealed(void **unused)
{
    const char *path = folder_new(), *dir;
    struct sonde_live_header *h;
    size_t size;
    char file[300];
    (void)unused;
    make(path, 10, 1, 1, true);
    dir = folder_process(path);
    uint8_t *live = folder_read(dir, "live.sonde", &size);
    h = (void *)live;
    h->pid = (uint32_t)getpid();
    folder_write(dir, "live.sonde", live, size);
    snprintf(file, sizeof file, "%s/live.sonde", dir);
    int fd = open(file, O_RDWR);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(map != MAP_FAILED);
    assert_int_equal(sonde_process_seal(dir, NULL), SONDE_EBUSY);
    munmap(map, size);
    assert_int_equal(sonde_process_seal(dir, NULL), 0);
    free(live);
}

static void appending_keeps_what_was_there(void **unused)
{
    const char *path = folder_new(), *dir;
    struct synth_totals known = make(path, 2000, 1, 1, false);
    struct tally before = tally(path);
    static uint8_t strings[300000];
    struct sonde_row_symbol *symbols = calloc(10000, sizeof *symbols);
    uint32_t at = 0, count = 0;
    struct sonde_measurement *m;
    (void)unused;
    dir = folder_process(path);
    for (; at + 1004 < sizeof strings; count++) {
        uint32_t length = 1 + count % 1000;
        memcpy(strings + at, &length, 4);
        memset(strings + at + 4, 'a' + (int)(count % 26), length);
        at += 4 + ((length + 3) & ~3u);
    }
    assert_int_equal(sonde_process_append(dir, SONDE_TABLE_STRING, before.strings, strings, at, NULL), 0);
    for (uint32_t i = 0; i < 10000; i++)
        symbols[i] = (struct sonde_row_symbol){.frame = 1 + (i * 7919) % 5000, .depth = i / 5000, .line = i};
    assert_int_equal(sonde_process_append(dir, SONDE_TABLE_SYMBOL, 0, symbols, 10000, NULL), 0);
    struct tally t = tally(path);
    assert_totals(&t, &known);
    assert_int_equal(t.strings, before.strings + count);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    struct sonde_process *p = &m->processes[0];
    for (uint32_t i = 0; i < count; i++) {
        const char *s = sonde_process_string(p, before.strings + i);
        assert_int_equal(strlen(s), 1 + i % 1000);
        assert_int_equal(s[0], 'a' + (int)(i % 26));
    }
    for (uint32_t i = 1; i < p->symbol_count; i++)
        assert_true(p->symbols[i - 1].frame < p->symbols[i].frame ||
                    (p->symbols[i - 1].frame == p->symbols[i].frame && p->symbols[i - 1].depth < p->symbols[i].depth));
    assert_int_equal(p->symbol_count, 10000);
    /* Resolved again: the later row counts. */
    symbols[0] = (struct sonde_row_symbol){.frame = 1, .depth = 0, .line = 77777};
    sonde_measurement_close(m);
    assert_int_equal(sonde_process_append(dir, SONDE_TABLE_SYMBOL, 0, symbols, 1, NULL), 0);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_int_equal(m->processes[0].symbol_count, 10000);
    assert_int_equal(m->processes[0].symbols[0].line, 77777);
    sonde_measurement_close(m);
    free(symbols);
}

static void appending_needs_a_sealed_process(void **unused)
{
    struct sonde_row_symbol symbol = {0};
    const char *path = folder_new();
    (void)unused;
    make(path, 10, 1, 1, true);
    assert_int_equal(sonde_process_append(folder_process(path), SONDE_TABLE_SYMBOL, 0, &symbol, 1, NULL), SONDE_EBUSY);
    assert_int_equal(sonde_process_append("/nonexistent", SONDE_TABLE_SYMBOL, 0, &symbol, 1, NULL), SONDE_ENOTFOUND);
    assert_int_equal(sonde_process_seal("/nonexistent", NULL), SONDE_ENOTFOUND);
}

static void the_index_is_used_and_doubted(void **unused)
{
    const char *path = folder_new(), *dir;
    struct synth_totals known = make(path, 30000, 3, 2, false);
    struct sonde__data data;
    size_t size;
    (void)unused;
    dir = folder_process(path);
    sonde__read_through_bytes = 0;
    assert_int_equal(sonde__data_open(dir, false, &data, NULL), 0);
    assert_true(data.index_at > 0);
    uint64_t index_at = data.index_at, footer = data.size - 64;
    size_t chunks = data.count;
    sonde__data_close(&data);
    assert_int_equal(sonde__data_open(dir, true, &data, NULL), 0);
    assert_int_equal(data.count, chunks); /* it lists what is there */
    sonde__data_close(&data);
    struct tally t = tally(path);
    assert_totals(&t, &known);

    uint8_t *bytes = folder_read(dir, "data.sonde", &size);
    for (uint64_t at = index_at; at < size; at += 13) { /* a damaged index, or one cut off */
        bytes[at] ^= 0x10;
        folder_write(dir, "data.sonde", bytes, size);
        t = tally(path);
        assert_int_equal(t.ops, known.seen);
        assert_int_equal(t.calls, known.calls);
        bytes[at] ^= 0x10;
    }
    for (uint64_t cut = index_at; cut < size; cut += 11) {
        folder_write(dir, "data.sonde", bytes, cut);
        t = tally(path);
        assert_int_equal(t.ops, known.seen);
    }
    assert_true(footer > index_at);
    /* A trace chunk damaged behind a sound index: found when it is read. */
    bytes[2000] ^= 1;
    folder_write(dir, "data.sonde", bytes, size);
    t = tally(path);
    assert_int_equal(t.damaged, 1);
    assert_true(t.ops + t.calls < known.seen + known.calls);
    sonde__read_through_bytes = 1ull << 30;
    struct tally eager = tally(path);
    assert_int_equal(eager.ops, t.ops);
    assert_int_equal(eager.calls, t.calls);
    assert_int_equal(eager.damaged, 1);
    free(bytes);
}

static void several_processes_are_sorted(void **unused)
{
    const char *path = folder_new();
    struct synth_options o = {.operations = 100, .lanes = 1, .threads = 1, .processes = 5, .seed = 1};
    struct synth_totals totals;
    struct sonde_measurement *m;
    (void)unused;
    assert_int_equal(synth_write(path, &o, &totals, NULL), 0);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    assert_int_equal(m->process_count, 5);
    for (uint32_t i = 1; i < 5; i++)
        assert_true(m->processes[i - 1].header.start_ns < m->processes[i].header.start_ns);
    sonde_measurement_close(m);
}

/* Parents in a circle, unknown frames: a walk to the root ends. */
static void circles_of_parents_are_cut(void **unused)
{
    const char *path = folder_new(), *dir;
    struct sonde_measurement *m;
    size_t size;
    (void)unused;
    make(path, 10, 1, 1, true);
    dir = folder_process(path);
    uint8_t *live = folder_read(dir, "live.sonde", &size);
    for (size_t at = SONDE_SEGMENT_BYTES; at < size; at += SONDE_SEGMENT_BYTES) {
        struct sonde_segment *s = (void *)(live + at);
        struct sonde_row_node *node = (void *)(live + at + SONDE_SEGMENT_HEADER);
        if (s->table != SONDE_TABLE_NODE)
            continue;
        node[0].parent = (uint32_t)s->first + 2; /* 0 -> 2 -> 1 -> 0 */
        node[1].parent = (uint32_t)s->first;
        node[2].parent = (uint32_t)s->first + 1;
        node[3].parent = (uint32_t)s->first + 3; /* itself */
        node[4].parent = 999999;
        node[5].frame = 888888;
    }
    folder_write(dir, "live.sonde", live, size);
    assert_int_equal(sonde_measurement_open(path, &m, NULL), 0);
    const struct sonde_process *p = &m->processes[0];
    for (uint32_t k = 0; k < p->node_blocks[0].count; k++) {
        uint32_t steps = 0, id = p->node_blocks[0].first + k;
        for (; id; steps++) {
            const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
            assert_non_null(node);
            assert_true(node->frame < p->frame_count);
            id = node->parent;
        }
        assert_in_range(steps, 1, p->node_blocks[0].count);
    }
    sonde_measurement_close(m);
    free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_and_live_hold_the_same),
        cmocka_unit_test(what_sealing_makes_is_private),
        cmocka_unit_test(tables_come_back),
        cmocka_unit_test(time_ranges_skip_whole_chunks_only),
        cmocka_unit_test(sealing_may_be_killed_anywhere),
        cmocka_unit_test(no_number_of_segments_hides_rows),
        cmocka_unit_test(segments_of_a_lane_share_a_chunk),
        cmocka_unit_test(full_disks_lose_nothing),
        cmocka_unit_test(files_may_be_cut_while_they_are_read),
        cmocka_unit_test(what_a_kill_cut_is_not_done),
        cmocka_unit_test(running_processes_are_not_sealed),
        cmocka_unit_test(appending_keeps_what_was_there),
        cmocka_unit_test(appending_needs_a_sealed_process),
        cmocka_unit_test(the_index_is_used_and_doubted),
        cmocka_unit_test(several_processes_are_sorted),
        cmocka_unit_test(circles_of_parents_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
