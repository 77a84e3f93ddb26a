/* empty.c - zeros in place of chunks, which whoever reads them counts as damage: so that a test sees who does. */
#include "synth.h"

#include <stdio.h>
#include <string.h>

#include "format/files.h"

uint32_t synth_empty(const char *path, uint32_t process, bool (*which)(uint32_t table))
{
    static const uint8_t zeros[sizeof(struct sonde_chunk) + SONDE__PAYLOAD_MAX];
    char dir[4096], file[4200];
    struct sonde__data data;
    uint32_t emptied = 0;

    snprintf(dir, sizeof dir, "%.4000s/synth-%u-1", path, 1000000000 + process);
    snprintf(file, sizeof file, "%s/" SONDE_DATA_FILE, dir);
    FILE *f = fopen(file, "r+b");
    if (!f || sonde__data_open(dir, true, &data, NULL))
        return 0;
    for (size_t i = 0; i < data.count; i++) {
        const struct sonde_chunk *h = &data.chunks[i].header;
        if (!which(h->table))
            continue;
        emptied += !fseek(f, (long)data.chunks[i].offset, SEEK_SET) && fwrite(zeros, sizeof *h + h->stored_bytes, 1, f) == 1;
    }
    sonde__data_close(&data);
    return fclose(f) ? 0 : emptied;
}
