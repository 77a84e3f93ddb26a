/* csv.c - see csv.h.
 *
 * A file holds the rows of things of one sort: samples with equal labels of those that name a thing are one row, and what other labels they
 * have goes into the column's name ("nvml_clock_hertz.sm"). A file's columns never change, since whoever reads it goes by the first line: when
 * a new one comes, the file is closed and another begins. Columns that came once stay until the monitor ends, so that this is rare.
 *
 * The rows of one look are one write, and what a full disk left of it is cut off again. A monitor that is killed meanwhile may leave a part of a
 * line; the next one ends it, and it is a short row.
 */
#include "csv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vector.h"
#include "samples.h"

/* Samples with the label `mark` (that none above it took) are of the sort; NULL: all others. `names` are the labels of a row. */
struct sort {
    const char *file, *mark;
    const char *names[10];
};
static const struct sort sorts[] = {
    {"operation", "kernel", {"process", "pid", "program", "rank", "device", "device_name", "runtime", "kind", "kernel"}},
    {"program_device", "runtime", {"process", "pid", "program", "rank", "device", "device_name", "runtime"}},
    {"program", "process", {"process", "pid", "program", "rank"}},
    {"device_process", "pid", {"device", "device_name", "uuid", "pid", "program", "kind"}},
    {"device", "uuid", {"device", "device_name", "uuid"}},
    {"monitor", NULL, {NULL}},
};
enum { SORTS = sizeof sorts / sizeof *sorts };

/* Of a device, and not of a figure: in no column. */
static const char *const left_out[] = {"pci_bus_id", "driver"};

struct cell {
    uint32_t row, column;
    const char *value;
};

struct file {
    int fd; /* -1: none */
    uint64_t bytes;
    long day;
    struct sonde_intern columns; /* names, from 1 */
    uint32_t written;            /* columns of the open file */
    /* of one look: */
    struct sonde_intern rows; /* from 1: the values of `names`, as they are written */
    SONDE_VECTOR(struct cell) cells;
};

struct sonde_csv {
    char *folder;
    char producer[256];
    uint64_t file_bytes;
    struct file files[SORTS];
    bool failed; /* out of memory */
};

/* ---- rows of a look ---------------------------------------------------------------------------- */

/* RFC 4180: quoted where it must be. */
static void add_field(struct sonde_text *out, const char *value)
{
    if (!strpbrk(value, ",\"")) {
        sonde_text_add(out, value);
        return;
    }
    sonde_text_add(out, "\"");
    for (const char *c = value; *c; c++) {
        sonde_text_add_bytes(out, c, 1);
        if (*c == '"')
            sonde_text_add(out, "\"");
    }
    sonde_text_add(out, "\"");
}

static uint32_t row_of(struct file *file, const struct sort *sort, const struct sonde_sample *sample)
{
    struct sonde_text key = {0};
    for (size_t i = 0; sort->names[i]; i++) {
        const char *value = sonde_sample_label(sample, sort->names[i]);
        sonde_text_add(&key, ",");
        add_field(&key, value ? value : "");
    }
    /* A row without names has a key, too. */
    const uint32_t row = key.failed ? 0 : sonde_intern_text(&file->rows, key.length ? sonde_text_get(&key) : " ");
    sonde_text_fini(&key);
    return row;
}

static bool is_of_row(const struct sort *sort, const struct sonde_sample_label *label)
{
    for (size_t i = 0; sort->names[i]; i++)
        if (strlen(sort->names[i]) == label->length && memcmp(sort->names[i], label->name, label->length) == 0)
            return true;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strlen(left_out[i]) == label->length && memcmp(left_out[i], label->name, label->length) == 0)
            return true;
    return false;
}

static uint32_t column_of(struct file *file, const struct sort *sort, const struct sonde_sample *sample)
{
    struct sonde_text name = {0};
    sonde_text_add(&name, strncmp(sample->name, "sonde_", 6) == 0 ? sample->name + 6 : sample->name);
    for (size_t i = 0; i < sample->label_count; i++)
        if (!is_of_row(sort, &sample->labels[i]))
            sonde_text_format(&name, ".%s", sample->labels[i].value);
    const uint32_t column = name.failed ? 0 : sonde_intern_text(&file->columns, sonde_text_get(&name));
    sonde_text_fini(&name);
    return column;
}

static int take(void *user, const struct sonde_sample *sample)
{
    struct sonde_csv *csv = user;
    int s = 0;
    while (sorts[s].mark && !sonde_sample_label(sample, sorts[s].mark))
        s++;
    struct file *file = &csv->files[s];
    const struct cell cell = {row_of(file, &sorts[s], sample), column_of(file, &sorts[s], sample), sample->value};
    if (!cell.row || !cell.column || sonde_vector_push(&file->cells, cell))
        return SONDE_ENOMEM;
    return 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static int fails(struct sonde_diag *diag, const char *path, const char *what)
{
    const int error = errno, code = error == ENOSPC || error == EDQUOT ? SONDE_EFULL : SONDE_EIO;
    sonde_diag_set(diag, code, path, what);
    sonde_diag_errno(diag, error);
    return code;
}

static void name_file(const struct sonde_csv *csv, int sort, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s.csv", csv->folder, sorts[sort].file);
}

static void add_head(const struct file *file, int sort, struct sonde_text *out)
{
    sonde_text_add(out, "#Time,Time_usec,ProducerName,component_id,job_id,app_id");
    for (size_t i = 0; sorts[sort].names[i]; i++)
        sonde_text_format(out, ",%s", sorts[sort].names[i]);
    for (uint32_t i = 1; i <= file->columns.count; i++)
        sonde_text_add(out, ","), add_field(out, sonde_intern_get(&file->columns, i));
    sonde_text_add(out, "\n");
}

/* Its last byte, and whether it begins with this line. */
static bool continues(int fd, const char *head, size_t length, off_t size, char *last)
{
    char *begin = malloc(length);
    const bool same = begin && pread(fd, begin, length, 0) == (ssize_t)length && memcmp(begin, head, length) == 0;
    free(begin);
    return pread(fd, last, 1, size - 1) == 1 && same;
}

static void close_file(struct file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* NAME.csv becomes NAME-TIME.csv, the time being that of its last row; with a number where there is such a file. */
static int put_away(struct sonde_csv *csv, int sort, struct sonde_diag *diag)
{
    char path[PATH_MAX], to[PATH_MAX + 64], when[32];
    struct stat st;
    struct tm tm;
    name_file(csv, sort, path);
    close_file(&csv->files[sort]);
    if (stat(path, &st) != 0)
        return errno == ENOENT ? 0 : fails(diag, path, "cannot store in");
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", gmtime_r(&st.st_mtim.tv_sec, &tm));
    snprintf(to, sizeof to, "%s/%s-%s.csv", csv->folder, sorts[sort].file, when);
    for (int i = 2; access(to, F_OK) == 0 && i < 10000; i++)
        snprintf(to, sizeof to, "%s/%s-%s-%d.csv", csv->folder, sorts[sort].file, when, i);
    return rename(path, to) == 0 ? 0 : fails(diag, path, "cannot put away");
}

/* What to write first into the open file: the first line, or the end of a line that was torn. */
static int open_file(struct sonde_csv *csv, int sort, const struct timespec *now, const struct sonde_text *head, const char **first, struct sonde_diag *diag)
{
    struct file *file = &csv->files[sort];
    char path[PATH_MAX], last = '\n';
    struct stat st;
    name_file(csv, sort, path);
    for (int turn = 0; turn < 2; turn++) {
        file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (file->fd < 0 || fstat(file->fd, &st) != 0)
            return fails(diag, path, "cannot store in");
        *first = st.st_size ? "" : head->bytes;
        const bool over = (uint64_t)st.st_size >= csv->file_bytes || st.st_mtim.tv_sec / 86400 != now->tv_sec / 86400;
        if (!st.st_size || (!over && continues(file->fd, head->bytes, head->length, st.st_size, &last)))
            break;
        const int code = put_away(csv, sort, diag);
        if (code)
            return code;
    }
    if (last != '\n')
        *first = "\n";
    file->bytes = (uint64_t)st.st_size;
    file->day = now->tv_sec / 86400;
    file->written = file->columns.count;
    return 0;
}

static void add_rows(const struct sonde_csv *csv, int sort, const struct timespec *time, const char **table, struct sonde_text *out)
{
    const struct file *file = &csv->files[sort];
    const uint32_t columns = file->columns.count;
    for (size_t i = 0; i < file->cells.count; i++)
        table[(file->cells.items[i].row - 1) * columns + file->cells.items[i].column - 1] = file->cells.items[i].value;
    for (uint32_t row = 1; row <= file->rows.count; row++) {
        const long us = time->tv_nsec / 1000;
        sonde_text_format(out, "%lld.%06ld,%ld,%s,0,0,0", (long long)time->tv_sec, us, us, csv->producer);
        if (sorts[sort].names[0])
            sonde_text_add(out, sonde_intern_get(&file->rows, row));
        for (uint32_t column = 0; column < columns; column++) {
            const char *value = table[(row - 1) * columns + column];
            sonde_text_format(out, ",%s", value ? value : "");
        }
        sonde_text_add(out, "\n");
    }
}

/* All of it or nothing. */
static int write_out(struct sonde_csv *csv, int sort, const struct sonde_text *out, struct sonde_diag *diag)
{
    struct file *file = &csv->files[sort];
    char path[PATH_MAX];
    ssize_t done;
    size_t all = 0;
    name_file(csv, sort, path);
    do {
        done = write(file->fd, out->bytes + all, out->length - all);
        all += done > 0 ? (size_t)done : 0;
    } while (all < out->length && (done > 0 || errno == EINTR));
    if (all == out->length) {
        file->bytes += all;
        return 0;
    }
    const int code = fails(diag, path, "cannot store in");
    if (all && ftruncate(file->fd, (off_t)file->bytes) != 0)
        close_file(file); /* the next look ends the torn line */
    return code;
}

static int put_file(struct sonde_csv *csv, int sort, const struct timespec *time, struct sonde_diag *diag)
{
    struct file *file = &csv->files[sort];
    struct sonde_text head = {0}, out = {0};
    const char *first = "";
    int code = 0;
    add_head(file, sort, &head);
    if (file->fd >= 0 && (file->bytes >= csv->file_bytes || file->day != time->tv_sec / 86400 || file->written != file->columns.count))
        code = put_away(csv, sort, diag);
    if (!code && file->fd < 0 && !head.failed)
        code = open_file(csv, sort, time, &head, &first, diag);
    const char **table = calloc((size_t)file->rows.count * file->columns.count + 1, sizeof *table);
    if (!code && table) {
        sonde_text_add(&out, first);
        add_rows(csv, sort, time, table, &out);
    }
    if (!code && (!table || out.failed || head.failed))
        code = sonde_diag_set(diag, SONDE_ENOMEM, csv->folder, "cannot store in");
    if (!code)
        code = write_out(csv, sort, &out, diag);
    free(table);
    sonde_text_fini(&head);
    sonde_text_fini(&out);
    return code;
}

/* ---- the store ----------------------------------------------------------------------------------- */

int sonde_csv_put(struct sonde_csv *csv, char *text, const struct timespec *time, struct sonde_store_count *count, struct sonde_diag *diag)
{
    int code = sonde_samples_each(text, take, csv);
    const bool failed = code != 0;
    if (code)
        sonde_diag_set(diag, code, csv->folder, "cannot store in");
    for (int s = 0; s < SORTS; s++) {
        struct file *file = &csv->files[s];
        const int put = !file->rows.count ? 0 : failed ? code
                                                       : put_file(csv, s, time, diag);
        *(put ? &count->lost : &count->kept) += file->rows.count;
        code = put ? put : code;
        sonde_intern_fini(&file->rows);
        sonde_vector_fini(&file->cells);
    }
    return code;
}

int sonde_csv_open(const char *folder, uint64_t file_bytes, struct sonde_csv **out, struct sonde_diag *diag)
{
    struct sonde_csv *csv = calloc(1, sizeof *csv);
    *out = NULL;
    if (!csv || !(csv->folder = strdup(folder))) {
        free(csv);
        return sonde_diag_set(diag, SONDE_ENOMEM, folder, "cannot store in");
    }
    csv->file_bytes = file_bytes;
    for (int s = 0; s < SORTS; s++)
        csv->files[s].fd = -1;
    gethostname(csv->producer, sizeof csv->producer - 1);
    if ((mkdir(folder, 0755) != 0 && errno != EEXIST) || access(folder, W_OK | X_OK) != 0) {
        const int code = fails(diag, folder, "cannot store in");
        sonde_csv_close(csv);
        return code;
    }
    *out = csv;
    return 0;
}

void sonde_csv_close(struct sonde_csv *csv)
{
    if (!csv)
        return;
    for (int s = 0; s < SORTS; s++) {
        close_file(&csv->files[s]);
        sonde_intern_fini(&csv->files[s].columns);
    }
    free(csv->folder);
    free(csv);
}
