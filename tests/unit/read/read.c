/* read.c - libsonde, as a program uses it that has its header and links it: rows against `sonde export --to csv`, views against
 * `sonde report --json`, windows against all rows, memory against when it is released, and measurements that are damaged, unsealed
 * or read by several threads.
 *
 *     unit-read MEASUREMENT...   reads all of these instead (zoo.py)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pthread.h>

#include <cmocka.h>

#include <sonde/error.h>
#include <sonde/read.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OPERATIONS = 2000,
       FLIPS = 12 };
#else
enum { OPERATIONS = 20000,
       FLIPS = 24 };
#endif

static char folder[] = "/tmp/sonde-read-XXXXXX";
static char sealed[64], live[64];

/* ---- commands ------------------------------------------------------------------------------ */

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return system(line);
}

static FILE *output_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static FILE *output_of(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    FILE *file = popen(line, "r");
    assert_non_null(file);
    return file;
}

static int make(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || !getenv("SONDE") || !getenv("SYNTH"))
        return -1;
    snprintf(sealed, sizeof sealed, "%s/sealed.sonde", folder);
    snprintf(live, sizeof live, "%s/live.sonde", folder);
    return run("\"$SYNTH\" --operations %d --lanes 3 --threads 2 --processes 2 --cpu 1000 --waits 7 %s > /dev/null", OPERATIONS, sealed) ||
           run("\"$SYNTH\" --operations %d --lanes 2 --threads 1 --unsealed %s > /dev/null", OPERATIONS, live);
}

static int unmake(void **state)
{
    (void)state;
    return run("rm -rf %s", folder);
}

/* ---- answers ------------------------------------------------------------------------------- */

struct answer {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static void drop(struct answer *a)
{
    if (a->array.release)
        a->array.release(&a->array);
    if (a->schema.release)
        a->schema.release(&a->schema);
}

static struct sonde_read *open_it(const char *path)
{
    struct sonde_read *m;
    struct sonde_read_error error = {0};
    if (sonde_read_open(path, &m, &error))
        fail_msg("%s", error.sentence);
    return m;
}

static struct answer rows_of(struct sonde_read *m, const char *table, const struct sonde_read_rows *which)
{
    struct answer a;
    struct sonde_read_error error = {0};
    if (sonde_read_rows(m, table, which, &a.schema, &a.array, &error))
        fail_msg("%s", error.sentence);
    return a;
}

static int column_of(const struct ArrowSchema *schema, const char *name)
{
    for (int i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

static int is_known(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *bits = a->buffers[0];
    return !bits || (bits[row / 8] >> row % 8 & 1);
}

/* A value as the CSV has it. */
static void write_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t row, char *out, size_t size)
{
    *out = 0;
    if (!is_known(a, row))
        return;
    if (s->dictionary) {
        const int64_t *offsets = a->dictionary->buffers[1];
        const int32_t code = ((const int32_t *)a->buffers[1])[row];
        assert_in_range(code, 0, a->dictionary->length - 1);
        snprintf(out, size, "%.*s", (int)(offsets[code + 1] - offsets[code]), (const char *)a->dictionary->buffers[2] + offsets[code]);
    } else if (*s->format == 'l')
        snprintf(out, size, "%lld", (long long)((const int64_t *)a->buffers[1])[row]);
    else if (*s->format == 'L')
        snprintf(out, size, "%llu", (unsigned long long)((const uint64_t *)a->buffers[1])[row]);
    else if (*s->format == 'I')
        snprintf(out, size, "%u", ((const uint32_t *)a->buffers[1])[row]);
    else if (*s->format == 'g')
        snprintf(out, size, "%g", ((const double *)a->buffers[1])[row]);
    else if (*s->format == 'b')
        snprintf(out, size, "%d", ((const uint8_t *)a->buffers[1])[row / 8] >> row % 8 & 1);
    else
        fail_msg("%s has the format %s", s->name, s->format);
}

/* Every offset, length and bit that a reader of Arrow would follow; also what a sanitizer sees of the buffers. */
static uint64_t walk(const struct ArrowSchema *s, const struct ArrowArray *a)
{
    uint64_t sum = (uint64_t)a->length;
    int64_t unknown = 0;
    assert_int_equal(s->n_children, a->n_children);
    assert_int_equal(s->dictionary != NULL, a->dictionary != NULL);
    for (int64_t i = 0; *s->format != 'n' && i < a->length; i++)
        unknown += !is_known(a, i);
    if (*s->format != 'n')
        assert_int_equal(unknown, a->null_count);
    if (strcmp(s->format, "U") == 0) {
        const int64_t *offsets = a->buffers[1];
        for (int64_t i = 0; i < a->length; i++)
            assert_true(offsets[i] <= offsets[i + 1]);
        for (int64_t i = 0; a->length && i < offsets[a->length]; i++)
            sum = sum * 31 + ((const uint8_t *)a->buffers[2])[i];
    } else if (strcmp(s->format, "+L") == 0) {
        const int64_t *offsets = a->buffers[1];
        assert_int_equal(offsets[a->length], a->children[0]->length);
    } else if (strcmp(s->format, "+m") == 0) {
        const int32_t *offsets = a->buffers[1];
        assert_int_equal(offsets[a->length], a->children[0]->length);
    } else if (strchr("lLg", *s->format))
        for (int64_t i = 0; i < a->length; i++)
            sum = sum * 31 + ((const uint64_t *)a->buffers[1])[i];
    for (int64_t i = 0; i < s->n_children; i++) {
        if (strcmp(s->format, "+s") == 0)
            assert_int_equal(a->children[i]->length, a->length);
        sum = sum * 31 + walk(s->children[i], a->children[i]);
    }
    return a->dictionary ? sum * 31 + walk(s->dictionary, a->dictionary) : sum;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The next field of a line of CSV; false: there is none. */
static int next_field(const char **at, char *out, size_t size)
{
    size_t n = 0;
    const int quoted = **at == '"';
    if (!**at)
        return 0;
    *at += quoted;
    while (**at && (quoted || (**at != ',' && **at != '\r'))) {
        if (quoted && **at == '"' && *++*at != '"')
            break;
        assert_true(n + 1 < size);
        out[n++] = *(*at)++;
    }
    out[n] = 0;
    *at += **at == ',';
    return 1;
}

enum { FIELDS = 40 };

/* Times of the CSV are on its process's axis: `origin_ns` of it is the same as one minus the other. */
static void compare_line(const char *line, char names[FIELDS][64], int count, const struct answer *a, int64_t row, const struct answer *processes)
{
    char text[512], have[512];
    int64_t origin = 0;
    const char *at = line;
    for (int i = 0; i < count; i++) {
        if (!next_field(&at, text, sizeof text))
            *text = 0;
        if (strcmp(names[i], "process") == 0) {
            for (int64_t p = 0; p < processes->array.length; p++) {
                const struct ArrowArray *name = processes->array.children[0];
                const int64_t *offsets = name->buffers[1];
                if (strlen(text) == (size_t)(offsets[p + 1] - offsets[p]) &&
                    memcmp(text, (const char *)name->buffers[2] + offsets[p], strlen(text)) == 0)
                    origin = ((const int64_t *)processes->array.children[1]->buffers[1])[p];
            }
            assert_int_not_equal(origin, 0);
        }
        const int column = column_of(&a->schema, names[i]);
        if (column < 0) {
            assert_string_equal(names[i], "pid");
            continue;
        }
        write_value(a->schema.children[column], a->array.children[column], row, have, sizeof have);
        const size_t length = strlen(names[i]);
        if (*have && length > 3 && strcmp(names[i] + length - 3, "_ns") == 0 && strcmp(names[i], "duration_ns") != 0)
            snprintf(have, sizeof have, "%lld", strtoll(have, NULL, 10) + (long long)origin);
        if (strcmp(have, text) != 0)
            fail_msg("row %lld, %s: \"%s\", and in the CSV \"%s\"", (long long)row, names[i], have, text);
    }
}

static void every_operation_is_that_of_the_csv(void **state)
{
    (void)state;
    char line[4096], names[FIELDS][64];
    const char *wanted[FIELDS + 1] = {0}, *at = line;
    int count = 0, asked = 0;
    FILE *csv = output_of("\"$SONDE\" export %s --to csv -o -", sealed);
    assert_non_null(fgets(line, sizeof line, csv));
    while (count < FIELDS && *at != '\r' && next_field(&at, names[count], sizeof names[count]))
        count++;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "pid") != 0)
            wanted[asked++] = names[i];
    assert_true(asked > 20);
    struct sonde_read *m = open_it(sealed);
    static const char *const origins[] = {"process", "origin_ns", NULL};
    const struct sonde_read_rows all = {.size = sizeof all, .process = -1, .columns = wanted};
    const struct sonde_read_rows axes = {.size = sizeof axes, .process = -1, .columns = origins};
    struct answer a = rows_of(m, "operations", &all), processes = rows_of(m, "processes", &axes);
    assert_int_equal(a.schema.n_children, asked);
    for (int i = 0; i < asked; i++)
        assert_string_equal(a.schema.children[i]->name, wanted[i]);
    int64_t row = 0;
    for (; fgets(line, sizeof line, csv); row++) {
        assert_true(row < a.array.length);
        compare_line(line, names, count, &a, row, &processes);
    }
    assert_int_equal(pclose(csv), 0);
    assert_int_equal(row, a.array.length);
    assert_int_equal(row, 2 * OPERATIONS);
    drop(&a);
    drop(&processes);
    sonde_read_close(m);
}

static const int64_t *numbers(const struct answer *a, const char *name)
{
    const int column = column_of(&a->schema, name);
    assert_true(column >= 0);
    return a->array.children[column]->buffers[1];
}

/* Rows of a window are those of all that overlap it, in their order; of a lane, those of it. */
static void windows_and_lanes_are_a_choice_of_all_rows(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct answer all = rows_of(m, "operations", NULL);
    const int64_t *start = numbers(&all, "start_ns"), *end = numbers(&all, "end_ns");
    const uint32_t *lanes = all.array.children[column_of(&all.schema, "lane")]->buffers[1];
    int64_t first = INT64_MAX, last = 0;
    for (int64_t i = 0; i < all.array.length; i++) {
        first = start[i] < first ? start[i] : first;
        last = end[i] > last ? end[i] : last;
    }
    for (int k = 0; k < 40; k++) {
        const int64_t from = first + (last - first) * (k % 8) / 8 - (k == 0), to = from + 1 + (last - first) * (k / 8) / 3;
        const uint32_t lane = k % 3 ? 0 : lanes[(uint64_t)k * 977 % (uint64_t)all.array.length];
        struct sonde_read_rows which = {.size = sizeof which, .from_ns = from, .to_ns = to, .process = k % 5 == 4 ? 1 : -1, .lane = lane};
        struct answer some = rows_of(m, "operations", &which);
        const int64_t *correlation = numbers(&all, "correlation"), *found = numbers(&some, "correlation");
        const int32_t *process = all.array.children[column_of(&all.schema, "process")]->buffers[1];
        int64_t at = 0;
        for (int64_t i = 0; i < all.array.length; i++) {
            const int in = start[i] < to && (start[i] >= from || end[i] > from);
            if (!in || (lane && lanes[i] != lane) || (which.process >= 0 && process[i] != which.process))
                continue;
            assert_true(at < some.array.length);
            assert_int_equal(found[at++], correlation[i]);
        }
        assert_int_equal(at, some.array.length);
        drop(&some);
    }
    drop(&all);
    sonde_read_close(m);
}

static void every_table_has_the_columns_that_are_listed(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct sonde_read_table table = {.size = sizeof table};
    uint32_t tables = 0;
    int64_t rows = 0;
    for (; sonde_read_table(m, tables, &table) == 0; tables++) {
        struct answer a = rows_of(m, table.name, NULL);
        struct sonde_read_column column = {.size = sizeof column};
        int64_t child = 0;
        if (table.rows >= 0)
            assert_int_equal(a.array.length, table.rows);
        for (uint32_t i = 0; sonde_read_column(table.name, i, &column) == 0; i++) {
            assert_true(strlen(column.definition) > 1);
            if (column.asked_for) {
                const char *const names[] = {column.name, NULL};
                const struct sonde_read_rows one = {.size = sizeof one, .process = -1, .columns = names};
                struct answer b = rows_of(m, table.name, &one);
                assert_string_equal(b.schema.children[0]->format, column.format);
                walk(&b.schema, &b.array);
                drop(&b);
                continue;
            }
            assert_true(child < a.schema.n_children);
            assert_string_equal(a.schema.children[child]->name, column.name);
            assert_string_equal(a.schema.children[child]->format, column.format);
            child++;
        }
        assert_int_equal(child, a.schema.n_children);
        walk(&a.schema, &a.array);
        rows += a.array.length;
        drop(&a);
    }
    assert_true(tables >= 12);
    assert_true(rows > 4 * OPERATIONS);
    sonde_read_close(m);
}

/* ---- views ---------------------------------------------------------------------------------- */

/* Lines of JSON that begin a value of the outermost objects: "  \"name\": ...". */
static int next_member(FILE *json, const char *name, char *out, size_t size)
{
    char line[4096], prefix[64];
    snprintf(prefix, sizeof prefix, "  \"%s\": ", name);
    while (fgets(line, sizeof line, json))
        if (strncmp(line, prefix, strlen(prefix)) == 0) {
            const char *value = line + strlen(prefix) + (line[strlen(prefix)] == '"');
            snprintf(out, size, "%.*s", (int)strcspn(value, "\",\n"), value);
            return 1;
        }
    return 0;
}

static void kernels_are_those_of_the_report(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct sonde_read_error error = {0};
    struct answer a;
    assert_int_equal(sonde_read_view(m, "kernels", NULL, &a.schema, &a.array, &error), 0);
    FILE *json = output_of("\"$SONDE\" report %s kernels --json", sealed);
    char text[256];
    for (int64_t i = 0; i < a.array.length; i++) {
        const struct ArrowArray *name = a.array.children[column_of(&a.schema, "name")];
        const int64_t *offsets = name->buffers[1];
        assert_true(next_member(json, "name", text, sizeof text));
        assert_int_equal(strlen(text), offsets[i + 1] - offsets[i]);
        assert_memory_equal(text, (const char *)name->buffers[2] + offsets[i], strlen(text));
        assert_true(next_member(json, "count", text, sizeof text));
        assert_int_equal(strtoll(text, NULL, 10), numbers(&a, "count")[i]);
        assert_true(next_member(json, "total_ns", text, sizeof text));
        assert_int_equal(strtoll(text, NULL, 10), numbers(&a, "total_ns")[i]);
    }
    assert_false(next_member(json, "name", text, sizeof text));
    assert_int_equal(pclose(json), 0);
    assert_int_equal(a.array.length, 4);
    drop(&a);
    const struct sonde_read_option two[] = {{"limit", "2"}, {NULL, NULL}};
    assert_int_equal(sonde_read_view(m, "kernels", two, &a.schema, &a.array, &error), 0);
    assert_int_equal(a.array.length, 2);
    drop(&a);
    sonde_read_close(m);
}

static void every_view_is_columns(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct sonde_read_view view = {.size = sizeof view};
    uint32_t views = 0;
    for (; sonde_read_view_named(views, &view) == 0; views++) {
        struct answer a;
        struct sonde_read_error error = {0};
        if (sonde_read_view(m, view.name, NULL, &a.schema, &a.array, &error))
            fail_msg("%s", error.sentence);
        walk(&a.schema, &a.array);
        if (view.single)
            assert_int_equal(a.array.length, 1);
        drop(&a);
    }
    assert_true(views >= 16);
    sonde_read_close(m);
}

/* ---- what is wrong ---------------------------------------------------------------------------- */

static void expect(int code, const struct sonde_read_error *error, int want, const char *part)
{
    assert_int_equal(code, want);
    assert_int_equal(error->code, want);
    if (!strstr(error->sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", error->sentence, part);
    assert_null(strchr(error->sentence, '\n'));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    struct sonde_read *m;
    struct sonde_read_error e = {0};
    struct answer a;
    expect(sonde_read_open("/nowhere/x.sonde", &m, &e), &e, SONDE_ENOTFOUND, "/nowhere/x.sonde");
    assert_null(m);
    expect(sonde_read_open("/etc", &m, &e), &e, SONDE_EFORMAT, "/etc");
    m = open_it(sealed);
    expect(sonde_read_rows(m, "operation", NULL, &a.schema, &a.array, &e), &e, SONDE_ENOTFOUND, "did you mean 'operations'?");
    assert_null(a.array.release);
    assert_null(a.schema.release);
    static const char *const wrong[] = {"strat_ns", NULL};
    struct sonde_read_rows which = {.size = sizeof which, .process = -1, .columns = wrong};
    expect(sonde_read_rows(m, "operations", &which, &a.schema, &a.array, &e), &e, SONDE_ENOTFOUND, "did you mean 'start_ns'?");
    expect(sonde_read_rows(m, "lanes", &which, &a.schema, &a.array, &e), &e, SONDE_ENOTFOUND, "lanes has no column 'strat_ns'");
    which = (struct sonde_read_rows){.size = sizeof which, .process = 2};
    expect(sonde_read_rows(m, "operations", &which, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "no process 2");
    which = (struct sonde_read_rows){.size = sizeof which, .process = -1, .from_ns = 5, .to_ns = 5};
    expect(sonde_read_rows(m, "operations", &which, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "window is empty");
    which.to_ns = 6;
    expect(sonde_read_rows(m, "contexts", &which, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "has no times");
    struct sonde_read_option options[] = {{"limt", "5"}, {NULL, NULL}};
    expect(sonde_read_view(m, "kernel", NULL, &a.schema, &a.array, &e), &e, SONDE_ENOTFOUND, "did you mean 'kernels'?");
    expect(sonde_read_view(m, "kernels", options, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "did you mean 'limit'?");
    options[0] = (struct sonde_read_option){"limit", "many"};
    expect(sonde_read_view(m, "kernels", options, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "limit");
    options[0] = (struct sonde_read_option){"limit", NULL};
    expect(sonde_read_view(m, "kernels", options, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "needs a value");
    options[0] = (struct sonde_read_option){"graph", "1"};
    expect(sonde_read_view(m, "values", options, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "takes no value");
    options[0] = (struct sonde_read_option){"from", "2s"};
    expect(sonde_read_view(m, "kernels", options, &a.schema, &a.array, &e), &e, SONDE_EINVALID, "is for the view");
    assert_int_equal(sonde_read_view(m, "kernels", options, &a.schema, &a.array, NULL), SONDE_EINVALID);
    sonde_read_close(m);
    sonde_read_close(NULL);
}

/* An older caller's struct is smaller: what it does not know is not written, and what it cannot ask for is not read. */
static void older_callers_have_smaller_structs(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct sonde_read_table table = {.size = offsetof(struct sonde_read_table, summary), .summary = "kept"};
    assert_int_equal(sonde_read_table(m, 0, &table), 0);
    assert_string_equal(table.name, "operations");
    assert_string_equal(table.summary, "kept");
    assert_int_equal(table.size, offsetof(struct sonde_read_table, summary));
    const struct sonde_read_rows which = {.size = offsetof(struct sonde_read_rows, columns), .columns = (const char *const[]){"nothing", NULL}, .process = 99};
    struct answer a = rows_of(m, "operations", &which);
    assert_int_equal(a.array.length, 2 * OPERATIONS);
    drop(&a);
    sonde_read_close(m);
}

/* ---- memory and threads ------------------------------------------------------------------------ */

static void answers_outlive_what_they_came_from(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(sealed);
    struct sonde_read_error error;
    struct answer a = rows_of(m, "operations", NULL), b, c, d, view;
    assert_int_equal(sonde_read_view(m, "profile", NULL, &view.schema, &view.array, &error), 0);
    const uint64_t sum = walk(&a.schema, &a.array), nested = walk(&view.schema, &view.array);
    sonde_read_close(m);
    assert_int_equal(walk(&a.schema, &a.array), sum);
    assert_int_equal(sonde_read_share(&a.schema, &a.array, &b.schema, &b.array), 0);
    assert_int_equal(sonde_read_share(&b.schema, &b.array, &c.schema, &c.array), 0);
    assert_int_equal(sonde_read_share(&view.schema, &view.array, &d.schema, &d.array), 0);
    drop(&a);
    drop(&view);
    assert_int_equal(walk(&c.schema, &c.array), sum);
    drop(&b);
    assert_int_equal(walk(&c.schema, &c.array), sum);
    assert_int_equal(walk(&d.schema, &d.array), nested);
    /* A child may be taken out, as readers of Arrow do: the rest goes without it. */
    struct ArrowArray child = *c.array.children[0];
    c.array.children[0]->release = NULL;
    drop(&c);
    assert_int_equal(child.length, 2 * OPERATIONS);
    child.release(&child);
    drop(&d);
}

struct asker {
    struct sonde_read *m;
    int number;
    uint64_t sums[3];
};

static void *ask(void *user)
{
    static const char *const tables[] = {"operations", "calls", "contexts"};
    struct asker *asker = user;
    for (int i = 0; i < 3; i++) {
        const int which = (i + asker->number) % 3;
        struct answer a;
        struct sonde_read_error error;
        if (sonde_read_rows(asker->m, tables[which], NULL, &a.schema, &a.array, &error))
            return NULL;
        asker->sums[which] = walk(&a.schema, &a.array);
        drop(&a);
        if (sonde_read_view(asker->m, which == 1 ? "statistics" : "blame", NULL, &a.schema, &a.array, &error))
            return NULL;
        asker->sums[which] += walk(&a.schema, &a.array);
        drop(&a);
    }
    return asker;
}

static void threads_read_at_once(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    struct sonde_read *m = open_it(sealed);
    struct asker askers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.m = m, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *asker;
        pthread_join(threads[i], &asker);
        assert_ptr_equal(asker, &askers[i]);
        assert_memory_equal(askers[i].sums, askers[0].sums, sizeof askers[i].sums);
    }
    sonde_read_close(m);
}

/* ---- measurements that are not whole ------------------------------------------------------------- */

/* All that can be asked. Its rows, or -1 and the sentence. */
static int64_t read_all(const char *path, struct sonde_read_error *error)
{
    struct sonde_read *m;
    struct sonde_read_table table = {.size = sizeof table};
    struct sonde_read_view view = {.size = sizeof view};
    struct answer a;
    int64_t rows = 0;
    if (sonde_read_open(path, &m, error))
        return -1;
    for (uint32_t i = 0; sonde_read_table(m, i, &table) == 0; i++)
        if (!sonde_read_rows(m, table.name, NULL, &a.schema, &a.array, error)) {
            walk(&a.schema, &a.array);
            rows += a.array.length;
            drop(&a);
        } else
            assert_true(*error->sentence);
    for (uint32_t i = 0; sonde_read_view_named(i, &view) == 0; i++)
        if (!sonde_read_view(m, view.name, NULL, &a.schema, &a.array, error)) {
            walk(&a.schema, &a.array);
            drop(&a);
        } else
            assert_true(*error->sentence);
    for (uint32_t i = 0; sonde_read_view_named(i, &view) == 0; i++)
        if (!sonde_read_missing(m, view.name, NULL, &a.schema, &a.array, error)) {
            assert_int_equal(a.schema.n_children, 1);
            walk(&a.schema, &a.array);
            drop(&a);
        } else
            assert_true(*error->sentence);
    sonde_read_close(m);
    return rows;
}

static void damage_is_left_out(void **state)
{
    (void)state;
    struct sonde_read_error error = {0};
    char copy[128], file[256];
    const int64_t whole = read_all(sealed, &error);
    int fewer = 0;
    assert_true(whole > 4 * OPERATIONS);
    for (int i = 0; i < FLIPS; i++) {
        snprintf(copy, sizeof copy, "%s/damaged.sonde", folder);
        assert_int_equal(run("rm -rf %s && cp -r %s %s", copy, sealed, copy), 0);
        FILE *found = output_of("ls -d %s/*-*/data.sonde | head -1", copy);
        assert_non_null(fgets(file, sizeof file, found));
        assert_int_equal(pclose(found), 0);
        file[strcspn(file, "\n")] = 0;
        struct stat st;
        assert_int_equal(stat(file, &st), 0);
        FILE *f = fopen(file, "r+");
        assert_non_null(f);
        if (i % 4 == 3)
            assert_int_equal(ftruncate(fileno(f), st.st_size * (i + 1) / (FLIPS + 2)), 0);
        else {
            fseek(f, (long)((uint64_t)st.st_size * (uint64_t)i / FLIPS), SEEK_SET);
            fwrite("\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00", 1, 16, f);
        }
        fclose(f);
        const int64_t rows = read_all(copy, &error);
        assert_true(rows >= 0 || *error.sentence);
        fewer += rows < whole;
    }
    assert_true(fewer > FLIPS / 2);
}

static void what_is_not_sealed_is_read_too(void **state)
{
    (void)state;
    struct sonde_read *m = open_it(live);
    struct answer a = rows_of(m, "operations", NULL);
    char line[4096];
    int64_t rows = -1;
    FILE *csv = output_of("\"$SONDE\" export %s --to csv -o -", live);
    while (fgets(line, sizeof line, csv))
        rows++;
    assert_int_equal(pclose(csv), 0);
    assert_int_equal(a.array.length, rows);
    assert_int_equal(rows, OPERATIONS);
    drop(&a);
    sonde_read_close(m);
}

/* Zeros in place of the chunks of a file but for those that opening needs: the tables 6, 7, 12, 17, 18 and 23 of docs/developers/format.md. */
static void empty(const char *path)
{
    const uint32_t kept = 1u << 6 | 1u << 7 | 1u << 12 | 1u << 17 | 1u << 18 | 1u << 23;
    struct stat st;
    FILE *f = fopen(path, "r+");
    assert_true(f && stat(path, &st) == 0);
    uint8_t *bytes = malloc((size_t)st.st_size);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
    for (size_t at = 0, size; at < (size_t)st.st_size; at += (size + 7) & ~(size_t)7) {
        uint16_t table;
        uint32_t stored;
        memcpy(&table, bytes + at + 6, sizeof table);
        memcpy(&stored, bytes + at + 44, sizeof stored);
        size = 64 + stored;
        if (!(kept >> table & 1))
            memset(bytes + at, 0, size);
    }
    rewind(f);
    assert_int_equal(fwrite(bytes, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
    free(bytes);
}

static int64_t damage_of(struct sonde_read *m, int process)
{
    static const char *const columns[] = {"damaged_chunks", NULL};
    struct answer a = rows_of(m, "processes", &(struct sonde_read_rows){.size = sizeof(struct sonde_read_rows), .process = process, .columns = columns});
    assert_int_equal(a.array.length, 1);
    const int64_t damage = ((const int64_t *)a.array.children[0]->buffers[1])[0];
    drop(&a);
    return damage;
}

/* Of a job, tables and traces of one rank are read without those of the others, which would be damage. */
static void one_rank_is_read_alone(void **state)
{
    (void)state;
    static const char *const columns[] = {"start_ns", "object", "registers", NULL};
    struct sonde_read_rows which = {.size = sizeof which, .process = 1, .columns = columns};
    char path[128], file[256];
    snprintf(path, sizeof path, "%s/job.sonde", folder);
    assert_int_equal(run("\"$SYNTH\" --operations %d --lanes 2 --threads 1 --processes 3 --ranks %s > /dev/null", OPERATIONS, path), 0);
    /* What is small is read through; with this, which is in no process that could be read, it is not. */
    assert_int_equal(run("mkdir %s/empty-1-1 && truncate -s 65M %s/empty-1-1/data.sonde", path, path), 0);
    for (int i = 0; i < 3; i += 2) {
        snprintf(file, sizeof file, "%s/synth-%d-1/data.sonde", path, 1000000000 + i);
        empty(file);
    }
    struct sonde_read *m = open_it(path);
    struct answer a = rows_of(m, "operations", &which);
    assert_int_equal(a.array.length, OPERATIONS);
    drop(&a);
    which.columns = NULL;
    a = rows_of(m, "devices", &which);
    assert_int_equal(a.array.length, 1);
    drop(&a);
    for (int i = 0; i < 3; i++)
        assert_int_equal(damage_of(m, i), 0);
    which.process = 2;
    a = rows_of(m, "devices", &which);
    drop(&a);
    assert_int_equal(damage_of(m, 0), 0);
    assert_true(damage_of(m, 2) > 0);
    which.process = -1;
    a = rows_of(m, "operations", &which);
    assert_int_equal(a.array.length, OPERATIONS);
    drop(&a);
    assert_true(damage_of(m, 0) > 0);
    assert_int_equal(damage_of(m, 1), 0);
    sonde_read_close(m);
}

/* Measurements of the command line instead: all that can be asked of each, and how many rows that gave, or the sentence. */
static int read_each(char **paths)
{
    struct sonde_read_error error = {0};
    for (; *paths; paths++) {
        const int64_t rows = read_all(*paths, &error);
        if (rows < 0)
            printf("%s\n", error.sentence);
        else
            printf("%lld\n", (long long)rows);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_that_of_the_csv),
        cmocka_unit_test(windows_and_lanes_are_a_choice_of_all_rows),
        cmocka_unit_test(every_table_has_the_columns_that_are_listed),
        cmocka_unit_test(kernels_are_those_of_the_report),
        cmocka_unit_test(every_view_is_columns),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(older_callers_have_smaller_structs),
        cmocka_unit_test(answers_outlive_what_they_came_from),
        cmocka_unit_test(threads_read_at_once),
        cmocka_unit_test(damage_is_left_out),
        cmocka_unit_test(one_rank_is_read_alone),
        cmocka_unit_test(what_is_not_sealed_is_read_too),
    };
    return argc > 1 ? read_each(argv + 1) : cmocka_run_group_tests(tests, make, unmake);
}
