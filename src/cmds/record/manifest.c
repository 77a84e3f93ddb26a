/* manifest.c - manifest.json: what ran, where, when, with which settings. docs/developers/format.md lists its keys.
 *
 * Written twice, each time as a whole under another name and then renamed:
 * before the program starts, so that a killed recording still says what it
 * was, and after it ended.
 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rank.h"
#include "base/utf8.h"
#include "format/folder.h"
#include "format/rows.h"

/* ---- texts -------------------------------------------------------------------- */

/* File names and arguments are bytes; JSON wants UTF-8. */
static json_t *json_text(const char *text)
{
    struct sonde_text room = {0};
    json_t *value = json_string(sonde_utf8_clean(text, &room));
    sonde_text_fini(&room);
    return value;
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value ? value : json_null());
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    set(object, key, json_integer((json_int_t)value));
}

/* ---- the environment that matters ------------------------------------------------ */

static json_t *environment_object(char **environment)
{
    json_t *object = json_object();
    for (char **entry = environment; *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!record_variable_is_kept(*entry))
            continue;
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
        set(object, name, json_text(equals + 1));
    }
    return object;
}

/* ---- what a launcher says about ranks ----------------------------------------------- */

/* Of record itself: those of each measured process are in its own header. */
static json_t *ranks_object(void)
{
    const struct sonde_rank r = sonde_rank_read();
    json_t *ranks = json_object();
    if (r.rank)
        set_number(ranks, "rank", r.rank - 1);
    if (r.size)
        set_number(ranks, "size", r.size);
    if (r.local_rank)
        set_number(ranks, "local_rank", r.local_rank - 1);
    return ranks;
}

/* ---- the whole ------------------------------------------------------------------------ */

static json_t *clock_pair(const struct record_times *t)
{
    json_t *pair = json_object();
    set_number(pair, "monotonic_raw_ns", t->monotonic_raw_ns);
    set_number(pair, "realtime_ns", t->wall_ns);
    set_number(pair, "monotonic_ns", t->monotonic_ns);
    set_number(pair, "bound_ns", t->bound_ns);
    return pair;
}

static json_t *options_object(const struct record_options *o)
{
    json_t *object = json_object();
    set(object, "mode", json_string(o->mode == RECORD_TRACE ? "trace" : "profile"));
    set_number(object, "memory_bytes", o->memory_bytes);
    set_number(object, "max_size_bytes", o->max_size_bytes);
    if (o->last_ns)
        set_number(object, "last_ns", o->last_ns);
    set_number(object, "streams_per_thread", (uint64_t)o->streams_per_thread);
    set_number(object, "cpu_hz", (uint64_t)o->cpu_hz);
    set(object, "values", json_string(record_values_names[o->values]));
    set(object, "comm", json_string(record_comm_names[o->comm]));
    if (o->counters)
        set(object, "counters", json_string(o->counters));
    if (o->cpu_counters)
        set(object, "cpu_counters", json_string(o->cpu_counters));
    if (o->series_ns)
        set_number(object, "counter_series_ns", o->series_ns);
    if (o->pc_cycles)
        set_number(object, "pc_cycles", (uint64_t)o->pc_cycles);
    if (o->comm_cells)
        set_number(object, "comm_cells", (uint64_t)o->comm_cells);
    if (o->comm_sample)
        set(object, "comm_sample", json_string(o->comm_sample));
    if (o->engine)
        set(object, "values_engine", json_string(record_engine_names[o->engine]));
    if (o->comm_engine)
        set(object, "comm_engine", json_string(record_engine_names[o->comm_engine]));
    if (o->values_sample)
        set(object, "values_sample", json_string(o->values_sample));
    if (o->values_blocks)
        set_number(object, "values_blocks", o->values_blocks);
    if (o->values_kernel)
        set(object, "kernel", json_text(o->values_kernel));
    set_number(object, "delay_ns", o->delay_ns);
    set_number(object, "duration_ns", o->duration_ns);
    set(object, "start_off", json_boolean(o->start_off));
    set(object, "check", json_boolean(o->check));
    set(object, "preload", json_boolean(!o->no_preload));
    set(object, "command_line", json_boolean(!o->no_command_line));
    set(object, "hide_arguments", json_boolean(o->hide_arguments != NULL)); /* the pattern may be a secret itself */
    return object;
}

static json_t *host_object(void)
{
    json_t *object = json_object();
    struct utsname system;
    if (uname(&system) == 0) {
        set(object, "name", json_text(system.nodename));
        set(object, "system", json_text(system.sysname));
        set(object, "kernel", json_text(system.release));
        set(object, "machine", json_text(system.machine));
    }
    set_number(object, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    return object;
}

static void put_argument(void *command, const char *text)
{
    json_array_append_new(command, json_text(text));
}

json_t *record_manifest_begin(const struct record_options *options, const struct record_paths *paths, int argc, char **argv,
                              char **environment, const char *folder, const struct record_times *start)
{
    json_t *manifest = json_object(), *command = json_array(), *pairs = json_array();

    set(manifest, "format", json_string("sonde"));
    set_number(manifest, "format_version", SONDE_FORMAT_VERSION);
    set(manifest, "sonde_version", json_string(SONDE_VERSION));
    record_arguments_show(options->hide_arguments, options->no_command_line ? 1 : argc, argv, put_argument, command);
    set(manifest, "command", command);
    set(manifest, "program", json_text(paths->program));
    set(manifest, "working_directory", folder && *folder ? json_text(folder) : NULL);
    set(manifest, "host", host_object());
    set(manifest, "environment", environment_object(environment));
    set(manifest, "ranks", ranks_object());
    set(manifest, "options", options_object(options));
    set_number(manifest, "start_ns", start->monotonic_raw_ns);
    set_number(manifest, "start_wall_ns", start->wall_ns);
    json_array_append_new(pairs, clock_pair(start));
    set(manifest, "clock_pairs", pairs);
    return manifest;
}

void record_manifest_end(json_t *manifest, const struct record_result *result)
{
    json_t *end = json_object();
    set_number(manifest, "start_ns", result->start.monotonic_raw_ns);
    set_number(manifest, "start_wall_ns", result->start.wall_ns);
    set_number(manifest, "end_ns", result->end.monotonic_raw_ns);
    set_number(manifest, "end_wall_ns", result->end.wall_ns);
    json_array_append_new(json_object_get(manifest, "clock_pairs"), clock_pair(&result->end));
    if (result->attached) {
        set_number(end, "pid", (uint64_t)result->attached);
        set(end, "goes_on", json_boolean(result->goes_on));
    } else if (WIFSIGNALED(result->wait_status)) {
        set_number(end, "signal", (uint64_t)WTERMSIG(result->wait_status));
        set(end, "signal_name", json_string(sigabbrev_np(WTERMSIG(result->wait_status))));
    } else
        set_number(end, "status", (uint64_t)WEXITSTATUS(result->wait_status));
    set(manifest, result->attached ? "attached" : "exit", end);
}

void record_manifest_timings(json_t *manifest, const struct record_timings *t)
{
    json_t *object = json_object();
    set_number(object, "before_ns", t->before_ns);
    set_number(object, "after_ns", t->after_ns);
    set_number(object, "seal_ns", t->seal_ns);
    set_number(object, "symbols_ns", t->symbols_ns);
    set_number(object, "code_ns", t->code_ns);
    set_number(object, "summary_ns", t->summary_ns);
    set(manifest, "timings", object);
}

int record_manifest_write(const json_t *manifest, const char *output, struct sonde_diag *diag)
{
    char path[PATH_MAX + 16], temporary[PATH_MAX + 24];
    snprintf(path, sizeof path, "%s/" SONDE_MANIFEST_FILE, output);
    snprintf(temporary, sizeof temporary, "%s" SONDE_PART_SUFFIX, path);
    char *text = json_dumps(manifest, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    const size_t length = text ? strlen(text) : 0;
    int why = ENOMEM;
    if (text) {
        text[length] = '\n'; /* and no end: files have none */
        why = sonde_file_replace(path, temporary, text, length + 1) == 0 ? 0 : errno;
    }
    free(text);
    if (!why)
        return SONDE_OK;
    sonde_diag_set(diag, why == ENOSPC ? SONDE_EFULL : SONDE_EIO, path, "cannot write");
    sonde_diag_errno(diag, why);
    return SONDE_EIO;
}
