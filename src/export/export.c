/* export.c - the table of formats. */
#include "export.h"

#include <stdio.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "base/text.h"
#include "names.h"

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

/* clang-format off */
#define SONDE_EXPORT_VALUE_MAP(X)                                                 \
    X(operations, "operations", "count",       "operations",             false) \
    X(device_ns,  "device",     "nanoseconds", "device time",            false) \
    X(bytes,      "bytes",      "bytes",       "bytes moved",            false) \
    X(queue_ns,   "queue",      "nanoseconds", "queue delay",            false) \
    X(api_calls,  "calls",      "count",       "API calls",              false) \
    X(api_ns,     "host",       "nanoseconds", "host time in API calls", false) \
    X(samples,    "samples",    "count",       "CPU samples",            true)  \
    X(cpu_ns,     "cpu",        "nanoseconds", "CPU time",               true)  \
    X(sleeps,     "waits",      "count",       "waits in the C library", false) \
    X(slept_ns,   "waiting",    "nanoseconds", "time in waits of the C library", false)

#define X(field, ...) static uint64_t of_##field(const struct sonde_metrics *m) { return m->field; }
SONDE_EXPORT_VALUE_MAP(X)
#undef X

const struct sonde_export_value sonde_export_values[] = {
#define X(field, name, unit, title, sampled) {name, unit, title, sampled, of_##field},
    SONDE_EXPORT_VALUE_MAP(X)
#undef X
    {0},
};
/* clang-format on */

int sonde__export_begin_profile(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_export_result *result,
                                struct sonde_diag *diag)
{
    const int rc = sonde_names_init(names, m, diag);
    if (rc)
        return rc;
    const struct sonde_metrics *total = &names->profile->nodes.items[0].total;
    result->operations = total->operations;
    result->without_times = total->operations - total->timed;
    for (const struct sonde_export_value *v = sonde_export_values; v->name; v++)
        if (v->of(total))
            return 0;
    sonde_diag_set(diag, SONDE_EEMPTY, m->path, "there are no operations, calls or samples in");
    hint_report(m, diag);
    sonde_names_fini(names);
    return SONDE_EEMPTY;
}

int sonde__export_path(const struct sonde_profile *profile, uint32_t at, struct sonde_export_path *path)
{
    path->nodes.count = 0;
    for (; at; at = profile->nodes.items[at].parent)
        if (sonde_vector_push(&path->nodes, at))
            return SONDE_ENOMEM;
    for (size_t i = 0, k = path->nodes.count; i + 1 < k--; i++) {
        const uint32_t swapped = path->nodes.items[i];
        path->nodes.items[i] = path->nodes.items[k];
        path->nodes.items[k] = swapped;
    }
    return 0;
}

int64_t sonde__export_shift_ns(const struct sonde_measurement *m, const struct sonde_process *p)
{
    const struct sonde_process *first = &m->processes[0];
    size_t length = sonde_host_length(p->name);
    bool same = length == sonde_host_length(first->name) && memcmp(p->name, first->name, length) == 0;
    if (same || !p->header.wall_offset_ns || !first->header.wall_offset_ns)
        return 0;
    return (int64_t)(p->header.wall_offset_ns - first->header.wall_offset_ns);
}

int32_t sonde__export_pid(const struct sonde_measurement *m, uint32_t index)
{
    const uint32_t pid = m->processes[index].header.pid;
    uint32_t same = 0;
    for (uint32_t i = 0; i < index; i++)
        same += m->processes[i].header.pid == pid;
    return (int32_t)(((same & 0x1ff) << 22 | pid) & INT32_MAX);
}
