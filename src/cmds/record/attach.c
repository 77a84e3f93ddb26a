/* attach.c - `sonde record --pid`: records a program that runs already, and leaves it (docs/attach.md).
 *
 * The agent records for as long as we hold the lock of the measurement's folder. Giving it back is how we say that it is to
 * go; if we are killed the kernel says so.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/text.h"
#include "base/vector.h"
#include "cmds/command.h"
#include "cmds/stop.h"
#include "format/folder.h"

#define LOOK_MS      50 /* between two looks at whether it is still there */
#define LEAVE_MS  10000 /* how long the agent may take to go: longer than it waits for anything */

struct words {
    SONDE_VECTOR(char *) list; /* ends with NULL */
};

struct running {
    pid_t pid;
    int alive;                 /* a pidfd: readable when the process has ended */
    char folder[PATH_MAX];     /* it works in */
    struct words arguments, environment;
    struct sonde_attach *attach;
    struct sonde_stop stop;
};

/* ---- what the program is ---------------------------------------------------------------- */

static void free_words(struct words *words)
{
    for (size_t i = 0; i < words->list.count; i++)
        free(words->list.items[i]);
    sonde_vector_fini(&words->list);
}

/* A file of /proc that holds strings. */
static bool read_words(pid_t pid, const char *name, struct words *out)
{
    char path[64], *word = NULL;
    size_t room = 0;
    bool whole = true;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "re");
    while (file && whole && getdelim(&word, &room, 0, file) > 0) {
        char *copy = strdup(word);
        whole = copy && !sonde_vector_push(&out->list, copy);
    }
    free(word);
    if (file)
        fclose(file);
    return whole && !sonde_vector_push(&out->list, (char *)NULL);
}

static void read_link(pid_t pid, const char *name, char path[PATH_MAX])
{
    char from[64];
    snprintf(from, sizeof from, "/proc/%d/%s", pid, name);
    const ssize_t n = readlink(from, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = 0;
}

static bool look(struct running *r, struct record_paths *paths)
{
    read_link(r->pid, "exe", paths->program);
    read_link(r->pid, "cwd", r->folder);
    if (!read_words(r->pid, "cmdline", &r->arguments) || !read_words(r->pid, "environ", &r->environment))
        return false;
    if (r->arguments.list.count > 1)
        return true;
    free_words(&r->arguments); /* a program may overwrite its arguments */
    char *name = strdup(paths->program);
    return name && !sonde_vector_push(&r->arguments.list, name) && !sonde_vector_push(&r->arguments.list, (char *)NULL);
}

/* ---- its folder ---------------------------------------------------------------------------- */

static int refuse_folder(const struct record_paths *paths, const char *why, const char *hint, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EIO, paths->shown, "the process cannot write into");
    snprintf(diag->why, sizeof diag->why, "%s", why);
    sonde_diag_hint(diag, "%s", hint);
    return SONDE_EIO;
}

/* The process writes there as its own user. */
static int share_folder(const struct running *r, const struct record_paths *paths, struct sonde_diag *diag)
{
    char path[64];
    struct stat process, folder;
    snprintf(path, sizeof path, "/proc/%d", r->pid);
    if (flock(paths->folder, LOCK_EX | LOCK_NB) != 0)
        return refuse_folder(paths, "its file system has no locks, by which the agent knows until when it records", "choose another folder with -o", diag);
    if (!sonde_attach_shares(r->attach, paths->output))
        return refuse_folder(paths, "it is in a container, or has a root folder of its own", "choose a folder with -o that both see under one path", diag);
    if (geteuid() == 0 && stat(path, &process) == 0 && fstat(paths->folder, &folder) == 0 && process.st_uid != folder.st_uid &&
        fchown(paths->folder, process.st_uid, process.st_gid) != 0) {
        refuse_folder(paths, "", "choose another folder with -o", diag);
        sonde_diag_errno(diag, errno);
        return SONDE_EIO;
    }
    return SONDE_OK;
}

/* Of what record says to programs that it starts, what is for the agent. */
static bool settings(const struct record_options *o, const struct record_paths *paths, struct sonde_text *out)
{
    struct record_options ours = *o;
    ours.duration_ns = 0; /* we measure it */
    ours.quiet = true;    /* what the user has in his environment does not come to the program */
    char **environment = record_environment(&ours, paths);
    for (char **entry = environment; entry && *entry; entry++)
        if (strncmp(*entry, "SONDE_", 6) == 0)
            sonde_text_add_bytes(out, *entry, strlen(*entry) + 1);
    sonde_text_add_bytes(out, "", 1);
    record_environment_free(environment);
    return environment;
}

/* ---- recording ------------------------------------------------------------------------------- */

static bool has_ended(const struct running *r)
{
    struct pollfd end = {.fd = r->alive, .events = POLLIN};
    return poll(&end, 1, 0) > 0;
}

/* What was asked of --last, and what it does of itself. Returns when it is to be looked again, 0 at any time. */
static uint64_t serve_last(const struct running *r, struct record_last *last, uint64_t look_ns)
{
    const uint64_t pause_ns = record_last_pause(last), now_ns = record_clock_ns();
    if (record_signal_came())
        record_last_take(last, r->pid);
    if (!pause_ns || now_ns < look_ns)
        return look_ns;
    record_last_look(last, r->pid);
    return now_ns + pause_ns;
}

/* Until the time is over, a signal comes, the program ends, or its agent goes by itself. `last` NULL: without --last. */
static void wait_for_end(const struct running *r, uint64_t duration_ns, struct record_last *last)
{
    const uint64_t begin_ns = record_clock_ns();
    uint64_t now_ns = begin_ns, look_ns = 0;
    while (!duration_ns || now_ns - begin_ns < duration_ns) {
        uint64_t left_ms = duration_ns ? (duration_ns - (now_ns - begin_ns) + 999999) / 1000000 : LOOK_MS;
        if (sonde_stop_wait(&r->stop, (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS), NULL, NULL) || has_ended(r) ||
            sonde_attach_is_over(r->attach))
            return;
        if (last)
            look_ns = serve_last(r, last, look_ns);
        now_ns = record_clock_ns();
    }
}

/* False: it is not gone in time, as one of a program that was stopped. */
static bool leave(const struct running *r, const struct record_paths *paths)
{
    flock(paths->folder, LOCK_UN);
    for (int waited_ms = 0; waited_ms < LEAVE_MS && !has_ended(r) && !sonde_attach_is_over(r->attach); waited_ms += LOOK_MS / 10)
        usleep(LOOK_MS * 100);
    const bool gone = has_ended(r) || sonde_attach_is_over(r->attach);
    if (gone)
        flock(paths->folder, LOCK_EX | LOCK_NB);
    return gone;
}

static void forget(const struct running *r, const struct record_options *o)
{
    struct sonde_diag diag = {0};
    if (!has_ended(r) && sonde_attach_forget(r->attach, &diag) && !has_ended(r) && !o->quiet)
        sonde_say("process %d keeps the agent's memory until it is attached to again: %s", r->pid, diag.why);
}

static int begin(const struct running *r, const struct record_options *o, const struct record_paths *paths, struct sonde_diag *diag)
{
    struct sonde_text text = {0};
    int error = share_folder(r, paths, diag);
    if (!error)
        error = settings(o, paths, &text) ? sonde_attach_begin(r->attach, sonde_text_get(&text), text.length, diag)
                                          : sonde_diag_set(diag, SONDE_ENOMEM, NULL, "out of memory");
    sonde_text_fini(&text);
    return error;
}

static int record(struct running *r, const struct record_options *o, struct record_paths *paths)
{
    struct sonde_diag diag = {0};
    struct record_result result = {.attached = r->pid};
    struct record_timings timings = {0};
    json_t *manifest = NULL;
    bool begun = false, gone = true;
    const uint64_t begin_ns = record_clock_ns();
    int error = record_output_make(o, r->arguments.list.items[0], paths, &diag);
    if (!error) {
        struct record_options kept = *o;
        kept.duration_ns = 0; /* the agent knows of no time when it is off */
        record_now(&result.start);
        manifest = record_manifest_begin(&kept, paths, (int)r->arguments.list.count - 1, r->arguments.list.items,
                                         r->environment.list.items, r->folder, &result.start);
        error = record_manifest_write(manifest, paths->output, &diag);
        if (!error)
            error = begin(r, o, paths, &diag);
        begun = !error;
        timings.before_ns = record_clock_ns() - begin_ns;
        if (begun && !o->quiet)
            sonde_say("recording process %d into %s; Ctrl-C ends it, and the program goes on", r->pid, paths->shown);
        if (begun) {
            struct record_last last = {.options = o, .paths = paths, .manifest = manifest, .start = result.start};
            if (o->last_ns)
                record_last_begin(&last);
            wait_for_end(r, o->duration_ns, o->last_ns ? &last : NULL);
            gone = leave(r, paths);
            if (o->last_ns)
                record_last_end(&last);
        }
    }
    record_now(&result.end);
    if (begun && gone)
        forget(r, o);
    result.goes_on = !has_ended(r);
    if (error)
        sonde_say_diag(&diag);
    if (!gone)
        sonde_say("process %d is stopped: the agent leaves it when it goes on (kill -CONT %d); until then %s is unfinished", r->pid, r->pid, paths->shown);
    else if (begun && !record_output_is_there(paths))
        sonde_say("the measurement %s is gone: it was removed or renamed while the program ran", paths->shown), error = SONDE_EIO;
    else if (begun)
        record_finish(o, paths, manifest, &result, &timings);
    else if (manifest && record_output_remove(paths->output, NULL) != SONDE_OK)
        rmdir(paths->output);
    record_output_release(paths);
    json_decref(manifest);
    return error ? RECORD_EXIT_FAILED : 0;
}

/* An option that means nothing, or could not be undone, for a program that runs already; NULL: none. */
static const char *unfit(const struct record_options *o)
{
    return o->mode == RECORD_LIGHT ? "--light"
           : o->values             ? "--values"
           : o->delay_ns           ? "--delay"
           : o->start_off          ? "--start-off"
           : o->capture            ? "--capture-range"
           : o->calibrate          ? "--calibrate"
           : o->no_preload         ? "--no-preload"
                                   : NULL;
}

int record_attach(const struct record_options *options, struct record_paths *paths)
{
    struct sonde_diag diag = {0};
    struct running r = {.pid = (pid_t)options->pid, .alive = -1};
    int status = RECORD_EXIT_FAILED;
    const char *option = unfit(options);
    if (option) {
        sonde_say("--pid goes without %s", option);
        return SONDE_EXIT_USAGE;
    }
    if (options->last_ns)
        record_signal_await();
    int error = sonde_stop_begin(&r.stop, &diag);
    if (!error)
        error = sonde_attach_open(r.pid, paths->agent, &r.attach, &diag);
    if (!error) {
        r.alive = (int)syscall(SYS_pidfd_open, r.pid, 0);
        if (r.alive < 0)
            error = sonde_diag_set(&diag, SONDE_ENOTFOUND, NULL, "process %d has ended", r.pid);
        else if (!look(&r, paths))
            error = sonde_diag_set(&diag, SONDE_ENOMEM, NULL, "out of memory");
    }
    if (error)
        sonde_say_diag(&diag);
    else
        status = record(&r, options, paths);
    if (r.alive >= 0)
        close(r.alive);
    sonde_attach_close(r.attach);
    free_words(&r.arguments);
    free_words(&r.environment);
    return status;
}
