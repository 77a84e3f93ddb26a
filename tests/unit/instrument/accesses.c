/* accesses.c - what the PTX reader finds, one line per access: kernel, operation, bytes, line of the source. For clang.py. */
#include <stdio.h>
#include <stdlib.h>

#include "instrument/ptx.h"

static const char *const ops[] = {"load", "store", "atomic", "reduction", "copy", "texture", "bulk", "matrix", "length", "unknown"};

int main(int argc, char **argv)
{
    enum { MOST = 16 << 20 };
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    char *text = malloc(MOST);
    struct sonde_ptx p;
    if (!file || !text)
        return 2;
    const size_t bytes = fread(text, 1, MOST, file);
    fclose(file);
    if (sonde__ptx_read(&p, text, bytes)) {
        fprintf(stderr, "%s:%u: %s\n", argv[1], p.line, p.why ? p.why : "out of memory");
        return 1;
    }
    for (uint32_t f = 0; f < p.function_count; f++)
        for (uint32_t k = 0; k < p.functions[f].accesses; k++) {
            const struct sonde_ptx_access *a = &p.accesses[p.functions[f].first_access + k];
            printf("%.*s %s%s %u %u\n", (int)p.functions[f].name.bytes, text + p.functions[f].name.at,
                   a->flags & SONDE_PTX_GENERIC ? "generic-" : "", ops[a->op], a->element_bytes * a->elements,
                   p.places[p.items[a->item].place].line);
        }
    sonde__ptx_release(&p);
    free(text);
    return 0;
}
