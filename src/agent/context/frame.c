/* frame.c - modules, and frames of every kind: native, Python, API calls, operations, ranges.
 *
 * Adding takes table_lock; finding a frame that is known takes none: there are
 * small lossy caches for that (guest/pairs.h).
 *
 * In a sample's handler the lock is only tried, and nothing is looked up that
 * takes the loader's: a frame in a module that is not known yet is asked for
 * (sonde__frames_look, by the monitor), and the sample is missed.
 */
#include "context.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

#include "agent/preload/preload.h"
#include "agent/stack/unwind_cfi.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "agent/store/table.h"
#include "guest/pairs.h"

#define SONDE_API_MAX 4096u
#define MODULES_LOOKED 8192u
#define PLACES_MAX 65536u            /* of code in no module, by address; beyond that by page */
#define KEY_PLACE  (1ull << 61)      /* in the known ones: of such a place */
#define KEY_MODULE 0x5bf0a8b1457695c1ull /* in frames.pc: of a module's start */
#define KEY_EXACT  0x2545f4914f6cdd1dull /* of an interrupted place, not a return address */
#define SKIP_BIT   (1ull << 32)          /* in a module's value: is_runtime_loader */

static struct {
    struct sonde_pairs pc, python;
    _Atomic uint32_t api[SONDE_BACKENDS_MAX][SONDE_API_MAX];
    _Atomic uint32_t kind[8];
    _Atomic uint32_t sleep[SONDE_SLEEPERS_MAX];
    uintptr_t looked_at;      /* start of the module that was last searched for an interpreter */
    uint64_t looked[MODULES_LOOKED / 64]; /* bit per module id: it was searched */
    uint32_t places;          /* of code in no module that have a frame of their own */
    _Atomic uintptr_t wanted[32];         /* pcs in modules that samples met first */
} frames;

int sonde__frames_init(void)
{
    const uint32_t entries = sonde__cache_entries();
    memset(&frames, 0, sizeof frames);
    frames.pc = frames.python = (struct sonde_pairs){.mask = entries - 1};
    frames.pc.at = sonde__heap_get(&sonde__agent.heap, entries * sizeof(struct sonde_pair));
    frames.python.at = sonde__heap_get(&sonde__agent.heap, entries * sizeof(struct sonde_pair));
    return frames.pc.at && frames.python.at ? 0 : SONDE_ENOMEM;
}

/* ---- modules -------------------------------------------------------------------- */

/* Build id: the GNU note among the program headers, which every module maps
 * with its first page. */
static uint32_t build_id(const unsigned char *image, uintptr_t bias, uintptr_t end)
{
    const ElfW(Ehdr) *e = (const void *)image;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_phentsize != sizeof(ElfW(Phdr)) || e->e_phoff > 4096)
        return 0;
    const ElfW(Phdr) *ph = (const void *)(image + e->e_phoff);
    for (int i = 0; i < e->e_phnum && i < 32; i++) {
        if (ph[i].p_type != PT_NOTE || bias + ph[i].p_vaddr + ph[i].p_memsz > end)
            continue;
        const unsigned char *n = (const void *)(bias + ph[i].p_vaddr), *stop = n + ph[i].p_memsz;
        while (stop - n >= (long)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)n;
            const unsigned char *name = n + sizeof *note;
            size_t room = (size_t)(stop - name);
            size_t skip = ((note->n_namesz + 3u) & ~3u) + ((note->n_descsz + 3u) & ~3u);
            if (skip > room)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
                return sonde__string_id((const char *)name + 4, note->n_descsz);
            n = name + skip;
        }
    }
    return 0;
}

/* Modules whose innermost frames say nothing about the program. */
static bool is_runtime_loader(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    return !strncmp(base, "libOpenCL.so", 12) || !strncmp(base, "libsonde-", 9) || !strncmp(base, "libcuda.so", 10) ||
           !strncmp(base, "libcupti.so", 11) || !strncmp(base, "libsanitizer-public.so", 22);
}

static char executable_path[4096];

/* All bits of the generation count: it never comes round, and two pairs of
 * (address, generation) with one key are as likely as two equal hashes. */
static uint64_t pc_key(uintptr_t pc)
{
    return (uint64_t)pc ^ sonde__unwind_generation() * 0x9e3779b97f4a7c15ull;
}

static uint32_t module_row(const struct dl_find_object *o, bool *skip)
{
    uintptr_t start = (uintptr_t)o->dlfo_map_start, end = (uintptr_t)o->dlfo_map_end;
    const struct link_map *map = o->dlfo_link_map;
    const char *path = map->l_name && *map->l_name ? map->l_name : executable_path;
    static char absolute[PATH_MAX]; /* table_lock is held */
    if (path[0] == '.' && realpath(path, absolute)) /* opened by a relative path: say where from */
        path = absolute;
    *skip = is_runtime_loader(path);
    uint32_t path_id = sonde__text_id(path), id = 0;
    uint32_t build = build_id((const void *)start, map->l_addr, end);
    for (uint32_t i = sonde__row_count(SONDE_TABLE_MODULE); i > 0; i--) {
        struct sonde_row_module *m = sonde__table_find(SONDE_TABLE_MODULE, sizeof *m, i);
        if (m->start == start && m->path == path_id && m->build_id == build)
            return i;
    }
    struct sonde_row_module *m = ROW_ADD(MODULE, struct sonde_row_module, &id);
    if (!m)
        return 0;
    *m = (struct sonde_row_module){
        .path = path_id,
        .build_id = build,
        .base = map->l_addr,
        .start = start,
        .end = end,
        .generation = (uint32_t)sonde__unwind_generation(),
    };
    sonde__row_commit(SONDE_TABLE_MODULE);
    return id;
}

static uint32_t module_of(const struct dl_find_object *o, bool *skip)
{
    uint64_t key = pc_key((uintptr_t)o->dlfo_map_start) ^ KEY_MODULE;
    uint32_t id = module_row(o, skip);
    if (id)
        sonde__pairs_put(frames.pc, key, id | (*skip ? SKIP_BIT : 0));
    return id;
}

/* For a handler. Its headers and its link_map are not looked at there: false
 * when it is not known yet, and then it is asked for. */
static bool module_known(const struct dl_find_object *o, uintptr_t pc, uint32_t *id, bool *skip)
{
    uint64_t found;
    if (sonde__pairs_find(frames.pc, pc_key((uintptr_t)o->dlfo_map_start) ^ KEY_MODULE, &found)) {
        *id = (uint32_t)found;
        *skip = found & SKIP_BIT;
        return true;
    }
    for (size_t i = 0; i < sizeof frames.wanted / sizeof *frames.wanted; i++) {
        uintptr_t none = 0;
        if (atomic_load_explicit(&frames.wanted[i], memory_order_relaxed) == pc ||
            atomic_compare_exchange_strong(&frames.wanted[i], &none, pc))
            break;
    }
    sonde__handler.missed = true;
    return false;
}

/* ---- frames ----------------------------------------------------------------------- */

static uint32_t frame_add(struct sonde_row_frame row)
{
    uint32_t id = 0;
    struct sonde_row_frame *f = ROW_ADD(FRAME, struct sonde_row_frame, &id);
    if (!f)
        return 0;
    *f = row;
    sonde__row_commit(SONDE_TABLE_FRAME);
    return id;
}

/* Code of no module: its page, for what has no frame of its own. */
static uint32_t unknown_page(uintptr_t page)
{
    uint64_t id, key = pc_key(page) ^ KEY_EXACT;
    if (sonde__pairs_find(frames.pc, key, &id))
        return (uint32_t)id;
    id = frame_add((struct sonde_row_frame){.kind = SONDE_FRAME_UNKNOWN, .offset = page});
    if (id)
        sonde__pairs_put(frames.pc, key, id);
    return (uint32_t)id;
}

/* Code of no module was made while the program ran; by its address it can be named afterwards. Who makes code
 * may make it without end: then pages. */
static uint32_t unknown_place(uintptr_t pc, bool exact)
{
    const uint64_t key = (uint64_t)pc << 1 | 1 | (exact ? KEY_PLACE | KEY_PLACE >> 1 : KEY_PLACE);
    uint64_t id;
    if (sonde__known_find(key, &id))
        return (uint32_t)id;
    if (frames.places >= PLACES_MAX || !sonde__known_room())
        return unknown_page(pc & ~(uintptr_t)4095);
    id = frame_add((struct sonde_row_frame){.kind = SONDE_FRAME_UNKNOWN,
                                            .offset = pc,
                                            .flags = SONDE_FRAME_ADDRESS | (exact ? SONDE_FRAME_EXACT : 0)});
    if (id) {
        frames.places++;
        sonde__known_put(key, (uint32_t)id);
    }
    return (uint32_t)id;
}

/* `exact`: of an interrupted place. That may be anywhere in the program: what
 * stands in no back-trace, because it is ours or the runtime's, is shown there. */
static uint32_t frame_of_new_pc(uintptr_t pc, uint64_t key, bool exact)
{
    struct dl_find_object o;
    uint32_t id, module = 0;
    bool skip = false;
    if (!sonde__module_find(pc - !exact, &o)) {
        id = unknown_place(pc, exact);
    } else {
        if (!sonde__handler.on) {
            module = module_of(&o, &skip);
            if (module < MODULES_LOOKED)
                frames.looked[module / 64] |= 1ull << (module % 64);
        } else if (!module_known(&o, pc, &module, &skip)) {
            return 0;
        }
        const struct sonde_row_module *row = sonde__table_find(SONDE_TABLE_MODULE, sizeof *row, module);
        uintptr_t eval = sonde__python_attached() ? sonde__python_eval_start() : 0;
        if (skip && !exact)
            id = SONDE_FRAME_ID_SKIP;
        else if (eval && sonde__unwind_function_start(pc) == eval)
            id = SONDE_FRAME_ID_EVAL;
        else
            id = frame_add((struct sonde_row_frame){.kind = SONDE_FRAME_NATIVE,
                                                    .module = module,
                                                    .offset = pc - (row ? row->base : 0),
                                                    .flags = exact});
    }
    if (id)
        sonde__pairs_put(frames.pc, key, id);
    return id;
}

/* An interpreter, or what a backend waits for, can only be in a module that no
 * frame was in before: look when one turns up, before the frame is named.
 * Outside table_lock, since looking takes the loader's lock. */
static void look_for_python(void)
{
    const char *why = NULL;
    if (sonde__agent.config.no_python || sonde__python_attached())
        return;
    if (sonde__python_attach(&why))
        __atomic_store_n(&sonde__agent.header->python_version, sonde__python_version(), __ATOMIC_RELAXED);
    else if (why)
        sonde_note("Python stacks are not recorded: %s", why);
}

static void look_at_module(uintptr_t pc)
{
    struct dl_find_object o;
    bool known = false;
    if (!sonde__module_find(pc - 1, &o))
        return;
    uintptr_t start = (uintptr_t)o.dlfo_map_start;
    sonde__lock(&sonde__agent.table_lock);
    for (uint32_t i = sonde__row_count(SONDE_TABLE_MODULE); i > 0 && !known; i--) {
        const struct sonde_row_module *m = sonde__table_find(SONDE_TABLE_MODULE, sizeof *m, i);
        if (m->start != start)
            continue;
        known = i >= MODULES_LOOKED || (frames.looked[i / 64] >> (i % 64) & 1);
        if (i < MODULES_LOOKED)
            frames.looked[i / 64] |= 1ull << (i % 64);
    }
    known = known || start == frames.looked_at;
    frames.looked_at = start;
    sonde__unlock(&sonde__agent.table_lock);
    if (known)
        return;
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->module)
            sonde_backends[i]->module(o.dlfo_link_map->l_name);
    look_for_python();
}

uint32_t sonde__frame_of_pc(uintptr_t pc)
{
    uint64_t id, key = pc_key(pc); /* of before the look: what changes meanwhile must not be kept */
    if (__builtin_expect(sonde__pairs_find(frames.pc, key, &id), 1))
        return (uint32_t)id;
    if (!sonde__handler.on)
        look_at_module(pc);
    if (!sonde__lock_or_miss(&sonde__agent.table_lock))
        return 0;
    uint32_t known = sonde__pairs_find(frames.pc, key, &id) ? (uint32_t)id : frame_of_new_pc(pc, key, false);
    sonde__unlock(&sonde__agent.table_lock);
    return known;
}

uint32_t sonde__frame_of_place(uintptr_t pc)
{
    uint64_t id, key = pc_key(pc) ^ KEY_EXACT;
    if (sonde__pairs_find(frames.pc, key, &id))
        return (uint32_t)id;
    if (!sonde__lock_or_miss(&sonde__agent.table_lock))
        return 0;
    uint32_t known = sonde__pairs_find(frames.pc, key, &id) ? (uint32_t)id : frame_of_new_pc(pc, key, true);
    sonde__unlock(&sonde__agent.table_lock);
    return known;
}

/* In the loader's list, while it cannot change: a module that a sample met may be going away. */
static int name_module(struct dl_phdr_info *info, size_t size, void *pc)
{
    struct dl_find_object o;
    bool covers = false, skip;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        covers |= info->dlpi_phdr[i].p_type == PT_LOAD &&
                  *(uintptr_t *)pc - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz;
    if (!covers || !sonde__module_find(*(uintptr_t *)pc, &o))
        return covers;
    sonde__lock(&sonde__agent.table_lock);
    module_of(&o, &skip);
    sonde__unlock(&sonde__agent.table_lock);
    return 1;
}

void sonde__frames_look(void)
{
    for (size_t i = 0; i < sizeof frames.wanted / sizeof *frames.wanted; i++) {
        uintptr_t pc = atomic_load_explicit(&frames.wanted[i], memory_order_relaxed);
        if (!pc)
            continue;
        sonde__lock(&sonde__agent.fork_lock); /* as every look of the monitor into the loader */
        look_for_python(); /* before frames of it are named */
        dl_iterate_phdr(name_module, &pc);
        sonde__unlock(&sonde__agent.fork_lock);
        atomic_store(&frames.wanted[i], 0);
    }
}

/* Python: (code, offset) -> frame id, trusted only when the code object still
 * is what it was: the key's fields are mixed into the pair's key. */
static uint64_t python_key(const struct sonde_pyframe *f, const struct sonde_pycode_key *k)
{
    uint64_t h = sonde__map_hash(f->code + ((uint64_t)f->offset << 44));
    h = sonde__map_hash(h ^ k->name ^ (uint64_t)k->first_line << 40);
    h = sonde__map_hash(h ^ k->file ^ (uint64_t)k->version << 20);
    h = sonde__map_hash(h ^ k->table);
    return h | 1;
}

static uint32_t pycode_add(const struct sonde_pyframe *f)
{
    static struct sonde_pycode_info info; /* 1.5 kB: too much for a small thread stack; table_lock is held */
    uint32_t id = 0;
    if (!sonde__pycode_read(f->code, &info))
        return 0;
    uint32_t name = sonde__text_id(info.name), file = sonde__text_id(info.file);
    uint32_t table = info.table ? sonde__string_id(info.table, info.table_bytes) : 0;
    for (uint32_t i = sonde__row_count(SONDE_TABLE_PYCODE), n = 0; i > 0 && n < 4096; i--, n++) {
        struct sonde_row_pycode *c = sonde__table_find(SONDE_TABLE_PYCODE, sizeof *c, i);
        if (c->name == name && c->file == file && c->line_table == table && c->first_line == info.first_line)
            return i;
    }
    struct sonde_row_pycode *row = ROW_ADD(PYCODE, struct sonde_row_pycode, &id);
    if (!row)
        return 0;
    *row = (struct sonde_row_pycode){
        .name = name,
        .file = file,
        .first_line = info.first_line,
        .line_table = table,
        .version = info.version,
    };
    sonde__row_commit(SONDE_TABLE_PYCODE);
    return id;
}

static uint32_t python_frame_add(const struct sonde_pyframe *f)
{
    uint32_t code = pycode_add(f);
    if (!code)
        return 0;
    uint64_t key = (((uint64_t)code << 32 | f->offset) * 2 + 1) | 1ull << 63, id;
    if (sonde__known_find(key, &id)) /* the same code seen through another object */
        return (uint32_t)id;
    if (!sonde__known_room())
        return 0;
    id = frame_add((struct sonde_row_frame){.kind = SONDE_FRAME_PYTHON, .module = code, .offset = f->offset});
    if (id)
        sonde__known_put(key, (uint32_t)id);
    return (uint32_t)id;
}

uint64_t sonde__frame_python_key(const struct sonde_pyframe *f)
{
    struct sonde_pycode_key k;
    sonde__pycode_key(f->code, &k);
    return python_key(f, &k);
}

uint32_t sonde__frame_of_python(const struct sonde_pyframe *f)
{
    uint64_t id, key = sonde__frame_python_key(f);
    if (__builtin_expect(sonde__pairs_find(frames.python, key, &id), 1))
        return (uint32_t)id;
    if (!sonde__lock_or_miss(&sonde__agent.table_lock))
        return 0;
    id = python_frame_add(f);
    if (id)
        sonde__pairs_put(frames.python, key, id);
    sonde__unlock(&sonde__agent.table_lock);
    if (!sonde__handler.on)
        sonde__known_say();
    return (uint32_t)id;
}

uint32_t sonde__frame_of_api(uint32_t api)
{
    uint32_t backend = api >> 24, number = api & 0xffffff;
    if (backend >= SONDE_BACKENDS_MAX || !sonde_backends[backend] || number >= SONDE_API_MAX ||
        number >= sonde_backends[backend]->api_count)
        return 0;
    uint32_t id = atomic_load_explicit(&frames.api[backend][number], memory_order_acquire);
    if (__builtin_expect(id != 0, 1))
        return id;
    sonde__lock(&sonde__agent.table_lock);
    id = atomic_load_explicit(&frames.api[backend][number], memory_order_relaxed);
    if (!id) {
        id = frame_add((struct sonde_row_frame){
            .kind = SONDE_FRAME_API, .offset = api, .name = sonde__text_id(sonde_backends[backend]->api_names[number])});
        atomic_store_explicit(&frames.api[backend][number], id, memory_order_release);
    }
    sonde__unlock(&sonde__agent.table_lock);
    return id;
}

uint32_t sonde__frame_of_sleep(uint32_t which, const char *name)
{
    uint32_t id = atomic_load_explicit(&frames.sleep[which], memory_order_acquire);
    if (__builtin_expect(id != 0, 1))
        return id;
    if (!sonde__lock_or_miss(&sonde__agent.table_lock))
        return 0;
    id = atomic_load_explicit(&frames.sleep[which], memory_order_relaxed);
    if (!id) {
        id = frame_add((struct sonde_row_frame){
            .kind = SONDE_FRAME_API, .offset = SONDE_API_SLEEPS | which, .name = sonde__text_id(name)});
        atomic_store_explicit(&frames.sleep[which], id, memory_order_release);
    }
    sonde__unlock(&sonde__agent.table_lock);
    return id;
}

/* A frame that is all in its row, and found again by `key`. */
bool sonde__frame_find(uint64_t key, uint32_t *id)
{
    uint64_t found = 0;
    bool is_there = sonde__known_quick(key, &found);
    *id = (uint32_t)found;
    return is_there;
}

uint32_t sonde__frame_intern(uint64_t key, struct sonde_row_frame row)
{
    uint64_t id;
    if (__builtin_expect(sonde__known_quick(key, &id), 1))
        return (uint32_t)id;
    sonde__lock(&sonde__agent.table_lock);
    if (!sonde__known_find(key, &id)) {
        id = sonde__known_room() ? frame_add(row) : 0;
        if (id)
            sonde__known_put(key, (uint32_t)id);
    }
    sonde__unlock(&sonde__agent.table_lock);
    sonde__known_say();
    return (uint32_t)id;
}

uint32_t sonde__frame_of_op(enum sonde_op_kind kind, uint32_t name)
{
    return sonde__frame_intern(((uint64_t)kind << 32 | name) * 2 + 1,
                               (struct sonde_row_frame){.kind = SONDE_FRAME_OP, .op = (uint16_t)kind, .name = name});
}

uint32_t sonde__frame_of_link(uint32_t node)
{
    return sonde__frame_intern((0x10000ull << 32 | node) * 2 + 1, /* no kind of operation is that high */
                               (struct sonde_row_frame){.kind = SONDE_FRAME_LINK, .offset = node});
}

uint32_t sonde__frame_of_kind(enum sonde_frame_kind kind)
{
    uint32_t id = atomic_load_explicit(&frames.kind[kind], memory_order_acquire);
    if (id)
        return id;
    if (!sonde__lock_or_miss(&sonde__agent.table_lock))
        return 0;
    id = atomic_load_explicit(&frames.kind[kind], memory_order_relaxed);
    if (!id) {
        id = frame_add((struct sonde_row_frame){.kind = (uint16_t)kind});
        atomic_store_explicit(&frames.kind[kind], id, memory_order_release);
    }
    sonde__unlock(&sonde__agent.table_lock);
    return id;
}

void sonde__frames_executable(const char *path)
{
    snprintf(executable_path, sizeof executable_path, "%s", path);
}
