/* report_contexts.c - the view `contexts`, an older name of `profile`.
 *
 * Its JSON is the tree itself, every frame a nested object. A node's share is
 * that of its inclusive device time in the whole; where no operation has device
 * times, of its operations. Children come heaviest first.
 */
#include "report.h"

static bool by_time(const struct report *r)
{
    return r->q.profile->nodes.items[0].total.device_ns > 0;
}

static double weight(const struct report *r, const struct sonde_cct_node *node)
{
    return by_time(r) ? (double)node->total.device_ns : (double)node->total.operations;
}

static double whole(const struct report *r)
{
    return weight(r, &r->q.profile->nodes.items[0]);
}

struct child { uint32_t node; double weight; uint64_t api_ns; };

static int heavier(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->api_ns != b->api_ns)
        return a->api_ns < b->api_ns ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Children worth showing, heaviest first. NULL when there are none. */
static struct child *children(const struct report *r, uint32_t parent, size_t *count)
{
    const struct sonde_cct_node *nodes = r->q.profile->nodes.items;
    SONDE_VECTOR(struct child) list = {0};
    int rc = 0;
    for (uint32_t at = nodes[parent].first_child; at && !rc; at = nodes[at].next_sibling) {
        double w = weight(r, &nodes[at]);
        if (!(r->q.min_percent > 0 && w * 100 < whole(r) * r->q.min_percent))
            rc = sonde_vector_push(&list, (struct child){at, w, nodes[at].total.api_ns});
    }
    *count = list.count;
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, heavier);
    return list.items;
}

/* A tree is walked with a stack of its own: Python's can be thousands deep. */
struct step { struct child *list; size_t count, at; };
typedef SONDE_VECTOR(struct step) steps;

static bool push(const struct report *r, steps *stack, uint32_t node)
{
    struct step step = {0};
    step.list = children(r, node, &step.count);
    if (!sonde_vector_push(stack, step))
        return true;
    free(step.list);
    return false;
}

int report_contexts_text(const struct report *r, struct sonde_diag *diag)
{
    return report_profile_text(r, diag);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *metrics_json(const struct sonde_metrics *m)
{
    return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:o}",
                     "operations", (json_int_t)m->operations,
                     "device_ns", report_json_ns(m->timed > 0, (double)m->device_ns),
                     "bytes", (json_int_t)m->bytes, "failed", (json_int_t)m->failed,
                     "api_calls", (json_int_t)m->api_calls, "api_ns", (json_int_t)m->api_ns,
                     "queue_ns", report_json_ns(m->timed > 0, (double)m->queue_ns));
}

static const char *kind_name(uint8_t kind)
{
    static const char *const names[] = {"root", "native", "python", "api", "operation", "unknown", "cut",
                                        "link", "range"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static json_t *node_json(const struct report *r, const struct sonde_cct_node *node)
{
    json_t *value = report_json_frame(node);
    struct sonde_text label = {0};
    if (node->kind == 0)
        json_object_set_new(value, "name", json_string("all"));
    if (node->kind == SONDE_FRAME_NATIVE && !*node->name)
        json_object_set_new(value, "offset", json_integer((json_int_t)node->offset));
    if (node->kind == SONDE_FRAME_OP) {
        json_object_set_new(value, "operation", json_string(sonde_op_kind_name(node->op)));
        if (!*node->name)
            json_object_set_new(value, "name", json_string(sonde_op_kind_name(node->op)));
    }
    sonde_name_frame(&r->q, &label, node);
    json_object_set_new(value, "label", report_json_text(sonde_text_get(&label)));
    json_object_set_new(value, "kind", json_string(kind_name(node->kind)));
    json_object_set_new(value, "metrics", json_pack("{s:o, s:o}", "inclusive", metrics_json(&node->total),
                                                    "exclusive", metrics_json(&node->self)));
    json_object_set_new(value, "children", json_array());
    sonde_text_fini(&label);
    return value;
}

json_t *report_contexts_json(const struct report *r, struct sonde_diag *diag)
{
    (void)diag;
    json_t *root = node_json(r, &r->q.profile->nodes.items[0]);
    SONDE_VECTOR(json_t *) parents = {0}; /* JSON node of each open level */
    steps stack = {0};
    bool ok = root && push(r, &stack, 0) && !sonde_vector_push(&parents, root);
    while (stack.count) {
        struct step *top = &stack.items[stack.count - 1];
        if (!ok || top->at == top->count) {
            free(top->list);
            stack.count--;
            parents.count -= parents.count > 0;
            continue;
        }
        uint32_t at = top->list[top->at++].node;
        json_t *value = node_json(r, &r->q.profile->nodes.items[at]);
        ok = value &&
             !json_array_append_new(json_object_get(parents.items[parents.count - 1], "children"), value) &&
             push(r, &stack, at) && !sonde_vector_push(&parents, value);
    }
    sonde_vector_fini(&stack);
    sonde_vector_fini(&parents);
    if (ok)
        return root;
    json_decref(root);
    return NULL;
}
