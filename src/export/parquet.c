/* parquet.c - operations as Parquet files, one for each rank of a job, else for each process, by `import sonde` and pyarrow in a Python of the user's.
 *
 * Columns and their definitions are those of the table `operations` of libsonde (docs/library.md): nothing is defined twice.
 */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "_sonde" /* readers of Parquet leave out names that begin so */

extern char **environ;

/* It prints one line: how many rows it wrote, or what is missing, or what went wrong: the system's error, or a sentence. */
static const char script[] = "import sys\n"
                             "try:\n"
                             "    import pyarrow.parquet, sonde\n"
                             "except ImportError as error:\n"
                             "    print('missing', error)\n"
                             "    sys.exit()\n"
                             "try:\n"
                             "    with sonde.open(sys.argv[1]) as m:\n"
                             "        m.parquet(sys.argv[2], force=True)\n"
                             "        print('rows', next(t.rows for t in m.tables() if t.name == 'operations'))\n"
                             "except Exception as error:\n"
                             "    if isinstance(error.__cause__, OSError):\n"
                             "        print('errno', error.__cause__.errno)\n"
                             "        sys.exit()\n"
                             "    print('failed', ' '.join(str(error).split()))\n";

/* Where the package of an installation is, for PYTHONPATH; the user's own goes before it. (The wheel's own Python has it: python/sonde/__main__.py.) */
static void add_folder(struct sonde_text *path)
{
    char prefix[PATH_MAX];
    const char *own = getenv("PYTHONPATH");
    const ssize_t length = readlink("/proc/self/exe", prefix, sizeof prefix - 1);
    if (own && *own)
        sonde_text_format(path, "%s", own);
    prefix[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(prefix, '/');
        if (slash)
            *slash = '\0';
    }
    sonde_text_format(path, "%s%s/share/sonde/python", path->length ? ":" : "", prefix);
}

/* This process's, with `path` for PYTHONPATH. The caller frees the array; NULL: out of memory. */
static char **environment(char *path)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = malloc((count + 2) * sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (strncmp(environ[i], "PYTHONPATH=", 11) != 0)
            all[kept++] = environ[i];
    if (all) {
        all[kept++] = path;
        all[kept] = NULL;
    }
    return all;
}

/* Its one line, without the end; "" where it says nothing. 0, or an errno: it did not run. */
static int ask(const char *const argv[], char **variables, char *line, size_t size)
{
    int ends[2], status;
    size_t length = 0;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    *line = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, variables);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (ssize_t n = 1; !error && n && length + 1 < size;) {
        n = read(ends[0], line + length, size - length - 1);
        if (n < 0 && errno != EINTR)
            break;
        length += n > 0 ? (size_t)n : 0;
    }
    close(ends[0]);
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return error;
}

static int refuse(struct sonde_diag *diag, int code, const char *path, const char *why)
{
    sonde_diag_set(diag, code, path, "cannot export");
    snprintf(diag->why, sizeof diag->why, "%.*s", (int)sizeof diag->why - 1, why);
    return code;
}

static int write_all(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                     struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct sonde_text path = {0}, folders = {0};
    char line[1024];
    const char *python = getenv("SONDE_EXPORT_PYTHON");
    int code = sonde__export_needs_trace(m, diag);
    (void)progress;
    if (code)
        return code;
    python = python && *python ? python : "python3";
    add_folder(&folders);
    sonde_text_format(&path, "PYTHONPATH=%s", sonde_text_get(&folders));
    char **variables = path.failed ? NULL : environment(path.bytes);
    const int error = variables ? ask((const char *const[]){python, "-c", script, m->path, sonde_out_path(out), NULL}, variables, line, sizeof line) : ENOMEM;
    free(variables);
    if (error) {
        sonde_diag_set(diag, SONDE_EIO, python, "cannot run");
        sonde_diag_errno(diag, error);
        code = SONDE_EIO;
    } else if (strncmp(line, "missing ", 8) == 0) {
        code = refuse(diag, SONDE_ENOTFOUND, m->path, line + 8);
        sonde_diag_hint(diag, "it takes the Python packages pyarrow and sonde: %s -m pip install pyarrow, and the wheel of `make wheel` where Sonde is not installed", python);
    } else if (strncmp(line, "errno ", 6) == 0) {
        sonde_out_fail(out, atoi(line + 6)); /* the commit of `out` says it */
    } else if (strncmp(line, "rows ", 5) != 0) {
        code = refuse(diag, SONDE_EIO, m->path, strncmp(line, "failed ", 7) == 0 ? line + 7 : "Python ended without a word");
    }
    result->operations = code || sonde_out_failed(out) ? 0 : strtoull(line + 5, NULL, 10);
    sonde_text_fini(&path);
    sonde_text_fini(&folders);
    if (!code)
        sonde_out_member(out, MARK);
    return code;
}

const struct sonde_export_format sonde_export_parquet = {
    .name = "parquet",
    .extension = "parquet",
    .what = "operations as Parquet, one file for each rank or process, by Python's pyarrow",
    .open_with = "read it with DuckDB, Polars, pandas or Dask: '*.parquet' of the folder",
    .form = SONDE_EXPORT_FOLDER,
    .mark = MARK,
    .write = write_all,
};
