/* source.c - the request `source`: a line of a source file, with some lines around it.
 *
 * A measurement holds names of files and not what is in them; it may come from anywhere, and so may a request. So a file is read
 * only if a call path of the measurement, or an access of a kernel, names it, byte for byte; only if it is a regular file, and its name
 * no symbolic link; and of its bytes only the lines that were asked for are told. Nothing is kept: a file may change while the session is open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "analyze/model/recorded.h"
#include "columns.h"
#include "request.h"

enum {
    AROUND_MAX = 1000,
    FILE_MAX = 16 << 20, /* bytes */
    LINE_MAX_BYTES = 1000, /* of one line; the rest of it is left out */
};

struct asked {
    int64_t process; /* -1: any */
    const char *file;
    int64_t line, around;
};

#define AT(field) offsetof(struct asked, field)
static const struct sonde_option options_table[] = {
    {.name = "process", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = AT(process), .help = "a process whose call paths name the file, as the request run numbers it (default: any)"},
    {.name = "file", .type = SONDE_OPTION_STRING, .argument = "FILE", .offset = AT(file), .help = "the file, as a frame names it"},
    {.name = "line", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = UINT32_MAX, .offset = AT(line), .help = "the line, from 1"},
    {.name = "around", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = AROUND_MAX, .offset = AT(around), .help = "how many lines before it, and how many after it (default 5)"},
    {.name = NULL},
};
#undef AT
static const struct asked nothing = {.process = -1, .line = -1, .around = 5};

/* ---- may it be read ----------------------------------------------------------------------- */

/* The lines of kernels' sources at which they access other memory (record --comm), or were sampled (--pc), are in no call path. */
static bool kernels_name(const struct sonde_process *p, const char *file)
{
    const struct sonde_row_remote *accesses = p->tables[SONDE_TABLE_REMOTE].rows;
    const struct sonde_row_stall *stalls = p->tables[SONDE_TABLE_STALL].rows;
    uint32_t last = 0; /* rows of one file mostly follow each other */
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_REMOTE].count; k++)
        if (accesses[k].file && strcmp(sonde_process_string(p, accesses[k].file), file) == 0)
            return true;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_STALL].count; k++) {
        if (stalls[k].file && stalls[k].file != last && strcmp(sonde_process_string(p, stalls[k].file), file) == 0)
            return true;
        last = stalls[k].file;
    }
    return false;
}

static bool any_names(const struct sonde_query *q, const char *file)
{
    const struct sonde_profile *profile = q->profile;
    for (size_t i = 1; i < profile->nodes.count; i++)
        if (strcmp(profile->nodes.items[i].file, file) == 0)
            return true;
    for (uint32_t i = 0; i < q->m->process_count; i++)
        if (kernels_name(&q->m->processes[i], file))
            return true;
    return false;
}

/* Of this node of a tree, or of those above it that were not looked at yet. */
static bool path_names(const struct sonde_profile *profile, uint32_t node, const char *file, bool *seen)
{
    for (; node && node < profile->nodes.count && !seen[node]; node = profile->nodes.items[node].parent) {
        seen[node] = true;
        if (strcmp(profile->nodes.items[node].file, file) == 0)
            return true;
    }
    return false;
}

/* 1, 0 or SONDE_ENOMEM. */
static int process_names(const struct sonde_query *q, uint32_t process, const char *file)
{
    const struct sonde_process *p = &q->m->processes[process];
    bool *seen = calloc(q->profile->nodes.count + 1, sizeof *seen), found = kernels_name(p, file);
    if (!seen)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->node_block_count && !found; i++)
        for (uint32_t k = 0; k < p->node_blocks[i].count && !found; k++)
            found = path_names(q->profile, sonde_profile_locate(q->profile, process, p->node_blocks[i].first + k), file, seen);
    free(seen);
    return found;
}

static int check(const struct sonde_query *q, const struct asked *asked, struct sonde_problem *problem)
{
    struct sonde_diag *diag = &problem->diag;
    problem->option = "process";
    if (asked->process >= (int64_t)q->m->process_count)
        return sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "there is no process %lld", (long long)asked->process);
    problem->option = "file";
    if (!asked->file || !*asked->file)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the source file is missing");
    problem->option = "line";
    if (asked->line < 0)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the line is missing");
    problem->option = NULL;
    const int named = asked->process < 0 ? any_names(q, asked->file)
                                         : process_names(q, (uint32_t)asked->process, asked->file);
    if (named < 0)
        return sonde_diag_set(diag, named, NULL, "cannot look for the source file");
    return named ? 0 : sonde_diag_set(diag, SONDE_ENOTFOUND, asked->file, "no call path of the measurement is in a source file");
}

/* ---- its bytes ------------------------------------------------------------------------------ */

struct content {
    char *bytes;
    size_t length;
    struct timespec written; /* last */
};

#ifdef __wasm__

static int read_file(const struct sonde_query *q, const char *file, struct content *out, struct sonde_diag *diag)
{
    (void)q, (void)out;
    sonde_diag_set(diag, SONDE_ENOTFOUND, file, "a page in a file has no lines of source files, so not those of");
    sonde_diag_hint(diag, "where that file is at hand, sonde view DIR shows them");
    return SONDE_ENOTFOUND;
}

#else

/* Where it is: names that the program was given relative to its working directory are relative to that. */
static int find_path(const struct sonde_query *q, const char *file, struct sonde_text *path, struct sonde_diag *diag)
{
    const char *folder = *file == '/' ? "" : json_string_value(json_object_get(q->m->manifest, "working_directory"));
    if (!folder || (*file != '/' && *folder != '/')) {
        sonde_diag_set(diag, SONDE_ENOTFOUND, file, "cannot find the source file");
        snprintf(diag->why, sizeof diag->why, "its name is relative, and the program's working directory is unknown");
        return SONDE_ENOTFOUND;
    }
    sonde_text_format(path, *file == '/' ? "%s%s" : "%s/%s", folder, file);
    return path->failed ? sonde_diag_set(diag, SONDE_ENOMEM, file, "cannot read the source file") : 0;
}

static int refuse(struct sonde_diag *diag, const char *path, const char *why)
{
    sonde_diag_set(diag, SONDE_ENOTFOUND, path, "cannot show the source file");
    snprintf(diag->why, sizeof diag->why, "%s", why);
    return SONDE_ENOTFOUND;
}

/* Looked at before it is opened, since opening a pipe or a device does something; and after, since it may be another one by then. */
static int open_file(const char *path, struct stat *status, struct sonde_diag *diag)
{
    if (lstat(path, status) == 0) {
        if (S_ISLNK(status->st_mode))
            return refuse(diag, path, "it is a symbolic link");
        if (!S_ISREG(status->st_mode))
            return refuse(diag, path, "it is not a regular file");
        const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_size <= FILE_MAX)
            return fd;
        if (fd >= 0) {
            close(fd);
            return refuse(diag, path, S_ISREG(status->st_mode) ? "it is larger than 16 MB" : "it is not a regular file");
        }
    }
    sonde_diag_set(diag, SONDE_ENOTFOUND, path, "cannot open the source file");
    sonde_diag_errno(diag, errno);
    return SONDE_ENOTFOUND;
}

/* No more than its size: a file of /proc that has none is empty. */
static int read_bytes(int fd, const char *path, size_t size, struct content *out, struct sonde_diag *diag)
{
    out->bytes = malloc(size + 1);
    if (!out->bytes)
        return sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot read the source file");
    while (out->length < size) {
        const ssize_t count = read(fd, out->bytes + out->length, size - out->length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            const int errnum = errno;
            sonde_diag_set(diag, SONDE_EIO, path, "cannot read the source file");
            sonde_diag_errno(diag, errnum);
            return SONDE_EIO;
        }
        if (count == 0)
            break;
        out->length += (size_t)count;
    }
    return 0;
}

static int read_file(const struct sonde_query *q, const char *file, struct content *out, struct sonde_diag *diag)
{
    struct sonde_text path = {0};
    struct stat status;
    int rc = find_path(q, file, &path, diag);
    const int fd = rc ? rc : open_file(sonde_text_get(&path), &status, diag);
    if (fd >= 0) {
        out->written = status.st_mtim;
        rc = read_bytes(fd, sonde_text_get(&path), (size_t)status.st_size, out, diag);
        close(fd);
    }
    sonde_text_fini(&path);
    return fd < 0 ? fd : rc;
}

#endif

/* ---- its lines -------------------------------------------------------------------------------- */

/* The line that begins at `at`; moves to the next. False: there is none. */
static bool next_line(const struct content *c, size_t *at, const char **line, size_t *length)
{
    if (*at >= c->length)
        return false;
    const char *end = memchr(c->bytes + *at, '\n', c->length - *at);
    *line = c->bytes + *at;
    *length = end ? (size_t)(end - *line) : c->length - *at;
    *at += *length + 1;
    if (*length && (*line)[*length - 1] == '\r')
        --*length;
    return true;
}

/* Cut between characters, and without the zero bytes that would end it. */
static json_t *line_text(const char *line, size_t length)
{
    struct sonde_text text = {0};
    size_t shown = length;
    if (shown > LINE_MAX_BYTES)
        for (shown = LINE_MAX_BYTES; shown > LINE_MAX_BYTES - 4 && ((unsigned char)line[shown] & 0xC0) == 0x80;)
            shown--;
    for (size_t i = 0; i < shown; i++)
        sonde_text_add_bytes(&text, line[i] ? &line[i] : "\xFF", 1); /* a byte that no text has: it becomes U+FFFD */
    if (shown < length)
        sonde_text_add(&text, "…");
    json_t *string = text.failed ? NULL : sonde_packed_text(sonde_text_get(&text));
    sonde_text_fini(&text);
    return string;
}

/* The lines from `first` to `last`, and how many the file has. NULL: no memory. */
static json_t *lines_of(const struct content *c, uint64_t first, uint64_t last, uint64_t *count)
{
    json_t *lines = json_array();
    const char *line;
    size_t at = 0, length;
    bool failed = !lines;
    for (*count = 0; next_line(c, &at, &line, &length);)
        if (++*count >= first && *count <= last)
            failed |= json_array_append_new(lines, line_text(line, length)) != 0;
    if (!failed)
        return lines;
    json_decref(lines);
    return NULL;
}

/* Written after the run: true; before it: false; while it ran: nobody knows. */
static json_t *changed(const struct sonde_query *q, const struct content *c)
{
    uint64_t begin_ns, end_ns;
    sonde_run_range(q->m, &begin_ns, &end_ns);
    const uint64_t seconds = c->written.tv_sec > 0 ? (uint64_t)c->written.tv_sec : 0;
    const uint64_t written_ns = seconds * 1000000000u + (uint64_t)c->written.tv_nsec;
    if (end_ns <= begin_ns || (written_ns > begin_ns && written_ns <= end_ns))
        return json_null();
    return json_boolean(written_ns > end_ns);
}

static int write_answer(const struct sonde_query *q, const struct asked *asked, const struct content *c, struct sonde_text *out,
                        struct sonde_diag *diag)
{
    const uint64_t line = (uint64_t)asked->line, around = (uint64_t)asked->around;
    const uint64_t first = line > around ? line - around : 1;
    uint64_t count;
    json_t *lines = lines_of(c, first, line + around, &count);
    if (lines && line > count) {
        json_decref(lines);
        return sonde_diag_set(diag, SONDE_ENOTFOUND, asked->file, "there is no line %llu, only %llu, in the source file",
                              (unsigned long long)line, (unsigned long long)count);
    }
    json_t *all = json_pack("{s:o, s:I, s:I, s:o, s:o}", "file", sonde_packed_text(asked->file), "line", (json_int_t)line, "first",
                            (json_int_t)first, "lines", lines, "changed", changed(q, c));
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (text)
        sonde_text_format(out, "%s\n", text);
    free(text);
    json_decref(all);
    return text ? 0 : sonde_diag_set(diag, SONDE_ENOMEM, asked->file, "cannot read the source file");
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct asked *asked = options;
    struct content content = {0};
    (void)argument;
    int rc = check(&session->query, asked, problem);
    rc = rc ? rc : read_file(&session->query, asked->file, &content, &problem->diag);
    rc = rc ? rc : write_answer(&session->query, asked, &content, &out->text, &problem->diag);
    free(content.bytes);
    return rc;
}

const struct sonde_request sonde_request_source = {
    .name = "source",
    .summary = "a line of a source file that a call path or a kernel's access names, with lines around it",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .defaults = &nothing,
    .answer = answer,
};
