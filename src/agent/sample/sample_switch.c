/* sample_switch.c - when a thread was off the CPU: the kernel's context-switch records.
 *
 * A second event per thread, which counts nothing, writes a record into a ring
 * that is shared with the kernel each time the thread leaves the processor or
 * gets it back; no signal, no wake-up. The rings count against what the user may
 * lock in memory (kernel.perf_event_mlock_kb), of which they take half at most.
 *
 * The event costs its thread 3 to 8 µs more each time it leaves the processor and gets it back
 * (docs/performance.md). Threads that hand over to each other wait for all of these, so what is bounded is
 * their sum, for each processor that the process uses; the threads that do it most go without.
 *
 * The kernel's times are by the clock of the machine, also in a time namespace (time_namespaces(7)), whose own is so much ahead as
 * /proc/self/timens_offsets says of CLOCK_MONOTONIC.
 */
#include "target.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/state/state.h"
#include "agent/store/store.h"

#define PAGE        4096u
#define DATA_PAGES     4u     /* 1,024 records of 16 bytes */
#define PAGES_MAX   65536u
#define MOST_RECORDS  3000u   /* in a second of CPU time, two each time: about one percent */
#define SECOND_NS 1000000000u

static struct {
    uint32_t pages_left; /* that may be locked */
    uint64_t records;    /* of all threads that still have a ring, since: */
    uint64_t since_ns, since_cpu_ns;
    bool lacking;        /* a thread went without, which may have ended since */
} budget;

static uint64_t ahead_ns; /* the process's clock, of the machine's; modulo 2^64 */

/* What is told of a namespace is told of that of children: the process's own, unless it has made them another. */
static bool is_own_namespace(void)
{
    char own[64] = "", children[64] = "";
    const bool read = readlink("/proc/self/ns/time", own, sizeof own - 1) > 0 && readlink("/proc/self/ns/time_for_children", children, sizeof children - 1) > 0;
    const char *a = strchr(own, '['), *b = strchr(children, '['); /* "time:[4026531834]" */
    return read && a && b && strcmp(a, b) == 0;
}

static uint64_t find_ahead(void)
{
    static const char name[] = "monotonic";
    char text[256];
    sonde__files_read("/proc/self/timens_offsets", text, sizeof text);
    const char *line = strstr(text, name);
    char *next;
    if (!line || !is_own_namespace())
        return 0;
    const long long seconds = strtoll(line + strlen(name), &next, 10), ns = strtoll(next, NULL, 10);
    return (uint64_t)seconds * SECOND_NS + (uint64_t)ns;
}

static uint64_t process_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

void sonde__ring_begin(void)
{
    char text[32];
    sonde__files_read("/proc/sys/kernel/perf_event_mlock_kb", text, sizeof text);
    uint64_t pages = strtoull(text, NULL, 10) * 1024 / PAGE / 2 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    budget.pages_left = pages < PAGES_MAX ? (uint32_t)pages : PAGES_MAX;
    ahead_ns = find_ahead();
    budget.records = 0;
    budget.lacking = false;
    budget.since_ns = sonde_now_ns();
    budget.since_cpu_ns = process_cpu_ns();
}

static void no_ring(struct sonde_ring *r)
{
    atomic_store(&r->page, NULL);
    r->fd = -1;
    r->flags = r->lane = 0;
    r->out_ns = r->count = 0;
    r->full = false;
}

bool sonde__ring_open(struct sonde_target *x)
{
    struct sonde_ring *r = &x->ring;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .context_switch = 1,
        .sample_id_all = 1,
        .sample_type = PERF_SAMPLE_TIME,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = DATA_PAGES * PAGE,
    };
    no_ring(r);
    if (!sonde__agent.config.trace || !sonde__agent.config.cpu_hz)
        return false;
    if (budget.pages_left < 1 + DATA_PAGES) {
        budget.lacking = true;
        return false;
    }
    r->fd = (int)syscall(SYS_perf_event_open, &attr, atomic_load(&x->tid), -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (r->fd < 0)
        return false;
    void *map = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (map == MAP_FAILED) {
        syscall(SYS_close, r->fd);
        r->fd = -1;
        return false;
    }
    atomic_store(&r->page, map);
    budget.pages_left -= 1 + DATA_PAGES;
    return true;
}

void sonde__ring_close(struct sonde_target *x)
{
    struct sonde_ring *r = &x->ring;
    if (!r->page)
        return;
    budget.records -= r->count;
    munmap(r->page, (1 + DATA_PAGES) * PAGE);
    syscall(SYS_close, r->fd);
    budget.pages_left += 1 + DATA_PAGES;
    no_ring(r);
}

/* Times off the processor that began before recording are not told of. */
static void put_row(const struct sonde_target *x, uint64_t in_ns)
{
    const struct sonde_row_switch row = {.out_ns = x->ring.out_ns, .in_ns = in_ns, .flags = x->ring.flags};
    if (x->ring.lane && x->ring.out_ns && sonde__sample_on())
        sonde__trace_row(x->ring.lane, SONDE_TABLE_SWITCH, &row);
}

/* A record is at most this long: header, two words of a loss, and the time. */
struct record {
    struct perf_event_header header;
    uint64_t word[4];
};

static void take(struct sonde_target *x, const struct record *record)
{
    struct sonde_ring *r = &x->ring;
    const uint32_t words = (record->header.size - sizeof record->header) / 8;
    const uint64_t time_ns = words ? record->word[words - 1] + ahead_ns : 0;
    if (record->header.type == PERF_RECORD_LOST) {
        r->out_ns = 0;
        sonde__trace_lost(0, SONDE_TABLE_SWITCH, SONDE_DROP_CHANNEL_FULL, record->word[1] / 2 + 1);
    } else if (record->header.type == PERF_RECORD_SWITCH && record->header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
        r->out_ns = time_ns;
        r->flags = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SONDE_SWITCH_PREEMPTED : 0;
    } else if (record->header.type == PERF_RECORD_SWITCH) {
        put_row(x, time_ns);
        r->out_ns = 0;
    }
}

static void copy(void *to, const unsigned char *ring, uint64_t at, size_t size)
{
    const uint64_t mask = DATA_PAGES * PAGE - 1;
    for (size_t i = 0; i < size; i += 8)
        memcpy((unsigned char *)to + i, ring + ((at + i) & mask), 8);
}

/* Also of a thread that has ended; 0: none yet. */
static uint32_t lane_of(const struct sonde_target *x)
{
    sonde__lock(&sonde__agent.thread_lock);
    const struct sonde_thread *t = atomic_load(&x->thread);
    const uint32_t lane = t ? t->lane : atomic_load(&x->lane);
    sonde__unlock(&sonde__agent.thread_lock);
    return lane;
}

/* What did not fit is told of only when there is room again. */
void sonde__ring_last(struct sonde_target *x)
{
    if (!x->ring.page)
        return;
    x->ring.lane = lane_of(x);
    if (x->ring.full)
        sonde__trace_lost(0, SONDE_TABLE_SWITCH, SONDE_DROP_CHANNEL_FULL, 1);
    else
        put_row(x, 0);
}

void sonde__ring_drain(struct sonde_target *x)
{
    struct sonde_ring *r = &x->ring;
    if (!r->page)
        return;
    struct perf_event_mmap_page *page = r->page;
    const unsigned char *data = (const unsigned char *)page + PAGE;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    struct record record;
    r->full = head - tail > DATA_PAGES * PAGE - 2 * sizeof record; /* the kernel leaves some room */
    if (head == tail)
        return;
    r->lane = lane_of(x);
    for (; tail < head; tail += record.header.size) {
        copy(&record, data, tail, sizeof record.header);
        if (record.header.size < sizeof record.header || record.header.size > sizeof record)
            break;
        copy(&record, data, tail, record.header.size);
        take(x, &record);
        r->count++;
        budget.records++;
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

bool sonde__rings_lacking(void)
{
    return budget.lacking;
}

/* Of so many in this second, how many the threads may go on with. */
static uint64_t most_records(uint64_t now)
{
    const uint64_t took_ns = now - budget.since_ns, cpu_ns = process_cpu_ns() - budget.since_cpu_ns;
    return cpu_ns > took_ns ? (uint64_t)((double)cpu_ns / (double)(took_ns + 1) * MOST_RECORDS) : MOST_RECORDS;
}

/* Those that write most lose theirs, until what is left is within the bound. */
void sonde__rings_bound(struct sonde_target *targets, uint32_t count, uint64_t now)
{
    const uint64_t most = budget.records > MOST_RECORDS ? most_records(now) : MOST_RECORDS;
    while (budget.records > most) {
        struct sonde_target *worst = &targets[0];
        for (uint32_t i = 1; i < count; i++)
            if (targets[i].ring.count > worst->ring.count)
                worst = &targets[i];
        if (!worst->ring.page)
            break;
        sonde_note("more than %u context switches per second: they are no longer recorded for the threads with the most",
                   MOST_RECORDS / 2);
        budget.lacking = true;
        sonde__ring_close(worst);
    }
    if (now - budget.since_ns < SECOND_NS)
        return;
    for (uint32_t i = 0; i < count; i++)
        targets[i].ring.count = 0;
    budget.records = 0;
    budget.since_ns = now;
    budget.since_cpu_ns = process_cpu_ns();
}
