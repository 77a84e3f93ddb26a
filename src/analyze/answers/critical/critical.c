/* critical.c - the walk along the critical path, from its end to its beginning.
 *
 * As Scalasca's backward replay (Böhme, Wolf, de Supinski, Schulz, Geimer,
 * "Scalable critical-path based performance analysis", IPDPS 2012): follow one
 * activity back to where it had to wait, go over to what it waited for, and on.
 * docs/critical-path.md says what may wait for what.
 */
#include "critical.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/estimate.h"
#include "graph.h"

const char *sonde_path_name(enum sonde_path_category category)
{
    static const char *const names[] = {
#define X(name, json, text) json,
        SONDE_PATH_MAP(X)
#undef X
    };
    return category < SONDE_PATH_COUNT ? names[category] : "unknown";
}

const char *sonde_path_text(enum sonde_path_category category)
{
    static const char *const names[] = {
#define X(name, json, text) text,
        SONDE_PATH_MAP(X)
#undef X
    };
    return category < SONDE_PATH_COUNT ? names[category] : "unknown";
}

struct around {
    uint32_t pool, node;
    uint64_t ns;
};

/* Of one process. */
struct walked {
    struct pooled { uint64_t ns, count, behind_ns; } *pooled; /* [pool]: host code that is divided at the end */
    SONDE_VECTOR(struct around) around; /* host code around samples */
    struct sonde_map by_around; /* pool << 32 | node -> index */
};

struct walk {
    struct sonde__cp_run *run;
    struct sonde_path *path;
    struct walked *walked; /* [process of the run] */
    bool segments;
    uint32_t in;           /* process of the run: */
    struct sonde__cp_book *book;
    const struct sonde__cp_graph *g;
    enum {
        AT_OP,
        AT_START, /* of an operation, of which nothing is on the path */
        AT_THREAD,
        AT_BEGIN,
    } where;
    uint32_t id;           /* operation or thread */
    uint64_t at;           /* time; all later is done */
    uint32_t lane;         /* of what is being emitted */
    uint32_t delayed;      /* thing of the operation that was come from, plus one: delays before it are its */
    bool behind;           /* a step that is inferred leads from here on to the end */
    struct sonde_map by_process; /* thing << 32 | process of the run -> ns; of a job */
};

/* The path is in that process of the run now. */
static void go_to(struct walk *w, uint32_t in)
{
    w->in = in;
    w->book = &w->run->list[in].book;
    w->g = &w->run->list[in].g;
}

static bool is_job(const struct walk *w)
{
    return w->run->count > 1;
}

/* ---- what is on the path ------------------------------------------------------------ */

/* Host code is in one place as long as its innermost frame of the user's is: where in a library or the
 * interpreter a sample was would be another place for each, of which nobody sees more than that frame. */
static uint32_t place_of(const struct walk *w, uint32_t category, uint32_t node)
{
    return sonde__cp_of_host(category) && node ? sonde_profile_place(w->book->profile, node) : node;
}

static int find_place(struct walk *w, uint32_t category, uint32_t node, uint64_t *at)
{
    struct sonde_map *places = &w->run->out.places;
    const uint32_t place = place_of(w, category, node);
    const uint64_t key = (uint64_t)place << 4 | category;
    int rc = 0;
    if (!sonde_map_get(places, key, at)) {
        *at = w->path->places.count;
        rc = sonde_vector_push(&w->path->places, (struct sonde_path_place){.node = place, .category = category});
        rc = rc ? rc : sonde_map_put(places, key, *at);
    }
    return rc || place == node ? rc : sonde_map_put(places, (uint64_t)node << 4 | category, *at);
}

static struct sonde_path_place *add_place(struct walk *w, uint32_t category, uint32_t node, uint64_t ns, uint64_t count)
{
    uint64_t at;
    if (!sonde_map_get(&w->run->out.places, (uint64_t)node << 4 | category, &at) && find_place(w, category, node, &at)) {
        w->run->out.rc = SONDE_ENOMEM;
        return NULL;
    }
    w->path->places.items[at].ns += ns;
    w->path->places.items[at].count += count;
    return &w->path->places.items[at];
}

/* Which process of a job has most of a thing. */
static void note_process(struct walk *w, uint32_t at, uint64_t ns)
{
    struct sonde_path_thing *thing = &w->path->things.items[at];
    const uint64_t key = (uint64_t)at << 32 | w->in;
    uint64_t sum = 0;
    sonde_map_get(&w->by_process, key, &sum);
    sum += ns;
    if (sum >= thing->most_ns) {
        thing->most_ns = sum;
        thing->most_process = w->book->process;
    }
    if (sonde_map_put(&w->by_process, key, sum))
        w->run->out.rc = SONDE_ENOMEM;
}

static struct sonde_path_thing *add_thing(struct walk *w, uint32_t category, uint32_t node, uint64_t ns, uint64_t count)
{
    const uint32_t at = sonde__cp_thing(w->book, category, node);
    if (!w->run->out.rc && is_job(w))
        note_process(w, at, ns);
    if (w->run->out.rc)
        return NULL;
    w->path->things.items[at].ns += ns;
    w->path->things.items[at].count += count;
    return &w->path->things.items[at];
}

static void add_part(struct walk *w, uint32_t category, uint64_t ns)
{
    w->path->parts[category].ns += ns;
    w->path->parts[category].count++;
    if (!is_job(w))
        return;
    w->path->stays.items[w->in].ns += ns;
    w->path->stays.items[w->in].parts_ns[category] += ns;
}

static void add_segment(struct walk *w, uint32_t category, uint64_t from, uint32_t node)
{
    if (w->segments && sonde_vector_push(&w->path->segments, (struct sonde_path_segment){from, w->at, w->lane, node, category, w->book->process}))
        w->run->out.rc = SONDE_ENOMEM;
}

/* One step: from w->at down to `from`, but not beyond the path's beginning, before which a thread may have slept.
 * `node` is of the process, or (host code) of the tree. */
static void emit_known(struct walk *w, uint32_t category, uint64_t from, uint32_t node, bool inferred)
{
    from = from < w->g->begin ? w->g->begin : from;
    if (from >= w->at && !(category >= SONDE_PATH_KERNEL && category <= SONDE_PATH_ORDER))
        return;
    const uint64_t ns = w->at - from;
    struct sonde_path_thing *thing = add_thing(w, category, node, ns, 1);
    const uint32_t tree = sonde__cp_of_host(category) ? node : sonde_profile_locate(w->book->profile, w->book->process, node);
    struct sonde_path_place *place = thing ? add_place(w, category, tree, ns, 1) : NULL;
    if (!place)
        return;
    add_part(w, category, ns);
    thing->behind_ns += w->behind ? ns : 0;
    thing->inferred_ns += inferred ? ns : 0;
    place->inferred_ns += inferred && tree ? ns : 0;
    if (w->delayed && (category == SONDE_PATH_LAUNCH || category == SONDE_PATH_GAP))
        w->path->things.items[w->delayed - 1].delay_ns += ns;
    add_segment(w, category, from, tree);
    w->at = from;
}

static void emit(struct walk *w, uint32_t category, uint64_t from, uint32_t node)
{
    emit_known(w, category, from, node, false);
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Over to the process that came last to a meeting, now. */
static void go_elsewhere(struct walk *w, uint32_t meeting)
{
    const struct sonde_need_point *last = &w->run->needs.points.items[w->run->needs.meetings.items[meeting].last];
    w->path->messages++;
    go_to(w, last->process);
    w->path->stays.items[w->in].count++;
    w->where = last->end_ns ? AT_START : AT_THREAD;
    w->id = last->lane;
}

static void step_op(struct walk *w)
{
    const struct sonde__cp_op *op = &w->g->ops[w->id];
    const struct sonde__cp_cause met = w->where == AT_OP ? sonde__cp_op_met(w->g, w->id, w->at) : (struct sonde__cp_cause){.kind = CP_NOTHING};
    const uint32_t category = sonde__cp_category(op->kind);
    w->lane = w->g->lanes[op->lane].lane;
    w->delayed = sonde__cp_thing(w->book, category, op->node) + 1;
    if (met.kind) {
        emit(w, category, met.time, op->node);
        go_elsewhere(w, met.id);
        return;
    }
    if (w->where == AT_OP)
        emit(w, category, op->start < w->at ? op->start : w->at, op->node);
    w->where = AT_OP;
    const struct sonde__cp_cause cause = sonde__cp_op_cause(w->g, w->id);
    if (cause.kind == CP_OPERATION) {
        emit(w, SONDE_PATH_GAP, cause.time < w->at ? cause.time : w->at, op->node);
        w->id = cause.id;
        return;
    }
    if (cause.kind == CP_CALL) {
        emit(w, SONDE_PATH_LAUNCH, cause.time < w->at ? cause.time : w->at, op->node);
        w->where = AT_THREAD;
        w->id = w->g->calls[cause.id].thread;
        return;
    }
    w->path->lost++;
    w->where = w->g->main ? AT_THREAD : AT_BEGIN;
    w->id = w->g->main - 1;
}

/* Within a call, entered before w->at. */
static void step_call(struct walk *w, uint32_t index)
{
    const struct sonde__cp_call *call = &w->g->calls[index];
    const struct sonde__cp_cause cause = sonde__cp_call_cause(w->g, index, w->at);
    emit(w, sonde__cp_call_category(call), cause.kind ? cause.time : call->enter, call->node);
    if (cause.kind == CP_ELSEWHERE) {
        go_elsewhere(w, cause.id);
    } else if (cause.kind) {
        w->where = cause.kind == CP_CALL ? AT_THREAD : AT_OP;
        w->id = cause.kind == CP_CALL ? w->g->calls[cause.id].thread : cause.id;
        w->behind |= cause.inferred;
        w->path->waits_inferred += cause.inferred;
        w->path->waits_recorded += !cause.inferred;
    }
}

/* Host code that its pool will divide. */
static void emit_pooled(struct walk *w, const struct sonde__cp_span *span)
{
    const uint64_t from = span->from < w->g->begin ? w->g->begin : span->from, ns = from < w->at ? w->at - from : 0;
    struct pooled *pooled = &w->walked[w->in].pooled[span->pool - 1];
    if (!ns)
        return;
    pooled->ns += ns;
    pooled->count++;
    pooled->behind_ns += w->behind ? ns : 0;
    add_part(w, SONDE_PATH_HOST, ns);
    add_segment(w, SONDE_PATH_HOST, from, span->node);
    w->at = from;
}

static void keep_around(struct walk *w, uint32_t pool, uint32_t node, uint64_t ns)
{
    struct walked *walked = &w->walked[w->in];
    const uint64_t key = (uint64_t)pool << 32 | node;
    uint64_t at;
    if (!sonde_map_get(&walked->by_around, key, &at)) {
        at = walked->around.count;
        if (sonde_vector_push(&walked->around, (struct around){pool, node, 0}) || sonde_map_put(&walked->by_around, key, at)) {
            w->run->out.rc = SONDE_ENOMEM;
            return;
        }
    }
    walked->around.items[at].ns += ns;
}

static void emit_host(void *user, const struct sonde__cp_span *span)
{
    struct walk *w = user;
    const uint64_t at = w->at;
    if (span->category == SONDE_PATH_HOST && span->known == CP_POOLED) {
        emit_pooled(w, span);
        return;
    }
    emit_known(w, span->category, span->from, span->node, span->known != CP_SAMPLED);
    if (span->category == SONDE_PATH_HOST && span->known == CP_SAMPLED && span->node)
        keep_around(w, span->pool, span->node, at - w->at);
}

/* The thread's last sleep that ended by w->at and after `from`, or the wait that it was in then. */
static const struct sonde__cp_sleep *last_sleep(const struct walk *w, uint64_t from)
{
    const struct sonde__cp_thread *t = &w->g->threads[w->id];
    uint32_t low = t->first_sleep, high = t->first_sleep + t->sleeps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->g->sleeps[middle].in <= w->at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < t->first_sleep + t->sleeps && w->g->sleeps[low].node && w->g->sleeps[low].out < w->at)
        return &w->g->sleeps[low];
    return low > t->first_sleep && w->g->sleeps[low - 1].in > from ? &w->g->sleeps[low - 1] : NULL;
}

/* Asleep down to `from`. */
static void emit_sleep(struct walk *w, const struct sonde__cp_sleep *sleep, uint64_t from, link before)
{
    if (sleep && sleep->node)
        emit_known(w, SONDE_PATH_OFF, from, sonde_profile_locate(w->book->profile, w->book->process, sleep->node), false);
    else
        emit_known(w, SONDE_PATH_OFF, from, sonde__cp_between(w->book, w->id, before, w->at), true);
}

/* Host code after the call `before` (0: from the thread's beginning) until w->at. */
static void step_host(struct walk *w, link before)
{
    const uint64_t begin = before ? w->g->calls[before - 1].leave : w->g->threads[w->id].start_ns;
    const link op = sonde__cp_called_back(w->g, w->id, begin, w->at);
    const uint64_t from = op ? w->g->ops[op - 1].end : begin;
    const struct sonde__cp_sleep *sleep = last_sleep(w, from);
    const uint64_t to = !sleep ? from : (sleep->in < w->at ? sleep->in : w->at);
    const uint64_t at = w->at;
    if (to < w->at)
        sonde__cp_host_spans(w->book, w->id, before, to, w->at, emit_host, w);
    if (op && (!sleep || sleep->out <= from)) {
        emit_sleep(w, sleep, from, before);
        w->where = AT_OP;
        w->id = op - 1;
        w->behind = true;
        w->path->callbacks_inferred++;
        return;
    }
    if (!sleep && !before && w->at > w->g->begin && w->g->main && w->id != w->g->main - 1) {
        w->path->starts_inferred++; /* who made this thread is not recorded */
        w->behind = true;
        w->id = w->g->main - 1;
        return;
    }
    if (!sleep) {
        w->where = before ? AT_THREAD : AT_BEGIN;
        return;
    }
    const bool woken = sleep->waker && sleep->in <= at;
    emit_sleep(w, sleep, woken ? sleep->woken : sleep->out, before);
    if (woken) {
        w->behind = true;
        w->path->wakes_inferred++;
        w->id = sleep->waker - 1;
    }
}

static void step_thread(struct walk *w)
{
    w->lane = w->g->threads[w->id].lane;
    link call = sonde__cp_call_at(w->g, w->id, w->at);
    /* A call entered just now is not on the path any more: go on before it. */
    while (call && w->g->calls[call - 1].enter >= w->at && w->g->calls[call - 1].leave >= w->at)
        call = w->g->calls[call - 1].before;
    if (call && w->at <= w->g->calls[call - 1].leave)
        step_call(w, call - 1);
    else
        step_host(w, call);
}

/* The activity that ended last: a call, or an operation that nobody waited for. */
static void find_end(struct walk *w)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < w->run->count; i++)
        last = w->run->list[i].g.end > w->run->list[last].g.end ? i : last;
    go_to(w, last);
    const struct sonde__cp_graph *g = w->g;
    w->where = AT_BEGIN;
    w->at = g->end;
    for (uint32_t t = 0; t < g->thread_count; t++)
        if (g->threads[t].last && g->calls[g->threads[t].last - 1].leave == g->end) {
            w->where = AT_THREAD;
            w->id = t;
            return;
        }
    for (uint32_t i = 0; i < g->op_count; i++)
        if (g->ops[i].end == g->end) {
            w->where = AT_OP;
            w->id = i;
        }
}

static int walk(struct walk *w)
{
    /* Each step goes back in time or over to what began earlier; a measurement
     * that makes it turn in circles all the same must not hang the report. */
    uint64_t most = 1000;
    for (uint32_t i = 0; i < w->run->count; i++) {
        const struct sonde__cp_graph *g = &w->run->list[i].g;
        most += 8ull * g->op_count + 8ull * g->call_count + 4ull * g->sleep_count;
    }
    find_end(w);
    w->path->end_ns = w->at;
    if (is_job(w))
        w->path->stays.items[w->in].count++;
    while (w->where != AT_BEGIN && w->at > w->g->begin && most-- && !w->run->out.rc) {
        if (w->where == AT_OP || w->where == AT_START)
            step_op(w);
        else
            step_thread(w);
    }
    w->lane = 0;
    emit(w, SONDE_PATH_UNKNOWN, w->g->begin, 0);
    w->path->begin_ns = w->g->begin;
    w->path->process = w->book->process;
    return w->run->out.rc;
}

/* ---- host code by its samples --------------------------------------------------------------- */

/* The first `part` of `whole`, in whole nanoseconds, so that parts add up to it. */
static uint64_t first_of(uint64_t whole, double part)
{
    const double ns = (double)whole * part;
    return part >= 1 - 1e-12 || ns >= (double)whole ? whole : (uint64_t)ns;
}

static void divide_pool(struct walk *w, const struct sonde__pool *pool, const struct pooled *whole)
{
    uint64_t ns = 0, count = 0, behind_ns = 0;
    double part = 0;
    for (uint32_t i = pool->first; i < pool->first + pool->count && !w->run->out.rc; i++) {
        const struct sonde__pool_share *share = &w->book->pools.shares.items[i];
        part = i + 1 == pool->first + pool->count ? 1 : part + share->part;
        const uint64_t to_ns = first_of(whole->ns, part), to_count = first_of(whole->count, part);
        const uint64_t to_behind = first_of(whole->behind_ns, part);
        struct sonde_path_thing *thing = add_thing(w, SONDE_PATH_HOST, share->node, to_ns - ns, to_count - count);
        struct sonde_path_place *place = add_place(w, SONDE_PATH_HOST, share->node, to_ns - ns, to_count - count);
        if (!thing || !place)
            return;
        thing->behind_ns += to_behind - behind_ns;
        place->pooled_ns += to_ns - ns;
        ns = to_ns, count = to_count, behind_ns = to_behind;
    }
}

static int add_item(struct sonde_estimate *estimate, uint32_t pool, uint32_t node, double sampled_ns, double pooled_ns)
{
    return sonde_vector_push(&estimate->items, (struct sonde_estimate_item){pool, node, sampled_ns, pooled_ns});
}

static int by_pool(const void *left, const void *right)
{
    const struct sonde_estimate_item *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* What of the path rests on which samples of the process. */
static int estimate_process(struct walk *w, struct sonde_estimate *out)
{
    const struct sonde__pools *pools = &w->book->pools;
    const struct walked *walked = &w->walked[w->in];
    const uint32_t rate = w->g->process->header.cpu_rate_hz, first = (uint32_t)out->pools.count;
    const double period_ns = rate ? 1e9 / rate : 0;
    int rc = sonde_vector_push(&out->pools, (struct sonde_estimate_pool){.period_ns = period_ns});
    for (size_t i = 0; i < pools->pools.count && !rc; i++) {
        const struct sonde__pool *pool = &pools->pools.items[i];
        rc = sonde_vector_push(&out->pools, (struct sonde_estimate_pool){pool->samples, pool->hits, period_ns});
        for (uint32_t k = pool->first; k < pool->first + pool->count && walked->pooled[i].ns && !rc; k++)
            rc = add_item(out, first + (uint32_t)i + 1, pools->shares.items[k].node, 0,
                          (double)walked->pooled[i].ns * pools->shares.items[k].part);
    }
    for (size_t i = 0; i < walked->around.count && !rc; i++)
        rc = add_item(out, first + walked->around.items[i].pool, walked->around.items[i].node, (double)walked->around.items[i].ns, 0);
    return rc;
}

static int estimate_host(struct walk *w, struct sonde_estimate *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < w->run->count && !rc; i++) {
        go_to(w, i);
        rc = estimate_process(w, out);
    }
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_pool);
    return rc;
}

/* Standard errors of things and places. */
static int find_errors(struct walk *w)
{
    const size_t nodes = w->book->profile->nodes.count;
    struct sonde_estimate estimate = {0};
    uint32_t *things = malloc((nodes + 1) * sizeof *things), *places = malloc((nodes + 1) * sizeof *places);
    double *thing_errors = NULL, *place_errors = NULL;
    uint64_t at;
    int rc = things && places ? estimate_host(w, &estimate) : SONDE_ENOMEM;
    for (size_t i = 0; i < nodes && !rc; i++)
        things[i] = places[i] = UINT32_MAX;
    for (size_t i = 0; i < estimate.items.count && !rc; i++) {
        const uint32_t node = estimate.items.items[i].node;
        things[node] = sonde__cp_thing(w->book, SONDE_PATH_HOST, node);
        if (sonde_map_get(&w->run->out.places, (uint64_t)node << 4 | SONDE_PATH_HOST, &at))
            places[node] = (uint32_t)at;
        rc = w->run->out.rc;
    }
    if (!rc) {
        thing_errors = sonde_estimate_errors(&estimate, things, NULL, w->path->things.count);
        place_errors = sonde_estimate_errors(&estimate, places, NULL, w->path->places.count);
        rc = thing_errors && place_errors ? 0 : SONDE_ENOMEM;
    }
    for (size_t i = 0; i < w->path->things.count && !rc; i++)
        w->path->things.items[i].error_ns = thing_errors[i];
    for (size_t i = 0; i < w->path->places.count && !rc; i++)
        w->path->places.items[i].error_ns = place_errors[i];
    free(things);
    free(places);
    free(thing_errors);
    free(place_errors);
    sonde_estimate_fini(&estimate);
    return rc;
}

static int divide_host(struct walk *w)
{
    for (uint32_t p = 0; p < w->run->count; p++) {
        const struct pooled *pooled = w->walked[p].pooled;
        go_to(w, p);
        for (size_t i = 0; i < w->book->pools.pools.count && !w->run->out.rc; i++)
            if (pooled[i].ns)
                divide_pool(w, &w->book->pools.pools.items[i], &pooled[i]);
    }
    return w->run->out.rc ? w->run->out.rc : find_errors(w);
}

/* ---- results ------------------------------------------------------------------------------ */

static int things_by_ns(const void *left, const void *right)
{
    const struct sonde_path_thing *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int places_by_ns(const void *left, const void *right)
{
    const struct sonde_path_place *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return a->node != b->node ? (a->node < b->node ? -1 : 1) : (a->category < b->category ? -1 : a->category > b->category);
}

static int stays_by_ns(const void *left, const void *right)
{
    const struct sonde_path_stay *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static bool can_be_faster(const struct sonde_path_thing *thing)
{
    return thing->ns > 0 && thing->category != SONDE_PATH_OFF && thing->category != SONDE_PATH_UNKNOWN &&
           thing->category != SONDE_PATH_PAUSED;
}

struct heavy {
    uint32_t index;
    uint64_t ns;
};

static int heaviest(const void *left, const void *right)
{
    const struct heavy *a = left, *b = right;
    return a->ns < b->ns ? 1 : (a->ns > b->ns ? -1 : (a->index < b->index ? -1 : 1));
}

enum {
    MANY_ROWS = 10000000,
    FEW_THINGS = 3,
}; /* so many rows take seconds for each thing */

static int evaluate(struct walk *w, uint32_t most)
{
    if (w->path->operations + w->path->calls > MANY_ROWS && most > FEW_THINGS)
        most = FEW_THINGS;
    const size_t count = w->path->things.count;
    struct heavy *order = malloc((count + 1) * sizeof *order);
    uint32_t *chosen = malloc((count + 1) * sizeof *chosen), found = 0;
    int rc = order && chosen ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < count && !rc; i++)
        order[i] = (struct heavy){(uint32_t)i, w->path->things.items[i].ns};
    if (!rc && count)
        qsort(order, count, sizeof *order, heaviest);
    for (size_t i = 0; i < count && found < most && !rc; i++)
        if (can_be_faster(&w->path->things.items[order[i].index]))
            chosen[found++] = order[i].index;
    if (!rc && found)
        rc = sonde__cp_evaluate(w->run, chosen, found);
    free(order);
    free(chosen);
    return rc;
}

static void sum_up(struct sonde_path *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < path->things.count; i++) /* those of the evaluation alone are not on the path */
        if (path->things.items[i].count || path->things.items[i].ns)
            path->things.items[kept++] = path->things.items[i];
    path->things.count = kept;
    if (kept)
        qsort(path->things.items, kept, sizeof *path->things.items, things_by_ns);
    if (path->places.count)
        qsort(path->places.items, path->places.count, sizeof *path->places.items, places_by_ns);
    kept = 0;
    for (size_t i = 0; i < path->stays.count; i++)
        if (path->stays.items[i].count)
            path->stays.items[kept++] = path->stays.items[i];
    path->stays.count = kept;
    if (kept)
        qsort(path->stays.items, kept, sizeof *path->stays.items, stays_by_ns);
}

/* What was looked at, and how complete it is. */
static int describe(const struct sonde__cp_run *run, struct sonde_path *path)
{
    uint64_t end_ns = 0;
    int rc = 0;
    path->apart = run->apart;
    for (uint32_t i = 1; i < run->count; i++)
        if (run->needs.hosts.items[run->list[i].book.process] != run->needs.hosts.items[run->list[0].book.process])
            path->clock_bound_ns = sonde__clocks_bound(&run->needs.clocks);
    for (uint32_t i = 0; i < run->count && !rc; i++) {
        const struct sonde__cp_graph *g = &run->list[i].g;
        const struct sonde_live_header *h = &g->process->header;
        const uint64_t stop_ns = run->count > 1 ? sonde_needs_time(&run->needs, run->list[i].book.process, h->stop_ns) : h->stop_ns;
        path->operations += g->op_count;
        path->calls += g->call_count;
        path->no_times += g->no_times;
        path->limited |= g->from > 0;
        path->dropped |= h->ledger.call_rows_dropped || h->cpu.wait_rows_dropped || h->message_rows_dropped;
        for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
            path->dropped |= h->ledger.dropped[cause] > 0;
        if (g->end >= end_ns) {
            end_ns = g->end;
            path->tail_ns = stop_ns > end_ns ? stop_ns - end_ns : 0;
        }
        if (run->count > 1)
            rc = sonde_vector_push(&path->stays, (struct sonde_path_stay){.process = run->list[i].book.process});
    }
    return rc;
}

static int begin_walk(struct walk *w)
{
    w->walked = calloc(w->run->count, sizeof *w->walked);
    for (uint32_t i = 0; i < w->run->count && w->walked; i++) {
        w->walked[i].pooled = calloc(w->run->list[i].book.pools.pools.count + 1, sizeof *w->walked[i].pooled);
        if (!w->walked[i].pooled)
            return SONDE_ENOMEM;
    }
    return w->walked ? 0 : SONDE_ENOMEM;
}

static void end_walk(struct walk *w)
{
    for (uint32_t i = 0; i < w->run->count && w->walked; i++) {
        free(w->walked[i].pooled);
        sonde_vector_fini(&w->walked[i].around);
        sonde_map_fini(&w->walked[i].by_around);
    }
    free(w->walked);
    sonde_map_fini(&w->by_process);
}

int sonde__cp_compute(struct sonde__cp_run *run, const struct sonde_critical_options *options)
{
    struct sonde_path *path = run->out.path;
    struct walk w = {.run = run, .path = path, .segments = options->segments};
    int rc = begin_walk(&w);
    rc = rc ? rc : describe(run, path);
    rc = rc ? rc : walk(&w);
    rc = rc ? rc : divide_host(&w);
    if (!rc && options->evaluate)
        rc = evaluate(&w, options->evaluate);
    if (!rc)
        sum_up(path);
    end_walk(&w);
    return rc;
}
