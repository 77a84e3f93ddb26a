/* rows.c - print the values of a measurement as text, for run.py.
 *
 *     missed OPERATION WHY COUNT
 *     value OPERATION OBJECT FLAGS ELEMENT_BYTES OPERATIONS BYTES  ELEMENTS UNCHANGED of 1, 2, 4 and 8 bytes
 *     access KERNEL OBJECT WHAT TYPE ELEMENT_BYTES ELEMENTS OR AND LEAST MOST CHECKED EQUAL LINED VALUE SLOPE OFFSET
 *     line KERNEL OBJECT FILE LINE
 *
 * OPERATION: the kernel, else the API call.
 */
#include <inttypes.h>
#include <stdio.h>

#include "format/reader.h"

static const char *operation(const struct sonde_process *p, uint32_t id)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    const struct sonde_row_frame *f = node ? &p->frames[node->frame] : NULL;
    if (f && f->kind == SONDE_FRAME_OP && !f->name)
        f = &p->frames[sonde_process_node(p, node->parent, NULL)->frame];
    return f ? sonde_process_string(p, f->name) : "?";
}

int main(int argc, char **argv)
{
    struct sonde_measurement *m;
    struct sonde_diag diag = {0};
    if (argc < 2 || sonde_measurement_open(argv[1], &m, &diag))
        return 1;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        const struct sonde_row_value *v = p->tables[SONDE_TABLE_VALUE].rows;
        for (uint32_t k = 1; k < p->tables[SONDE_TABLE_VALUE].count; k++)
            if (!v[k].object)
                printf("missed %s %u %" PRIu64 "\n", operation(p, v[k].node), v[k].missed, v[k].operations);
            else
                printf("value %s %u %u %u %" PRIu64 " %" PRIu64 "  %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                       " %" PRIu64 "\n",
                       operation(p, v[k].node), v[k].object, v[k].flags, v[k].element_bytes, v[k].operations, v[k].bytes, v[k].elements1, v[k].unchanged1,
                       v[k].elements2, v[k].unchanged2, v[k].elements4, v[k].unchanged4, v[k].elements8, v[k].unchanged8);
        const struct sonde_row_access *a = p->tables[SONDE_TABLE_ACCESS].rows;
        for (uint32_t k = 1; k < p->tables[SONDE_TABLE_ACCESS].count; k++)
            if (!a[k].element_bytes)
                printf("line %s %u %s %u\n", operation(p, a[k].node), a[k].object, a[k].file ? sonde_process_string(p, a[k].file) : "-", a[k].line);
            else
                printf("access %s %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64
                       " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n",
                       operation(p, a[k].node), a[k].object, a[k].what, a[k].type, a[k].element_bytes, a[k].elements, a[k].any, a[k].all,
                       (int64_t)a[k].least, (int64_t)a[k].most, a[k].checked, a[k].equal, a[k].lined, a[k].value, (int64_t)a[k].slope, (int64_t)a[k].offset);
    }
    sonde_measurement_close(m);
    return 0;
}
