/* instructions.c - `instructions DIR CUBIN...`: seals the processes of a measurement, keeps code in it, and finds its instructions (instructions.py). */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "analyze/symbols/instructions.h"
#include "format/folder.h"
#include "format/writer.h"

static int keep(const char *dir, const char *cubin, int number)
{
    static char bytes[1 << 20], packed[ZSTD_COMPRESSBOUND(1 << 20)];
    char path[PATH_MAX];
    FILE *in = fopen(cubin, "rb");
    const size_t size = in ? fread(bytes, 1, sizeof bytes, in) : 0, length = ZSTD_compress(packed, sizeof packed, bytes, size, 3);
    snprintf(path, sizeof path, "%s/" SONDE_CODE_FOLDER, dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/" SONDE_CODE_FOLDER "/%016d.cubin.zst", dir, number);
    FILE *out = fopen(path, "wb");
    const int bad = !size || ZSTD_isError(length) || !out || fwrite(packed, 1, length, out) != length || fclose(out) != 0;
    if (in)
        fclose(in);
    return bad;
}

int main(int argc, char **argv)
{
    struct sonde_diag diag = {0};
    char path[PATH_MAX];
    DIR *dir = opendir(argv[1]);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", argv[1], d->d_name);
        if (strncmp(d->d_name, "host-", 5) == 0 && sonde_process_seal(path, &diag) != SONDE_OK)
            return 1;
    }
    if (dir)
        closedir(dir);
    for (int i = 2; i < argc; i++)
        if (keep(argv[1], argv[i], i))
            return 2;
    return sonde_instructions_resolve(argv[1], &diag) == SONDE_OK ? 0 : 3;
}
