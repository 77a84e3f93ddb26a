/* areas.c - what the accesses of kernels found (--values=fine).
 *
 * There is an area of device memory for each operation in its calling context and the sites of the objects that its parameters point to, to
 * which the threads of the instrumented copies add what they find (instrument/rewrite.h); and another for the copy that does not
 * guess, which is launched once the first has shown nothing. Where what voted in the first shows several values, each has another area whose
 * guess it is, and launches that guess take turns (instrument/plan.h). Objects that were allocated in one call path share it: so there are not more
 * of them the longer a program runs that allocates and frees, and nobody has to know when a kernel that adds to one is over.
 *
 * What is in an area only grows, so it is read while kernels run, and again: in a stream of ours that waits for no other, by the thread that
 * fetches records (flush.c), and when its context ends.
 */
#include "sonde_cuda.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"

#define PLAN          (SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES)
#define LAUNCHES_LONG 16u  /* after so many nobody waits for an access that few threads execute */
#define GUESSING_ALL 16u /* launches: then each whose number is a power of two */
#define MORE_SHARE   2u  /* once this part of the memory for areas is taken, other values get none */
#define PARTS         256u /* at the least: %smid is below the multiprocessors that the chip was made with */

/* What is seen while kernels run may be of any moment: it decides only which area is launched next, and with which copy. */
struct verdict {
    bool checked, waits, few, any; /* some guess stands; does not yet; is known of the samples alone; and shows something */
};

struct sonde_cuda_area {
    struct sonde_cuda_area *next, *alike; /* all; those of the same hash */
    const struct sonde_cuda_kernel *kernel;
    struct sonde_cuda_place *place;
    uint32_t node;
    struct sonde_plan plan;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    _Atomic bool dull;   /* its guesses show nothing */
    _Atomic uint32_t asked; /* launches, of this copy and of the other */
    struct verdict verdict; /* when it was read last */
    struct sonde_cuda_area *first; /* of one whose guesses are other values: whose they are; NULL: those of a vote */
    uint32_t turn;                 /* and which: from 1 */
    unsigned char *seen;           /* of `first`, once `more` is known: its guesses */
    _Atomic uint32_t more, turns;  /* 1 + how many others there are, 0: not known; launches since */
    struct sonde_cuda_area *_Atomic other[SONDE_PLAN_COMMON - 1];
    CUdeviceptr at;
    size_t front, bytes; /* of guesses; of all */
    uint32_t sites[SONDE_PTX_POINTERS_MAX]; /* of what the kernel's pointers point to: the objects that stand for them */
    uint32_t rows[];     /* of each access; 0: it has none */
};

static struct {
    struct sonde_lock lock; /* of what follows */
    struct sonde_cuda_area *areas;
} all;

static struct sonde_shared_map by_hash; /* -> struct sonde_cuda_area */

static struct { /* one is read at a time (places.c) */
    unsigned char *at;
    size_t bytes;
} room;

static uint32_t parts_of(const struct sonde_cuda_place *p)
{
    return p->multiprocessors < PARTS ? PARTS : 2 * p->multiprocessors;
}

/* ---- making one ------------------------------------------------------------------------------------- */

static bool has_row(const struct sonde_ptx_access *a)
{
    return a->values.bytes && a->element_bytes <= 8;
}

static void add_rows(struct sonde_cuda_area *a)
{
    const struct sonde_ptx *p = a->kernel->ptx;
    const struct sonde_ptx_function *f = a->kernel->function;
    for (uint32_t k = 0; k < f->accesses; k++) {
        const struct sonde_ptx_access *access = &p->accesses[f->first_access + k];
        const struct sonde_ptx_place place = sonde__ptx_line(p, access->item);
        const struct sonde_ptx_span file = sonde__ptx_file(p, place.file);
        if (has_row(access))
            a->rows[k] = sonde_value_access_add(&(struct sonde_value_access){
                .operation = a->node,
                .object = a->kernel->flow.pointer[k] ? a->sites[a->kernel->flow.pointer[k] - 1] : 0,
                .file = file.bytes ? sonde_string(p->text + file.at, file.bytes) : 0,
                .line = place.line,
                .number = k,
                .what = (uint8_t)access->op,
                .type = access->type,
                .element_bytes = access->element_bytes,
            });
    }
}

static void start(const struct sonde_cuda_area *a, unsigned char *host)
{
    if (a->first)
        sonde__ptx_front_again(a->kernel->ptx, a->kernel->function, &a->kernel->flow, a->first->seen, a->turn, host);
    else if (a->front)
        sonde__ptx_front_start(a->kernel->ptx, a->kernel->function, &a->kernel->flow, host);
    for (uint32_t k = 0; k < parts_of(a->place); k++)
        sonde__ptx_start(a->kernel->ptx, a->kernel->function, &a->plan, host + a->front + k * sonde__plan_part(&a->plan));
}

/* Is the area on the device, as it starts? */
static bool upload(struct sonde_cuda_area *a)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    unsigned char *host = a->place->bytes + a->bytes <= a->place->most ? sonde__pages_get(a->bytes) : NULL;
    bool there = host && t->cuMemAlloc_v2(&a->at, a->bytes) == CUDA_SUCCESS;
    if (there) {
        start(a, host);
        there = t->cuMemcpyHtoDAsync_v2(a->at, host, a->bytes, a->place->stream) == CUDA_SUCCESS && t->cuStreamSynchronize(a->place->stream) == CUDA_SUCCESS;
        a->place->bytes = there ? a->place->bytes + a->bytes : a->place->most;
    }
    sonde__pages_put(host, a->bytes);
    return there;
}

/* Under all.lock. Device memory that cannot be used stays taken, as freeing it would wait for the program's kernels; and it is the last. */
static struct sonde_cuda_area *area_put(struct sonde_cuda_area *wanted)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    const uint32_t accesses = wanted->kernel->function->accesses;
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    const bool there = upload(wanted);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    struct sonde_cuda_area *a = there ? sonde__memory_get(sizeof *a + accesses * sizeof *a->rows) : NULL; /* it is never given back */
    if (!a) {
        wanted->place->bytes = there ? wanted->place->most : wanted->place->bytes;
        return NULL;
    }
    memcpy(a, wanted, sizeof *wanted);
    add_rows(a);
    a->next = all.areas;
    all.areas = a;
    return a;
}

/* Under all.lock. */
static struct sonde_cuda_area *area_new(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *sites, struct sonde_cuda_place *place,
                                        bool guesses)
{
    struct sonde_cuda_area wanted = {
        .kernel = k,
        .place = place,
        .node = node,
        .plan = sonde__ptx_plan(k->function, &k->flow, PLAN | (guesses ? SONDE_PLAN_GUESSES : 0u)),
    };
    memcpy(wanted.sites, sites, k->flow.pointer_count * sizeof *sites);
    wanted.front = sonde__ptx_front(k->function, wanted.plan.what);
    wanted.bytes = wanted.front + parts_of(place) * sonde__plan_part(&wanted.plan);
    return area_put(&wanted);
}

/* Under all.lock. Other values do not take the memory that a kernel needs which is not looked at yet. */
static struct sonde_cuda_area *area_other(struct sonde_cuda_area *first, uint32_t turn)
{
    struct sonde_cuda_area wanted = {
        .kernel = first->kernel,
        .place = first->place,
        .node = first->node,
        .plan = first->plan,
        .front = first->front,
        .bytes = first->bytes,
        .first = first,
        .turn = turn,
    };
    memcpy(wanted.sites, first->sites, sizeof wanted.sites);
    return first->place->bytes + first->bytes <= first->place->most / MORE_SHARE ? area_put(&wanted) : NULL;
}

static bool guesses_in(const struct sonde_cuda_area *a)
{
    return a->plan.what & SONDE_PLAN_GUESSES;
}

static bool is_same(const struct sonde_cuda_area *a, const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *sites, const struct sonde_cuda_place *place,
                    bool guesses)
{
    return a->kernel == k && a->node == node && a->place == place && guesses_in(a) == guesses && !memcmp(a->sites, sites, k->flow.pointer_count * sizeof *sites);
}

struct sonde_cuda_area *sonde__cuda_area(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *sites, struct sonde_cuda_place *place, bool guesses)
{
    const uint64_t hash =
        XXH3_64bits_withSeed(sites, k->flow.pointer_count * sizeof *sites, (uint64_t)node << 32 ^ (uintptr_t)k ^ place->uid ^ (uint64_t)guesses << 63) | 1;
    uint64_t first = 0;
    sonde__shared_map_get(&by_hash, hash, &first);
    struct sonde_cuda_area *a = (void *)(uintptr_t)first;
    while (a && !is_same(a, k, node, sites, place, guesses))
        a = a->alike;
    if (!a) {
        sonde__lock(&all.lock);
        a = area_new(k, node, sites, place, guesses);
        if (a) { /* of two threads that come at once each has its own: their rows are added */
            sonde__shared_map_get(&by_hash, hash, &first);
            a->alike = (void *)(uintptr_t)first;
            sonde__shared_map_put(&by_hash, hash, (uintptr_t)a);
        }
        sonde__unlock(&all.lock);
    }
    return a;
}

bool sonde__cuda_area_passes(struct sonde_cuda_area *a)
{
    const uint32_t before = atomic_fetch_add(&a->asked, 1);
    return atomic_load_explicit(&a->dull, memory_order_relaxed) || (before >= GUESSING_ALL && before & (before - 1));
}

/* Of those that guess the one whose turn it is. */
static struct sonde_cuda_area *turn_of(struct sonde_cuda_area *first)
{
    const uint32_t more = atomic_load_explicit(&first->more, memory_order_acquire), turn = more > 1 ? (1 + atomic_fetch_add(&first->turns, 1)) % more : 0;
    struct sonde_cuda_area *a = turn ? atomic_load(&first->other[turn - 1]) : first;
    if (a)
        return a;
    sonde__lock(&all.lock);
    a = atomic_load(&first->other[turn - 1]);
    if (!a && (a = area_other(first, turn)))
        atomic_store(&first->other[turn - 1], a);
    if (!a)
        atomic_store(&first->more, turn); /* it does with those that there are */
    sonde__unlock(&all.lock);
    return a ? a : first;
}

CUdeviceptr sonde__cuda_area_launch(struct sonde_cuda_area *a)
{
    a = turn_of(a);
    atomic_fetch_add(&a->launches, 1);
    return a->at + a->front;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

/* Of what was read last: the guess, and what its samples were, which nobody compared on the device. */
static void add_guess(const struct sonde_cuda_area *a, uint32_t access, uint64_t unchecked, struct sonde_value_seen *seen)
{
    const struct sonde_ptx_guess *guesses = (const void *)room.at;
    const struct sonde_ptx_guessed g =
        access < SONDE_PTX_GUESSES ? sonde__ptx_guessed(&a->kernel->ptx->accesses[a->kernel->function->first_access + access], &guesses[access]) : (struct sonde_ptx_guessed){0};
    if (!g.stands) {
        seen->equal = seen->lined = 0;
        return;
    }
    seen->value = g.value;
    seen->slope = g.slope;
    seen->offset = g.offset;
    unchecked -= g.samples < unchecked ? g.samples : unchecked;
    seen->checked = seen->elements > unchecked ? seen->elements - unchecked : 0;
    seen->equal += g.equal;
    seen->lined += g.lined;
    seen->equal = seen->equal < seen->checked ? seen->equal : seen->checked; /* it is read while kernels run */
    seen->lined = seen->lined < seen->checked ? seen->lined : seen->checked;
}

/* What all multiprocessors have found. */
static struct sonde_value_seen sum(const struct sonde_cuda_area *a, uint32_t access)
{
    const struct sonde_ptx_access *of = &a->kernel->ptx->accesses[a->kernel->function->first_access + access];
    struct sonde_value_seen seen = {.all = UINT64_MAX, .least = INT64_MAX, .most = INT64_MIN};
    uint64_t unchecked = 0;
    for (uint32_t k = 0; k < parts_of(a->place); k++) {
        const unsigned char *part = room.at + a->front + k * sonde__plan_part(&a->plan);
        struct sonde_plan_values v;
        const struct sonde_plan_found found = sonde__plan_found(&a->plan, part, access);
        seen.elements += of->elements * sonde__ptx_found(of, &a->plan, part, access, &v);
        seen.any |= v.any;
        seen.all &= v.all;
        seen.least = v.least < seen.least ? v.least : seen.least;
        seen.most = v.most > seen.most ? v.most : seen.most;
        seen.equal += found.equal;
        seen.lined += found.lined;
        unchecked += of->elements * found.unchecked;
    }
    if (guesses_in(a))
        add_guess(a, access, unchecked, &seen);
    return seen;
}

static void judge(struct verdict *v, const struct sonde_value_seen *seen)
{
    v->checked |= seen->checked > 0;
    v->waits |= seen->elements && !seen->checked;
    v->few |= seen->checked && seen->checked <= SONDE_PTX_SAMPLES;
    v->any |= 2 * seen->equal > seen->checked || 2 * seen->lined > seen->checked;
}

static bool has_room(size_t bytes)
{
    if (room.bytes < bytes) {
        sonde__pages_put(room.at, room.bytes);
        room.at = sonde__pages_get(bytes);
        room.bytes = room.at ? bytes : 0;
    }
    return room.at;
}

/* Of guesses that were read last, once they stand, or that has taken long: which other values are there? */
static void find_others(struct sonde_cuda_area *first)
{
    if (atomic_load(&first->more) || !first->verdict.checked || (first->verdict.waits && first->read_launches <= SONDE_PLAN_PATIENCE))
        return;
    const unsigned others = sonde__ptx_front_more(first->kernel->ptx, first->kernel->function, room.at);
    first->seen = others ? sonde__memory_get(first->front) : NULL;
    if (first->seen)
        memcpy(first->seen, room.at, first->front);
    atomic_store_explicit(&first->more, first->seen ? 1 + others : 1, memory_order_release);
}

/* Once all of them were launched, and none shows anything, nobody guesses any more. */
static void find_dull(struct sonde_cuda_area *first)
{
    const uint32_t more = atomic_load(&first->more);
    bool any = first->verdict.any, checked = first->verdict.checked;
    for (uint32_t turn = 1; turn < more; turn++) {
        const struct sonde_cuda_area *a = atomic_load(&first->other[turn - 1]);
        checked &= a && a->verdict.checked;
        any |= a && a->verdict.any;
    }
    const bool waits = first->verdict.waits || first->verdict.few; /* of 32 samples 16 may have a value that 55 % have */
    if (checked && !any && (!waits || first->read_launches > LAUNCHES_LONG))
        atomic_store_explicit(&first->dull, true, memory_order_relaxed);
}

static void read_area(struct sonde_cuda_area *a, uint64_t launches)
{
    CUresult result = has_room(a->bytes) ? sonde__cuda_twins.cuMemcpyDtoHAsync_v2(room.at, a->at, a->bytes, a->place->stream) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = sonde__cuda_twins.cuStreamSynchronize(a->place->stream);
    if (result != CUDA_SUCCESS) {
        if (launches != a->read_launches)
            sonde_note("values: what some kernels found could not be read from the device (error %d)", (int)result);
        return;
    }
    struct verdict verdict = {0};
    for (uint32_t k = 0; k < a->kernel->function->accesses; k++)
        if (a->rows[k]) {
            const struct sonde_value_seen seen = sum(a, k);
            sonde_value_access_seen(a->rows[k], &seen);
            if (k < SONDE_PTX_GUESSES)
                judge(&verdict, &seen);
        }
    a->verdict = verdict;
    a->read_launches = launches;
    if (!guesses_in(a))
        return;
    if (!a->first)
        find_others(a);
    find_dull(a->first ? a->first : a);
}

void sonde__cuda_areas_read(struct sonde_cuda_place *place, bool last)
{
    sonde__lock(&all.lock);
    struct sonde_cuda_area *first = all.areas;
    sonde__unlock(&all.lock);
    for (struct sonde_cuda_area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (a->place == place && (last || launches != a->read_launches))
            read_area(a, launches);
    }
}
