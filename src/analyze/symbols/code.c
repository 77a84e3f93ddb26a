/* code.c - see code.h. What is not understood stays as it is.
 *
 * A kernel has a section of its own, .text.NAME. Where it did not run its
 * instructions become repetitions of the section's last 32 bytes, which are
 * whole instructions on every architecture (padding, most often): the file
 * keeps its form, NVIDIA's tools read it, and it packs to nearly nothing.
 * Functions that kernels call stand in sections of their own and stay.
 */
#include "code.h"

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "analyze/model/totals.h"
#include "base/kinds.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/vector.h"
#include "cubin.h"
#include "format/folder.h"
#include "format/reader.h"

enum {
    KERNEL_MARK = 0x10,
    UNIT_BYTES = 32,
}; /* st_other of a kernel's symbol: STO_CUDA_ENTRY */

/* ---- one piece ----------------------------------------------------------------------- */

struct piece {
    char *bytes;
    size_t size;
    const char *const *ran;
    size_t ran_count;
    size_t kernels, kept;
    bool unknown; /* kernels may have been launched by kernels, of which nothing is reported */
};

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool has_run(const struct piece *p, const char *name)
{
    return p->ran_count && bsearch(&name, p->ran, p->ran_count, sizeof *p->ran, by_text);
}

static bool launches(const char *name)
{
    return strstr(name, "cudaLaunchDevice") || strstr(name, "cudaCDP2") || strstr(name, "cudaGetParameterBuffer");
}

static void take_out(struct piece *p, Elf *elf, size_t section)
{
    GElf_Shdr head;
    if (!gelf_getshdr(elf_getscn(elf, section), &head) || head.sh_type != SHT_PROGBITS || head.sh_offset > p->size ||
        head.sh_size > p->size - head.sh_offset || head.sh_size % UNIT_BYTES || !(head.sh_flags & SHF_EXECINSTR))
        return;
    char *code = p->bytes + head.sh_offset;
    for (uint64_t at = 0; at + UNIT_BYTES < head.sh_size; at += UNIT_BYTES)
        memcpy(code + at, code + head.sh_size - UNIT_BYTES, UNIT_BYTES);
}

/* Twice: first only counted. */
static void each_symbol(struct piece *p, Elf *elf, Elf_Scn *table, bool change)
{
    GElf_Shdr head;
    GElf_Sym symbol;
    Elf_Data *data = gelf_getshdr(table, &head) && head.sh_type == SHT_SYMTAB ? elf_getdata(table, NULL) : NULL;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);
        if (!name)
            continue;
        p->unknown |= launches(name);
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & KERNEL_MARK))
            continue;
        const bool ran = has_run(p, name);
        if (change && !ran)
            take_out(p, elf, symbol.st_shndx);
        p->kernels += !change;
        p->kept += !change && ran;
    }
}

static void each_table(struct piece *p, Elf *elf, bool change)
{
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
        each_symbol(p, elf, s, change);
}

enum sonde__code_left sonde__code_reduce(void *bytes, size_t size, const char *const *ran, size_t count)
{
    struct piece p = {.bytes = bytes, .size = size, .ran = ran, .ran_count = count};
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(bytes, size);
    if (!elf)
        return SONDE__CODE_WHOLE;
    each_table(&p, elf, false);
    const bool part = p.kept && p.kept < p.kernels && !p.unknown;
    if (part)
        each_table(&p, elf, true);
    elf_end(elf);
    return part ? SONDE__CODE_PART : (p.kernels && !p.kept ? SONDE__CODE_NONE : SONDE__CODE_WHOLE);
}

/* ---- the folder ------------------------------------------------------------------------ */

struct trim {
    struct sonde__cubin_paths paths;
    SONDE_VECTOR(const char *) ran; /* sorted */
    struct sonde_progress *progress;
};

static int replace(const char *path, const void *bytes, size_t size)
{
    struct sonde_text part = {0};
    sonde_text_format(&part, "%s.%d" SONDE_PART_SUFFIX, path, (int)getpid());
    const int rc = part.failed ? SONDE_ENOMEM : (sonde_file_replace(path, sonde_text_get(&part), bytes, size) != 0 ? SONDE_EIO : 0);
    sonde_text_fini(&part);
    return rc;
}

static int store(const char *path, const void *bytes, size_t size)
{
    const size_t room = ZSTD_compressBound(size);
    void *packed = malloc(room);
    const size_t stored = packed ? ZSTD_compress(packed, room, bytes, size, 3) : 0;
    const int rc = !packed || ZSTD_isError(stored) ? SONDE_ENOMEM : replace(path, packed, stored);
    free(packed);
    return rc;
}

static int trim_piece(void *user, uint32_t task)
{
    struct trim *t = user;
    const char *path = t->paths.items[task];
    size_t size = 0;
    int rc = 0;
    void *bytes = sonde__cubin_load(path, &size);
    switch (bytes ? sonde__code_reduce(bytes, size, t->ran.items, t->ran.count) : SONDE__CODE_WHOLE) {
    case SONDE__CODE_NONE: rc = unlink(path) == 0 ? 0 : SONDE_EIO; break;
    case SONDE__CODE_PART: rc = store(path, bytes, size); break;
    case SONDE__CODE_WHOLE: break;
    }
    free(bytes);
    sonde_progress_add(t->progress, 1);
    return rc;
}

/* The names of the kernels that ran; *complete becomes false where something without a name ran. */
static int collect_names(struct trim *t, const struct sonde_process *p, bool *complete)
{
    int rc = 0;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_node *node = p->profiles[i].count ? sonde_process_node(p, p->profiles[i].node, NULL) : NULL;
        const struct sonde_row_frame *f = node && node->frame < p->frame_count ? &p->frames[node->frame] : NULL;
        if (!f || f->kind != SONDE_FRAME_OP || sonde_op_kind_group(f->op) != SONDE_GROUP_KERNEL)
            continue;
        const char *name = sonde_process_string(p, f->name);
        if (f->op != SONDE_OP_KERNEL || !*name)
            *complete = false;
        else
            rc = sonde_vector_push(&t->ran, name);
    }
    return rc;
}

/* What was sampled ran, too, whatever operations are called. */
static int collect_sampled(struct trim *t, const struct sonde_process *p)
{
    const struct sonde_row_stall *rows = p->tables[SONDE_TABLE_STALL].rows;
    uint32_t last = 0; /* rows of one function mostly follow each other */
    int rc = 0;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_STALL].count && !rc; i++) {
        if (rows[i].function && rows[i].function != last)
            rc = sonde_vector_push(&t->ran, sonde_process_string(p, rows[i].function));
        last = rows[i].function;
    }
    return rc;
}

/* Is every kernel that ran in the measurement, with its name? */
static int collect(struct trim *t, const struct sonde_measurement *m, bool *complete)
{
    struct sonde_totals totals = {0};
    int rc = sonde_totals_compute(m, &totals);
    const struct sonde_ledger *l = &totals.ledger;
    *complete = !totals.dropped_operations && !totals.in_flight && !totals.killed && !totals.damaged_chunks &&
                !l->unmatched && !l->unplaced && !l->silent_launches && !l->contexts_folded;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = collect_names(t, &m->processes[i], complete) || collect_sampled(t, &m->processes[i]) ? SONDE_ENOMEM : 0;
    if (t->ran.count)
        qsort(t->ran.items, t->ran.count, sizeof *t->ran.items, by_text);
    sonde_totals_fini(&totals);
    return rc;
}

static int trim_folder(struct trim *t, const char *dir)
{
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag;
    bool complete = false;
    int rc = sonde_measurement_open(dir, &m, &diag);
    if (!rc)
        rc = collect(t, m, &complete);
    if (!rc && complete)
        rc = sonde_parallel_run(sonde_parallel_threads(), (uint32_t)t->paths.count, trim_piece, t);
    sonde_measurement_close(m);
    return rc;
}

int sonde_code_trim(const char *dir, struct sonde_progress *progress)
{
    struct trim t = {.progress = progress};
    struct sonde_text folder = {0};
    sonde_text_format(&folder, "%s/" SONDE_CODE_FOLDER, dir);
    int rc = sonde__cubins_list(sonde_text_get(&folder), &t.paths);
    sonde_progress_expect(progress, t.paths.count);
    if (!rc && t.paths.count)
        rc = trim_folder(&t, dir);
    if (t.paths.count)
        rmdir(sonde_text_get(&folder)); /* when nothing is left */
    for (size_t i = 0; i < t.paths.count; i++)
        free(t.paths.items[i]);
    sonde_vector_fini(&t.paths);
    sonde_vector_fini(&t.ran);
    sonde_text_fini(&folder);
    return rc;
}
