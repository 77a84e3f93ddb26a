/* links.c - print each calling context of kernels with the one it was prepared in: count|context|origin.
 *
 * A context is its Python frames and ranges, outermost first: name:line and [name].
 */
#include <stdio.h>
#include <string.h>

#include "analyze/symbols/pyline.h"
#include "format/reader.h"

static const struct sonde_process *p;

static void add(char *text, size_t size, const char *more)
{
    strncat(text, more, size - strlen(text) - 1);
}

static void frame_text(const struct sonde_row_frame *f, char *text, size_t size)
{
    char more[300];
    if (f->kind == SONDE_FRAME_RANGE) {
        snprintf(more, sizeof more, " [%s]", sonde_process_string(p, f->name));
    } else if (f->kind == SONDE_FRAME_PYTHON && f->module < p->pycode_count) {
        const struct sonde_row_pycode *code = &p->pycodes[f->module];
        const struct sonde_string *table = &p->strings[code->line_table];
        snprintf(more, sizeof more, " %s:%u", sonde_process_string(p, code->name),
                 sonde_pyline((const uint8_t *)table->bytes, table->length, code->version, code->first_line,
                              (uint32_t)f->offset));
    } else {
        return;
    }
    add(text, size, more);
}

/* The context of `id`, and in *origin the node that a link in it names. */
static void context_text(uint32_t id, char *text, size_t size, uint32_t *origin)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    if (!node)
        return;
    context_text(node->parent, text, size, origin);
    const struct sonde_row_frame *f = &p->frames[node->frame];
    if (f->kind == SONDE_FRAME_LINK)
        *origin = (uint32_t)f->offset;
    frame_text(f, text, size);
}

static int is_operation(uint32_t id)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    return node && p->frames[node->frame].kind == SONDE_FRAME_OP;
}

int main(int argc, char **argv)
{
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    if (argc != 2 || sonde_measurement_open(argv[1], &m, &diag) != 0) {
        fprintf(stderr, "usage: links MEASUREMENT (%s)\n", diag.what);
        return 2;
    }
    for (uint32_t i = 0; i < m->process_count; i++) {
        p = &m->processes[i];
        for (uint32_t k = 1; k < p->profile_count; k++) {
            char text[4096] = "", from[4096] = "";
            uint32_t origin = 0, none = 0;
            if (!p->profiles[k].lane || !is_operation(p->profiles[k].node))
                continue; /* else samples of the CPU side */
            context_text(p->profiles[k].node, text, sizeof text, &origin);
            context_text(origin, from, sizeof from, &none);
            printf("%llu|%s|%s\n", (unsigned long long)p->profiles[k].count, text, from);
        }
    }
    sonde_measurement_close(m);
    return 0;
}
