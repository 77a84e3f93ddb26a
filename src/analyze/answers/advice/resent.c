/* resent.c - the rule about data objects that are sent from one device to another, whole, again and again; docs/advice.md.
 *
 * Over the whole trace of a process, in one pass: how often is known only when all copies of an object are.
 */
#include "rules.h"

#include "analyze/answers/comm/comm.h"
#include "analyze/trace/trace.h"

enum { TIMES_LEAST = 4 }; /* that all bytes of the object went the same way */

struct sent { /* copies of one object, one way; of one call path, or of all (leaf 0) */
    uint32_t object, from, to, leaf;
    uint64_t count, bytes, ns;
};

struct reading {
    const struct sonde__find *f;
    uint32_t process;
    struct sonde_map by_key; /* hash -> index; of two with one hash the second is behind it */
    SONDE_VECTOR(struct sent) sent;
};

static bool is_same(const struct sent *a, const struct sent *b)
{
    return a->object == b->object && a->from == b->from && a->to == b->to && a->leaf == b->leaf;
}

static uint64_t key_of(const struct sent *s)
{
    return sonde_hash_mix((uint64_t)s->object << 32 | s->leaf, (uint64_t)s->from << 32 | s->to);
}

/* NULL: there is none. */
static struct sent *find(const struct reading *r, const struct sent *like, uint64_t *key)
{
    uint64_t at;
    for (*key = key_of(like); sonde_map_get(&r->by_key, *key, &at); ++*key)
        if (is_same(&r->sent.items[at], like))
            return &r->sent.items[at];
    return NULL;
}

static int add(struct reading *r, const struct sent *more)
{
    uint64_t key;
    struct sent *sum = find(r, more, &key);
    if (!sum) {
        const size_t at = r->sent.count;
        return sonde_map_put(&r->by_key, key, at) ? SONDE_ENOMEM : sonde_vector_push(&r->sent, *more);
    }
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->ns += more->ns;
    return 0;
}

/* With times, from a device to another, of an object whose size is known. */
static bool is_sent(const struct sonde_process *p, uint32_t lane, const struct sonde_row_op *op, struct sent *out)
{
    struct sonde_comm_end from, to;
    const struct sonde_row_object *o = sonde_object_row(p, op->object);
    const struct sonde_row_work *work = op->work && op->work < p->work_count ? &p->works[op->work] : NULL;
    if (!o || !o->bytes || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns) ||
        !sonde_comm_ends(op->kind, work, lane < p->lane_count ? p->lanes[lane].device : 0, &from, &to) ||
        from.where != SONDE_COMM_DEVICE || to.where != SONDE_COMM_DEVICE || from.device == to.device)
        return false;
    *out = (struct sent){.object = op->object, .from = from.device, .to = to.device, .count = 1, .bytes = op->bytes, .ns = op->end_ns - op->start_ns};
    return true;
}

static int take_op(void *user, uint32_t lane, const void *stored)
{
    struct reading *r = user;
    const struct sonde_row_op *op = stored;
    struct sent one;
    if (!is_sent(&r->f->m->processes[r->process], lane, op, &one))
        return 0;
    const int rc = add(r, &one);
    one.leaf = sonde_profile_locate(r->f->profile, r->process, op->node);
    return rc || !one.leaf ? rc : add(r, &one);
}

/* All but one time could be saved; each place has its share of that, by its bytes. */
static int tell(struct sonde__find *f, const struct reading *r, const struct sent *place)
{
    uint64_t key;
    const double size = (double)f->m->processes[r->process].objects[place->object].bytes;
    struct sent whole = *place;
    whole.leaf = 0;
    const struct sent *all = find(r, &whole, &key);
    if (!all || (double)all->bytes < TIMES_LEAST * size)
        return 0;
    const double again = 1 - size / (double)all->bytes;
    return sonde__find_add(f,
                           &(struct sonde__finding){
                               .rule = RULE_RESENT,
                               .process = r->process,
                               .device = place->to,
                               .leaf = place->leaf,
                               .count = place->count,
                               .bytes = place->bytes,
                               .looked_at_ns = place->ns,
                               .saving_ns = (uint64_t)((double)place->ns * again),
                               .sum = (double)place->bytes * again,
                           });
}

int sonde__advice_resent(struct sonde__find *f, uint32_t process)
{
    struct reading r = {.f = f, .process = process};
    int rc = sonde_trace_each(&f->m->processes[process], &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take_op, &r);
    for (size_t i = 0; i < r.sent.count && !rc; i++)
        rc = r.sent.items[i].leaf ? tell(f, &r, &r.sent.items[i]) : 0;
    sonde_vector_fini(&r.sent);
    sonde_map_fini(&r.by_key);
    return rc;
}
