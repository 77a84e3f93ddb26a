/* ledger.c - what differs between the sides besides their times: program, machine, settings, completeness; and whether that
 * leaves them comparable. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "base/number.h"
#include "base/text.h"
#include "own.h"

enum { LOST_PERCENT = 1 }; /* operations without a time or a place that make a side incomplete */

int sonde__warn(struct sonde_diff *out, const char *format, ...)
{
    struct sonde_text text = {0};
    char *made = NULL;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&made, format, args);
    va_end(args);
    if (length >= 0)
        sonde_text_add_clean(&text, made);
    const char *copy = length >= 0 && !text.failed ? sonde__diff_text(out, sonde_text_get(&text)) : NULL;
    free(made);
    sonde_text_fini(&text);
    return copy ? sonde_vector_push(&out->warnings, copy) : SONDE_ENOMEM;
}

/* ---- one item of one run --------------------------------------------------------------------------- */

static void add_string(const struct sonde_diff_run *run, const char *object, const char *key, struct sonde_text *out)
{
    const json_t *from = object ? json_object_get(run->m->manifest, object) : run->m->manifest;
    const char *text = json_string_value(json_object_get(from, key));
    sonde_text_add(out, text ? text : "unknown");
}

static void program(const struct sonde_diff_run *run, struct sonde_text *out)
{
    const char *text = json_string_value(json_object_get(run->m->manifest, "program"));
    const bool known = text || run->m->process_count;
    sonde_text_add(out, known ? sonde_path_base(text ? text : run->m->processes[0].header.executable) : "unknown");
}

static void command(const struct sonde_diff_run *run, struct sonde_text *out)
{
    const char *word;
    for (size_t i = 0; (word = sonde_measurement_word(run->m, i)); i++) {
        sonde_text_add(out, i ? " " : "");
        sonde_text_add_word(out, i ? word : sonde_path_base(word));
    }
}

static void version(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_string(run, NULL, "sonde_version", out);
}

static void host(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_string(run, "host", "name", out);
}

static void kernel(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_string(run, "host", "kernel", out);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* "2 NVIDIA H200, 1 Other GPU": each as often as processes used it. */
static void add_counted(struct sonde_text *out, const char **names, size_t count)
{
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0, last; i < count; i = last) {
        for (last = i; last < count && strcmp(names[last], names[i]) == 0;)
            last++;
        sonde_text_add(out, i ? ", " : "");
        if (last - i > 1)
            sonde_text_format(out, "%zu ", last - i);
        sonde_text_add(out, *names[i] ? names[i] : "unknown device");
    }
    if (!count)
        sonde_text_add(out, "none");
}

static void devices(const struct sonde_diff_run *run, struct sonde_text *out)
{
    const size_t count = run->totals->devices.count;
    const char **names = calloc(count ? count : 1, sizeof *names);
    for (size_t i = 0; names && i < count; i++) {
        const struct sonde_device_use *use = &run->totals->devices.items[i];
        const struct sonde_process *p = &run->m->processes[use->process];
        names[i] = use->device < p->device_count ? sonde_process_string(p, p->devices[use->device].name) : "";
    }
    if (names)
        add_counted(out, names, count);
    out->failed |= !names;
    free(names);
}

static void add_count(struct sonde_text *out, uint64_t count)
{
    char text[SONDE_NUMBER_MAX];
    sonde_text_add(out, sonde_number_count(text, count));
}

static void processes(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->m->process_count);
}

static void killed(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->killed);
}

static void mode(const struct sonde_diff_run *run, struct sonde_text *out)
{
    sonde_text_add(out, run->totals->traced ? "with a trace" : "profile only");
}

static void sampling(const struct sonde_diff_run *run, struct sonde_text *out)
{
    sonde_text_add(out, run->profile->sampled ? "sampled" : "not sampled");
}

static void seen(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->ledger.seen);
}

static void dropped(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->dropped_operations);
}

static void not_traced(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->dropped_trace_rows);
}

static void unmatched(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->ledger.unmatched);
}

static void damaged(const struct sonde_diff_run *run, struct sonde_text *out)
{
    add_count(out, run->totals->damaged_chunks);
}

static void overhead(const struct sonde_diff_run *run, struct sonde_text *out)
{
    char text[SONDE_NUMBER_MAX];
    const struct sonde_ledger *l = &run->totals->ledger;
    sonde_text_add(out, sonde_number_percent(text, (double)(l->hook_ns + l->thread_cpu_ns), (double)run->totals->process_wall_ns));
}

static const struct item {
    const char *name;
    void (*add)(const struct sonde_diff_run *run, struct sonde_text *out);
    const char *warning; /* about two different texts, which follow it; NULL: nothing is less comparable for it */
} items[] = {
    {"program", program, "the programs differ"},
    {"command", command, NULL},
    {"devices", devices, "the devices differ"},
    {"host", host, NULL},
    {"system", kernel, NULL},
    {"Sonde", version, NULL},
    {"processes", processes, "the numbers of processes differ"},
    {"processes without an end", killed, NULL},
    {"trace", mode, "only one side has a trace"},
    {"CPU side", sampling, NULL},
    {"operations seen", seen, NULL},
    {"dropped", dropped, NULL},
    {"not in the trace", not_traced, NULL},
    {"unmatched", unmatched, NULL},
    {"damaged chunks", damaged, NULL},
    {"overhead", overhead, NULL},
};

/* ---- a side ------------------------------------------------------------------------------------------ */

/* What its runs say, each text once: "1,504 / 1,506". */
static void add_side(const struct sonde_diff_run *runs, uint32_t count, const struct item *item, struct sonde_text *out)
{
    struct sonde_text *each = calloc(count, sizeof *each);
    for (uint32_t i = 0; each && i < count; i++) {
        bool again = false;
        item->add(&runs[i], &each[i]);
        out->failed |= each[i].failed;
        for (uint32_t k = 0; k < i && !again; k++)
            again = strcmp(sonde_text_get(&each[k]), sonde_text_get(&each[i])) == 0;
        if (!again)
            sonde_text_format(out, "%s%s", i ? " / " : "", sonde_text_get(&each[i]));
    }
    for (uint32_t i = 0; each && i < count; i++)
        sonde_text_fini(&each[i]);
    out->failed |= !each;
    free(each);
}

static int compare_item(const struct sonde_diff_config *config, const struct item *item, struct sonde_diff *out)
{
    struct sonde_text before = {0}, after = {0};
    int rc = 0;
    add_side(config->runs, config->before_count, item, &before);
    add_side(config->runs + config->before_count, config->run_count - config->before_count, item, &after);
    if (before.failed || after.failed)
        rc = SONDE_ENOMEM;
    else if (strcmp(sonde_text_get(&before), sonde_text_get(&after)) != 0) {
        const struct sonde_diff_item found = {item->name, sonde__diff_text(out, sonde_text_get(&before)),
                                              sonde__diff_text(out, sonde_text_get(&after))};
        rc = found.before && found.after ? sonde_vector_push(&out->ledger, found) : SONDE_ENOMEM;
        if (!rc && item->warning)
            rc = sonde__warn(out, "%s: %s before, %s after", item->warning, found.before, found.after);
    }
    sonde_text_fini(&before);
    sonde_text_fini(&after);
    return rc;
}

/* What was found when it was opened, or since, when its traces were read; that counts once for each reading. */
static bool is_damaged(const struct sonde_diff_run *run)
{
    bool damaged = run->totals->damaged_chunks > 0;
    for (uint32_t i = 0; i < run->m->process_count; i++)
        damaged |= __atomic_load_n(&run->m->processes[i].damaged_chunks, __ATOMIC_RELAXED) > 0;
    return damaged;
}

/* What makes a single run incomplete. */
static int warn_of_run(const struct sonde_diff_run *run, struct sonde_diff *out)
{
    char number[SONDE_NUMBER_MAX];
    const struct sonde_totals *t = run->totals;
    const uint64_t lost = t->dropped_operations + t->ledger.no_times + t->ledger.bad_time;
    const char *path = run->m->path;
    int rc = 0;
    if (t->killed)
        rc = sonde__warn(out, "%s of %s %s no end: killed, or still being written; what is there is compared",
                         t->killed == 1 ? "a process" : "processes", path, t->killed == 1 ? "has" : "have");
    if (!rc && is_damaged(run))
        rc = sonde__warn(out, "damaged chunks of %s were skipped: its figures are too small", path);
    if (!rc && lost * 100 > t->ledger.seen * LOST_PERCENT)
        rc = sonde__warn(out, "%s operations of %s were dropped or have no times", sonde_number_count(number, lost), path);
    return rc;
}

int sonde__ledgers_compare(const struct sonde_diff_config *config, struct sonde_diff *out)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof items / sizeof *items && !rc; i++)
        rc = compare_item(config, &items[i], out);
    for (uint32_t i = 0; i < config->run_count && !rc; i++)
        rc = warn_of_run(&config->runs[i], out);
    return rc;
}
