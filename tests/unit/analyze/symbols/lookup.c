/* lookup.c - addresses to source with our own code, for symbols.py, which compares with addr2line.
 *
 * lookup FILE BUILD-ID-HEX WALL-NS < addresses (hex, one per line): per address
 * one line "function TAB file TAB line" per level, innermost first, then a
 * dot. Status 3 with the reason when the file is refused. On stderr how many
 * symbols were gone through.
 *
 * lookup --resolve PROCESS-DIR...: what `record` does when the program has ended.
 * Prints how many files were opened for it.
 */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/debug_file.h"
#include "analyze/symbols/symbols.h"

/* libdwfl's ways to a symbol (the linker's --wrap): the first goes through all of them each time. */
static unsigned long symbols_read;

const char *__real_dwfl_module_addrinfo(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *, GElf_Word *, Elf **, Dwarf_Addr *);
const char *__wrap_dwfl_module_addrinfo(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *, GElf_Word *, Elf **, Dwarf_Addr *);
const char *__real_dwfl_module_getsym_info(Dwfl_Module *, int, GElf_Sym *, GElf_Addr *, GElf_Word *, Elf **, Dwarf_Addr *);
const char *__wrap_dwfl_module_getsym_info(Dwfl_Module *, int, GElf_Sym *, GElf_Addr *, GElf_Word *, Elf **, Dwarf_Addr *);

const char *__wrap_dwfl_module_addrinfo(Dwfl_Module *module, GElf_Addr address, GElf_Off *offset, GElf_Sym *symbol,
                                        GElf_Word *section, Elf **elf, Dwarf_Addr *bias)
{
    const int symbols = dwfl_module_getsymtab(module);
    symbols_read += symbols > 0 ? (unsigned long)symbols : 0;
    return __real_dwfl_module_addrinfo(module, address, offset, symbol, section, elf, bias);
}

const char *__wrap_dwfl_module_getsym_info(Dwfl_Module *module, int index, GElf_Sym *symbol, GElf_Addr *address,
                                           GElf_Word *section, Elf **elf, Dwarf_Addr *bias)
{
    symbols_read++;
    return __real_dwfl_module_getsym_info(module, index, symbol, address, section, elf, bias);
}

static void print_place(const struct sonde__place *place)
{
    char *readable = place->function ? sonde_demangle(place->function) : NULL;
    printf("%s\t%s\t%u\n", readable ? readable : (place->function ? place->function : ""),
           place->file ? place->file : "", place->line);
    free(readable);
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    uint8_t id[64];
    size_t bytes = 0;
    char why[128], line[64];
    if (argc > 2 && strcmp(argv[1], "--resolve") == 0) {
        struct sonde_progress progress = {0};
        struct sonde_symbols_job *jobs = calloc((size_t)argc, sizeof *jobs);
        int failed = 0;
        for (int i = 2; jobs && i < argc; i++)
            jobs[i - 2].dir = argv[i];
        if (jobs)
            sonde_symbols_resolve(jobs, (size_t)argc - 2, &progress);
        for (int i = 2; jobs && i < argc; i++) {
            const struct sonde_symbols_job *job = &jobs[i - 2];
            failed |= job->error != 0;
            if (job->error)
                fprintf(stderr, "%s %s: %s\n", job->diag.what, job->diag.where, job->diag.why);
        }
        printf("%llu\n", (unsigned long long)progress.done);
        free(jobs);
        return failed;
    }
    if (argc != 4)
        return 2;
    for (const char *hex = argv[2]; hex[0] && hex[1] && bytes < sizeof id; hex += 2)
        sscanf(hex, "%2hhx", &id[bytes++]);
    struct sonde__debug_wanted wanted = {.path = argv[1], .build_id = id, .build_id_bytes = bytes, .wall_ns = strtoull(argv[3], NULL, 10)};
    struct sonde__debug_file *object = sonde__debug_open(&wanted, why, sizeof why);
    if (!object) {
        puts(why);
        return 3;
    }
    SONDE_VECTOR(uint64_t) asked = {0}, rising = {0};
    while (fgets(line, sizeof line, stdin))
        if (sonde_vector_push(&asked, strtoull(line, NULL, 16)) || sonde_vector_push(&rising, asked.items[asked.count - 1]))
            return 1;
    if (rising.count)
        qsort(rising.items, rising.count, sizeof *rising.items, by_value);
    sonde__debug_expect(object, rising.items, rising.count);
    for (size_t k = 0; k < asked.count; k++) {
        struct sonde__place places[SONDE__PLACES_MAX];
        size_t count = sonde__debug_lookup(object, asked.items[k], places);
        for (size_t i = 0; i < count; i++)
            print_place(&places[i]);
        puts(".");
    }
    sonde_vector_fini(&asked);
    sonde_vector_fini(&rising);
    sonde__debug_close(object);
    fprintf(stderr, "%lu\n", symbols_read);
    return 0;
}
