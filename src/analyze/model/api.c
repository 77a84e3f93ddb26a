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
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return frame && frame->kind == SONDE_FRAME_API && frame->offset >= SONDE_API_SLEEPS;
}

enum sonde_api_class sonde_api_class_of_node(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return frame && frame->kind == SONDE_FRAME_API ? sonde_api_class(sonde_process_string(p, frame->name)) : SONDE_API_OTHER;
}
