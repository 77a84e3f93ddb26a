/* nvdisasm.c - see nvdisasm.h. */
#include "nvdisasm.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/error.h>

#include "base/text.h"

#define PROGRAM     "nvdisasm"
#define PACKAGE     "lib/python3*/*-packages/nvidia/*/bin"
#define CHILDS_FILE 3 /* its number of the code's file */

/* ---- where it is ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* In folders that a pattern names; of several the one that sorts last, which is the newest. */
static bool find_in(const char *folder, const char *rest, char *path, size_t size)
{
    char pattern[PATH_MAX];
    glob_t found;
    bool is = false;
    if (!folder || !*folder || snprintf(pattern, sizeof pattern, "%s/%s%s" PROGRAM, folder, rest, *rest ? "/" : "") >= (int)sizeof pattern ||
        glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !is;)
        if ((is = is_program(found.gl_pathv[i])))
            snprintf(path, size, "%s", found.gl_pathv[i]);
    globfree(&found);
    return is;
}

static bool find_in_path(char *path, size_t size)
{
    for (const char *at = getenv("PATH"); at && *at; at += strspn(at, ":")) {
        const int length = (int)strcspn(at, ":");
        snprintf(path, size, "%.*s/" PROGRAM, length, at);
        if (is_program(path))
            return true;
        at += length;
    }
    return false;
}

bool sonde_nvdisasm_find(char *path, size_t size)
{
    const char *named = getenv("SONDE_NVDISASM"), *home = getenv("HOME");
    char local[PATH_MAX];
    if (named && *named) {
        snprintf(path, size, "%s", named);
        return is_program(path);
    }
    snprintf(local, sizeof local, "%s/.local", home ? home : "");
    return find_in_path(path, size) || find_in(getenv("CUDA_HOME"), "bin", path, size) || find_in(getenv("CUDA_PATH"), "bin", path, size) ||
           find_in("/usr/local/cuda", "bin", path, size) || find_in("/usr/local", "cuda-*/bin", path, size) ||
           find_in(getenv("VIRTUAL_ENV"), PACKAGE, path, size) || find_in(getenv("CONDA_PREFIX"), PACKAGE, path, size) ||
           find_in(local, PACKAGE, path, size) || find_in("/usr/local", PACKAGE, path, size) || find_in("/usr", PACKAGE, path, size);
}

/* ---- a process of it -------------------------------------------------------------------------------- */

static int file_of(const void *bytes, size_t size)
{
    const int file = memfd_create("cubin", MFD_CLOEXEC);
    size_t written = 0;
    while (file >= 0 && written < size) {
        const ssize_t n = write(file, (const char *)bytes + written, size - written);
        if (n < 0 && errno != EINTR) {
            close(file);
            return -1;
        }
        written += n > 0 ? (size_t)n : 0;
    }
    return file;
}

static pid_t spawn(const char *path, bool lines, const char *list, int file, int out)
{
    char name[32];
    char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)"-c", (char *)(uintptr_t)"-ndf", (char *)(uintptr_t)"-fun", (char *)(uintptr_t)list,
                    name, lines ? (char *)(uintptr_t)"-gi" : NULL, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    snprintf(name, sizeof name, "/dev/fd/%d", CHILDS_FILE);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, file, CHILDS_FILE);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, path, &actions, NULL, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* A descriptor that is above those of the child: dup2 onto itself would leave it to be closed. */
static int above(int file)
{
    const int moved = file < 0 || file > CHILDS_FILE ? file : fcntl(file, F_DUPFD_CLOEXEC, CHILDS_FILE + 1);
    if (moved != file && file >= 0)
        close(file);
    return moved;
}

int sonde__nvdisasm_start(const char *path, bool lines, const void *cubin, size_t size, const uint32_t *symbols, size_t count, struct sonde__nvdisasm *out)
{
    struct sonde_text list = {0};
    int ends[2] = {-1, -1};
    for (size_t i = 0; i < count; i++)
        sonde_text_format(&list, "%s%u", i ? "," : "", symbols[i]);
    *out = (struct sonde__nvdisasm){.pid = -1, .file = above(file_of(cubin, size))};
    if (!list.failed && out->file >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        ends[1] = above(ends[1]);
        out->pid = spawn(path, lines, sonde_text_get(&list), out->file, ends[1]);
        close(ends[1]);
        out->text = out->pid > 0 ? fdopen(ends[0], "re") : NULL;
        if (!out->text)
            close(ends[0]);
    }
    const int rc = list.failed ? SONDE_ENOMEM : (out->text ? 0 : SONDE_EIO);
    sonde_text_fini(&list);
    if (rc)
        sonde__nvdisasm_end(out);
    return rc;
}

bool sonde__nvdisasm_end(struct sonde__nvdisasm *d)
{
    char rest[4096];
    int status = -1;
    while (d->text && fread(rest, 1, sizeof rest, d->text))
        ;
    if (d->text)
        fclose(d->text);
    if (d->file >= 0)
        close(d->file);
    while (d->pid > 0 && waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
        ;
    const bool is_done = d->pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    *d = (struct sonde__nvdisasm){.pid = -1, .file = -1};
    return is_done;
}
