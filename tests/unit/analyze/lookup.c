/* lookup.c - addresses to source with our own code, for symbols.py, which compares with addr2line.
 *
 * lookup FILE BUILD-ID-HEX WALL-NS < addresses (hex, one per line): per address
 * one line "function TAB file TAB line" per level, innermost first, then a
 * dot. Status 3 with the reason when the file is refused.
 *
 * lookup --resolve PROCESS-DIR: what `record` does when the program has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/object.h"
#include "analyze/symbols.h"

static void print_place(const struct sonde__place *place)
{
    char *readable = place->function ? sonde_demangle(place->function) : NULL;
    printf("%s\t%s\t%u\n", readable ? readable : place->function ? place->function : "",
           place->file ? place->file : "", place->line);
    free(readable);
}

int main(int argc, char **argv)
{
    uint8_t id[64];
    size_t bytes = 0;
    char why[128], line[64];
    if (argc == 3 && strcmp(argv[1], "--resolve") == 0) {
        struct sonde_diag diag;
        int rc = sonde_symbols_resolve(argv[2], &diag);
        if (rc)
            fprintf(stderr, "%s %s: %s\n", diag.what, diag.where, diag.why);
        return rc != 0;
    }
    if (argc != 4)
        return 2;
    for (const char *hex = argv[2]; hex[0] && hex[1] && bytes < sizeof id; hex += 2)
        sscanf(hex, "%2hhx", &id[bytes++]);
    struct sonde__object_wanted wanted = {argv[1], id, bytes, strtoull(argv[3], NULL, 10)};
    struct sonde__object *object = sonde__object_open(&wanted, why, sizeof why);
    if (!object) {
        puts(why);
        return 3;
    }
    while (fgets(line, sizeof line, stdin)) {
        struct sonde__place places[SONDE__PLACES_MAX];
        size_t count = sonde__object_lookup(object, strtoull(line, NULL, 16), places);
        for (size_t i = 0; i < count; i++)
            print_place(&places[i]);
        puts(".");
    }
    sonde__object_close(object);
    return 0;
}
