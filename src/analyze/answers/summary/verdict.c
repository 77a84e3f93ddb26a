/* verdict.c - see verdict.h. */
#include "verdict.h"

#include <stdlib.h>

#include "analyze/answers/blame/host_code.h"
#include "analyze/model/api.h"
#include "base/kinds.h"

static enum sonde_verdict_kind kind_of(const struct sonde_profile *profile, uint32_t node)
{
    if (!node)
        return SONDE_VERDICT_UNKNOWN;
    if (sonde_is_host_code(profile, node))
        return SONDE_VERDICT_HOST;
    switch (sonde_api_class(profile->nodes.items[node].name)) {
    case SONDE_API_COMPILES:
        return SONDE_VERDICT_COMPILES;
    case SONDE_API_ALLOCATES:
    case SONDE_API_FREES:
        return SONDE_VERDICT_MEMORY;
    default:
        return SONDE_VERDICT_CALLS;
    }
}

static void add(struct sonde_verdict_part *part, const struct sonde_blame_routine *routine, double ns)
{
    part->ns += ns;
    if (ns > part->most_ns) {
        part->node = routine->node;
        part->most_ns = ns;
        part->error_ns = routine->error_ns;
    }
}

/* API calls by routine: the call at the place with the most of it stands for a kind. */
static int add_calls(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, struct sonde_verdict_part *parts)
{
    struct sonde_blame_routine *routines;
    const long count = sonde_blame_routines(profile, scope, &routines);
    for (long i = 0; i < count; i++) {
        const struct sonde_blame_routine *r = &routines[i];
        const enum sonde_verdict_kind kind = kind_of(profile, r->node);
        add(&parts[SONDE_VERDICT_WAITS], r, r->waiting_ns);
        if (kind != SONDE_VERDICT_HOST)
            add(&parts[kind], r, r->working_ns);
        else
            parts[kind].ns += r->working_ns;
    }
    free(count >= 0 ? routines : NULL);
    return count < 0 ? (int)count : 0;
}

static int add_host_code(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                         struct sonde_verdict_part *parts)
{
    sonde_host_codes codes = {0};
    int rc = sonde_host_code_find(profile, scope, &codes);
    if (!rc && codes.count) {
        parts[SONDE_VERDICT_HOST].node = codes.items[0].node;
        parts[SONDE_VERDICT_HOST].most_ns = codes.items[0].ns;
        parts[SONDE_VERDICT_HOST].error_ns = codes.items[0].error_ns;
        parts[SONDE_VERDICT_HOST].waited_ns = codes.items[0].waited_ns;
        parts[SONDE_VERDICT_HOST].wait = codes.items[0].wait;
    }
    sonde_vector_fini(&codes);
    return rc;
}

static int by_ns(const void *left, const void *right)
{
    const struct sonde_verdict_part *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static void add_devices(const struct sonde_profile *profile, const struct sonde_totals *totals, struct sonde_verdict *out)
{
    for (size_t i = 0; i < totals->devices.count; i++)
        if (totals->devices.items[i].timed) {
            out->kernel_ns += (double)totals->devices.items[i].kernel_ns;
            out->copy_ns += (double)totals->devices.items[i].copy_ns;
        }
    for (size_t i = 0; i < profile->ops.count; i++) { /* by device time, most first */
        const struct sonde_group *group = &profile->ops.items[i];
        const enum sonde_op_group g = sonde_op_kind_group(group->op);
        if (g != SONDE_GROUP_ORDER && group->leaves.count && group->stat.sum_ns) {
            out->parts[SONDE_VERDICT_BUSY].node = group->leaves.items[0];
            out->parts[SONDE_VERDICT_BUSY].most_ns = (double)group->stat.sum_ns;
            return;
        }
    }
}

/* Each kind at its place. */
static int divide(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, struct sonde_verdict_part *parts)
{
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        parts[i] = (struct sonde_verdict_part){.kind = (enum sonde_verdict_kind)i};
    parts[SONDE_VERDICT_START_UP].ns = scope->before_ns;
    parts[SONDE_VERDICT_NOBODY].ns = scope->nobody_ns;
    if (scope->entries.count && !scope->entries.items[0].node)
        parts[SONDE_VERDICT_UNKNOWN].ns = scope->entries.items[0].waiting_ns + scope->entries.items[0].working_ns;
    const int rc = add_calls(profile, scope, parts);
    return rc ? rc : add_host_code(profile, scope, parts);
}

int sonde_verdict_idle(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                       struct sonde_verdict_part parts[SONDE_VERDICT_COUNT])
{
    const int rc = divide(profile, scope, parts);
    qsort(parts, SONDE_VERDICT_COUNT, sizeof *parts, by_ns);
    return rc;
}

int sonde_verdict_compute(const struct sonde_profile *profile, const struct sonde_totals *totals,
                          const struct sonde_blame *blame, struct sonde_verdict *out)
{
    const struct sonde_blame_scope *scope = blame->scopes.count > 1 ? &blame->scopes.items[0] : NULL; /* all processes */
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        out->parts[i].kind = (enum sonde_verdict_kind)i;
    if (!scope)
        return 0;
    const int rc = divide(profile, scope, out->parts);
    out->known = true;
    out->range_ns = scope->range_ns;
    out->parts[SONDE_VERDICT_BUSY].ns = scope->range_ns > scope->idle_ns ? scope->range_ns - scope->idle_ns : 0;
    add_devices(profile, totals, out);
    qsort(out->parts, SONDE_VERDICT_COUNT, sizeof *out->parts, by_ns);
    return rc;
}

const char *sonde_verdict_name(enum sonde_verdict_kind kind)
{
    static const char *const names[] = {
#define X(name, json) [SONDE_VERDICT_##name] = json,
        SONDE_VERDICT_MAP(X)
#undef X
    };
    return names[kind];
}
