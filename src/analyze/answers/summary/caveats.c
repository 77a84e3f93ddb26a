/* caveats.c - what in a measurement is missing or to be doubted, one sentence each.
 *
 * A device's clock is taken to have jumped between two pairs of readings where it
 * went on at a rate that no oscillator has, as the agent does when it converts
 * times (src/backends/cuda/clock.c): by more than 1,000 ppm and the pairs' bounds.
 */
#include "caveats.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sys/utsname.h>

#include "analyze/model/rank.h"
#include "analyze/model/recorded.h"
#include "analyze/model/totals.h"
#include "analyze/symbols/debug_file.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/map.h"
#include "base/number.h"
#include "format/tables.h"

enum {
    DRIFT_PPM = 1000,
    SLACK_NS = 1000,
    CLOCKS_SAID = 5,
    MODULES_SAID = 3,
    UNSAMPLED_LEAST_NS = 20000000, /* less is what came after the last samples of a few threads */
};

const char *sonde_caveat_name(enum sonde_caveat_kind kind)
{
    switch (kind) {
    case SONDE_CAVEAT_TRACE: return "trace";
    case SONDE_CAVEAT_CPU:
    case SONDE_CAVEAT_SAMPLES: return "cpu";
    case SONDE_CAVEAT_CLOCK: return "clock";
    case SONDE_CAVEAT_SYMBOLS: return "symbols";
    case SONDE_CAVEAT_LINES: return "lines";
    case SONDE_CAVEAT_LIBRARIES: return "libraries";
    case SONDE_CAVEAT_LANES: return "lanes";
    case SONDE_CAVEAT_PAUSES: return "pauses";
    case SONDE_CAVEAT_PYTHON: return "python";
    case SONDE_CAVEAT_VIEWS: return "views";
    }
    return "unknown";
}

struct finder {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_caveats *out;
    int rc;
};

/* The text of a new caveat; NULL when there is no memory. */
static struct sonde_text *say(struct finder *f, enum sonde_caveat_kind kind)
{
    if (!f->rc)
        f->rc = sonde_vector_push(&f->out->items, (struct sonde_caveat){.kind = kind});
    return f->rc ? NULL : &f->out->items.items[f->out->items.count - 1].text;
}

/* "1 frame", "1,200 frames". */
static void add_count(struct sonde_text *text, uint64_t n, const char *one)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(text, "%s %s%s", sonde_number_count(number, n), one, n == 1 ? "" : "s");
}

/* "in 2 of 8 processes", nothing where there is but one. */
static void add_processes(struct finder *f, struct sonde_text *text, uint32_t count)
{
    if (f->m->process_count > 1)
        sonde_text_format(text, " in %u of %u processes", count, f->m->process_count);
}

/* ---- the trace ---------------------------------------------------------------------- */

/* Rows of a table that a process has in its profile, and not in its trace. */
static uint64_t missing_of(const struct sonde_live_header *h, const struct sonde_table_info *table)
{
    uint64_t rows = 0;
    for (enum sonde_drop cause = 0; cause < SONDE_DROP_COUNT; cause++)
        if (table->trace != SONDE_TRACE_OP ? !cause : !sonde_drop_loses_operation(cause))
            rows += sonde_rows_dropped(h, table, cause);
    return rows;
}

/* What took their room. */
static const char *why_cut(const struct sonde_measurement *m)
{
    uint64_t dropped[SONDE_DROP_COUNT] = {0};
    for (uint32_t i = 0; i < m->process_count; i++)
        for (enum sonde_drop cause = 0; cause < SONDE_DROP_COUNT; cause++)
            dropped[cause] += m->processes[i].header.ledger.dropped[cause];
    return dropped[SONDE_DROP_PAGE]         ? " (this page holds the beginning)"
           : dropped[SONDE_DROP_MAX_SIZE]   ? " (--max-size was reached)"
           : dropped[SONDE_DROP_DISK_FULL]  ? " (disk full)"
           : dropped[SONDE_DROP_TRACE_FULL] ? " (buffer full)"
                                            : "";
}

static void add_part(struct sonde_text *text, uint64_t n, const char *one)
{
    if (!n)
        return;
    sonde_text_add(text, text->length ? ", " : "");
    add_count(text, n, one);
}

static void find_cut(struct finder *f)
{
    struct sonde_text parts = {0}, *text;
    uint64_t all = 0;
    for (unsigned t = 0; t < SONDE_TABLE_COUNT; t++) {
        const struct sonde_table_info *table = sonde_table_info(t);
        uint64_t rows = 0;
        for (uint32_t i = 0; table && table->lost && i < f->m->process_count; i++)
            rows += missing_of(&f->m->processes[i].header, table);
        add_part(&parts, rows, table ? table->lost : "");
        all += rows;
    }
    if (parts.length && (text = say(f, SONDE_CAVEAT_TRACE)))
        sonde_text_format(text, "the trace is incomplete: %s %s missing%s; numbers from the trace do not include %s",
                          sonde_text_get(&parts), all == 1 ? "is" : "are", why_cut(f->m), all == 1 ? "it" : "them");
    sonde_text_fini(&parts);
}

static void find_unknown(struct finder *f)
{
    uint64_t rows = 0;
    struct sonde_text *text;
    for (uint32_t i = 0; i < f->m->process_count; i++)
        rows += f->m->processes[i].unknown_rows;
    if (rows && (text = say(f, SONDE_CAVEAT_TRACE))) {
        add_count(text, rows, "row");
        sonde_text_add(text, rows == 1 ? " was skipped: its table is" : " were skipped: their tables are");
        sonde_text_add(text, " unknown to this version of Sonde; read the measurement with the version that recorded it");
    }
}

static void find_trace(struct finder *f)
{
    uint32_t without = 0;
    struct sonde_text *text;
    for (uint32_t i = 0; i < f->m->process_count; i++)
        without += !f->m->processes[i].header.trace;
    if (without && (text = say(f, SONDE_CAVEAT_TRACE))) {
        sonde_text_add(text, "there is no trace (record --profile)");
        add_processes(f, text, without);
        sonde_text_add(text, ": numbers from the trace are unknown");
    }
    find_cut(f);
    find_unknown(f);
    if (f->m->damaged_chunks && (text = say(f, SONDE_CAVEAT_TRACE))) {
        add_count(text, f->m->damaged_chunks, "damaged chunk");
        sonde_text_format(text, " %s skipped: %s data is missing", f->m->damaged_chunks == 1 ? "was" : "were",
                          f->m->damaged_chunks == 1 ? "its" : "their");
    }
}

/* ---- pauses ------------------------------------------------------------------------------- */

static void find_pauses(struct finder *f)
{
    uint64_t paused_ns = 0, life_ns = 0, dropped = 0, pauses = 0;
    uint32_t processes = 0;
    char off[SONDE_NUMBER_MAX], all[SONDE_NUMBER_MAX];
    struct sonde_text *text;
    for (uint32_t i = 0; i < f->m->process_count && !f->rc; i++) {
        struct sonde_recorded recorded = {0};
        f->rc = sonde_recorded_compute(f->m, &f->m->processes[i], &recorded);
        pauses += recorded.pauses.count;
        processes += recorded.pauses.count > 0;
        paused_ns += recorded.paused_ns;
        life_ns += recorded.end_ns - recorded.begin_ns;
        dropped += f->m->processes[i].header.ledger.pauses_dropped;
        sonde_recorded_fini(&recorded);
    }
    if (pauses && (text = say(f, SONDE_CAVEAT_PAUSES))) {
        sonde_text_format(text, "recording was off for %s of %s", sonde_number_time(off, (double)paused_ns),
                          sonde_number_time(all, (double)life_ns));
        add_processes(f, text, processes);
        sonde_text_format(text, ", %llu time%s: idle times and shares of the run exclude that time",
                          (unsigned long long)pauses, pauses == 1 ? "" : "s");
    }
    if (dropped && (text = say(f, SONDE_CAVEAT_PAUSES))) {
        add_count(text, dropped, "more pause");
        sonde_text_format(text, " of recording %s time counts as recorded",
                          dropped == 1 ? "was not stored (table full): its"
                                       : "were not stored (table full): their");
    }
}

/* Of a process that was recorded from its start on, the agent's start is soon behind that: this much at the most. */
#define SOON_NS 500000000u

/* --last: how much there is, of how much. Processes that began later are whole. */
static void find_last(struct finder *f)
{
    const json_t *options = json_object_get(f->m->manifest, "options");
    const uint64_t asked_ns = (uint64_t)json_integer_value(json_object_get(options, "last_ns"));
    const uint64_t began_ns = (uint64_t)json_integer_value(json_object_get(f->m->manifest, "start_ns"));
    uint64_t kept_ns = 0, life_ns = 0;
    char kept[SONDE_NUMBER_MAX], asked[SONDE_NUMBER_MAX];
    for (uint32_t i = 0; asked_ns && i < f->m->process_count; i++) {
        const struct sonde_live_header *h = &f->m->processes[i].header;
        const uint64_t length_ns = h->stop_ns > h->start_ns ? h->stop_ns - h->start_ns : 0;
        kept_ns = length_ns > kept_ns ? length_ns : kept_ns;
        life_ns = h->stop_ns > began_ns && h->stop_ns - began_ns > life_ns ? h->stop_ns - began_ns : life_ns;
    }
    struct sonde_text *text = kept_ns + SOON_NS < life_ns ? say(f, SONDE_CAVEAT_PAUSES) : NULL;
    if (!text)
        return;
    sonde_text_format(text, "of %s the last %s (--last): what ended before is in no number", sonde_number_time(asked, (double)life_ns),
                      sonde_number_time(kept, (double)kept_ns));
    if (kept_ns < asked_ns - asked_ns / 16)
        sonde_text_format(text, "; --memory has no room for %s", sonde_number_time(asked, (double)asked_ns));
}

/* ---- the CPU side ---------------------------------------------------------------------- */

static void say_cpu(struct finder *f, uint32_t processes, const char *what)
{
    struct sonde_text *text = processes ? say(f, SONDE_CAVEAT_CPU) : NULL;
    if (!text)
        return;
    sonde_text_format(text, "the CPU side was not sampled (%s)", what);
    add_processes(f, text, processes);
    sonde_text_add(text, ": host code between API calls is unknown");
}

/* What was not sampled, or in no process. */
static void find_cpu(struct finder *f)
{
    uint32_t off = 0, refused = 0;
    for (uint32_t i = 0; i < f->m->process_count; i++) {
        const struct sonde_live_header *h = &f->m->processes[i].header;
        const bool sampled = h->cpu_sampling != SONDE_CPU_NONE;
        off += !sampled && !h->cpu_rate_hz;
        refused += !sampled && h->cpu_rate_hz;
    }
    say_cpu(f, off, "record --cpu 0");
    say_cpu(f, refused, "neither perf events nor timers are available; see the notes of the ledger");
}

/* Of what was sampled. */
struct sampled {
    uint64_t missed, threads, lost, samples, unknown_ns, all_ns, waits_lost, waits;
    bool timed;
};

static struct sampled sampled_of(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sampled s = {.waits = profile->nodes.items[0].total.sleeps};
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_cpu_ledger *cpu = &m->processes[i].header.cpu;
        const uint64_t known_ns = cpu->sampled_ns + cpu->handler_ns;
        s.missed += cpu->threads_missed;
        s.threads += cpu->threads;
        s.lost += cpu->lost;
        s.samples += cpu->samples;
        s.waits_lost += cpu->sleep_rows_dropped;
        if (m->processes[i].header.cpu_sampling == SONDE_CPU_NONE)
            continue;
        s.timed |= cpu->process_ns > 0;
        s.all_ns += cpu->process_ns;
        s.unknown_ns += cpu->process_ns > known_ns ? cpu->process_ns - known_ns : 0;
    }
    return s;
}

static bool is_much(uint64_t part, uint64_t all)
{
    return part > all / 100;
}

/* "2 threads of 3 ended before they could be sampled". */
static void add_missed(struct sonde_text *text, const struct sampled *s)
{
    add_count(text, s->missed, "thread");
    sonde_text_format(text, " of %llu ended before %s could be sampled", (unsigned long long)(s->missed + s->threads),
                      s->missed == 1 ? "it" : "they");
}

static void say_unsampled(struct finder *f, const struct sampled *s)
{
    char part[SONDE_NUMBER_MAX], all[SONDE_NUMBER_MAX], share[SONDE_NUMBER_MAX];
    struct sonde_text *text;
    if (!s->timed) { /* how much they used is not known */
        if (s->missed && (text = say(f, SONDE_CAVEAT_SAMPLES)))
            add_missed(text, s);
        return;
    }
    if (!is_much(s->unknown_ns, s->all_ns) || s->unknown_ns < UNSAMPLED_LEAST_NS || !(text = say(f, SONDE_CAVEAT_SAMPLES)))
        return;
    sonde_text_format(text, "%s of %s of CPU time (%s) was not sampled", sonde_number_time(part, (double)s->unknown_ns),
                      sonde_number_time(all, (double)s->all_ns),
                      sonde_number_percent(share, (double)s->unknown_ns, (double)s->all_ns));
    if (s->missed) {
        sonde_text_add(text, " (");
        add_missed(text, s);
        sonde_text_add(text, ")");
    }
    sonde_text_add(text, ": its code is unknown");
}

/* Less than 1 % is not worth a word. */
static void find_unsampled(struct finder *f)
{
    const struct sampled s = sampled_of(f->m, f->profile);
    struct sonde_text *text;
    say_unsampled(f, &s);
    if (is_much(s.lost, s.samples) && (text = say(f, SONDE_CAVEAT_SAMPLES))) {
        add_count(text, s.lost, "sample");
        sonde_text_format(text, " of the CPU side %s lost: the time is in the thread's next sample", s.lost == 1 ? "was" : "were");
    }
    if (is_much(s.waits_lost, s.waits + s.waits_lost) && (text = say(f, SONDE_CAVEAT_SAMPLES))) {
        add_count(text, s.waits_lost, "wait");
        sonde_text_format(text, " of %llu in C library functions %s missing: that time has no function name",
                          (unsigned long long)(s.waits + s.waits_lost), s.waits_lost == 1 ? "is" : "are");
    }
}

/* ---- Python ---------------------------------------------------------------------------- */

/* The agent's note, of an interpreter that it found and could not read; NULL: there is none. */
static const char *python_note(const struct sonde_process *p)
{
    for (uint32_t i = 0; i < p->note_count; i++)
        if (strncmp(p->notes[i].text, "Python stacks ", 14) == 0)
            return p->notes[i].text;
    return NULL;
}

/* What the first one says, and of how many processes such a note is. */
static void find_python(struct finder *f)
{
    const char *first = NULL;
    uint32_t processes = 0;
    for (uint32_t i = 0; i < f->m->process_count; i++) {
        const char *note = python_note(&f->m->processes[i]);
        first = first ? first : note;
        processes += note != NULL;
    }
    struct sonde_text *text = first ? say(f, SONDE_CAVEAT_PYTHON) : NULL;
    if (!text)
        return;
    sonde_text_add(text, first);
    add_processes(f, text, processes);
    sonde_text_add(text, "; call paths show the interpreter's own frames instead");
}

/* ---- clocks --------------------------------------------------------------------------------- */

/* How far the device's clock jumped between two pairs; 0: it did not. */
static int64_t jump_of(const struct sonde_row_clock *a, const struct sonde_row_clock *b)
{
    const int64_t host = (int64_t)(b->host_ns - a->host_ns), device = (int64_t)(b->device_ns - a->device_ns);
    const double off = (double)device - (double)host;
    const double likely = (double)host * DRIFT_PPM / 1e6 + (double)a->bound_ns + (double)b->bound_ns + SLACK_NS;
    if (host < 0 || (off <= likely && off >= -likely))
        return 0;
    return off > 9e18 ? INT64_MAX : (off < -9e18 ? -INT64_MAX : (int64_t)off);
}

static void say_jump(struct finder *f, uint32_t process, const struct sonde_row_clock *before,
                     const struct sonde_row_clock *after, int64_t jump)
{
    const struct sonde_process *p = &f->m->processes[process];
    const uint64_t begin_ns = sonde_process_begin(p);
    struct sonde_text *text = say(f, SONDE_CAVEAT_CLOCK);
    char size[SONDE_NUMBER_MAX], from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX], rank[SONDE_RANK_MAX];
    if (!text)
        return;
    const char *name = after->device < p->device_count ? sonde_process_string(p, p->devices[after->device].name) : "";
    sonde_text_format(text, "the clock of device %u %s", after->device ? after->device - 1 : 0, *name ? name : "(unknown)");
    if (f->m->process_count > 1)
        sonde_text_format(text, " (%s%s%s)", sonde_rank_text(p, rank), *rank ? ", " : "", p->name);
    sonde_number_time(size, jump < 0 ? -(double)jump : (double)jump);
    sonde_text_format(text, after->device_ns < before->device_ns ? " was set back by %s" : " jumped by %s", size);
    sonde_text_format(text, " between %s and %s of the run: times near that may be wrong by as much",
                      sonde_number_time(from, (double)(before->host_ns > begin_ns ? before->host_ns - begin_ns : 0)),
                      sonde_number_time(to, (double)(after->host_ns > begin_ns ? after->host_ns - begin_ns : 0)));
}

static void find_clocks(struct finder *f)
{
    uint64_t jumps = 0;
    for (uint32_t i = 0; i < f->m->process_count; i++) {
        const struct sonde_process *p = &f->m->processes[i];
        struct sonde_map last = {0}; /* device -> its latest pair */
        for (uint32_t k = 0; k < p->clock_count && !f->rc; k++) {
            uint64_t at;
            const bool paired = sonde_map_get(&last, p->clocks[k].device, &at);
            const int64_t jump = paired ? jump_of(&p->clocks[at], &p->clocks[k]) : 0;
            if (jump && ++jumps <= CLOCKS_SAID)
                say_jump(f, i, &p->clocks[at], &p->clocks[k], jump);
            f->rc = f->rc ? f->rc : sonde_map_put(&last, p->clocks[k].device, k);
        }
        sonde_map_fini(&last);
    }
    struct sonde_text *text = jumps > CLOCKS_SAID ? say(f, SONDE_CAVEAT_CLOCK) : NULL;
    if (text) {
        sonde_text_add(text, "device clocks jumped ");
        add_count(text, jumps - CLOCKS_SAID, "more time");
    }
}

/* ---- functions and lines ------------------------------------------------------------------------ */

struct module {
    const char *path;
    bool users;
    uint64_t nameless, lineless;
};
struct modules {
    SONDE_VECTOR(struct module) items;
    struct sonde_map by_path, seen; /* interned text: equal text, equal pointer */
};

static int count_frame(struct modules *all, const struct sonde_cct_node *n)
{
    if (strcmp(n->name, "_start") == 0) /* the C library's, in every program; nobody has its source */
        return 0;
    const uint64_t frame = sonde_hash_mix(sonde_hash_mix((uintptr_t)n->module, (uintptr_t)n->name), n->offset);
    uint64_t at;
    if (sonde_map_get(&all->seen, frame, &at))
        return 0;
    if (!sonde_map_get(&all->by_path, (uintptr_t)n->module, &at)) {
        at = all->items.count;
        if (sonde_map_put(&all->by_path, (uintptr_t)n->module, at) ||
            sonde_vector_push(&all->items, (struct module){.path = n->module}))
            return SONDE_ENOMEM;
    }
    all->items.items[at].users |= n->origin == SONDE_ORIGIN_USER;
    all->items.items[at].nameless += !*n->name;
    all->items.items[at].lineless += *n->name != '\0';
    return sonde_map_put(&all->seen, frame, 1);
}

/* Frames that reports show: not the runtime's own. */
static void count_frames(struct finder *f, struct modules *all)
{
    for (size_t i = 1; i < f->profile->nodes.count && !f->rc; i++) {
        const struct sonde_cct_node *n = &f->profile->nodes.items[i];
        if (n->kind == SONDE_FRAME_NATIVE && n->origin != SONDE_ORIGIN_RUNTIME && *n->module && *n->module != '[' && !*n->file) /* [JIT] has no file */
            f->rc = count_frame(all, n);
    }
}

static int by_lineless(const void *left, const void *right)
{
    const struct module *a = left, *b = right;
    if (a->lineless != b->lineless)
        return a->lineless < b->lineless ? 1 : -1;
    return strcmp(a->path, b->path);
}

/* "no symbols for PATH: WHY", as symbols.c notes it; NULL: it was read, and has no such function. */
static const char *reason_of(const struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->profile->symbol_notes.count; i++) {
        const char *text = f->profile->symbol_notes.items[i].text, *colon = strrchr(text, ':');
        if (colon && strstr(text, path))
            return colon + 2;
    }
    return NULL;
}

/* Has the file symbols, though not for all of its frames? */
static bool has_symbols(const struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->profile->symbols_partly.count; i++)
        if (strcmp(f->profile->symbols_partly.items[i], path) == 0)
            return true;
    return false;
}

/* The host that recorded, when it is another one than this; NULL: it is this one, or not known. */
static const char *other_host(const struct finder *f)
{
    const char *recorded = json_string_value(json_object_get(json_object_get(f->m->manifest, "host"), "name"));
    struct utsname here;
    return recorded && uname(&here) == 0 && strcmp(recorded, here.nodename) != 0 ? recorded : NULL;
}

static void add_reason(struct sonde_text *text, const struct finder *f, const char *path, const char *why)
{
    const char *host = why && strcmp(why, SONDE__DEBUG_GONE) == 0    ? other_host(f)
                       : why && strcmp(why, SONDE__DEBUG_OTHER) == 0 ? other_host(f)
                                                                     : NULL;
    if (why)
        sonde_text_add(text, why);
    else if (has_symbols(f, path))
        sonde_text_add(text, "no symbol covers them (assembler or linker code)");
    else
        sonde_text_add(text, "the file is stripped");
    if (host)
        sonde_text_format(text, "; a report made on %s, where it was recorded, may resolve them", host);
}

static void say_nameless(struct finder *f, const struct modules *all)
{
    uint64_t modules = 0;
    for (size_t i = 0; i < all->items.count; i++) {
        const struct module *m = &all->items.items[i];
        const char *why = reason_of(f, m->path);
        struct sonde_text *text;
        if (!m->nameless || (!why && !m->users)) /* a library without symbols is nothing that anybody could mend */
            continue;
        if (modules++ >= MODULES_SAID || !(text = say(f, SONDE_CAVEAT_SYMBOLS)))
            continue;
        sonde_text_add(text, "no symbols for ");
        add_count(text, m->nameless, "frame");
        sonde_text_format(text, " in %s, shown as module+offset: ", m->path);
        add_reason(text, f, m->path, why);
    }
    struct sonde_text *text = modules > MODULES_SAID ? say(f, SONDE_CAVEAT_SYMBOLS) : NULL;
    if (text) {
        sonde_text_add(text, "no symbols for frames in ");
        add_count(text, modules - MODULES_SAID, "more file");
        sonde_text_add(text, ", shown as module+offset");
    }
}

static bool is_installed(const char *path)
{
    return (strncmp(path, "/usr/", 5) == 0 && strncmp(path, "/usr/local/", 11) != 0) || strncmp(path, "/lib", 4) == 0;
}

static bool is_lineless(const struct module *m, bool installed)
{
    return m->lineless && is_installed(m->path) == installed && (installed || m->users);
}

/* Is there one of that name already? */
static bool named_before(const struct modules *all, size_t at, bool installed)
{
    const char *name = sonde_path_base(all->items.items[at].path);
    for (size_t i = 0; i < at; i++)
        if (is_lineless(&all->items.items[i], installed) && strcmp(sonde_path_base(all->items.items[i].path), name) == 0)
            return true;
    return false;
}

static void say_lineless(struct finder *f, struct modules *all, bool installed)
{
    struct sonde_text names = {0}, *text;
    uint64_t frames = 0, modules = 0;
    for (size_t i = 0; i < all->items.count; i++) {
        const struct module *m = &all->items.items[i];
        if (!is_lineless(m, installed))
            continue;
        frames += m->lineless;
        if (named_before(all, i, installed)) /* kernels that a driver compiled in many folders */
            continue;
        if (modules++ < MODULES_SAID)
            sonde_text_format(&names, "%s%s", modules > 1 ? ", " : "", sonde_path_base(m->path));
    }
    if (frames && (text = say(f, installed ? SONDE_CAVEAT_LIBRARIES : SONDE_CAVEAT_LINES))) {
        sonde_text_add(text, "no line information for ");
        add_count(text, frames, "function");
        sonde_text_format(text, " in %s", sonde_text_get(&names));
        if (modules > MODULES_SAID)
            sonde_text_format(text, " and %llu more", (unsigned long long)(modules - MODULES_SAID));
        sonde_text_add(text, installed ? ": install the packages' debug symbols (-dbgsym, -debuginfo) or set DEBUGINFOD_URLS"
                                       : ": compile with -g");
    }
    sonde_text_fini(&names);
}

static void find_symbols(struct finder *f)
{
    struct modules all = {0};
    count_frames(f, &all);
    if (all.items.count)
        qsort(all.items.items, all.items.count, sizeof *all.items.items, by_lineless);
    say_nameless(f, &all);
    say_lineless(f, &all, false);
    say_lineless(f, &all, true);
    sonde_vector_fini(&all.items);
    sonde_map_fini(&all.by_path);
    sonde_map_fini(&all.seen);
}

/* ---- lanes ------------------------------------------------------------------------------------------ */

/* Rows are counted where something was recorded; a thread's are only in the trace. */
static void mark_used(const struct sonde_process *p, struct sonde_trace_extent *used)
{
    for (uint32_t i = 1; i < p->profile_count; i++)
        used[p->profiles[i].lane].rows += p->profiles[i].count > 0;
    for (uint32_t i = 1; i < p->lane_count; i++)
        used[i].rows += p->lanes[i].seen || (p->lanes[i].kind == SONDE_LANE_KIND_THREAD && !p->header.trace);
}

static void find_lanes(struct finder *f)
{
    uint64_t empty = 0, all = 0;
    for (uint32_t i = 0; i < f->m->process_count && !f->rc; i++) {
        const struct sonde_process *p = &f->m->processes[i];
        struct sonde_trace_extent *used = sonde_trace_extents(p, SONDE_READ_ALL);
        f->rc = used ? 0 : SONDE_ENOMEM;
        if (used)
            mark_used(p, used);
        for (uint32_t k = 1; k < p->lane_count && used; k++) {
            all += !sonde_lane_is_series(&p->lanes[k]);
            empty += !used[k].rows && !sonde_lane_is_series(&p->lanes[k]);
        }
        free(used);
    }
    struct sonde_text *text = empty ? say(f, SONDE_CAVEAT_LANES) : NULL;
    if (text) {
        add_count(text, empty, "lane");
        sonde_text_format(text, " of %llu %s empty", (unsigned long long)all, empty == 1 ? "is" : "are");
    }
}

int sonde_caveats_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                          struct sonde_caveats *out)
{
    struct finder f = {.m = m, .profile = profile, .out = out};
    find_trace(&f);
    find_last(&f);
    find_pauses(&f);
    find_cpu(&f);
    find_unsampled(&f);
    find_python(&f);
    find_clocks(&f);
    find_symbols(&f);
    find_lanes(&f);
    for (size_t i = 0; i < out->items.count; i++)
        f.rc = out->items.items[i].text.failed ? SONDE_ENOMEM : f.rc;
    return f.rc;
}

void sonde_caveats_fini(struct sonde_caveats *caveats)
{
    for (size_t i = 0; i < caveats->items.count; i++)
        sonde_text_fini(&caveats->items.items[i].text);
    sonde_vector_fini(&caveats->items);
}
