/* last.c - what `record --last` has of a program that still runs, written as a measurement of its own (SIGUSR1).
 *
 * A child of record does it, so that record goes on waiting for the program and passing signals on: it reads the live mappings as any reader does, seals
 * what it read into a folder of its own, and finishes that as record does its own.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/symbols/code.h"
#include "cmds/command.h"
#include "format/folder.h"
#include "format/writer.h"
#include "monitor/announced.h"

enum { NUMBERS_MOST = 10000 };

/* "ring.sonde" as "ring-3.sonde". False: too long. */
static bool number_name(const char *name, unsigned number, char *out, size_t size)
{
    const size_t length = strlen(name), end = sizeof SONDE_FOLDER_SUFFIX - 1;
    const bool has_end = length > end && strcmp(name + length - end, SONDE_FOLDER_SUFFIX) == 0;
    const int written = snprintf(out, size, "%.*s-%u%s", (int)(has_end ? length - end : length), name, number, has_end ? SONDE_FOLDER_SUFFIX : "");
    return written > 0 && (size_t)written < size;
}

/* The first name that nobody has. */
static int make_folder(const struct record_paths *of, struct record_paths *to, struct sonde_diag *diag)
{
    int why = ENAMETOOLONG;
    for (unsigned number = 1; number < NUMBERS_MOST; number++) {
        if (!number_name(of->output, number, to->output, sizeof to->output) || !number_name(of->shown, number, to->shown, sizeof to->shown))
            break;
        if (mkdir(to->output, 0700) == 0)
            return 0;
        why = errno;
        if (why != EEXIST)
            break;
    }
    sonde_diag_set(diag, SONDE_EIO, to->shown, "cannot write what --last has");
    sonde_diag_errno(diag, why);
    return SONDE_EIO;
}

void record_last_begin(struct record_last *l)
{
    struct sonde_diag diag = {0};
    char folder[PATH_MAX];
    l->announced_fd = -1;
    int code = sonde_announced_folder(l->options->folder, folder, &diag);
    if (!code) {
        sonde_announced_sweep(folder);
        code = sonde_recorder_begin(folder, l->paths->output, &l->announced, &l->announced_fd, &diag);
    }
    if (code && !l->options->quiet)
        sonde_say_diag(&diag);
}

struct copying {
    const struct record_paths *to;
    struct sonde_diag diag;
    int error;
    uint32_t copied;
};

static int copy_process(void *user, const char *path, const char *name)
{
    struct copying *c = user;
    char folder[PATH_MAX + 256];
    snprintf(folder, sizeof folder, "%s/%s", c->to->output, name);
    struct sonde_diag diag = {0};
    const int error = mkdir(folder, 0700) == 0 ? sonde_process_copy(path, folder, &diag) : sonde_diag_set(&diag, SONDE_EIO, folder, "cannot make the folder");
    if (error && rmdir(folder) == 0 && error == SONDE_EEMPTY)
        return 0; /* it has just begun */
    c->copied += !error;
    if (error && !c->error) {
        c->error = error;
        c->diag = diag;
    }
    return 0;
}

/* Pieces of device code are files that nobody changes: the same ones. */
static void link_code(const struct record_paths *from, const struct record_paths *to)
{
    char old[PATH_MAX + 512], new[PATH_MAX + 512];
    snprintf(old, sizeof old, "%s/" SONDE_CODE_FOLDER, from->output);
    snprintf(new, sizeof new, "%s/" SONDE_CODE_FOLDER, to->output);
    DIR *folder = opendir(old);
    if (!folder || mkdir(new, 0700) != 0) {
        if (folder)
            closedir(folder);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (*entry->d_name == '.')
            continue;
        snprintf(old, sizeof old, "%s/" SONDE_CODE_FOLDER "/%s", from->output, entry->d_name);
        snprintf(new, sizeof new, "%s/" SONDE_CODE_FOLDER "/%s", to->output, entry->d_name);
        if (link(old, new) != 0)
            sonde_say("%s is not in %s: %s", entry->d_name, to->shown, strerror(errno));
    }
    closedir(folder);
}

static int take(const struct record_last *l, pid_t program)
{
    struct record_paths *to = calloc(1, sizeof *to);
    struct record_result result = {.attached = program, .goes_on = true, .start = l->start};
    struct record_timings timings = {0};
    struct copying copying = {.to = to};
    json_t *manifest = json_deep_copy(l->manifest);
    if (!to || !manifest) {
        sonde_say("out of memory: what --last has is not written");
        return 1;
    }
    *to = *l->paths;
    to->folder = -1;
    to->job[0] = 0; /* nobody else writes into it */
    if (make_folder(l->paths, to, &copying.diag)) {
        sonde_say_diag(&copying.diag);
        return 1;
    }
    record_each_process(l->paths->output, copy_process, &copying);
    if (!copying.copied) {
        rmdir(to->output);
        if (copying.error)
            sonde_say_diag(&copying.diag);
        else
            sonde_say("there is nothing to write yet: no process of the program has used a GPU");
        return 1; /* and all memory goes: this is a process of its own */
    }
    link_code(l->paths, to);
    record_now(&result.end);
    if (copying.error)
        sonde_say_diag(&copying.diag);
    return !record_finish(l->options, to, manifest, &result, &timings);
}

bool record_last_take(struct record_last *l, pid_t program)
{
    if (l->writer && waitpid(l->writer, NULL, WNOHANG) == 0) {
        sonde_say("what --last has is being written: ask again when that is done");
        return false;
    }
    fflush(NULL);
    l->writer = fork();
    if (l->writer == 0)
        _exit(take(l, program));
    if (l->writer < 0) {
        sonde_say("what --last has is not written: %s", strerror(errno));
        l->writer = 0;
    }
    return l->writer > 0;
}

/* ---- of itself ----------------------------------------------------------------------------------------- */

enum { LOOKS = 8 }; /* within the time in which nothing ends */

uint64_t record_last_pause(const struct record_last *l)
{
    return l->options->last_idle_ns / LOOKS;
}

static int add_done(void *user, const char *path, const char *name)
{
    struct sonde_live_header h;
    (void)name;
    if (sonde_process_now(path, &h))
        *(uint64_t *)user += h.ledger.done;
    return 0;
}

/* Once for each time in which nothing ends; not before the first operation has. */
void record_last_look(struct record_last *l, pid_t program)
{
    uint64_t done = 0;
    const uint64_t now_ns = record_clock_ns();
    record_each_process(l->paths->output, add_done, &done);
    if (done != l->done) {
        l->done = done;
        l->since_ns = now_ns;
        l->written = false;
    } else if (done && !l->written && now_ns - l->since_ns >= l->options->last_idle_ns) {
        l->written = record_last_take(l, program);
    }
}

void record_last_end(struct record_last *l)
{
    sonde_recorder_end(&l->announced, l->announced_fd);
    if (l->writer)
        waitpid(l->writer, NULL, 0);
    l->writer = 0;
}
