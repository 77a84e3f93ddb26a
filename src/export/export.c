/* export.c - the table of formats. */
#include "export.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* clang-format off */
const struct sonde_export_format *const sonde_export_formats[] = {
#define X(name) &sonde_export_##name,
    SONDE_EXPORT_MAP(X)
#undef X
    NULL,
};
/* clang-format on */

const struct sonde_export_format *sonde_export_find(const char *name)
{
    for (const struct sonde_export_format *const *f = sonde_export_formats; *f; f++)
        if (strcmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}

static void hint_report(const struct sonde_measurement *m, struct sonde_diag *diag)
{
    struct sonde_text path = {0};
    sonde_text_add_path(&path, m->path);
    sonde_diag_hint(diag, "see 'sonde report %s'", sonde_text_get(&path));
    sonde_text_fini(&path);
}

int sonde__export_needs_trace(const struct sonde_measurement *m, struct sonde_diag *diag)
{
    int code;
    uint64_t done = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        if (m->processes[i].trace_count)
            return 0;
        done += m->processes[i].header.ledger.done;
    }
    code = sonde_diag_set(diag, SONDE_EEMPTY, m->path, done ? "there is no trace in" : "there are no operations in");
    if (diag && done)
        snprintf(diag->why, sizeof diag->why, "it contains a profile only");
    if (done)
        sonde_diag_hint(diag, "record with --trace, or use --to json, which contains the profile");
    else
        hint_report(m, diag);
    return code;
}
