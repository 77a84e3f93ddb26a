/* labels.c - what the rows of a profile are called: shortly, and at more length where two of one parent would read alike. */
#include "labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "names.h"

static void module_label(struct sonde_text *out, const struct sonde_profile_frame *f)
{
    switch (f->kind) {
    case SONDE_FRAME_NATIVE:
    case SONDE_FRAME_PYTHON:
        sonde_text_add(out, *f->module ? sonde_path_base(f->module) : "unknown module");
        return;
    case SONDE_FRAME_API:
        sonde_text_add(out, "API calls");
        return;
    case SONDE_FRAME_OP:
        sonde_text_add(out, "operations");
        return;
    case SONDE_FRAME_RANGE:
        sonde_text_add(out, "ranges");
        return;
    case SONDE_FRAME_LINK:
        sonde_text_add(out, "prepared elsewhere");
        return;
    default:
        sonde_text_add(out, f->kind == SONDE_FRAME_CUT ? "outer frames missing" : "unknown code");
    }
}

/* What is in no routine. */
static const char *nothing_label(const struct sonde_profile_rows *view, size_t row)
{
    if (row == 0)
        return "all";
    return view->by == SONDE_BY_KERNEL ? "no operation" : view->by == SONDE_BY_OBJECT ? "unknown data object"
                                                                                      : "call path lost";
}

static bool is_folded(const struct sonde_profile_frame *f)
{
    return f->kind == SONDE_FRAME_NATIVE && !*f->name && !*f->file && !f->offset;
}

void sonde_row_label(const struct sonde_query *q, const struct sonde_profile_rows *view, size_t row, struct sonde_text *out)
{
    const struct sonde_profile_frame *f = &view->rows.items[row].frame;
    const struct sonde_cct_node node = {
        .kind = f->kind,
        .op = f->op,
        .line = f->line,
        .name = f->name,
        .file = f->file,
        .module = f->module,
        .offset = f->offset,
    };
    if (f->kind == 0) {
        sonde_text_add(out, nothing_label(view, row));
    } else if (f->kind == SONDE_PROFILE_OBJECT) {
        sonde_text_format(out, "%s from ", sonde_object_kind_name(f->op));
        sonde_name_callers(q, out, view->rows.items[row].node, 2);
    } else if (view->by == SONDE_BY_MODULE && row) {
        module_label(out, f);
    } else if (row && (view->by == SONDE_BY_FUNCTION || is_folded(f))) {
        sonde_name_routine(q, out, &node);
    } else {
        sonde_name_frame(q, out, &node);
    }
}

/* Overloaded functions, files of one name, work that was prepared in different contexts: what the short label leaves out. */
static void long_label(const struct sonde_query *q, const struct sonde_profile_rows *view, size_t row, struct sonde_text *out)
{
    const struct sonde_profile_frame *f = &view->rows.items[row].frame;
    if (f->kind == SONDE_PROFILE_OBJECT) {
        sonde_text_format(out, "%s from ", sonde_object_kind_name(f->op));
        sonde_name_callers(q, out, view->rows.items[row].node, 8);
        return;
    }
    if (f->kind == SONDE_FRAME_LINK && f->offset) {
        sonde_text_add(out, "prepared in ");
        sonde_name_callers(q, out, (uint32_t)f->offset, 8);
        return;
    }
    if ((f->kind != SONDE_FRAME_NATIVE && f->kind != SONDE_FRAME_PYTHON) || (!*f->name && view->by != SONDE_BY_MODULE)) {
        sonde_row_label(q, view, row, out);
        return;
    }
    sonde_text_add(out, f->name);
    if (*f->file)
        sonde_text_format(out, f->line ? "%s%s:%u" : "%s%s", out->length ? " " : "", f->file, f->line);
    if (*f->module && (!*f->file || f->kind == SONDE_FRAME_NATIVE))
        sonde_text_format(out, "%s%s", out->length ? " " : "", f->module);
}

/* Marks rows that read as another one of their parent does. */
static int find_alike(const struct sonde_profile_rows *view, char **labels, bool *alike)
{
    struct sonde_intern seen = {0};
    uint32_t *first = calloc(view->rows.count + 1, sizeof *first); /* [id]: row that had the text first */
    struct sonde_text key = {0};
    int rc = first ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < view->rows.count && !rc; i++) {
        const uint32_t before = seen.count;
        key.length = 0;
        sonde_text_format(&key, "%u %s", view->rows.items[i].parent, labels[i]);
        const uint32_t id = sonde_intern_text(&seen, sonde_text_get(&key));
        rc = id ? 0 : SONDE_ENOMEM;
        if (seen.count > before)
            first[id] = i;
        else if (id && first[id]) /* of row 0 too the parent is 0 */
            alike[i] = alike[first[id]] = true;
    }
    sonde_text_fini(&key);
    sonde_intern_fini(&seen);
    free(first);
    return rc;
}

static int relabel(const struct sonde_query *q, const struct sonde_profile_rows *view, char **labels, bool numbered)
{
    bool *alike = calloc(view->rows.count, sizeof *alike);
    int rc = alike ? find_alike(view, labels, alike) : SONDE_ENOMEM;
    for (size_t i = 0; i < view->rows.count && !rc; i++) {
        struct sonde_text text = {0};
        if (!alike[i])
            continue;
        long_label(q, view, i, &text);
        if (numbered)
            sonde_text_format(&text, " #%u", view->rows.items[i].node);
        free(labels[i]);
        labels[i] = strdup(sonde_text_get(&text));
        rc = labels[i] ? 0 : SONDE_ENOMEM;
        sonde_text_fini(&text);
    }
    free(alike);
    return rc;
}

char **sonde_row_labels(const struct sonde_query *q, const struct sonde_profile_rows *view)
{
    char **labels = calloc(view->rows.count + 1, sizeof *labels);
    int rc = labels ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < view->rows.count && !rc; i++) {
        struct sonde_text text = {0};
        sonde_row_label(q, view, i, &text);
        labels[i] = strdup(sonde_text_get(&text));
        rc = labels[i] ? 0 : SONDE_ENOMEM;
        sonde_text_fini(&text);
    }
    for (int numbered = 0; numbered < 2 && !rc; numbered++)
        rc = relabel(q, view, labels, numbered);
    if (!rc)
        return labels;
    sonde_row_labels_free(labels, view);
    return NULL;
}

void sonde_row_labels_free(char **labels, const struct sonde_profile_rows *view)
{
    for (size_t i = 0; labels && i < view->rows.count; i++)
        free(labels[i]);
    free(labels);
}
