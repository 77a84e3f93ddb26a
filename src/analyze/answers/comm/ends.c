/* ends.c - from where to where an operation moves bytes: by its kind, and by what the runtime said of its two ends.
 *
 * docs/communication.md, "From where to where", is the same as a table.
 */
#include "comm.h"

#include "base/kinds.h"

static const struct sonde_comm_end host = {.where = SONDE_COMM_HOST};
static const struct sonde_comm_end unknown = {.where = SONDE_COMM_UNKNOWN};

static struct sonde_comm_end on(uint32_t device)
{
    return device ? (struct sonde_comm_end){.where = SONDE_COMM_DEVICE, .device = device} : unknown;
}

/* One end, as the runtime named its memory. `told`: the device it named; 0 none, and then memory of a device is that of the
 * queue (`device`), on which the copy ran. */
static struct sonde_comm_end told_end(uint16_t memory, uint32_t told, uint32_t device)
{
    switch (memory) {
    case SONDE_MEMORY_PAGEABLE:
    case SONDE_MEMORY_PINNED:
    case SONDE_MEMORY_HOST: return host;
    case SONDE_MEMORY_DEVICE:
    case SONDE_MEMORY_ARRAY: return on(told ? told : device);
    default: return unknown; /* managed memory is on either side, and moves */
    }
}

/* Between devices: the queue's may be either. */
static void between(const struct sonde_row_work *work, struct sonde_comm_end *from, struct sonde_comm_end *to)
{
    *from = on(work ? work->source_device : 0);
    *to = on(work ? work->target_device : 0);
}

static bool is_migration(uint32_t kind)
{
    return kind == SONDE_OP_MIGRATE || kind == SONDE_OP_SVM_MIGRATE;
}

/* Kinds whose kind does not say it all. */
static void by_work(uint32_t kind, const struct sonde_row_work *work, uint32_t device, struct sonde_comm_end *from, struct sonde_comm_end *to)
{
    *from = *to = unknown;
    if (is_migration(kind)) {
        *to = work ? told_end(work->target, 0, device) : on(device);
    } else if (work) {
        *from = told_end(work->source, work->source_device, device);
        *to = told_end(work->target, work->target_device, device);
    } else if (kind == SONDE_OP_COPY || kind == SONDE_OP_IMAGE_COPY) {
        *from = *to = on(device);
    }
}

bool sonde_comm_ends(uint32_t kind, const struct sonde_row_work *work, uint32_t device, struct sonde_comm_end *from,
                     struct sonde_comm_end *to)
{
    if (sonde_op_kind_group(kind) != SONDE_GROUP_COPY)
        return false;
    switch (sonde_op_kind_way(kind)) {
    case SONDE_WAY_TO_DEVICE:
        *from = host;
        *to = on(device);
        break;
    case SONDE_WAY_FROM_DEVICE:
        *from = on(device);
        *to = host;
        break;
    case SONDE_WAY_ON_HOST: *from = *to = host; break;
    case SONDE_WAY_BETWEEN: between(work, from, to); break;
    default: by_work(kind, work, device, from, to); break;
    }
    return true;
}

bool sonde_comm_end_equal(struct sonde_comm_end a, struct sonde_comm_end b)
{
    return a.where == b.where && a.device == b.device && a.other == b.other;
}
