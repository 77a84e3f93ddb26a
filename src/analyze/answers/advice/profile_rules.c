/* profile_rules.c - rules over the profile and over what is known of values: they need no trace. docs/advice.md. */
#include "analyze/answers/values/patterns.h"
#include "rules.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALLOCATIONS_LEAST = 16,  /* in a loop: so many at one place, and freed again */
};
#define NEEDLESS_LEAST 0.1 /* of the bytes that kernels read and wrote */

int sonde__advice_compiles(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    int rc = 0;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        enum sonde_api_class class = row->lane ? SONDE_API_OTHER : sonde_api_class_of_node(p, row->node);
        if (class != SONDE_API_COMPILES)
            continue;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_COMPILES,
                                 .process = process,
                                 .leaf = sonde_profile_locate(f->profile, process, row->node),
                                 .count = row->count,
                                 .looked_at_ns = row->sum_ns,
                                 .saving_ns = row->sum_ns,
                             });
    }
    return rc;
}

/* What frees cost is shared among what was freed. */
struct calls { uint64_t count, ns; };

static struct calls calls_of_class(const struct sonde_process *p, enum sonde_api_class class)
{
    struct calls sum = {0, 0};
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        if (row->lane || sonde_api_class_of_node(p, row->node) != class)
            continue;
        sum.count += row->count;
        sum.ns += row->sum_ns;
    }
    return sum;
}

struct allocated { uint64_t count, freed, bytes; };

/* [tree node]: one place may allocate several kinds of object. NULL: out of memory. */
static struct allocated *count_allocated(const struct sonde__find *f, uint32_t process)
{
    struct allocated *by_node = calloc(f->profile->nodes.count + 1, sizeof *by_node);
    for (uint32_t i = 1; i < f->m->processes[process].object_count && by_node; i++) {
        const struct sonde_object *o = &f->objects.processes.items[process][i];
        const struct sonde_site *site = &f->objects.sites.items[o->site];
        struct allocated *sum = &by_node[site->kind != SONDE_OBJECT_NONE ? site->node : 0];
        sum->count++;
        sum->freed += o->row->free_ns != 0;
        sum->bytes += o->row->bytes;
    }
    return by_node;
}

int sonde__advice_allocates(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    struct allocated *by_node = count_allocated(f, process);
    int rc = by_node ? 0 : SONDE_ENOMEM;
    const struct calls frees = calls_of_class(p, SONDE_API_FREES);
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        uint32_t leaf = row->lane ? 0 : sonde_profile_locate(f->profile, process, row->node);
        const struct allocated *of = &by_node[leaf];
        if (!leaf || of->freed < ALLOCATIONS_LEAST)
            continue;
        /* Of several rows of one place (threads), each has its share of what is freed. */
        const double part = (double)row->count / (double)of->count;
        const double again = (double)(of->freed - 1) / (double)of->count;
        const double freeing = frees.count ? (double)frees.ns / (double)frees.count * (double)of->freed * part : 0;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_ALLOCATES,
                                 .process = process,
                                 .leaf = leaf,
                                 .count = row->count,
                                 .bytes = (uint64_t)((double)of->bytes * part),
                                 .looked_at_ns = row->sum_ns + (uint64_t)freeing,
                                 .saving_ns = (uint64_t)(((double)row->sum_ns + freeing) * again),
                             });
    }
    free(by_node);
    return rc;
}

/* ---- operations of which something is known by their place -------------------------------------------------------- */

/* The place of a row of the profile; 0: it is of no lane that is known. */
static uint32_t leaf_of(const struct sonde__find *f, uint32_t process, const struct sonde_row_profile *row)
{
    return row->lane < f->m->processes[process].lane_count ? sonde_profile_locate(f->profile, process, row->node) : 0;
}

/* A finding of a row's operations, of whose time this part would be saved. */
static struct sonde__finding found_in(const struct sonde__find *f, uint32_t process, const struct sonde_row_profile *row, uint32_t rule, double part)
{
    return (struct sonde__finding){
        .rule = rule,
        .process = process,
        .device = f->m->processes[process].lanes[row->lane].device,
        .leaf = leaf_of(f, process, row),
        .count = row->count,
        .looked_at_ns = row->sum_ns,
        .saving_ns = (uint64_t)((double)row->sum_ns * part),
    };
}

/* [tree node]: what the operations there did to all objects together. NULL: out of memory. */
static struct sonde_value_redundant *sum_written(const struct sonde__find *f)
{
    struct sonde_value_redundant *by_leaf = calloc(f->profile->nodes.count + 1, sizeof *by_leaf);
    for (size_t i = 0; i < f->values.sites.count && by_leaf; i++)
        for (size_t k = 0; k < f->values.sites.items[i].redundant.count; k++) {
            const struct sonde_value_redundant *r = &f->values.sites.items[i].redundant.items[k];
            struct sonde_value_redundant *sum = &by_leaf[r->operation];
            sum->exact = r->exact && (sum->exact || !sum->operations);
            sum->operations += r->operations;
            sum->elements += r->elements;
            sum->unchanged += r->unchanged;
            sum->unchanged_bytes += r->unchanged_bytes;
        }
    return by_leaf;
}

/* The part of an operation's time in which it wrote what was there already, all that it writes taking the same: of its bytes,
 * and where these are not known (kernels), of the elements of what was compared. */
static double wasted_part(const struct sonde_value_redundant *w, const struct sonde_metrics *all)
{
    if (all->bytes)
        return w->unchanged_bytes < all->bytes ? (double)w->unchanged_bytes / (double)all->bytes : 1;
    const double compared = w->operations < all->operations ? (double)w->operations / (double)all->operations : 1;
    return compared * (double)w->unchanged / (double)w->elements;
}

int sonde__advice_redundant(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    struct sonde_value_redundant *by_leaf = sum_written(f);
    int rc = by_leaf ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const uint32_t leaf = leaf_of(f, process, row);
        if (!leaf || !sonde_value_is_redundant(&by_leaf[leaf], SONDE_VALUES_THRESHOLD))
            continue;
        struct sonde__finding found = found_in(f, process, row, RULE_REDUNDANT, wasted_part(&by_leaf[leaf], &f->profile->nodes.items[leaf].self));
        found.bytes = row->bytes;
        found.sum = !by_leaf[leaf].exact;
        rc = sonde__find_add(f, &found);
    }
    free(by_leaf);
    return rc;
}

/* [tree node]: bytes of objects that held what another one did, after operations there. NULL: out of memory. */
static uint64_t *sum_duplicates(const struct sonde__find *f)
{
    uint64_t *by_leaf = calloc(f->profile->nodes.count + 1, sizeof *by_leaf);
    for (uint32_t i = 0; i < f->m->process_count && by_leaf; i++) {
        const struct sonde_row_duplicate *rows = f->m->processes[i].tables[SONDE_TABLE_DUPLICATE].rows;
        for (uint32_t k = 1; k < f->m->processes[i].tables[SONDE_TABLE_DUPLICATE].count; k++)
            by_leaf[sonde_profile_locate(f->profile, i, rows[k].node)] += rows[k].bytes;
    }
    return by_leaf;
}

/* Copies from the host, since the device had what they brought. They wrote no more than the objects hold. */
int sonde__advice_duplicates(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    uint64_t *by_leaf = sum_duplicates(f);
    int rc = by_leaf ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const uint32_t leaf = leaf_of(f, process, row);
        const struct sonde_cct_node *node = &f->profile->nodes.items[leaf];
        if (!leaf || !by_leaf[leaf] || !node->self.bytes || sonde_op_kind_way(node->op) != SONDE_WAY_TO_DEVICE)
            continue;
        const double part = (double)by_leaf[leaf] / (double)node->self.bytes;
        struct sonde__finding found = found_in(f, process, row, RULE_DUPLICATE, part < 1 ? part : 1);
        found.bytes = row->bytes;
        rc = sonde__find_add(f, &found);
    }
    free(by_leaf);
    return rc;
}

/* [tree node]: bytes that kernels there read and wrote, and those of them that needed no memory. NULL: out of memory. */
struct accessed {
    double bytes, needless, heavy; /* heavy: of one access, what the type would not have */
    const char *type;
};

static struct accessed *sum_accessed(const struct sonde__find *f)
{
    struct accessed *by_leaf = calloc(f->profile->nodes.count + 1, sizeof *by_leaf);
    for (size_t i = 0; i < f->values.sites.count && by_leaf; i++)
        for (size_t k = 0; k < f->values.sites.items[i].accesses.count; k++) {
            const struct sonde_value_accessed *a = &f->values.sites.items[i].accesses.items[k];
            struct accessed *of = &by_leaf[a->operation];
            const char *type = NULL;
            const double needless = sonde_value_needless_bytes(a, &type);
            of->bytes += (double)a->elements * a->element_bytes;
            of->needless += needless;
            if (type && needless > of->heavy) {
                of->heavy = needless;
                of->type = type;
            }
        }
    return by_leaf;
}

int sonde__advice_needless_bytes(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    struct accessed *by_leaf = sum_accessed(f);
    int rc = by_leaf ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const uint32_t leaf = leaf_of(f, process, row);
        const struct accessed *of = &by_leaf[leaf];
        if (!leaf || !(of->needless >= NEEDLESS_LEAST * of->bytes) || of->bytes == 0)
            continue;
        struct sonde__finding found = found_in(f, process, row, RULE_NEEDLESS_BYTES, of->needless / of->bytes);
        found.type = of->type;
        rc = sonde__find_add(f, &found);
    }
    free(by_leaf);
    return rc;
}
