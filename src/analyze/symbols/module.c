/* module.c - opens a module's file once and asks it for all of its frames. See module.h.
 *
 * A frame's offset is a return address, the instruction after the call: one
 * byte less is inside the call (DWARF 5, section 6.4.4 note on return addresses).
 */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "debug_file.h"

struct finder {
    const struct sonde_process *process;
    struct sonde_symbols *out;
    struct sonde_map demangled; /* interned mangled name -> interned name */
};

uint32_t sonde__symbols_name(struct sonde_intern *strings, struct sonde_map *known, const char *name)
{
    uint32_t id = sonde_intern_text(strings, name);
    uint64_t before;
    if (!id || !sonde_is_mangled(name))
        return id;
    if (sonde_map_get(known, id, &before))
        return (uint32_t)before;
    char *readable = sonde_demangle(name);
    before = readable ? sonde_intern_text(strings, readable) : id;
    free(readable);
    (void)sonde_map_put(known, id, before);
    return (uint32_t)before;
}

#define NO_SYMBOLS "no symbols for "

bool sonde_symbols_is_note(const char *text)
{
    return strncmp(text, NO_SYMBOLS, sizeof NO_SYMBOLS - 1) == 0;
}

static void note(struct finder *f, const char *path, const char *why)
{
    struct sonde_row_note row = {.at_ns = f->process->header.stop_ns};
    snprintf(row.text, sizeof row.text, NO_SYMBOLS "%.140s: %.90s", path, why);
    (void)sonde_vector_push(&f->out->notes, row); /* without it the frames still show as offsets */
}

/* Where the debug files of the C library are installed, unpacking them takes longer (60 ms) than everything
 * else that is done at the end of a short run, for lines that nobody can change. */
static bool is_c_library(const char *path)
{
    static const char *const names[] = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux", "ld.so"};
    const char *name = sonde_path_base(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const struct sonde_row_module *module_of(const struct sonde_process *p, const struct sonde__wanted_frame *frame)
{
    return &p->modules[p->frames[frame->frame].module];
}

/* `why` stays empty where there is nothing to say. */
static struct sonde__debug_file *open_module(const struct sonde_process *p, const struct sonde_row_module *module, char *why,
                                             size_t why_bytes)
{
    uint32_t id = module->build_id < p->string_count ? module->build_id : 0;
    struct sonde__debug_wanted wanted = {
        .path = sonde_process_string(p, module->path),
        .build_id = (const uint8_t *)p->strings[id].bytes,
        .build_id_bytes = id ? p->strings[id].length : 0,
        .names_only = is_c_library(sonde_process_string(p, module->path)),
        .wall_ns = p->header.wall_offset_ns ? p->header.start_ns + p->header.wall_offset_ns : 0,
    };
    const bool vdso = sonde__debug_is_vdso(wanted.path);
    if (wanted.path[0] != '/' && !vdso) /* memory files: nothing on disk to read */
        return NULL;
    struct sonde__debug_file *object = sonde__debug_open(&wanted, why, why_bytes);
    if (vdso) /* another kernel's: nobody can do anything about it */
        *why = 0;
    return object;
}

static uint64_t address_of(const struct sonde_row_frame *row)
{
    return row->flags & SONDE_FRAME_EXACT || !row->offset ? row->offset : row->offset - 1;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* In rising order; the caller frees them. */
static uint64_t *addresses_of(const struct sonde_process *const *processes, const struct sonde__wanted_frame *frames, size_t count)
{
    uint64_t *addresses = malloc(count * sizeof *addresses);
    for (size_t i = 0; addresses && i < count; i++)
        addresses[i] = address_of(&processes[frames[i].process]->frames[frames[i].frame]);
    if (addresses)
        qsort(addresses, count, sizeof *addresses, by_value);
    return addresses;
}

/* `nameless` counts frames without a function. */
static int add_frame(struct finder *f, struct sonde__debug_file *object, uint32_t frame, uint32_t module, size_t *nameless)
{
    struct sonde__place places[SONDE__PLACES_MAX];
    size_t count = object ? sonde__debug_lookup(object, address_of(&f->process->frames[frame]), places) : 0;
    for (size_t i = 0; i < count; i++) {
        struct sonde_row_symbol symbol = {
            .frame = frame,
            .depth = (uint32_t)i,
            .line = places[i].line,
            .module = module,
            .function = sonde__symbols_name(&f->out->strings, &f->demangled, places[i].function),
            .file = sonde_intern_text(&f->out->strings, places[i].file),
        };
        if (sonde_vector_push(&f->out->rows, symbol))
            return SONDE_ENOMEM;
    }
    if (count)
        return 0;
    ++*nameless;
    return sonde_vector_push(&f->out->rows, (struct sonde_row_symbol){.frame = frame, .module = module});
}

/* Of one process. */
static int add_frames(const struct sonde_process *p, const struct sonde__wanted_frame *frames, size_t count,
                      struct sonde__debug_file *object, const char *why, struct sonde_symbols *out)
{
    struct finder f = {.process = p, .out = out};
    const char *path = sonde_process_string(p, module_of(p, &frames[0])->path);
    const uint32_t name = sonde_intern_text(&out->strings, path);
    size_t nameless = 0;
    int rc = 0;
    if (!object && *why)
        note(&f, path, why);
    for (size_t i = 0; i < count && !rc; i++)
        rc = add_frame(&f, object, frames[i].frame, name, &nameless);
    if (object && nameless && !rc && !is_c_library(path) && !sonde__debug_is_stripped(object))
        rc = sonde_vector_push(&out->partly, path);
    sonde_map_fini(&f.demangled);
    return rc;
}

int sonde__symbols_of_module(const struct sonde_process *const *processes, const struct sonde__wanted_frame *frames,
                             size_t count, struct sonde_symbols *outs)
{
    const struct sonde_process *first = processes[frames[0].process];
    uint64_t *addresses = addresses_of(processes, frames, count);
    char why[96] = "";
    int rc = addresses ? 0 : SONDE_ENOMEM;
    struct sonde__debug_file *object = rc ? NULL : open_module(first, module_of(first, &frames[0]), why, sizeof why);
    if (object)
        sonde__debug_expect(object, addresses, count);
    for (size_t i = 0, end, k = 0; i < count && !rc; i = end, k++) {
        for (end = i + 1; end < count && frames[end].process == frames[i].process;)
            end++;
        rc = add_frames(processes[frames[i].process], &frames[i], end - i, object, why, &outs[k]);
    }
    sonde__debug_close(object);
    free(addresses);
    return rc;
}
