/* recorded.c - since when the program runs, in which job, and when recording was off (docs/report.md, "What was recorded").
 *
 * The agent comes with the first call of a GPU runtime; what the program did
 * before is in no row. Its length is known all the same: the preload library
 * notes when it is loaded, which is once in each program that a process runs (an
 * exec makes a new one), and in each forked child. That is after the libraries
 * that the program is linked with were mapped. Without that library there is
 * what the kernel knows, the process's own start.
 */
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/preload.h"
#include "agent/state/state.h"
#include "table.h"

/* ---- the program's start --------------------------------------------------------------- */

static uint64_t now_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

/* Field 22 of /proc/self/stat, in ticks of mostly 10 ms since the machine was started: rounded
 * down, it is not after the fork. On our clock by one reading of both; that one does not run
 * while the machine sleeps, so that the result is early by a sleep in between. 0: unknown. */
static uint64_t process_start_ns(void)
{
    char text[1024];
    sonde__files_read("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')'); /* the name before may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    const long hz = sysconf(_SC_CLK_TCK);
    if (!at || hz <= 0)
        return 0;
    const uint64_t started_ns = (uint64_t)((double)strtoull(at, NULL, 10) * 1e9 / (double)hz);
    const uint64_t raw_ns = sonde_now_ns(), age_ns = now_of(CLOCK_BOOTTIME) - started_ns;
    return age_ns < raw_ns ? raw_ns - age_ns : 0;
}

void sonde__recorded_start(struct sonde_live_header *h)
{
    const struct sonde_shared *preload = sonde__agent_shared();
    if (sonde_is_attached())
        return; /* the run begins now: what the program did for days before is no part of it */
    /* A descriptor of ours would be the program's for a moment, where the table is shared. */
    const uint64_t process_ns = sonde__files_shared() ? 0 : process_start_ns(), loaded_ns = preload ? preload->start_ns : 0;
    const uint64_t cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID), age_ns = h->start_ns - process_ns;
    /* What a child by a bare clone has of the preload library is its parent's. The two clocks go
     * apart by up to 500 ppm. */
    const bool loaded = loaded_ns && loaded_ns + age_ns / 1000 >= process_ns;
    const uint64_t start_ns = loaded ? loaded_ns : process_ns, used_ns = loaded ? preload->start_cpu_ns : 0;
    if (!start_ns || start_ns > h->start_ns)
        return; /* unknown, or a clock was set up anew: a machine that was moved */
    h->exec_ns = start_ns;
    h->cpu.before_ns = cpu_ns > used_ns ? cpu_ns - used_ns : 0;
}

/* ---- the job ------------------------------------------------------------------------------ */

void sonde__recorded_job(const char *name)
{
    uint32_t id;
    sonde__lock(&sonde__agent.table_lock);
    const uint32_t text = sonde__text_id(name);
    struct sonde_row_job *row = text ? ROW_ADD(JOB, struct sonde_row_job, &id) : NULL;
    if (row) {
        *row = (struct sonde_row_job){.name = text};
        sonde__row_commit(SONDE_TABLE_JOB);
    }
    sonde__unlock(&sonde__agent.table_lock);
}

/* ---- pauses ------------------------------------------------------------------------------ */

/* Bounded, as sonde_note: a handler may have interrupted whoever holds the lock. */
static bool locked(void)
{
    if (sonde__lock_within(&sonde__agent.table_lock, 1000))
        return true;
    __atomic_fetch_add(&sonde__agent.header->ledger.pauses_dropped, 1, __ATOMIC_RELAXED);
    return false;
}

void sonde__recorded_pause(uint64_t from_ns)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_row_pause *row = NULL;
    uint32_t id = 0;
    if (!locked())
        return;
    if (!a->pause) {
        if (sonde__row_count(SONDE_TABLE_PAUSE) < SONDE_PAUSES_MAX)
            row = ROW_ADD(PAUSE, struct sonde_row_pause, &id);
        if (row) {
            *row = (struct sonde_row_pause){.from_ns = from_ns};
            sonde__row_commit(SONDE_TABLE_PAUSE);
            a->pause = id;
        } else {
            __atomic_fetch_add(&a->header->ledger.pauses_dropped, 1, __ATOMIC_RELAXED);
            a->pause = UINT32_MAX; /* open, in no row */
        }
    }
    sonde__unlock(&a->table_lock);
}

void sonde__recorded_resume(uint64_t to_ns)
{
    struct sonde_agent *a = &sonde__agent;
    if (!locked())
        return;
    struct sonde_row_pause *row = sonde__table_find(SONDE_TABLE_PAUSE, sizeof *row, a->pause);
    if (row)
        __atomic_store_n(&row->to_ns, to_ns, __ATOMIC_RELEASE);
    a->pause = 0;
    sonde__unlock(&a->table_lock);
}
