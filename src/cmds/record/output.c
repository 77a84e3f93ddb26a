/* output.c - the measurement's folder: its name, making it, removing an old one, what is in it.
 *
 * A folder is made with mkdir, which fails when the name is taken: two
 * recordings that start at once cannot get the same one. While a recording
 * writes into its folder it holds a lock on it (flock: the kernel takes it back
 * however record ends), so that --force of another one leaves it alone. Where
 * a file system has no such locks, record still notices at its end that the
 * folder is gone.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rank.h"
#include "format/folder.h"

enum { HIGHEST_NUMBER = 100000,
       ROOM_TIMES = 300,
       ROOM_NAP_NS = 10000000 };

static int fail(struct sonde_diag *diag, const char *what, const char *path, int why)
{
    int code = why == EEXIST ? SONDE_EEXISTS : (why == ENOSPC ? SONDE_EFULL : SONDE_EIO);
    sonde_diag_set(diag, code, path, "%s", what);
    sonde_diag_errno(diag, why);
    return code;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

/* False when the path would be too long. */
static bool join(char *out, size_t size, const char *path, const char *name)
{
    int n = snprintf(out, size, "%s/%s", path, name);
    return n > 0 && (size_t)n < size;
}

static int replace(const struct record_paths *paths, const char *path, struct sonde_diag *diag);
int record_output_remove(const char *path, struct sonde_diag *diag);

/* ---- making ---------------------------------------------------------------- */

/* "clpeak.sonde", then "clpeak-2.sonde", "clpeak-3.sonde" ... */
static int numbered_name(const char *base, int number, char *out, size_t size)
{
    size_t length = strlen(base);
    while (length > 1 && base[length - 1] == '/')
        length--;
    const size_t tail = strlen(SONDE_FOLDER_SUFFIX);
    bool suffix = length > tail && strncmp(base + length - tail, SONDE_FOLDER_SUFFIX, tail) == 0;
    size_t stem = suffix ? length - tail : length;
    int n = number < 2 ? snprintf(out, size, "%.*s", (int)length, base)
                       : snprintf(out, size, "%.*s-%d%s", (int)stem, base, number, suffix ? SONDE_FOLDER_SUFFIX : "");
    return n > 0 && (size_t)n < size ? SONDE_OK : SONDE_EINVALID;
}

/* mkdir succeeds on a folder system that is full, and for root on some that
 * are not writable; creating a file does not. */
static int check_writable(const char *path, struct sonde_diag *diag)
{
    char probe[PATH_MAX];
    if (!join(probe, sizeof probe, path, SONDE_PROBE_FILE))
        return fail(diag, "cannot write into", path, ENAMETOOLONG);
    int fd = sonde_file_make(probe, O_WRONLY | O_EXCL);
    if (fd < 0)
        return fail(diag, "cannot write into", path, errno);
    char block[4096];
    memset(block, 0, sizeof block);
    ssize_t n = write(fd, block, sizeof block);
    int why = n == (ssize_t)sizeof block ? 0 : (n < 0 ? errno : ENOSPC);
    close(fd);
    unlink(probe);
    return why ? fail(diag, "cannot write into", path, why) : SONDE_OK;
}

/* -o with %{rank} replaced: `mpirun sonde record -o run-%{rank}.sonde` writes one measurement per rank. */
static int name_output(const char *given, char *out, size_t size, struct sonde_diag *diag)
{
    static const char place[] = "%{rank}";
    size_t used = 0;
    const uint32_t rank = strstr(given, place) ? sonde_rank_read().rank : 1;
    if (!rank) {
        sonde_diag_set(diag, SONDE_EINVALID, given, "cannot create the folder");
        snprintf(diag->why, sizeof diag->why, "no launcher (MPI, Slurm, torchrun) has set a rank");
        return SONDE_EINVALID;
    }
    for (const char *at = given; *at && used < size;) {
        const char *next = strstr(at, place);
        const int length = (int)(next ? (size_t)(next - at) : strlen(at));
        used += (size_t)(next ? snprintf(out + used, size - used, "%.*s%u", length, at, rank - 1)
                              : snprintf(out + used, size - used, "%s", at));
        at = next ? next + sizeof place - 1 : at + length;
    }
    if (!*given)
        *out = 0;
    return used < size ? SONDE_OK : fail(diag, "cannot create the folder", given, ENAMETOOLONG);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Another --force that looks at our new folder has its lock for a moment. Ranks of one job hold it together. */
static int hold(struct record_paths *paths, struct sonde_diag *diag)
{
    paths->folder = open_folder(paths->output);
    if (paths->folder < 0)
        return fail(diag, "cannot open the folder", paths->shown, errno);
    while (flock(paths->folder, *paths->job ? LOCK_SH : LOCK_EX) != 0 && errno == EINTR)
        ;
    return record_output_is_there(paths) ? SONDE_OK : fail(diag, "cannot open the folder", paths->shown, ENOENT);
}

bool record_output_is_there(const struct record_paths *paths)
{
    struct stat held, now;
    return fstat(paths->folder, &held) == 0 && lstat(paths->output, &now) == 0 && is_same_file(&held, &now);
}

void record_output_release(struct record_paths *paths)
{
    if (paths->folder >= 0)
        close(paths->folder);
    paths->folder = -1;
}

/* --force: remove what is there, unless another rank of our job has done so and made its own; for a while it may be about to. */
static int make_room(const struct record_paths *paths, const char *base, struct sonde_diag *diag)
{
    struct stat st;
    for (int n = 0;; n++) {
        if (lstat(base, &st) != 0 || (*paths->job && record_job_is_ours(paths, base)))
            return SONDE_OK;
        const int error = replace(paths, base, diag);
        if (!error || !*paths->job || n == ROOM_TIMES)
            return error;
        nanosleep(&(struct timespec){.tv_nsec = ROOM_NAP_NS}, NULL);
    }
}

int record_output_make(const struct record_options *options, const char *program,
                       struct record_paths *paths, struct sonde_diag *diag)
{
    paths->folder = -1;
    paths->joined = false;
    char base[PATH_MAX];
    const char *slash = strrchr(program, '/');
    int error = SONDE_OK;
    if (options->output)
        error = name_output(options->output, base, sizeof base, diag);
    else
        snprintf(base, sizeof base, "%s%s", slash ? slash + 1 : program, SONDE_FOLDER_SUFFIX);
    if (error)
        return error;
    if (!*base)
        return fail(diag, "cannot create a folder without a name", NULL, EINVAL);

    const bool own = options->pid || options->calibrate || (options->output && strstr(options->output, "%{rank}")), job = !own && record_job_find(paths);
    if (!job)
        paths->job[0] = 0;
    if (options->force && (error = make_room(paths, base, diag)) != SONDE_OK)
        return error;
    for (int number = 1;; number++) {
        if (numbered_name(base, number, paths->shown, sizeof paths->shown))
            return fail(diag, "cannot create the folder", base, ENAMETOOLONG);
        if (sonde_folder_make(paths->shown) == 0)
            break;
        if (errno != EEXIST || number == HIGHEST_NUMBER)
            return fail(diag, "cannot create the folder", paths->shown, errno);
        if (job && (paths->joined = record_job_is_ours(paths, paths->shown)))
            break;
    }
    const int claimed = job && !paths->joined ? record_job_claim(paths) : 0;
    if (claimed)
        error = fail(diag, "cannot write into", paths->shown, claimed);
    if (!error && !realpath(paths->shown, paths->output))
        error = fail(diag, "cannot find the folder", paths->shown, errno);
    if (!error && strlen(paths->output) > PATH_MAX - 512) /* room for HOST-PID-N and a file's name */
        error = fail(diag, "cannot write into", paths->shown, ENAMETOOLONG);
    if (!error)
        error = hold(paths, diag);
    if (!error && !paths->joined)
        error = check_writable(paths->output, diag);
    if (error) {
        struct sonde_diag unused;
        if (!paths->joined && record_output_remove(paths->shown, &unused) != SONDE_OK)
            rmdir(paths->shown);
        record_output_release(paths);
    }
    return error;
}

/* ---- looking inside ---------------------------------------------------------- */

/* Every name in `path`; `fn` returns non-zero to stop, which is returned. */
static int each_entry(const char *path, int (*fn)(void *user, const char *path, const char *name), void *user)
{
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    int result = 0;
    for (struct dirent *entry; !result && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = fn(user, path, entry->d_name);
    closedir(folder);
    return result;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct each_process {
    int (*fn)(void *, const char *, const char *);
    void *user;
};

static int each_process_entry(void *user, const char *path, const char *name)
{
    struct each_process *each = user;
    char full[PATH_MAX];
    if (!join(full, sizeof full, path, name) || !is_folder(full) || strcmp(name, SONDE_CODE_FOLDER) == 0)
        return 0;
    return each->fn(each->user, full, name);
}

int record_each_process(const char *output, int (*fn)(void *user, const char *path, const char *name), void *user)
{
    struct each_process each = {fn, user};
    return each_entry(output, each_process_entry, &each);
}

/* ---- removing ------------------------------------------------------------------ */

/* Nothing is removed before everything has been looked at: a folder that holds
 * anything but a measurement stays whole. */
struct removal {
    bool doing;          /* false: only look */
    bool manifest;
    bool begun;          /* what record leaves that was killed before it had a manifest */
    char foreign[PATH_MAX];
    int why;
};

static bool is_process_file(const char *name)
{
    static const char *const files[] = {SONDE_PROCESS_FILES};
    bool ours = has_suffix(name, SONDE_PART_SUFFIX);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ours |= strcmp(name, files[i]) == 0;
    return ours;
}

/* Code that was loaded onto devices, of all processes. */
static bool is_code_file(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash && strcmp(slash, "/" SONDE_CODE_FOLDER) == 0 && has_suffix(name, SONDE_CUBIN_SUFFIX);
}

static int remove_process_file(void *user, const char *path, const char *name)
{
    struct removal *r = user;
    char full[PATH_MAX];
    if (!join(full, sizeof full, path, name) || (!is_process_file(name) && !is_code_file(path, name)) || is_folder(full)) {
        snprintf(r->foreign, sizeof r->foreign, "%s", full);
        return 1;
    }
    if (r->doing && unlink(full) != 0) {
        r->why = errno;
        return 1;
    }
    return 0;
}

/* What record writes before manifest.json is there: zeros that try the room,
 * and a part of the manifest. Whole or torn they begin like this. */
static bool is_beginning(const char *path, const char *name)
{
    static const char manifest[] = "{\n  \"format\": \"sonde\"", zeros[sizeof manifest];
    const bool probe = strcmp(name, SONDE_PROBE_FILE) == 0;
    if (strcmp(name, SONDE_JOB_FILE) == 0 || strcmp(name, SONDE_JOB_FILE SONDE_PART_SUFFIX) == 0 || record_is_rank_file(name))
        return true;
    char begin[sizeof manifest];
    if (!probe && strcmp(name, SONDE_MANIFEST_FILE SONDE_PART_SUFFIX) != 0)
        return false;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, begin, sizeof manifest - 1);
    if (fd >= 0)
        close(fd);
    return n >= 0 && memcmp(begin, probe ? zeros : manifest, (size_t)n) == 0;
}

static int remove_entry(void *user, const char *path, const char *name)
{
    struct removal *r = user;
    char full[PATH_MAX];
    if (!join(full, sizeof full, path, name)) {
        r->why = ENAMETOOLONG;
        return 1;
    }
    if (is_folder(full)) {
        if (each_entry(full, remove_process_file, r))
            return 1;
        if (r->doing && rmdir(full) != 0)
            r->why = errno;
        return r->why != 0;
    }
    const bool manifest = strcmp(name, SONDE_MANIFEST_FILE) == 0, begun = !manifest && is_beginning(full, name);
    r->manifest |= manifest;
    r->begun |= begun;
    if (!manifest && !begun) {
        snprintf(r->foreign, sizeof r->foreign, "%s", full);
        return 1;
    }
    if (r->doing && unlink(full) != 0)
        r->why = errno;
    return r->why != 0;
}

/* A file called manifest.json is common; ours says what it belongs to. */
static bool is_our_manifest(const char *path)
{
    char file[PATH_MAX];
    if (!join(file, sizeof file, path, SONDE_MANIFEST_FILE))
        return false;
    json_t *manifest = json_load_file(file, 0, NULL);
    const char *format = json_string_value(json_object_get(manifest, "format"));
    bool ours = format && strcmp(format, "sonde") == 0;
    json_decref(manifest);
    return ours;
}

int record_output_remove(const char *path, struct sonde_diag *diag)
{
    if (!is_folder(path))
        return fail(diag, "will not remove", path, ENOTDIR);
    struct removal look = {0};
    if (each_entry(path, remove_entry, &look) < 0)
        return fail(diag, "cannot read the folder", path, errno);
    if (!look.foreign[0] && !(look.manifest ? is_our_manifest(path) : look.begun)) {
        sonde_diag_set(diag, SONDE_EEXISTS, path, "will not remove");
        snprintf(diag->why, sizeof diag->why, "it is not a Sonde measurement");
        return SONDE_EEXISTS;
    }
    if (look.foreign[0]) {
        sonde_diag_set(diag, SONDE_EEXISTS, path, "will not remove");
        snprintf(diag->why, sizeof diag->why, "it contains %.150s, which is not Sonde's", look.foreign);
        return SONDE_EEXISTS;
    }
    char job[PATH_MAX]; /* first: what is left for a moment must look like nobody's */
    if (join(job, sizeof job, path, SONDE_JOB_FILE))
        unlink(job);
    struct removal act = {.doing = true};
    if (each_entry(path, remove_entry, &act))
        return fail(diag, "cannot remove the old measurement", path, act.why);
    if (rmdir(path) != 0)
        return fail(diag, "cannot remove the old measurement", path, errno);
    return SONDE_OK;
}

/* ---- replacing -------------------------------------------------------------------- */

/* HOST-PID-N; the host's name may hold dashes. 0 when the name is not of that form. */
int record_pid_of(const char *name)
{
    const char *last = strrchr(name, '-');
    if (!last)
        return 0;
    const char *at = last;
    while (at > name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < last ? atoi(at) : 0;
}

/* Of a program that outlived its record: it writes on. */
struct writing {
    const char *output;
    int pid;
};

static int find_writing(void *user, const char *path, const char *name)
{
    struct writing *w = user;
    char live[PATH_MAX];
    const int pid = record_pid_of(name);
    if (pid && join(live, sizeof live, path, SONDE_LIVE_FILE) && access(live, F_OK) == 0 &&
        record_still_running(w->output, pid))
        w->pid = pid;
    return w->pid != 0;
}

static int refuse(struct sonde_diag *diag, const char *path, int pid)
{
    sonde_diag_set(diag, SONDE_EBUSY, path, "will not replace");
    if (pid)
        snprintf(diag->why, sizeof diag->why, "process %d, which it records, still runs", pid);
    else
        snprintf(diag->why, sizeof diag->why, "another sonde record is writing it");
    sonde_diag_hint(diag, "wait until it is done, or choose another name with -o");
    return SONDE_EBUSY;
}

/* For --force: remove what is at `path`, unless it is still being written, or another rank has replaced it by now: who looks has the lock. */
static int replace(const struct record_paths *paths, const char *path, struct sonde_diag *diag)
{
    char whole[PATH_MAX];
    struct writing writing = {.output = whole};
    const int folder = open_folder(path);
    int error;
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        error = refuse(diag, path, 0);
    else if (*paths->job && record_job_whose(paths, path))
        error = refuse(diag, path, 0);
    else if (folder >= 0 && realpath(path, whole) && record_each_process(whole, find_writing, &writing) > 0)
        error = refuse(diag, path, writing.pid);
    else
        error = record_output_remove(path, diag);
    if (folder >= 0)
        close(folder);
    return error;
}

/* ---- processes that still run ---------------------------------------------------- */

/* Does its environment name our output? *empty: there is none to read. */
static bool names_output(const char *pid, const char *output, bool *empty)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.32s/environ", pid);
    FILE *file = fopen(path, "re"); /* unreadable for others' processes */
    *empty = false;
    if (!file)
        return false;
    char *entry = NULL;
    size_t room = 0, entries = 0;
    bool found = false;
    for (; !found && getdelim(&entry, &room, 0, file) > 0; entries++)
        found = strncmp(entry, "SONDE_OUT=", 10) == 0 && strcmp(entry + 10, output) == 0;
    *empty = !entries;
    free(entry);
    fclose(file);
    return found;
}

/* The environment and the arguments of a process that is becoming another
 * program are empty for a moment; unlike a zombie and a kernel thread it has an
 * executable. */
static bool is_between_programs(const char *pid)
{
    char path[64], target[8];
    snprintf(path, sizeof path, "/proc/%.32s/exe", pid);
    if (readlink(path, target, sizeof target) <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%.32s/cmdline", pid);
    FILE *file = fopen(path, "re");
    bool none = file && fgetc(file) == EOF;
    if (file)
        fclose(file);
    return none;
}

static bool records_into(const char *pid, const char *output)
{
    const struct timespec nap = {0, 1000000};
    for (int n = 0; n < 1000; n++) {
        bool empty;
        if (names_output(pid, output, &empty))
            return true;
        if (!empty || !is_between_programs(pid))
            return false;
        nanosleep(&nap, NULL);
    }
    return false;
}

static int match_process(void *user, const char *path, const char *name)
{
    (void)path;
    return name[0] >= '0' && name[0] <= '9' && records_into(name, user);
}

bool record_still_running(const char *output, int pid)
{
    char name[16], wanted[PATH_MAX];
    snprintf(name, sizeof name, "%d", pid);
    snprintf(wanted, sizeof wanted, "%s", output);
    if (pid)
        return records_into(name, output);
    return each_entry("/proc", match_process, wanted) > 0;
}
