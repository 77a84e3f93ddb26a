/* kinds.c - see kinds.h. */
#include "kinds.h"

#include <string.h>

#include <stddef.h>

/* clang-format off */
const struct sonde__op_kind sonde__op_kinds[SONDE_OP_KIND_COUNT + 1] = {
#define X(kind, text, more, group, way, traits) \
    {text, sizeof more > 1 ? text " " more : NULL, SONDE_GROUP_##group, SONDE_WAY_##way, traits},
    SONDE_OP_KIND_MAP(X)
#undef X
    {"unknown", NULL, SONDE_GROUP_ORDER, SONDE_WAY_NONE, 0},
};
/* clang-format on */

/* ---- data objects --------------------------------------------------------------- */

/* clang-format off */
static const struct object {
    const char *name;
    uint8_t class, traits;
} objects[SONDE_OBJECT_KIND_COUNT + 1] = {
#define X(kind, text, class, traits) {text, SONDE_MEMORY_##class, traits},
    SONDE_OBJECT_KIND_MAP(X)
#undef X
    {"unknown", SONDE_MEMORY_ON_DEVICE, 0},
};
/* clang-format on */

static const struct object *object_of(uint32_t kind)
{
    return &objects[kind < SONDE_OBJECT_KIND_COUNT ? kind : SONDE_OBJECT_KIND_COUNT];
}

const char *sonde_object_kind_name(uint32_t kind)
{
    return object_of(kind)->name;
}

enum sonde_memory_class sonde_object_kind_class(uint32_t kind)
{
    return object_of(kind)->class;
}

bool sonde_object_kind_is(uint32_t kind, unsigned traits)
{
    return (object_of(kind)->traits & traits) != 0;
}

/* ---- names alone -------------------------------------------------------------------- */

/* A function that names the members of one of the lists. */
#define NAMES(function, MAP)                                                          \
    const char *function(uint32_t member)                                             \
    {                                                                                 \
        static const char *const names[] = {MAP(NAME)};                               \
        return member < sizeof names / sizeof *names ? names[member] : "unknown";     \
    }
#define NAME(name, text, ...) text,
NAMES(sonde_way_name, SONDE_WAY_MAP)
NAMES(sonde_drop_name, SONDE_DROP_MAP)
NAMES(sonde_memory_name, SONDE_MEMORY_MAP)
NAMES(sonde_limiter_name, SONDE_LIMITER_MAP)
NAMES(sonde_value_missed_text, SONDE_VALUE_MISSED_MAP)
NAMES(sonde_message_kind_name, SONDE_MESSAGE_KIND_MAP)
#undef NAME
#define NAME(name, json, text) text,
NAMES(sonde_way_text, SONDE_WAY_MAP)

bool sonde_counter_adds_up(const char *metric)
{
    const char *last = strrchr(metric, '.');
    return last && (strcmp(last, ".sum") == 0 || strcmp(last, ".avg") == 0);
}
