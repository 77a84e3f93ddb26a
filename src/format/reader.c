/* reader.c - open a measurement: its manifest and every process directory in it.
 */
#include "reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/vector.h"
#include "folder.h"
#include "process.h"

static const char cannot[] = "cannot read the measurement";

static bool has_file(const char *dir, const char *file)
{
    char *path = sonde__path(dir, file);
    bool there = path && access(path, F_OK) == 0;
    free(path);
    return there;
}

static bool is_process(const char *dir)
{
    static const char *const files[] = {SONDE_PROCESS_FILES};
    bool there = false;
    for (size_t i = 0; i < sizeof files / sizeof *files && !there; i++)
        there = has_file(dir, files[i]);
    return there;
}

/* A manifest that is not ours says nothing about what is ours beside it. */
static int judge_manifest(struct sonde_measurement *m, const char *path, struct sonde_diag *diag)
{
    const char *format = json_string_value(json_object_get(m->manifest, "format"));
    json_int_t version = json_integer_value(json_object_get(m->manifest, "format_version"));

    if (!format || strcmp(format, "sonde")) {
        if (m->manifest)
            snprintf(m->manifest_problem, sizeof m->manifest_problem, "is not a Sonde manifest");
        json_decref(m->manifest);
        m->manifest = NULL;
        return 0;
    }
    if (version == SONDE_FORMAT_VERSION)
        return 0;
    sonde_diag_set(diag, SONDE_EVERSION, path, cannot);
    sonde__version_hint(diag, version);
    return SONDE_EVERSION;
}

static int read_manifest(struct sonde_measurement *m, struct sonde_diag *diag)
{
    char *path = sonde__path(m->path, SONDE_MANIFEST_FILE);
    struct stat st;
    int status = 0;

    if (!path)
        return SONDE_ENOMEM;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        json_error_t error;
        m->disk_bytes += (uint64_t)st.st_size;
        m->manifest = json_load_file(path, 0, &error);
        if (!m->manifest && error.line < 1)
            snprintf(m->manifest_problem, sizeof m->manifest_problem, "cannot be read: %s", error.text);
        else if (!m->manifest)
            snprintf(m->manifest_problem, sizeof m->manifest_problem, "is damaged: line %d: %s", error.line, error.text);
        status = judge_manifest(m, path, diag);
    }
    free(path);
    return status;
}

/* A process's folder, as it was read. */
struct opened {
    char *path, *name;
    struct sonde_process process;
    struct sonde_diag reason;
    int status;
};

struct opening {
    SONDE_VECTOR(struct opened) items;
    struct sonde__way way;
};

static int open_one(void *user, uint32_t task)
{
    struct opening *all = user;
    struct opened *one = &all->items.items[task];
    one->status = sonde__process_open(one->path, one->name, &all->way, &one->process, &one->reason);
    return 0;
}

/* Sizes of the files say whether they are read through: together, so that a job of a thousand small ones is not. */
static void choose_way(struct opening *all)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->items.count; i++) {
        char *path = sonde__path(all->items.items[i].path, SONDE_DATA_FILE);
        struct stat st;
        bytes += path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
        free(path);
    }
    all->way.through = bytes <= sonde__read_through_bytes;
    all->way.processes = (uint32_t)all->items.count;
}

/* One more process; a damaged one is counted and left out. Only what leaves no
 * doubt about the rest is an error: no memory, or another version. The reason
 * of the first damage stays in `diag`, for when nothing else is readable. */
static int add_process(struct sonde_measurement *m, const struct opened *one, struct sonde_diag *diag)
{
    if (!one->status) {
        m->disk_bytes += one->process.disk_bytes;
        m->damaged_chunks += one->process.damaged_chunks;
        m->processes[m->process_count++] = one->process;
        return 0;
    }
    if (one->status == SONDE_EEMPTY)
        return 0;
    m->damaged_chunks++;
    if (diag && (!diag->code || one->status == SONDE_ENOMEM || one->status == SONDE_EVERSION))
        *diag = one->reason;
    return one->status == SONDE_ENOMEM || one->status == SONDE_EVERSION ? one->status : 0;
}

/* All of them, several at a time; those that are not taken over are closed again. */
static int open_processes(struct sonde_measurement *m, struct opening *all, struct sonde_diag *diag)
{
    const uint32_t count = (uint32_t)all->items.count;
    int status = 0;
    choose_way(all);
    m->processes = calloc((size_t)count + 1, sizeof *m->processes);
    if (!m->processes)
        return sonde_diag_set(diag, SONDE_ENOMEM, m->path, cannot);
    sonde_parallel_run(sonde_parallel_threads(), count, open_one, all);
    for (uint32_t i = 0; i < count; i++) {
        struct opened *one = &all->items.items[i];
        if (status && !one->status)
            sonde__process_close(&one->process);
        status = status ? status : add_process(m, one, diag);
    }
    return status;
}

static int add_opened(struct opening *all, char *path, const char *name)
{
    struct opened one = {.path = path, .name = path ? strdup(name) : NULL};
    if (one.name && !sonde_vector_push(&all->items, one))
        return 0;
    free(one.path);
    free(one.name);
    return SONDE_ENOMEM;
}

static void fini_opening(struct opening *all)
{
    for (size_t i = 0; i < all->items.count; i++) {
        free(all->items.items[i].path);
        free(all->items.items[i].name);
    }
    sonde_vector_fini(&all->items);
}

/* Code that was loaded onto devices: counted, read when somebody asks for it. */
static uint64_t folder_bytes(const char *path)
{
    DIR *dir = opendir(path);
    struct stat st;
    uint64_t bytes = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    if (dir)
        closedir(dir);
    return bytes;
}

static int add_directory(struct sonde_measurement *m, const char *name, struct opening *all, struct sonde_diag *diag)
{
    char *path = sonde__path(m->path, name);
    int status = path ? 0 : SONDE_ENOMEM;

    if (path && strcmp(name, SONDE_CODE_FOLDER) == 0) {
        m->disk_bytes += folder_bytes(path);
    } else if (path && is_process(path)) {
        status = add_opened(all, path, name);
        path = NULL;
    }
    free(path);
    return status ? sonde_diag_set(diag, status, m->path, cannot) : 0;
}

static int by_name(const void *left, const void *right)
{
    const struct opened *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int read_directory(struct sonde_measurement *m, const struct sonde__way *way, struct sonde_diag *diag)
{
    DIR *dir = opendir(m->path);
    struct dirent *entry;
    struct opening all = {.way = *way};
    int status = 0;

    if (!dir) {
        status = errno == ENOENT ? SONDE_ENOTFOUND : (errno == ENOTDIR ? SONDE_EFORMAT : SONDE_EIO);
        sonde_diag_set(diag, status, m->path, cannot);
        if (diag && status == SONDE_EFORMAT)
            sonde_diag_hint(diag, "a measurement is a directory, created by: sonde record -- PROGRAM");
        else
            sonde_diag_errno(diag, errno);
        return status;
    }
    while (!status && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            status = add_directory(m, entry->d_name, &all, diag);
    closedir(dir);
    if (all.items.count) /* which of several damaged ones is told of does not depend on the file system */
        qsort(all.items.items, all.items.count, sizeof *all.items.items, by_name);
    status = status ? status : open_processes(m, &all, diag);
    fini_opening(&all);
    return status;
}

/* A process directory by itself is a measurement of one process. */
static int read_single(struct sonde_measurement *m, const struct sonde__way *way, struct sonde_diag *diag)
{
    const char *slash;
    char *path = strdup(m->path);
    size_t length = path ? strlen(path) : 0;
    struct opening all = {.way = *way};
    int status;

    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    slash = path ? strrchr(path, '/') : NULL;
    status = path ? add_opened(&all, strdup(m->path), slash ? slash + 1 : path) : SONDE_ENOMEM;
    status = status ? sonde_diag_set(diag, status, m->path, cannot) : open_processes(m, &all, diag);
    fini_opening(&all);
    free(path);
    return status;
}

static int compare_processes(const void *a, const void *b)
{
    const struct sonde_process *x = a, *y = b;
    if (x->header.start_ns != y->header.start_ns)
        return x->header.start_ns < y->header.start_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Nothing wrong so far: is there anything? A manifest alone is a measurement
 * of a program that never used a device; damage alone is not. */
static int check_something(const struct sonde_measurement *m, struct sonde_diag *diag)
{
    if (m->process_count || (m->manifest && !m->damaged_chunks))
        return 0;
    if (diag && diag->code)
        return diag->code == SONDE_EIO ? SONDE_EIO : SONDE_EFORMAT;
    sonde_diag_set(diag, SONDE_EFORMAT, m->path, cannot);
    sonde_diag_hint(diag, m->damaged_chunks || m->manifest_problem[0] ? "no process of it is readable"
                                                                      : "there is no measurement in this directory");
    return SONDE_EFORMAT;
}

static int open_measurement(const char *path, const struct sonde__way *way, struct sonde_measurement **out, struct sonde_diag *diag)
{
    struct sonde_measurement *m = calloc(1, sizeof *m);
    struct sonde_diag local;
    int status;

    diag = diag ? diag : &local;
    memset(diag, 0, sizeof *diag);
    *out = NULL;
    if (!m || !(m->path = strdup(path))) {
        free(m);
        return sonde_diag_set(diag, SONDE_ENOMEM, path, cannot);
    }
    status = read_manifest(m, diag);
    if (!status)
        status = is_process(path) ? read_single(m, way, diag) : read_directory(m, way, diag);
    if (!status)
        status = check_something(m, diag);
    if (status < 0) {
        if (!diag->code)
            sonde_diag_set(diag, status, path, cannot);
        sonde_measurement_close(m);
        return status;
    }
    if (m->process_count)
        qsort(m->processes, m->process_count, sizeof *m->processes, compare_processes);
    memset(diag, 0, sizeof *diag);
    *out = m;
    return 0;
}

int sonde_measurement_open(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    return open_measurement(path, &(struct sonde__way){0}, out, diag);
}

int sonde_measurement_open_sums(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    return open_measurement(path, &(struct sonde__way){.sums = true}, out, diag);
}

int sonde_measurement_open_heads(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    return open_measurement(path, &(struct sonde__way){.heads = true}, out, diag);
}

struct loading {
    const struct sonde_measurement *m;
    enum sonde_load what;
};

static int load_one(void *user, uint32_t task)
{
    const struct loading *l = user;
    return sonde_process_load(&l->m->processes[task], l->what);
}

int sonde_measurement_load(struct sonde_measurement *m, enum sonde_load what)
{
    const int status = sonde_parallel_run(sonde_parallel_threads(), m->process_count, load_one, &(struct loading){m, what});
    for (uint32_t i = 0; i < m->process_count; i++)
        m->damaged_chunks += sonde__process_untold(&m->processes[i]);
    return status;
}

void sonde_measurement_close(struct sonde_measurement *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->process_count; i++)
        sonde__process_close(&m->processes[i]);
    free(m->processes);
    json_decref(m->manifest);
    free(m->path);
    free(m);
}

const char *sonde_measurement_word(const struct sonde_measurement *m, size_t index)
{
    return json_string_value(json_array_get(json_object_get(m->manifest, "command"), index));
}
