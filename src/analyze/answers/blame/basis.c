/* basis.c - what the blame of any range of a measurement rests on, found out once.
 *
 * docs/developers/views.md, "Blame". Of the profile: which of its nodes wait, and which are a device's. Of a process: when it was
 * recorded and its threads lived; and of all of its trace the pools of its samples, what all contexts of a thread
 * share, and which devices were used at all. With these, an instant's blame does not depend on the range it is looked at in.
 */
#include <stdlib.h>

#include "analyze/model/api.h"
#include "analyze/samples/between.h"
#include "analyze/samples/device_code.h"
#include "run.h"

/* ---- what all contexts of a lane share ------------------------------------------------------ */

/* The code that made an API call. */
static uint32_t caller_of(const struct sonde__blame_tree *tree, uint32_t node)
{
    return tree->profile->nodes.items[node].kind == SONDE_FRAME_API ? tree->parents[node] : node;
}

static void join_trunk(const struct sonde__blame_tree *tree, struct sonde__blame_trunk *trunk, const struct sonde__blame_trunk *more)
{
    uint32_t one, two;
    if (!more->known)
        return;
    if (!trunk->known) {
        trunk->node = more->node, trunk->child = more->child, trunk->known = true;
        return;
    }
    const uint32_t node = sonde__common_caller(tree->profile, trunk->node, more->node, &one, &two);
    one = one ? one : trunk->child;
    two = two ? two : more->child;
    trunk->node = node;
    trunk->child = one && two && sonde__same_entry(tree->profile, one, two) ? (one < two ? one : two) : 0;
}

void sonde__blame_add_to_trunk(const struct sonde__blame_tree *tree, struct sonde__blame_trunk *trunk, uint32_t node)
{
    join_trunk(tree, trunk, &(struct sonde__blame_trunk){.node = caller_of(tree, node), .known = true});
}

/* ---- a process ------------------------------------------------------------------------------- */

static int find_threads_of_device(const struct sonde_blame_basis *basis, uint32_t index)
{
    const struct sonde_process *p = &basis->m->processes[index];
    bool *of_device = basis->tree.any_device ? calloc((size_t)p->lane_count + 1, sizeof *of_device) : NULL;
    for (uint32_t i = 1; i < p->lane_count && of_device; i++)
        of_device[i] = p->lanes[i].kind == SONDE_LANE_KIND_THREAD &&
                       sonde_device_thread(basis->tree.profile, basis->tree.code, p, index, i);
    basis->grounds[index].of_device = of_device;
    return basis->tree.any_device && !of_device ? SONDE_ENOMEM : 0;
}

static void free_ground(struct sonde__blame_ground *ground)
{
    sonde_recorded_fini(&ground->recorded);
    sonde__pools_fini(&ground->pools);
    free(ground->alive);
    free(ground->of_device);
    free(ground->trunks);
    free(ground->timed);
    *ground = (struct sonde__blame_ground){0};
}

int sonde__blame_ground_begin(struct sonde_blame_basis *basis, uint32_t index)
{
    const struct sonde_process *p = &basis->m->processes[index];
    struct sonde__blame_ground *ground = &basis->grounds[index];
    free_ground(ground); /* of a reading that failed */
    int rc = sonde_recorded_compute(basis->m, p, &ground->recorded);
    if (!rc && !(ground->alive = sonde__find_alive(p)))
        rc = SONDE_ENOMEM;
    return rc ? rc : find_threads_of_device(basis, index);
}

static int make_pools(const struct sonde__blame_run *run)
{
    struct sonde__gathered **parts = calloc((size_t)run->trace.part_count + 1, sizeof *parts);
    if (!parts)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < run->trace.part_count; i++)
        parts[i] = &run->parts[i].gathered;
    const int rc = sonde__pools_make(&run->ground->pools, parts, run->trace.part_count, run->tree->profile, run->index, run->tree->code);
    free(parts);
    return rc;
}

int sonde__blame_settle(struct sonde__blame_run *run)
{
    struct sonde__blame_ground *ground = run->ground;
    const size_t scopes = run->scopes, lanes = run->trace.lane_count;
    int rc = scopes > 1 ? make_pools(run) : 0;
    ground->timed = calloc(scopes, sizeof *ground->timed);
    ground->trunks = calloc(lanes + 1, sizeof *ground->trunks);
    if (rc || !ground->timed || !ground->trunks)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < run->trace.part_count && scopes > 1; i++) {
        const struct sonde__blame_part *part = &run->parts[i];
        for (size_t k = 0; k < lanes; k++)
            join_trunk(run->tree, &ground->trunks[k], &part->trunks[k]);
        for (size_t k = 0; k < scopes; k++)
            ground->timed[k] |= part->timed[k];
        ground->untimed += part->untimed;
    }
    ground->read = true;
    return 0;
}

/* ---- all of it --------------------------------------------------------------------------------- */

static void free_tree(struct sonde__blame_tree *tree)
{
    free(tree->parents);
    free(tree->waits);
    free(tree->code);
    *tree = (struct sonde__blame_tree){.profile = tree->profile};
}

static int make_tree(const struct sonde_profile *profile, struct sonde__blame_tree *tree)
{
    tree->profile = profile;
    tree->parents = malloc((profile->nodes.count + 1) * sizeof *tree->parents);
    tree->waits = calloc(profile->nodes.count + 1, sizeof *tree->waits);
    tree->code = sonde_device_code(profile, &tree->any_device);
    if (!tree->parents || !tree->waits || !tree->code)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        tree->parents[i] = node->parent;
        tree->waits[i] = node->kind == SONDE_FRAME_API && sonde_api_class(node->name) == SONDE_API_WAITS;
    }
    return 0;
}

struct sonde_blame_basis *sonde_blame_basis_create(const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    struct sonde_blame_basis *basis = calloc(1, sizeof *basis);
    if (!basis)
        return NULL;
    basis->m = m;
    basis->tree.profile = profile;
    pthread_mutex_init(&basis->lock, NULL);
    return basis;
}

static int begin(struct sonde_blame_basis *basis)
{
    uint64_t end_ns;
    if (basis->grounds)
        return 0;
    sonde_run_range(basis->m, &basis->run_begin_ns, &end_ns);
    basis->run_length_ns = end_ns > basis->run_begin_ns ? end_ns - basis->run_begin_ns : 0;
    const int rc = make_tree(basis->tree.profile, &basis->tree);
    basis->grounds = rc ? NULL : calloc((size_t)basis->m->process_count + 1, sizeof *basis->grounds);
    if (!basis->grounds)
        free_tree(&basis->tree);
    return basis->grounds ? 0 : SONDE_ENOMEM;
}

int sonde__blame_basis_begin(struct sonde_blame_basis *basis)
{
    pthread_mutex_lock(&basis->lock);
    const int rc = begin(basis);
    pthread_mutex_unlock(&basis->lock);
    return rc;
}

void sonde_blame_basis_destroy(struct sonde_blame_basis *basis)
{
    if (!basis)
        return;
    for (uint32_t i = 0; basis->grounds && i < basis->m->process_count; i++)
        free_ground(&basis->grounds[i]);
    free(basis->grounds);
    free_tree(&basis->tree);
    pthread_mutex_destroy(&basis->lock);
    free(basis);
}
