/* known.c - contexts of calls that came before, without looking anything up.
 *
 * A trail (unwind_trails.h) tells the inner native frames of a call, and that
 * the outer ones are those of the thread's last stack. With it is kept where it
 * led: the node of the outer frames, the Python frames that run within the
 * inner ones, and the API node. When all of that is as it was, so is the node.
 * The thread's last stack and its tokens stay those of the last call that was
 * looked up, which is what the next one is compared with.
 *
 * Why the proof is whole: a context is the sequence of the native frames, of
 * the Python frames, and of the places where these go among those, which the
 * addresses of both decide. Native frames: the trail's by proof, the outer ones
 * by proof and by their node. Python frames: the inner ones by key and address,
 * the outer ones by comparison with the last tokens'. Open ranges and links
 * belong to no trail.
 */
#include "agent.h"

bool sonde__known_may(const struct sonde_thread *t)
{
    return t->resumable && t->stack.generation == t->frame_generation && t->stack.end == SONDE_UNWIND_OUTERMOST &&
           !atomic_load_explicit(&t->ranges.depth, memory_order_relaxed) &&
           !(t->ranges.link_frame | t->ranges.link_name | t->known_link.frame | t->known_link.name);
}

static bool same_python(const struct sonde_thread *t, uint32_t number, uint32_t count, uint64_t key, uintptr_t place)
{
    const struct sonde_pyframe *f = &t->python[count - 1 - number];
    return place == (f->stack | f->entry) && key == sonde__python_token(f);
}

uint32_t sonde__known_node(const struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uint32_t pythons)
{
    const struct sonde_trail_place *p = &trail->place;
    const uint32_t n = t->token_before[p->outer], outer = t->python_before[p->outer];
    if (p->api != api || p->parent != (n ? t->node[n - 1] : 0) || pythons != outer + p->pythons)
        return 0;
    for (uint32_t k = 0; k < outer; k++)
        if (!same_python(t, k, pythons, t->known_python[k].key, t->known_python[k].place))
            return 0;
    for (uint32_t k = 0; k < p->pythons; k++)
        if (!same_python(t, outer + k, pythons, p->python[k].key, p->python[k].place))
            return 0;
    return p->leaf;
}

void sonde__known_keep(struct sonde_thread *t, uint32_t api, uint32_t leaf)
{
    if (!t->stack.trails || !t->trails.here || !sonde__known_may(t))
        return;
    const uint32_t outer = t->stack.shared, n = t->token_before[outer], k = t->python_before[outer];
    const uint32_t pythons = t->known_pythons - k;
    if (!outer || pythons > SONDE_TRAIL_PYTHONS)
        return;
    struct sonde_trail_place *p = &sonde__trail(&t->trails, t->trails.here)->place;
    *p = (struct sonde_trail_place){.epoch = t->trails.epoch, .outer = outer, .parent = n ? t->node[n - 1] : 0,
                                    .api = api, .leaf = leaf, .pythons = pythons};
    for (uint32_t i = 0; i < pythons; i++) {
        p->python[i].key = t->known_python[k + i].key;
        p->python[i].place = t->known_python[k + i].place;
    }
}
