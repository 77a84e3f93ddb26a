/* ranks.c - see ranks.h. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/api.h"
#include "analyze/model/rank.h"
#include "base/map.h"
#include "base/text.h"

#define FAR          4.0    /* deviations of a straggler from the median, of those that hold for normal noise (1.4826 MAD), */
#define FAR_PART     0.05   /* and so much of the median, */
#define FAR_OF_RUN   0.01   /* and of the longest rank's time */
#define ALIKE        0.05   /* ranks of one group differ in no more of their device time */
#define ALIKE_MOST   256u   /* contexts that groups are told by */
#define MISSING_MOST 65536u

/* The time of one context in one rank. */
struct entry {
    uint32_t node, kind, rank; /* rank: index */
    double ns, of[SONDE_RANK_FIGURES];
};
typedef SONDE_VECTOR(struct entry) entries;

struct making {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_job *job;
    entries entries;            /* by kind, node, rank, once sorted */
    struct sonde_intern names;
    struct sonde_map routines;  /* by name and file: one node that stands for all of a routine's */
    SONDE_VECTOR(size_t) first; /* [context]: of its entries; as many as `ranks` of it */
    double *scratch;            /* [rank] */
};

/* ---- ranks --------------------------------------------------------------------------------------- */

static int by_rank(const void *left, const void *right)
{
    const struct sonde_rank_of_job *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static uint64_t wall_ns(const struct sonde_live_header *h)
{
    return h->stop_ns > h->start_ns ? h->stop_ns - h->start_ns : 0;
}

/* Totals that the header has; the profile's come with its rows. */
static void add_header(struct sonde_rank_of_job *r, const struct sonde_process *p)
{
    const struct sonde_live_header *h = &p->header;
    r->of[SONDE_RANK_WALL] = wall_ns(h) > r->of[SONDE_RANK_WALL] ? wall_ns(h) : r->of[SONDE_RANK_WALL];
    for (uint32_t i = 0; i < sizeof h->device_busy / sizeof *h->device_busy; i++) {
        r->of[SONDE_RANK_BUSY] += h->device_busy[i].busy_ns;
        r->of[SONDE_RANK_KERNELS] += h->device_group[i].kernel_ns;
        r->of[SONDE_RANK_COPIES] += h->device_group[i].copy_ns;
    }
    r->of[SONDE_RANK_OPERATIONS] += h->ledger.done;
    r->of[SONDE_RANK_CPU] += h->cpu.process_ns;
}

static bool same_host(const struct sonde_process *a, const struct sonde_process *b)
{
    const size_t length = sonde_host_length(a->name);
    return length == sonde_host_length(b->name) && strncmp(a->name, b->name, length) == 0;
}

/* A child of a rank's process has the job's name from it, so that two names are two jobs. */
static void compare_jobs(struct sonde_rank_of_job *r, const struct sonde_process *p)
{
    const struct sonde_rows *rows = &p->tables[SONDE_TABLE_JOB];
    const char *name = rows->count ? sonde_process_string(p, ((const struct sonde_row_job *)rows->rows)->name) : "";
    if (!*name)
        return;
    r->job = r->job ? r->job : name;
    if (!r->other_job && strcmp(r->job, name) != 0)
        r->other_job = name;
    r->twice |= r->other_job != NULL;
}

static int find_ranks(struct making *k)
{
    uint64_t first_ns = UINT64_MAX;
    struct sonde_job *job = k->job;
    for (uint32_t i = 0; i < k->m->process_count; i++) {
        const struct sonde_live_header *h = &k->m->processes[i].header;
        if (!h->rank) {
            job->outside++;
            continue;
        }
        job->other_size = job->size && h->rank_count && h->rank_count != job->size ? h->rank_count : job->other_size;
        job->size = job->size ? job->size : h->rank_count;
        first_ns = h->start_ns + h->wall_offset_ns < first_ns ? h->start_ns + h->wall_offset_ns : first_ns;
        if (sonde_vector_push(&job->ranks, (struct sonde_rank_of_job){.rank = h->rank - 1, .process = i, .processes = 1}))
            return SONDE_ENOMEM;
    }
    if (job->ranks.count)
        qsort(job->ranks.items, job->ranks.count, sizeof *job->ranks.items, by_rank);
    size_t kept = 0;
    for (size_t i = 0; i < job->ranks.count; i++) {
        const struct sonde_rank_of_job one = job->ranks.items[i];
        const struct sonde_process *p = &k->m->processes[one.process];
        struct sonde_rank_of_job *last = kept ? &job->ranks.items[kept - 1] : NULL;
        if (last && last->rank == one.rank) {
            last->processes++;
            last->twice |= !same_host(&k->m->processes[last->process], p);
        } else {
            last = &job->ranks.items[kept++];
            *last = one;
            last->begin_ns = p->header.start_ns + p->header.wall_offset_ns - first_ns;
        }
        compare_jobs(last, p);
        add_header(last, p);
    }
    job->ranks.count = kept;
    return 0;
}

static int find_missing(struct sonde_job *job)
{
    size_t at = 0;
    for (uint32_t rank = 0; rank < job->size && rank < MISSING_MOST; rank++) {
        while (at < job->ranks.count && job->ranks.items[at].rank < rank)
            at++;
        if ((at == job->ranks.count || job->ranks.items[at].rank != rank) && sonde_vector_push(&job->missing, rank))
            return SONDE_ENOMEM;
    }
    return 0;
}

/* String id of the build id of the process's own program; 0: it has none, or its module was not recorded. */
static uint32_t program_build(const struct sonde_process *p)
{
    const char *path = p->header.executable;
    const size_t length = strnlen(path, sizeof p->header.executable);
    for (uint32_t i = 0; length && i < p->module_count; i++) {
        const struct sonde_row_module *m = &p->modules[i];
        const bool same = m->path < p->string_count && p->strings[m->path].length == length && memcmp(p->strings[m->path].bytes, path, length) == 0;
        if (same && m->build_id && m->build_id < p->string_count && p->strings[m->build_id].length)
            return m->build_id;
    }
    return 0;
}

struct programs {
    struct sonde_intern paths, builds; /* builds: a path's id and a build id */
    struct sonde_map built;            /* ids of paths with a build */
    uint32_t path;                     /* the first with a second build; 0: none has */
};

/* Builds of the first program that has several are counted; 0, or SONDE_ENOMEM. */
static int count_build(struct programs *all, struct sonde_job *job, size_t rank, const struct sonde_process *p)
{
    const char *program = *p->header.executable ? p->header.executable : "?";
    const uint32_t path = sonde_intern_bytes(&all->paths, program, strnlen(program, sizeof p->header.executable)), build = program_build(p);
    const uint32_t known = all->builds.count;
    struct sonde_text key = {0};
    uint64_t first;
    if (!path)
        return SONDE_ENOMEM;
    if (!build)
        return 0;
    sonde_text_format(&key, "%u ", path);
    sonde_text_add_bytes(&key, p->strings[build].bytes, p->strings[build].length);
    int rc = key.failed || !sonde_intern_bytes(&all->builds, key.bytes, key.length) ? SONDE_ENOMEM : 0;
    sonde_text_fini(&key);
    if (rc || all->builds.count == known)
        return rc;
    if (!sonde_map_get(&all->built, path, &first))
        return sonde_map_put(&all->built, path, 1);
    if (!all->path) {
        all->path = path;
        job->other_build = rank;
        job->builds = 1;
    }
    job->builds += path == all->path;
    return 0;
}

/* Of the first process of each rank. */
static int count_hosts_and_programs(struct making *k)
{
    struct sonde_intern hosts = {0};
    struct programs programs = {0};
    int rc = 0;
    for (size_t i = 0; i < k->job->ranks.count && !rc; i++) {
        const struct sonde_process *p = &k->m->processes[k->job->ranks.items[i].process];
        rc = sonde_intern_bytes(&hosts, p->name, sonde_host_length(p->name)) ? count_build(&programs, k->job, i, p) : SONDE_ENOMEM;
    }
    k->job->hosts = hosts.count;
    k->job->programs = programs.paths.count;
    sonde_intern_fini(&hosts);
    sonde_intern_fini(&programs.paths);
    sonde_intern_fini(&programs.builds);
    sonde_map_fini(&programs.built);
    return rc;
}

/* All places and callers of a routine are one; so is all of a library without names. 0: out of memory. */
static uint32_t routine_of(struct making *k, uint32_t leaf)
{
    const uint32_t node = sonde_profile_routine(k->profile, leaf);
    const struct sonde_cct_node *n = &k->profile->nodes.items[node];
    const char *file = *n->file ? n->file : n->module;
    const uint64_t key = (uint64_t)sonde_intern_text(&k->names, n->name) << 32 | sonde_intern_text(&k->names, file);
    uint64_t known;
    if (!key) /* nothing tells it from others */
        return node;
    if (sonde_map_get(&k->routines, key, &known))
        return (uint32_t)known;
    return sonde_map_put(&k->routines, key, node) ? 0 : node;
}

/* ---- times by context ---------------------------------------------------------------------------------- */

static int add_row(struct making *k, uint32_t index, struct sonde_rank_of_job *r, const struct sonde_process *p, const struct sonde_row_profile *row)
{
    const uint32_t lane_kind = row->lane && row->lane < p->lane_count ? p->lanes[row->lane].kind : 0;
    struct entry e = {.node = sonde_profile_locate(k->profile, r->process, row->node), .rank = index, .ns = (double)row->sum_ns};
    if (lane_kind == SONDE_LANE_KIND_THREAD) {
        e.kind = SONDE_RANK_CODE;
        e.node = routine_of(k, e.node);
    } else if (lane_kind == SONDE_LANE_KIND_QUEUE) {
        e.kind = SONDE_RANK_DEVICE;
        r->of[SONDE_RANK_BYTES] += row->bytes;
    } else if (!row->lane && !sonde_api_sleeps(p, row->node)) {
        e.kind = SONDE_RANK_CALL;
        const uint64_t waiting_ns = sonde_api_class_of_node(p, row->node) == SONDE_API_WAITS ? row->sum_ns : 0;
        r->of[SONDE_RANK_API] += row->sum_ns;
        r->of[SONDE_RANK_WAITING] += waiting_ns;
        e.of[SONDE_RANK_FIGURE_WAITING] = (double)waiting_ns;
    } else {
        return 0;
    }
    e.of[SONDE_RANK_FIGURE_COUNT] = (double)row->count;
    e.of[SONDE_RANK_FIGURE_MOVED] = (double)row->bytes;
    if (e.kind == SONDE_RANK_DEVICE)
        e.of[SONDE_RANK_FIGURE_DELAY] = (double)row->enqueue_queued_ns + (double)row->queued_submit_ns + (double)row->submit_start_ns;
    return row->count && sonde_vector_push(&k->entries, e) ? SONDE_ENOMEM : 0;
}

/* Processes of one rank: `process` is the one whose nodes are located. */
static int add_rows(struct making *k)
{
    int rc = 0;
    for (uint32_t i = 0; i < k->m->process_count && !rc; i++) {
        const struct sonde_process *p = &k->m->processes[i];
        const size_t rank = sonde_job_find(k->job, p);
        if (rank == SIZE_MAX)
            continue;
        struct sonde_rank_of_job *r = &k->job->ranks.items[rank];
        const uint32_t first = r->process;
        r->process = i;
        for (uint32_t row = 1; row < p->profile_count && !rc; row++)
            rc = add_row(k, (uint32_t)rank, r, p, &p->profiles[row]);
        r->process = first;
    }
    return rc;
}

static int by_context(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_entry(struct entry *to, const struct entry *more)
{
    to->ns += more->ns;
    for (int k = 0; k < SONDE_RANK_FIGURES; k++)
        to->of[k] += more->of[k];
}

static void fold_entries(entries *e)
{
    size_t kept = 0;
    if (e->count)
        qsort(e->items, e->count, sizeof *e->items, by_context);
    for (size_t i = 0; i < e->count; i++)
        if (kept && !by_context(&e->items[kept - 1], &e->items[i]))
            add_entry(&e->items[kept - 1], &e->items[i]);
        else
            e->items[kept++] = e->items[i];
    e->count = kept;
}

/* ---- spreads ------------------------------------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Sorts them. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct sonde_rank_spread sonde_rank_spread_of(double *values, size_t count)
{
    struct sonde_rank_spread s = {.least = values[0], .most = values[0]};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        if (values[i] < s.least)
            s.least = values[i], s.least_rank = i;
        if (values[i] > s.most)
            s.most = values[i], s.most_rank = i;
    }
    s.mean = sum / (double)count;
    s.imbalance = s.mean > 0 ? s.most / s.mean - 1 : 0;
    s.median = median_of(values, count);
    return s;
}

static void values_of(const struct making *k, size_t first, size_t entries_of_it, double *values)
{
    memset(values, 0, k->job->ranks.count * sizeof *values);
    for (size_t i = first; i < first + entries_of_it; i++)
        values[k->entries.items[i].rank] = k->entries.items[i].ns;
}

static int make_contexts(struct making *k)
{
    for (size_t first = 0, end; first < k->entries.count; first = end) {
        const struct entry *e = &k->entries.items[first];
        for (end = first + 1; end < k->entries.count && k->entries.items[end].kind == e->kind && k->entries.items[end].node == e->node; end++)
            ;
        struct sonde_rank_context c = {.node = e->node, .kind = (enum sonde_rank_kind)e->kind, .ranks = end - first};
        values_of(k, first, c.ranks, k->scratch);
        c.spread = sonde_rank_spread_of(k->scratch, k->job->ranks.count);
        c.lost_ns = c.spread.most - c.spread.mean;
        for (int figure = 0; figure < SONDE_RANK_FIGURES; figure++) {
            memset(k->scratch, 0, k->job->ranks.count * sizeof *k->scratch);
            for (size_t i = first; i < end; i++)
                k->scratch[k->entries.items[i].rank] = k->entries.items[i].of[figure];
            c.of[figure] = sonde_rank_spread_of(k->scratch, k->job->ranks.count);
        }
        if (sonde_vector_push(&k->job->contexts, c) || sonde_vector_push(&k->first, first))
            return SONDE_ENOMEM;
    }
    return 0;
}

static void make_spreads(struct making *k)
{
    for (int metric = 0; metric < SONDE_RANK_METRICS; metric++) {
        for (size_t i = 0; i < k->job->ranks.count; i++)
            k->scratch[i] = (double)k->job->ranks.items[i].of[metric];
        k->job->of[metric] = sonde_rank_spread_of(k->scratch, k->job->ranks.count);
    }
}

/* ---- stragglers ------------------------------------------------------------------------------------------ */

/* Where the rank has the most above the median. */
static void find_cause(const struct making *k, struct sonde_straggler *s)
{
    const enum sonde_rank_kind kind = s->metric == SONDE_RANK_CPU ? SONDE_RANK_CODE : SONDE_RANK_DEVICE;
    s->context = SIZE_MAX;
    for (size_t i = 0; i < k->job->contexts.count; i++) {
        const struct sonde_rank_context *c = &k->job->contexts.items[i];
        const struct entry *e = &k->entries.items[k->first.items[i]];
        size_t low = 0, high = c->ranks;
        while (c->kind == kind && low < high) {
            const size_t middle = low + (high - low) / 2;
            if (e[middle].rank < s->rank)
                low = middle + 1;
            else
                high = middle;
        }
        const double excess = c->kind == kind && low < c->ranks && e[low].rank == s->rank ? e[low].ns - c->spread.median : 0;
        if (excess > s->context_excess) {
            s->context = i;
            s->context_excess = excess;
        }
    }
}

/* Far above the others: by the median of the distances to the median, which a few stragglers do not move. */
static int find_stragglers(struct making *k)
{
    static const enum sonde_rank_metric looked_at[] = {SONDE_RANK_BUSY, SONDE_RANK_CPU};
    const size_t count = k->job->ranks.count;
    int rc = 0;
    for (size_t n = 0; n < sizeof looked_at / sizeof *looked_at && count > 1 && !rc; n++) {
        const struct sonde_rank_spread *of = &k->job->of[looked_at[n]];
        for (size_t i = 0; i < count; i++)
            k->scratch[i] = fabs((double)k->job->ranks.items[i].of[looked_at[n]] - of->median);
        const double noise = 1.4826 * median_of(k->scratch, count);
        for (size_t i = 0; i < count && !rc; i++) {
            const double value = (double)k->job->ranks.items[i].of[looked_at[n]], excess = value - of->median;
            if (excess <= FAR * noise || excess <= FAR_PART * of->median || excess <= FAR_OF_RUN * k->job->of[SONDE_RANK_WALL].most)
                continue;
            struct sonde_straggler s = {.rank = i, .metric = looked_at[n], .value = value, .median = of->median, .excess = excess};
            find_cause(k, &s);
            rc = sonde_vector_push(&k->job->stragglers, s);
        }
    }
    return rc;
}

/* ---- groups ------------------------------------------------------------------------------------------------ */

static int by_total(const void *left, const void *right)
{
    const double a = ((const double *)left)[0], b = ((const double *)right)[0];
    return a > b ? -1 : a < b;
}

static bool alike(const double *a, const double *b, size_t count)
{
    double differs = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        differs += fabs(a[i] - b[i]);
        all += a[i] > b[i] ? a[i] : b[i];
    }
    return differs <= ALIKE * all;
}

/* Each rank joins the first group whose first rank it is like. */
static int join_groups(struct making *k, const double *matrix, size_t width)
{
    struct sonde_job *job = k->job;
    for (size_t i = 0; i < job->ranks.count; i++) {
        size_t group = 0;
        while (group < job->groups.count && !alike(matrix + i * width, matrix + job->groups.items[group].first * width, width))
            group++;
        if (group == job->groups.count && sonde_vector_push(&job->groups, (struct sonde_rank_group){.first = i}))
            return SONDE_ENOMEM;
        job->groups.items[group].count++;
        job->ranks.items[i].group = (uint32_t)group;
    }
    return 0;
}

/* By the contexts with the most device time. */
static int find_groups(struct making *k)
{
    const size_t count = k->job->contexts.count, ranks = k->job->ranks.count;
    struct total {
        double ns;
        size_t context;
    } *totals = calloc(count + 1, sizeof *totals);
    size_t width = 0;
    for (size_t i = 0; i < count && totals; i++)
        if (k->job->contexts.items[i].kind == SONDE_RANK_DEVICE)
            totals[width++] = (struct total){k->job->contexts.items[i].spread.mean, i};
    if (width)
        qsort(totals, width, sizeof *totals, by_total);
    width = width < ALIKE_MOST ? width : ALIKE_MOST;
    double *matrix = totals ? calloc(ranks * (width ? width : 1) + 1, sizeof *matrix) : NULL;
    for (size_t i = 0; i < width && matrix; i++) {
        const struct sonde_rank_context *c = &k->job->contexts.items[totals[i].context];
        for (size_t e = k->first.items[totals[i].context]; e < k->first.items[totals[i].context] + c->ranks; e++)
            matrix[k->entries.items[e].rank * width + i] = k->entries.items[e].ns;
    }
    const int rc = matrix ? join_groups(k, matrix, width) : SONDE_ENOMEM;
    free(matrix);
    free(totals);
    return rc;
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

static int by_loss(const void *left, const void *right)
{
    const struct sonde_rank_context *a = left, *b = right;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns > b->lost_ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_excess(const void *left, const void *right)
{
    const struct sonde_straggler *a = left, *b = right;
    if (a->excess != b->excess)
        return a->excess > b->excess ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Stragglers name contexts by their place, which sorting changes. */
static int sort_contexts(struct making *k)
{
    struct sonde_job *job = k->job;
    struct sonde_rank_context *causes = calloc(job->stragglers.count + 1, sizeof *causes);
    if (!causes)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < job->stragglers.count; i++)
        if (job->stragglers.items[i].context != SIZE_MAX)
            causes[i] = job->contexts.items[job->stragglers.items[i].context];
    if (job->contexts.count)
        qsort(job->contexts.items, job->contexts.count, sizeof *job->contexts.items, by_loss);
    for (size_t i = 0; i < job->stragglers.count; i++)
        for (size_t c = 0; c < job->contexts.count && job->stragglers.items[i].context != SIZE_MAX; c++)
            if (job->contexts.items[c].node == causes[i].node && job->contexts.items[c].kind == causes[i].kind)
                job->stragglers.items[i].context = c;
    free(causes);
    if (job->stragglers.count)
        qsort(job->stragglers.items, job->stragglers.count, sizeof *job->stragglers.items, by_excess);
    return 0;
}

int sonde_job_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_job *out)
{
    struct making k = {.m = m, .profile = profile, .job = out};
    int rc = find_ranks(&k);
    if (rc || !out->ranks.count)
        return rc;
    k.scratch = calloc(out->ranks.count, sizeof *k.scratch);
    rc = k.scratch ? find_missing(out) : SONDE_ENOMEM;
    rc = rc ? rc : count_hosts_and_programs(&k);
    rc = rc ? rc : add_rows(&k);
    if (!rc) {
        fold_entries(&k.entries);
        make_spreads(&k);
        rc = make_contexts(&k);
    }
    rc = rc ? rc : find_stragglers(&k);
    rc = rc ? rc : find_groups(&k);
    rc = rc ? rc : sort_contexts(&k);
    sonde_vector_fini(&k.entries);
    sonde_vector_fini(&k.first);
    sonde_intern_fini(&k.names);
    sonde_map_fini(&k.routines);
    free(k.scratch);
    return rc;
}

size_t sonde_job_find(const struct sonde_job *job, const struct sonde_process *p)
{
    size_t low = 0, high = job->ranks.count;
    while (p->header.rank && low < high) {
        const size_t middle = low + (high - low) / 2;
        if (job->ranks.items[middle].rank < p->header.rank - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return p->header.rank && low < job->ranks.count ? low : SIZE_MAX;
}

void sonde_job_fini(struct sonde_job *job)
{
    sonde_vector_fini(&job->ranks);
    sonde_vector_fini(&job->contexts);
    sonde_vector_fini(&job->stragglers);
    sonde_vector_fini(&job->groups);
    sonde_vector_fini(&job->missing);
}
