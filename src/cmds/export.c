/* export.c - `sonde export`: a measurement in another tool's format.
 *
 * The formats are the table of src/export/export.h.
 */
#include "command.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/job/axis.h"
#include "base/number.h"
#include "export/export.h"
#include "format/folder.h"

struct export_options {
    int to; /* index into the table of formats; -1 none */
    const char *output;
    int force, quiet;
};

/* "runs/heat.sonde/" with "csv" is "runs/heat.csv". The caller frees. */
static char *default_output(const char *measurement, const char *extension)
{
    static const char suffix[] = SONDE_FOLDER_SUFFIX;
    char real[PATH_MAX], *out;
    const char *path = realpath(measurement, real);
    size_t length;
    /* The user's own spelling, unless its last part is no name. */
    length = strlen(measurement);
    while (length > 1 && measurement[length - 1] == '/')
        length--;
    if (!path || (measurement[length - 1] != '.' && measurement[length - 1] != '/'))
        path = measurement;
    else
        length = strlen(path);
    if (length > sizeof suffix && strncmp(path + length - sizeof suffix + 1, suffix, sizeof suffix - 1) == 0)
        length -= sizeof suffix - 1;
    return asprintf(&out, "%.*s.%s", (int)length, path, extension) < 0 ? NULL : out;
}

static void say_result(const struct export_options *o, const struct sonde_measurement *m, const char *path,
                       const struct sonde_export_result *result, uint64_t bytes)
{
    const struct sonde_export_format *format = sonde_export_formats[o->to];
    char count[SONDE_NUMBER_MAX], size[SONDE_NUMBER_MAX], lost[SONDE_NUMBER_MAX];
    if (m->damaged_chunks)
        sonde_say("%s damaged chunk%s of %s %s skipped; the rest was exported",
                  sonde_number_count(lost, m->damaged_chunks), m->damaged_chunks == 1 ? "" : "s", m->path,
                  m->damaged_chunks == 1 ? "was" : "were");
    if (o->quiet || strcmp(path, "-") == 0)
        return;
    sonde_number_count(count, result->operations);
    sonde_number_bytes(size, (double)bytes);
    if (result->without_times)
        sonde_say("%s operations (%s without device times); %s (%s); %s", count,
                  sonde_number_count(lost, result->without_times), path, size, format->open_with);
    else
        sonde_say("%s operations; %s (%s); %s", count, path, size, format->open_with);
}

static int begin(const struct export_options *o, const char *path, struct sonde_out **out, struct sonde_diag *diag)
{
    const struct sonde_export_format *format = sonde_export_formats[o->to];
    switch (format->form) {
    case SONDE_EXPORT_FILE: return sonde_out_create_file(path, o->force, out, diag);
    case SONDE_EXPORT_FOLDER: return sonde_out_create_folder(path, o->force, format->mark, out, diag);
    case SONDE_EXPORT_STREAM: break;
    }
    return strcmp(path, "-") == 0 ? sonde_out_attach(STDOUT_FILENO, "standard output", out, diag)
                                  : sonde_out_create(path, o->force, out, diag);
}

static int export_to(const struct export_options *o, const struct sonde_measurement *m, const char *path,
                     struct sonde_diag *diag)
{
    struct sonde_export_result result = {0};
    struct sonde_out *out;
    int code = begin(o, path, &out, diag);
    if (code)
        return code;
    bool to_terminal = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
    struct sonde_progress *progress = sonde_progress_begin("exporting", o->quiet || to_terminal);
    code = sonde_export_formats[o->to]->write(m, out, progress, &result, diag);
    sonde_progress_end(progress);
    if (code) {
        sonde_out_abandon(out);
        return code;
    }
    uint64_t bytes = sonde_out_size(out);
    code = sonde_out_commit(out, diag);
    if (!code)
        say_result(o, m, path, &result, bytes);
    return code;
}

static int run(const void *options, int argc, char **argv)
{
    const struct export_options *o = options;
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    char from[PATH_MAX];
    signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes is an error of the write */
    if (o->to < 0)
        return sonde_say_usage(&sonde_command_export, "--to FORMAT is missing");
    if (sonde_find_measurement(argc ? argv[0] : NULL, NULL, from, &diag))
        return sonde_say_diag(&diag);
    if (!argc)
        sonde_say("%s is the newest measurement here", from);
    char *path = o->output ? strdup(o->output) : default_output(from, sonde_export_formats[o->to]->extension);
    int code = path ? sonde_measurement_open_job(from, &m, &diag)
                    : sonde_diag_set(&diag, SONDE_ENOMEM, from, "cannot export");
    if (!code) {
        sonde_say_manifest(m);
        code = export_to(o, m, path, &diag);
    }
    if (code)
        sonde_say_diag(&diag);
    if (m)
        sonde_measurement_close(m);
    free(path);
    return code ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}

/* clang-format off */
static const char *const format_names[] = {
#define X(name) #name,
    SONDE_EXPORT_MAP(X)
#undef X
    NULL,
};
/* clang-format on */

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "to", .type = SONDE_OPTION_CHOICE, .argument = "FORMAT", .offset = offsetof(struct export_options, to),
     .choices = format_names, .help = "Output format."},
    {.name = "output", .letter = 'o', .type = SONDE_OPTION_STRING, .argument = "FILE",
     .offset = offsetof(struct export_options, output),
     .help = "Output file, of otf2, tau and parquet a folder; - is standard output. Default: next to DIR, with the format's extension."},
    {.name = "force", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = offsetof(struct export_options, force),
     .help = "Overwrite an existing file, or the folder of an earlier export."},
    {.name = "quiet", .letter = 'q', .type = SONDE_OPTION_FLAG, .offset = offsetof(struct export_options, quiet),
     .help = "Do not print progress and the final line."},
    {.name = NULL},
};
/* clang-format on */

static const struct sonde_example examples[] = {
    {"sonde export heat.sonde --to perfetto", "writes heat.perfetto-trace, for https://ui.perfetto.dev"},
    {"sonde export heat.sonde --to csv -o - | head", "the first operations"},
    {NULL, NULL},
};

static const struct export_options defaults = {.to = -1};

const struct sonde_command sonde_command_export = {
    .name = "export",
    .summary = "export a measurement to another format",
    .usage = "[OPTION...] [DIR] --to FORMAT",
    .description = "Reads the measurement DIR (DIR.sonde if there is no DIR; by default the newest in the current folder), "
                   "without changing it, and writes it in another format:\n\n"
                   "perfetto: a trace with processes, threads and queues as tracks and flows from each API call to "
                   "its operation, for https://ui.perfetto.dev and trace_processor.\n\n"
                   "json: the whole trace and profile, described by docs/schema/export.json.\n\n"
                   "sqlite: the same but for the value flow graph, as a database with indices.\n\n"
                   "csv: one row per operation.\n\n"
                   "chrome: the trace as JSON trace events, for Holistic Trace Analysis.\n\n"
                   "otf2: the trace as an archive of OTF2, a folder, for Vampir and Scalasca.\n\n"
                   "tau: profiles of threads and queues, a folder, for ParaProf.\n\n"
                   "speedscope, pprof: profiles by call path with all that was counted.\n\n"
                   "folded: device time by call path, for flame graph tools.\n\n"
                   "dot: the value flow graph of a run with --values, for Graphviz.\n\n"
                   "parquet: operations, a file for each process in a folder, for DuckDB, Polars, pandas and Dask; written by Python's pyarrow.",
    .options = options_table,
    .examples = examples,
    .notes = "The file gets its name when it is complete; after an error nothing is left.\n\n"
             "Damaged parts of a measurement are left out of the export, with a message; the exit status is 0.",
    .options_bytes = sizeof(struct export_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_MEASUREMENT,
    .operands_min = 0,
    .operands_max = 1,
    .run = run,
};
