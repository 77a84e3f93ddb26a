/* nccl.c - see nccl.h. */
#include "nccl.h"

#include <stdio.h>
#include <string.h>

bool sonde_nccl_rank(const struct sonde_process *p, uint32_t lane, struct sonde_nccl_rank *out)
{
    const char *name = lane < p->lane_count ? sonde_process_string(p, p->lanes[lane].name) : "", *at = NULL;
    *out = (struct sonde_nccl_rank){.name = name};
    if (strncmp(name, "NCCL ", 5) != 0)
        return false;
    for (const char *next = name; (next = strstr(next, " rank ")); next++)
        at = next;
    out->length = at ? (size_t)(at - name) : 0;
    return at && sscanf(at, " rank %u of %u", &out->rank, &out->size) == 2;
}

bool sonde_nccl_same(const struct sonde_nccl_rank *a, const struct sonde_nccl_rank *b)
{
    return a->size == b->size && a->length == b->length && strncmp(a->name, b->name, a->length) == 0;
}

bool sonde_nccl_is(const char *operation, const char *function)
{
    const size_t length = strlen(function);
    return strncmp(operation, function, length) == 0 && (operation[length] == ' ' || !operation[length]);
}
