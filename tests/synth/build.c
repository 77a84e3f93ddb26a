/* build.c - segments and chunks of a made-up process, laid out as the agent lays them out.
 */
#include "synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"

struct slot { /* the segment that a table (and owner) fills */
    uint16_t table;
    uint32_t owner, segment;
    uint64_t next;
};

struct synth_build {
    char     live[4096];
    FILE    *data;
    uint8_t *segments; /* [segment][SONDE_SEGMENT_BYTES]; the first is the header's */
    uint32_t count, room;
    struct slot *slots;
    uint32_t slot_count;
    void    *scratch, *out;
};

static void *must(void *memory)
{
    if (!memory) {
        fputs("synth: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

struct synth_build *synth_build_create(const char *dir)
{
    struct synth_build *b = must(calloc(1, sizeof *b));
    char path[4200];

    snprintf(b->live, sizeof b->live, "%s/live.sonde", dir);
    snprintf(path, sizeof path, "%s/data.sonde", dir);
    b->data = fopen(path, "wbx");
    b->scratch = must(aligned_alloc(64, sonde_chunk_scratch_bytes()));
    b->out = must(malloc(sonde_chunk_bound()));
    b->count = b->room = 1;
    b->segments = must(calloc(1, SONDE_SEGMENT_BYTES));
    if (!b->data) {
        perror(path);
        exit(1);
    }
    return b;
}

static struct sonde_segment *segment_at(struct synth_build *b, uint32_t index)
{
    return (struct sonde_segment *)(void *)(b->segments + (size_t)index * SONDE_SEGMENT_BYTES);
}

static void *row_at(struct sonde_segment *s, uint32_t index)
{
    return (uint8_t *)s + SONDE_SEGMENT_HEADER + (size_t)index * s->row_bytes;
}

static struct slot *find_slot(struct synth_build *b, enum sonde_table table, uint32_t owner)
{
    for (uint32_t i = 0; i < b->slot_count; i++)
        if (b->slots[i].table == table && b->slots[i].owner == owner)
            return &b->slots[i];
    b->slots = must(realloc(b->slots, (b->slot_count + 1) * sizeof *b->slots));
    bool trace = table == SONDE_TABLE_OP || table == SONDE_TABLE_CALL;
    b->slots[b->slot_count] = (struct slot){ (uint16_t)table, owner, 0, trace ? 0 : 1 };
    return &b->slots[b->slot_count++];
}

static void begin_segment(struct synth_build *b, struct slot *slot)
{
    struct sonde_segment *s;

    if (b->count == b->room) {
        b->room *= 2;
        b->segments = must(realloc(b->segments, (size_t)b->room * SONDE_SEGMENT_BYTES));
    }
    slot->segment = b->count++;
    s = segment_at(b, slot->segment);
    memset(s, 0, SONDE_SEGMENT_BYTES);
    if (slot->table == SONDE_TABLE_NODE)
        slot->next = (uint64_t)slot->segment << SONDE_NODE_SHIFT;
    *s = (struct sonde_segment){ .magic = SONDE_SEGMENT_MAGIC, .table = slot->table, .owner = slot->owner,
                                 .first = slot->next, .row_bytes = sonde_row_bytes(slot->table) };
}

/* A full trace segment is written and used again. */
static void flush_segment(struct synth_build *b, struct slot *slot)
{
    struct sonde_segment *s = segment_at(b, slot->segment);
    long size = sonde_chunk_encode(slot->table, slot->owner, s->first, row_at(s, 0), s->used,
                                   b->scratch, b->out, sonde_chunk_bound());
    if (size < 0 || fwrite(b->out, 1, (size_t)size, b->data) != (size_t)size) {
        fputs("synth: cannot write a chunk\n", stderr);
        exit(1);
    }
    s->first = slot->next;
    s->used = 0;
}

/* Room for `size` more bytes in the slot's segment. */
static struct sonde_segment *make_room(struct synth_build *b, struct slot *slot, uint32_t size)
{
    if (!slot->segment)
        begin_segment(b, slot);
    struct sonde_segment *s = segment_at(b, slot->segment);
    if ((uint64_t)s->used * s->row_bytes + size > SONDE_SEGMENT_ROOM) {
        if (slot->table == SONDE_TABLE_OP || slot->table == SONDE_TABLE_CALL)
            flush_segment(b, slot);
        else
            begin_segment(b, slot);
    }
    return segment_at(b, slot->segment);
}

uint64_t synth_add(struct synth_build *b, enum sonde_table table, uint32_t owner, const void *row)
{
    struct slot *slot = find_slot(b, table, owner);
    struct sonde_segment *s = make_room(b, slot, sonde_row_bytes(table));

    memcpy(row_at(s, s->used), row, s->row_bytes);
    s->used++;
    return slot->next++;
}

uint32_t synth_add_string(struct synth_build *b, const char *text)
{
    struct slot *slot = find_slot(b, SONDE_TABLE_STRING, 0);
    uint32_t length = (uint32_t)strlen(text), size = 4 + ((length + 3) & ~3u);
    struct sonde_segment *s = make_room(b, slot, size);
    uint8_t *to = row_at(s, s->used);

    memcpy(to, &length, sizeof length);
    memcpy(to + 4, text, length);
    s->used += size;
    return (uint32_t)slot->next++;
}

uint32_t synth_next_id(const struct synth_build *b, enum sonde_table table)
{
    return (uint32_t)find_slot((struct synth_build *)(uintptr_t)b, table, 0)->next;
}

void *synth_row(struct synth_build *b, enum sonde_table table, uint64_t id)
{
    for (uint32_t i = 1; i < b->count; i++) {
        struct sonde_segment *s = segment_at(b, i);
        if (s->table == table && id >= s->first && id < s->first + s->used)
            return row_at(s, (uint32_t)(id - s->first));
    }
    return NULL;
}

int synth_build_finish(struct synth_build *b, const struct sonde_live_header *header)
{
    struct sonde_live_header *h = (struct sonde_live_header *)(void *)b->segments;
    FILE *live = fopen(b->live, "wbx");
    int status = live ? 0 : SONDE_EIO;

    *h = *header;
    h->magic = SONDE_LIVE_MAGIC;
    h->version = SONDE_FORMAT_VERSION;
    h->segment_bytes = SONDE_SEGMENT_BYTES;
    h->segment_count = b->count;
    if (!status && fwrite(b->segments, SONDE_SEGMENT_BYTES, b->count, live) != b->count)
        status = SONDE_EIO;
    if (live && fclose(live))
        status = SONDE_EIO;
    if (fclose(b->data))
        status = SONDE_EIO;
    free(b->segments);
    free(b->slots);
    free(b->scratch);
    free(b->out);
    free(b);
    return status;
}
