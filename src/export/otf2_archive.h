/* otf2_archive.h - an archive of OTF2 being written: locations with their events, and the definitions, which come last.
 *
 * OTF2 wants the times of a location in order, and to know of each how many events it has: so events are written
 * location after location, strings, regions and locations are numbered as they are first seen, and defined by
 * otf_finish. Errors stick, and are those of `out`. One thread at a time.
 */
#ifndef SONDE_EXPORT_OTF2_ARCHIVE_H
#define SONDE_EXPORT_OTF2_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "base/map.h"
#include "base/text.h"
#include "base/vector.h"
#include "out.h"

enum {
    OTF_NONE = UINT32_MAX,
    OTF_ATTRIBUTE_CORRELATION = 0,
    OTF_ATTRIBUTE_CONTEXT = 1,
    OTF_METRIC_BYTES = 0,  /* classes: bytes moved by an operation */
    OTF_METRIC_MEMORY = 1, /* allocated on a device */
};

struct otf_region {
    uint32_t name, file, line; /* names are references of strings */
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
};

struct otf_location {
    uint32_t name, group;
    OTF2_LocationType type;
    uint64_t events;
};

struct otf_group {
    uint32_t name, node, creator; /* creator OTF_NONE: none */
    OTF2_LocationGroupType type;
};

struct otf_archive {
    struct sonde_out *out;
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *definitions; /* while they are written */
    OTF2_AttributeList *attributes;    /* of the next event */
    bool failed;
    uint64_t first_ns, last_ns; /* of all events; first_ns UINT64_MAX: none */
    struct sonde_text clean, key;
    struct sonde_intern strings;   /* id is the reference; 0 is "" */
    struct sonde_intern by_region; /* id - 1 is the reference */
    SONDE_VECTOR(struct otf_region) regions;
    SONDE_VECTOR(struct otf_location) locations;
    SONDE_VECTOR(struct otf_group) groups;
    SONDE_VECTOR(uint32_t) nodes; /* of the system tree below its root: names of hosts */
};

/* Into the folder of `out`. All other functions do nothing after an error. */
void otf_begin(struct otf_archive *a, struct sonde_out *out);
void otf_fini(struct otf_archive *a);

uint32_t otf_string(struct otf_archive *a, const char *text);
uint32_t otf_region(struct otf_archive *a, const char *name, const char *file, uint32_t line, OTF2_RegionRole role, OTF2_Paradigm paradigm);
uint32_t otf_node(struct otf_archive *a, const char *host);
uint32_t otf_group(struct otf_archive *a, const char *name, uint32_t node, OTF2_LocationGroupType type, uint32_t creator);
uint32_t otf_location(struct otf_archive *a, const char *name, OTF2_LocationType type, uint32_t group);

/* Events of a location, in the order of time; NULL after an error, and then no events are written. */
OTF2_EvtWriter *otf_open(struct otf_archive *a, uint32_t location);
void otf_close(struct otf_archive *a, uint32_t location, OTF2_EvtWriter *writer);
/* What an event has besides; the next event takes it. */
void otf_attach(struct otf_archive *a, OTF2_AttributeRef attribute, uint64_t value);
/* The time of an event, noted. */
OTF2_TimeStamp otf_time(struct otf_archive *a, uint64_t ns);
/* Remember an error of the library. */
void otf_check(struct otf_archive *a, OTF2_ErrorCode code);

/* The definitions that follow from the above. The caller then adds its own to a->definitions, and ends. */
void otf_define(struct otf_archive *a, uint64_t real_ns);
void otf_end(struct otf_archive *a);

#endif
