/* types.c - see types.h.
 *
 * An access is known by its kernel's name and its instruction's number. Kernels of one name in several pieces of code (compiled just in
 * time, or of two programs) may differ: what they do not have in common is not known.
 */
#include "types.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "disassembly.h"
#include "format/reader.h"
#include "format/writer.h"
#include "nvdisasm.h"
#include "sass.h"

#define KIND_SHIFT 32 /* of a kernel's number above that of an instruction */

struct kernels {
    struct sonde_intern names;   /* that have accesses whose types are wanted */
    struct sonde_map types;      /* kernel << KIND_SHIFT | instruction -> struct found, packed */
    struct sonde_map kept;       /* kernels whose code is there */
    const char *program;         /* nvdisasm */
    unsigned failed;             /* pieces of code that it could not read */
    int error;
};

/* ---- what is wanted --------------------------------------------------------------------------------- */

static const struct sonde_row_bits *bits_of(const struct sonde_process *p, uint32_t *count)
{
    *count = p->tables[SONDE_TABLE_TYPE].count ? 0 : p->tables[SONDE_TABLE_BITS].count;
    return p->tables[SONDE_TABLE_BITS].rows;
}

static const struct sonde_row_access *access_of(const struct sonde_process *p, const struct sonde_row_bits *b)
{
    const struct sonde_row_access *all = p->tables[SONDE_TABLE_ACCESS].rows;
    return b->access && b->access < p->tables[SONDE_TABLE_ACCESS].count ? &all[b->access] : NULL;
}

static const char *kernel_of(const struct sonde_process *p, const struct sonde_row_access *a)
{
    const struct sonde_row_node *node = a ? sonde_process_node(p, a->node, NULL) : NULL;
    return node && node->frame < p->frame_count ? sonde_process_string(p, p->frames[node->frame].name) : "";
}

static int want(struct kernels *k, const struct sonde_process *p)
{
    uint32_t count;
    const struct sonde_row_bits *rows = bits_of(p, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = kernel_of(p, access_of(p, &rows[i]));
        if (*name && !sonde_intern_text(&k->names, name))
            return SONDE_ENOMEM;
    }
    return 0;
}

/* ---- pieces of code ------------------------------------------------------------------------------------ */

static uint64_t packed(const struct sonde__sass_access *a)
{
    return (uint64_t)a->store << 24 | (uint64_t)a->bytes << 16 | (uint64_t)a->element_bytes << 8 | a->type;
}

static void take(void *user, const char *kernel, const struct sonde__sass_access *a)
{
    struct kernels *k = user;
    const uint32_t id = sonde_intern_find(&k->names, kernel);
    const uint64_t key = (uint64_t)id << KIND_SHIFT | a->number;
    uint64_t known, now = packed(a);
    if (!id)
        return;
    if (sonde_map_get(&k->types, key, &known) && known != now)
        now = 0; /* an access of no bytes: it is none of them */
    k->error = k->error ? k->error : sonde_map_put(&k->types, key, now);
}

static int wants(void *user, const char *name)
{
    struct kernels *k = user;
    const uint32_t id = sonde_intern_find(&k->names, name);
    const int rc = id ? sonde_map_put(&k->kept, id, 1) : 0;
    return rc ? rc : id != 0;
}

static int read_text(void *user, FILE *text)
{
    struct kernels *k = user;
    const int rc = sonde__sass_accesses(text, take, k);
    return rc ? rc : k->error;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static int append_types(const struct kernels *k, const struct sonde_process *p, struct sonde_diag *diag)
{
    SONDE_VECTOR(struct sonde_row_type) types = {0};
    uint32_t count;
    const struct sonde_row_bits *rows = bits_of(p, &count);
    int rc = 0;
    for (uint32_t i = 1; i < count && !rc; i++) {
        const struct sonde_row_access *a = access_of(p, &rows[i]);
        const uint64_t key = a ? (uint64_t)sonde_intern_find(&k->names, kernel_of(p, a)) << KIND_SHIFT | a->number : 0;
        uint64_t t = 0;
        if (!a || !sonde_map_get(&k->types, key, &t))
            continue;
        const unsigned bytes = t >> 16 & 0xff;
        const bool fits = (bytes < 8 ? bytes : 8) == a->element_bytes && (t >> 24) == (a->what == SONDE_ACCESS_STORE);
        if (fits && (t & 0xff) != SONDE_ELEMENT_BITS)
            rc = sonde_vector_push(&types, (struct sonde_row_type){.access = rows[i].access, .element_bytes = t >> 8 & 0xff, .type = t & 0xff});
    }
    if (!rc && types.count)
        rc = sonde_process_append(p->path, SONDE_TABLE_TYPE, p->tables[SONDE_TABLE_TYPE].count, types.items, (uint32_t)types.count, diag);
    else if (rc)
        sonde_diag_set(diag, rc, p->path, "cannot add types to");
    sonde_vector_fini(&types);
    return rc;
}

/* One of its kernels whose code was not among that which is kept. */
static const char *kernel_without(const struct kernels *k, const struct sonde_process *p)
{
    uint32_t count;
    uint64_t seen;
    const struct sonde_row_bits *rows = bits_of(p, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = kernel_of(p, access_of(p, &rows[i]));
        if (*name && !sonde_map_get(&k->kept, sonde_intern_find(&k->names, name), &seen))
            return name;
    }
    return NULL;
}

static int append_note(const struct kernels *k, const struct sonde_process *p, struct sonde_diag *diag)
{
    struct sonde_row_note note = {.at_ns = p->header.stop_ns};
    uint32_t count;
    bits_of(p, &count);
    const char *without = k->program && !k->failed ? kernel_without(k, p) : NULL;
    if (count <= 1 || (k->program && !k->failed && !without))
        return 0;
    if (!k->program)
        snprintf(note.text, sizeof note.text, "values: types of machine code are not known, for nvdisasm was not found: " SONDE_NVDISASM_GET);
    else if (without)
        snprintf(note.text, sizeof note.text, "values: types of some machine code are not known, for it was not kept: %.120s, and perhaps others", without);
    else
        snprintf(note.text, sizeof note.text, "values: types of some machine code are not known: %.160s could not read it", k->program);
    return sonde_process_append(p->path, SONDE_TABLE_NOTE, p->note_count, &note, 1, diag);
}

int sonde_types_resolve(const char *dir, struct sonde_diag *diag)
{
    struct sonde_measurement *m = NULL;
    struct kernels k = {0};
    char program[PATH_MAX];
    int rc = sonde_measurement_open(dir, &m, diag);
    for (uint32_t i = 0; !rc && i < m->process_count; i++)
        rc = m->processes[i].sealed ? want(&k, &m->processes[i]) : 0;
    k.program = k.names.count && sonde_nvdisasm_find(program, sizeof program) ? program : NULL;
    if (!rc && k.program) {
        struct sonde__disassembly d = {.program = k.program, .wants = wants, .read = read_text, .user = &k};
        rc = sonde__disassemble(&d, dir);
        k.failed = d.failed;
    }
    if (rc && m)
        sonde_diag_set(diag, rc, dir, "cannot find the types of");
    for (uint32_t i = 0; !rc && m && k.names.count && i < m->process_count; i++) {
        rc = m->processes[i].sealed ? append_types(&k, &m->processes[i], diag) : 0;
        rc = rc || !m->processes[i].sealed ? rc : append_note(&k, &m->processes[i], diag);
    }
    sonde_measurement_close(m);
    sonde_map_fini(&k.types);
    sonde_map_fini(&k.kept);
    sonde_intern_fini(&k.names);
    return rc;
}
