/* coarse.c - what operations leave unchanged (--values).
 *
 * What an operation writes, or may write, is copied before it and compared after it, by kernels of ours around it in its own
 * stream (instrument/compare.h); sums are on the device, and are read in a stream of ours by the thread that fetches records. The program
 * waits for none of it. Of an object nothing is kept between two operations but which of its bytes were written, so that it
 * does not matter who else wrote it.
 *
 * Of a kernel that has an instrumented copy it is known what it wrote: the copy marks it (SONDE_PLAN_SETS). Of another, any of the
 * objects that its parameters point to may have been written.
 *
 * One thread at a time makes an operation in a stream with what is around it; another that comes meanwhile goes on without,
 * and says that it did.
 */
#include "sonde_cuda.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"

#define SLOTS_MAX 32768u /* of a context */
#define GUARDS    4096u  /* two streams may share one */
#define THREADS   256u   /* of a block of ours */
#define PIECE     16u    /* bytes that a thread copies at once */

struct row { /* what a slot's sums are of */
    uint32_t operation, object, element_bytes;
    bool maybe, raced;
};

struct sonde_cuda_slots {
    CUdeviceptr at;
    uint32_t count;
    _Atomic uint64_t made;  /* operations */
    uint64_t read;
    struct row row[SLOTS_MAX];
    struct sonde_ptx_sums told[SLOTS_MAX], found[SLOTS_MAX];
};

struct sonde_cuda_guard {
    struct sonde_lock lock; /* of a stream, from before an operation until after it */
    _Atomic bool disturbed; /* by an operation that went on without */
};
static struct sonde_cuda_guard guards[GUARDS];

static struct {
    struct sonde_lock lock; /* of making slots */
    const struct sonde_cuda_own *own;
} coarse;

static struct sonde_shared_map slots; /* by what is in a row, and the context -> number, from 1 */

/* ---- our kernels ------------------------------------------------------------------------------------ */

/* Code that the driver loads when it is first launched could wait for a kernel of the program's that waits for the host; of the others, the
 * first operation launches some. */
static bool load_mark(const struct sonde_cuda_place *p)
{
    uint64_t none = 0;
    return sonde__cuda_twins.cuLaunchKernel((CUfunction)coarse.own->mark, 1, 1, 1, THREADS, 1, 1, 0, p->stream,
                                            (void *[]){&none, &none, &none, &none, &none, &none, &none, &none}, NULL) == CUDA_SUCCESS;
}

static bool is_ready(struct sonde_cuda_place *p)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    if (p->slots)
        return true;
    sonde__lock(&coarse.lock);
    t->cuThreadExchangeStreamCaptureMode(&mode);
    coarse.own = sonde__cuda_own();
    struct sonde_cuda_slots *s = p->slots;
    if (!s && coarse.own && (s = sonde__pages_get(sizeof *s))) {
        if (sonde__cuda_duplicates_ready(p) && t->cuMemAlloc_v2(&s->at, SLOTS_MAX * sizeof *s->told) == CUDA_SUCCESS &&
            t->cuMemsetD8Async(s->at, 0, SLOTS_MAX * sizeof *s->told, p->stream) == CUDA_SUCCESS && load_mark(p)) {
            sonde__cuda_host_ready(p);
            p->slots = t->cuStreamSynchronize(p->stream) == CUDA_SUCCESS ? s : NULL;
        }
        if (!p->slots)
            sonde__pages_put(s, sizeof *s);
    }
    t->cuThreadExchangeStreamCaptureMode(&mode);
    sonde__unlock(&coarse.lock);
    return p->slots != NULL;
}

static uint32_t blocks_for(const struct sonde_cuda_place *p, uint64_t items)
{
    const uint64_t blocks = (items + THREADS - 1) / THREADS, most = 8ull * p->multiprocessors;
    return (uint32_t)(blocks > most ? most : (blocks ? blocks : 1));
}

static bool launch(const struct sonde_cuda_coarse *c, CUkernel kernel, uint64_t items, void **parameters)
{
    return sonde__cuda_twins.cuLaunchKernel((CUfunction)kernel, blocks_for(c->place, items), 1, 1, THREADS, 1, 1, 0, c->stream, parameters, NULL) == CUDA_SUCCESS;
}

/* ---- what was written before -------------------------------------------------------------------------- */

struct extent { /* of an object */
    struct extent *next;
    uint64_t from, to; /* bytes that something wrote; of several stretches the largest */
    uint64_t writer;   /* the stream of all that wrote; UINT64_MAX: several */
    uint64_t version;  /* how often it was written */
};
static _Atomic uint64_t unseen; /* operations that may have written any */
static struct {
    struct sonde_lock lock;
    struct sonde_map by_object;
    struct extent *spare;
} extents;

static struct extent *extent_of(uint32_t object)
{
    const uint64_t *known = sonde__map_find(&extents.by_object, object);
    if (known)
        return (void *)(uintptr_t)*known;
    struct extent *e = extents.spare;
    if (e)
        extents.spare = e->next;
    else
        e = sonde__memory_get(sizeof *e);
    if (!e || !sonde__map_room(&extents.by_object, NULL))
        return NULL;
    *e = (struct extent){0};
    sonde__map_add(&extents.by_object, NULL, object, (uintptr_t)e);
    return e;
}

static void written_by(struct extent *e, uint64_t writer)
{
    e->writer = e->writer && e->writer != writer ? UINT64_MAX : writer;
    e->version++;
}

/* `t` is being written: what of it was written before is left in it, elsewhere there is nothing to compare with. */
static void define(struct sonde_cuda_target *t, uint64_t writer)
{
    const uint64_t from = t->from, to = t->to;
    sonde__lock(&extents.lock);
    struct extent *e = extent_of(t->object);
    t->from = t->to = 0;
    if (e) {
        const bool was = e->from < e->to;
        if (was && from < e->to && e->from < to) {
            t->from = from > e->from ? from : e->from;
            t->to = to < e->to ? to : e->to;
        }
        if (was && from <= e->to && e->from <= to) {
            e->from = from < e->from ? from : e->from;
            e->to = to > e->to ? to : e->to;
        } else if (!was || to - from > e->to - e->from) {
            e->from = from;
            e->to = to;
        }
        written_by(e, writer);
        t->raced = e->writer == UINT64_MAX;
        t->version = e->version + atomic_load(&unseen);
        t->whole = e->from == 0 && e->to >= t->bytes;
    }
    sonde__unlock(&extents.lock);
}

void sonde__cuda_coarse_wrote(uint32_t object, uint64_t writer)
{
    if (!object)
        atomic_fetch_add(&unseen, 1);
    sonde__lock(&extents.lock);
    struct extent *e = object ? extent_of(object) : NULL;
    if (e)
        written_by(e, writer);
    sonde__unlock(&extents.lock);
}

static struct extent known_extent(uint32_t object)
{
    sonde__lock(&extents.lock);
    const uint64_t *known = sonde__map_find(&extents.by_object, object);
    const struct extent e = known ? *(const struct extent *)(uintptr_t)*known : (struct extent){0};
    sonde__unlock(&extents.lock);
    return e;
}

uint64_t sonde__cuda_coarse_version(uint32_t object)
{
    const struct extent e = known_extent(object);
    return e.version ? e.version + atomic_load(&unseen) : 0;
}

uint64_t sonde__cuda_coarse_writer(uint32_t object)
{
    return known_extent(object).writer;
}

void sonde__cuda_coarse_freed(uint32_t object)
{
    uint64_t known;
    sonde__lock(&extents.lock);
    if (object && sonde__map_take(&extents.by_object, object, &known)) {
        struct extent *e = (void *)(uintptr_t)known;
        e->next = extents.spare;
        extents.spare = e;
    }
    sonde__unlock(&extents.lock);
}

/* ---- before the operation --------------------------------------------------------------------------- */

static CUstream stream_of(CUstream stream, bool own_default)
{
    return stream ? stream : (own_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

uint64_t sonde__cuda_coarse_stream(CUstream stream, bool own_default, uint32_t context_uid)
{
    const uint64_t words[] = {(uintptr_t)stream_of(stream, own_default), context_uid};
    return XXH3_64bits(words, sizeof words) >> 1 | 1;
}

static void miss(struct sonde_cuda_coarse *c, enum sonde_value_missed why)
{
    *c->missed |= 1ull << why;
}

void sonde__cuda_coarse_begin(struct sonde_cuda_coarse *c, struct sonde_cuda_place *place, CUstream stream, bool own_default, uint64_t *missed)
{
    c->place = place;
    c->stream = stream_of(stream, own_default);
    c->key = sonde__cuda_coarse_stream(stream, own_default, place->uid);
    c->missed = missed;
    c->targets = 0;
    c->guard = NULL;
    struct sonde_cuda_guard *guard = &guards[(c->key >> 1) % GUARDS];
    if (!is_ready(place))
        miss(c, SONDE_VALUE_MISSED_COMPARE);
    else if (sonde__trylock(&guard->lock))
        c->guard = guard;
    else
        miss(c, SONDE_VALUE_MISSED_BUSY);
    atomic_store(&guard->disturbed, !c->guard);
    if (c->guard)
        sonde__cuda_duplicates_check(place, c->stream, c->key);
}

/* Of one object there is one target: where parts of it are marked differently, all of it may be written. */
static struct sonde_cuda_target *same_object(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *other)
{
    for (uint32_t i = 0; i < c->targets; i++) {
        struct sonde_cuda_target *t = &c->target[i];
        if (t->object != other->object)
            continue;
        if (t->grain != other->grain) {
            t->grain = 0;
            t->boxes = NULL;
            t->maybe = true;
        }
        return t;
    }
    return NULL;
}

/* Of a pool that the call named, and of mapped memory, the allocation did not say it. */
static uint32_t device_of(const struct sonde_object_info *o)
{
    int ordinal = 0;
    if (o->device || (o->kind != SONDE_OBJECT_POOL && o->kind != SONDE_OBJECT_VIRTUAL) ||
        sonde__cudrv.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, o->address) != CUDA_SUCCESS)
        return o->device;
    const struct sonde_cuda_device *d = sonde__cuda_device((uint32_t)ordinal);
    return d ? d->id : 0;
}

/* Managed memory may be anywhere; where the host cannot reach it meanwhile, it must not be touched for a stream that may not. */
static bool is_reached(const struct sonde_cuda_coarse *c, const struct sonde_object_info *o)
{
    return o->kind == SONDE_OBJECT_MANAGED ? c->place->shares_managed : device_of(o) == c->place->device;
}

/* The object of so many bytes; 0: they cannot be compared. `must`: it is said why. */
static uint32_t object_of(struct sonde_cuda_coarse *c, uint64_t address, uint64_t bytes, bool must, struct sonde_object_info *o)
{
    const uint32_t object = address ? sonde_object_at(address) : 0;
    if (!object || !sonde_object_find(object, o) || o->address % PIECE || address < o->address || bytes > o->bytes || address - o->address > o->bytes - bytes) {
        if (must)
            miss(c, SONDE_VALUE_MISSED_OBJECT);
        return 0;
    }
    if (is_reached(c, o))
        return object;
    miss(c, SONDE_VALUE_MISSED_ELSEWHERE);
    return 0;
}

static struct sonde_cuda_target *add(struct sonde_cuda_coarse *c, struct sonde_cuda_target *t, const struct sonde_object_info *o)
{
    struct sonde_cuda_target *known = same_object(c, t);
    t->address = o->address;
    t->bytes = o->bytes;
    if (known)
        return known;
    define(t, c->key);
    t->whole = t->whole && o->kind == SONDE_OBJECT_DEVICE;   /* duplicates.c */
    t->raced = t->raced || o->kind == SONDE_OBJECT_MANAGED; /* the host may write it, unseen */
    if (!c->guard)
        return NULL;
    if (c->targets == SONDE_CUDA_TARGETS_MAX) {
        miss(c, SONDE_VALUE_MISSED_OBJECTS);
        return NULL;
    }
    c->target[c->targets] = *t;
    return &c->target[c->targets++];
}

struct sonde_cuda_target *sonde__cuda_coarse_add(struct sonde_cuda_coarse *c, uint64_t address, uint64_t bytes, uint32_t grain, bool maybe)
{
    struct sonde_object_info o;
    const uint32_t object = address ? object_of(c, address, bytes, !maybe, &o) : 0;
    if (!object)
        return NULL;
    return add(c,
               &(struct sonde_cuda_target){
                   .object = object,
                   .element_bytes = grain,
                   .grain = grain,
                   .maybe = maybe,
                   .from = bytes ? address - o.address : 0,
                   .to = bytes ? address - o.address + bytes : o.bytes,
               },
               &o);
}

/* ---- boxes ------------------------------------------------------------------------------------------- */

/* From its first to its last byte; 0: the driver will refuse it. */
static uint64_t span_of(const struct sonde_cuda_box *b)
{
    uint64_t rows, slices, span;
    if (!b->width || !b->rows || !b->slices || (b->rows > 1 && b->row < b->width) || __builtin_mul_overflow(b->rows - 1, b->row, &rows) ||
        __builtin_add_overflow(rows, b->width, &rows) || (b->slices > 1 && b->slice < rows) || __builtin_mul_overflow(b->slices - 1, b->slice, &slices) ||
        __builtin_add_overflow(slices, rows, &span))
        return 0;
    return span;
}

bool sonde__cuda_box_covers(const struct sonde_cuda_box *b, uint64_t address, uint64_t bytes)
{
    const uint64_t span = span_of(b);
    return span && span == b->width * b->rows * b->slices && b->address <= address && address - b->address <= span && span - (address - b->address) >= bytes;
}

/* The bytes that all edges of the boxes are multiples of: 8, or less. */
static uint32_t grain_of(const struct sonde_cuda_box *boxes, uint64_t object_address)
{
    uint64_t edges = 8;
    for (const struct sonde_cuda_box *b = boxes; b; b = b->next)
        edges |= (b->address - object_address) | b->width | (b->rows > 1 ? b->row : 0) | (b->slices > 1 ? b->slice : 0);
    return 1u << __builtin_ctzll(edges);
}

struct sonde_cuda_target *sonde__cuda_coarse_boxes(struct sonde_cuda_coarse *c, const struct sonde_cuda_box *boxes)
{
    struct sonde_object_info o = {0};
    struct sonde_cuda_target t = {.from = UINT64_MAX};
    bool whole = false; /* one of them is all from the first to the last byte */
    for (const struct sonde_cuda_box *b = boxes; b; b = b->next) {
        const uint64_t span = span_of(b);
        if (!span) {
            miss(c, SONDE_VALUE_MISSED_RECTANGLE);
            return NULL;
        }
        if (!(t.object = object_of(c, b->address, span, true, &o)))
            return NULL;
        const uint64_t from = b->address - o.address;
        t.from = from < t.from ? from : t.from;
        t.to = from + span > t.to ? from + span : t.to;
    }
    for (const struct sonde_cuda_box *b = boxes; b; b = b->next)
        whole = whole || sonde__cuda_box_covers(b, o.address + t.from, t.to - t.from);
    if (!whole) {
        t.boxes = boxes;
        t.grain = grain_of(boxes, o.address);
    }
    return add(c, &t, &o);
}

/* What is copied of it: whole pieces. */
static uint64_t first_of(const struct sonde_cuda_target *t)
{
    return t->from / PIECE * PIECE;
}

static uint64_t copied_bytes(const struct sonde_cuda_target *t)
{
    return (t->to + PIECE - 1) / PIECE * PIECE - first_of(t);
}

/* Marks are of the bytes that are copied. Slices of one row are rows. */
static bool mark(const struct sonde_cuda_coarse *c, struct sonde_cuda_target *t, uint64_t count)
{
    bool marked = true;
    for (const struct sonde_cuda_box *b = t->boxes; b && marked; b = b->next) {
        const bool turned = b->rows == 1;
        uint64_t from = (b->address - t->address) / t->grain - first_of(t) / t->grain, width = b->width / t->grain;
        uint64_t row = (turned ? b->slice : b->row) / t->grain, rows = turned ? b->slices : b->rows;
        uint64_t slice = turned ? 0 : b->slice / t->grain, slices = turned ? 1 : b->slices;
        marked = launch(c, coarse.own->mark, 32 * rows * slices, (void *[]){&t->marks, &count, &from, &width, &row, &rows, &slice, &slices});
    }
    return marked;
}

/* ---- copying --------------------------------------------------------------------------------------------- */

static bool allocate(const struct sonde_cuda_coarse *c, uint64_t bytes, CUdeviceptr *at)
{
    if (bytes <= c->place->most && sonde__cuda_twins.cuMemAllocFromPoolAsync(at, bytes, c->place->pool, c->stream) == CUDA_SUCCESS)
        return true;
    *at = 0;
    return false;
}

/* On the host it is where the device has no room; the marks, which a kernel writes one by one, as seldom as can be. */
static bool get_room(const struct sonde_cuda_coarse *c, struct sonde_cuda_target *t, uint64_t bytes, uint64_t marks)
{
    if (!allocate(c, bytes + marks, &t->copy)) {
        const bool apart = marks && allocate(c, marks, &t->apart);
        t->host = sonde__cuda_host_get(c->place, c->key, bytes + (apart ? 0 : marks));
        t->copy = t->host ? t->host->at : 0;
    }
    t->marks = t->apart ? t->apart : (marks ? t->copy + bytes : 0);
    return t->copy;
}

static void put_room(const struct sonde_cuda_coarse *c, struct sonde_cuda_target *t)
{
    if (t->host)
        sonde__cuda_host_put(c->place, c->stream, c->key, t->host);
    else if (t->copy)
        sonde__cuda_twins.cuMemFreeAsync(t->copy, c->stream);
    if (t->apart)
        sonde__cuda_twins.cuMemFreeAsync(t->apart, c->stream);
    t->host = NULL;
    t->copy = t->marks = t->apart = 0;
}

static bool copy(const struct sonde_cuda_coarse *c, struct sonde_cuda_target *t)
{
    const uint64_t bytes = copied_bytes(t), marks = t->grain ? sonde__plan_marks(t->boxes ? bytes : t->bytes, t->grain) : 0;
    uint64_t now = t->address + first_of(t), pieces = bytes / PIECE, mark_pieces = marks / PIECE, at;
    const bool room = get_room(c, t, bytes, marks);
    at = t->marks;
    if (!room || !launch(c, coarse.own->copy, pieces > mark_pieces ? pieces : mark_pieces, (void *[]){&now, &t->copy, &pieces, &at, &mark_pieces})) {
        put_room(c, t);
        return false;
    }
    if (t->boxes && !mark(c, t, marks)) {
        t->maybe = true;
        t->grain = 0;
        t->boxes = NULL;
        t->marks = 0;
    }
    return true;
}

void sonde__cuda_coarse_copy(struct sonde_cuda_coarse *c)
{
    for (uint32_t i = 0; i < c->targets; i++)
        if (c->target[i].from < c->target[i].to && !copy(c, &c->target[i]))
            miss(c, SONDE_VALUE_MISSED_MEMORY);
}

/* ---- after it -------------------------------------------------------------------------------------------- */

/* The place of its sums on the device; 0: there is no more room. */
static CUdeviceptr slot_of(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *t, uint32_t operation)
{
    struct sonde_cuda_slots *all = c->place->slots;
    const bool raced = t->raced || atomic_load(&c->guard->disturbed);
    const uint32_t words[] = {c->place->uid, operation, t->object, t->element_bytes, t->maybe, raced};
    const uint64_t key = XXH3_64bits(words, sizeof words) | 1;
    uint64_t number = 0;
    if (!sonde__shared_map_get(&slots, key, &number)) {
        sonde__lock(&coarse.lock);
        if (!sonde__shared_map_get(&slots, key, &number) && all->count < SLOTS_MAX && sonde__shared_map_put(&slots, key, all->count + 1)) {
            all->row[all->count] = (struct row){operation, t->object, t->element_bytes, t->maybe, raced};
            number = ++all->count;
        }
        sonde__unlock(&coarse.lock);
    }
    return number ? all->at + (number - 1) * sizeof *all->told : 0;
}

static bool compare(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *t, uint32_t operation)
{
    CUdeviceptr slot = slot_of(c, t, operation);
    uint64_t now = t->address, then = t->copy - first_of(t), from = t->from, to = t->to;
    uint64_t marks = t->boxes ? t->marks - first_of(t) / t->grain : t->marks;
    uint32_t grain = t->grain ? (uint32_t)__builtin_ctz(t->grain) : 0;
    if (!slot) {
        miss(c, SONDE_VALUE_MISSED_MANY);
        return true;
    }
    return launch(c, coarse.own->compare, (to - from) / sizeof(uint64_t) + 1, (void *[]){&now, &then, &from, &to, &marks, &grain, &slot});
}

void sonde__cuda_coarse_end(struct sonde_cuda_coarse *c, uint32_t operation)
{
    for (uint32_t i = 0; i < c->targets; i++) {
        struct sonde_cuda_target *t = &c->target[i];
        if (t->copy && operation && !compare(c, t, operation))
            miss(c, SONDE_VALUE_MISSED_COMPARE);
        put_room(c, t);
        if (operation && !atomic_load(&c->guard->disturbed))
            sonde__cuda_duplicates_after(c->place, c->stream, c->key, t, operation);
    }
    if (c->place->slots)
        atomic_fetch_add(&c->place->slots->made, c->targets != 0);
    if (c->guard)
        sonde__unlock(&c->guard->lock);
    c->targets = 0;
    c->guard = NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static void tell(const struct row *row, const struct sonde_ptx_sums *found, struct sonde_ptx_sums *told)
{
    struct sonde_value_change change = {
        .operation = row->operation,
        .object = row->object,
        .element_bytes = row->element_bytes,
        .maybe = row->maybe,
        .raced = row->raced,
        .operations = found->operations - told->operations,
        .bytes = found->bytes - told->bytes,
    };
    for (int k = 0; k < 4; k++) {
        change.elements[k] = found->elements[k] - told->elements[k];
        change.unchanged[k] = found->unchanged[k] - told->unchanged[k];
    }
    sonde_value_changed(&change);
    *told = *found;
}

void sonde__cuda_coarse_read(struct sonde_cuda_place *p, bool last)
{
    struct sonde_cuda_slots *all = p->slots;
    const uint64_t made = all ? atomic_load(&all->made) : 0;
    if (!all || (!last && made == all->read))
        return;
    sonde__lock(&coarse.lock);
    const uint32_t count = all->count;
    sonde__unlock(&coarse.lock);
    CUresult result = count ? sonde__cuda_twins.cuMemcpyDtoHAsync_v2(all->found, all->at, count * sizeof *all->found, p->stream) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = sonde__cuda_twins.cuStreamSynchronize(p->stream);
    if (result != CUDA_SUCCESS) {
        if (made != all->read)
            sonde_note("values: what some comparisons found could not be read from the device (error %d)", (int)result);
        return;
    }
    all->read = made;
    for (uint32_t k = 0; k < count; k++)
        if (memcmp(&all->found[k], &all->told[k], sizeof *all->told) != 0)
            tell(&all->row[k], &all->found[k], &all->told[k]);
}
