/* cpu_counters.c - record --cpu-counters: which events of the CPU there are, and what the user asked for (docs/counters.md). */
#include "record.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cmds/command.h"

#define COUNTERS_MAX 8 /* as many as the agent takes */

/* Periods: a few hundred samples a second of each thread that is busy with nothing else. */
#define HARDWARE(name, config, period) {name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, period, 1000}
#define SOFTWARE(name, config, period) {name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, period, 1}
const struct record_cpu_counter record_cpu_counters[] = {
    HARDWARE("instructions", INSTRUCTIONS, 10000000),
    HARDWARE("cycles", CPU_CYCLES, 10000000),
    HARDWARE("cache-references", CACHE_REFERENCES, 1000000),
    HARDWARE("cache-misses", CACHE_MISSES, 100000),
    HARDWARE("branches", BRANCH_INSTRUCTIONS, 2000000),
    HARDWARE("branch-misses", BRANCH_MISSES, 100000),
    HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND, 10000000),
    HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND, 10000000),
    SOFTWARE("page-faults", PAGE_FAULTS, 500),
    SOFTWARE("minor-faults", PAGE_FAULTS_MIN, 500),
    SOFTWARE("major-faults", PAGE_FAULTS_MAJ, 1),
    {0},
};

static const char *const of_hardware[] = {"instructions", "cycles", "cache-misses", "branch-misses"}, *const of_software[] = {"minor-faults", "major-faults"};

/* perf has these, too; they happen in the kernel. */
static const char *const in_kernel[] = {"context-switches", "cpu-migrations"};

int record_cpu_counter_try(const struct record_cpu_counter *counter)
{
    struct perf_event_attr attr = {
        .type = counter->type,
        .size = sizeof attr,
        .config = counter->config,
        .sample_period = counter->period,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), why = errno;
    if (fd < 0)
        return why;
    close(fd);
    return 0;
}

static const struct record_cpu_counter *find(const char *name)
{
    for (const struct record_cpu_counter *c = record_cpu_counters; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

struct list {
    char *out;
    size_t size, length;
    const struct record_cpu_counter *taken[COUNTERS_MAX];
    int count;
};

static bool is_all_faults(const struct record_cpu_counter *c)
{
    return c->type == PERF_TYPE_SOFTWARE && c->config == PERF_COUNT_SW_PAGE_FAULTS;
}

static bool is_fault(const struct record_cpu_counter *c)
{
    return is_all_faults(c) || (c->type == PERF_TYPE_SOFTWARE && (c->config == PERF_COUNT_SW_PAGE_FAULTS_MIN || c->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ));
}

/* Those of the kernel that two counters have at once would each time be one signal: it does not queue. False, with a message. */
static bool add(struct list *l, const struct record_cpu_counter *c, uint64_t period)
{
    for (int i = 0; i < l->count; i++) {
        if (l->taken[i] == c)
            return true;
        if (is_fault(c) && is_fault(l->taken[i]) && (is_all_faults(c) || is_all_faults(l->taken[i]))) {
            sonde_say("--cpu-counters: page-faults are minor-faults and major-faults: one or the others, whose samples would come at once");
            return false;
        }
    }
    if (l->count == COUNTERS_MAX) {
        sonde_say("--cpu-counters takes %d counters at most", COUNTERS_MAX);
        return false;
    }
    l->taken[l->count++] = c;
    l->length += (size_t)snprintf(l->out + l->length, l->size - l->length, "%s%s:%u:%llu:%llu", l->length ? "," : "", c->name, c->type,
                                  (unsigned long long)c->config, (unsigned long long)period);
    return true;
}

/* What the CPU has; where it has nothing (a virtual machine, mostly), what the kernel counts. */
static bool add_default(struct list *l)
{
    bool some = false;
    for (size_t i = 0; i < sizeof of_hardware / sizeof *of_hardware; i++) {
        const struct record_cpu_counter *c = find(of_hardware[i]);
        if (record_cpu_counter_try(c) == 0 && !add(l, c, c->period))
            return false;
        some |= record_cpu_counter_try(c) == 0;
    }
    for (size_t i = 0; i < sizeof of_software / sizeof *of_software && !some; i++)
        if (!add(l, find(of_software[i]), find(of_software[i])->period))
            return false;
    return true;
}

static bool say_unknown(const char *name)
{
    struct sonde_nearest nearest = {.word = name};
    for (size_t i = 0; i < sizeof in_kernel / sizeof *in_kernel; i++)
        if (strcmp(name, in_kernel[i]) == 0) {
            sonde_say("--cpu-counters goes without %s: a signal there would end the program's waits; times off the CPU are in the trace anyway (docs/sampling.md)", name);
            return false;
        }
    for (const struct record_cpu_counter *c = record_cpu_counters; c->name; c++)
        sonde_nearest_try(&nearest, c->name);
    sonde_nearest_try(&nearest, "default");
    sonde_say_unknown(&sonde_command_record, &nearest, "--cpu-counters knows no '%s'", name);
    return false;
}

/* "NAME", "NAME@N". */
static bool add_word(struct list *l, char *word)
{
    char *at = strchr(word, '@'), *end = NULL;
    if (at)
        *at = 0;
    if (strcmp(word, "default") == 0 && !at)
        return add_default(l);
    const struct record_cpu_counter *c = find(word);
    if (!c)
        return say_unknown(word);
    if (!at)
        return add(l, c, c->period);
    errno = 0;
    const unsigned long long period = isdigit((unsigned char)at[1]) ? strtoull(at + 1, &end, 10) : 0;
    if (!end || *end || errno || period < c->least || period > INT64_MAX) {
        sonde_say("--cpu-counters: %s@N is one sample each N, a number from %llu on, not '%s'", c->name, (unsigned long long)c->least, at + 1);
        return false;
    }
    return add(l, c, period);
}

bool record_cpu_counters_read(const char *given, char *out, size_t size)
{
    struct list l = {.out = out, .size = size};
    char *copy = strdup(given), *rest = copy;
    bool good = copy && *given;
    if (copy && !*given)
        sonde_say("--cpu-counters takes names separated by commas, such as default or minor-faults@100");
    for (char *word; good && (word = strsep(&rest, ","));)
        good = add_word(&l, word);
    free(copy);
    return good;
}
