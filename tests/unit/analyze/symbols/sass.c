/* sass.c - reads what nvdisasm prints; prints "KERNEL NUMBER load|store BYTES TYPE" for each access (sass.py). */
#include <stdio.h>

#include <sonde/error.h>
#include <sonde/kinds.h>

#include "analyze/symbols/sass.h"

static void print(void *user, const char *kernel, const struct sonde__sass_access *a)
{
    static const char letters[] = {[SONDE_ELEMENT_BITS] = 'b', [SONDE_ELEMENT_UNSIGNED] = 'u', [SONDE_ELEMENT_SIGNED] = 's', [SONDE_ELEMENT_FLOAT] = 'f', [SONDE_ELEMENT_BFLOAT] = 'r'};
    (void)user;
    printf("%s %u %s %u %c%u\n", kernel, a->number, a->store ? "store" : "load", a->bytes, letters[a->type], 8u * a->element_bytes);
}

int main(void)
{
    return sonde__sass_accesses(stdin, print, NULL) == SONDE_OK ? 0 : 1;
}
