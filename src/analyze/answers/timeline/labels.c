/* labels.c - what intervals are called, as numbers: routines as the view statistics has them, and names of ranges. */
#include <stdlib.h>

#include "analyze/metrics/profile_rows_build.h"
#include "own.h"

const char *sonde_drawn_name(enum sonde_drawn kind)
{
    static const char *const names[] = {
#define X(id, name) name,
        SONDE_DRAWN_MAP(X)
#undef X
    };
    return names[kind];
}

static int add_other(struct sonde__labels *labels, enum sonde_drawn kind, uint32_t *label)
{
    *label = (uint32_t)labels->items.count;
    return sonde_vector_push(&labels->items, (struct sonde_timeline_label){.kind = kind, .frame = {.name = "", .file = "", .module = ""}});
}

static int add_routines(struct sonde__labels *labels, const struct sonde_profile *profile)
{
    struct sonde__rows_maker v = {.profile = profile, .nodes = profile->nodes.count, .entity = labels->whole};
    int rc = sonde__rows_entities(&v, SONDE_BY_FUNCTION);
    for (size_t i = 0; i < v.entities.count && !rc; i++)
        rc = sonde_vector_push(&labels->items, (struct sonde_timeline_label){.routine = true, .frame = v.entities.items[i].frame});
    sonde_vector_fini(&v.entities);
    sonde_map_fini(&v.by_key);
    return rc;
}

static void find_timed(struct sonde__labels *labels, const struct sonde_profile *profile)
{
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct sonde_metrics *self = &profile->nodes.items[i].self;
        if (self->operations || self->api_calls || self->samples || self->sleeps)
            labels->timed[sonde_profile_routine(profile, i)] = true;
    }
}

/* Its time counts for the routine that it is of; that is cut. */
static int show(struct sonde__labels *labels, const struct sonde_profile *profile, uint32_t depth)
{
    const size_t count = profile->nodes.count;
    uint32_t *cut = malloc(count * sizeof *cut);
    const int rc = cut ? sonde_profile_cut(profile, depth, labels->timed, cut) : SONDE_ENOMEM;
    for (uint32_t i = 0; i < count && !rc; i++)
        labels->shown[i] = labels->whole[cut[sonde_profile_routine(profile, i)]];
    free(cut);
    labels->depth = depth;
    return rc;
}

int sonde__labels_init(struct sonde__labels *labels, const struct sonde_profile *profile)
{
    const size_t count = profile->nodes.count;
    *labels = (struct sonde__labels){
        .whole = calloc(count, sizeof *labels->whole),
        .shown = calloc(count, sizeof *labels->shown),
        .timed = calloc(count, sizeof *labels->timed),
    };
    if (!labels->whole || !labels->shown || !labels->timed || add_routines(labels, profile) ||
        add_other(labels, SONDE_DRAWN_OFF, &labels->off) || add_other(labels, SONDE_DRAWN_UNREAD, &labels->unread))
        return SONDE_ENOMEM;
    find_timed(labels, profile);
    return show(labels, profile, 0);
}

int sonde__labels_cut(struct sonde__labels *labels, const struct sonde_profile *profile, uint32_t depth)
{
    return depth == labels->depth ? 0 : show(labels, profile, depth);
}

int sonde__labels_range(struct sonde__labels *labels, const char *name, const char *domain, uint32_t *label)
{
    const uint32_t first = sonde_intern_text(&labels->texts, name), second = sonde_intern_text(&labels->texts, domain);
    const uint64_t key = (uint64_t)first << 32 | second;
    uint64_t at;
    if ((*name && !first) || (*domain && !second))
        return SONDE_ENOMEM;
    if (!sonde_map_get(&labels->ranges, key, &at)) {
        const struct sonde_timeline_label made = {
            .routine = true,
            .kind = SONDE_DRAWN_RANGE,
            .frame = {
                .kind = SONDE_FRAME_RANGE,
                .name = sonde_intern_get(&labels->texts, first),
                .file = "",
                .module = sonde_intern_get(&labels->texts, second),
            },
        };
        at = labels->items.count;
        if (sonde_vector_push(&labels->items, made) || sonde_map_put(&labels->ranges, key, at))
            return SONDE_ENOMEM;
    }
    *label = (uint32_t)at;
    return 0;
}

void sonde__labels_fini(struct sonde__labels *labels)
{
    free(labels->whole);
    free(labels->shown);
    free(labels->timed);
    sonde_vector_fini(&labels->items);
    sonde_intern_fini(&labels->texts);
    sonde_map_fini(&labels->ranges);
}
