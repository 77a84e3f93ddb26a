/* places.c - see places.h.
 *
 * An instruction is known by its kernel's name and its place in that. Kernels of one name in several pieces of code may differ: what they do
 * not have in common is not known, nor is what a kernel calls, which has no place in it.
 *
 * What comes from headers of NVIDIA's (atomicAdd, NVSHMEM's puts) is at the line that it was inlined at, as sonde__ptx_line has it. Only NVIDIA's disassembler
 * tells that; where there is none, lines are as the line table has them.
 */
#include "places.h"

#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "cubin.h"
#include "disassembly.h"
#include "format/reader.h"
#include "format/writer.h"
#include "nvdisasm.h"
#include "symbols.h"

enum { INSTRUCTION_BYTES = 16 }; /* of sm_70 and newer */

struct row { /* of a line table */
    uint32_t kernel;
    uint64_t offset;
    uint32_t file;
    unsigned line;
};

struct places {
    struct sonde_intern kernels; /* with such accesses */
    struct sonde_intern files;
    SONDE_VECTOR(uint64_t) wanted; /* kernel << 32 | instruction */
    struct sonde_map found;        /* the same -> file << 32 | line; 0: several */
    SONDE_VECTOR(struct row) rows; /* of the piece at hand */
    int error;
};

static bool is_wanted(const struct sonde_row_remote *row)
{
    return row->node && row->device && row->engine == SONDE_ENGINE_SANITIZER && row->number <= INT32_MAX; /* above: of a function that it calls */
}

static const struct sonde_row_remote *rows_of(const struct sonde_process *p, uint32_t *count)
{
    *count = p->sealed && !p->tables[SONDE_TABLE_PLACE].count ? p->tables[SONDE_TABLE_REMOTE].count : 0;
    return p->tables[SONDE_TABLE_REMOTE].rows;
}

static const char *kernel_of(const struct sonde_process *p, const struct sonde_row_remote *row)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, row->node);
    return frame ? sonde_process_string(p, frame->name) : "";
}

static int want(struct places *s, const struct sonde_process *p)
{
    uint32_t count;
    const struct sonde_row_remote *rows = rows_of(p, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = is_wanted(&rows[i]) ? kernel_of(p, &rows[i]) : "";
        const uint32_t id = *name ? sonde_intern_text(&s->kernels, name) : 0;
        if (*name && (!id || sonde_vector_push(&s->wanted, (uint64_t)id << 32 | rows[i].number)))
            return SONDE_ENOMEM;
    }
    return 0;
}

/* ---- a piece of code --------------------------------------------------------------------------- */

static void take_row(void *user, const char *kernel, uint64_t offset, const char *file, unsigned line)
{
    struct places *s = user;
    const uint32_t id = sonde_intern_find(&s->kernels, kernel);
    const uint32_t source = id ? sonde_intern_text(&s->files, file) : 0;
    if (id && (!source || sonde_vector_push(&s->rows, (struct row){id, offset, source, line})))
        s->error = SONDE_ENOMEM;
}

static int by_offset(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The last row of the kernel that begins there or before; NULL: none. */
static const struct row *row_at(const struct places *s, uint32_t kernel, uint64_t offset)
{
    size_t low = 0, high = s->rows.count; /* before `low`: rows that begin there or before, from `high` on later ones */
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_offset(&s->rows.items[middle], &(struct row){.kernel = kernel, .offset = offset}) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && s->rows.items[low - 1].kernel == kernel ? &s->rows.items[low - 1] : NULL;
}

static int look_up(struct places *s)
{
    int rc = s->error;
    if (s->rows.count)
        qsort(s->rows.items, s->rows.count, sizeof *s->rows.items, by_offset);
    for (size_t i = 0; i < s->wanted.count && !rc; i++) {
        const uint64_t key = s->wanted.items[i];
        const struct row *row = row_at(s, (uint32_t)(key >> 32), (key & UINT32_MAX) * INSTRUCTION_BYTES);
        uint64_t known, place = row ? (uint64_t)row->file << 32 | row->line : 0;
        if (!row)
            continue;
        if (sonde_map_get(&s->found, key, &known) && known != place)
            place = 0;
        rc = sonde_map_put(&s->found, key, place);
    }
    s->rows.count = 0;
    return rc;
}

/* …/targets/x86_64-linux/include/device_atomic_functions.hpp, …/nvidia/nvshmem/include/… */
static bool is_nvidias(const char *file)
{
    return strstr(file, "/include/") && (strstr(file, "cuda") || strstr(file, "nvidia"));
}

/* `//## File "/a/b.cu", line 31 inlined at "/a/c.cu", line 7`. False: it is no such line. */
static bool read_place(char *text, const char **file, unsigned *line)
{
    static const char begin[] = "//## File \"", middle[] = "\", line ";
    char *at = strstr(text, begin), *end = at ? strstr(at, middle) : NULL;
    if (!end)
        return false;
    *end = '\0';
    *file = at + sizeof begin - 1;
    *line = (unsigned)strtoul(end + sizeof middle - 1, NULL, 10);
    return true;
}

/* Lines of the source stand before the instructions that they made: those of what was inlined first, then where that was. */
static int read_text(void *user, FILE *text)
{
    struct places *s = user;
    char *line = NULL, *name = NULL, *kernel = NULL;
    size_t room = 0;
    struct {
        char file[PATH_MAX];
        unsigned line;
        bool nvidias;
    } place = {.line = 0};
    bool within = false, begins = false; /* among places that stand together; what they say is not told yet */
    while (!s->error && getline(&line, &room, text) > 0) {
        const char *file, *at;
        unsigned number;
        if (sonde__disassembly_section(line, &name)) {
            kernel = name;
            place.line = 0;
            within = begins = false;
        } else if (read_place(line, &file, &number)) {
            if (!within || place.nvidias) {
                snprintf(place.file, sizeof place.file, "%s", file);
                place.line = number;
                place.nvidias = is_nvidias(file);
            }
            within = begins = true;
        } else if ((at = strstr(line, "/*")) != NULL) {
            if (kernel && begins && place.line)
                take_row(s, kernel, strtoull(at + 2, NULL, 16), place.file, place.line);
            within = begins = false;
        }
    }
    free(name);
    free(line);
    return s->error ? s->error : look_up(s);
}

static int wants(void *user, const char *name)
{
    const struct places *s = user;
    return sonde_intern_find(&s->kernels, name) != 0;
}

/* False: there is no disassembler, or it could not read some code. */
static bool disassemble(struct places *s, const char *dir, int *rc)
{
    char program[PATH_MAX];
    struct sonde__disassembly d = {.program = program, .lines = true, .wants = wants, .read = read_text, .user = s};
    if (!sonde_nvdisasm_find(program, sizeof program))
        return false;
    *rc = sonde__disassemble(&d, dir);
    return !d.failed;
}

/* By its line table. */
static int read_code(void *user, void *bytes, size_t size)
{
    sonde__cubin_rows(bytes, size, take_row, user);
    return look_up(user);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static int append(const struct places *s, const struct sonde_process *p, struct sonde_diag *diag)
{
    SONDE_VECTOR(struct sonde_row_place) places = {0};
    const uint32_t before = p->string_count ? p->string_count - 1 : 0;
    uint32_t count;
    const struct sonde_row_remote *rows = rows_of(p, &count);
    int rc = 0;
    for (uint32_t i = 1; i < count && !rc; i++) {
        const uint64_t kernel = is_wanted(&rows[i]) ? sonde_intern_find(&s->kernels, kernel_of(p, &rows[i])) : 0;
        uint64_t place = 0;
        if (kernel && sonde_map_get(&s->found, kernel << 32 | rows[i].number, &place) && place)
            rc = sonde_vector_push(&places, (struct sonde_row_place){.remote = i, .file = before + (uint32_t)(place >> 32), .line = (uint32_t)place});
    }
    if (rc)
        sonde_diag_set(diag, rc, p->path, "cannot add lines to");
    else if (places.count)
        rc = sonde__symbols_append_strings(p, &s->files, diag);
    if (!rc && places.count)
        rc = sonde_process_append(p->path, SONDE_TABLE_PLACE, 0, places.items, (uint32_t)places.count, diag);
    sonde_vector_fini(&places);
    return rc;
}

int sonde_places_resolve(const char *dir, struct sonde_diag *diag)
{
    struct sonde_measurement *m = NULL;
    struct places s = {0};
    int rc = sonde_measurement_open(dir, &m, diag);
    for (uint32_t i = 0; !rc && i < m->process_count; i++)
        rc = want(&s, &m->processes[i]);
    if (!rc && s.wanted.count && !disassemble(&s, dir, &rc) && !rc) {
        sonde_map_fini(&s.found);
        s.found = (struct sonde_map){0};
        rc = sonde__cubins_each(dir, read_code, &s);
    }
    if (rc && m)
        sonde_diag_set(diag, rc, dir, "cannot find the lines of accesses of");
    for (uint32_t i = 0; !rc && m && s.wanted.count && i < m->process_count; i++)
        rc = append(&s, &m->processes[i], diag);
    sonde_measurement_close(m);
    sonde_vector_fini(&s.wanted);
    sonde_vector_fini(&s.rows);
    sonde_map_fini(&s.found);
    sonde_intern_fini(&s.kernels);
    sonde_intern_fini(&s.files);
    return rc;
}
