/* build.c - segments and chunks of a made-up process, laid out as the agent lays them out.
 *
 * Rows of traces are kept per lane until they fill a chunk (SONDE_CHUNK_SEGMENTS
 * segments), which is then written; what is left at the end goes to live.sonde.
 * Memory is that of the other tables and one chunk per lane and table.
 */
#include "synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"

struct slot { /* the segment that a table (and owner) fills; a trace: rows of the next chunk */
    uint16_t table;
    uint32_t owner, segment;
    uint64_t next; /* id or sequence number */
    uint8_t *rows; /* traces only */
    uint32_t used;
};

struct list { /* numbers that grow */
    uint32_t *items, count, room;
};

struct synth_build {
    char live[4096];
    FILE *data;
    uint8_t *segments; /* [segment][SONDE_SEGMENT_BYTES]; the first is the header's */
    uint32_t count, room;
    struct slot *slots;
    uint32_t slot_count, slot_room;
    struct list by_owner[SONDE_TABLE_COUNT]; /* [owner]: slot + 1 */
    struct list segments_of[SONDE_TABLE_COUNT]; /* not of traces */
    void *scratch, *out;
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

/* ---- places ------------------------------------------------------------- */

static uint32_t *list_at(struct list *l, uint32_t index)
{
    if (index >= l->room) {
        uint32_t room = index < 16 ? 32 : index * 2;
        l->items = must(realloc(l->items, room * sizeof *l->items));
        memset(l->items + l->room, 0, (room - l->room) * sizeof *l->items);
        l->room = room;
    }
    l->count = index >= l->count ? index + 1 : l->count;
    return &l->items[index];
}

static struct sonde_segment *segment_at(struct synth_build *b, uint32_t index)
{
    return (struct sonde_segment *)(void *)(b->segments + (size_t)index * SONDE_SEGMENT_BYTES);
}

static void *row_at(struct sonde_segment *s, uint32_t index)
{
    return (uint8_t *)s + SONDE_SEGMENT_HEADER + (size_t)index * s->row_bytes;
}

static uint32_t segment_rows(unsigned table)
{
    return SONDE_SEGMENT_ROOM / sonde_row_bytes((enum sonde_table)table);
}

static struct slot *find_slot(struct synth_build *b, enum sonde_table table, uint32_t owner)
{
    uint32_t *at = list_at(&b->by_owner[table], owner);
    bool trace = sonde_table_is_trace(table);

    if (*at)
        return &b->slots[*at - 1];
    if (b->slot_count == b->slot_room) {
        b->slot_room = b->slot_room ? b->slot_room * 2 : 64;
        b->slots = must(realloc(b->slots, b->slot_room * sizeof *b->slots));
    }
    b->slots[b->slot_count] = (struct slot){
        .table = (uint16_t)table,
        .owner = owner,
        .next = trace ? 0 : 1,
        .rows = trace ? must(malloc(SONDE_CHUNK_ROOM)) : NULL,
    };
    *at = ++b->slot_count;
    return &b->slots[b->slot_count - 1];
}

static void begin_segment(struct synth_build *b, struct slot *slot)
{
    struct sonde_segment *s;

    if (b->count == b->room) {
        b->room *= 2;
        b->segments = must(realloc(b->segments, (size_t)b->room * SONDE_SEGMENT_BYTES));
    }
    slot->segment = b->count++;
    *list_at(&b->segments_of[slot->table], b->segments_of[slot->table].count) = slot->segment;
    s = segment_at(b, slot->segment);
    memset(s, 0, SONDE_SEGMENT_BYTES);
    if (slot->table == SONDE_TABLE_NODE)
        slot->next = (uint64_t)slot->segment << SONDE_NODE_SHIFT;
    *s = (struct sonde_segment){
        .magic = SONDE_SEGMENT_MAGIC,
        .table = slot->table,
        .owner = slot->owner,
        .first = slot->next,
        .row_bytes = sonde_row_bytes(slot->table),
    };
}

/* Room for `size` more bytes in the slot's segment. */
static struct sonde_segment *make_room(struct synth_build *b, struct slot *slot, uint32_t size)
{
    if (!slot->segment)
        begin_segment(b, slot);
    struct sonde_segment *s = segment_at(b, slot->segment);
    if ((uint64_t)s->used * s->row_bytes + size > SONDE_SEGMENT_ROOM)
        begin_segment(b, slot);
    return segment_at(b, slot->segment);
}

/* ---- rows --------------------------------------------------------------- */

static void write_chunk(struct synth_build *b, struct slot *slot)
{
    long size = sonde_chunk_encode(slot->table, slot->owner, slot->next - slot->used, slot->rows, slot->used,
                                   b->scratch, b->out, sonde_chunk_bound());
    if (size < 0 || fwrite(b->out, 1, (size_t)size, b->data) != (size_t)size) {
        fputs("synth: cannot write a chunk\n", stderr);
        exit(1);
    }
    slot->used = 0;
}

static uint64_t add_to_trace(struct synth_build *b, struct slot *slot, const void *row)
{
    uint32_t width = sonde_row_bytes(slot->table);

    if (slot->used == SONDE_CHUNK_SEGMENTS * segment_rows(slot->table))
        write_chunk(b, slot);
    memcpy(slot->rows + (size_t)slot->used * width, row, width);
    slot->used++;
    return slot->next++;
}

uint64_t synth_add(struct synth_build *b, enum sonde_table table, uint32_t owner, const void *row)
{
    struct slot *slot = find_slot(b, table, owner);
    struct sonde_segment *s;

    if (slot->rows)
        return add_to_trace(b, slot, row);
    s = make_room(b, slot, sonde_row_bytes(table));
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

/* Segments of a table with ids are full but for the last; nodes say theirs in the id. */
void *synth_row(struct synth_build *b, enum sonde_table table, uint64_t id)
{
    const struct list *of = &b->segments_of[table];
    uint64_t index = table == SONDE_TABLE_NODE ? id >> SONDE_NODE_SHIFT : (id - 1) / segment_rows(table);

    if (!id || sonde_table_is_trace(table) || table == SONDE_TABLE_STRING)
        return NULL;
    if (table != SONDE_TABLE_NODE)
        index = index < of->count ? of->items[index] : b->count;
    struct sonde_segment *s = index < b->count ? segment_at(b, (uint32_t)index) : NULL;
    return s && s->table == table && id - s->first < s->used ? row_at(s, (uint32_t)(id - s->first)) : NULL;
}

/* ---- the end ------------------------------------------------------------ */

/* What no chunk has yet: segments of live.sonde. Returns how many; writes when `live` is there. */
static uint32_t put_rest(struct slot *slot, FILE *live)
{
    uint32_t width = sonde_row_bytes(slot->table), room = segment_rows(slot->table), segments = 0;
    struct sonde_segment s = {.magic = SONDE_SEGMENT_MAGIC, .table = slot->table, .owner = slot->owner, .row_bytes = width};
    static const uint8_t zeros[SONDE_SEGMENT_ROOM];

    for (uint32_t at = 0; slot->rows && at < slot->used; at += s.used, segments++) {
        s.first = slot->next - slot->used + at;
        s.used = slot->used - at < room ? slot->used - at : room;
        if (!live)
            continue;
        fwrite(&s, sizeof s, 1, live);
        fwrite(slot->rows + (size_t)at * width, width, s.used, live);
        fwrite(zeros, 1, SONDE_SEGMENT_ROOM - (size_t)s.used * width, live);
    }
    return segments;
}

static void release(struct synth_build *b)
{
    for (uint32_t i = 0; i < b->slot_count; i++)
        free(b->slots[i].rows);
    for (unsigned t = 0; t < SONDE_TABLE_COUNT; t++) {
        free(b->by_owner[t].items);
        free(b->segments_of[t].items);
    }
    free(b->segments);
    free(b->slots);
    free(b->scratch);
    free(b->out);
    free(b);
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
    for (uint32_t i = 0; i < b->slot_count; i++)
        h->segment_count += put_rest(&b->slots[i], NULL);
    if (live) {
        fwrite(b->segments, SONDE_SEGMENT_BYTES, b->count, live);
        for (uint32_t i = 0; i < b->slot_count; i++)
            put_rest(&b->slots[i], live);
        status = ferror(live) ? SONDE_EIO : 0;
    }
    if (live && fclose(live))
        status = SONDE_EIO;
    if (fclose(b->data))
        status = SONDE_EIO;
    release(b);
    return status;
}
