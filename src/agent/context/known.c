/* known.c - contexts of calls that came before, by one look-up.
 *
 * A context is, but for open ranges (ranges.c), made of the native frames, the Python frames,
 * the places where these go among those, the link and the API function, and of
 * nothing else (make_tokens in context.c): equal parts, equal context. Here the
 * parts are words, and the thread's paths (paths.h) say which node they led to;
 * an entry holds the words themselves and is compared with all of them:
 *   the trail's number among all that the thread has made: a trail that the whole
 *     stack bears out says each native frame's pc and address;
 *   each Python frame's key and place, an address in the native stack;
 *   the link's frames, and the address that it is within.
 * Nothing is relative to the last call, so that an outer Python frame may be in
 * another line, and the link another, than then. Entries die with the modules'
 * generation, and when an interpreter turns up.
 */
#include "context.h"

#include "agent/state/state.h"

#define WHOLE UINT32_MAX /* as a path's parent, which is no node: a whole context */

static struct sonde_path_key key_of(struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uint32_t pythons)
{
    uint64_t *word = t->known_word;
    uint32_t n = 0;
    word[n++] = trail->serial;
    word[n++] = (uint64_t)t->ranges.link_frame << 32 | t->ranges.link_name;
    word[n++] = t->ranges.link_frame | t->ranges.link_name ? t->ranges.link_within : 0;
    for (uint32_t i = 0; i < pythons; i++) {
        const struct sonde_pyframe *f = &t->python[i];
        word[n++] = sonde__python_token(f);
        word[n++] = f->stack | f->entry;
    }
    return (struct sonde_path_key){.parent = WHOLE, .api = api, .count = n, .word = word};
}

uint32_t sonde__known_node(struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uint32_t pythons)
{
    struct sonde_path_key key = key_of(t, trail, api, pythons);
    const struct sonde_path *path = sonde__paths_find(&t->paths, &key, trail->generation);
    return path ? path->leaf : 0;
}

void sonde__known_keep(struct sonde_thread *t, uint32_t api, uint32_t pythons, uint32_t leaf)
{
    if (!t->stack.trails || !t->trails.here)
        return;
    struct sonde_trail *trail = sonde__trail(&t->trails, t->trails.here);
    struct sonde_path_key key = key_of(t, trail, api, pythons);
    if (sonde__paths_find(&t->paths, &key, trail->generation))
        return;
    sonde__paths_put(&t->paths, &sonde__agent.heap, &key, NULL, leaf);
    trail->known = true;
}
