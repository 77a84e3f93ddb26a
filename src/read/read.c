/* read.c - opens a measurement for the library, says what there is, and hands each question to who answers it.
 *
 * Opening reads what describes the processes; the tables of one are read when something of it is asked for that needs them. Call paths of all
 * of them, with the names of functions and lines, are merged when the first column that needs them is asked for: they may need debug information.
 */
#include "own.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/job/axis.h"
#include "analyze/model/recorded.h"
#include "analyze/trace/trace.h"
#include "arrow.h"
#include "base/nearest.h"
#include "base/stack.h"
#include "cells.h"
#include "format/tables.h"
#include "views/view.h"

#define PUBLIC __attribute__((visibility("default")))

int sonde__read_fail(struct sonde_read_error *error, const struct sonde_diag *diag, const char *more)
{
    const char *what = diag->what[0] ? diag->what : sonde_error_text(diag->code);
    const bool reason = diag->what[0] && (diag->code == SONDE_ENOMEM || diag->code == SONDE_EIO || diag->code == SONDE_EFORMAT);
    const char *why = diag->why[0] ? diag->why : (reason ? sonde_error_text(diag->code) : "");
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s%s%s%s%s%s%s", what, diag->where[0] ? " " : "", diag->where, why[0] ? ": " : "", why,
                      diag->hint[0] ? "; " : "", diag->hint);
    if (more && *more)
        sonde_text_format(&text, "; %s", more);
    if (error) {
        const char *sentence = sonde_text_get(&text);
        size_t length = strlen(sentence);
        length = length < sizeof error->sentence ? length : sizeof error->sentence - 1;
        error->code = diag->code;
        memcpy(error->sentence, sentence, length);
        error->sentence[length] = 0;
    }
    sonde_text_fini(&text);
    return diag->code;
}

static int unknown(struct sonde_diag *diag, const struct sonde_nearest *nearest, const char *what)
{
    sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "there is no %s '%s'", what, nearest->word);
    if (*nearest->known)
        sonde_diag_hint(diag, "did you mean '%s'?", nearest->known);
    return SONDE_ENOTFOUND;
}

/* ---- opening ----------------------------------------------------------------------------------- */

static int find_origins(struct sonde_read *m)
{
    const struct sonde_measurement *all = m->query.m;
    uint64_t begin_ns, end_ns;
    sonde_run_range(all, &begin_ns, &end_ns);
    m->origins = calloc((size_t)all->process_count + 1, sizeof *m->origins);
    for (uint32_t i = 0; m->origins && i < all->process_count; i++)
        m->origins[i] = (int64_t)(begin_ns - all->processes[i].header.wall_offset_ns);
    return m->origins ? 0 : SONDE_ENOMEM;
}

static int open_on_stack(void *user)
{
    struct sonde_read *m = ((void **)user)[0];
    struct sonde_diag *diag = ((void **)user)[1];
    int rc = sonde_measurement_open_job_heads(m->path, &m->query.m, diag);
    if (!rc && find_origins(m))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot open");
    return rc;
}

PUBLIC int sonde_read_open(const char *path, struct sonde_read **out, struct sonde_read_error *error)
{
    struct sonde_diag diag = {0};
    struct sonde_read *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m && !(m->path = strdup(path))) {
        free(m);
        m = NULL;
    }
    if (!m) {
        sonde_diag_set(&diag, SONDE_ENOMEM, path, "cannot open");
        return sonde__read_fail(error, &diag, NULL);
    }
    pthread_mutex_init(&m->lock, NULL);
    sonde_text_add_path(&m->word, path);
    m->query.path = m->path;
    const int rc = sonde_stack_run(open_on_stack, (void *[]){m, &diag});
    if (!rc) {
        *out = m;
        return 0;
    }
    sonde_read_close(m);
    return sonde__read_fail(error, &diag, NULL);
}

static void free_contexts(struct sonde_read *m)
{
    for (uint32_t i = 0; m->contexts && i < m->query.m->process_count; i++) {
        for (uint32_t k = 0; m->contexts[i] && k < m->context_pages[i]; k++)
            free(m->contexts[i][k]);
        free(m->contexts[i]);
    }
    free(m->contexts);
    free(m->context_pages);
}

PUBLIC void sonde_read_close(struct sonde_read *m)
{
    if (!m)
        return;
    free_contexts(m);
    if (m->names.measurement) { /* they have the profile */
        sonde_names_fini(&m->names);
        m->query.profile = NULL;
    }
    sonde_query_fini(&m->query);
    sonde_text_fini(&m->word);
    pthread_mutex_destroy(&m->lock);
    free(m->origins);
    free(m->string_first);
    free(m->lane_first);
    free(m->work_first);
    free(m->path);
    free(m);
}

/* ---- call paths ---------------------------------------------------------------------------------- */

static int locate_block(struct sonde_read *m, uint32_t process, const struct sonde_node_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const uint32_t node = block->first + i;
        uint32_t **page = &m->contexts[process][node / SONDE__CONTEXT_PAGE];
        if (!*page && !(*page = calloc(SONDE__CONTEXT_PAGE, sizeof **page)))
            return SONDE_ENOMEM;
        (*page)[node % SONDE__CONTEXT_PAGE] = sonde_names_locate(&m->names, process, node);
    }
    return 0;
}

static int locate(struct sonde_read *m)
{
    const struct sonde_measurement *all = m->query.m;
    m->contexts = calloc((size_t)all->process_count + 1, sizeof *m->contexts);
    m->context_pages = calloc((size_t)all->process_count + 1, sizeof *m->context_pages);
    int rc = m->contexts && m->context_pages ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < all->process_count && !rc; i++) {
        const struct sonde_process *p = &all->processes[i];
        for (uint32_t k = 0; k < p->node_block_count; k++) {
            const uint32_t pages = (p->node_blocks[k].first + p->node_blocks[k].count) / SONDE__CONTEXT_PAGE + 1;
            m->context_pages[i] = pages > m->context_pages[i] ? pages : m->context_pages[i];
        }
        m->contexts[i] = calloc((size_t)m->context_pages[i] + 1, sizeof *m->contexts[i]);
        rc = m->contexts[i] ? 0 : SONDE_ENOMEM;
        for (uint32_t k = 0; k < p->node_block_count && !rc; k++)
            rc = locate_block(m, i, &p->node_blocks[k]);
    }
    return rc;
}

static int number_rows(struct sonde_read *m)
{
    const uint32_t count = m->query.m->process_count;
    uint64_t **const firsts[] = {&m->string_first, &m->lane_first, &m->work_first};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        uint64_t *first = *firsts[i] = calloc((size_t)count + 1, sizeof *first);
        for (uint32_t k = 0; first && k < count; k++) {
            const struct sonde_process *p = &m->query.m->processes[k];
            first[k + 1] = first[k] + (i == 0 ? p->string_count : (i == 1 ? p->lane_count : p->work_count));
        }
        if (!first)
            return SONDE_ENOMEM;
    }
    return 0;
}

static int prepare_on_stack(void *user)
{
    struct sonde_read *m = user;
    int rc = sonde_measurement_load(m->query.m, SONDE_LOAD_ALL) || number_rows(m) ? sonde_diag_set(&m->why, SONDE_ENOMEM, m->path, "cannot read") : 0;
    rc = rc ? rc : sonde_query_prepare(&m->query, &m->why);
    if (!rc && (rc = sonde_names_of(&m->names, m->query.m, m->query.profile, &m->why)))
        m->query.profile = NULL; /* it was theirs */
    if (!rc && locate(m))
        rc = sonde_diag_set(&m->why, SONDE_ENOMEM, m->path, "cannot read the call paths of");
    return rc;
}

int sonde__read_prepare(struct sonde_read *m, struct sonde_diag *diag)
{
    pthread_mutex_lock(&m->lock);
    if (!m->prepared && !m->failed) {
        m->failed = sonde_stack_run(prepare_on_stack, m) != 0;
        m->prepared = !m->failed;
    }
    const bool failed = m->failed;
    pthread_mutex_unlock(&m->lock);
    if (failed)
        *diag = m->why;
    return failed ? m->why.code : 0;
}

/* ---- what there is -------------------------------------------------------------------------------- */

/* As much of `from` as the caller has room for; both begin with their size, which is the caller's. */
static int give(void *to, const void *from, size_t bytes)
{
    size_t room;
    memcpy(&room, to, sizeof room);
    room = room < bytes ? room : bytes;
    if (room > sizeof room)
        memcpy((char *)to + sizeof room, (const char *)from + sizeof room, room - sizeof room);
    return 0;
}

PUBLIC const char *sonde_read_version(void)
{
    return SONDE_VERSION;
}

PUBLIC int sonde_read_table(const struct sonde_read *m, uint32_t index, struct sonde_read_table *out)
{
    struct sonde_read_table found = {.rows = -1};
    if (index < sonde__trace_count) {
        const struct sonde__trace *t = &sonde__traces[index];
        found.name = t->name;
        found.summary = t->summary;
        found.rows = (int64_t)sonde_trace_rows(m->query.m, 1 << sonde_table_info(t->table)->trace);
        found.timed = 1;
    } else if (index - sonde__trace_count < sonde__table_count) {
        const struct sonde__table *t = &sonde__tables[index - sonde__trace_count];
        found.name = t->name;
        found.summary = t->summary;
        found.rows = t->rows ? (int64_t)t->rows(m) : -1;
    } else
        return SONDE_ENOTFOUND;
    return give(out, &found, sizeof found);
}

static const struct sonde__trace *find_trace(const char *name)
{
    for (uint32_t i = 0; i < sonde__trace_count; i++)
        if (strcmp(sonde__traces[i].name, name) == 0)
            return &sonde__traces[i];
    return NULL;
}

static const struct sonde__table *find_table(const char *name)
{
    for (uint32_t i = 0; i < sonde__table_count; i++)
        if (strcmp(sonde__tables[i].name, name) == 0)
            return &sonde__tables[i];
    return NULL;
}

PUBLIC int sonde_read_column(const char *table, uint32_t index, struct sonde_read_column *out)
{
    const struct sonde__trace *trace = find_trace(table);
    const struct sonde__table *other = find_table(table);
    struct sonde_read_column found = {.nullable = 1};
    if (trace && index < trace->count) {
        const struct sonde__column *c = &trace->columns[index];
        found.name = c->name;
        found.format = c->format;
        found.definition = c->definition;
        found.unit = c->unit;
        found.nullable = c->nullable;
        found.asked_for = c->asked_for;
    } else if (other && index < other->columns->count) {
        const struct sonde_view_column *c = &other->columns->items[index];
        found.name = c->name;
        found.format = sonde__cells_format(c);
        found.definition = c->definition;
        found.unit = c->unit;
    } else
        return SONDE_ENOTFOUND;
    return give(out, &found, sizeof found);
}

PUBLIC int sonde_read_view_named(uint32_t index, struct sonde_read_view *out)
{
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        if (!(*v)->hidden && index-- == 0) {
            const struct sonde_read_view found = {.name = (*v)->name, .summary = (*v)->summary, .single = (*v)->single};
            return give(out, &found, sizeof found);
        }
    return SONDE_ENOTFOUND;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static int check(const struct sonde_read *m, const struct sonde_read_rows *asked, bool timed, const char *table, struct sonde_diag *diag)
{
    if (asked->process >= 0 && (uint32_t)asked->process >= m->query.m->process_count)
        return sonde_diag_set(diag, SONDE_EINVALID, m->path, "there is no process %d, counted from 0, among the %u of", asked->process,
                              m->query.m->process_count);
    if (!timed && (asked->from_ns || asked->to_ns))
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the table %s has no times, so that no window of it can be read", table);
    if ((asked->from_ns || asked->to_ns) && asked->from_ns >= asked->to_ns)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the time window is empty: it begins at %lld ns and ends at %lld ns",
                              (long long)asked->from_ns, (long long)asked->to_ns);
    if (asked->lane && !timed)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the table %s has no rows of lanes", table);
    return 0;
}

PUBLIC int sonde_read_rows(struct sonde_read *m, const char *table, const struct sonde_read_rows *rows, struct ArrowSchema *schema,
                           struct ArrowArray *array, struct sonde_read_error *error)
{
    struct sonde_read_rows asked = {.size = sizeof asked, .process = -1};
    struct sonde_diag diag = {0};
    const struct sonde__trace *trace = find_trace(table);
    const struct sonde__table *other = find_table(table);
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
    if (rows)
        memcpy(&asked, rows, rows->size < sizeof asked ? rows->size : sizeof asked);
    int rc = check(m, &asked, trace != NULL || !other, table, &diag);
    if (!rc && trace)
        rc = sonde__trace_arrow(m, trace, &asked, schema, array, &diag);
    else if (!rc && other)
        rc = sonde__table_arrow(m, other, &asked, schema, array, &diag);
    else if (!rc) {
        struct sonde_nearest nearest = {.word = table};
        for (uint32_t i = 0; i < sonde__trace_count; i++)
            sonde_nearest_try(&nearest, sonde__traces[i].name);
        for (uint32_t i = 0; i < sonde__table_count; i++)
            sonde_nearest_try(&nearest, sonde__tables[i].name);
        rc = unknown(&diag, &nearest, "table");
    }
    if (!rc)
        return 0;
    sonde__arrow_release(schema, array);
    return sonde__read_fail(error, &diag, NULL);
}

PUBLIC int sonde_read_share(const struct ArrowSchema *schema, const struct ArrowArray *array, struct ArrowSchema *schema_out,
                            struct ArrowArray *array_out)
{
    *schema_out = (struct ArrowSchema){0};
    *array_out = (struct ArrowArray){0};
    if (!sonde__arrow_copy(schema, schema_out) && !sonde__arrow_share(array, array_out))
        return 0;
    sonde__arrow_release(schema_out, array_out);
    return SONDE_ENOMEM;
}
