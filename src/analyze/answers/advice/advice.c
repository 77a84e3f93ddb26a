/* advice.c - the table of rules, and what is said of each finding. */
#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/each.h"
#include "base/number.h"

/* ---- findings --------------------------------------------------------------------- */

/* The user's own frame that a leaf was asked for by. */
static int place_of(struct sonde__find *f, uint32_t leaf, uint32_t *node)
{
    uint64_t known;
    if (sonde_map_get(&f->callers, leaf, &known)) {
        *node = (uint32_t)known;
        return 0;
    }
    *node = leaf ? sonde_profile_place(f->profile, leaf) : 0;
    return sonde_map_put(&f->callers, leaf, *node);
}

#define BOUND 0.8 /* of the peak */

bool sonde__find_is_bound(const struct sonde__find *f, uint32_t process, uint32_t device, uint32_t node)
{
    const uint32_t leaf = f->bandwidths.items.count ? sonde_profile_locate(f->profile, process, node) : 0;
    const struct sonde_bandwidth *b = leaf ? sonde_bandwidth_of(&f->bandwidths, process, device, f->profile->nodes.items[leaf].name) : NULL;
    return b && (b->share >= BOUND || b->pipe_share >= BOUND);
}

int sonde__find_add(struct sonde__find *f, const struct sonde__finding *more)
{
    uint32_t node = 0;
    uint64_t at;
    int rc = place_of(f, more->leaf, &node);
    uint64_t key = sonde_hash_mix(sonde_hash_mix((uint64_t)more->rule << 32 | more->process, more->device), node);
    if (rc)
        return rc;
    if (!sonde_map_get(&f->places, key, &at)) {
        at = f->found.count;
        struct sonde__finding first = {
            .rule = more->rule,
            .process = more->process,
            .device = more->device,
            .node = node,
            .leaf = more->leaf,
        };
        if (sonde_map_put(&f->places, key, at) || sonde_vector_push(&f->found, first))
            return SONDE_ENOMEM;
    }
    struct sonde__finding *sum = &f->found.items[at];
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->looked_at_ns += more->looked_at_ns;
    sum->saving_ns += more->saving_ns;
    sum->sum += more->sum;
    sum->units = more->units;
    sum->type = more->type ? more->type : sum->type;
    return 0;
}

/* ---- sentences ---------------------------------------------------------------------------- */

struct words { /* numbers as people read them */
    const char *s; /* plural */
    char count[SONDE_NUMBER_MAX], bytes[SONDE_NUMBER_MAX], looked_at[SONDE_NUMBER_MAX], each[SONDE_NUMBER_MAX],
        a[SONDE_NUMBER_MAX], b[SONDE_NUMBER_MAX];
};

static struct words words_of(const struct sonde__finding *f)
{
    const double n = f->count ? (double)f->count : 1;
    struct words w;
    w.s = f->count == 1 ? "" : "s";
    sonde_number_count(w.count, f->count);
    sonde_number_bytes(w.bytes, (double)f->bytes);
    sonde_number_time(w.looked_at, (double)f->looked_at_ns);
    sonde_number_time(w.each, (double)f->looked_at_ns / n);
    sonde_number_time(w.a, (double)f->saving_ns / n);
    sonde_number_time(w.b, f->sum / n);
    return w;
}

static void say_launches(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s operation%s started on an idle device, after %s of idle time on average; mean duration %s, mean API "
                         "call %s",
                      w.count, w.s, w.a, w.each, w.b);
}

static void say_waits(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    if (f->sum > (double)f->count / 2)
        sonde_text_format(t, "%s wait%s, each followed by a blocking copy on the same queue, which waits for the same work; %s in "
                             "these waits",
                          w.count, w.s, w.looked_at);
    else
        sonde_text_format(t, "%s wait%s after which the host read no results and only enqueued more work; %s in these waits",
                          w.count, w.s, w.looked_at);
}

static void say_sync_copies(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char exposed[SONDE_NUMBER_MAX];
    sonde_text_format(t, "%s cop%s, %s in total, blocked the calling thread for %s; no kernel ran for %s of that",
                      w.count, f->count == 1 ? "y" : "ies", w.bytes, w.looked_at, sonde_number_time(exposed, (double)f->saving_ns));
}

static void say_pageable(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char rate[SONDE_NUMBER_MAX], pinned[SONDE_NUMBER_MAX];
    const double ns = f->looked_at_ns ? (double)f->looked_at_ns : 1;
    sonde_text_format(t, "%s cop%s from or to pageable memory, %s in total, ran at %s GB/s", w.count,
                      f->count == 1 ? "y" : "ies", w.bytes,
                      sonde_number_plain(rate, (double)f->bytes / ns));
    if (f->sum > 0)
        sonde_text_format(t, "; pinned copies reached %s GB/s in this run",
                          sonde_number_plain(pinned, (double)f->bytes / f->sum));
    else
        sonde_text_add(t, "; this run has no pinned copies to compare with");
}

static void say_small_copies(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char rows[SONDE_NUMBER_MAX], one[SONDE_NUMBER_MAX];
    sonde_text_format(t, "%s copies of %s on average, in %s back-to-back sequence%s, took %s", w.count,
                      sonde_number_bytes(one, (double)f->bytes / (f->count ? (double)f->count : 1)),
                      sonde_number_count(rows, (uint64_t)f->sum), f->sum > 1 ? "s" : "", w.looked_at);
}

static void say_serialized(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%.0f queues never overlapped: %s operations were ready to start, but waited %s for another queue", f->sum,
                      w.count, w.looked_at);
}

static void say_compiles(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s call%s that compile%s or load%s device code took %s", w.count, w.s,
                      f->count == 1 ? "s" : "", f->count == 1 ? "s" : "", w.looked_at);
}

static void say_allocates(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s allocations at one place, %s in total, all freed again; allocating and freeing took %s", w.count,
                      w.bytes, w.looked_at);
}

static void say_redundant(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char wasted[SONDE_NUMBER_MAX];
    sonde_text_format(t, "of %s in %s operation%s, %s%s wrote what was there already; times are those of a run with --values",
                      w.looked_at, w.count, w.s, f->sum > 0 ? "at most " : "", sonde_number_time(wasted, (double)f->saving_ns));
}

static void say_duplicates(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char again[SONDE_NUMBER_MAX];
    sonde_text_format(t, "of %s in %s cop%s from the host, at most %s brought what another object held already; times are those of a run with --values",
                      w.looked_at, w.count, f->count == 1 ? "y" : "ies", sonde_number_time(again, (double)f->saving_ns));
}

static void say_resent(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char again[SONDE_NUMBER_MAX];
    sonde_text_format(t, "%s copies to device %u of objects of another device took %s; of their %s, %s went the same way before", w.count,
                      f->device - 1, w.looked_at, w.bytes, sonde_number_bytes(again, f->sum));
}

static void say_needless_bytes(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char share[SONDE_NUMBER_MAX];
    sonde_text_format(t, "of %s in %s launch%s: %s of the bytes that they read and wrote hold one value, follow from their index, or fit a narrower "
                         "type%s%s; times are those of a run with --values",
                      w.looked_at, w.count, f->count == 1 ? "" : "es",
                      sonde_number_percent(share, (double)f->saving_ns, (double)f->looked_at_ns), f->type ? ", most of these " : "", f->type ? f->type : "");
}

static void say_by_host(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s cop%s between two devices, %s, went by way of the host and took %s: peer access between these is off", w.count,
                      f->count == 1 ? "y" : "ies", w.bytes, w.looked_at);
}

static void say_moved(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "managed memory that is allocated here was moved %.1f times its size, %s, as whoever touched it had it brought; the moves took %s", f->sum, w.bytes,
                      w.looked_at);
}

static void say_reread(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s launch%s on device %u, %s in total, loaded %s of another device's memory: all of it that the program loads there %.1f times", w.count,
                      f->count == 1 ? "" : "es", f->device - 1, w.looked_at, w.bytes, f->sum);
}

static void say_ring(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    if (f->count)
        sonde_text_format(t, "%s operation%s", w.count, f->count == 1 ? "" : "s");
    else
        sonde_text_add(t, "operations");
    if (f->looked_at_ns)
        sonde_text_format(t, ", %s in total,", w.looked_at);
    sonde_text_format(t, " moved %s from device %u to device %u, which is no neighbour of it; nearly all of the other %.0f send to the next one, or to the one before", w.bytes, f->device - 1,
                      f->units - 1, f->sum - 1);
}

static void say_stalled(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    char share[SONDE_NUMBER_MAX];
    sonde_text_format(t, "%s launch%s on device %u, %s in total: in %s of the samples their scheduler issued nothing; most of their warps were held up by %s", w.count,
                      f->count == 1 ? "" : "es", f->device - 1, w.looked_at, sonde_number_percent(share, (double)f->saving_ns, (double)f->looked_at_ns),
                      f->type ? f->type : "what is not known");
}

static void say_small_grid(const struct sonde__finding *f, struct sonde_text *t)
{
    const struct words w = words_of(f);
    sonde_text_format(t, "%s launch%s, %s in total, ran alone with %.0f blocks on average for %u multiprocessors: the rest were idle",
                      w.count, f->count == 1 ? "" : "es", w.looked_at, f->sum / (f->count ? (double)f->count : 1), f->units);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct rule {
    const char *name, *title, *change;
    int (*of_process)(struct sonde__find *, uint32_t process); /* NULL: found in the trace, window after window */
    void (*say)(const struct sonde__finding *, struct sonde_text *);
    bool one_per_device; /* all places together are one advice */
    uint32_t least;      /* of count: fewer show no pattern */
    bool untimed;        /* told also where nobody knows the time that it takes: saving_ns 0 */
} rules[RULE_COUNT] = {
    [RULE_LAUNCH_BOUND] = {"launch_bound", "launch-bound",
        "launch less often: fuse small kernels, batch, or use graphs (CUDA graphs, torch.compile with reduce-overhead, "
        "OpenCL command buffers)", NULL, say_launches, true, 16},
    [RULE_NEEDLESS_WAIT] = {"needless_wait", "unnecessary wait",
        "remove it: the queue keeps the order", NULL, say_waits, false, 8},
    [RULE_SYNC_COPIES] = {"synchronous_copies", "blocking copies",
        "copy asynchronously (cudaMemcpyAsync, CL_FALSE) on a separate queue while kernels run", NULL,
        say_sync_copies, false, 1},
    [RULE_PAGEABLE] = {"pageable_copies", "pageable copies",
        "use pinned host memory (cudaMallocHost, pin_memory=True)", NULL, say_pageable, false, 1},
    [RULE_SMALL_COPIES] = {"small_copies", "many small copies",
        "merge them: gather the data in one buffer and copy it once", NULL, say_small_copies, false, 1},
    [RULE_SERIALIZED] = {"serialized_queues", "queues that never overlap",
        "find what serializes them: the default stream, device-wide synchronization, a lock, or kernels that fill the device", NULL,
        say_serialized, true, 16},
    [RULE_SMALL_GRID] = {"small_grid", "kernels too small for the device",
        "launch more blocks (smaller blocks or more work per launch), or run these kernels concurrently on several queues",
        NULL, say_small_grid, false, 1},
    [RULE_COMPILES] = {"compiles", "code compiled at run time",
        "cache the binaries (clGetProgramInfo CL_PROGRAM_BINARIES, cubins for this GPU instead of PTX) and load code before "
        "the loop", sonde__advice_compiles, say_compiles, false, 1},
    [RULE_ALLOCATES] = {"allocates_in_loop", "memory repeatedly allocated",
        "allocate once before the loop, or use a pool", sonde__advice_allocates, say_allocates, false, 1},
    [RULE_REDUNDANT] = {"redundant_writes", "redundant writes",
        "leave them out where nothing changes, or write only the part that does; the view values shows the objects", sonde__advice_redundant,
        say_redundant, false, 1},
    [RULE_NEEDLESS_BYTES] = {"needless_bytes", "values that need less memory",
        "pass the value, compute it from the index, or store a narrower type; the view values shows lines and types", sonde__advice_needless_bytes,
        say_needless_bytes, false, 1},
    [RULE_DUPLICATE] = {"duplicate_writes", "what the device has, copied again",
        "copy it on the device, from the object that holds it, or use one object for both; the view values shows which", sonde__advice_duplicates,
        say_duplicates, false, 1},
    [RULE_RESENT] = {"resent_objects", "same data sent to a device again",
        "keep a copy there and send what changed, or compute where it lies; the view comm shows the objects", sonde__advice_resent,
        say_resent, false, 1},
    [RULE_BY_HOST] = {"copies_by_host", "copies between devices through the host",
        "turn peer access on (cudaDeviceEnablePeerAccess; of pools cudaMemPoolSetAccess) where cudaDeviceCanAccessPeer says that it can be; nvidia-smi "
        "topo -p2p r shows which pairs", sonde__advice_by_host, say_by_host, false, 1},
    [RULE_MOVED] = {"managed_moves", "managed memory that goes back and forth",
        "bring it ahead of time (cudaMemPrefetchAsync), tell who uses it (cudaMemAdvise), or give the host and the device arrays of their own; the view comm "
        "shows ways and page faults", sonde__advice_moved, say_moved, false, 1},
    [RULE_REREAD] = {"remote_reads", "another device's memory read again",
        "copy it to this device once and read it there; the view comm shows lines and objects", sonde__advice_reread, say_reread, false, 1},
    [RULE_STALLED] = {"stalled_kernels", "kernels whose warps wait",
        "have more warps, or more independent work in each, so that others go on meanwhile, or less to wait for; the view stalls shows lines and instructions",
        sonde__advice_stalled, say_stalled, false, 1},
    [RULE_RING] = {"no_neighbour", "sent past the neighbours of a ring",
        "check to whom this device is to send; if it is right, do without the detour over a link that others use; the view comm shows all pairs", sonde__advice_ring, say_ring,
        false, 0, true},
};
/* clang-format on */

static const char host_code_rule[] = "host_code"; /* in no trace and no profile, but in what was made of both: the blame */

/* Findings, which come process after process, of one rule and device are one: the place that saves most stands for them. */
static void merge_places(sonde__findings *all, uint32_t *places)
{
    for (size_t i = 0; i < all->count; i++) {
        struct sonde__finding *into = &all->items[i];
        places[i] += into->count > 0;
        if (!rules[into->rule].one_per_device || !into->count)
            continue;
        uint64_t best = into->saving_ns;
        for (size_t k = i + 1; k < all->count && all->items[k].process == into->process; k++) {
            struct sonde__finding *from = &all->items[k];
            if (from->rule != into->rule || from->device != into->device || !from->count)
                continue;
            if (from->saving_ns > best) {
                best = from->saving_ns;
                into->node = from->node;
                into->leaf = from->leaf;
            }
            into->count += from->count;
            into->looked_at_ns += from->looked_at_ns;
            into->saving_ns += from->saving_ns;
            into->sum += from->sum;
            from->count = 0;
            places[i]++;
        }
    }
}

static int by_saving(const void *left, const void *right)
{
    const struct sonde_advice *a = left, *b = right;
    if (a->saving_ns != b->saving_ns)
        return a->saving_ns < b->saving_ns ? 1 : -1;
    int order = strcmp(a->rule, b->rule);
    return order ? order : (a->node < b->node ? -1 : a->node > b->node);
}

static int tell(sonde__findings *all, struct sonde_advices *out)
{
    uint32_t *places = calloc(all->count + 1, sizeof *places);
    int rc = places ? 0 : SONDE_ENOMEM;
    if (places)
        merge_places(all, places);
    for (size_t i = 0; i < all->count && !rc; i++) {
        const struct sonde__finding *found = &all->items[i];
        const struct rule *rule = &rules[found->rule];
        if (found->count < rule->least || (!found->saving_ns && !rule->untimed))
            continue;
        struct sonde_advice advice = {
            .rule = rule->name,
            .title = rule->title,
            .change = rule->change,
            .process = found->process,
            .device = found->device,
            .node = found->leaf,
            .places = places[i],
            .count = found->count,
            .bytes = found->bytes,
            .looked_at_ns = found->looked_at_ns,
            .saving_ns = found->saving_ns,
        };
        rule->say(found, &advice.evidence);
        rc = sonde_vector_push(&out->items, advice);
    }
    free(places);
    return rc;
}

/* ---- host code -------------------------------------------------------------------------------- */

static struct sonde_advice *host_code_at(struct sonde_advices *out, uint32_t process, uint32_t node)
{
    for (size_t i = 0; i < out->items.count; i++)
        if (out->items.items[i].rule == host_code_rule && out->items.items[i].process == process && out->items.items[i].node == node)
            return &out->items.items[i];
    return NULL;
}

/* Does it mostly wait? */
static bool waits(const struct sonde_host_code *code)
{
    return code->waited_ns * 2 > code->ns;
}

static void say_host_code(const struct sonde_profile *profile, const struct sonde_host_code *code, double idle_ns,
                          struct sonde_text *t)
{
    char ns[SONDE_ESTIMATE_MAX], share[SONDE_NUMBER_MAX];
    sonde_text_format(t, "the device was idle for %s while this function or its callees ran outside API calls: %s of its idle time",
                      sonde_number_estimate(ns, code->bound_ns, code->bound_error_ns),
                      sonde_number_percent(share, code->bound_ns, idle_ns));
    if (code->bound_ns > code->ns * 1.1)
        sonde_text_format(t, "; other threads were active too: its share is %s", sonde_number_estimate(ns, code->ns, code->error_ns));
    if (code->waited_ns * 10 > code->ns)
        sonde_text_format(t, "; %s of that was waiting, mostly in %s", sonde_number_percent(share, code->waited_ns, code->ns),
                          profile->nodes.items[code->wait].name);
    if (code->inferred_ns * 10 > code->ns)
        sonde_text_format(t, "; %s of that is inferred from the surrounding calls and may belong to its callers",
                          sonde_number_percent(share, code->inferred_ns, code->ns));
}

/* One function may have kept several devices waiting: the one for which that is most stands for all. */
static int add_host_code(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, uint32_t device,
                         const struct sonde_host_code *code, struct sonde_advices *out)
{
    struct sonde_advice *known = host_code_at(out, scope->process, code->node);
    struct sonde_advice advice = {
        .rule = host_code_rule,
        .title = "host-bound",
        .change = waits(code)
                      ? "avoid the wait (more data loader workers, prefetching), or wait on a thread that does not feed the "
                        "device"
                      : "make it faster, run it ahead of time on another thread (data loader workers, double buffering), or move it to "
                        "the device",
        .process = scope->process,
        .device = known ? 0 : device,
        .node = code->node,
        .places = 1,
        .looked_at_ns = (uint64_t)code->bound_ns,
        .saving_ns = (uint64_t)code->bound_ns,
        .error_ns = code->bound_error_ns,
        .piece_count = code->piece_count,
    };
    if (known && (double)known->saving_ns >= code->bound_ns) {
        known->device = 0;
        return 0;
    }
    memcpy(advice.pieces, code->pieces, sizeof advice.pieces);
    say_host_code(profile, code, scope->idle_ns, &advice.evidence);
    if (!known)
        return sonde_vector_push(&out->items, advice);
    sonde_text_fini(&known->evidence);
    *known = advice;
    return 0;
}

static int of_scope(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, uint32_t device,
                    struct sonde_advices *out)
{
    sonde_host_codes codes = {0};
    int rc = sonde_host_code_find(profile, scope, &codes);
    for (size_t i = 0; i < codes.count && !rc; i++)
        rc = codes.items[i].ns >= 1 ? add_host_code(profile, scope, device, &codes.items[i], out) : 0;
    sonde_vector_fini(&codes);
    return rc;
}

/* A process has a scope of all its devices, which is that of its device where there is one, and then one for each of several. */
static int host_code(const struct sonde_measurement *m, const struct sonde_profile *profile,
                     const struct sonde_blame *given, struct sonde_advices *out)
{
    struct sonde_blame computed = {0};
    const struct sonde_blame *blame = given ? given : &computed;
    int rc = given ? 0 : sonde_blame_compute(m, profile, &(struct sonde_blame_options){0}, &computed);
    for (size_t i = 1; i < blame->scopes.count && !rc; i++) {
        const struct sonde_blame_scope *scope = &blame->scopes.items[i];
        const bool all = scope->device == SONDE_BLAME_ALL;
        if (all && i + 1 < blame->scopes.count && blame->scopes.items[i + 1].process == scope->process)
            continue;
        rc = of_scope(profile, scope, all ? 0 : scope->device, out);
    }
    sonde_blame_fini(&computed);
    return rc;
}

static int of_window(struct sonde__find *f, uint32_t process, struct sonde__windows *windows, size_t window,
                     struct sonde_advices *out)
{
    struct sonde__trace t;
    int rc = sonde__trace_load(f->m, process, windows, window, &t);
    for (size_t first = 0, last; first < t.op_count && !rc; first = last) {
        for (last = first + 1; last < t.op_count && t.ops[last].device == t.ops[first].device;)
            last++;
        rc = sonde__advice_of_device(f, &t, first, last);
    }
    if (!rc)
        rc = sonde__advice_of_calls(f, &t);
    out->traced |= t.rows > 0;
    out->rows += t.rows;
    out->rows_looked_at += t.rows - t.rows_left_out;
    out->windows += t.rows > 0;
    sonde__trace_fini(&t);
    return rc;
}

static int of_trace(struct sonde__find *f, uint32_t process, uint64_t rows_most, struct sonde_advices *out)
{
    struct sonde__windows windows;
    int rc = sonde__trace_plan(&f->m->processes[process], rows_most, &windows);
    for (size_t i = 0; i <= windows.cuts.count && !rc; i++)
        rc = of_window(f, process, &windows, i, out);
    sonde__trace_plan_fini(&windows);
    return rc;
}

/* ---- all processes ------------------------------------------------------------------------------- */

struct computing {
    struct sonde__find f;      /* of one process at a time */
    uint64_t rows_most;
    sonde__findings found;     /* of all */
    struct sonde_intern types; /* their types' names */
    struct sonde_advices *out;
};

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    struct computing *c = user;
    struct sonde_advices looked_at = {0};
    int rc = 0;
    for (int k = 0; k < RULE_COUNT && !rc; k++)
        rc = rules[k].of_process ? rules[k].of_process(&c->f, process) : 0;
    rc = rc ? rc : of_trace(&c->f, process, c->rows_most, &looked_at);
    sonde_found_put(found, &looked_at, sizeof looked_at);
    sonde_found_put_vector(found, &c->f.found);
    for (size_t i = 0; i < c->f.found.count; i++)
        sonde_found_put_string(found, c->f.found.items[i].type);
    c->f.found.count = 0;
    sonde_map_fini(&c->f.places);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    struct computing *c = user;
    struct sonde_advices looked_at;
    sonde__findings findings = {0};
    int rc = 0;
    (void)process;
    sonde_found_get(found, &looked_at, sizeof looked_at);
    c->out->traced |= looked_at.traced;
    c->out->rows += looked_at.rows;
    c->out->rows_looked_at += looked_at.rows_looked_at;
    c->out->windows += looked_at.windows;
    sonde_found_get_vector(found, &findings);
    for (size_t i = 0; i < findings.count && !rc; i++) {
        const uint32_t type = sonde_intern_text(&c->types, sonde_found_get_string(found));
        findings.items[i].type = type ? sonde_intern_get(&c->types, type) : NULL;
        rc = sonde_vector_push(&c->found, findings.items[i]);
    }
    sonde_vector_fini(&findings);
    return rc;
}

int sonde_advice_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                         const struct sonde_blame *blame, uint64_t rows_most, struct sonde_advices *out)
{
    struct computing c = {.f = {.m = m, .profile = profile}, .rows_most = rows_most, .out = out};
    int rc = sonde_object_model_build(m, profile, &c.f.objects);
    rc = rc ? rc : sonde_values_compute(m, profile, SONDE_VALUES_THRESHOLD, &c.f.values);
    rc = rc ? rc : sonde_stalls_compute(m, profile, &c.f.stalls);
    rc = rc ? rc : sonde_bandwidths_compute(m, profile, &c.f.bandwidths);
    rc = rc ? rc : sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
    if (!rc)
        rc = tell(&c.found, out);
    if (!rc)
        rc = host_code(m, profile, blame, out);
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_saving);
    sonde_object_model_fini(&c.f.objects);
    sonde_values_fini(&c.f.values);
    sonde_stalls_fini(&c.f.stalls);
    sonde_bandwidths_fini(&c.f.bandwidths);
    sonde_intern_fini(&c.f.texts);
    sonde_vector_fini(&c.f.found);
    sonde_map_fini(&c.f.places);
    sonde_map_fini(&c.f.callers);
    sonde_vector_fini(&c.found);
    sonde_intern_fini(&c.types);
    return rc;
}

void sonde_advice_fini(struct sonde_advices *advices)
{
    for (size_t i = 0; i < advices->items.count; i++)
        sonde_text_fini(&advices->items.items[i].evidence);
    sonde_vector_fini(&advices->items);
}
