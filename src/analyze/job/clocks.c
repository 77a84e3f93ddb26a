/* clocks.c - see clocks.h. */
#include "clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"

enum { PLACES = 512 };           /* in time, of each pair: of what falls into one, the tightest bounds are kept */
#define DRIFT_MOST 1e-3          /* crystals do a tenth of that */

struct sonde__clock_pair {       /* how much must be added to a time of `low` to have one of `high`, low < high */
    uint32_t low, high;
    uint64_t width_ns;           /* of a place; 0: nothing is told yet */
    uint64_t first_ns;           /* time of `low` at which the first place begins */
    struct place {
        int64_t most, least;     /* INT64_MAX, INT64_MIN: no such bound */
        uint64_t most_ns, least_ns; /* when, by `low` */
    } places[PLACES];
    bool known;                  /* false: the bounds contradict each other, or one side has none */
    bool contradicts;
    uint64_t at_ns, last_ns;     /* first time of `low` that is bound, at which this must be added, and the last: */
    int64_t shift_ns;
    double drift, bound_ns, unsure;
};

uint32_t sonde__clocks_host(struct sonde__clocks *c, const char *process_name)
{
    return sonde_intern_bytes(&c->names, process_name, sonde_host_length(process_name));
}

/* ---- bounds -------------------------------------------------------------------------------- */

static const struct place nothing = {.most = INT64_MAX, .least = INT64_MIN};

static void tighten(struct place *to, const struct place *from)
{
    if (from->most < to->most) {
        to->most = from->most;
        to->most_ns = from->most_ns;
    }
    if (from->least > to->least) {
        to->least = from->least;
        to->least_ns = from->least_ns;
    }
}

/* Each two places become one. */
static void widen(struct sonde__clock_pair *p)
{
    for (uint32_t i = 0; i < PLACES / 2; i++) {
        struct place both = p->places[2 * i];
        tighten(&both, &p->places[2 * i + 1]);
        p->places[i] = both;
    }
    for (uint32_t i = PLACES / 2; i < PLACES; i++)
        p->places[i] = nothing;
    p->width_ns *= 2;
}

static uint32_t places_used(const struct sonde__clock_pair *p)
{
    uint32_t used = PLACES;
    while (used && p->places[used - 1].most == INT64_MAX && p->places[used - 1].least == INT64_MIN)
        used--;
    return used;
}

/* Room for a time before the first place. */
static void reach_back(struct sonde__clock_pair *p, uint64_t at_ns)
{
    const uint64_t before_ns = p->first_ns - at_ns;
    while (places_used(p) + before_ns / p->width_ns + 1 > PLACES)
        widen(p);
    const uint32_t ahead = (uint32_t)(before_ns / p->width_ns) + 1;
    memmove(p->places + ahead, p->places, (PLACES - ahead) * sizeof *p->places);
    for (uint32_t i = 0; i < ahead; i++)
        p->places[i] = nothing;
    const uint64_t moved_ns = ahead * p->width_ns;
    p->first_ns = p->first_ns > moved_ns ? p->first_ns - moved_ns : 0;
}

/* Exchanges are told one way after the other, not in the order of time. */
static void add(struct sonde__clock_pair *p, uint64_t at_ns, const struct place *bound)
{
    if (!p->width_ns) {
        p->width_ns = 1 << 20;
        p->first_ns = at_ns;
    }
    if (at_ns < p->first_ns)
        reach_back(p, at_ns);
    const uint64_t since_ns = at_ns - p->first_ns;
    while (since_ns / p->width_ns >= PLACES)
        widen(p);
    tighten(&p->places[since_ns / p->width_ns], bound);
}

static struct sonde__clock_pair *pair_of(struct sonde__clocks *c, uint32_t low, uint32_t high)
{
    const uint64_t key = (uint64_t)low << 32 | high;
    uint64_t at;
    if (sonde_map_get(&c->by_hosts, key, &at))
        return c->pairs.items[at - 1];
    struct sonde__clock_pair *p = calloc(1, sizeof *p);
    if (!p || sonde_vector_push(&c->pairs, p)) {
        free(p);
        return NULL;
    }
    p->low = low;
    p->high = high;
    for (uint32_t i = 0; i < PLACES; i++)
        p->places[i] = nothing;
    return sonde_map_put(&c->by_hosts, key, c->pairs.count) ? NULL : p;
}

int sonde__clocks_before(struct sonde__clocks *c, uint32_t from, uint64_t from_ns, uint32_t to, uint64_t to_ns)
{
    const bool rises = from < to; /* from_ns + shift <= to_ns, else to_ns + shift >= from_ns */
    struct sonde__clock_pair *p = pair_of(c, rises ? from : to, rises ? to : from);
    struct place bound = nothing;
    if (!p)
        return SONDE_ENOMEM;
    if (rises) {
        bound.most = (int64_t)(to_ns - from_ns);
        bound.most_ns = from_ns;
    } else {
        bound.least = (int64_t)(from_ns - to_ns);
        bound.least_ns = to_ns;
    }
    add(p, rises ? from_ns : to_ns, &bound);
    return 0;
}

/* ---- a line between them ----------------------------------------------------------------------------- */

/* The lines of one drift that lie between the bounds are those that are at at_ns from `least` to `most`, beside `base`; least > most: there is none. */
struct reach { double least, most; };

struct lines {
    const struct sonde__clock_pair *p;
    int64_t base;                /* so that the numbers are small: hosts' clocks may be years apart */
    uint64_t at_ns;
};

static double since(const struct lines *l, uint64_t ns)
{
    return (double)(int64_t)(ns - l->at_ns);
}

static struct reach reach_of(const struct lines *l, double drift)
{
    struct reach r = {-INFINITY, INFINITY};
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place *place = &l->p->places[i];
        if (place->most != INT64_MAX) {
            const double most = (double)(place->most - l->base) - drift * since(l, place->most_ns);
            r.most = most < r.most ? most : r.most; /* fmin() is a call */
        }
        if (place->least != INT64_MIN) {
            const double least = (double)(place->least - l->base) - drift * since(l, place->least_ns);
            r.least = least > r.least ? least : r.least;
        }
    }
    return r;
}

/* Of functions of the drift that rise to one peak. */
typedef double peaked(const struct lines *l, double drift);

static double width(const struct lines *l, double drift)
{
    const struct reach r = reach_of(l, drift);
    return r.most - r.least;
}

static double highest(const struct lines *l, double drift)
{
    return reach_of(l, drift).most;
}

static double lowest(const struct lines *l, double drift)
{
    return -reach_of(l, drift).least;
}

static double peak_of(const struct lines *l, peaked *of, double low, double high)
{
    for (int i = 0; i < 64; i++) {
        const double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (of(l, left) < of(l, right))
            low = left;
        else
            high = right;
    }
    return (low + high) / 2;
}

/* From a drift that has lines towards one that may have none: the last that has. */
static double edge_of(const struct lines *l, double has, double other)
{
    if (width(l, other) >= 0)
        return other;
    for (int i = 0; i < 64; i++) {
        const double middle = (has + other) / 2;
        if (width(l, middle) >= 0)
            has = middle;
        else
            other = middle;
    }
    return has;
}

/* What all lines between the bounds reach at a time. False: there is none. */
static bool reach_at(struct lines *l, uint64_t at_ns, struct reach *out)
{
    l->at_ns = at_ns;
    const double best = peak_of(l, width, -DRIFT_MOST, DRIFT_MOST);
    if (!(width(l, best) >= 0))
        return false;
    const double low = edge_of(l, best, -DRIFT_MOST), high = edge_of(l, best, DRIFT_MOST);
    out->most = highest(l, peak_of(l, highest, low, high));
    out->least = -lowest(l, peak_of(l, lowest, low, high));
    return true;
}

/* When the first and the last bound are. False: one side has none. */
static bool ends_of(struct lines *l, uint64_t *first_ns, uint64_t *last_ns)
{
    bool most = false, least = false;
    *first_ns = UINT64_MAX;
    *last_ns = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place *place = &l->p->places[i];
        const bool has[] = {place->most != INT64_MAX, place->least != INT64_MIN};
        const uint64_t at_ns[] = {place->most_ns, place->least_ns};
        for (int side = 0; side < 2; side++) {
            *first_ns = has[side] && at_ns[side] < *first_ns ? at_ns[side] : *first_ns;
            *last_ns = has[side] && at_ns[side] > *last_ns ? at_ns[side] : *last_ns;
        }
        l->base = has[0] ? place->most : l->base;
        most |= has[0];
        least |= has[1];
    }
    return most && least;
}

static void find_line(struct sonde__clock_pair *p)
{
    struct lines l = {.p = p};
    struct reach first, last;
    if (!ends_of(&l, &p->at_ns, &p->last_ns))
        return;
    p->contradicts = !reach_at(&l, p->at_ns, &first) || !reach_at(&l, p->last_ns, &last);
    if (p->contradicts)
        return;
    const double begin = (first.most + first.least) / 2, end = (last.most + last.least) / 2;
    p->known = true;
    p->shift_ns = l.base + (int64_t)llround(begin);
    const double first_ns = (first.most - first.least) / 2, last_ns = (last.most - last.least) / 2, between_ns = (double)(p->last_ns - p->at_ns);
    p->drift = between_ns > 0 ? (end - begin) / between_ns : 0;
    p->bound_ns = fmax(first_ns, last_ns);
    p->unsure = between_ns > 0 ? fmin((first_ns + last_ns) / between_ns, DRIFT_MOST) : DRIFT_MOST;
}

/* ---- all hosts ----------------------------------------------------------------------------------------- */

static int make_hosts(struct sonde__clocks *c)
{
    uint32_t most = 0;
    for (size_t i = 0; i < c->pairs.count; i++)
        most = c->pairs.items[i]->high > most ? c->pairs.items[i]->high : most;
    int rc = 0;
    while (c->hosts.count <= most && !rc)
        rc = sonde_vector_push(&c->hosts, (struct sonde__clock){0});
    return rc;
}

static uint64_t up(const struct sonde__clock *clock, uint64_t ns)
{
    return ns + (uint64_t)clock->shift_ns + (uint64_t)llround(clock->drift * (double)(int64_t)(ns - clock->at_ns));
}

static uint64_t to_root(const struct sonde__clocks *c, uint32_t host, uint64_t ns)
{
    const struct sonde__clock *clock = &c->hosts.items[host];
    const int64_t since_ns = (int64_t)(ns - clock->at_ns);
    return clock->parent ? clock->root_ns + (uint64_t)since_ns + (uint64_t)llround(clock->root_drift * (double)since_ns) : ns;
}

/* `host` is told by the other one of the pair. */
static void attach(struct sonde__clocks *c, uint32_t host, const struct sonde__clock_pair *p)
{
    const bool low = p->low == host; /* what is added to `low` gives `high` */
    struct sonde__clock *clock = &c->hosts.items[host];
    clock->known = true;
    clock->parent = low ? p->high : p->low;
    clock->bound_ns = (uint64_t)p->bound_ns + 1 + c->hosts.items[clock->parent].bound_ns;
    clock->shift_ns = low ? p->shift_ns : -p->shift_ns;
    clock->drift = low ? p->drift : 1 / (1 + p->drift) - 1;
    clock->at_ns = low ? p->at_ns : p->at_ns + (uint64_t)p->shift_ns;
    clock->last_ns = clock->at_ns + (p->last_ns - p->at_ns);
    clock->unsure = p->unsure;
    clock->root_ns = to_root(c, clock->parent, up(clock, clock->at_ns));
    clock->root_drift = (1 + clock->drift) * (1 + c->hosts.items[clock->parent].root_drift) - 1;
}

/* Of the pairs of which one host is known (at first: of all) the one by which the other's clock is known best, by way of all that lie between it and the
 * root: the shortest way to each host (Dijkstra). The pairs known best alone would make long ways of many hosts, one beside the other. */
static const struct sonde__clock_pair *best_pair(const struct sonde__clocks *c)
{
    const struct sonde__clock_pair *best = NULL;
    double best_ns = 0;
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct sonde__clock_pair *p = c->pairs.items[i];
        const struct sonde__clock *low = &c->hosts.items[p->low], *high = &c->hosts.items[p->high];
        const double bound_ns = p->bound_ns + (double)(low->known ? low->bound_ns : high->bound_ns);
        if (p->known && (!c->root || low->known != high->known) && (!best || bound_ns < best_ns)) {
            best = p;
            best_ns = bound_ns;
        }
    }
    return best;
}

int sonde__clocks_align(struct sonde__clocks *c)
{
    if (make_hosts(c))
        return SONDE_ENOMEM;
    for (size_t i = 0; i < c->pairs.count; i++)
        find_line(c->pairs.items[i]);
    for (const struct sonde__clock_pair *best; (best = best_pair(c));) {
        c->root = c->root ? c->root : best->low;
        c->hosts.items[c->root].known = true;
        attach(c, c->hosts.items[best->low].known ? best->high : best->low, best);
    }
    return 0;
}

bool sonde__clocks_contradict(const struct sonde__clocks *c, const char **one, const char **other)
{
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct sonde__clock_pair *p = c->pairs.items[i];
        if (!p->contradicts)
            continue;
        *one = sonde_intern_get(&c->names, p->low);
        *other = sonde_intern_get(&c->names, p->high);
        return true;
    }
    return false;
}

uint32_t sonde__clocks_reference(const struct sonde__clocks *c)
{
    return c->root ? c->root : 1;
}

bool sonde__clocks_agree(const struct sonde__clocks *c, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    return a < c->hosts.count && b < c->hosts.count && c->hosts.items[a].known && c->hosts.items[b].known;
}

static uint64_t from_root(const struct sonde__clocks *c, uint32_t host, uint64_t ns)
{
    const struct sonde__clock *clock = &c->hosts.items[host];
    const int64_t since_ns = (int64_t)(ns - clock->root_ns);
    return clock->parent ? clock->at_ns + (uint64_t)since_ns - (uint64_t)llround((double)since_ns * clock->root_drift / (1 + clock->root_drift)) : ns;
}

uint64_t sonde__clocks_move(const struct sonde__clocks *c, uint32_t from, uint64_t ns, uint32_t to)
{
    return from == to ? ns : from_root(c, to, to_root(c, from, ns));
}

uint64_t sonde__clocks_unsure(const struct sonde__clocks *c, uint32_t host, uint64_t ns)
{
    double sum_ns = 0;
    for (; host < c->hosts.count && c->hosts.items[host].parent; host = c->hosts.items[host].parent) {
        const struct sonde__clock *clock = &c->hosts.items[host];
        const uint64_t outside_ns = ns < clock->at_ns ? clock->at_ns - ns : ns > clock->last_ns ? ns - clock->last_ns
                                                                                                : 0;
        sum_ns += clock->unsure * (double)outside_ns;
        ns = up(clock, ns);
    }
    return (uint64_t)sum_ns;
}

/* By way of the host that all others are told by. */
uint64_t sonde__clocks_bound(const struct sonde__clocks *c)
{
    uint64_t most_ns = 0, second_ns = 0;
    for (size_t i = 0; i < c->hosts.count; i++) {
        const uint64_t bound_ns = c->hosts.items[i].bound_ns;
        second_ns = bound_ns > most_ns ? most_ns : bound_ns > second_ns ? bound_ns
                                                                        : second_ns;
        most_ns = bound_ns > most_ns ? bound_ns : most_ns;
    }
    return most_ns + second_ns;
}

void sonde__clocks_fini(struct sonde__clocks *c)
{
    for (size_t i = 0; i < c->pairs.count; i++)
        free(c->pairs.items[i]);
    sonde_vector_fini(&c->pairs);
    sonde_vector_fini(&c->hosts);
    sonde_map_fini(&c->by_hosts);
    sonde_intern_fini(&c->names);
}
