/* fuzz.c - libFuzzer target over everything that reads a measurement.
 *
 * The first byte of an input chooses: odd, a chunk; even, a process directory.
 * Checksums are put right before the reader sees them, because a fuzzer cannot
 * guess one; that a wrong checksum is refused, unit tests show. Built with
 * FUZZ_VIEWS it computes what reports show instead. A directory is
 *
 *     u32 length of data.sonde, its bytes,
 *     the header of live.sonde (short ones are filled with zeros),
 *     then segments: u16 length of the rows, 64 bytes of header, the rows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/chunk.h"
#include "format/files.h"
#include "format/reader.h"
#include "format/writer.h"
#include "views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void fix_checksum(uint8_t *at, size_t size)
{
    struct sonde_chunk h;
    memcpy(&h, at, sizeof h);
    if (h.stored_bytes > size - sizeof h)
        return;
    h.checksum = 0;
    memcpy(at, &h, sizeof h);
    h.checksum = XXH3_64bits(at, sizeof h + h.stored_bytes);
    memcpy(at, &h, sizeof h);
}

/* ---- a chunk ------------------------------------------------------------ */

static void try_chunk(const uint8_t *data, size_t size)
{
    struct sonde_chunk h;
    uint8_t *copy = malloc(size + 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    if (size >= sizeof h)
        fix_checksum(copy, size);
    if (sonde_chunk_check(copy, size, &h) == 0) {
        size_t bytes = sonde__decoded_bytes(&h);
        uint8_t *rows = malloc(bytes + 1);
        require(rows != NULL && bytes <= sonde_chunk_room((enum sonde_table)h.table));
        sonde_chunk_decode(copy, size, &h, rows);
        free(rows);
    }
    free(copy);
}

/* ---- a process directory ------------------------------------------------ */

static char folder[64];

static void remove_files(void)
{
    static const char *const names[] = {"data.sonde", "live.sonde"};
    char path[128];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

static void remove_folder(void)
{
    remove_files();
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0])
        return;
    snprintf(folder, sizeof folder, "/dev/shm/sonde-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        snprintf(folder, sizeof folder, "/tmp/sonde-fuzz-XXXXXX");
        require(mkdtemp(folder) != NULL);
    }
    atexit(remove_folder);
}

static int create(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(fd >= 0);
    return fd;
}

static void write_data(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    int fd = create("data.sonde");

    require(copy != NULL);
    memcpy(copy, bytes, size);
    for (size_t at = 0; at + sizeof(struct sonde_chunk) <= size;) {
        struct sonde_chunk h;
        memcpy(&h, copy + at, sizeof h);
        if (h.magic != SONDE_CHUNK_MAGIC || h.stored_bytes > size - at - sizeof h) {
            at += SONDE_CHUNK_ALIGN;
            continue;
        }
        fix_checksum(copy + at, size - at);
        at += sonde_chunk_size(&h);
    }
    require(write(fd, copy, size) == (ssize_t)size);
    close(fd);
    free(copy);
}

static void write_live(const uint8_t *bytes, size_t size)
{
    size_t header = size < sizeof(struct sonde_live_header) ? size : sizeof(struct sonde_live_header);
    int fd = create("live.sonde");
    off_t at = SONDE_SEGMENT_BYTES;

    require(pwrite(fd, bytes, header, 0) == (ssize_t)header);
    bytes += header;
    size -= header;
    for (; size > 2 + SONDE_SEGMENT_HEADER; at += SONDE_SEGMENT_BYTES) {
        uint16_t rows;
        memcpy(&rows, bytes, sizeof rows);
        bytes += sizeof rows;
        size -= sizeof rows;
        size_t part = SONDE_SEGMENT_HEADER + (size_t)rows;
        part = part < size ? part : size;
        part = part < SONDE_SEGMENT_BYTES ? part : SONDE_SEGMENT_BYTES;
        require(pwrite(fd, bytes, part, at) == (ssize_t)part);
        bytes += part;
        size -= part;
    }
    require(ftruncate(fd, size == 1 ? at - 100 : at) == 0); /* at times the last segment is cut */
    close(fd);
}

#ifndef FUZZ_VIEWS
static uint64_t sum;

/* Every byte is looked at, so that what must not be read is found. */
static void look(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        sum += at[i];
}

static int look_at_batch(void *rows_seen, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane;
    *(uint64_t *)rows_seen += count;
    look(rows, count); /* at least one byte a row */
    return 0;
}

static void look_at_nodes(const struct sonde_process *p)
{
    for (uint32_t i = 0; i < p->node_block_count; i++)
        for (uint32_t k = 0; k < p->node_blocks[i].count; k++) {
            uint32_t steps = 0, id = p->node_blocks[i].first + k;
            while (id && k % 64 == 0) {
                const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
                require(node && ++steps < 1u << 24);
                sum += p->frames[node->frame].kind;
                id = node->parent;
            }
        }
}

static void look_at_process(const struct sonde_process *p, uint64_t rows[2])
{
    for (uint32_t i = 0; i < p->string_count; i++)
        look(p->strings[i].bytes, p->strings[i].length + 1);
    for (uint32_t i = 0; i < p->frame_count; i++)
        sum += p->frames[i].kind == SONDE_FRAME_NATIVE   ? p->modules[p->frames[i].module].base
               : p->frames[i].kind == SONDE_FRAME_PYTHON ? p->pycodes[p->frames[i].module].first_line
                                                         : 0;
    for (uint32_t i = 0; i < p->lane_count; i++)
        sum += p->devices[p->lanes[i].device].kind;
    for (uint32_t i = 0; i < p->profile_count; i++)
        for (uint32_t k = 0; k < 40; k++)
            sum += p->histograms[p->profiles[i].histogram[k]].count[0] + p->lanes[p->profiles[i].lane].kind +
                   p->works[p->profiles[i].work].dims;
    look(p->clocks, p->clock_count * sizeof *p->clocks);
    look(p->notes, p->note_count * sizeof *p->notes);
    look(p->symbols, p->symbol_count * sizeof *p->symbols);
    look(p->objects, p->object_count * sizeof *p->objects);
    look(p->header.executable, strlen(p->header.executable));
    look_at_nodes(p);
    for (uint32_t i = 0; i < p->trace_count; i++)
        sum += p->lanes[p->traces[i].lane].kind;
    sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, look_at_batch, &rows[0]);
    sonde_process_trace(p, SONDE_TABLE_CALL, 0, 0, UINT64_MAX, look_at_batch, &rows[1]);
}

static int open_and_look(uint64_t rows[2])
{
    struct sonde_measurement *m;
    struct sonde_diag diag;
    int status = sonde_measurement_open(folder, &m, &diag);

    rows[0] = rows[1] = 0;
    if (status < 0) {
        require(diag.code == status && diag.what[0] && diag.where[0]);
        return status;
    }
    for (uint32_t i = 0; i < m->process_count; i++)
        look_at_process(&m->processes[i], rows);
    sonde_measurement_close(m);
    return 0;
}
#endif

#ifdef FUZZ_VIEWS
static void try_folder(void)
{
    struct sonde_measurement *m;
    struct sonde_diag diag;
    if (sonde_measurement_open(folder, &m, &diag) < 0)
        return;
    fuzz_views(m);
    sonde_measurement_close(m);
}
#else
static void try_folder(void)
{
    uint64_t before[2], after[2], lazy[2];
    struct sonde_diag diag;
    if (open_and_look(before) < 0)
        return;
    /* Sealing loses no row that could be read, and an index hides none. */
    if (sonde_process_seal(folder, &diag) < 0)
        return;
    int status = open_and_look(after);
    require(after[0] >= before[0] && after[1] >= before[1]);
    sonde__read_through_bytes = 0;
    require(open_and_look(lazy) == status && lazy[0] == after[0] && lazy[1] == after[1]);
    sonde__read_through_bytes = 1ull << 30;
}
#endif

static void try_process(const uint8_t *data, size_t size)
{
    uint32_t length;

    if (size < sizeof length)
        return;
    memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    length = length < size ? length : (uint32_t)size;
    make_folder();
    remove_files();
    write_data(data, length);
    if (size > length)
        write_live(data + length, size - length);
    try_folder();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] & 1)
        try_chunk(data + 1, size - 1);
    else if (size)
        try_process(data + 1, size - 1);
    return 0;
}
