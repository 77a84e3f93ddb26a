/* api.c - see api.h. */
#include "api.h"

#include <string.h>

#include "runtimes.h"

enum sonde_api_class sonde_api_class(const char *name)
{
    return sonde_runtime_class(name, strcspn(name, "_")); /* without "_v2", "_ptsz" and the like */
}

bool sonde_api_sleeps(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    const struct sonde_row_frame *frame = row && row->frame < p->frame_count ? &p->frames[row->frame] : NULL;
    return frame && frame->kind == SONDE_FRAME_API && frame->offset >= SONDE_API_SLEEPS;
}

enum sonde_api_class sonde_api_class_of_node(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    if (!row || row->frame >= p->frame_count || p->frames[row->frame].kind != SONDE_FRAME_API)
        return SONDE_API_OTHER;
    return sonde_api_class(sonde_process_string(p, p->frames[row->frame].name));
}
