/* clocks.c - see clocks.h. */
#include "clocks.h"

#include <math.h>
#include <stdlib.h>

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
    double drift, shift, margin; /* shift at first_ns; margin < 0: they contradict each other, or one side has no bound */
};

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

static void add(struct sonde__clock_pair *p, uint64_t at_ns, const struct place *bound)
{
    if (!p->width_ns) {
        p->width_ns = 1 << 20;
        p->first_ns = at_ns;
    }
    /* What is told earlier in time than the first may come later: it counts in the first place. */
    const uint64_t since_ns = at_ns > p->first_ns ? at_ns - p->first_ns : 0;
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

static double since(const struct sonde__clock_pair *p, uint64_t at_ns)
{
    return (double)(int64_t)(at_ns - p->first_ns);
}

/* Half of what lies between the bounds where the difference drifts so; *shift is in the middle, beside `base`. */
static double margin_of(const struct sonde__clock_pair *p, double drift, int64_t base, double *shift)
{
    double most = INFINITY, least = -INFINITY;
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place *at = &p->places[i];
        if (at->most != INT64_MAX)
            most = fmin(most, (double)(at->most - base) - drift * since(p, at->most_ns));
        if (at->least != INT64_MIN)
            least = fmax(least, (double)(at->least - base) - drift * since(p, at->least_ns));
    }
    *shift = (most + least) / 2;
    return isfinite(most) && isfinite(least) ? (most - least) / 2 : -1;
}

/* The margin is concave in the drift: the smallest of what falls less the largest of what does. */
static double best_drift(const struct sonde__clock_pair *p, int64_t base)
{
    double low = -DRIFT_MOST, high = DRIFT_MOST, shift;
    for (int i = 0; i < 100; i++) {
        const double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (margin_of(p, left, base, &shift) < margin_of(p, right, base, &shift))
            low = left;
        else
            high = right;
    }
    return (low + high) / 2;
}

/* Beside `base`, so that the numbers are small: hosts' clocks may be years apart. */
static void find_line(struct sonde__clock_pair *p, int64_t *base)
{
    bool most = false, least = false;
    *base = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        most |= p->places[i].most != INT64_MAX;
        least |= p->places[i].least != INT64_MIN;
        if (p->places[i].most != INT64_MAX)
            *base = p->places[i].most;
    }
    p->margin = -1;
    if (!most || !least)
        return;
    p->drift = 0;
    p->margin = margin_of(p, 0, *base, &p->shift);
    if (p->margin >= 0)
        return;
    p->drift = best_drift(p, *base);
    p->margin = margin_of(p, p->drift, *base, &p->shift);
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

/* `host` is told by the other one of the pair. */
static void attach(struct sonde__clocks *c, uint32_t host, const struct sonde__clock_pair *p, int64_t base)
{
    const bool low = p->low == host; /* what is added to `low` gives `high` */
    const int64_t shift_ns = base + (int64_t)llround(p->shift);
    struct sonde__clock *clock = &c->hosts.items[host];
    clock->known = true;
    clock->parent = low ? p->high : p->low;
    clock->bound_ns = (uint64_t)p->margin + 1 + c->hosts.items[clock->parent].bound_ns;
    clock->shift_ns = low ? shift_ns : -shift_ns;
    clock->drift = low ? p->drift : 1 / (1 + p->drift) - 1;
    clock->at_ns = low ? p->first_ns : p->first_ns + (uint64_t)shift_ns;
}

int sonde__clocks_align(struct sonde__clocks *c)
{
    int64_t *bases = malloc((c->pairs.count + 1) * sizeof *bases);
    int rc = bases ? make_hosts(c) : SONDE_ENOMEM;
    for (size_t i = 0; i < c->pairs.count && !rc; i++)
        find_line(c->pairs.items[i], &bases[i]);
    if (!rc && c->pairs.count)
        c->hosts.items[c->pairs.items[0]->low].known = true;
    for (size_t added = 1; added && !rc;) { /* the tightest first, from those that are known on */
        const struct sonde__clock_pair *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i < c->pairs.count; i++) {
            const struct sonde__clock_pair *p = c->pairs.items[i];
            const bool grows = c->hosts.items[p->low].known != c->hosts.items[p->high].known;
            if (grows && p->margin >= 0 && (!best || p->margin < best->margin)) {
                best = p;
                at = i;
            }
        }
        added = best != NULL;
        if (best)
            attach(c, c->hosts.items[best->low].known ? best->high : best->low, best, bases[at]);
    }
    free(bases);
    return rc;
}

bool sonde__clocks_agree(const struct sonde__clocks *c, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    return a < c->hosts.count && b < c->hosts.count && c->hosts.items[a].known && c->hosts.items[b].known;
}

static uint64_t up(const struct sonde__clock *clock, uint64_t ns)
{
    return ns + (uint64_t)clock->shift_ns + (uint64_t)llround(clock->drift * (double)(int64_t)(ns - clock->at_ns));
}

static uint64_t down(const struct sonde__clock *clock, uint64_t ns)
{
    const int64_t since_ns = (int64_t)(ns - (uint64_t)clock->shift_ns - clock->at_ns);
    return clock->at_ns + (uint64_t)since_ns - (uint64_t)llround((double)since_ns * clock->drift / (1 + clock->drift));
}

static uint64_t to_root(const struct sonde__clocks *c, uint32_t host, uint64_t ns)
{
    for (; c->hosts.items[host].parent; host = c->hosts.items[host].parent)
        ns = up(&c->hosts.items[host], ns);
    return ns;
}

static uint64_t from_root(const struct sonde__clocks *c, uint32_t host, uint64_t ns)
{
    if (!c->hosts.items[host].parent)
        return ns;
    return down(&c->hosts.items[host], from_root(c, c->hosts.items[host].parent, ns));
}

uint64_t sonde__clocks_move(const struct sonde__clocks *c, uint32_t from, uint64_t ns, uint32_t to)
{
    return from == to ? ns : from_root(c, to, to_root(c, from, ns));
}

uint64_t sonde__clocks_bound(const struct sonde__clocks *c)
{
    uint64_t bound_ns = 0;
    for (size_t i = 0; i < c->hosts.count; i++)
        bound_ns = c->hosts.items[i].bound_ns > bound_ns ? c->hosts.items[i].bound_ns : bound_ns;
    return bound_ns;
}

void sonde__clocks_fini(struct sonde__clocks *c)
{
    for (size_t i = 0; i < c->pairs.count; i++)
        free(c->pairs.items[i]);
    sonde_vector_fini(&c->pairs);
    sonde_vector_fini(&c->hosts);
    sonde_map_fini(&c->by_hosts);
}
