/* stalled.c - the rule about kernels whose warps wait while nobody hides it (record --pc); docs/advice.md.
 *
 * In a cycle in which a scheduler issues nothing the kernel gets nowhere on it: without such cycles it would take that much less, whatever it computes.
 */
#include "rules.h"

#include <string.h>

#include "base/number.h"

enum { SAMPLES_LEAST = 1000 }; /* of a function: fewer are no share of anything */

static bool is_stalled(const struct sonde_stall_sum *s, uint32_t process)
{
    return s->process == process && s->samples >= SAMPLES_LEAST && s->idle >= s->samples / 2 && s->idle <= s->samples && s->reason_count;
}

/* Of the function's lines the one with most samples; NULL: its code has none. */
static const struct sonde_stall_sum *line_of(const struct sonde_stalls *all, const struct sonde_stall_sum *of)
{
    for (size_t i = 0; i < all->lines.count; i++) {
        const struct sonde_stall_sum *line = &all->lines.items[i];
        if (line->function == of->function && line->process == of->process && line->device == of->device && *line->file)
            return line;
    }
    return NULL;
}

/* "long_scoreboard, 70.0 % (waits for …), most of all at halo.cu:6"; NULL: no memory. */
static const char *why(struct sonde__find *f, const struct sonde_stall_sum *s)
{
    const struct sonde_stall_reason *reason = &f->stalls.reasons.items[s->first_reason];
    const struct sonde_stall_sum *line = line_of(&f->stalls, s);
    const char *meaning = sonde_stall_meaning(reason->name), *slash = line ? strrchr(line->file, '/') : NULL;
    char share[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s, %s", reason->name, sonde_number_percent(share, (double)reason->samples, (double)s->samples));
    if (meaning)
        sonde_text_format(&text, " (%s)", meaning);
    if (line)
        sonde_text_format(&text, ", most of all at %s:%u", slash ? slash + 1 : line->file, line->line);
    const uint32_t id = text.failed ? 0 : sonde_intern_text(&f->texts, sonde_text_get(&text));
    sonde_text_fini(&text);
    return id ? sonde_intern_get(&f->texts, id) : NULL;
}

/* Launches of it on that device, in their calling contexts. */
static int add_launches(struct sonde__find *f, const struct sonde_stall_sum *s)
{
    const struct sonde_process *p = &f->m->processes[s->process];
    const char *text = why(f, s);
    int rc = text ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const uint32_t leaf = row->lane < p->lane_count && p->lanes[row->lane].device == s->device ? sonde_profile_locate(f->profile, s->process, row->node) : 0;
        const struct sonde_cct_node *node = &f->profile->nodes.items[leaf];
        if (!leaf || node->kind != SONDE_FRAME_OP || node->op != SONDE_OP_KERNEL || strcmp(node->name, s->function) != 0)
            continue;
        rc = sonde__find_add(f, &(struct sonde__finding){
                                    .rule = RULE_STALLED,
                                    .process = s->process,
                                    .device = s->device,
                                    .leaf = leaf,
                                    .count = row->count,
                                    .looked_at_ns = row->sum_ns,
                                    .saving_ns = (uint64_t)((double)row->sum_ns * (double)s->idle / (double)s->samples),
                                    .type = text,
                                });
    }
    return rc;
}

int sonde__advice_stalled(struct sonde__find *f, uint32_t process)
{
    int rc = 0;
    for (size_t i = 0; i < f->stalls.functions.count && !rc; i++)
        rc = is_stalled(&f->stalls.functions.items[i], process) ? add_launches(f, &f->stalls.functions.items[i]) : 0;
    return rc;
}
