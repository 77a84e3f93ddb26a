/* debug_file.c - lookups with elfutils.
 *
 * libdwfl finds the separate debug file (build id, then .gnu_debuglink). The
 * way from an address to its compilation unit is our own table of the units'
 * ranges, since clang writes no .debug_aranges; within a unit the functions
 * are listed once, at the first lookup in it, and the inlined calls are found
 * by descending from the function (DWARF 5, sections 2.17, 3.3.8.2).
 */
#include "debug_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vector.h"
#include "debug_names.h"

struct function {
    uint64_t start, end;
    Dwarf_Die die;
};
struct unit {
    Dwarf_Die lines;  /* holds the line table */
    Dwarf_Die die;    /* holds the functions; another one with split DWARF */
    enum {
        LISTED_NOT,
        LISTED_OUTER,
        LISTED_ALL,
    } listed;
    SONDE_VECTOR(struct function) functions;
};
struct range {
    uint64_t start, end;
    uint32_t unit;
};

struct sonde__debug_file {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf_Addr bias;        /* of the debug information's addresses */
    bool looked;            /* units and ranges are filled */
    SONDE_VECTOR(struct unit) units;
    SONDE_VECTOR(struct range) ranges; /* by start */
    struct sonde__debug_names names;  /* of the expected addresses, once one of them is asked for */
    const uint64_t *expected;
    size_t expected_count;
};

/* ---- opening ------------------------------------------------------------------ */

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                  char **file, Elf **elf)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}

/* Does FOLDER/MIDDLE/NAME exist, FOLDER being the one of `file`? */
static bool has_beside(const char *prefix, const char *file, const char *middle, const char *name)
{
    const char *slash = strrchr(file, '/');
    struct sonde_text path = {0};
    sonde_text_format(&path, "%s%.*s/%s%s", prefix, (int)(slash ? slash - file : 0), file, middle, name);
    const bool found = !path.failed && access(sonde_text_get(&path), R_OK) == 0;
    sonde_text_fini(&path);
    return found;
}

/* In the places where elfutils looks: by the name of .gnu_debuglink, or with .debug added. */
static bool has_debug_file(const char *file, const char *link)
{
    char added[256];
    const char *slash = strrchr(file, '/');
    snprintf(added, sizeof added, "%s.debug", slash ? slash + 1 : file);
    const char *name = link ? link : added;
    return has_beside("", file, "", name) || has_beside("", file, ".debug/", name) ||
           has_beside("/usr/lib/debug", file, "", name);
}

/* Where no file can be found libdwfl's own way ends at debuginfod, whose client
 * it loads with everything that belongs to HTTPS, to learn that no server is named. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word crc, char **found)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    const int fd = dwfl_build_id_find_debuginfo(module, data, name, base, file, link, crc, found);
    if (fd >= 0 || (!(servers && *servers) && !has_debug_file(file, link)))
        return fd;
    return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

static Dwfl *begin(void)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = no_elf,
        .find_debuginfo = find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    return dwfl_begin(&callbacks);
}

static bool same_file(Dwfl_Module *module, const struct sonde__debug_wanted *wanted, const char *path)
{
    const unsigned char *bits;
    GElf_Addr address;
    struct stat st;
    int bytes = dwfl_module_build_id(module, &bits, &address);
    if (bytes < 0)
        bytes = 0;
    if ((size_t)bytes != wanted->build_id_bytes)
        return false;
    if (bytes)
        return memcmp(bits, wanted->build_id, (size_t)bytes) == 0;
    /* Neither has a build id: the same file if it is not newer than the run. */
    return stat(path, &st) == 0 &&
           (!wanted->wall_ns ||
            (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec <= wanted->wall_ns);
}

enum opened {
    OPENED,
    NO_FILE,
    UNREADABLE,
    NOT_ELF,
    ANOTHER_FILE,
};

/* The file of `fd` (which becomes libdwfl's), or with -1 of `path`. */
static enum opened open_file(struct sonde__debug_file *o, const struct sonde__debug_wanted *wanted, const char *path, int fd)
{
    GElf_Addr unused;
    if (fd < 0 && access(path, R_OK) != 0)
        return errno == ENOENT || errno == ENOTDIR ? NO_FILE : UNREADABLE;
    o->dwfl = begin();
    o->module = o->dwfl ? dwfl_report_elf(o->dwfl, path, path, fd, 0, true) : NULL;
    if (!o->module && fd >= 0)
        close(fd);
    if (!o->dwfl)
        return NOT_ELF;
    dwfl_report_end(o->dwfl, NULL, NULL);
    enum opened result = NOT_ELF;
    if (o->module && dwfl_module_getelf(o->module, &unused))
        result = same_file(o->module, wanted, path) ? OPENED : ANOTHER_FILE;
    if (result != OPENED) {
        dwfl_end(o->dwfl);
        o->dwfl = NULL;
    }
    return result;
}

/* /usr/lib/debug/.build-id/ab/cdef….debug */
static bool debug_path(const struct sonde__debug_wanted *wanted, char *path, size_t size)
{
    if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > 64)
        return false;
    int at = snprintf(path, size, "/usr/lib/debug/.build-id/%02x/", wanted->build_id[0]);
    for (size_t i = 1; i < wanted->build_id_bytes; i++)
        at += snprintf(path + at, size - (size_t)at, "%02x", wanted->build_id[i]);
    snprintf(path + at, size - (size_t)at, ".debug");
    return true;
}

/* The kernel's own library is no file: it lies in every process, and the same in all while the
 * kernel runs. Its section headers come last. -1: there is none, or no memory. */
static int own_vdso(void)
{
    const GElf_Ehdr *image = (const void *)getauxval(AT_SYSINFO_EHDR);
    int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    const size_t bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
    if (write(fd, image, bytes) == (ssize_t)bytes)
        return fd;
    close(fd);
    return -1;
}

struct sonde__debug_file *sonde__debug_open(const struct sonde__debug_wanted *wanted, char *why, size_t why_bytes)
{
    char path[256];
    struct sonde__debug_file *o = calloc(1, sizeof *o);
    if (!o) {
        snprintf(why, why_bytes, "out of memory");
        return NULL;
    }
    enum opened result = open_file(o, wanted, wanted->path, sonde__debug_is_vdso(wanted->path) ? own_vdso() : -1);
    const int error = errno; /* counts for UNREADABLE */
    if (result != OPENED && debug_path(wanted, path, sizeof path) && open_file(o, wanted, path, -1) == OPENED)
        result = OPENED;
    o->looked = wanted->names_only;
    if (result == OPENED)
        return o;
    free(o);
    static const char *const reasons[] = {
        [OPENED] = "",
        [NO_FILE] = SONDE__DEBUG_GONE,
        [UNREADABLE] = "the file cannot be read",
        [NOT_ELF] = "not an ELF file",
        [ANOTHER_FILE] = SONDE__DEBUG_OTHER,
    };
    if (result == UNREADABLE)
        snprintf(why, why_bytes, "%s (%s)", reasons[result], strerror(error));
    else
        snprintf(why, why_bytes, "%s", reasons[result]);
    return NULL;
}

bool sonde__debug_is_stripped(struct sonde__debug_file *o)
{
    GElf_Addr bias;
    GElf_Shdr header;
    Elf *elf = dwfl_module_getelf(o->module, &bias);
    for (Elf_Scn *s = NULL; elf && (s = elf_nextscn(elf, s));)
        if (gelf_getshdr(s, &header) && header.sh_type == SHT_SYMTAB)
            return false;
    return !dwfl_module_getdwarf(o->module, &bias); /* of a debug file, perhaps */
}

void sonde__debug_close(struct sonde__debug_file *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->units.count; i++)
        sonde_vector_fini(&o->units.items[i].functions);
    sonde_vector_fini(&o->units);
    sonde_vector_fini(&o->ranges);
    sonde__debug_names_fini(&o->names);
    dwfl_end(o->dwfl);
    free(o);
}

/* ---- compilation units ------------------------------------------------------------ */

static int by_start(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_unit(struct sonde__debug_file *o, Dwarf_Die *die, Dwarf_Die *split)
{
    struct unit unit = {.lines = *die, .die = split ? *split : *die};
    Dwarf_Addr base, start, end;
    size_t first = o->ranges.count;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
        if (end > start)
            (void)sonde_vector_push(&o->ranges, (struct range){start, end, (uint32_t)o->units.count});
    if (o->ranges.count > first && sonde_vector_push(&o->units, unit))
        o->ranges.count = first;
}

static void find_units(struct sonde__debug_file *o)
{
    Dwarf *dwarf = dwfl_module_getdwarf(o->module, &o->bias);
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    o->looked = true;
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
        if (type == DW_UT_compile)
            add_unit(o, &die, NULL);
        else if (type == DW_UT_skeleton)
            add_unit(o, &die, dwarf_tag(&split) == DW_TAG_compile_unit ? &split : NULL);
    }
    if (o->ranges.count)
        qsort(o->ranges.items, o->ranges.count, sizeof *o->ranges.items, by_start);
}

static struct unit *unit_of(struct sonde__debug_file *o, uint64_t address)
{
    size_t low = 0, high = o->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->ranges.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, steps = 0; i-- > 0 && steps < 8; steps++) /* ranges may nest in broken files */
        if (address < o->ranges.items[i].end)
            return &o->units.items[o->ranges.items[i].unit];
    return NULL;
}

/* ---- functions of a unit ------------------------------------------------------------ */

static bool may_hold_functions(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

static void list_functions(struct unit *unit, Dwarf_Die *parent, int depth, bool nested)
{
    Dwarf_Die die;
    enum { DEEPEST = 64 };
    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        bool code = false;
        if (tag == DW_TAG_subprogram) {
            Dwarf_Addr base, start, end;
            for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0; code = true)
                (void)sonde_vector_push(&unit->functions, (struct function){start, end, die});
        }
        if ((code && nested) || (tag == DW_TAG_lexical_block ? nested : may_hold_functions(tag)))
            list_functions(unit, &die, depth + 1, nested);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static struct function *innermost(struct unit *unit, uint64_t address)
{
    struct function *found = NULL;
    for (size_t i = 0; i < unit->functions.count; i++) {
        struct function *f = &unit->functions.items[i];
        if (address >= f->start && address < f->end && (!found || f->end - f->start < found->end - found->start))
            found = f;
    }
    return found;
}

/* Functions within functions (GNU C, Fortran, Ada) are looked for only when no
 * other one has the address: most of a unit's entries lie within functions. */
static Dwarf_Die *function_of(struct unit *unit, uint64_t address)
{
    if (unit->listed == LISTED_NOT) {
        list_functions(unit, &unit->die, 0, false);
        unit->listed = LISTED_OUTER;
    }
    struct function *found = innermost(unit, address);
    if (!found && unit->listed == LISTED_OUTER) {
        unit->functions.count = 0;
        list_functions(unit, &unit->die, 0, true);
        unit->listed = LISTED_ALL;
        found = innermost(unit, address);
    }
    return found ? &found->die : NULL;
}

/* From the function inwards: itself, then each inlined call around the address. */
static size_t inlined_chain(const Dwarf_Die *function, uint64_t address, Dwarf_Die chain[SONDE__PLACES_MAX])
{
    Dwarf_Die at = *function, child;
    size_t count = 1;
    chain[0] = *function;
    while (dwarf_child(&at, &child) == 0) {
        bool inside = false;
        do {
            int tag = dwarf_tag(&child);
            bool scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                         tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
            inside = scope && dwarf_haspc(&child, address) > 0;
        } while (!inside && dwarf_siblingof(&child, &child) == 0);
        if (!inside)
            break;
        if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) {
            if (count == SONDE__PLACES_MAX)
                break;
            chain[count++] = child;
        }
        at = child;
    }
    return count;
}

/* ---- names and lines -------------------------------------------------------------------- */

static const char *linkage_name(Dwarf_Die *die)
{
    static const unsigned attributes[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    Dwarf_Attribute attribute;
    const char *name = NULL;
    for (int i = 0; i < 2 && !name; i++)
        name = dwarf_attr_integrate(die, attributes[i], &attribute) ? dwarf_formstring(&attribute) : NULL;
    return name;
}

static const char *die_name(Dwarf_Die *die)
{
    const char *name = linkage_name(die);
    return name ? name : dwarf_diename(die);
}

static uint64_t number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

static void call_site(struct unit *unit, Dwarf_Die *inlined, struct sonde__place *place)
{
    Dwarf_Files *files;
    size_t count;
    uint64_t file = number(inlined, DW_AT_call_file);
    place->line = (uint32_t)number(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(&unit->lines, &files, &count) == 0 && file < count)
        place->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void source_line(struct unit *unit, uint64_t address, struct sonde__place *place)
{
    int line = 0;
    Dwarf_Line *found = dwarf_getsrc_die(&unit->lines, address);
    if (!found)
        return;
    place->file = dwarf_linesrc(found, NULL, NULL);
    if (dwarf_lineno(found, &line) == 0 && line > 0)
        place->line = (uint32_t)line;
}

static const char *symbol_name(struct sonde__debug_file *o, uint64_t address)
{
    if (!o->names.addresses)
        sonde__debug_names_find(&o->names, o->module, o->expected, o->expected_count);
    return sonde__debug_names_get(&o->names, address);
}

static bool is_cxx(struct unit *unit)
{
    switch (dwarf_srclang(&unit->die)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return true;
    default:
        return false;
    }
}

/* GCC gives functions of an anonymous namespace no linkage name; their symbol
 * says where they belong ("shapes::(anonymous namespace)::hidden"). */
static void name_function(struct sonde__debug_file *o, struct unit *unit, uint64_t address, Dwarf_Die *function,
                          struct sonde__place *place)
{
    if (place->function && (!is_cxx(unit) || linkage_name(function)))
        return; /* most units: their module's symbols need not be read */
    const char *name = symbol_name(o, address);
    if (name && (!place->function || strncmp(name, "_Z", 2) == 0))
        place->function = name;
}

void sonde__debug_expect(struct sonde__debug_file *o, const uint64_t *addresses, size_t count)
{
    o->expected = addresses;
    o->expected_count = count;
}

size_t sonde__debug_lookup(struct sonde__debug_file *o, uint64_t address, struct sonde__place places[SONDE__PLACES_MAX])
{
    Dwarf_Die chain[SONDE__PLACES_MAX];
    if (!o->looked)
        find_units(o);
    uint64_t inner = address - o->bias;
    struct unit *unit = unit_of(o, inner);
    Dwarf_Die *function = unit ? function_of(unit, inner) : NULL;
    size_t count = function ? inlined_chain(function, inner, chain) : 0;
    if (!count) {
        places[0] = (struct sonde__place){.function = symbol_name(o, address)};
        if (unit)
            source_line(unit, inner, &places[0]);
        return places[0].function || places[0].file ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++) { /* places are innermost first, the chain outermost first */
        places[i] = (struct sonde__place){.function = die_name(&chain[count - 1 - i])};
        if (i == 0)
            source_line(unit, inner, &places[i]);
        else
            call_site(unit, &chain[count - i], &places[i]);
    }
    name_function(o, unit, address, function, &places[count - 1]);
    return count;
}
