/* view.c - the table of views, and what is common to making them. */
#include "view.h"

#include <string.h>

#include "analyze/trace/trace.h"
#include "empty.h"
#include "notes.h"

/* clang-format off */
const struct sonde_view *const sonde_views[] = {
#define X(name) &sonde_view_##name,
    SONDE_VIEW_MAP(X)
#undef X
    NULL,
};
/* clang-format on */

const struct sonde_view *sonde_view_find(const char *name)
{
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        if (strcmp((*v)->name, name) == 0)
            return *v;
    return NULL;
}

bool sonde_view_lacks_operations(const struct sonde_view *view, const struct sonde_query *q)
{
    return view->needs_operations && !sonde_query_has_operations(q) && !(view->or_messages && sonde_trace_rows(q->m, SONDE_READ_MESSAGES));
}

int sonde_view_add_notes(const struct sonde_view *view, const struct sonde_query *q, struct sonde_view_data *out)
{
    struct sonde_caveats caveats = {0};
    const int rc = sonde_query_caveats(q, view->caveats, view->quick_notes, &caveats);
    for (size_t i = 0; i < caveats.items.count && !rc; i++)
        if (caveats.items.items[i].kind & view->caveats)
            sonde_view_note(out, caveats.items.items[i].kind, sonde_text_get(&caveats.items.items[i].text));
    sonde_caveats_fini(&caveats);
    return rc;
}

/* Whole rows; those of an object are one. */
static bool is_whole(const struct sonde_view_data *data)
{
    bool whole = true;
    for (const struct sonde_view_table *t = data->tables; t; t = t->next) {
        whole &= t->count % t->columns->count == 0;
        for (size_t i = 0; i < t->count; i++) {
            const bool object = t->columns->items[i % t->columns->count].kind == SONDE_CELL_OBJECT;
            whole &= !object || t->cells[i].state != SONDE_CELL_INNER || sonde_view_rows(t->cells[i].inner) == 1;
        }
    }
    return whole;
}

int sonde_view_make(const struct sonde_view *view, const struct sonde_query *q, struct sonde_view_data *out,
                    struct sonde_diag *diag)
{
    int rc = view->make(q, out, diag);
    if (rc)
        return rc;
    if (!q->complete && view->caveats)
        rc = sonde_view_add_notes(view, q, out);
    if (!rc && !out->error && (!is_whole(out) || (view->single && out->root && sonde_view_rows(out->root) != 1)))
        out->error = SONDE_EINVALID;
    rc = rc ? rc : out->error;
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot compute the view %s of", view->name) : 0;
}
