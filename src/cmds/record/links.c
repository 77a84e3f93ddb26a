/* links.c - what the NVLinks of each device carried while the program ran (--comm): the driver's counters before and after it, of everybody's
 * bytes. The view comm has them beside what the program's operations account for.
 *
 * A device whose counters the driver does not have, or which has no links, is left out; so is all of it where there is no driver.
 */
#include <stdio.h>
#include <stdlib.h>

#include "monitor/gpus.h"
#include "record.h"

struct record_links {
    size_t count;
    struct counted { double sent, received; } *before; /* [device] */
};

/* By a reader of its own: one that looks again within a second tells what it told before. */
static struct sonde_gpus *look(void)
{
    struct sonde_gpus *gpus = sonde_gpus_create();
    if (!gpus)
        return NULL;
    sonde_gpus_read(gpus);
    if (sonde_gpus_show(gpus) == 0)
        return gpus;
    sonde_gpus_destroy(gpus);
    return NULL;
}

struct record_links *record_links_begin(void)
{
    struct sonde_gpus *gpus = look();
    struct record_links *l = gpus ? calloc(1, sizeof *l) : NULL;
    if (l)
        l->before = calloc(gpus->count + 1, sizeof *l->before);
    for (size_t i = 0; l && l->before && i < gpus->count; i++)
        l->before[l->count++] = (struct counted){gpus->gpus[i].value[SONDE_GPU_NVLINK_SENT], gpus->gpus[i].value[SONDE_GPU_NVLINK_RECEIVED]};
    sonde_gpus_destroy(gpus);
    return l;
}

static void add_device(json_t *all, const struct sonde_gpu *gpu, const struct counted *before)
{
    const double sent = gpu->value[SONDE_GPU_NVLINK_SENT] - before->sent, received = gpu->value[SONDE_GPU_NVLINK_RECEIVED] - before->received;
    if (!(gpu->value[SONDE_GPU_NVLINK_LINKS] > 0) || !(sent >= 0) || !(received >= 0)) /* NAN: not known; less than nothing: the driver began again */
        return;
    json_t *one = json_object();
    json_object_set_new(one, "pci", json_string(gpu->bus));
    json_object_set_new(one, "name", json_string(gpu->name));
    json_object_set_new(one, "sent_bytes", json_integer((json_int_t)sent));
    json_object_set_new(one, "received_bytes", json_integer((json_int_t)received));
    json_array_append_new(all, one);
}

void record_links_end(struct record_links *l, json_t *manifest)
{
    struct sonde_gpus *gpus = l && l->count ? look() : NULL;
    json_t *all = json_array();
    for (size_t i = 0; gpus && i < gpus->count && i < l->count; i++)
        add_device(all, &gpus->gpus[i], &l->before[i]);
    if (json_array_size(all))
        json_object_set(manifest, "nvlinks", all);
    json_decref(all);
    sonde_gpus_destroy(gpus);
    if (l)
        free(l->before);
    free(l);
}
