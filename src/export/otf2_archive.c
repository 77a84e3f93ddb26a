/* otf2_archive.c - see otf2_archive.h. The order of calls is that of OTF2's own example (otf2_writer_example.c). */
#include "otf2_archive.h"

#include <errno.h>
#include <stdarg.h>

#include "base/utf8.h"

/* The library clears a buffer for each location's events, and definitions: small ones, but a group of 100,000 locations fits. */
enum { DEFINITIONS_BYTES = 1 << 20 };

/* ---- errors ------------------------------------------------------------------------- */

/* Of the library's calls, which keeps one callback for all archives: it says some errors to this alone, and would print them. */
static int first_errno;

static OTF2_ErrorCode note_error(void *user, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format, va_list args)
{
    (void)user, (void)file, (void)line, (void)function, (void)format, (void)args;
    if (!first_errno)
        first_errno = errno ? errno : EIO;
    return code;
}

static void fail(struct otf_archive *a, int error)
{
    if (!a->failed)
        sonde_out_fail(a->out, error);
    a->failed = true;
}

void otf_check(struct otf_archive *a, OTF2_ErrorCode code)
{
    if (code == OTF2_SUCCESS)
        return;
    fail(a, code == OTF2_ERROR_MEM_ALLOC_FAILED || code == OTF2_ERROR_MEM_FAULT ? ENOMEM
            : code == OTF2_ERROR_ENOSPC                                         ? ENOSPC
            : first_errno                                                       ? first_errno
                                                                                : EIO);
}

static void check_room(struct otf_archive *a, bool there)
{
    if (!there)
        fail(a, ENOMEM);
}

static OTF2_FlushType always(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* ---- what is defined ------------------------------------------------------------------ */

uint32_t otf_string(struct otf_archive *a, const char *text)
{
    const char *clean = sonde_utf8_clean(text, &a->clean);
    const uint32_t id = sonde_intern_text(&a->strings, clean);
    check_room(a, id || !*clean);
    return id;
}

uint32_t otf_region(struct otf_archive *a, const char *name, const char *file, uint32_t line, OTF2_RegionRole role, OTF2_Paradigm paradigm)
{
    const struct otf_region region = {otf_string(a, name), otf_string(a, file), line, role, paradigm};
    a->key.length = 0;
    sonde_text_format(&a->key, "%u %u %u %u %u", region.name, region.file, line, role, paradigm);
    const uint32_t id = sonde_intern_text(&a->by_region, sonde_text_get(&a->key));
    check_room(a, id);
    if (id > a->regions.count)
        check_room(a, !sonde_vector_push(&a->regions, region));
    return id ? id - 1 : 0;
}

uint32_t otf_node(struct otf_archive *a, const char *host)
{
    const uint32_t name = otf_string(a, host);
    for (size_t i = 0; i < a->nodes.count; i++)
        if (a->nodes.items[i] == name)
            return (uint32_t)i;
    check_room(a, !sonde_vector_push(&a->nodes, name));
    return (uint32_t)a->nodes.count - 1;
}

uint32_t otf_group(struct otf_archive *a, const char *name, uint32_t node, OTF2_LocationGroupType type, uint32_t creator)
{
    check_room(a, !sonde_vector_push(&a->groups, (struct otf_group){otf_string(a, name), node, creator, type}));
    return (uint32_t)a->groups.count - 1;
}

uint32_t otf_location(struct otf_archive *a, const char *name, OTF2_LocationType type, uint32_t group)
{
    check_room(a, !sonde_vector_push(&a->locations, (struct otf_location){otf_string(a, name), group, type, 0}));
    return (uint32_t)a->locations.count - 1;
}

/* ---- events --------------------------------------------------------------------------- */

OTF2_EvtWriter *otf_open(struct otf_archive *a, uint32_t location)
{
    OTF2_EvtWriter *writer = a->failed ? NULL : OTF2_Archive_GetEvtWriter(a->archive, location);
    if (!writer)
        otf_check(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
    return writer;
}

void otf_close(struct otf_archive *a, uint32_t location, OTF2_EvtWriter *writer)
{
    if (writer && location < a->locations.count) {
        otf_check(a, OTF2_EvtWriter_GetNumberOfEvents(writer, &a->locations.items[location].events));
        otf_check(a, OTF2_Archive_CloseEvtWriter(a->archive, writer));
    }
}

void otf_attach(struct otf_archive *a, OTF2_AttributeRef attribute, uint64_t value)
{
    if (attribute == OTF_ATTRIBUTE_CONTEXT)
        otf_check(a, OTF2_AttributeList_AddCallingContextRef(a->attributes, attribute, (OTF2_CallingContextRef)value));
    else
        otf_check(a, OTF2_AttributeList_AddUint64(a->attributes, attribute, value));
}

OTF2_TimeStamp otf_time(struct otf_archive *a, uint64_t ns)
{
    a->first_ns = ns < a->first_ns ? ns : a->first_ns;
    a->last_ns = ns > a->last_ns ? ns : a->last_ns;
    return ns;
}

/* ---- the whole -------------------------------------------------------------------------- */

void otf_begin(struct otf_archive *a, struct sonde_out *out)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = always};
    *a = (struct otf_archive){.out = out, .first_ns = UINT64_MAX};
    first_errno = errno = 0;
    OTF2_Error_RegisterCallback(note_error, NULL);
    a->archive = OTF2_Archive_Open(sonde_out_path(out), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN, DEFINITIONS_BYTES,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    a->attributes = OTF2_AttributeList_New();
    if (!a->archive || !a->attributes) {
        otf_check(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
        return;
    }
    otf_check(a, OTF2_Archive_SetFlushCallbacks(a->archive, &flush, NULL));
    otf_check(a, OTF2_Archive_SetSerialCollectiveCallbacks(a->archive));
    otf_check(a, OTF2_Archive_SetCreator(a->archive, "sonde " SONDE_VERSION));
    otf_check(a, OTF2_Archive_OpenEvtFiles(a->archive));
}

static void define_places(struct otf_archive *a)
{
    OTF2_GlobalDefWriter *d = a->definitions;
    const uint32_t machine = otf_string(a, "machine"), node = otf_string(a, "node");
    for (uint32_t i = 0; i <= a->strings.count; i++)
        otf_check(a, OTF2_GlobalDefWriter_WriteString(d, i, sonde_intern_get(&a->strings, i)));
    otf_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (uint32_t i = 0; i < a->nodes.count; i++)
        otf_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(d, i + 1, a->nodes.items[i], node, 0));
    for (uint32_t i = 0; i < a->groups.count; i++) {
        const struct otf_group *g = &a->groups.items[i];
        otf_check(a, OTF2_GlobalDefWriter_WriteLocationGroup(d, i, g->name, g->type, g->node + 1,
                                                             g->creator == OTF_NONE ? OTF2_UNDEFINED_LOCATION_GROUP : g->creator));
    }
    for (uint32_t i = 0; i < a->locations.count; i++) {
        const struct otf_location *l = &a->locations.items[i];
        otf_check(a, OTF2_GlobalDefWriter_WriteLocation(d, i, l->name, l->type, l->events, l->group));
    }
    for (uint32_t i = 0; i < a->regions.count; i++) {
        const struct otf_region *r = &a->regions.items[i];
        otf_check(a, OTF2_GlobalDefWriter_WriteRegion(d, i, r->name, r->name, 0, r->role, r->paradigm, OTF2_REGION_FLAG_NONE, r->file, r->line, 0));
    }
}

void otf_define(struct otf_archive *a, uint64_t real_ns)
{
    const bool some = a->first_ns <= a->last_ns;
    /* Readers want a file of each. */
    for (uint32_t i = 0; i < a->locations.count; i++)
        if (!a->locations.items[i].events)
            otf_close(a, i, otf_open(a, i));
    if (a->failed)
        return;
    otf_check(a, OTF2_Archive_CloseEvtFiles(a->archive));
    otf_check(a, OTF2_Archive_OpenDefFiles(a->archive));
    for (uint32_t i = 0; i < a->locations.count && !a->failed; i++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(a->archive, i);
        otf_check(a, local ? OTF2_Archive_CloseDefWriter(a->archive, local) : OTF2_ERROR_FILE_CAN_NOT_OPEN);
    }
    otf_check(a, OTF2_Archive_CloseDefFiles(a->archive));
    a->definitions = a->failed ? NULL : OTF2_Archive_GetGlobalDefWriter(a->archive);
    if (!a->definitions) {
        otf_check(a, OTF2_ERROR_FILE_CAN_NOT_OPEN);
        return;
    }
    otf_check(a, OTF2_GlobalDefWriter_WriteClockProperties(a->definitions, 1000000000, some ? a->first_ns : 0,
                                                           some ? a->last_ns - a->first_ns : 0, some ? real_ns + a->first_ns : real_ns));
    define_places(a);
}

void otf_end(struct otf_archive *a)
{
    if (!a->failed)
        otf_check(a, OTF2_Archive_CloseGlobalDefWriter(a->archive, a->definitions));
    if (a->archive)
        otf_check(a, OTF2_Archive_Close(a->archive));
    a->archive = NULL;
    if (first_errno)
        fail(a, first_errno);
}

void otf_fini(struct otf_archive *a)
{
    if (a->attributes)
        OTF2_AttributeList_Delete(a->attributes);
    OTF2_Error_RegisterCallback(NULL, NULL);
    sonde_vector_fini(&a->regions);
    sonde_vector_fini(&a->locations);
    sonde_vector_fini(&a->groups);
    sonde_vector_fini(&a->nodes);
    sonde_intern_fini(&a->strings);
    sonde_intern_fini(&a->by_region);
    sonde_text_fini(&a->clean);
    sonde_text_fini(&a->key);
}
