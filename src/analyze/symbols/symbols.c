/* symbols.c - from the frames of processes to SYMBOL rows: each module's file is opened once, several at a time.
 * Ranks of a job have the same modules, whose symbols are most of the work. */
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "cubin.h"
#include "format/folder.h"
#include "format/writer.h"
#include "module.h"
#include "perf_map.h"

/* ---- which frames ------------------------------------------------------------------- */

static int by_module(const void *left, const void *right)
{
    const struct sonde__wanted_frame *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
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

/* Number of the file that a module was loaded from. Without a build id it may be another file in each process. */
static uint32_t file_number(struct sonde_intern *files, const struct sonde_process *p, uint32_t process, uint32_t module)
{
    const struct sonde_row_module *m = &p->modules[module];
    const uint32_t build = m->build_id < p->string_count ? m->build_id : 0;
    struct sonde_text key = {0};
    sonde_text_add(&key, sonde_process_string(p, m->path));
    sonde_text_add_bytes(&key, "", 1);
    if (build)
        sonde_text_add_bytes(&key, p->strings[build].bytes, p->strings[build].length);
    else
        sonde_text_format(&key, "%u", process);
    const uint32_t id = key.failed ? 0 : sonde_intern_bytes(files, key.bytes, key.length);
    sonde_text_fini(&key);
    return id;
}

typedef SONDE_VECTOR(struct sonde__wanted_frame) wanted_frames;

static int want_frames(wanted_frames *list, struct sonde_intern *files, const struct sonde_process *p, uint32_t process)
{
    uint8_t *stored = stored_frames(p);
    uint32_t *numbers = calloc(p->module_count + 1, sizeof *numbers);
    int rc = stored && numbers ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->frame_count && !rc; i++) {
        const uint32_t module = p->frames[i].module;
        if (p->frames[i].kind != SONDE_FRAME_NATIVE || stored[i] || module >= p->module_count)
            continue;
        if (!numbers[module])
            numbers[module] = file_number(files, p, process, module);
        rc = numbers[module] ? sonde_vector_push(list, (struct sonde__wanted_frame){numbers[module], process, i}) : SONDE_ENOMEM;
    }
    free(stored);
    free(numbers);
    return rc;
}

/* ---- the modules ---------------------------------------------------------------------- */

struct part { /* one module */
    const struct sonde__wanted_frame *frames;
    size_t count;
    uint32_t processes;            /* that have it */
    struct sonde_symbols *symbols; /* [processes] */
};

struct parts {
    const struct sonde_process *const *processes;
    struct sonde_progress *progress;
    SONDE_VECTOR(struct part) list;
};

static int find_part(void *user, uint32_t task)
{
    struct parts *parts = user;
    struct part *part = &parts->list.items[task];
    for (size_t i = 0; i < part->count; i++)
        part->processes += i == 0 || part->frames[i].process != part->frames[i - 1].process;
    part->symbols = calloc(part->processes, sizeof *part->symbols);
    int rc = part->symbols ? sonde__symbols_of_module(parts->processes, part->frames, part->count, part->symbols) : SONDE_ENOMEM;
    sonde_progress_add(parts->progress, 1);
    return rc;
}

/* The part's strings have ids of their own. */
static int merge_symbols(struct sonde_symbols *out, const struct sonde_symbols *part)
{
    const struct sonde_intern *from = &part->strings;
    uint32_t *ids = calloc(from->count + 1, sizeof *ids);
    int rc = ids ? 0 : SONDE_ENOMEM;
    for (uint32_t id = 1; id <= from->count && !rc; id++) {
        ids[id] = sonde_intern_bytes(&out->strings, from->items[id - 1].bytes, from->items[id - 1].length);
        rc = ids[id] ? 0 : SONDE_ENOMEM;
    }
    for (size_t i = 0; i < part->rows.count && !rc; i++) {
        struct sonde_row_symbol row = part->rows.items[i];
        row.function = ids[row.function];
        row.file = ids[row.file];
        row.module = ids[row.module];
        rc = sonde_vector_push(&out->rows, row);
    }
    for (size_t i = 0; i < part->notes.count && !rc; i++)
        rc = sonde_vector_push(&out->notes, part->notes.items[i]);
    for (size_t i = 0; i < part->partly.count && !rc; i++)
        rc = sonde_vector_push(&out->partly, part->partly.items[i]);
    free(ids);
    return rc;
}

static int merge_part(struct sonde_symbols *outs, const struct part *part)
{
    int rc = 0;
    for (size_t i = 0, k = 0; i < part->count && !rc; i++)
        if (i == 0 || part->frames[i].process != part->frames[i - 1].process)
            rc = merge_symbols(&outs[part->frames[i].process], &part->symbols[k++]);
    return rc;
}

static void free_part(struct part *part)
{
    for (uint32_t i = 0; part->symbols && i < part->processes; i++)
        sonde_symbols_fini(&part->symbols[i]);
    free(part->symbols);
}

/* `list` is in the order of modules. */
static int find_modules(struct parts *parts, const struct sonde__wanted_frame *list, size_t count, struct sonde_symbols *outs)
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
        rc = rc ? rc : merge_part(outs, &parts->list.items[i]);
        free_part(&parts->list.items[i]);
    }
    sonde_vector_fini(&parts->list);
    return rc;
}

/* ---- kernels: where the code that was kept says they are ----------------------------------- */

struct places { /* of one measurement */
    struct sonde_intern strings;
    struct sonde_map by_name; /* interned symbol of a kernel -> file << 32 | line; 0: several that differ */
    bool looked, there, failed;
};

static void kernel_place(void *user, const char *kernel, const char *file, unsigned line)
{
    struct places *places = user;
    const uint32_t name = sonde_intern_text(&places->strings, kernel), at = sonde_intern_text(&places->strings, file);
    uint64_t place = (uint64_t)at << 32 | line, known;
    /* Kernels of one name in several pieces of code (compiled just in time, or
     * of two programs): which of them ran is unknown where they differ. */
    if (sonde_map_get(&places->by_name, name, &known) && known != place)
        place = 0;
    if (name && at)
        places->failed |= sonde_map_put(&places->by_name, name, place) != 0;
}

/* The folder `code` stands beside those of the processes, and is read when the first kernel is met. False: there is none. */
static bool read_kernel_places(struct places *places, const struct sonde_process *p)
{
    struct sonde_text folder = {0};
    if (places->looked)
        return places->there;
    sonde_text_add(&folder, p->path ? p->path : "");
    sonde_text_add(&folder, "/../" SONDE_CODE_FOLDER);
    places->looked = true;
    places->there = p->path && !folder.failed && sonde__cubins_read(sonde_text_get(&folder), kernel_place, places);
    sonde_text_fini(&folder);
    return places->there;
}

/* A row for each kernel, so that they are looked for once; without a file where
 * its code has no line table. */
static int find_kernels(const struct sonde_process *p, struct places *places, const uint8_t *stored, struct sonde_symbols *out)
{
    struct sonde_map demangled = {0};
    int rc = 0;
    for (uint32_t i = 1; i < p->frame_count && !rc; i++) {
        const struct sonde_row_frame *frame = &p->frames[i];
        uint64_t place = 0;
        if (frame->kind != SONDE_FRAME_OP || frame->op != SONDE_OP_KERNEL || !frame->name || stored[i])
            continue;
        if (!read_kernel_places(places, p))
            break;
        const char *name = sonde_process_string(p, frame->name);
        sonde_map_get(&places->by_name, sonde_intern_text(&places->strings, name), &place);
        const char *file = sonde_intern_get(&places->strings, (uint32_t)(place >> 32));
        rc = sonde_vector_push(&out->rows,
                               (struct sonde_row_symbol){
                                   .frame = i,
                                   .function = sonde__symbols_name(&out->strings, &demangled, name),
                                   .file = sonde_intern_text(&out->strings, file),
                                   .line = (uint32_t)place,
                               });
    }
    sonde_map_fini(&demangled);
    return rc || places->failed ? SONDE_ENOMEM : 0;
}

static int by_frame(const void *left, const void *right)
{
    const struct sonde_row_symbol *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static int finish_process(const struct sonde_process *p, struct places *places, struct sonde_symbols *out)
{
    uint8_t *stored = stored_frames(p);
    const int rc = stored ? find_kernels(p, places, stored, out) : SONDE_ENOMEM;
    free(stored);
    if (out->rows.count)
        qsort(out->rows.items, out->rows.count, sizeof *out->rows.items, by_frame);
    return rc;
}

/* Into outs[i] of processes[i], which are of one measurement. */
static int find_all(const struct sonde_process *const *processes, uint32_t count, struct sonde_progress *progress,
                    struct sonde_symbols *outs)
{
    struct parts parts = {.processes = processes, .progress = progress};
    struct sonde_intern files = {0};
    struct places places = {0};
    wanted_frames list = {0};
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = want_frames(&list, &files, processes[i], i);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_module);
    if (!rc)
        rc = find_modules(&parts, list.items, list.count, outs);
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = finish_process(processes[i], &places, &outs[i]);
    sonde_intern_fini(&places.strings);
    sonde_map_fini(&places.by_name);
    sonde_intern_fini(&files);
    sonde_vector_fini(&list);
    return rc;
}

int sonde_symbols_find(const struct sonde_process *process, struct sonde_progress *progress, struct sonde_symbols *out)
{
    return find_all(&process, 1, progress, out);
}

void sonde_symbols_fini(struct sonde_symbols *symbols)
{
    sonde_vector_fini(&symbols->rows);
    sonde_vector_fini(&symbols->notes);
    sonde_vector_fini(&symbols->partly);
    sonde_intern_fini(&symbols->strings);
}

/* ---- into the measurement ---------------------------------------------------------------- */

/* Segment form: u32 length, bytes, padding. */
int sonde__symbols_append_strings(const struct sonde_process *p, const struct sonde_intern *strings, struct sonde_diag *diag)
{
    struct sonde_text segment = {0};
    int rc = 0;
    for (uint32_t id = 1; id <= strings->count; id++) {
        static const char zeros[4];
        uint32_t length = strings->items[id - 1].length;
        if (length > SONDE_SEGMENT_ROOM / 2)
            length = SONDE_SEGMENT_ROOM / 2;
        sonde_text_add_bytes(&segment, (const char *)&length, sizeof length);
        sonde_text_add_bytes(&segment, strings->items[id - 1].bytes, length);
        sonde_text_add_bytes(&segment, zeros, -length & 3u);
    }
    if (segment.failed || segment.length > UINT32_MAX)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, p->path, "cannot add symbols to");
    else if (segment.length)
        rc = sonde_process_append(p->path, SONDE_TABLE_STRING, p->string_count, segment.bytes, (uint32_t)segment.length, diag);
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
    int rc = sonde__symbols_append_strings(p, &s->strings, diag);
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

enum { AT_ONCE = 32 }; /* processes that are open together */

static void open_jobs(struct sonde_symbols_job *jobs, size_t count, struct sonde_measurement **opened)
{
    for (size_t i = 0; i < count; i++) { /* a process directory alone is a measurement of one process */
        if (!jobs[i].error)
            jobs[i].error = sonde_measurement_open(jobs[i].dir, &opened[i], &jobs[i].diag);
        if (!jobs[i].error && opened[i]->process_count != 1)
            jobs[i].error = sonde_diag_set(&jobs[i].diag, SONDE_ENOTFOUND, jobs[i].dir, "no process of a measurement is in");
    }
}

static void resolve_some(struct sonde_symbols_job *jobs, size_t count, struct sonde_progress *progress)
{
    struct sonde_measurement *opened[AT_ONCE] = {0};
    const struct sonde_process *processes[AT_ONCE];
    struct sonde_symbols symbols[AT_ONCE] = {0};
    struct sonde_symbols_job *wanted[AT_ONCE];
    uint32_t n = 0;
    open_jobs(jobs, count, opened);
    for (size_t i = 0; i < count; i++)
        if (!jobs[i].error && opened[i]->processes[0].symbol_count == 0) { /* once is enough: reports look again for what was unknown */
            wanted[n] = &jobs[i];
            processes[n++] = &opened[i]->processes[0];
        }
    const int rc = n ? find_all(processes, n, progress, symbols) : 0;
    for (uint32_t i = 0; i < n; i++) {
        int error = rc ? rc : find_made_code(processes[i], &symbols[i]);
        wanted[i]->error = error ? sonde_diag_set(&wanted[i]->diag, error, wanted[i]->dir, "cannot resolve the symbols of")
                                 : append(wanted[i]->dir, processes[i], &symbols[i], &wanted[i]->diag);
        sonde_symbols_fini(&symbols[i]);
    }
    for (size_t i = 0; i < count; i++)
        sonde_measurement_close(opened[i]);
}

void sonde_symbols_resolve(struct sonde_symbols_job *jobs, size_t count, struct sonde_progress *progress)
{
    for (size_t i = 0; i < count; i += AT_ONCE)
        resolve_some(jobs + i, count - i < AT_ONCE ? count - i : AT_ONCE, progress);
}
