/* folder.c - scratch folders and tallies for the tests of whole measurements.
 */
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[64];
static unsigned made;

const char *folder_new(void)
{
    static char path[128];
    if (!root[0]) {
        snprintf(root, sizeof root, "/dev/shm/sonde-test-XXXXXX");
        if (!mkdtemp(root)) {
            snprintf(root, sizeof root, "/tmp/sonde-test-XXXXXX");
            if (!mkdtemp(root))
                abort();
        }
        atexit(folder_remove_all);
    }
    snprintf(path, sizeof path, "%s/m%u", root, made++);
    return path;
}

void folder_remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (root[0] && system(command))
        perror(command);
    root[0] = '\0';
}

const char *folder_process(const char *measurement)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/synth-1000000000-1", measurement);
    return path;
}

void *folder_read(const char *dir, const char *file, size_t *size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    *size = 0;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, f) != *size)
        abort();
    fclose(f);
    return bytes;
}

void folder_write(const char *dir, const char *file, const void *bytes, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
        abort();
}

bool folder_has(const char *dir, const char *file)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return access(path, F_OK) == 0;
}

static int add_ops(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct sonde_row_op *op = rows;
    struct tally *t = user;
    (void)lane;
    t->ops += count;
    for (uint32_t i = 0; i < count; i++) {
        t->op_ns += op[i].end_ns - op[i].start_ns;
        t->op_bytes += op[i].bytes;
        t->correlations += op[i].correlation;
    }
    return 0;
}

static int add_calls(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane, (void)rows;
    ((struct tally *)user)->calls += count;
    return 0;
}

struct tally tally(const char *measurement)
{
    struct tally t = {0};
    struct sonde_measurement *m;
    struct sonde_diag diag;

    t.status = sonde_measurement_open(measurement, &m, &diag);
    if (t.status < 0)
        return t;
    t.processes = m->process_count;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        t.strings += p->string_count;
        t.frames += p->frame_count;
        t.profiles += p->profile_count;
        t.symbols += p->symbol_count;
        t.notes += p->note_count;
        t.clocks += p->clock_count;
        t.sealed = p->sealed;
        t.ledger = p->header.ledger;
        for (uint32_t k = 0; k < p->node_block_count; k++)
            t.nodes += p->node_blocks[k].count;
        sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, add_ops, &t);
        sonde_process_trace(p, SONDE_TABLE_CALL, 0, 0, UINT64_MAX, add_calls, &t);
    }
    t.damaged = m->damaged_chunks;
    for (uint32_t i = 0; i < m->process_count; i++) /* what only decoding found */
        t.damaged = m->processes[i].damaged_chunks > t.damaged ? m->processes[i].damaged_chunks : t.damaged;
    sonde_measurement_close(m);
    return t;
}
