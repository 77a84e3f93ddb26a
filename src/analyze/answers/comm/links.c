/* links.c - what links carried (record --comm: the driver's counters, in the manifest), beside what the pairs account for. */
#include <jansson.h>

#include "base/option.h"
#include "comm.h"

static bool is_there(const struct sonde_measurement *m, uint32_t process, struct sonde_comm_end end, uint32_t pci)
{
    const struct sonde_process *p = &m->processes[process];
    return end.where == SONDE_COMM_DEVICE && end.device < p->device_count && p->devices[end.device].pci == pci;
}

/* Between two devices, of which this is the one that sends, or receives. What a rank sends in a collective goes to others, whoever they are. */
static uint64_t known(const struct sonde_measurement *m, const struct sonde_comm *c, uint32_t pci, bool sends)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->pairs.count && pci; i++) {
        const struct sonde_comm_pair *p = &c->pairs.items[i].pair;
        const struct sonde_comm_end here = sends ? p->from : p->to, there = sends ? p->to : p->from;
        const bool leaves = there.where == SONDE_COMM_DEVICE || (sends && p->kind == SONDE_COMM_COLLECTIVE);
        if (is_there(m, sonde_comm_process(p, here), here, pci) && leaves && !is_there(m, sonde_comm_process(p, there), there, pci))
            bytes += c->pairs.items[i].sum.bytes + c->pairs.items[i].sum.flags + (uint64_t)c->pairs.items[i].sum.more.bytes;
    }
    return bytes;
}

static uint32_t number_of(const struct sonde_measurement *m, uint32_t pci)
{
    for (uint32_t i = 0; i < m->process_count && pci; i++)
        for (uint32_t d = 1; d < m->processes[i].device_count; d++)
            if (m->processes[i].devices[d].pci == pci)
                return d;
    return 0;
}

static uint64_t bytes_of(const json_t *link, const char *key)
{
    const json_int_t bytes = json_integer_value(json_object_get(link, key));
    return bytes > 0 ? (uint64_t)bytes : 0;
}

int sonde__comm_links(const struct sonde_measurement *m, struct sonde_comm *comm)
{
    const json_t *all = json_object_get(m->manifest, "nvlinks"), *one;
    size_t index;
    json_array_foreach (all, index, one) {
        const char *address = json_string_value(json_object_get(one, "pci"));
        const uint32_t pci = sonde_parse_pci(address);
        const struct sonde_comm_link link = {
            .address = address ? address : "unknown",
            .device = number_of(m, pci),
            .sent = bytes_of(one, "sent_bytes"),
            .received = bytes_of(one, "received_bytes"),
            .sent_known = known(m, comm, pci, true),
            .received_known = known(m, comm, pci, false),
        };
        if (sonde_vector_push(&comm->links, link))
            return SONDE_ENOMEM;
    }
    return 0;
}
