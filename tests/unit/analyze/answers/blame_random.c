/* blame_random.c - idleness blame of random measurements, and of ranges of them, against the definition, applied to each
 * nanosecond by itself. */
#include "blame_result.h"

static uint64_t seed = 1;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

enum {
    THREADS = 5,
    DEVICES = 3,
    STOPS_MOST = 1200,
    END = 12000,
    MOST = 400,
    PERIOD = 80,
    DEPTH = 6,
    PATHS = 60,
};

struct event {
    uint64_t from, to;
    uint32_t path;
    bool flag; /* of a sample: taken as its thread ended */
    uint64_t cpu;
};
struct list {
    struct event items[STOPS_MOST];
    uint32_t count;
};

static struct program {
    enum sonde_blame_rule rule;
    bool sleepy;
    struct list ops[DEVICES], calls[THREADS], samples[THREADS], switches[THREADS], sleeps[THREADS], pauses;
    struct list parts[THREADS]; /* of sleeps: what lies outside of calls */
    struct list stops[THREADS]; /* calls and parts */
    struct {
        uint32_t node, parent;
        bool api, waits;
        char name[24];
    } paths[THREADS][PATHS + 1]; /* [0]: the root */
    uint64_t first[THREADS], last[THREADS]; /* rows */
} P;

/* Answers: by name (names are unique per thread and path), and the rest. */
static struct expected {
    double waiting[THREADS][PATHS + 1], working[THREADS][PATHS + 1], whole[THREADS][PATHS + 1];
    double source[SONDE_BLAME_SOURCES], nobody, idle, recorded, longest, now; /* now: of the interval, so far */
    uint64_t intervals;
} expected[DEVICES + 1];

static void make_paths(struct scene *s, uint32_t lane, int t)
{
    for (uint32_t i = 1; i <= PATHS; i++) {
        uint32_t parent;
        do
            parent = (uint32_t)noise(i); /* a parent that is no call */
        while (P.paths[t][parent].api);
        P.paths[t][i].parent = parent;
        P.paths[t][i].api = i > 3 && noise(2);
        P.paths[t][i].waits = P.paths[t][i].api && noise(3) == 0;
        const uint32_t node = P.paths[t][parent].node;
        if (P.paths[t][i].waits)
            snprintf(P.paths[t][i].name, sizeof P.paths[t][i].name, "clFinish");
        else
            snprintf(P.paths[t][i].name, sizeof P.paths[t][i].name, "f%d_%u", t, i);
        P.paths[t][i].node = P.paths[t][i].api ? scene_api(s, lane, node, P.paths[t][i].name)
                                               : scene_function(s, lane, node, P.paths[t][i].name);
    }
}

static uint32_t random_path(int t, bool api)
{
    uint32_t path;
    do
        path = 1 + (uint32_t)noise(PATHS);
    while (P.paths[t][path].api != api);
    return path;
}

/* All times are even, so that half ways are whole numbers; no two samples are at one time, nor one
 * at the end of a call: what is nearest is then the same for both. */
static void make_list(struct list *list, uint64_t from, uint64_t gap, uint64_t length)
{
    list->count = 0;
    for (uint64_t at = from; list->count < MOST - 1; list->count++) {
        struct event *e = &list->items[list->count];
        at += 4 * noise(noise(10) ? gap : 10 * gap) + (length ? 0 : 4);
        e->from = at;
        e->to = at += length ? 4 * noise(noise(10) ? length : 10 * length) : 0;
        if (at >= END)
            break;
    }
}

static const struct event *at_instant(const struct list *list, uint64_t t)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].from <= t && t < list->items[i].to)
            return &list->items[i];
    return NULL;
}

/* Nanosecond by nanosecond: a sleep is where no call is. */
static void find_parts(int t)
{
    struct list *parts = &P.parts[t], *stops = &P.stops[t];
    for (uint32_t i = 0; i < P.sleeps[t].count; i++) {
        bool on = false;
        for (uint64_t at = P.sleeps[t].items[i].from; at < P.sleeps[t].items[i].to; at++) {
            if (at_instant(&P.calls[t], at)) {
                on = false;
                continue;
            }
            if (!on)
                parts->items[parts->count++] = (struct event){.from = at, .path = P.sleeps[t].items[i].path};
            on = true;
            parts->items[parts->count - 1].to = at + 1;
        }
    }
    for (uint32_t c = 0, k = 0; c < P.calls[t].count || k < parts->count;) { /* of two at one time the call, which lasts no time, is first */
        const bool part = k < parts->count && (c == P.calls[t].count || parts->items[k].from < P.calls[t].items[c].from);
        assert_true(stops->count < STOPS_MOST && parts->count < STOPS_MOST);
        stops->items[stops->count++] = part ? parts->items[k++] : P.calls[t].items[c++];
    }
}

/* No call or sleep begins or ends, and no sample is taken, while a thread does not run. */
static void keep_possible(int t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < P.switches[t].count; i++) {
        const struct event away = P.switches[t].items[i];
        bool possible = true;
        for (uint32_t k = 0; k < P.calls[t].count; k++) {
            possible &= P.calls[t].items[k].from <= away.from || P.calls[t].items[k].from >= away.to;
            possible &= P.calls[t].items[k].to <= away.from || P.calls[t].items[k].to >= away.to;
        }
        for (uint32_t k = 0; k < P.sleeps[t].count; k++) {
            possible &= P.sleeps[t].items[k].from <= away.from || P.sleeps[t].items[k].from >= away.to;
            possible &= P.sleeps[t].items[k].to <= away.from || P.sleeps[t].items[k].to >= away.to;
        }
        for (uint32_t k = 0; k < P.samples[t].count; k++)
            possible &= P.samples[t].items[k].from <= away.from || P.samples[t].items[k].from >= away.to;
        if (possible)
            P.switches[t].items[kept++] = away;
    }
    P.switches[t].count = kept;
}

static void make_program(struct scene *s)
{
    uint32_t queues[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        queues[d] = scene_queue(s, scene_device(s, "gpu"));
        make_list(&P.ops[d], 0, 40, 30);
        P.ops[d].items[P.ops[d].count++] = (struct event){.from = END - 2, .to = END}; /* never none */
        for (uint32_t i = 0; i < P.ops[d].count; i++)
            scene_op(s, queues[d], 0, P.ops[d].items[i].from, P.ops[d].items[i].to, i);
    }
    for (int t = 0; t < THREADS; t++) {
        const uint32_t lane = scene_thread(s);
        const uint64_t begin = 4 * noise(END / 8);
        make_paths(s, lane, t);
        P.first[t] = UINT64_MAX, P.last[t] = 0;
        P.samples[t].count = P.switches[t].count = P.calls[t].count = P.sleeps[t].count = 0;
        P.parts[t].count = P.stops[t].count = 0;
        if (t != 1) /* one thread makes no calls */
            make_list(&P.calls[t], begin + 100, 50, 20);
        for (uint32_t i = 0; i < P.calls[t].count; i++) {
            struct event *e = &P.calls[t].items[i];
            e->path = random_path(t, true);
            e->flag = noise(5) == 0 && (!i || e[-1].from < e->from); /* which of two that begin at once waited nobody says */
            scene_call(s, lane, P.paths[t][e->path].node, e->from, e->to, 0);
            if (e->flag)
                scene_wait(s, lane, e->from);
        }
        if (P.sleepy && t) /* one thread never does; another one makes no calls */
            make_list(&P.sleeps[t], begin + 20, 150, 60);
        for (uint32_t i = 0; i < P.sleeps[t].count; i++) {
            struct event *e = &P.sleeps[t].items[i];
            do
                e->path = random_path(t, true);
            while (P.paths[t][e->path].waits);
            scene_sleep(s, lane, P.paths[t][e->path].node, e->from, e->to);
        }
        find_parts(t);
        if (P.rule != SONDE_BLAME_BY_CALLS)
            make_list(&P.samples[t], begin + 50, 60, 0);
        for (uint32_t i = 0; i < P.samples[t].count; i++) {
            struct event *e = &P.samples[t].items[i];
            e->path = random_path(t, noise(10) == 0);
            e->flag = noise(12) == 0;
            e->cpu = noise(2) ? 4 * noise(PERIOD / 2) : (noise(3) ? PERIOD : 4 * noise(2 * PERIOD));
            (e->flag ? scene_rest : scene_sample)(s, lane, P.paths[t][e->path].node, e->from, e->cpu);
        }
        if (P.rule == SONDE_BLAME_BY_SWITCHES)
            make_list(&P.switches[t], begin, 40, 40);
        keep_possible(t);
        for (uint32_t i = 0; i < P.switches[t].count; i++) {
            struct event *e = &P.switches[t].items[i];
            e->flag = noise(3) == 0;
            scene_switch(s, lane, e->from, e->to, e->flag ? SONDE_SWITCH_PREEMPTED : 0);
        }
        const struct list *all[] = {&P.calls[t], &P.samples[t], &P.switches[t], &P.sleeps[t]};
        for (int k = 0; k < 4; k++)
            for (uint32_t i = 0; i < all[k]->count; i++) {
                P.first[t] = all[k]->items[i].from < P.first[t] ? all[k]->items[i].from : P.first[t];
                P.last[t] = all[k]->items[i].to > P.last[t] ? all[k]->items[i].to : P.last[t];
            }
    }
}

static bool is_active(int t, uint64_t at)
{
    if (at_instant(&P.calls[t], at))
        return true;
    if (at_instant(&P.parts[t], at))
        return false;
    if (P.rule == SONDE_BLAME_BY_CALLS)
        return P.calls[t].count && P.calls[t].items[0].from <= at && at < P.calls[t].items[P.calls[t].count - 1].to;
    if (P.rule == SONDE_BLAME_BY_SAMPLES) {
        for (uint32_t i = 0; i < P.samples[t].count; i++)
            if (P.samples[t].items[i].from <= at + PERIOD && at < P.samples[t].items[i].from + PERIOD)
                return true;
        return false;
    }
    const struct event *away = at_instant(&P.switches[t], at);
    return at + PERIOD >= P.first[t] && at < P.last[t] + PERIOD && (!away || away->flag);
}

/* How long the thread ran between two instants. */
static double own_time(int t, uint64_t instant, double other)
{
    const double from = (double)instant < other ? (double)instant : other, to = (double)instant < other ? other : (double)instant;
    double ran = to - from;
    for (uint32_t i = 0; i < P.switches[t].count; i++) {
        const double out = (double)P.switches[t].items[i].from, in = (double)P.switches[t].items[i].to;
        const double begin = out > from ? out : from, end = in < to ? in : to;
        ran -= end > begin ? end - begin : 0;
    }
    return ran;
}

static uint32_t caller(int t, uint32_t path)
{
    return P.paths[t][path].api ? P.paths[t][path].parent : path;
}

static uint32_t shared(int t, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = P.paths[t][a].parent;
        else
            b = P.paths[t][b].parent;
    return a;
}

/* ---- pools, by the definition of docs/developers/sampling.md ---- */

enum { LEAST = 5 };
enum { EDGES = 3 };

/* What a gap lies between, as numbers of paths; a gap at an edge has EDGES + PATHS + 1 and so on as its second. */
struct gap {
    uint32_t before, after;
    const struct event *left, *right;
};
static struct pool {
    double part[THREADS][PATHS + 1];
    bool any;
} pools[2000];
static uint32_t pool_count;
static struct sampled {
    int t;
    uint32_t before, after, path;
    double open, stands;
    bool used, rest;
} sampled[THREADS * MOST];
static uint32_t sampled_count;
static struct known {
    int t;
    uint32_t before, after, pool;
} known[THREADS * MOST];
static uint32_t known_count;
static struct { uint32_t members[THREADS * MOST], count; } wider[THREADS][PATHS + 1]; /* residual samples; [0][0] is the root */
static uint32_t wide_pool[THREADS][PATHS + 1];

static struct gap gap_at(int t, double at)
{
    const struct list *calls = &P.stops[t];
    struct gap gap = {0, 0, NULL, NULL};
    for (uint32_t i = 0; i < calls->count; i++) {
        if ((double)calls->items[i].to <= at && (!gap.left || calls->items[i].to >= gap.left->to))
            gap.left = &calls->items[i]; /* a call that lasts no time may be in a sleep */
        gap.right = !gap.right && (double)calls->items[i].from > at ? &calls->items[i] : gap.right;
    }
    gap.before = gap.left && gap.right ? gap.left->path : 0;
    gap.after = gap.left && gap.right ? gap.right->path : PATHS + 1u + (gap.left != NULL) + 2u * (gap.right != NULL);
    return gap;
}

static bool is_edge(const struct gap *gap)
{
    return gap->after > PATHS;
}

/* The samples of the gap next to `at`, before it and after it. */
static void neighbours(int t, const struct gap *gap, double at, const struct event **earlier, const struct event **later)
{
    *earlier = *later = NULL;
    for (uint32_t i = 0; i < P.samples[t].count; i++) {
        const struct event *e = &P.samples[t].items[i];
        if ((gap->left && e->from < gap->left->to) || (gap->right && e->from > gap->right->from))
            continue;
        *earlier = (double)e->from < at ? e : *earlier;
        *later = !*later && (double)e->from > at ? e : *later;
    }
}

/* It stands for a period, and for what it came late. */
static double late(const struct event *sample)
{
    return sample->cpu > PERIOD ? (double)sample->cpu - PERIOD : 0;
}

static void gather_samples(void)
{
    sampled_count = 0;
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < P.samples[t].count; i++) {
            const struct event *e = &P.samples[t].items[i], *earlier, *later;
            const struct gap gap = gap_at(t, (double)e->from);
            double open = 0;
            if (at_instant(&P.stops[t], e->from))
                continue;
            neighbours(t, &gap, (double)e->from, &earlier, &later);
            if (earlier ? earlier->flag : gap.left != NULL)
                open += fmax(0, PERIOD / 2 + late(e) - own_time(t, earlier ? earlier->from : gap.left->to, (double)e->from));
            if (later ? later->flag : gap.right != NULL)
                open += fmax(0, PERIOD / 2 - own_time(t, later ? later->from : gap.right->from, (double)e->from));
            sampled[sampled_count++] = (struct sampled){t, gap.before, gap.after, e->path, open,
                                                        e->flag ? (double)e->cpu : PERIOD + late(e), false, e->flag};
        }
}

/* Those that were not taken as a thread ended, which count only where there is nothing else. */
static uint32_t real(const uint32_t *members, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += !sampled[members[i]].rest;
    return found;
}

static double weight(const struct sampled *s, bool by_open, bool rests)
{
    return s->rest != rests ? 0 : (by_open ? s->open : s->stands);
}

static uint32_t add_pool(const uint32_t *members, uint32_t count)
{
    struct pool *pool = &pools[++pool_count];
    const bool rests = !real(members, count);
    uint32_t open = 0;
    double sum = 0;
    memset(pool, 0, sizeof *pool);
    for (uint32_t i = 0; i < count; i++)
        open += !sampled[members[i]].rest && sampled[members[i]].open > 0;
    for (uint32_t i = 0; i < count; i++)
        sum += weight(&sampled[members[i]], open >= LEAST, rests);
    for (uint32_t i = 0; i < count; i++) {
        const struct sampled *s = &sampled[members[i]];
        pool->part[s->t][s->path] += sum > 0 ? weight(s, open >= LEAST, rests) / sum : 1.0 / count;
    }
    return pool_count;
}

/* Pairs with enough samples; the others' samples go to what their two callers share. */
static void pool_pairs(void)
{
    static uint32_t members[THREADS * MOST];
    known_count = 0;
    for (uint32_t i = 0; i < sampled_count; i++) {
        const struct sampled *s = &sampled[i];
        uint32_t count = 0;
        if (s->used)
            continue;
        for (uint32_t k = i; k < sampled_count; k++)
            if (sampled[k].t == s->t && sampled[k].before == s->before && sampled[k].after == s->after) {
                members[count++] = k;
                sampled[k].used = true;
            }
        if (real(members, count) >= LEAST || s->after > PATHS) {
            known[known_count++] = (struct known){s->t, s->before, s->after, add_pool(members, count)};
            continue;
        }
        const uint32_t at = shared(s->t, caller(s->t, s->before), caller(s->t, s->after));
        for (uint32_t k = 0; k < count; k++)
            wider[at ? s->t : 0][at].members[wider[at ? s->t : 0][at].count++] = members[k];
    }
}

static void make_pools(void)
{
    pool_count = 0;
    memset(wider, 0, sizeof wider);
    memset(wide_pool, 0, sizeof wide_pool);
    gather_samples();
    pool_pairs();
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = PATHS; i > 0; i--) {
            const uint32_t parent = P.paths[t][i].parent, to = parent ? (uint32_t)t : 0;
            if (real(wider[t][i].members, wider[t][i].count) >= LEAST)
                wide_pool[t][i] = add_pool(wider[t][i].members, wider[t][i].count);
            for (uint32_t k = 0; k < wider[t][i].count && !wide_pool[t][i]; k++)
                wider[to][parent].members[wider[to][parent].count++] = wider[t][i].members[k];
        }
    if (real(wider[0][0].members, wider[0][0].count) >= LEAST)
        wide_pool[0][0] = add_pool(wider[0][0].members, wider[0][0].count);
}

static uint32_t pool_of(int t, const struct gap *gap)
{
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].t == t && known[i].before == gap->before && known[i].after == gap->after)
            return known[i].pool;
    if (is_edge(gap))
        return 0;
    uint32_t at = shared(t, caller(t, gap->before), caller(t, gap->after));
    while (at && !wide_pool[t][at])
        at = P.paths[t][at].parent;
    return wide_pool[at ? t : 0][at];
}

/* Context of a thread that is active just after `at`: the definition, word by word. 0, and a pool, where it is
 * divided among several. */
static uint32_t context(int t, uint64_t at, enum sonde_blame_source *source, bool *waiting, uint32_t *pool)
{
    const struct event *in = at_instant(&P.calls[t], at), *earlier, *later, *nearest = NULL;
    const double now = (double)at + 0.5;
    uint32_t path = 0;
    *waiting = false;
    *pool = 0;
    *source = SONDE_BLAME_EXACT;
    if (in) {
        *waiting = in->flag || P.paths[t][in->path].waits;
        return in->path;
    }
    const struct gap gap = gap_at(t, now);
    neighbours(t, &gap, now, &earlier, &later);
    earlier = earlier && !earlier->flag ? earlier : NULL;
    later = later && !later->flag ? later : NULL;
    const double since = earlier ? own_time(t, earlier->from, now) : INFINITY;
    const double until = later ? own_time(t, later->from, now) : INFINITY;
    const double reach = earlier && later ? 2 * PERIOD : PERIOD / 2, before = later ? late(later) : 0;
    if (until - before <= since && until - before < reach) /* of two that are equally far, for it did not run, the later one */
        nearest = later;
    else if (since < until - before && since < reach)
        nearest = earlier;
    *source = SONDE_BLAME_SAMPLED;
    if (nearest) {
        *waiting = P.paths[t][nearest->path].waits;
        return nearest->path;
    }
    *source = SONDE_BLAME_POOLED;
    if ((*pool = pool_of(t, &gap)))
        return 0;
    if (!is_edge(&gap)) {
        path = shared(t, caller(t, gap.before), caller(t, gap.after));
    } else {
        bool any = false;
        const struct list *const all[] = {&P.calls[t], &P.samples[t], &P.sleeps[t]};
        for (int k = 0; k < 3; k++)
            for (uint32_t i = 0; i < all[k]->count; i++) {
                const uint32_t one = caller(t, all[k]->items[i].path);
                path = any ? shared(t, path, one) : one;
                any = true;
            }
    }
    *source = path ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED;
    return path;
}

static void expect_pooled(int d, const struct pool *pool, double ns)
{
    expected[d].source[SONDE_BLAME_POOLED] += ns;
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 1; i <= PATHS; i++) {
            (P.paths[t][i].waits ? expected[d].waiting : expected[d].working)[t][i] += ns * pool->part[t][i];
            expected[d].whole[t][i] += pool->part[t][i];
        }
}

/* While no thread is active: of those that sleep the one that calls next, whatever it calls; of several, the first. */
static uint32_t expect_sleeper(uint64_t at, int *thread)
{
    uint64_t next = UINT64_MAX;
    uint32_t path = 0;
    for (int t = 0; t < THREADS; t++) {
        const struct event *asleep = at_instant(&P.parts[t], at);
        uint64_t call = UINT64_MAX;
        for (uint32_t i = P.calls[t].count; i-- > 0 && asleep;)
            call = P.calls[t].items[i].from > at ? P.calls[t].items[i].from : call;
        if (call < next) {
            next = call;
            path = asleep->path;
            *thread = t;
        }
    }
    return path;
}

/* A pause ends one, too. */
static void expect_interval(struct expected *e, bool over)
{
    e->intervals += !over && e->now == 0;
    e->now = over ? 0 : e->now + 1;
    e->longest = e->now > e->longest ? e->now : e->longest;
}

static void expect_instant(uint64_t at)
{
    bool busy[DEVICES + 1] = {false}, active[THREADS];
    int k = 0;
    const bool paused = at_instant(&P.pauses, at);
    for (int d = 0; d < DEVICES; d++)
        busy[0] |= busy[d + 1] = at_instant(&P.ops[d], at) != NULL;
    for (int d = 0; d <= DEVICES; d++)
        expect_interval(&expected[d], paused || busy[d]);
    if (paused)
        return;
    for (int t = 0; t < THREADS; t++)
        k += active[t] = is_active(t, at);
    int sleeper = 0;
    const uint32_t asleep = k ? 0 : expect_sleeper(at, &sleeper);
    for (int d = 0; d <= DEVICES; d++) {
        expected[d].recorded++;
        expected[d].idle += !busy[d];
        expected[d].nobody += !busy[d] && !k && !asleep;
        expected[d].working[sleeper][asleep] += !busy[d] && asleep;
        expected[d].whole[sleeper][asleep] += !busy[d] && asleep;
        expected[d].source[SONDE_BLAME_EXACT] += !busy[d] && asleep;
    }
    for (int t = 0; t < THREADS; t++) {
        enum sonde_blame_source source;
        uint32_t pool;
        bool waiting;
        if (!active[t])
            continue;
        const uint32_t path = context(t, at, &source, &waiting, &pool);
        for (int d = 0; d <= DEVICES; d++) {
            if (busy[d])
                continue;
            if (pool) {
                expect_pooled(d, &pools[pool], 1.0 / k);
                continue;
            }
            (waiting ? expected[d].waiting : expected[d].working)[t][path] += 1.0 / k;
            expected[d].whole[t][path] += 1;
            expected[d].source[source] += 1.0 / k;
        }
    }
}

/* Sums by name: paths of one name (all that wait have the same) count together. */
static void check_scope(const struct result *r, const struct sonde_blame_scope *scope, const struct expected *e)
{
    double waiting = 0, working = 0;
    equal(scope->range_ns, e->recorded);
    equal(scope->idle_ns, e->idle);
    equal(scope->longest_ns, e->longest);
    assert_int_equal(scope->intervals, e->intervals);
    equal(scope->nobody_ns, e->nobody);
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        equal(scope->source_ns[i], e->source[i]);
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 1; i <= PATHS; i++) {
            waiting += P.paths[t][i].waits ? e->waiting[t][i] : 0;
            working += P.paths[t][i].waits ? e->working[t][i] : 0;
            if (P.paths[t][i].waits)
                continue;
            equal(of(r, scope, P.paths[t][i].name, true), e->waiting[t][i]);
            equal(of(r, scope, P.paths[t][i].name, false), e->working[t][i]);
            equal(whole_of(r, scope, P.paths[t][i].name), e->whole[t][i]);
        }
    equal(of(r, scope, "clFinish", true), waiting);
    equal(of(r, scope, "clFinish", false), working);
}

static void check_same(const struct sonde_blame *a, const struct sonde_blame *b)
{
    assert_int_equal(a->scopes.count, b->scopes.count);
    for (size_t i = 0; i < a->scopes.count; i++) {
        const struct sonde_blame_scope *x = &a->scopes.items[i], *y = &b->scopes.items[i];
        assert_int_equal(x->intervals, y->intervals);
        assert_true(x->longest_ns == y->longest_ns && x->nobody_ns == y->nobody_ns);
        assert_int_equal(x->entries.count, y->entries.count);
        assert_memory_equal(x->entries.items, y->entries.items, x->entries.count * sizeof *x->entries.items);
    }
}

static void expect(uint64_t from, uint64_t to)
{
    memset(expected, 0, sizeof expected);
    for (uint64_t at = from; at < to; at++)
        expect_instant(at);
}

/* Of a process; scopes[0], the sum over all, where it is the only one. */
static void check_process(const struct result *r, uint32_t process)
{
    for (uint32_t d = 0; d <= DEVICES; d++)
        check_scope(r, sonde_blame_find(&r->blame, process, d ? d : SONDE_BLAME_ALL), &expected[d]);
    if (r->m->process_count == 1)
        check_scope(r, &r->blame.scopes.items[0], &expected[0]);
}

/* Makes P, and its pools, too. */
static struct sonde_measurement *random_program(int round)
{
    struct scene *s = scene_create();
    memset(&P, 0, sizeof P);
    P.rule = (enum sonde_blame_rule)(round % SONDE_BLAME_RULES);
    P.sleepy = round >= 18;
    scene_header(s)->stop_ns = END;
    scene_header(s)->cpu_rate_hz = P.rule == SONDE_BLAME_BY_CALLS ? 0 : 1000000000 / PERIOD;
    scene_header(s)->cpu_switches = P.rule == SONDE_BLAME_BY_SWITCHES;
    make_program(s);
    if (round / SONDE_BLAME_RULES % 2)
        make_list(&P.pauses, 100, 150, 60);
    for (uint32_t i = 0; i < P.pauses.count; i++)
        pause_at(s, P.pauses.items[i].from, P.pauses.items[i].to);
    make_pools();
    return scene_open(s);
}

static void random_programs(void **state)
{
    (void)state;
    for (int round = 0; round < 36; round++) {
        struct result r = compute(random_program(round), 1, 0);
        expect(0, END);
        assert_int_equal(r.blame.scopes.count, 2 + DEVICES);
        check_process(&r, 0);
        static const struct {
            uint32_t threads;
            uint64_t rows;
        } cuts[] = {{1, 500}, {1, 20}, {3, 500}, {4, 50}, {7, 5}, {2, 1}};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) { /* to the last bit */
            const struct sonde_blame_options options = {.threads = cuts[i].threads, .window_rows = cuts[i].rows};
            struct sonde_blame other = {0};
            assert_int_equal(sonde_blame_compute(r.m, r.profile, &options, &other), 0);
            check_same(&r.blame, &other);
            sonde_blame_fini(&other);
        }
        finish(&r);
    }
}

/* ---- ranges ---- */

enum { PIECES = 4 };

static struct result in_range(const struct result *whole, struct sonde_blame_basis *basis, uint64_t from, uint64_t to)
{
    struct result r = {.m = whole->m, .profile = whole->profile};
    const struct sonde_blame_options options = {
        .from_ns = from,
        .to_ns = to,
        .basis = basis,
        .threads = 1 + (uint32_t)noise(4),
        .window_rows = 1 + noise(300),
    };
    assert_int_equal(sonde_blame_compute(r.m, r.profile, &options, &r.blame), 0);
    return r;
}

static void add_scope(struct sonde_blame_scope *sum, double *nodes, const struct sonde_blame_scope *more)
{
    sum->range_ns += more->range_ns;
    sum->paused_ns += more->paused_ns;
    sum->idle_ns += more->idle_ns;
    sum->nobody_ns += more->nobody_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += more->source_ns[i];
    for (size_t i = 0; i < more->entries.count; i++) {
        double *node = nodes + 3 * more->entries.items[i].node;
        node[0] += more->entries.items[i].waiting_ns;
        node[1] += more->entries.items[i].working_ns;
        node[2] += more->entries.items[i].whole_ns;
    }
}

/* Context by context the pieces add up to the whole, pooled time included: of the first `scopes`, which are in all of them. */
static void check_sum(const struct result *whole, const struct result *pieces, size_t scopes)
{
    for (size_t k = 0; k < scopes; k++) {
        const struct sonde_blame_scope *all = &whole->blame.scopes.items[k];
        struct sonde_blame_scope sum = {0};
        double *nodes = calloc(3 * whole->profile->nodes.count, sizeof *nodes);
        for (int i = 0; i < PIECES; i++)
            add_scope(&sum, nodes, &pieces[i].blame.scopes.items[k]);
        equal(sum.range_ns, all->range_ns);
        equal(sum.paused_ns, all->paused_ns);
        equal(sum.idle_ns, all->idle_ns);
        equal(sum.nobody_ns, all->nobody_ns);
        for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
            equal(sum.source_ns[i], all->source_ns[i]);
        for (size_t i = 0; i < all->entries.count; i++) {
            const struct sonde_blame_entry *entry = &all->entries.items[i];
            equal(nodes[3 * entry->node], entry->waiting_ns);
            equal(nodes[3 * entry->node + 1], entry->working_ns);
            equal(nodes[3 * entry->node + 2], entry->whole_ns);
            memset(nodes + 3 * entry->node, 0, 3 * sizeof *nodes);
        }
        for (size_t i = 0; i < 3 * whole->profile->nodes.count; i++)
            equal(nodes[i], 0);
        free(nodes);
    }
}

static int by_time(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* 0, PIECES - 1 places between, and `end`. */
static void cut_at_random(uint64_t end, uint64_t *cuts)
{
    cuts[0] = 0, cuts[PIECES] = end;
    for (int i = 1; i < PIECES; i++)
        cuts[i] = 1 + noise(end - 1);
    qsort(cuts, PIECES + 1, sizeof *cuts, by_time);
    for (int i = 1; i <= PIECES; i++) /* none is empty */
        cuts[i] += cuts[i] <= cuts[i - 1] ? cuts[i - 1] + 1 - cuts[i] : 0;
    cuts[PIECES] = end > cuts[PIECES - 1] ? end : cuts[PIECES - 1] + 1;
}

/* A basis is kept, and made by a range or by the whole run; or each range has its own. */
static void random_ranges(void **state)
{
    (void)state;
    for (int round = 0; round < 36; round++) {
        struct result whole = compute(random_program(round), 1, 0), pieces[PIECES];
        struct sonde_blame_basis *basis = round % 4 ? sonde_blame_basis_create(whole.m, whole.profile) : NULL;
        uint64_t cuts[PIECES + 1];
        cut_at_random(END, cuts);
        for (int i = 0; i < PIECES; i++) {
            if (basis && i == round % 3) {
                struct result again = in_range(&whole, basis, 0, noise(2) ? 0 : END);
                check_same(&whole.blame, &again.blame);
                sonde_blame_fini(&again.blame);
            }
            pieces[i] = in_range(&whole, basis, cuts[i], cuts[i + 1]);
            expect(cuts[i], cuts[i + 1]);
            check_process(&pieces[i], 0);
        }
        check_sum(&whole, pieces, whole.blame.scopes.count);
        for (int i = 0; i < PIECES; i++)
            sonde_blame_fini(&pieces[i].blame);
        sonde_blame_basis_destroy(basis);
        finish(&whole);
    }
}

/* Two processes with clocks of their own: the run begins when the first does, 5000 on the wall clock, the other LATER. */
static void ranges_of_two_processes(void **state)
{
    enum { LATER = 7000 };
    static struct program programs[2];
    (void)state;
    for (int round = 0; round < 12; round++) {
        struct sonde_measurement *both[2], m;
        struct sonde_process processes[2];
        for (int i = 0; i < 2; i++) {
            both[i] = random_program(round * 3 + i);
            programs[i] = P;
            processes[i] = both[i]->processes[0];
            processes[i].header.wall_offset_ns = 5000 + (uint64_t)i * LATER;
        }
        m = *both[0];
        m.processes = processes;
        m.process_count = 2;
        struct result whole = {.m = &m}, pieces[PIECES];
        uint64_t cuts[PIECES + 1];
        assert_int_equal(sonde_profile_build(&m, &whole.profile, NULL), 0);
        struct sonde_blame_basis *basis = sonde_blame_basis_create(&m, whole.profile);
        whole.blame = in_range(&whole, NULL, 0, 0).blame;
        cut_at_random(END + LATER, cuts);
        for (int i = 0; i < PIECES; i++)
            pieces[i] = in_range(&whole, basis, cuts[i], cuts[i + 1]);
        for (int k = 0; k < 2; k++) {
            const uint64_t begin = (uint64_t)k * LATER;
            P = programs[k];
            make_pools();
            for (int i = 0; i < PIECES; i++) {
                const uint64_t from = cuts[i] > begin ? cuts[i] - begin : 0, to = cuts[i + 1] > begin ? cuts[i + 1] - begin : 0;
                const bool there = from < to && from < END;
                assert_true(there == (sonde_blame_find(&pieces[i].blame, (uint32_t)k, SONDE_BLAME_ALL) != NULL));
                expect(from, there ? (to < END ? to : END) : from);
                if (there)
                    check_process(&pieces[i], (uint32_t)k);
            }
        }
        check_sum(&whole, pieces, 1);
        for (int i = 0; i < PIECES; i++)
            sonde_blame_fini(&pieces[i].blame);
        sonde_blame_basis_destroy(basis);
        sonde_blame_fini(&whole.blame);
        sonde_profile_destroy(whole.profile);
        for (int i = 0; i < 2; i++)
            sonde_measurement_close(both[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(random_ranges),
        cmocka_unit_test(ranges_of_two_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
