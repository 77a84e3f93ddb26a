/* finish.c - after the program ended: seal what it left, resolve symbols, say the one line.
 *
 * Descendants that outlive the program are not waited for: a shell would not
 * wait either. Their part of the measurement stays live; readers read it in
 * place, and the next reader finds it whole.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/model/runtimes.h"
#include "analyze/model/totals.h"
#include "analyze/symbols/code.h"
#include "analyze/symbols/symbols.h"
#include "analyze/symbols/instructions.h"
#include "analyze/symbols/places.h"
#include "analyze/symbols/types.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/stack.h"
#include "base/text.h"
#include "base/vector.h"
#include "cmds/command.h"
#include "format/writer.h"

/* What the agent reserves on disk before it begins: 64 segments. */
enum { ROOM_TO_BEGIN = 64 * SONDE_SEGMENT_BYTES };

struct closing {
    const struct record_paths *paths;
    const char *output;
    bool last;                   /* of a job: no other record of it is left */
    struct record_timings *timings;
    struct sonde_progress *progress;
    SONDE_VECTOR(struct sonde_symbols_job) ended; /* processes; their names are ours */
    uint32_t processes, running, failed;
    struct sonde_diag first; /* why the first of the failed ones failed */
};

static int note_process(void *user, const char *path, const char *name)
{
    struct closing *c = user;
    const int pid = record_pid_of(name);
    c->processes++;
    if (*c->paths->job && !record_job_seals(c->paths, c->last, path, name))
        return 0;
    if (pid && record_still_running(c->output, pid)) {
        c->running++;
        return 0;
    }
    char *dir = strdup(path);
    if (dir && !sonde_vector_push(&c->ended, (struct sonde_symbols_job){.dir = dir}))
        return 0;
    free(dir);
    if (!c->failed++)
        sonde_diag_set(&c->first, SONDE_ENOMEM, path, "cannot seal");
    return 0;
}

static int seal_process(void *user, uint32_t task)
{
    struct closing *c = user;
    struct sonde_symbols_job *job = &c->ended.items[task];
    job->error = sonde_process_seal(job->dir, &job->diag);
    sonde_progress_add(c->progress, 1);
    return 0;
}

/* Processes that were killed while they made their files, of which nothing is left. */
static void forget_removed(struct closing *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->ended.count; i++) {
        const struct sonde_symbols_job *job = &c->ended.items[i];
        if (!job->error && access(job->dir, F_OK) != 0)
            free((char *)job->dir);
        else
            c->ended.items[kept++] = *job;
    }
    c->ended.count = kept;
}

/* Ranks of a job: several at once, and what they have in common once. */
static void close_processes(struct closing *c, const struct record_options *options)
{
    struct sonde_diag diag;
    c->progress = sonde_progress_begin("sonde: sealing, resolving symbols", options->quiet);
    record_each_process(c->output, note_process, c);
    sonde_progress_expect(c->progress, c->ended.count);
    const uint64_t seal_ns = record_clock_ns();
    sonde_parallel_run(sonde_parallel_threads(), (uint32_t)c->ended.count, seal_process, c);
    forget_removed(c);
    const uint64_t symbols_ns = record_clock_ns();
    sonde_symbols_resolve(c->ended.items, c->ended.count, c->progress);
    const uint64_t begin_ns = record_clock_ns();
    c->timings->seal_ns += symbols_ns - seal_ns;
    c->timings->symbols_ns += begin_ns - symbols_ns;
    for (size_t i = 0; i < c->ended.count; i++) {
        if (c->ended.items[i].error && !c->failed++)
            c->first = c->ended.items[i].diag;
        free((char *)c->ended.items[i].dir);
    }
    sonde_vector_fini(&c->ended);
    if (!c->running && !c->failed && (c->last || !*c->paths->job)) /* what cannot be removed stays */
        (void)sonde_code_trim(c->output, c->progress);
    if (options->engine && !c->running && !c->failed && sonde_types_resolve(c->output, &diag) != SONDE_OK)
        sonde_say_diag(&diag);
    if (options->comm_engine && !c->running && !c->failed && sonde_places_resolve(c->output, &diag) != SONDE_OK)
        sonde_say_diag(&diag);
    if (options->pc_cycles && !c->running && !c->failed && sonde_instructions_resolve(c->output, &diag) != SONDE_OK)
        sonde_say_diag(&diag);
    c->timings->code_ns = record_clock_ns() - begin_ns;
    sonde_progress_end(c->progress);
}

/* ---- the line ------------------------------------------------------------------ */

static void add_dropped_rows(struct sonde_text *line, const struct sonde_ledger *ledger)
{
    static const struct {
        enum sonde_drop cause;
        const char *text;
    } why[] = {
        {SONDE_DROP_DISK_FULL, "the output could not be written (disk full?)"},
        {SONDE_DROP_TRACE_FULL, "out of memory budget; see --memory"},
        {SONDE_DROP_MAX_SIZE, "--max-size was reached"},
    };
    char number[SONDE_NUMBER_MAX];
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++) {
        if (!ledger->dropped[cause] || sonde_drop_loses_operation(cause))
            continue;
        const char *text = sonde_drop_name(cause);
        for (size_t k = 0; k < sizeof why / sizeof *why; k++)
            if ((int)why[k].cause == cause)
                text = why[k].text;
        sonde_text_format(line, "; %s rows missing from the trace: %s",
                          sonde_number_count(number, ledger->dropped[cause]), text);
    }
}

/* "terminated by signal 9 (Killed)". */
static void add_signal(struct sonde_text *line, const struct record_result *result)
{
    sonde_text_format(line, "terminated by signal %d (%s)", WTERMSIG(result->wait_status),
                      strsignal(WTERMSIG(result->wait_status)));
}

/* What had been enqueued and of whose end nothing is known. */
static void add_in_flight(struct sonde_text *line, const struct sonde_totals *t, const struct record_result *result)
{
    char number[SONDE_NUMBER_MAX];
    if (!t->in_flight)
        return;
    sonde_text_format(line, ", %s of them in flight ", sonde_number_count(number, t->in_flight));
    sonde_text_add(line, WIFSIGNALED(result->wait_status) ? "when " : "at exit");
    if (WIFSIGNALED(result->wait_status))
        add_signal(line, result);
}

static void say_summary(const struct record_paths *paths, const struct sonde_measurement *m,
                        const struct sonde_totals *t, uint32_t running, const struct record_result *result)
{
    char operations[SONDE_NUMBER_MAX], dropped[SONDE_NUMBER_MAX], unmatched[SONDE_NUMBER_MAX];
    char own[SONDE_NUMBER_MAX], size[SONDE_NUMBER_MAX];
    struct sonde_text line = {0};
    sonde_text_format(&line, "%s operation%s", sonde_number_count(operations, t->ledger.seen),
                      t->ledger.seen == 1 ? "" : "s");
    if (!running)
        add_in_flight(&line, t, result);
    sonde_text_format(&line, ", %s dropped, %s unmatched, overhead %s",
                      sonde_number_count(dropped, t->dropped_operations),
                      sonde_number_count(unmatched, t->ledger.unmatched),
                      sonde_number_percent(own, (double)t->ledger.hook_ns, (double)t->process_wall_ns));
    if (t->ledger.unplaced)
        sonde_text_format(&line, "; %s more unattributed: see sonde report ledger",
                          sonde_number_count(operations, t->ledger.unplaced));
    add_dropped_rows(&line, &t->ledger);
    if (WIFSIGNALED(result->wait_status) && (running || !t->in_flight)) {
        sonde_text_add(&line, "; ");
        add_signal(&line, result);
    }
    if (running)
        sonde_text_format(&line, "; %u process%s still running", running, running == 1 ? "" : "es");
    sonde_text_format(&line, "; %s (%s)   next: sonde report ", paths->shown,
                      sonde_number_bytes(size, (double)m->disk_bytes));
    sonde_text_add_path(&line, paths->shown);
    sonde_say("%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static bool uses_runtime(const void *user, const char *name)
{
    const struct sonde_measurement *m = user;
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t k = 1; k < m->processes[i].device_count; k++)
            if (strcmp(sonde_process_string(&m->processes[i], m->processes[i].devices[k].backend), name) == 0)
                return true;
    return false;
}

/* Which runtimes the program used, as its devices say; there are none when it only looked. */
static const char *runtimes_of(const struct sonde_measurement *m, char text[SONDE_RUNTIMES_MAX])
{
    return sonde_runtimes_list(text, "and", uses_runtime, m);
}

static void say_ended_before(const struct record_paths *paths, const struct sonde_measurement *m,
                             const struct record_result *result)
{
    const int status = result->wait_status;
    char runtimes[SONDE_RUNTIMES_MAX];
    if (WIFSIGNALED(status))
        sonde_say("the program used %s and was terminated by signal %d (%s) before Sonde recorded an operation; %s",
                  runtimes_of(m, runtimes), WTERMSIG(status), strsignal(WTERMSIG(status)), paths->shown);
    else
        sonde_say("a process of the program used %s and was killed, or crashed, before Sonde recorded an operation; %s",
                  runtimes_of(m, runtimes), paths->shown);
}

/* A process of the program loaded a GPU runtime, and yet there is nothing. */
static void say_no_operations(const struct record_options *options, const struct record_paths *paths,
                              const struct sonde_measurement *m, const struct record_result *result)
{
    const char *note = NULL;
    char runtimes[SONDE_RUNTIMES_MAX], number[SONDE_NUMBER_MAX];
    const uint64_t messages = sonde_trace_rows(m, SONDE_READ_MESSAGES);
    bool at_once = false; /* a process ended without our being told */
    for (uint32_t i = 0; i < m->process_count; i++) {
        for (uint32_t k = 0; k < m->processes[i].note_count && !note; k++)
            if (!sonde_symbols_is_note(m->processes[i].notes[k].text)) /* a reason for missing names, not for no operation */
                note = m->processes[i].notes[k].text;
        at_once |= m->processes[i].header.state == SONDE_PROCESS_RUNNING;
    }
    if (messages)
        sonde_say("no operation of a GPU, %s calls of MPI; %s   next: sonde report %s messages", sonde_number_count(number, messages), paths->shown, paths->shown);
    else if (at_once && !note)
        say_ended_before(paths, m, result);
    else if (note)
        sonde_say("no operation was recorded: %s; %s   next: sonde doctor", note, paths->shown);
    else if (options->delay_ns || options->duration_ns || options->start_off || options->pid)
        sonde_say("the program enqueued no operation in the recorded window; %s", paths->shown);
    else
        sonde_say("the program used %s but enqueued no operation; %s   next: sonde doctor", runtimes_of(m, runtimes),
                  paths->shown);
}

/* Smaller than what the agent begins a file with? */
static bool file_limit_is_small(struct rlimit *limit)
{
    return getrlimit(RLIMIT_FSIZE, limit) == 0 && limit->rlim_cur != RLIM_INFINITY &&
           limit->rlim_cur < ROOM_TO_BEGIN + SONDE_SEGMENT_BYTES;
}

/* " (terminated by signal 25, File size limit exceeded)": it may have had no time to make a call. */
static void add_death(struct sonde_text *text, const struct record_result *result)
{
    if (WIFSIGNALED(result->wait_status))
        sonde_text_format(text, " (terminated by signal %d, %s)", WTERMSIG(result->wait_status),
                          strsignal(WTERMSIG(result->wait_status)));
}

static void say_no_call(const struct record_options *options, const struct record_paths *paths,
                        const struct record_result *result)
{
    const char *name = sonde_path_base(paths->program);
    const char *obstacle = record_program_obstacle(paths->program);
    struct statvfs room;
    struct rlimit limit;
    struct sonde_text death = {0};
    char runtimes[SONDE_RUNTIMES_MAX];
    add_death(&death, result);
    if (file_limit_is_small(&limit))
        sonde_say("nothing recorded: the file size limit (ulimit -f) is %llu kB, but a measurement of %s needs at least %u kB "
                  "per process%s",
                  (unsigned long long)(limit.rlim_cur / 1000), name,
                  (ROOM_TO_BEGIN + SONDE_SEGMENT_BYTES) / 1000 + 1, sonde_text_get(&death));
    else if (statvfs(paths->output, &room) == 0 && room.f_blocks && room.f_bavail * room.f_frsize < ROOM_TO_BEGIN)
        sonde_say("nothing recorded: not enough space in %s (%llu kB free, at least %u kB needed per process)", paths->shown,
                  (unsigned long long)(room.f_bavail * room.f_frsize / 1000), ROOM_TO_BEGIN / 1000);
    else if (obstacle)
        sonde_say("nothing recorded: %s %s, so its API calls cannot be seen; try: sonde doctor", name, obstacle);
    else if (options->start_off)
        sonde_say("nothing recorded: %s made no API call after sonde_start() (--start-off)%s; try: sonde doctor", name,
                  sonde_text_get(&death));
    else if (options->delay_ns || options->duration_ns)
        sonde_say("nothing recorded: %s made no API call between --delay and --duration%s; try: sonde doctor", name,
                  sonde_text_get(&death));
    else
        sonde_say("nothing recorded: %s made no %s call that Sonde could see%s; if it uses a GPU, try: sonde doctor",
                  name, sonde_runtimes_list(runtimes, "or", NULL, NULL), sonde_text_get(&death));
    sonde_text_fini(&death);
}

static void summarize(const struct record_options *options, const struct record_paths *paths, uint32_t running,
                      const struct record_result *result, struct record_timings *timings)
{
    const uint64_t begin_ns = record_clock_ns();
    struct sonde_measurement *m = NULL;
    struct sonde_totals totals = {0};
    struct sonde_diag diag = {0};
    if (sonde_measurement_open(paths->output, &m, &diag) != SONDE_OK) {
        sonde_say_diag(&diag);
        return;
    }
    if (sonde_totals_compute(m, &totals) != SONDE_OK)
        sonde_say("out of memory");
    else if (totals.ledger.seen || running)
        say_summary(paths, m, &totals, running, result);
    else
        say_no_operations(options, paths, m, result);
    sonde_totals_fini(&totals);
    sonde_measurement_close(m);
    timings->summary_ns = record_clock_ns() - begin_ns;
}

/* The manifest is complete by now: it stays as it is when this cannot be written. */
static void store_timings(const struct record_paths *paths, json_t *manifest, const struct record_result *result,
                          struct record_timings *timings)
{
    struct sonde_diag unused;
    timings->after_ns = record_clock_ns() - result->end.monotonic_raw_ns;
    record_manifest_timings(manifest, timings);
    (void)record_manifest_write(manifest, paths->output, &unused);
}

/* Of a rank of a job: seals its own, and the last one does the rest. *last: there is more to do, with *manifest the job's. */
static void finish_rank(const struct record_options *options, const struct record_paths *paths, json_t **manifest, const struct record_result *result,
                        struct record_timings *timings, bool *last)
{
    struct closing own = {.paths = paths, .output = paths->output, .timings = timings};
    struct record_options quietly = *options;
    quietly.quiet = true;
    close_processes(&own, &quietly);
    record_manifest_end(*manifest, result);
    timings->after_ns = record_clock_ns() - result->end.monotonic_raw_ns;
    record_manifest_timings(*manifest, timings);
    const int why = record_job_leave(paths, *manifest);
    if (own.failed)
        sonde_say_diag(&own.first);
    if (why)
        sonde_say("cannot write into %s what became of this rank: %s", paths->shown, strerror(why));
    *last = record_job_is_last(paths);
    if (*last)
        *manifest = record_job_manifest(paths, *manifest);
}

static bool finish(const struct record_options *options, const struct record_paths *paths,
                   json_t *manifest, const struct record_result *result, struct record_timings *timings)
{
    struct closing closing = {.paths = paths, .output = paths->output, .timings = timings, .last = *paths->job};
    struct sonde_diag diag = {0};
    close_processes(&closing, options);

    bool later = !closing.processes && record_still_running(paths->output, 0);
    if (!closing.processes && !later) {
        if (!options->quiet)
            say_no_call(options, paths, result);
        if (record_output_remove(paths->output, &diag) != SONDE_OK)
            sonde_say_diag(&diag);
        return false;
    }
    if (closing.failed)
        sonde_say_diag(&closing.first);
    if (!*paths->job)
        record_manifest_end(manifest, result);
    if (record_manifest_write(manifest, paths->output, &diag) != SONDE_OK && !closing.failed)
        sonde_say_diag(&diag);
    if (later && !options->quiet) {
        struct sonde_text word = {0};
        sonde_text_add_path(&word, paths->shown);
        sonde_say("the program exited, but its child processes still run; %s   next: sonde report %s",
                  paths->shown, sonde_text_get(&word));
        sonde_text_fini(&word);
    } else if (!options->quiet)
        summarize(options, paths, closing.running, result, timings);
    store_timings(paths, manifest, result, timings);
    return true;
}

struct finishing {
    const struct record_options *options;
    const struct record_paths *paths;
    json_t *manifest;
    const struct record_result *result;
    struct record_timings *timings;
};

static int finish_on_stack(void *user)
{
    const struct finishing *f = user;
    if (*f->paths->job) {
        json_t *manifest = f->manifest;
        bool last, left = true;
        finish_rank(f->options, f->paths, &manifest, f->result, f->timings, &last);
        if (last) {
            left = finish(f->options, f->paths, manifest, f->result, f->timings);
            json_decref(manifest);
        }
        return left;
    }
    return finish(f->options, f->paths, f->manifest, f->result, f->timings);
}

/* The stack's limit was the program's and is ours as well. */
bool record_finish(const struct record_options *options, const struct record_paths *paths,
                   json_t *manifest, const struct record_result *result, struct record_timings *timings)
{
    return sonde_stack_run(finish_on_stack, &(struct finishing){options, paths, manifest, result, timings});
}
