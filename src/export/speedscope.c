/* speedscope.c - the calling context tree as profiles of speedscope, one for each quantity that was measured.
 *
 * A file of its own format (https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources): frames once, and
 * "sampled" profiles: a stack, as indices of frames, outermost first, and a weight for each context with a value.
 */
#include "export.h"

#include <string.h>

#include "names.h"

struct writer {
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_text clean, key;
    struct sonde_intern frames; /* function, file and line; index in the file + 1 */
    SONDE_VECTOR(uint32_t) frame_of; /* [tree node] */
    struct sonde_export_path path;
};

static void put_number(struct writer *w, const char *name, uint64_t number)
{
    sonde_out_text(w->out, name);
    sonde_out_u64(w->out, number);
}

static void put_frame(struct writer *w, const char *name, const struct sonde_cct_node *node, bool first)
{
    const bool placed = node->kind != SONDE_FRAME_RANGE && *node->file;
    sonde_out_text(w->out, first ? "\n{\"name\":" : ",\n{\"name\":");
    sonde_out_json(w->out, name, &w->clean);
    if (placed) {
        sonde_out_text(w->out, ",\"file\":");
        sonde_out_json(w->out, node->file, &w->clean);
    }
    if (placed && node->line)
        put_number(w, ",\"line\":", node->line);
    sonde_out_char(w->out, '}');
}

/* Frames are the same to speedscope when they have one index. */
static int put_frames(struct writer *w)
{
    const struct sonde_profile *profile = w->names.profile;
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        const char *name = i ? sonde_names_frame(&w->names, i, false) : "root";
        const uint32_t before = w->frames.count;
        w->key.length = 0;
        sonde_text_format(&w->key, "%s\n%s\n%u", name, node->file, node->line);
        const uint32_t id = sonde_intern_text(&w->frames, sonde_text_get(&w->key));
        if (!id || w->key.failed || sonde_vector_push(&w->frame_of, id - 1))
            return SONDE_ENOMEM;
        if (id > before)
            put_frame(w, name, node, id == 1);
    }
    return 0;
}

static const char *unit_of(const struct sonde_export_value *v)
{
    return strcmp(v->unit, "count") == 0 ? "none" : v->unit;
}

static int put_profile(struct writer *w, const struct sonde_export_value *v, bool first)
{
    const struct sonde_profile *profile = w->names.profile;
    bool begun = false;
    sonde_out_text(w->out, first ? "\n{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":");
    sonde_out_json(w->out, v->title, &w->clean);
    sonde_out_text(w->out, ",\"unit\":");
    sonde_out_json(w->out, unit_of(v), &w->clean);
    put_number(w, ",\"startValue\":0,\"endValue\":", v->of(&profile->nodes.items[0].total));
    sonde_out_text(w->out, ",\"samples\":[");
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        if (!v->of(&profile->nodes.items[i].self))
            continue;
        if (sonde__export_path(profile, i, &w->path))
            return SONDE_ENOMEM;
        for (size_t k = 0; k < w->path.nodes.count; k++)
            put_number(w, k ? "," : begun ? ",\n["
                                          : "\n[",
                       w->frame_of.items[w->path.nodes.items[k]]);
        sonde_out_char(w->out, ']');
        begun = true;
    }
    sonde_out_text(w->out, "],\"weights\":[");
    begun = false;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        if (!v->of(&profile->nodes.items[i].self))
            continue;
        put_number(w, begun ? "," : "", v->of(&profile->nodes.items[i].self));
        begun = true;
    }
    sonde_out_text(w->out, "]}");
    return 0;
}

static int put_all(struct writer *w, const char *name)
{
    bool first = true;
    sonde_out_text(w->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"sonde " SONDE_VERSION "\",\"name\":");
    sonde_out_json(w->out, name, &w->clean);
    sonde_out_text(w->out, ",\"shared\":{\"frames\":[");
    int rc = put_frames(w);
    sonde_out_text(w->out, "\n]},\"profiles\":[");
    /* The first is what the page shows: device time, where there is some. */
    for (int want = 0; want < 2; want++)
        for (const struct sonde_export_value *v = sonde_export_values; v->name && !rc; v++)
            if ((strcmp(v->unit, "nanoseconds") != 0) == want && v->of(&w->names.profile->nodes.items[0].total)) {
                rc = put_profile(w, v, first);
                first = false;
            }
    sonde_out_text(w->out, "\n]}\n");
    return rc;
}

static int write_speedscope(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                            struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.out = out};
    (void)progress;
    int rc = sonde__export_begin_profile(&w.names, m, result, diag);
    if (rc)
        return rc;
    if (put_all(&w, sonde_path_base(m->path)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    sonde_vector_fini(&w.path.nodes);
    sonde_vector_fini(&w.frame_of);
    sonde_intern_fini(&w.frames);
    sonde_text_fini(&w.key);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return rc;
}

const struct sonde_export_format sonde_export_speedscope = {
    .name = "speedscope",
    .extension = "speedscope.json",
    .what = "profiles by call path: device time, host time, CPU time, bytes and counts, for speedscope",
    .open_with = "drop it on https://www.speedscope.app, or run 'speedscope FILE'",
    .write = write_speedscope,
};
