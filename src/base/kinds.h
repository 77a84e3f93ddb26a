/* kinds.h - the tables of sonde/kinds.h, to look things up in. Any thread.
 *
 * Numbers may come from a file: of one that is beyond its list the name is
 * "unknown", the group ORDER, the class ON_DEVICE, and nothing else is true.
 */
#ifndef SONDE_BASE_KINDS_H
#define SONDE_BASE_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/kinds.h>

struct sonde__op_kind {
    const char *name, *title;
    uint8_t group, way;
    uint16_t traits;
};
extern const struct sonde__op_kind sonde__op_kinds[SONDE_OP_KIND_COUNT + 1]; /* the last: beyond the list */

static inline const struct sonde__op_kind *sonde__op_kind(uint32_t kind)
{
    return &sonde__op_kinds[kind < SONDE_OP_KIND_COUNT ? kind : SONDE_OP_KIND_COUNT];
}

static inline const char *sonde_op_kind_name(uint32_t kind)
{
    return sonde__op_kind(kind)->name;
}

/* In tables of copies: its name and its way; NULL: the name alone. */
static inline const char *sonde_op_kind_title(uint32_t kind)
{
    return sonde__op_kind(kind)->title;
}

static inline enum sonde_op_group sonde_op_kind_group(uint32_t kind)
{
    return (enum sonde_op_group)sonde__op_kind(kind)->group;
}

static inline enum sonde_way sonde_op_kind_way(uint32_t kind)
{
    return (enum sonde_way)sonde__op_kind(kind)->way;
}

/* Is any of these true of it (enum sonde_op_trait)? */
static inline bool sonde_op_kind_is(uint32_t kind, unsigned traits)
{
    return (sonde__op_kind(kind)->traits & traits) != 0;
}

/* Does code run on the device? */
static inline bool sonde_op_kind_runs(uint32_t kind)
{
    return sonde_op_kind_group(kind) == SONDE_GROUP_KERNEL;
}

/* Does it move or set bytes? */
static inline bool sonde_op_kind_moves(uint32_t kind)
{
    const enum sonde_op_group group = sonde_op_kind_group(kind);
    return group == SONDE_GROUP_COPY || group == SONDE_GROUP_SET;
}

/* Does an operation's time on the device count? Not of those that only order others or release memory; a collective is its kernel. */
static inline bool sonde_op_kind_counts(uint32_t kind)
{
    return kind == SONDE_OP_NONE || kind >= SONDE_OP_KIND_COUNT || /* what is lost may be anything */
           sonde_op_kind_group(kind) != SONDE_GROUP_ORDER;
}

/* Does this cause lose the operation itself, or (false) only its trace row? */
static inline bool sonde_drop_loses_operation(enum sonde_drop cause)
{
    return cause != SONDE_DROP_TRACE_FULL && cause != SONDE_DROP_DISK_FULL &&
           cause != SONDE_DROP_MAX_SIZE && cause != SONDE_DROP_PAGE;
}

const char *sonde_way_name(uint32_t way); /* in JSON */
const char *sonde_way_text(uint32_t way); /* in tables */

const char *sonde_object_kind_name(uint32_t kind);
enum sonde_memory_class sonde_object_kind_class(uint32_t kind);
/* Is any of these true of it (enum sonde_object_trait)? */
bool sonde_object_kind_is(uint32_t kind, unsigned traits);

const char *sonde_drop_name(uint32_t cause);      /* enum sonde_drop */
const char *sonde_memory_name(uint32_t memory);   /* enum sonde_memory */
const char *sonde_limiter_name(uint32_t limiter); /* enum sonde_limiter */
const char *sonde_message_kind_name(uint32_t kind); /* enum sonde_message_kind */
const char *sonde_value_missed_text(uint32_t why); /* enum sonde_value_missed; for a user */

/* CUPTI's last word on a metric: a sum or an average over units of what happened meanwhile adds up over time; a rate or a share does not. */
bool sonde_counter_adds_up(const char *metric);

#endif
