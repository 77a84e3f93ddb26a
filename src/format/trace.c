/* trace.c - the traces of a process: which chunks hold them, and reading them.
 */
#include "process.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

/* ---- listing ------------------------------------------------------------ */

static struct sonde_chunk_ref make_ref(const struct sonde__process *own, const struct sonde__piece *piece)
{
    const struct sonde_chunk *h = &piece->header;
    struct sonde_chunk_ref ref = {
        .lane = h->owner,
        .count = h->count,
        .table = h->table,
        .live = piece->live != NULL,
        .first = h->first,
        .time_min = h->time_min,
        .time_max = h->time_max,
    };
    if (piece->live) {
        ref.data = piece->live->block;
        ref.size = SONDE_SEGMENT_HEADER + (size_t)h->raw_bytes;
    } else {
        ref.data = own->data.bytes + piece->chunk->offset;
        ref.size = sizeof *h + (size_t)h->stored_bytes;
    }
    return ref;
}

static void drop_damaged(struct sonde_process *p, const struct sonde_chunk_ref *ref)
{
    p->damaged_chunks++;
    p->damaged_bytes += ref->size;
}

/* Pieces come sorted by table, lane and first. Rows that are there twice are
 * kept once: the longer of two runs that begin together, the earlier of two
 * that overlap. */
static void add_ref(struct sonde_process *p, const struct sonde_chunk_ref *ref, unsigned char state)
{
    struct sonde__process *own = p->private_data;
    struct sonde_chunk_ref *last = p->trace_count ? &p->traces[p->trace_count - 1] : NULL;
    bool overlap = last && last->table == ref->table && last->lane == ref->lane &&
                   ref->first < last->first + last->count;

    if (overlap && ref->first + ref->count <= last->first + last->count)
        return;
    if (overlap && ref->first != last->first) {
        drop_damaged(p, ref);
        return;
    }
    p->trace_count += !overlap;
    p->traces[p->trace_count - 1] = *ref;
    own->trace_state[p->trace_count - 1] = state;
}

/* A trace whose LANE row was lost still has a lane, so that lanes[] may be
 * indexed by it; what is known of it is its kind. */
static int cover_lanes(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;
    uint32_t count = own->lane_rows = p->lane_count;
    struct sonde_row_lane *lanes;

    for (uint32_t i = 0; i < p->trace_count; i++)
        count = p->traces[i].lane >= count ? p->traces[i].lane + 1 : count;
    lanes = realloc((void *)(uintptr_t)p->lanes, (size_t)count * sizeof *lanes);
    if (!lanes)
        return SONDE_ENOMEM;
    memset(lanes + p->lane_count, 0, (size_t)(count - p->lane_count) * sizeof *lanes);
    p->tables[SONDE_TABLE_LANE] = (struct sonde_rows){p->lanes = lanes, p->lane_count = count};
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (!lanes[p->traces[i].lane].kind)
            lanes[p->traces[i].lane].kind =
                sonde_table_info(p->traces[i].table)->lane_kind;
    return 0;
}

static void add_pieces(struct sonde_process *p, enum sonde_table table, uint32_t lane_limit)
{
    struct sonde__process *own = p->private_data;
    size_t end;

    for (size_t i = sonde__process_pieces(p, table, &end); i < end; i++) {
        struct sonde_chunk_ref ref = make_ref(own, &own->pieces[i]);
        bool sound = ref.live || own->pieces[i].chunk->checked;
        if (ref.lane >= lane_limit)
            drop_damaged(p, &ref);
        else
            add_ref(p, &ref, sound ? SONDE__TRACE_SOUND : SONDE__TRACE_UNCHECKED);
    }
}

int sonde__process_list_traces(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;
    size_t room = own->piece_count + 1;
    /* A lane beyond this is damage, and must not make us allocate for it. */
    uint64_t lane_limit = p->lane_count + (uint64_t)own->piece_count + 65536;

    p->traces = calloc(room, sizeof *p->traces);
    own->trace_state = calloc(room, sizeof *own->trace_state);
    if (!p->traces || !own->trace_state || room > UINT32_MAX)
        return SONDE_ENOMEM;
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        if (sonde_table_is_trace(table))
            add_pieces(p, (enum sonde_table)table, lane_limit < UINT32_MAX ? (uint32_t)lane_limit : UINT32_MAX);
    return cover_lanes(p);
}

/* ---- reading ------------------------------------------------------------ */

static void mark_damaged(const struct sonde_process *p, uint32_t index)
{
    struct sonde__process *own = p->private_data;
    struct sonde_process *shared = (struct sonde_process *)(uintptr_t)p;

    /* Whoever finds it first counts it; several threads may read. */
    if (atomic_exchange(&own->trace_state[index], SONDE__TRACE_DAMAGED) == SONDE__TRACE_DAMAGED)
        return;
    __atomic_fetch_add(&shared->damaged_chunks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->damaged_bytes, p->traces[index].size, __ATOMIC_RELAXED);
}

bool sonde_chunk_is_damaged(const struct sonde_process *p, uint32_t index)
{
    struct sonde__process *own = p->private_data;
    return atomic_load(&own->trace_state[index]) == SONDE__TRACE_DAMAGED;
}

void sonde_chunk_set_damaged(const struct sonde_process *p, uint32_t index)
{
    if (index < p->trace_count)
        mark_damaged(p, index);
}

struct sonde_chunk_reader {
    struct sonde__decoder *decoder;
    void *buffer;
};

struct sonde_chunk_reader *sonde_chunk_reader_create(void)
{
    struct sonde_chunk_reader *reader = malloc(sizeof *reader);
    if (!reader)
        return NULL;
    reader->decoder = sonde__decoder_create();
    reader->buffer = malloc(SONDE_CHUNK_ROOM);
    if (reader->decoder && reader->buffer)
        return reader;
    sonde_chunk_reader_destroy(reader);
    return NULL;
}

void sonde_chunk_reader_destroy(struct sonde_chunk_reader *reader)
{
    if (!reader)
        return;
    sonde__decoder_destroy(reader->decoder);
    free(reader->buffer);
    free(reader);
}

/* Is the chunk there, whole, and the one that the index spoke of? */
static bool check_trace(const struct sonde_chunk_ref *ref)
{
    const struct sonde_chunk told = {
        .table = ref->table,
        .owner = ref->lane,
        .count = ref->count,
        .first = ref->first,
        .time_min = ref->time_min,
        .time_max = ref->time_max,
        .stored_bytes = (uint32_t)(ref->size - sizeof told),
    };
    struct sonde_chunk found;
    return sonde__chunk_is(ref->data, ref->size, &told, &found);
}

/* All of a chunk is wanted, and at first nothing of what lies around it: opening told the kernel not to read ahead. Who has read so much of a file
 * reads more of it. */
enum { READ_AHEAD_PART = 8 };

static void read_ahead(struct sonde__process *own, const struct sonde_chunk_ref *ref)
{
    const size_t at = (size_t)((const uint8_t *)ref->data - own->data.bytes), before = at % PAGE_BYTES;
    if (atomic_load(&own->looked_at) < own->data.size / READ_AHEAD_PART)
        madvise((void *)(uintptr_t)(own->data.bytes + at - before), ref->size + before, MADV_WILLNEED);
    else if (!atomic_exchange(&own->read_ahead, true))
        madvise((void *)(uintptr_t)own->data.bytes, own->data.size, MADV_NORMAL);
}

/* What was read needs no memory of ours any more; the page cache keeps it as it likes. Nothing is
 * lost where another thread looks at it just now: the pages come back. */
static void let_go(struct sonde__process *own, size_t bytes)
{
    const uint64_t before = atomic_fetch_add(&own->looked_at, bytes);
    if (before / own->resident_bytes != (before + bytes) / own->resident_bytes)
        madvise((void *)(uintptr_t)own->data.bytes, own->data.size, MADV_DONTNEED);
}

static bool decode(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index, uint64_t fields, uint64_t kept,
                   void *rows)
{
    struct sonde__process *own = p->private_data;
    const struct sonde_chunk_ref *ref = &p->traces[index];
    struct sonde_chunk h;

    if (atomic_load(&own->trace_state[index]) == SONDE__TRACE_DAMAGED)
        return false;
    if (atomic_load(&own->trace_state[index]) == SONDE__TRACE_UNCHECKED) {
        read_ahead(own, ref);
        if (!check_trace(ref)) {
            mark_damaged(p, index);
            return false;
        }
        atomic_store(&own->trace_state[index], SONDE__TRACE_SOUND);
    }
    memcpy(&h, ref->data, sizeof h);
    /* As many rows as there is room for, whatever became of the file meanwhile. */
    if (h.table != ref->table || h.count != ref->count ||
        sonde__decoder_fields(reader->decoder, ref->data, ref->size, &h, fields, kept, rows) < 0) {
        mark_damaged(p, index);
        return false;
    }
    let_go(own, ref->size);
    return true;
}

static const uint8_t *live_rows(const struct sonde_chunk_ref *ref)
{
    return (const uint8_t *)ref->data + SONDE_SEGMENT_HEADER;
}

/* Neighbouring fields that are kept are copied together. */
static void copy_kept(uint8_t *to, const uint8_t *rows, size_t count, size_t bytes, uint64_t kept)
{
    const size_t stride = sonde__kept_before(kept, bytes);
    for (size_t at = 0, end; at < bytes; at = end) {
        const size_t place = sonde__kept_before(kept, at);
        const bool copied = kept >> at / 2 & 1;
        for (end = at + 2; end < bytes && (kept >> end / 2 & 1) == copied;)
            end += 2;
        for (size_t i = 0; i < count && copied; i++)
            memcpy(to + i * stride + place, rows + i * bytes + at, end - at);
    }
}

/* In place when live, else decoded. */
const void *sonde_chunk_reader_fields(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index,
                                      uint64_t fields)
{
    if (p->traces[index].live)
        return live_rows(&p->traces[index]);
    return decode(reader, p, index, fields, SONDE__ALL_FIELDS, reader->buffer) ? reader->buffer : NULL;
}

bool sonde_chunk_reader_into(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index, uint64_t fields,
                             uint64_t kept, void *rows)
{
    const struct sonde_chunk_ref *ref = &p->traces[index];

    if (!ref->live)
        return decode(reader, p, index, fields, kept, rows);
    copy_kept(rows, live_rows(ref), ref->count, sonde_row_bytes(ref->table), kept);
    return true;
}

const void *sonde_chunk_reader_rows(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index)
{
    return sonde_chunk_reader_fields(reader, p, index, SONDE__ALL_FIELDS);
}

/* The first trace of a table and lane, or of the table when lane is 0. */
static uint32_t find_trace(const struct sonde_process *p, enum sonde_table table, uint32_t lane)
{
    uint32_t low = 0, high = p->trace_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct sonde_chunk_ref *t = &p->traces[middle];
        if (t->table < (uint32_t)table || (t->table == (uint32_t)table && t->lane < lane))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int sonde_process_trace(const struct sonde_process *p, enum sonde_table table, uint32_t lane,
                        uint64_t from_ns, uint64_t to_ns, sonde_batch_fn fn, void *user)
{
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    int status = reader ? 0 : SONDE_ENOMEM;

    for (uint32_t i = find_trace(p, table, lane); !status && i < p->trace_count; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        const void *rows;
        if (t->table != (uint32_t)table || (lane && t->lane != lane))
            break;
        if (t->time_max < from_ns || t->time_min > to_ns)
            continue;
        rows = sonde_chunk_reader_rows(reader, p, i);
        if (rows)
            status = fn(user, t->lane, rows, t->count);
    }
    sonde_chunk_reader_destroy(reader);
    return status;
}
