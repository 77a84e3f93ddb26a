/* seeds.c - write the seed corpus of fuzz.c from small synthetic measurements.
 *
 * Usage: seeds FOLDER. Chunks are stored without zstd, so that a mutation of
 * one byte reaches a column and not the decompressor. Run by hand when the
 * format changes; the result is in corpus/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zstd.h>

#include "format/chunk.h"
#include "synth.h"

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 24);
    *size = f && bytes ? fread(bytes, 1, 1 << 24, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) {
        perror(path);
        exit(1);
    }
}

/* The same chunk with its payload not compressed. Returns its size. */
static size_t plain_chunk(const uint8_t *from, uint8_t *to)
{
    struct sonde_chunk h;
    memcpy(&h, from, sizeof h);
    if (h.flags & SONDE_CHUNK_ZSTD)
        ZSTD_decompress(to + sizeof h, h.raw_bytes, from + sizeof h, h.stored_bytes);
    else
        memcpy(to + sizeof h, from + sizeof h, h.raw_bytes);
    h.flags &= (uint16_t)~SONDE_CHUNK_ZSTD;
    h.stored_bytes = h.raw_bytes;
    memcpy(to, &h, sizeof h);
    size_t size = sonde_chunk_size(&h), end = sizeof h + h.stored_bytes;
    memset(to + end, 0, size - end);
    return size;
}

static size_t plain_data(const uint8_t *data, size_t size, uint8_t *out)
{
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        struct sonde_chunk h;
        memcpy(&h, data + at, sizeof h);
        used += plain_chunk(data + at, out + used);
        at += sonde_chunk_size(&h);
    }
    return used;
}

static size_t short_live(const uint8_t *live, size_t size, uint8_t *out)
{
    size_t used = sizeof(struct sonde_live_header);
    memcpy(out, live, used);
    for (size_t at = SONDE_SEGMENT_BYTES; at + SONDE_SEGMENT_BYTES <= size; at += SONDE_SEGMENT_BYTES) {
        struct sonde_segment s;
        memcpy(&s, live + at, sizeof s);
        uint16_t rows = (uint16_t)(s.used * s.row_bytes);
        memcpy(out + used, &rows, sizeof rows);
        memcpy(out + used + 2, live + at, SONDE_SEGMENT_HEADER + rows);
        used += 2 + SONDE_SEGMENT_HEADER + rows;
    }
    return used;
}

static void write_seeds(const char *folder, const char *name, const struct synth_options *options)
{
    static uint8_t out[1 << 24];
    struct synth_totals totals;
    char scratch[4200], path[4300], file[300];
    size_t data_size, live_size, size;

    snprintf(scratch, sizeof scratch, "%s/%s.tmp", folder, name);
    if (synth_write(scratch, options, &totals, NULL) < 0)
        exit(1);
    snprintf(path, sizeof path, "%s/synth-1000000000-1/data.sonde", scratch);
    uint8_t *data = read_file(path, &data_size);
    snprintf(path, sizeof path, "%s/synth-1000000000-1/live.sonde", scratch);
    uint8_t *live = read_file(path, &live_size);
    size = plain_data(data, data_size, out + 5);
    uint32_t length = (uint32_t)size;
    out[0] = 0;
    memcpy(out + 1, &length, 4);
    if (live_size)
        size += short_live(live, live_size, out + 5 + size);
    write_file(folder, name, out, size + 5);
    for (size_t at = 0, i = 0; at < data_size; i++) {
        struct sonde_chunk h;
        memcpy(&h, data + at, sizeof h);
        out[0] = 1;
        snprintf(file, sizeof file, "%s-chunk-%zu", name, i);
        write_file(folder, file, out, 1 + plain_chunk(data + at, out + 1));
        at += sonde_chunk_size(&h);
    }
    free(data);
    free(live);
    snprintf(path, sizeof path, "rm -r '%s'", scratch);
    if (system(path))
        exit(1);
}

int main(int argc, char **argv)
{
    struct synth_options sealed = {.operations = 12, .lanes = 2, .threads = 2, .processes = 1, .seed = 3};
    struct synth_options live = {.operations = 8, .lanes = 1, .threads = 1, .processes = 1, .seed = 4, .unsealed = true};

    struct synth_options whole = {
        .operations = 24,
        .lanes = 4,
        .threads = 2,
        .processes = 1,
        .seed = 5,
        .devices = 2,
        .depth = 4,
        .paths = 2,
        .cpu_hz = 199,
        .waits = 3,
        .compute_ns = 9000000,
        .unsealed = true,
    };

    if (argc != 2) {
        fputs("usage: seeds FOLDER\n", stderr);
        return 2;
    }
    write_seeds(argv[1], "sealed", &sealed);
    write_seeds(argv[1], "live", &live);
    write_seeds(argv[1], "whole", &whole); /* for what reports compute: all tables */
    whole.unsealed = false;
    write_seeds(argv[1], "whole-sealed", &whole);
    return 0;
}
