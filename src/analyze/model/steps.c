/* steps.c - see steps.h. */
#include "steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/trace/trace.h"

struct reading {
    const struct sonde_process *process;
    uint32_t number;
    struct sonde_intern *names;
    struct sonde_map known; /* string of the process -> name */
    sonde_steps *out;
};

/* "ProfilerStep#12" is a "ProfilerStep". */
static uint32_t name_of(struct reading *r, uint32_t string)
{
    const char *text = sonde_process_string(r->process, string);
    size_t length = strlen(text);
    while (length && isdigit((unsigned char)text[length - 1]))
        length--;
    while (length && strchr(" #_-:.[(", text[length - 1]))
        length--;
    return sonde_intern_bytes(r->names, text, length ? length : strlen(text));
}

static int each_range(void *user, uint32_t lane, const void *row)
{
    const struct sonde_row_range *range = row;
    struct reading *r = user;
    uint64_t name;
    if (strcasecmp(sonde_process_string(r->process, range->domain), "nccl") == 0)
        return 0;
    if (range->flags & (SONDE_RANGE_MARK | SONDE_RANGE_ACROSS) || range->end_ns <= range->begin_ns)
        return 0;
    if (!sonde_map_get(&r->known, range->name, &name)) {
        name = name_of(r, range->name);
        if (!name || sonde_map_put(&r->known, range->name, name))
            return SONDE_ENOMEM;
    }
    return sonde_vector_push(r->out, (struct sonde_step){range->begin_ns, range->end_ns, r->number, lane, (uint32_t)name});
}

static int by_begin(const void *left, const void *right)
{
    const struct sonde_step *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* Only those that lie in no other one of their thread stay. */
static void keep_outermost(struct reading *r)
{
    size_t kept = 0;
    if (!r->out->count)
        return;
    qsort(r->out->items, r->out->count, sizeof *r->out->items, by_begin);
    for (size_t i = 0; i < r->out->count; i++) {
        const struct sonde_step *step = &r->out->items[i], *outer = kept ? &r->out->items[kept - 1] : NULL;
        if (!outer || outer->process != step->process || outer->lane != step->lane || outer->end_ns <= step->begin_ns)
            r->out->items[kept++] = *step;
    }
    r->out->count = kept;
}

int sonde_steps_read(const struct sonde_measurement *m, struct sonde_intern *names, sonde_steps *out)
{
    const struct sonde_trace_stored which = {.table = SONDE_TABLE_RANGE};
    struct reading r = {.names = names, .out = out};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        r.process = &m->processes[i];
        r.number = i;
        rc = sonde_trace_each(r.process, &which, each_range, &r);
        sonde_map_fini(&r.known);
        r.known = (struct sonde_map){0};
    }
    keep_outermost(&r);
    return rc;
}

uint32_t sonde_steps_choose(const sonde_steps *runs, uint32_t run_count, uint32_t names)
{
    size_t *least = calloc((size_t)names + 1, sizeof *least), *count = calloc((size_t)names + 1, sizeof *count);
    uint32_t best = 0;
    for (uint32_t run = 0; least && count && run < run_count; run++) {
        memset(count, 0, ((size_t)names + 1) * sizeof *count);
        for (size_t i = 0; i < runs[run].count; i++)
            count[runs[run].items[i].name]++;
        for (uint32_t i = 1; i <= names; i++)
            least[i] = run && least[i] < count[i] ? least[i] : count[i];
    }
    for (uint32_t i = 1; least && i <= names; i++)
        if (least[i] >= 2 && (!best || least[i] > least[best]))
            best = i;
    free(least);
    free(count);
    return best;
}
