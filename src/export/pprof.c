/* pprof.c - the calling context tree as a profile of pprof: profile.proto, compressed with gzip.
 *
 * A profile is nothing but repeated fields and numbers, and messages that follow each other merge ("Merging",
 * protobuf.dev/programming-guides/encoding): each string, function, location and sample is packed as a profile of its
 * own, so that memory grows with the names alone.
 */
#include "export.h"

#include <string.h>
#include <zlib.h>

#include "base/utf8.h"
#include "names.h"
#include "pprof.pb-c.h"

typedef Sonde__Pprof__Profile Profile;

enum {
    VALUES_MOST = 16,
    PIECE_BYTES = 1 << 15,
};

struct writer {
    struct sonde_names names;
    struct sonde_out *out;
    z_stream zip;
    bool nomem;
    struct sonde_text clean;
    struct sonde_intern strings;                       /* id is the number in string_table: 0 is "" */
    struct sonde_intern functions, locations, modules; /* by what they hold */
    SONDE_VECTOR(uint64_t) location_of;                /* [tree node] */
    SONDE_VECTOR(uint8_t) packed;
    SONDE_VECTOR(uint64_t) stack;
};

/* ---- bytes ---------------------------------------------------------------------- */

static void squeeze(struct writer *w, const uint8_t *bytes, size_t size, int flush)
{
    uint8_t piece[PIECE_BYTES];
    w->zip.next_in = (uint8_t *)bytes;
    w->zip.avail_in = (unsigned)size;
    do {
        w->zip.next_out = piece;
        w->zip.avail_out = sizeof piece;
        deflate(&w->zip, flush);
        sonde_out_bytes(w->out, piece, sizeof piece - w->zip.avail_out);
    } while (w->zip.avail_out == 0);
}

static void send(struct writer *w, const Profile *profile)
{
    const size_t size = sonde__pprof__profile__get_packed_size(profile);
    if (size > w->packed.capacity) {
        uint8_t *larger = realloc(w->packed.items, 2 * size);
        if (!larger) {
            w->nomem = true;
            return;
        }
        w->packed.items = larger;
        w->packed.capacity = 2 * size;
    }
    squeeze(w, w->packed.items, sonde__pprof__profile__pack(profile, w->packed.items), Z_NO_FLUSH);
}

/* ---- tables --------------------------------------------------------------------- */

static int64_t string(struct writer *w, const char *text)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    const uint32_t before = w->strings.count;
    const char *clean = sonde_utf8_clean(text, &w->clean);
    const uint32_t id = sonde_intern_text(&w->strings, clean);
    w->nomem |= !id && *clean;
    if (id > before) {
        piece.n_string_table = 1;
        piece.string_table = (char **)&clean;
        send(w, &piece);
    }
    return id;
}

/* The id of what these three numbers stand for; *is_new: it was not there before. */
static uint64_t id_of(struct writer *w, struct sonde_intern *table, uint64_t a, uint64_t b, uint64_t c, bool *is_new)
{
    const uint64_t key[] = {a, b, c};
    const uint32_t before = table->count, id = sonde_intern_bytes(table, (const char *)key, sizeof key);
    w->nomem |= !id;
    *is_new = id > before;
    return id;
}

static uint64_t module_id(struct writer *w, const char *path)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    Sonde__Pprof__Mapping mapping = SONDE__PPROF__MAPPING__INIT, *pointer = &mapping;
    bool is_new;
    mapping.filename = string(w, path);
    mapping.id = id_of(w, &w->modules, (uint64_t)mapping.filename, 0, 0, &is_new);
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = mapping.has_inline_frames = 1;
    piece.n_mapping = 1;
    piece.mapping = &pointer;
    if (is_new)
        send(w, &piece);
    return mapping.id;
}

static uint64_t function_id(struct writer *w, const char *name, const char *file)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    Sonde__Pprof__Function function = SONDE__PPROF__FUNCTION__INIT, *pointer = &function;
    bool is_new;
    function.name = string(w, name);
    function.filename = string(w, file);
    function.id = id_of(w, &w->functions, (uint64_t)function.name, (uint64_t)function.filename, 0, &is_new);
    piece.n_function = 1;
    piece.function = &pointer;
    if (is_new)
        send(w, &piece);
    return function.id;
}

static uint64_t location_id(struct writer *w, uint32_t at)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    Sonde__Pprof__Location location = SONDE__PPROF__LOCATION__INIT, *pointer = &location;
    Sonde__Pprof__Line line = SONDE__PPROF__LINE__INIT, *lines = &line;
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    bool is_new;
    line.function_id = function_id(w, sonde_names_frame(&w->names, at, false), node->kind == SONDE_FRAME_RANGE ? "" : node->file);
    line.line = node->line;
    /* The module of a range is its domain, and stands in its name. */
    if (node->kind != SONDE_FRAME_RANGE && *node->module)
        location.mapping_id = module_id(w, node->module);
    location.id = id_of(w, &w->locations, line.function_id, node->line, location.mapping_id, &is_new);
    location.n_line = 1;
    location.line = &lines;
    piece.n_location = 1;
    piece.location = &pointer;
    if (is_new)
        send(w, &piece);
    return location.id;
}

/* ---- the profile ------------------------------------------------------------------ */

static void put_head(struct writer *w, const struct sonde_measurement *m)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    Sonde__Pprof__ValueType types[VALUES_MOST], *pointers[VALUES_MOST];
    const char *none = "";
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    piece.n_string_table = 1;
    piece.string_table = (char **)&none;
    send(w, &piece); /* string 0 is "" */
    piece.n_string_table = 0;
    for (const struct sonde_export_value *v = sonde_export_values; v->name; v++) {
        if (!sonde_export_value_known(v, w->names.profile))
            continue;
        Sonde__Pprof__ValueType *type = pointers[piece.n_sample_type] = &types[piece.n_sample_type];
        sonde__pprof__value_type__init(type);
        type->type = string(w, v->name);
        type->unit = string(w, v->unit);
        piece.n_sample_type++;
    }
    piece.sample_type = pointers;
    piece.default_sample_type = string(w, "device");
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_live_header *h = &m->processes[i].header;
        const uint64_t offset = h->wall_offset_ns; /* hosts have clocks of their own */
        if (h->start_ns + offset < first_ns)
            first_ns = h->start_ns + offset;
        if (h->stop_ns && h->stop_ns + offset > last_ns)
            last_ns = h->stop_ns + offset;
    }
    if (m->process_count) {
        piece.time_nanos = (int64_t)first_ns;
        piece.duration_nanos = last_ns > first_ns ? (int64_t)(last_ns - first_ns) : 0;
    }
    send(w, &piece);
}

static void put_sample(struct writer *w, uint32_t at)
{
    Profile piece = SONDE__PPROF__PROFILE__INIT;
    Sonde__Pprof__Sample sample = SONDE__PPROF__SAMPLE__INIT, *pointer = &sample;
    Sonde__Pprof__Label label = SONDE__PPROF__LABEL__INIT, *labels = &label;
    const struct sonde_profile *profile = w->names.profile;
    const struct sonde_cct_node *node = &profile->nodes.items[at];
    int64_t values[VALUES_MOST];
    bool some = false;
    for (const struct sonde_export_value *v = sonde_export_values; v->name; v++) {
        if (!sonde_export_value_known(v, profile))
            continue;
        values[sample.n_value] = (int64_t)v->of(&node->self);
        some |= values[sample.n_value++] != 0;
    }
    if (!some)
        return;
    w->stack.count = 0;
    for (; at; at = profile->nodes.items[at].parent)
        w->nomem |= sonde_vector_push(&w->stack, w->location_of.items[at]) != 0;
    sample.value = values;
    sample.n_location_id = w->stack.count;
    sample.location_id = w->stack.items;
    if (node->kind == SONDE_FRAME_OP) {
        label.key = string(w, "operation");
        label.str = string(w, sonde_op_kind_name(node->op));
        sample.n_label = 1;
        sample.label = &labels;
    }
    piece.n_sample = 1;
    piece.sample = &pointer;
    send(w, &piece);
}

static void put_all(struct writer *w, const struct sonde_measurement *m)
{
    const struct sonde_profile *profile = w->names.profile;
    put_head(w, m);
    for (uint32_t i = 0; i < profile->nodes.count && !w->nomem; i++)
        w->nomem |= sonde_vector_push(&w->location_of, i ? location_id(w, i) : 0) != 0;
    for (uint32_t i = 1; i < profile->nodes.count && !w->nomem && !sonde_out_failed(w->out); i++)
        put_sample(w, i);
    squeeze(w, NULL, 0, Z_FINISH);
}

static int write_pprof(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                       struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.out = out};
    (void)progress;
    int rc = sonde__export_begin_profile(&w.names, m, result, diag);
    if (rc)
        return rc;
    w.nomem = deflateInit2(&w.zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16 /* gzip */, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK;
    if (!w.nomem)
        put_all(&w, m);
    deflateEnd(&w.zip);
    if (w.nomem)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    sonde_vector_fini(&w.stack);
    sonde_vector_fini(&w.packed);
    sonde_vector_fini(&w.location_of);
    sonde_intern_fini(&w.strings);
    sonde_intern_fini(&w.functions);
    sonde_intern_fini(&w.locations);
    sonde_intern_fini(&w.modules);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return rc;
}

const struct sonde_export_format sonde_export_pprof = {
    .name = "pprof",
    .extension = "pb.gz",
    .what = "a profile by call path with device time, host time, CPU time, bytes and counts, for pprof",
    .open_with = "open it with 'go tool pprof -http=: FILE'",
    .write = write_pprof,
};
