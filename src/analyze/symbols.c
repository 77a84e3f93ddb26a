/* symbols.c - from the frames of a process to SYMBOL rows: each module's file is opened once, several at a time. */
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "cubin.h"
#include "format/writer.h"
#include "perf_map.h"
#include "symbols_module.h"

/* ---- which frames ------------------------------------------------------------------- */

static int by_module(const void *left, const void *right)
{
    const struct sonde__wanted_frame *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* stored[frame] is set where a stored symbol names a function. */
static uint8_t *stored_frames(const struct sonde_process *p)
{
    uint8_t *stored = calloc(p->frame_count + 1, 1);
    for (uint32_t i = 0; stored && i < p->symbol_count; i++)
        if (p->symbols[i].frame < p->frame_count && p->symbols[i].function)
            stored[p->symbols[i].frame] = 1;
    return stored;
}

static struct sonde__wanted_frame *wanted_frames(const struct sonde_process *p, size_t *count)
{
    SONDE_VECTOR(struct sonde__wanted_frame) list = {0};
    uint8_t *stored = stored_frames(p);
    int rc = stored ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->frame_count && !rc; i++)
        if (p->frames[i].kind == SONDE_FRAME_NATIVE && !stored[i] && p->frames[i].module < p->module_count)
            rc = sonde_vector_push(&list, (struct sonde__wanted_frame){p->frames[i].module, i});
    free(stored);
    if (rc) {
        sonde_vector_fini(&list);
        *count = SIZE_MAX;
        return NULL;
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_module);
    *count = list.count;
    return list.items;
}

/* ---- the modules ---------------------------------------------------------------------- */

struct part { /* one module */
    const struct sonde__wanted_frame *frames;
    size_t count;
    struct sonde_symbols symbols;
};

struct parts {
    const struct sonde_process *process;
    struct sonde_progress *progress;
    SONDE_VECTOR(struct part) list;
};

static int find_part(void *user, uint32_t task)
{
    struct parts *parts = user;
    struct part *part = &parts->list.items[task];
    int rc = sonde__symbols_of_module(parts->process, part->frames, part->count, &part->symbols);
    sonde_progress_add(parts->progress, 1);
    return rc;
}

/* The part's strings have ids of their own. */
static int merge_part(struct sonde_symbols *out, const struct part *part)
{
    const struct sonde_intern *from = &part->symbols.strings;
    uint32_t *ids = calloc(from->count + 1, sizeof *ids);
    int rc = ids ? 0 : SONDE_ENOMEM;
    for (uint32_t id = 1; id <= from->count && !rc; id++) {
        ids[id] = sonde_intern_bytes(&out->strings, from->items[id - 1].bytes, from->items[id - 1].length);
        rc = ids[id] ? 0 : SONDE_ENOMEM;
    }
    for (size_t i = 0; i < part->symbols.rows.count && !rc; i++) {
        struct sonde_row_symbol row = part->symbols.rows.items[i];
        row.function = ids[row.function];
        row.file = ids[row.file];
        row.module = ids[row.module];
        rc = sonde_vector_push(&out->rows, row);
    }
    for (size_t i = 0; i < part->symbols.notes.count && !rc; i++)
        rc = sonde_vector_push(&out->notes, part->symbols.notes.items[i]);
    for (size_t i = 0; i < part->symbols.partly.count && !rc; i++)
        rc = sonde_vector_push(&out->partly, part->symbols.partly.items[i]);
    free(ids);
    return rc;
}

/* `list` is in the order of modules. */
static int find_modules(struct parts *parts, const struct sonde__wanted_frame *list, size_t count, struct sonde_symbols *out)
{
    int rc = 0;
    for (size_t i = 0, end; i < count && !rc; i = end) {
        for (end = i + 1; end < count && list[end].module == list[i].module;)
            end++;
        rc = sonde_vector_push(&parts->list, (struct part){.frames = &list[i], .count = end - i});
    }
    sonde_progress_expect(parts->progress, parts->list.count);
    if (!rc)
        rc = sonde_parallel_run(sonde_parallel_threads(), (uint32_t)parts->list.count, find_part, parts);
    for (size_t i = 0; i < parts->list.count; i++) {
        rc = rc ? rc : merge_part(out, &parts->list.items[i]);
        sonde_symbols_fini(&parts->list.items[i].symbols);
    }
    sonde_vector_fini(&parts->list);
    return rc;
}

/* ---- kernels: where the code that was kept says they are ----------------------------------- */

struct finder {
    const struct sonde_process *process;
    struct sonde_symbols       *out;
    struct sonde_map            demangled;
};

struct places { /* by the interned name of the kernel's symbol */
    struct finder *finder;
    struct sonde_map by_name; /* -> file << 32 | line; 0: several that differ */
    bool failed;
};

static void kernel_place(void *user, const char *kernel, const char *file, unsigned line)
{
    struct places *places = user;
    struct sonde_intern *strings = &places->finder->out->strings;
    const uint32_t name = sonde_intern_text(strings, kernel), at = sonde_intern_text(strings, file);
    uint64_t place = (uint64_t)at << 32 | line, known;
    /* Kernels of one name in several pieces of code (compiled just in time, or
     * of two programs): which of them ran is unknown where they differ. */
    if (sonde_map_get(&places->by_name, name, &known) && known != place)
        place = 0;
    if (name && at)
        places->failed |= sonde_map_put(&places->by_name, name, place) != 0;
}

/* The folder `code` stands beside those of the processes. False: there is none. */
static bool read_kernel_places(struct places *places, const struct sonde_process *p)
{
    struct sonde_text folder = {0};
    sonde_text_add(&folder, p->path ? p->path : "");
    sonde_text_add(&folder, "/../code");
    const bool there = p->path && !folder.failed && sonde__cubins_read(sonde_text_get(&folder), kernel_place, places);
    sonde_text_fini(&folder);
    return there;
}

/* A row for each kernel, so that they are looked for once; without a file where
 * its code has no line table. */
static int find_kernels(struct finder *f, const uint8_t *stored)
{
    const struct sonde_process *p = f->process;
    struct places places = {.finder = f};
    bool looked = false;
    int rc = 0;
    for (uint32_t i = 1; i < p->frame_count && !rc; i++) {
        const struct sonde_row_frame *frame = &p->frames[i];
        uint64_t place = 0;
        if (frame->kind != SONDE_FRAME_OP || frame->op != SONDE_OP_KERNEL || !frame->name || stored[i])
            continue;
        if (!looked && !read_kernel_places(&places, p))
            break;
        looked = true;
        const char *name = sonde_process_string(p, frame->name);
        sonde_map_get(&places.by_name, sonde_intern_text(&f->out->strings, name), &place);
        rc = sonde_vector_push(&f->out->rows, (struct sonde_row_symbol){
                                   .frame = i, .function = sonde__symbols_name(&f->out->strings, &f->demangled, name), .file = (uint32_t)(place >> 32),
                                   .line = (uint32_t)place});
    }
    sonde_map_fini(&places.by_name);
    return rc || places.failed ? SONDE_ENOMEM : 0;
}

static int by_frame(const void *left, const void *right)
{
    const struct sonde_row_symbol *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

int sonde_symbols_find(const struct sonde_process *process, struct sonde_progress *progress, struct sonde_symbols *out)
{
    struct parts parts = {.process = process, .progress = progress};
    struct finder f = {.process = process, .out = out};
    size_t count;
    struct sonde__wanted_frame *list = wanted_frames(process, &count);
    if (count == SIZE_MAX)
        return SONDE_ENOMEM;
    int rc = find_modules(&parts, list, count, out);
    uint8_t *stored = rc ? NULL : stored_frames(process);
    if (!rc)
        rc = stored ? find_kernels(&f, stored) : SONDE_ENOMEM;
    free(stored);
    if (out->rows.count)
        qsort(out->rows.items, out->rows.count, sizeof *out->rows.items, by_frame);
    sonde_map_fini(&f.demangled);
    free(list);
    return rc;
}

void sonde_symbols_fini(struct sonde_symbols *symbols)
{
    sonde_vector_fini(&symbols->rows);
    sonde_vector_fini(&symbols->notes);
    sonde_vector_fini(&symbols->partly);
    sonde_intern_fini(&symbols->strings);
}

/* ---- into the measurement ---------------------------------------------------------------- */

/* Strings follow the process's own: id of ours + those before it. Segment form: u32 length, bytes, padding. */
static int append_strings(const char *dir, const struct sonde_process *p, const struct sonde_symbols *s,
                          struct sonde_diag *diag)
{
    struct sonde_text segment = {0};
    int rc = 0;
    for (uint32_t id = 1; id <= s->strings.count; id++) {
        static const char zeros[4];
        uint32_t length = s->strings.items[id - 1].length;
        if (length > SONDE_SEGMENT_ROOM / 2)
            length = SONDE_SEGMENT_ROOM / 2;
        sonde_text_add_bytes(&segment, (const char *)&length, sizeof length);
        sonde_text_add_bytes(&segment, s->strings.items[id - 1].bytes, length);
        sonde_text_add_bytes(&segment, zeros, -length & 3u);
    }
    if (segment.failed || segment.length > UINT32_MAX)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot add symbols to");
    else if (segment.length)
        rc = sonde_process_append(dir, SONDE_TABLE_STRING, p->string_count, segment.bytes,
                                  (uint32_t)segment.length, diag);
    sonde_text_fini(&segment);
    return rc;
}

static int append(const char *dir, const struct sonde_process *p, struct sonde_symbols *s, struct sonde_diag *diag)
{
    uint32_t before = p->string_count ? p->string_count - 1 : 0;
    for (size_t i = 0; i < s->rows.count; i++) {
        struct sonde_row_symbol *row = &s->rows.items[i];
        row->function += row->function ? before : 0;
        row->file += row->file ? before : 0;
        row->module += row->module ? before : 0;
    }
    int rc = append_strings(dir, p, s, diag);
    if (!rc && s->rows.count)
        rc = sonde_process_append(dir, SONDE_TABLE_SYMBOL, p->symbol_count, s->rows.items, (uint32_t)s->rows.count, diag);
    if (!rc && s->notes.count)
        rc = sonde_process_append(dir, SONDE_TABLE_NOTE, p->note_count, s->notes.items, (uint32_t)s->notes.count, diag);
    return rc;
}

/* Only now: later the number may be another process's, and the file another machine's. */
static int find_made_code(const struct sonde_process *p, struct sonde_symbols *out)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%u.map", p->header.pid);
    return sonde__perf_map_read(path, p, out);
}

int sonde_symbols_resolve(const char *process_dir, struct sonde_progress *progress, struct sonde_diag *diag)
{
    struct sonde_symbols symbols = {0};
    struct sonde_measurement *m = NULL; /* a process directory alone is a measurement of one process */
    int rc = sonde_measurement_open(process_dir, &m, diag);
    if (!rc && m->process_count != 1)
        rc = sonde_diag_set(diag, SONDE_ENOTFOUND, process_dir, "no process of a measurement is in");
    /* Once is enough: reports look again for what was unknown. */
    if (!rc && m->processes[0].symbol_count == 0) {
        rc = sonde_symbols_find(&m->processes[0], progress, &symbols);
        rc = rc ? rc : find_made_code(&m->processes[0], &symbols);
        rc = rc ? sonde_diag_set(diag, rc, process_dir, "cannot resolve the symbols of")
                : append(process_dir, &m->processes[0], &symbols, diag);
    }
    sonde_symbols_fini(&symbols);
    sonde_measurement_close(m);
    return rc;
}
