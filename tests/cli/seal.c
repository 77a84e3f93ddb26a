/* seal.c - seals the process directories given as arguments, as `record` does after a run. */
#include <stdio.h>

#include "format/writer.h"

int main(int argc, char **argv)
{
    struct sonde_diag diag = {0};
    for (int i = 1; i < argc; i++)
        if (sonde_process_seal(argv[i], &diag)) {
            fprintf(stderr, "%s %s: %s\n", diag.what, diag.where, diag.why);
            return 1;
        }
    return 0;
}
