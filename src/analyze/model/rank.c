/* rank.c - see rank.h. */
#include "rank.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *sonde_rank_text(const struct sonde_process *p, char out[SONDE_RANK_MAX])
{
    const struct sonde_live_header *h = &p->header;
    out[0] = 0;
    if (h->rank && h->rank_count)
        snprintf(out, SONDE_RANK_MAX, "rank %u of %u", h->rank - 1, h->rank_count);
    else if (h->rank)
        snprintf(out, SONDE_RANK_MAX, "rank %u", h->rank - 1);
    return out;
}

size_t sonde_host_length(const char *name)
{
    size_t length = strlen(name);
    for (int dashes = 0; length && dashes < 2;)
        if (name[--length] == '-')
            dashes++;
    return length ? length : strlen(name);
}

static void set(json_t *object, const char *key, bool known, uint32_t value)
{
    json_object_set_new(object, key, known ? json_integer(value) : json_null());
}

void sonde_rank_json(const struct sonde_process *p, json_t *object)
{
    const struct sonde_live_header *h = &p->header;
    set(object, "rank", h->rank, h->rank - 1);
    set(object, "local_rank", h->local_rank, h->local_rank - 1);
    set(object, "ranks", h->rank_count, h->rank_count);
}
