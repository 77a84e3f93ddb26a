/* job.c - one measurement of a parallel job whose ranks are each recorded by a sonde record of their own:
 *
 *     mpirun -n 8 sonde record -o heat.sonde -- ./heat
 *
 * The first of them makes the folder and puts the job's identity into it (.job); those that find their own there
 * join, all others make a folder of another name, as ever; so does a rank that has been recorded there and is recorded again. Each holds a shared lock on the folder while it writes, seals what its own rank left on
 * its own host, and leaves a line about itself (rank-N.json). Who gets the folder for itself at its end is the last one there: it seals what others
 * left behind, and makes one manifest of all. A record that is killed leaves its lock to nobody, so that the last one is always somebody.
 *
 * The identity is what the launcher calls the job (PMIx, Slurm, torchrun); of a launcher that says nothing (MPICH's) the process that
 * started this one, which is the same for all ranks of a host.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rank.h"
#include "format/folder.h"
#include "format/rows.h"

enum { MAKING_NS = 10000000,
       MAKING_TIMES = 500 }; /* so long, so often is waited for a folder that is being made */

/* ---- which job --------------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* When a process began, in the kernel's ticks: a number that is used again is another process. */
static unsigned long long began(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *at = strrchr(text, ')'); /* the name may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

bool record_job_find(struct record_paths *paths)
{
    const struct sonde_rank rank = sonde_rank_read();
    char host[HOST_NAME_MAX + 1] = ""; /* gethostname(2) */
    paths->job[0] = 0;
    paths->rank = rank.rank;
    if (!rank.rank || rank.size < 2)
        return false;
    gethostname(host, sizeof host - 1);
    const char *pmix = variable("PMIX_NAMESPACE"), *slurm = variable("SLURM_JOB_ID"), *step = variable("SLURM_STEP_ID");
    const char *torch = variable("TORCHELASTIC_RUN_ID"), *address = variable("MASTER_ADDR"), *port = variable("MASTER_PORT");
    if (pmix)
        snprintf(paths->job, sizeof paths->job, "pmix %s", pmix);
    else if (torch && address && port)
        snprintf(paths->job, sizeof paths->job, "torch %s %s %s", torch, address, port);
    else if (slurm && step)
        snprintf(paths->job, sizeof paths->job, "slurm %s.%s", slurm, step);
    else
        snprintf(paths->job, sizeof paths->job, "started by %s %d %llu", host, (int)getppid(), began(getppid()));
    return true;
}

/* ---- the folder ----------------------------------------------------------------------------------------- */

static bool file_in(char *out, size_t size, const char *folder, const char *name)
{
    const int n = snprintf(out, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size;
}

int record_job_claim(const struct record_paths *paths)
{
    char path[PATH_MAX], part[PATH_MAX];
    if (!file_in(path, sizeof path, paths->shown, SONDE_JOB_FILE) || !file_in(part, sizeof part, paths->shown, SONDE_JOB_FILE SONDE_PART_SUFFIX))
        return ENAMETOOLONG;
    return sonde_file_replace(path, part, paths->job, strlen(paths->job)) == 0 ? 0 : errno;
}

static void name_rank_file(char out[64], uint32_t rank, const char *end)
{
    snprintf(out, 64, SONDE_RANK_FILE_BEGIN "%u" SONDE_RANK_FILE_END "%s", rank - 1, end);
}

/* This rank has been recorded there and has ended: what it records now is another run of the same job. */
static bool has_ended(const struct record_paths *paths, const char *folder)
{
    char path[PATH_MAX], name[64];
    name_rank_file(name, paths->rank, "");
    return file_in(path, sizeof path, folder, name) && access(path, F_OK) == 0;
}

int record_job_whose(const struct record_paths *paths, const char *folder)
{
    char path[PATH_MAX], text[sizeof paths->job] = "";
    /* In this order: a job's folder has its identity before it has a manifest. */
    const bool has_manifest = file_in(path, sizeof path, folder, SONDE_MANIFEST_FILE) && access(path, F_OK) == 0;
    FILE *file = file_in(path, sizeof path, folder, SONDE_JOB_FILE) ? fopen(path, "re") : NULL;
    if (file) {
        const size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = 0;
        fclose(file);
        return strcmp(text, paths->job) == 0 && !has_ended(paths, folder);
    }
    return !has_manifest && access(folder, F_OK) == 0 ? -1 : 0;
}

static bool is_empty(const char *folder)
{
    DIR *entries = opendir(folder);
    bool empty = entries != NULL;
    for (struct dirent *e; empty && (e = readdir(entries));)
        empty = e->d_name[0] == '.';
    if (entries)
        closedir(entries);
    return empty;
}

bool record_job_is_ours(const struct record_paths *paths, const char *folder)
{
    int whose = record_job_whose(paths, folder);
    for (int n = 0; n < MAKING_TIMES && whose < 0 && is_empty(folder); n++) { /* another rank has just made it */
        nanosleep(&(struct timespec){.tv_nsec = MAKING_NS}, NULL);
        whose = record_job_whose(paths, folder);
    }
    return whose > 0 || (whose < 0 && record_job_whose(paths, folder) > 0); /* it was made while we looked */
}

/* ---- whose processes -------------------------------------------------------------------------------------- */

static bool of_this_host(const char *name)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        *c = *c == '/' ? '_' : *c; /* as the agent names folders */
    const size_t length = strlen(host);
    return strncmp(name, host, length) == 0 && name[length] == '-';
}

static uint32_t rank_of(const char *folder)
{
    char path[PATH_MAX];
    struct sonde_live_header header = {.rank = 0};
    const int fd = file_in(path, sizeof path, folder, SONDE_LIVE_FILE) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const bool read_it = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && header.magic == SONDE_LIVE_MAGIC;
    if (fd >= 0)
        close(fd);
    return read_it ? header.rank : 0;
}

bool record_job_seals(const struct record_paths *paths, bool last, const char *folder, const char *name)
{
    return of_this_host(name) && (last || rank_of(folder) == paths->rank);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

int record_job_leave(const struct record_paths *paths, const json_t *manifest)
{
    static const char *const kept[] = {"ranks", "host", "start_wall_ns", "end_wall_ns", "exit", "clock_pairs", "timings"};
    char name[64], path[PATH_MAX], part[PATH_MAX];
    json_t *line = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        json_object_set(line, kept[i], json_object_get(manifest, kept[i]));
    char *text = json_dumps(line, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(line);
    name_rank_file(name, paths->rank, "");
    int why = !text || !file_in(path, sizeof path, paths->output, name) ? ENOMEM : 0;
    name_rank_file(name, paths->rank, SONDE_PART_SUFFIX);
    if (!why && file_in(part, sizeof part, paths->output, name) && sonde_file_replace(path, part, text, strlen(text)) != 0)
        why = errno;
    free(text);
    return why;
}

bool record_job_is_last(const struct record_paths *paths)
{
    int rc;
    while ((rc = flock(paths->folder, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR)
        ;
    return rc == 0; /* else the lock is gone, and somebody else is the last */
}

bool record_is_rank_file(const char *name)
{
    const size_t begin = strlen(SONDE_RANK_FILE_BEGIN), end = strlen(SONDE_RANK_FILE_END), length = strlen(name);
    if (length <= begin + end || strncmp(name, SONDE_RANK_FILE_BEGIN, begin) != 0)
        return false;
    const size_t digits = strspn(name + begin, "0123456789");
    const char *rest = name + begin + digits;
    return digits && (strcmp(rest, SONDE_RANK_FILE_END) == 0 || strcmp(rest, SONDE_RANK_FILE_END SONDE_PART_SUFFIX) == 0);
}

static int by_number(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    const json_int_t x = json_integer_value(json_object_get(json_object_get(a, "ranks"), "rank"));
    const json_int_t y = json_integer_value(json_object_get(json_object_get(b, "ranks"), "rank"));
    return x < y ? -1 : x > y;
}

/* Of all lines the job's end: when the last one ended, and the first exit that is no success. */
static void end_of_job(json_t *manifest, json_t *const *lines, size_t count)
{
    json_int_t end_wall = 0;
    const json_t *exit = NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *its = json_object_get(lines[i], "exit"), *status = json_object_get(its, "status");
        const json_int_t end = json_integer_value(json_object_get(lines[i], "end_wall_ns"));
        end_wall = end > end_wall ? end : end_wall;
        if (its && (!exit || (json_integer_value(json_object_get(exit, "status")) == 0 && !json_object_get(exit, "signal"))))
            exit = !exit || !status || json_integer_value(status) ? its : exit;
    }
    const json_int_t begin_wall = json_integer_value(json_object_get(manifest, "start_wall_ns")), begin = json_integer_value(json_object_get(manifest, "start_ns"));
    if (end_wall > begin_wall) {
        json_object_set_new(manifest, "end_wall_ns", json_integer(end_wall));
        json_object_set_new(manifest, "end_ns", json_integer(begin + end_wall - begin_wall));
    }
    if (exit)
        json_object_set(manifest, "exit", (json_t *)(uintptr_t)exit);
}

json_t *record_job_manifest(const struct record_paths *paths, const json_t *own)
{
    char path[PATH_MAX];
    json_t *manifest = file_in(path, sizeof path, paths->output, SONDE_MANIFEST_FILE) ? json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    if (!json_is_object(manifest)) { /* who made the folder died before it had one */
        json_decref(manifest);
        manifest = json_deep_copy(own);
    }
    DIR *folder = opendir(paths->output);
    json_t **lines = NULL;
    size_t count = 0;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        json_t *line = record_is_rank_file(e->d_name) && file_in(path, sizeof path, paths->output, e->d_name) ? json_load_file(path, 0, NULL) : NULL;
        json_t **more = line ? realloc(lines, (count + 1) * sizeof *lines) : NULL;
        if (!more) {
            json_decref(line);
            continue;
        }
        lines = more;
        lines[count++] = line;
    }
    if (folder)
        closedir(folder);
    if (count)
        qsort(lines, count, sizeof *lines, by_number);
    end_of_job(manifest, lines, count);
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, lines[i]);
    json_object_set_new(manifest, "job", all);
    free(lines);
    return manifest;
}
