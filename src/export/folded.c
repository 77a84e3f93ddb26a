/* folded.c - device time of each call path, one line each: what flame graph tools read.
 *
 * "main() heat.c:140;step() heat.c:81;clEnqueueNDRangeKernel;stencil 81234": frames outermost first, between
 * semicolons, then the time in nanoseconds (Gregg, stackcollapse.pl: "The output is one line per stack").
 */
#include "export.h"

#include "base/utf8.h"
#include "names.h"

struct writer {
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_text clean;
    struct sonde_export_path path;
};

/* What would end a frame or a line is replaced, as stackcollapse-perf.pl does. */
static void put_frame(struct writer *w, uint32_t at)
{
    for (const char *s = sonde_utf8_clean(sonde_names_frame(&w->names, at, true), &w->clean); *s; s++)
        sonde_out_char(w->out, *s == ';' ? ':' : (unsigned char)*s < 0x20 || *s == 0x7f ? ' '
                                                                                        : *s);
}

static int put_line(struct writer *w, uint32_t at)
{
    const int rc = sonde__export_path(w->names.profile, at, &w->path);
    for (size_t i = 0; i < w->path.nodes.count; i++) {
        if (i)
            sonde_out_char(w->out, ';');
        put_frame(w, w->path.nodes.items[i]);
    }
    sonde_out_char(w->out, ' ');
    sonde_out_u64(w->out, w->names.profile->nodes.items[at].self.device_ns);
    sonde_out_char(w->out, '\n');
    return rc;
}

static int write_folded(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                        struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.out = out};
    (void)progress;
    int rc = sonde__export_begin_profile(&w.names, m, result, diag);
    if (rc)
        return rc;
    const struct sonde_profile *profile = w.names.profile;
    if (!profile->nodes.items[0].total.device_ns) {
        rc = sonde_diag_set(diag, SONDE_EEMPTY, m->path, "there is no device time in");
        sonde_diag_hint(diag, "use --to speedscope or --to pprof, which have all that was counted");
    }
    for (uint32_t i = 1; i < profile->nodes.count && !rc && !sonde_out_failed(out); i++)
        if (profile->nodes.items[i].self.device_ns && put_line(&w, i))
            rc = sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    sonde_vector_fini(&w.path.nodes);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return rc;
}

const struct sonde_export_format sonde_export_folded = {
    .name = "folded",
    .extension = "folded",
    .what = "device time by call path, one line each, for flame graph tools",
    .open_with = "draw it with flamegraph.pl --countname ns, or inferno-flamegraph",
    .write = write_folded,
};
