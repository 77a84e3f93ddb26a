/* order.c - queues out of order, where values are compared (sonde record --values).
 *
 * Where the queue does not order the copy, the operation and the comparison, events do: the copy waits for what the operation waits for, the
 * operation for the copy, the comparison for the operation. Each operation whose comparison is under way has a slot, with rooms of its own:
 * nothing of ours may make one operation wait for another, since what that waits for may be something that the program does last.
 *
 * But what changes memory behind an operation must come behind its comparison, too. So it waits for that where the program itself has put it
 * behind the operation: by wait lists, also of what comes between, by barriers, or because the operation is over when it is enqueued. `behind` is
 * a bit for each slot. What is not behind may write the same object during the comparison: then neither is exact.
 *
 * A slot is free again when all who have it are done: the one who enqueues, each of its comparisons, and those who look at it.
 */
#include "values.h"

#include <string.h>

#include "guest/memory.h"

enum { SLOTS_MAX = 64,
       NOTES_MAX = 512,
       KEPT_MAX = 1024 };

struct sonde_cl_slot {
    struct rooms rooms;
    struct sonde_cl_slot *next;      /* of its queue */
    const struct sonde_cl_values *v;
    cl_command_queue queue;
    uint64_t bit;                    /* 0: it is free */
    uint32_t users;
    _Atomic(cl_event) operation, compared; /* NULL: not yet, or there is none; `compared` is behind its comparisons */
    _Atomic uint32_t raced;          /* a bit for each of its targets */
    uint32_t count;
    struct {
        uint32_t object;
        uint64_t from, to;
    } part[TARGETS_MAX];
};

static struct {
    struct sonde_lock lock;
    _Atomic bool used;
    _Atomic uint64_t busy;
    struct sonde_cl_slot *slot[SLOTS_MAX];
    struct { /* what is behind slots: what waits for this event, or all that this queue will get. The oldest are forgotten */
        const void *of;
        uint64_t behind;
    } note[NOTES_MAX];
    uint32_t noted;
    struct { /* ours, until they are over: a runtime may use them when what they wait for fails */
        cl_event event;
        cl_command_queue queue;
    } kept[KEPT_MAX];
    _Atomic int keeping; /* those from here on are empty */
} order;

/* ---- what is behind what: under the lock ------------------------------------------------------------------ */

static uint64_t noted(const void *of)
{
    for (uint32_t i = 0; i < NOTES_MAX; i++)
        if (order.note[i].of == of)
            return order.note[i].behind;
    return 0;
}

static void note(const void *of, uint64_t behind)
{
    uint32_t place = 0;
    while (place < NOTES_MAX && order.note[place].of != of)
        place++;
    if (place == NOTES_MAX && !behind)
        return;
    if (place == NOTES_MAX)
        place = order.noted++ % NOTES_MAX;
    order.note[place].of = behind ? of : NULL;
    order.note[place].behind = behind;
}

static uint64_t behind_of(const struct sonde_cl_enqueue *enqueue, cl_command_queue queue)
{
    uint64_t behind = noted(queue);
    for (cl_uint i = 0; enqueue->wait_list && i < enqueue->wait_count; i++)
        behind |= noted(enqueue->wait_list[i]);
    return behind;
}

static uint64_t slots_of(const struct sonde_cl_values *v)
{
    uint64_t bits = 0;
    for (int i = 0; i < SLOTS_MAX; i++)
        if (order.slot[i] && order.slot[i]->v == v)
            bits |= order.slot[i]->bit;
    return bits;
}

void sonde__cl_order_fresh(const void *handle)
{
    if (!atomic_load_explicit(&order.used, memory_order_relaxed))
        return;
    sonde__lock(&order.lock);
    note(handle, 0);
    sonde__unlock(&order.lock);
}

void sonde__cl_order_made(const struct sonde_cl_enqueue *enqueue, cl_command_queue queue, enum sonde_op_kind kind, cl_event event)
{
    if (!atomic_load_explicit(&order.busy, memory_order_relaxed) || !enqueue->queue)
        return;
    const bool in_order = !sonde__cl_out_of_order(enqueue->queue), barrier = kind == SONDE_OP_BARRIER;
    const struct sonde_cl_values *v = atomic_load(&enqueue->queue->values);
    sonde__lock(&order.lock);
    uint64_t behind = behind_of(enqueue, queue) | enqueue->behind | enqueue->bit;
    if ((barrier || kind == SONDE_OP_MARKER) && !enqueue->wait_count && v)
        behind |= slots_of(v);
    if (in_order || barrier)
        note(queue, noted(queue) | behind);
    if (event)
        note(event, behind);
    sonde__unlock(&order.lock);
}

static void keep(cl_event event, cl_command_queue queue)
{
    sonde__lock(&order.lock);
    for (int i = 0; event && i < KEPT_MAX; i++)
        if (!order.kept[i].event) {
            order.kept[i].event = event;
            order.kept[i].queue = queue;
            event = NULL;
            if (atomic_load(&order.keeping) <= i)
                atomic_store(&order.keeping, i + 1);
        }
    sonde__unlock(&order.lock);
    if (event) /* no room */
        sonde__cl_target(event)->clReleaseEvent(event);
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

static struct sonde_cl_slot *slot_free(struct sonde_cl_values *v)
{
    struct sonde_cl_slot *slot = v->slots;
    while (slot && slot->bit)
        slot = slot->next;
    if (!slot && (slot = sonde__memory_get(sizeof *slot))) {
        slot->v = v;
        slot->next = v->slots;
        v->slots = slot;
    }
    return slot;
}

static bool take(struct sonde_cl_values *v)
{
    atomic_store(&order.used, true);
    sonde__lock(&order.lock);
    const uint64_t busy = atomic_load(&order.busy);
    struct sonde_cl_slot *slot = busy == UINT64_MAX ? NULL : slot_free(v);
    if (slot) {
        const int place = __builtin_ctzll(~busy);
        slot->bit = 1ull << place;
        slot->users = 1;
        slot->count = 0;
        atomic_store(&slot->raced, 0);
        order.slot[place] = slot;
        atomic_store(&order.busy, busy | slot->bit);
    }
    sonde__unlock(&order.lock);
    v->slot = slot;
    return slot;
}

bool sonde__cl_order_take(const cl_icd_dispatch *real, struct sonde_cl_values *v)
{
    if (!take(v))
        return false;
    v->rooms = &v->slot->rooms;
    if (sonde__cl_compare_results(real, v, v->rooms))
        return true;
    sonde__cl_order_put(v->slot);
    v->slot = NULL;
    return false;
}

void sonde__cl_order_use(struct sonde_cl_slot *slot)
{
    sonde__lock(&order.lock);
    slot->users++;
    sonde__unlock(&order.lock);
}

/* Events are released without the lock: with one objects may die, and callbacks be called. */
void sonde__cl_order_put(struct sonde_cl_slot *slot)
{
    cl_event events[2] = {NULL, NULL};
    sonde__lock(&order.lock);
    const cl_command_queue queue = slot->queue;
    if (--slot->users == 0) {
        events[0] = atomic_exchange(&slot->operation, NULL);
        events[1] = atomic_exchange(&slot->compared, NULL);
        for (uint32_t i = 0; i < NOTES_MAX; i++)
            order.note[i].behind &= ~slot->bit;
        order.slot[__builtin_ctzll(slot->bit)] = NULL;
        atomic_fetch_and(&order.busy, ~slot->bit);
        slot->bit = 0;
    }
    sonde__unlock(&order.lock);
    if (events[0])
        sonde__cl_target(events[0])->clReleaseEvent(events[0]);
    if (events[1])
        keep(events[1], queue);
}

cl_event sonde__cl_order_operation(const struct sonde_cl_slot *slot)
{
    return atomic_load(&slot->operation);
}

bool sonde__cl_order_raced(struct sonde_cl_slot *slot, uint32_t place)
{
    return atomic_load(&slot->raced) >> place & 1;
}

cl_uint sonde__cl_order_holds(cl_event event)
{
    cl_uint count = 0;
    if (!atomic_load_explicit(&order.busy, memory_order_relaxed))
        return 0;
    sonde__lock(&order.lock);
    for (int i = 0; i < SLOTS_MAX; i++)
        count += order.slot[i] && atomic_load(&order.slot[i]->operation) == event;
    sonde__unlock(&order.lock);
    return count;
}

/* ---- who may write an object meanwhile -------------------------------------------------------------------------- */

/* Bits of the slot's targets. */
static uint32_t shared(const struct sonde_cl_slot *slot, uint32_t object, uint64_t from, uint64_t to)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < slot->count; i++)
        if (slot->part[i].object == object && slot->part[i].from < to && from < slot->part[i].to)
            bits |= 1u << i;
    return bits;
}

/* Those that the operation is not behind. Under the lock. Whether there are any. */
static bool race(const struct sonde_cl_enqueue *enqueue, uint32_t object, uint64_t from, uint64_t to)
{
    bool any = false;
    for (int i = 0; i < SLOTS_MAX; i++) {
        struct sonde_cl_slot *slot = order.slot[i];
        const uint32_t bits = slot && !((enqueue->behind | enqueue->bit) & slot->bit) ? shared(slot, object, from, to) : 0;
        if (bits)
            atomic_fetch_or(&slot->raced, bits);
        any |= bits != 0;
    }
    return any;
}

void sonde__cl_order_claim(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v)
{
    struct sonde_cl_slot *slot = v->slot;
    enqueue->bit = slot->bit;
    sonde__lock(&order.lock);
    for (uint32_t i = 0; i < v->targets; i++) {
        struct target *t = &v->target[i];
        t->place = i;
        slot->part[i].object = t->object;
        slot->part[i].from = t->from;
        slot->part[i].to = t->is_image ? UINT64_MAX : t->from + t->bytes;
        if (race(enqueue, t->object, slot->part[i].from, slot->part[i].to))
            atomic_fetch_or(&slot->raced, 1u << i);
    }
    slot->count = v->targets;
    sonde__unlock(&order.lock);
}

void sonde__cl_order_unseen(const struct sonde_cl_enqueue *enqueue, uint32_t object)
{
    if (!object || !atomic_load_explicit(&order.busy, memory_order_relaxed))
        return;
    sonde__lock(&order.lock);
    race(enqueue, object, 0, UINT64_MAX);
    sonde__unlock(&order.lock);
}

/* ---- around an operation ------------------------------------------------------------------------------------------ */

static cl_int status_of(cl_event event)
{
    cl_int status = CL_QUEUED;
    return sonde__cl_target(event)->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS ? status : CL_INVALID_EVENT;
}

/* Failed is over, too. */
static bool is_over(cl_event event)
{
    return event && status_of(event) <= CL_COMPLETE;
}

void sonde__cl_order_settle(void)
{
    for (int i = 0; i < atomic_load_explicit(&order.keeping, memory_order_relaxed); i++) {
        sonde__lock(&order.lock);
        const cl_event event = order.kept[i].event;
        const cl_command_queue queue = order.kept[i].queue;
        order.kept[i].event = NULL;
        sonde__unlock(&order.lock);
        if (!event)
            continue;
        const cl_int status = status_of(event);
        if (status <= CL_COMPLETE)
            sonde__cl_event_over(event, status);
        else
            keep(event, queue);
    }
}

bool sonde__cl_order_keeps(cl_command_queue queue)
{
    bool found = false;
    sonde__lock(&order.lock);
    for (int i = 0; i < atomic_load(&order.keeping) && !found; i++)
        found = order.kept[i].event && order.kept[i].queue == queue;
    sonde__unlock(&order.lock);
    return found;
}

/* What that writes which only waits; NULL: there is none. */
static cl_mem scratch_of(const cl_icd_dispatch *real, cl_command_queue queue)
{
    struct sonde_cl_queue *known = sonde__cl_queue(queue);
    struct sonde_cl_values *v = known ? sonde__cl_compare_of(known) : NULL;
    cl_mem made, none = NULL;
    cl_context context;
    cl_int status;
    if (!v || atomic_load(&v->scratch))
        return v ? atomic_load(&v->scratch) : NULL;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return NULL;
    made = real->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &status);
    if (status == CL_SUCCESS && atomic_compare_exchange_strong(&v->scratch, &none, made))
        return made;
    if (status == CL_SUCCESS)
        real->clReleaseMemObject(made);
    return none;
}

/* An event behind all of these, the caller's; NULL: the runtime does not take it. It is no marker: those of PoCL 3.1 wait for all that was enqueued before, whatever
 * they are given. */
static cl_event behind_all(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    const cl_uint zero = 0;
    cl_event made = NULL;
    if (count == 1 && real->clRetainEvent(*events) == CL_SUCCESS)
        return *events;
    const cl_mem scratch = count ? scratch_of(real, queue) : NULL;
    return scratch && real->clEnqueueFillBuffer(queue, scratch, &zero, sizeof zero, 0, sizeof zero, count, events, &made) == CL_SUCCESS ? made : NULL;
}

static uint64_t pin(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, struct sonde_cl_slot *slots[SLOTS_MAX])
{
    sonde__lock(&order.lock);
    enqueue->behind = behind_of(enqueue, queue);
    for (int i = 0; i < SLOTS_MAX; i++) {
        slots[i] = order.slot[i];
        if (slots[i])
            slots[i]->users++;
    }
    enqueue->pinned = atomic_load(&order.busy);
    sonde__unlock(&order.lock);
    return enqueue->pinned;
}

void sonde__cl_order_begin(struct sonde_cl_enqueue *enqueue, cl_command_queue queue)
{
    struct sonde_cl_slot *slots[SLOTS_MAX];
    cl_context context = NULL;
    cl_uint count = 0;
    if (atomic_load(&order.busy) == UINT64_MAX) /* some of them may be free */
        sonde__cl_compare_collect();
    if (!atomic_load_explicit(&order.busy, memory_order_relaxed) || !pin(enqueue, queue, slots))
        return;
    sonde__cl_target(queue)->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    for (int i = 0; i < SLOTS_MAX; i++) {
        if (!slots[i])
            continue;
        if (!(enqueue->behind & slots[i]->bit) && is_over(atomic_load(&slots[i]->operation)))
            enqueue->behind |= slots[i]->bit;
        const cl_event compared = atomic_load(&slots[i]->compared);
        if (enqueue->behind & slots[i]->bit && compared && slots[i]->v->context == context)
            enqueue->gate[1 + count++] = compared;
    }
    const cl_uint waits = enqueue->wait_count ? 1 : 0;
    if (!count || (waits && !enqueue->wait_list) || (waits && !(enqueue->gate[0] = behind_all(queue, enqueue->wait_count, enqueue->wait_list))))
        return;
    if (waits)
        keep(enqueue->gate[0], queue);
    enqueue->gate_list = &enqueue->gate[1 - waits];
    enqueue->gate_count = count + waits;
}

bool sonde__cl_order_join(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, uint32_t count, const cl_event *events)
{
    enqueue->turn = behind_all(queue, count, events);
    return enqueue->turn;
}

void sonde__cl_order_turn(struct sonde_cl_enqueue *enqueue, cl_command_queue queue)
{
    if (enqueue->gate_list != enqueue->wait_list && !enqueue->turn)
        sonde__cl_order_join(enqueue, queue, enqueue->gate_count, enqueue->gate_list);
}

void sonde__cl_order_unknown(struct sonde_cl_enqueue *enqueue, cl_command_queue queue)
{
    if (!queue || !atomic_load_explicit(&order.busy, memory_order_relaxed))
        return;
    sonde__cl_order_begin(enqueue, queue);
    sonde__lock(&order.lock);
    for (int i = 0; i < SLOTS_MAX; i++)
        if (order.slot[i] && !(order.slot[i]->bit & enqueue->behind))
            atomic_store(&order.slot[i]->raced, UINT32_MAX);
    sonde__unlock(&order.lock);
    sonde__cl_order_turn(enqueue, queue);
}

bool sonde__cl_order_after(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, uint32_t count, const cl_event *events)
{
    cl_event both[2] = {NULL, behind_all(queue, count, events)};
    cl_uint there = 0;
    if (both[1])
        keep(both[1], queue);
    sonde__cl_order_turn(enqueue, queue);
    if (!enqueue->turn && enqueue->wait_count && enqueue->wait_list)
        enqueue->turn = behind_all(queue, enqueue->wait_count, enqueue->wait_list);
    if (!both[1] || (enqueue->wait_count && !enqueue->turn))
        return false;
    if (enqueue->turn) {
        there = 1;
        both[0] = enqueue->turn;
        keep(enqueue->turn, queue);
    }
    enqueue->turn = behind_all(queue, 1 + there, &both[1 - there]);
    return enqueue->turn;
}

void sonde__cl_order_enqueued(struct sonde_cl_enqueue *enqueue, cl_event event)
{
    struct sonde_cl_slot *slot = enqueue->values ? enqueue->values->slot : NULL;
    if (slot && event && sonde__cl_target(event)->clRetainEvent(event) == CL_SUCCESS)
        atomic_store(&slot->operation, event);
}

void sonde__cl_order_compared(struct sonde_cl_values *v, cl_command_queue queue, uint32_t count, const cl_event *events)
{
    const cl_event made = behind_all(queue, count, events);
    v->slot->queue = queue;
    atomic_store(&v->slot->compared, made);
    if (!made) /* nobody can wait for them */
        atomic_store(&v->slot->raced, UINT32_MAX);
}

void sonde__cl_order_end(struct sonde_cl_enqueue *enqueue, cl_command_queue queue)
{
    for (uint64_t rest = enqueue->pinned; rest; rest &= rest - 1)
        sonde__cl_order_put(order.slot[__builtin_ctzll(rest)]); /* ours as well, so it stays */
    enqueue->pinned = 0;
    if (enqueue->turn)
        keep(enqueue->turn, queue);
    enqueue->turn = NULL;
}

/* ---- the end of a queue, of a parent ------------------------------------------------------------------------------ */

void sonde__cl_order_release(const cl_icd_dispatch *real, struct sonde_cl_values *v)
{
    for (struct sonde_cl_slot *slot = v->slots; slot; slot = slot->next)
        sonde__cl_compare_release_rooms(real, &slot->rooms);
}

void sonde__cl_order_forget(void)
{
    memset(&order, 0, sizeof order);
}
