/* table.c - the append-only tables: rows, names, devices, lanes and the rest; frame.c has the frames.
 *
 * Adding takes table_lock; finding a name that is known takes none: there are
 * small lossy caches for that (guest/pairs.h).
 */
#include "store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sonde/error.h>

#include "agent/state/state.h"
#include "guest/once.h"
#include "guest/pairs.h"
#include "table.h"

#define CACHE_ENTRIES 65536u /* 1 MiB of address space, touched as used; less with a small budget */
#define OWN_LANES 1024 /* threads beyond this many share the lanes of threads that have ended */
#define RANGE_NAMES_MAX 65536u /* their names in the trace */

static struct {
    struct sonde_pairs op, text;
    struct sonde_map known; /* what `op` may have lost */
    _Atomic bool known_spent;
    uint32_t range_names_left;
    uint32_t *string_places, string_max;
    uint32_t last_queue_lane;
    _Atomic uint64_t devices, clocked; /* bit per device id: there, has a clock pair */
    struct sonde_pieces lanes;
    struct sonde_map strings; /* hash -> string id, with linear chaining by rehash */
    struct table {
        struct sonde_segment *open;
        uint32_t count;                    /* rows so far; the next id is count + 1 */
        uint16_t *segment;                 /* number of the k-th segment of the table */
    } table[SONDE_TABLE_COUNT];
} tables;

/* Under table_lock: operations, Python frames and launch sizes that the cache has
 * lost are known here still, so that none is stored twice. */
bool sonde__known_find(uint64_t key, uint64_t *id)
{
    if (sonde__pairs_find(tables.op, key, id))
        return true;
    const uint64_t *known = sonde__map_find(&tables.known, key);
    if (known)
        sonde__pairs_put(tables.op, key, *id = *known);
    return known != NULL;
}

bool sonde__known_quick(uint64_t key, uint64_t *id)
{
    return sonde__pairs_find(tables.op, key, id);
}

/* An eighth of the heap is for that. */
bool sonde__known_room(void)
{
    if (tables.known.count < sonde__agent.heap.size / 256 && sonde__map_room(&tables.known, &sonde__agent.heap))
        return true;
    atomic_store(&tables.known_spent, true);
    return false;
}

void sonde__known_put(uint64_t key, uint32_t id)
{
    sonde__map_add(&tables.known, &sonde__agent.heap, key, id);
    sonde__pairs_put(tables.op, key, id);
}

void sonde__known_say(void)
{
    static struct sonde_once said;
    if (atomic_load(&tables.known_spent) && sonde__once(&said))
        sonde_note("too many different kernels, Python lines and launch sizes for --memory: further ones are merged");
}

uint32_t sonde__cache_entries(void)
{
    return sonde__agent.heap.size >= 64u << 20 ? CACHE_ENTRIES : CACHE_ENTRIES / 16;
}

int sonde__tables_init(void)
{
    struct sonde_heap *h = &sonde__agent.heap;
    const uint32_t entries = sonde__cache_entries();
    size_t segments = sonde__agent.config.memory_bytes / 2 / SONDE_SEGMENT_BYTES + 1;
    if (segments > SONDE_POOL_SEGMENTS_MAX)
        segments = SONDE_POOL_SEGMENTS_MAX;
    memset(&tables, 0, sizeof tables);
    tables.op = tables.text = (struct sonde_pairs){.mask = entries - 1};
    tables.op.at = sonde__heap_get(h, entries * sizeof(struct sonde_pair));
    tables.text.at = sonde__heap_get(h, entries * sizeof(struct sonde_pair));
    tables.range_names_left = RANGE_NAMES_MAX;
    tables.string_max = (uint32_t)(h->size / 128);
    tables.string_places = sonde__heap_get(h, (size_t)tables.string_max * sizeof *tables.string_places);
    uint16_t *numbers = sonde__heap_get(h, SONDE_TABLE_COUNT * segments * sizeof *numbers);
    if (!tables.op.at || !tables.text.at || !tables.string_places || !numbers)
        return SONDE_ENOMEM;
    for (int t = 0; t < SONDE_TABLE_COUNT; t++)
        tables.table[t].segment = numbers + (size_t)t * segments;
    return 0;
}

/* ---- rows, under table_lock ------------------------------------------------ */

static uint32_t rows_per_segment(uint32_t row_bytes)
{
    return SONDE_SEGMENT_ROOM / row_bytes;
}

void *sonde__row_add(enum sonde_table table, uint32_t row_bytes, uint32_t *id)
{
    struct table *t = &tables.table[table];
    uint32_t per = rows_per_segment(row_bytes), index = t->count % per;
    if (!t->open || index == 0) {
        struct sonde_segment *s =
            sonde__room_get(table, 0, (uint64_t)t->count + 1, row_bytes);
        if (!s)
            return NULL;
        t->segment[t->count / per] = (uint16_t)sonde__pool_number(&sonde__agent.pool, s);
        t->open = s;
    }
    *id = t->count + 1;
    __atomic_store_n(&t->count, *id, __ATOMIC_RELEASE); /* sonde__table_find takes no lock */
    return (unsigned char *)sonde__segment_rows(t->open) + (size_t)index * row_bytes;
}

void sonde__row_commit(enum sonde_table table)
{
    struct sonde_segment *s = tables.table[table].open;
    __atomic_store_n(&s->used, s->used + 1, __ATOMIC_RELEASE);
}

void *sonde__table_find(enum sonde_table table, uint32_t row_bytes, uint32_t id)
{
    const struct table *t = &tables.table[table];
    uint32_t per = rows_per_segment(row_bytes);
    if (id == 0 || id > __atomic_load_n(&t->count, __ATOMIC_ACQUIRE))
        return NULL;
    return sonde__agent.pool.base + (size_t)t->segment[(id - 1) / per] * SONDE_SEGMENT_BYTES +
           SONDE_SEGMENT_HEADER + (size_t)((id - 1) % per) * row_bytes;
}

uint32_t sonde__row_count(enum sonde_table table)
{
    return tables.table[table].count;
}

/* ---- strings ----------------------------------------------------------------- */

#define STRING_MAX 60000u

/* Eight bytes at a time: names of ranges are looked up in the program's threads. */
static uint64_t bytes_hash(const char *bytes, size_t length)
{
    uint64_t h = 0xcbf29ce484222325ull ^ length;
    for (; length > 0;) {
        uint64_t word = 0;
        size_t n = length < sizeof word ? length : sizeof word;
        memcpy(&word, bytes, n);
        h = sonde__map_hash(h ^ word);
        bytes += n;
        length -= n;
    }
    h = sonde__map_hash(h);
    return h ? h : 1;
}

const char *sonde__string_bytes(uint32_t id, size_t *length)
{
    uint32_t place = tables.string_places[id]; /* segment number << 16 | offset / 4 */
    const unsigned char *at = sonde__agent.pool.base + (size_t)(place >> 16) * SONDE_SEGMENT_BYTES +
                              SONDE_SEGMENT_HEADER + (size_t)(place & 0xffff) * 4;
    uint32_t stored;
    memcpy(&stored, at, 4);
    *length = stored;
    return (const char *)at + 4;
}

static bool string_equal(uint32_t id, const char *bytes, size_t length)
{
    size_t stored;
    const char *at = sonde__string_bytes(id, &stored);
    return stored == length && memcmp(at, bytes, length) == 0;
}

static uint32_t string_add(const char *bytes, size_t length)
{
    struct table *t = &tables.table[SONDE_TABLE_STRING];
    uint32_t size = (uint32_t)length, need = (4 + size + 3) & ~3u;
    if (t->count + 1 >= tables.string_max)
        return 0;
    if (!t->open || t->open->used + need > SONDE_SEGMENT_ROOM) {
        struct sonde_segment *s =
            sonde__room_get(SONDE_TABLE_STRING, 0, (uint64_t)t->count + 1, 1);
        if (!s)
            return 0;
        t->open = s;
    }
    unsigned char *at = (unsigned char *)sonde__segment_rows(t->open) + t->open->used;
    memcpy(at, &size, 4);
    memcpy(at + 4, bytes, length);
    tables.string_places[++t->count] = sonde__pool_number(&sonde__agent.pool, t->open) << 16 | t->open->used / 4;
    __atomic_store_n(&t->open->used, t->open->used + need, __ATOMIC_RELEASE);
    return t->count;
}

uint32_t sonde__string_id(const char *bytes, size_t length)
{
    if (!bytes || !sonde__agent.header)
        return 0;
    if (length > STRING_MAX)
        length = STRING_MAX;
    for (uint64_t h = bytes_hash(bytes, length);; h = h * 31 + 7) {
        const uint64_t *found = sonde__map_find(&tables.strings, h);
        if (found && string_equal((uint32_t)*found, bytes, length))
            return (uint32_t)*found;
        if (found)
            continue; /* two strings, one hash: try the next */
        uint32_t id = string_add(bytes, length);
        if (id && !sonde__map_add(&tables.strings, &sonde__agent.heap, h, id))
            return id; /* stored, but will be stored again */
        return id;
    }
}

/* `left` NULL: any number. */
uint32_t sonde__string_of_few(const char *bytes, size_t length, uint32_t *left)
{
    uint64_t key, id;
    if (!bytes || !sonde__agent_here())
        return 0;
    if (length > STRING_MAX)
        length = STRING_MAX;
    key = bytes_hash(bytes, length);
    if (sonde__pairs_find(tables.text, key, &id))
        return (uint32_t)id;
    sonde__lock(&sonde__agent.table_lock);
    uint32_t before = tables.table[SONDE_TABLE_STRING].count;
    id = left && !*left ? 0 : sonde__string_id(bytes, length);
    if (left && tables.table[SONDE_TABLE_STRING].count > before)
        --*left;
    if (id)
        sonde__pairs_put(tables.text, key, id);
    sonde__unlock(&sonde__agent.table_lock);
    return (uint32_t)id;
}

uint32_t sonde_string(const char *bytes, size_t length)
{
    return sonde__string_of_few(bytes, length, NULL);
}

uint32_t sonde_range_name(const char *bytes, size_t length)
{
    uint32_t id = sonde__string_of_few(bytes, length, &tables.range_names_left);
    return id || !bytes ? id : sonde_string(SONDE_RANGE_OTHER, sizeof SONDE_RANGE_OTHER - 1);
}

uint32_t sonde__text_id(const char *text)
{
    return text && *text ? sonde__string_id(text, strlen(text)) : 0;
}

/* ---- devices, lanes, launch configurations, clocks, notes ----------------------------- */

static uint64_t device_bit(uint32_t id)
{
    return id < 64 ? 1ull << id : 0;
}

static uint8_t backend_number(const struct sonde_backend *backend)
{
    for (uint8_t i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i] == backend)
            return i;
    return 0;
}

uint32_t sonde__device_new(const struct sonde_device_info *info)
{
    uint32_t id = 0;
    uint8_t backend = backend_number(info->backend);
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_device *d = ROW_ADD(DEVICE, struct sonde_row_device, &id);
    if (d) {
        *d = (struct sonde_row_device){
            .platform = sonde__text_id(info->platform),
            .name = sonde__text_id(info->name),
            .vendor = sonde__text_id(info->vendor),
            .driver = sonde__text_id(info->driver),
            .kind = info->kind,
            .backend = sonde__text_id(sonde_backends[backend]->name),
            .memory_bytes = info->memory_bytes,
            .compute_units = info->compute_units,
            .pci = info->pci,
        };
        if (id < sizeof sonde__agent.device_backend)
            sonde__agent.device_backend[id] = backend;
        sonde__row_commit(SONDE_TABLE_DEVICE);
        atomic_fetch_or(&tables.devices, device_bit(id));
    }
    sonde__unlock(&sonde__agent.table_lock);
    return id;
}

/* A lane of either kind: its row, and the agent's structure for it. */
uint32_t sonde__lane_new(struct sonde_row_lane row, const char *name)
{
    struct sonde_agent *a = &sonde__agent;
    uint32_t id = 0;
    sonde__lock(&a->table_lock);
    struct sonde_row_lane *r = NULL;
    struct sonde_lane *lane =
        tables.table[SONDE_TABLE_LANE].count < SONDE_LANES_MAX ? sonde__piece_get(&tables.lanes, &a->heap, sizeof *lane) : NULL;
    if (lane && !(r = ROW_ADD(LANE, struct sonde_row_lane, &id)))
        sonde__piece_put(&tables.lanes, lane);
    if (!r && row.kind == SONDE_LANE_KIND_QUEUE) /* no more lanes: the last queue's serves this one too */
        id = tables.last_queue_lane;
    if (r) {
        if (row.kind == SONDE_LANE_KIND_QUEUE)
            tables.last_queue_lane = id;
        *r = row;
        r->name = sonde__text_id(name);
        r->start_ns = sonde_now_ns();
        uint8_t backend = row.device < sizeof a->device_backend ? a->device_backend[row.device] : 0;
        *lane = (struct sonde_lane){.row = r, .id = id, .backend = backend, .out_of_order = row.flags & SONDE_LANE_OUT_OF_ORDER};
        lane->tail = &lane->head;
        sonde__row_commit(SONDE_TABLE_LANE);
        atomic_store_explicit(&a->lanes[id], lane, memory_order_release);
        atomic_store_explicit(&a->lane_count, id, memory_order_release);
    }
    sonde__unlock(&a->table_lock);
    return id;
}

void sonde__lane_begin(struct sonde_thread *t, int tid, const char *name, uint64_t start_ns)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_lane *old = t->last_lane ? atomic_load(&a->lanes[t->last_lane]) : NULL;
    if (t->lane)
        return;
    if (old && a->thread_lanes >= OWN_LANES) {
        old->row->threads++;
        old->row->end_ns = 0;
        t->lane = t->last_lane;
        return;
    }
    uint32_t lane = sonde__lane_new((struct sonde_row_lane){.kind = SONDE_LANE_KIND_THREAD,
                                                            .tid = (uint32_t)tid,
                                                            .threads = 1},
                                    name);
    a->thread_lanes++;
    t->lane = lane ? lane : t->last_lane;
    if (lane)
        atomic_load(&a->lanes[lane])->row->start_ns = start_ns;
}

void sonde__lane_end(const struct sonde_thread *t)
{
    struct sonde_lane *lane = t->lane ? atomic_load(&sonde__agent.lanes[t->lane]) : NULL;
    if (lane)
        lane->row->end_ns = sonde_now_ns();
}

uint32_t sonde_lane_add(uint32_t device, uint32_t context, uint32_t flags, const char *name)
{
    if (!sonde__agent_here())
        return 0;
    return sonde__lane_new((struct sonde_row_lane){.kind = SONDE_LANE_KIND_QUEUE,
                                                   .device = device,
                                                   .context = context,
                                                   .flags = flags},
                           name);
}

uint32_t sonde_work_add(uint32_t dims, const size_t *global, const size_t *local)
{
    struct sonde_work work = {.dims = dims};
    if (dims > 3)
        return 0;
    for (uint32_t i = 0; i < dims; i++) {
        work.global[i] = global ? global[i] : 0;
        work.local[i] = local ? local[i] : 0;
    }
    return sonde_work_intern(&work);
}

static uint64_t work_key(const struct sonde_row_work *row)
{
    uint64_t words[sizeof *row / 8], key = 0x776f726bull;
    memcpy(words, row, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        key = sonde__map_hash(key ^ words[i]) + i;
    return key | 1ull << 62;
}

uint32_t sonde_work_intern(const struct sonde_work *w)
{
    const struct sonde_row_work row = {
        .dims = w->dims,
        .registers = w->registers,
        .global = {w->global[0], w->global[1], w->global[2]},
        .local = {w->local[0], w->local[1], w->local[2]},
        .cluster = {w->cluster[0], w->cluster[1], w->cluster[2]},
        .static_shared = w->static_shared,
        .dynamic_shared = w->dynamic_shared,
        .local_bytes = w->local_bytes,
        .occupancy = w->occupancy,
        .limiter = w->limiter,
        .source = w->source,
        .target = w->target,
        .source_device = w->source_device,
        .target_device = w->target_device,
        .algorithm = w->algorithm,
        .protocol = w->protocol,
        .channels = w->channels,
        .rank = w->rank,
        .ranks = w->ranks,
        .peer = w->peer,
    };
    uint64_t key = work_key(&row), found;
    if (!sonde__agent_here())
        return 0;
    if (sonde__pairs_find(tables.op, key, &found))
        return (uint32_t)found;
    uint32_t id = 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_work *stored = NULL;
    if (sonde__known_find(key, &found))
        id = (uint32_t)found;
    else if (sonde__known_room())
        stored = ROW_ADD(WORK, struct sonde_row_work, &id);
    if (stored) {
        *stored = row;
        sonde__row_commit(SONDE_TABLE_WORK);
        sonde__known_put(key, id);
    }
    sonde__unlock(&sonde__agent.table_lock);
    sonde__known_say();
    return id;
}

void sonde_clock_pair(uint32_t device, uint64_t host_ns, uint64_t device_ns, uint64_t bound_ns)
{
    uint32_t id;
    if (!sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_clock *c = ROW_ADD(CLOCK, struct sonde_row_clock, &id);
    if (c) {
        *c = (struct sonde_row_clock){.device = device, .host_ns = host_ns, .device_ns = device_ns, .bound_ns = bound_ns};
        sonde__row_commit(SONDE_TABLE_CLOCK);
    }
    uint64_t *bound = &sonde__agent.header->clock_bound_ns;
    if (bound_ns > __atomic_load_n(bound, __ATOMIC_RELAXED)) /* the monitor reads it, with another lock */
        __atomic_store_n(bound, bound_ns, __ATOMIC_RELAXED);
    atomic_fetch_or(&tables.clocked, device_bit(device));
    sonde__unlock(&sonde__agent.table_lock);
}

uint64_t sonde__clocks_missing(void)
{
    return atomic_load(&tables.devices) & ~atomic_load(&tables.clocked);
}

const char *sonde__note_last(void)
{
    sonde__lock(&sonde__agent.table_lock);
    const uint32_t count = tables.table[SONDE_TABLE_NOTE].count;
    const struct sonde_row_note *n = count ? sonde__table_find(SONDE_TABLE_NOTE, sizeof *n, count) : NULL;
    sonde__unlock(&sonde__agent.table_lock);
    return n ? n->text : NULL;
}

void sonde_note(const char *format, ...)
{
    struct sonde_row_note row = {.at_ns = sonde_now_ns()};
    va_list args;
    uint32_t id;
    if (!sonde__agent_here())
        return;
    va_start(args, format);
    vsnprintf(row.text, sizeof row.text, format, args);
    va_end(args);
    /* Bounded: the end of the process may come in a handler that interrupted whoever holds it. */
    if (!sonde__lock_within(&sonde__agent.table_lock, 1000))
        return;
    uint32_t count = tables.table[SONDE_TABLE_NOTE].count;
    for (uint32_t i = 1; i <= count; i++) {
        struct sonde_row_note *n = sonde__table_find(SONDE_TABLE_NOTE, sizeof *n, i);
        if (n && !strcmp(n->text, row.text))
            goto known;
    }
    struct sonde_row_note *n = count < 1000 ? ROW_ADD(NOTE, struct sonde_row_note, &id) : NULL;
    if (n) {
        *n = row;
        sonde__row_commit(SONDE_TABLE_NOTE);
    }
known:
    sonde__unlock(&sonde__agent.table_lock);
}

/* For the monitor: append a PROFILE or HISTOGRAM row and return it with its id. */
void *sonde__table_row(enum sonde_table table, uint32_t row_bytes, uint32_t *id)
{
    sonde__lock(&sonde__agent.table_lock);
    void *row = sonde__row_add(table, row_bytes, id);
    if (row)
        sonde__row_commit(table);
    sonde__unlock(&sonde__agent.table_lock);
    return row;
}
