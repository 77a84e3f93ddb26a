/* contexts.c - the view `contexts`, an older name of `profile`.
 *
 * Its JSON is the tree itself, every frame a nested object. A node's share is
 * that of its inclusive device time in the whole; where no operation has device
 * times, of its operations. Children come heaviest first.
 */
#include <stdlib.h>

#include "analyze/answers/summary/caveats.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column side_columns[] = {
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "completed operations"},
    {"device_ns", NULL, SONDE_CELL_TIME, 0, 0, "device time"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes moved"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "those that ended with an error"},
    {"api_calls", NULL, SONDE_CELL_COUNT, 0, 0, "API calls"},
    {"api_ns", NULL, SONDE_CELL_TIME, 0, 0, "host time in them"},
    {"queue_ns", NULL, SONDE_CELL_TIME, 0, 0, "time from the API call to the start on the device"},
};
static const struct sonde_view_columns side = SONDE_VIEW_COLUMNS("side", side_columns);

static const struct sonde_view_column metric_columns[] = {
    {"inclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "of this frame and its callees", .of = &side},
    {"exclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "of this frame alone", .of = &side},
};
static const struct sonde_view_columns metrics = SONDE_VIEW_COLUMNS("metrics", metric_columns);

static const struct sonde_view_columns nodes; /* it has such children */
static const struct sonde_view_column node_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"offset", NULL, SONDE_CELL_ID, 0, 0, "offset in the module, for native code without a known function; else absent"},
    {"operation", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation, for a leaf; else absent"},
    {"label", NULL, SONDE_CELL_TEXT, 0, 0, "label in the view profile"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "root, native, python, api, operation, unknown, cut, link, range"},
    {"metrics", NULL, SONDE_CELL_OBJECT, 0, 0, "its metrics", .of = &metrics},
    {"children", NULL, SONDE_CELL_LIST, 0, 0, "callees, largest first", .of = &nodes},
};
static const struct sonde_view_columns nodes = SONDE_VIEW_COLUMNS("nodes", node_columns);

/* ---- the tree -------------------------------------------------------------------------------- */

static double weight(const struct sonde_query *q, const struct sonde_cct_node *node)
{
    const bool by_time = q->profile->nodes.items[0].total.device_ns > 0;
    return by_time ? (double)node->total.device_ns : (double)node->total.operations;
}

struct child {
    uint32_t node;
    double weight;
    uint64_t api_ns;
};

static int heavier(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->api_ns != b->api_ns)
        return a->api_ns < b->api_ns ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* A tree is walked with a stack of its own: Python's can be thousands deep. */
struct step {
    struct child *list;
    size_t count, at;
    struct sonde_view_table *into;
};
typedef SONDE_VECTOR(struct step) steps;

/* Children worth showing, heaviest first, come into `into`. */
static int push(const struct sonde_query *q, steps *stack, uint32_t parent, struct sonde_view_table *into)
{
    const struct sonde_cct_node *all = q->profile->nodes.items;
    SONDE_VECTOR(struct child) list = {0};
    int rc = 0;
    for (uint32_t at = all[parent].first_child; at && !rc; at = all[at].next_sibling) {
        const double w = weight(q, &all[at]);
        if (!(q->min_percent > 0 && w * 100 < weight(q, all) * q->min_percent))
            rc = sonde_vector_push(&list, (struct child){at, w, all[at].total.api_ns});
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, heavier);
    if (!rc)
        rc = sonde_vector_push(stack, (struct step){.list = list.items, .count = list.count, .into = into});
    if (rc)
        sonde_vector_fini(&list);
    return rc;
}

static void side_cell(struct sonde_view_table *t, const struct sonde_metrics *m)
{
    struct sonde_view_table *object = sonde_cell_object(t);
    sonde_cell_int(object, true, m->operations);
    sonde_cell_int(object, m->timed > 0, m->device_ns);
    sonde_cell_int(object, true, m->bytes);
    sonde_cell_int(object, true, m->failed);
    sonde_cell_int(object, true, m->api_calls);
    sonde_cell_int(object, true, m->api_ns);
    sonde_cell_int(object, m->timed > 0, m->queue_ns);
}

static void place_cells(struct sonde_view_table *t, const struct sonde_cct_node *node)
{
    const bool unnamed_op = node->kind == SONDE_FRAME_OP && !*node->name;
    sonde_cell_text(t, node->kind == 0 ? "all" : (unnamed_op ? sonde_op_kind_name(node->op) : node->name));
    sonde_cell_text(t, node->file);
    sonde_cell_int(t, node->line > 0, node->line);
    sonde_cell_text(t, node->module);
    if (node->kind == SONDE_FRAME_NATIVE && !*node->name)
        sonde_cell_int(t, true, node->offset);
    else
        sonde_cell_absent(t);
    if (node->kind == SONDE_FRAME_OP)
        sonde_cell_text(t, sonde_op_kind_name(node->op));
    else
        sonde_cell_absent(t);
}

/* Returns the table of its children. */
static struct sonde_view_table *node_row(struct sonde_view_table *t, const struct sonde_query *q,
                                         const struct sonde_cct_node *node)
{
    struct sonde_text label = {0};
    sonde_name_frame(q, &label, node);
    place_cells(t, node);
    sonde_cell_take(t, &label);
    sonde_cell_text(t, sonde_name_frame_kind(node->kind));
    struct sonde_view_table *both = sonde_cell_object(t);
    side_cell(both, &node->total);
    side_cell(both, &node->self);
    return sonde_cell_list(t);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    const struct sonde_cct_node *all = q->profile->nodes.items;
    steps stack = {0};
    if (!q->complete)
        return sonde_view_profile.make(q, out, diag);
    out->root = sonde_view_table(out, &nodes);
    int rc = push(q, &stack, 0, node_row(out->root, q, all));
    while (stack.count) {
        struct step *top = &stack.items[stack.count - 1];
        if (rc || top->at == top->count) {
            free(top->list);
            stack.count--;
            continue;
        }
        const uint32_t node = top->list[top->at++].node;
        rc = push(q, &stack, node, node_row(top->into, q, &all[node]));
    }
    sonde_vector_fini(&stack);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot show the profile of") : 0;
}

const struct sonde_view sonde_view_contexts = {
    .name = "contexts",
    .summary = "the same as profile",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&nodes, NULL},
    .options = (const char *const[]){"top-down", "bottom-up", "by", "metric", "derive", "sort", "root", "ids", "depth",
                                     "min-percent", NULL},
    .caveats = SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_LIBRARIES,
    .needs_operations = true,
    .hidden = true,
    .make = make,
};
