/* perf_map.c - see perf_map.h. A map of any size is read line by line; only what was asked for is kept. */
#include "perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module.h"
#include "symbols.h"

enum { LINE_MAX_BYTES = 4096 }; /* of a longer one the end is left out */

struct wanted {
    uint64_t address;
    uint32_t frame, name /* id in out->strings; 0 none */;
};

struct wants {
    struct sonde_symbols *out;
    struct sonde_map demangled;
    SONDE_VECTOR(struct wanted) list; /* by address */
};

static int by_address(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int want_frames(struct wants *w, const struct sonde_process *p)
{
    int rc = 0;
    for (uint32_t i = 1; i < p->frame_count && !rc; i++) {
        const struct sonde_row_frame *f = &p->frames[i];
        if (f->kind == SONDE_FRAME_UNKNOWN && f->flags & SONDE_FRAME_ADDRESS) /* a return address is that after the call */
            rc = sonde_vector_push(&w->list, (struct wanted){f->offset - !(f->flags & SONDE_FRAME_EXACT), i, 0});
    }
    if (w->list.count)
        qsort(w->list.items, w->list.count, sizeof *w->list.items, by_address);
    return rc;
}

/* ---- the file -------------------------------------------------------------------- */

static void refuse(struct wants *w, const struct sonde_process *p, const char *path, const char *why)
{
    struct sonde_row_note row = {.at_ns = p->header.stop_ns};
    snprintf(row.text, sizeof row.text, "no names of code generated at run time: %.100s %.100s", path, why);
    (void)sonde_vector_push(&w->out->notes, row);
}

/* Why it must not be used; NULL: it may. Anybody may write to /tmp, and process ids come again. */
static const char *obstacle(const struct sonde_process *p, int fd)
{
    const uint64_t slack_ns = 1000000000; /* between the clocks; a pid does not come again so soon */
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return "is not a file";
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return "belongs to another user";
    const uint64_t begin = p->header.exec_ns && p->header.exec_ns < p->header.start_ns ? p->header.exec_ns : p->header.start_ns;
    const uint64_t changed = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    return p->header.wall_offset_ns && changed + slack_ns < begin + p->header.wall_offset_ns
               ? "is older than the process"
               : NULL;
}

static FILE *open_map(struct wants *w, const struct sonde_process *p, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* neither another's file nor a pipe that never ends */
    if (fd < 0) {
        if (errno != ENOENT)
            refuse(w, p, path, errno == ELOOP ? "is a link" : strerror(errno));
        return NULL;
    }
    const char *why = obstacle(p, fd);
    FILE *file = why ? NULL : fdopen(fd, "r");
    if (why)
        refuse(w, p, path, why);
    if (!file)
        close(fd);
    return file;
}

/* ---- its lines ------------------------------------------------------------------- */

static size_t first_from(const struct wants *w, uint64_t address)
{
    size_t low = 0, high = w->list.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (w->list.items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* "START SIZE NAME"; anything else is passed over. */
static int take_line(struct wants *w, char *line)
{
    char *end, *name;
    const uint64_t start = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return 0;
    const uint64_t size = strtoull(end, &name, 16);
    if (name == end || *name != ' ' || !name[1] || !size)
        return 0;
    uint32_t id = 0;
    for (size_t i = first_from(w, start); i < w->list.count && w->list.items[i].address - start < size; i++) {
        id = id ? id : sonde_intern_text(&w->out->strings, name + 1);
        if (!id)
            return SONDE_ENOMEM;
        w->list.items[i].name = id;
    }
    return 0;
}

static int take_lines(struct wants *w, FILE *file)
{
    char line[LINE_MAX_BYTES];
    bool begins = true;
    int rc = 0;
    while (!rc && fgets(line, sizeof line, file)) {
        const size_t length = strcspn(line, "\n");
        const bool ends = line[length] == '\n';
        line[length] = 0;
        if (begins)
            rc = take_line(w, line);
        begins = ends;
    }
    return rc;
}

/* ---- names as they are written --------------------------------------------------- */

/* V8: "JS:*multiply /home/user/matrix.js:10:21" (before 2022 "LazyCompile:*..."), where ~ * ^ + say how it was
 * compiled. *file is set to the file's beginning in `text`, and 0 put behind it and the name. */
static const char *split_javascript(char *text, const char **file, uint32_t *line)
{
    static const char *const prefixes[] = {"JS:", "LazyCompile:", "Function:", "Eval:", "Script:"};
    char *name = NULL;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !name; i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            name = text + strlen(prefixes[i]);
    if (!name)
        return text;
    name += strspn(name, "~*^+");
    char *space = strchr(name, ' '), *colon = strrchr(name, ':'), *column = colon;
    while (colon && colon > name && colon[-1] >= '0' && colon[-1] <= '9')
        colon--;
    if (!space || !colon || colon <= space + 1 || colon[-1] != ':' || !column[1])
        return *name ? name : text;
    *line = (uint32_t)strtoul(colon, NULL, 10);
    colon[-1] = 0;
    *space = 0;
    *file = space + 1;
    return *name ? name : "(anonymous)";
}

static int add_rows(struct wants *w, uint32_t module)
{
    int rc = 0;
    for (size_t i = 0; i < w->list.count && !rc; i++) {
        struct sonde_row_symbol row = {.frame = w->list.items[i].frame, .module = module};
        char *text = w->list.items[i].name ? strdup(sonde_intern_get(&w->out->strings, w->list.items[i].name)) : NULL;
        const char *file = NULL;
        if (!text)
            continue;
        row.function = sonde__symbols_name(&w->out->strings, &w->demangled, split_javascript(text, &file, &row.line));
        row.file = sonde_intern_text(&w->out->strings, file);
        free(text);
        rc = sonde_vector_push(&w->out->rows, row);
    }
    return rc;
}

int sonde__perf_map_read(const char *path, const struct sonde_process *process, struct sonde_symbols *out)
{
    struct wants w = {.out = out};
    int rc = want_frames(&w, process);
    FILE *file = w.list.count && !rc ? open_map(&w, process, path) : NULL;
    if (file) {
        rc = take_lines(&w, file);
        rc = rc ? rc : add_rows(&w, sonde_intern_text(&out->strings, "[JIT]"));
        fclose(file);
    }
    sonde_map_fini(&w.demangled);
    sonde_vector_fini(&w.list);
    return rc;
}
