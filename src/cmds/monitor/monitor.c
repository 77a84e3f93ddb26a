/* monitor.c - `sonde monitor`: what the programs of a machine do on its devices, for Prometheus. docs/monitor.md. */
#include "monitor.h"

#include <stdio.h>
#include <string.h>

#include "cmds/command.h"
#include "monitor/gpu_metrics.h"
#include "monitor/samples.h"

/* ---- what was asked for -------------------------------------------------------------------- */

/* A pattern that matches no metric is a mistake, mostly of writing. */
static int check_metrics(const char *metrics, struct sonde_text *wrong, struct sonde_nearest *nearest)
{
    struct sonde_text known = {0};
    static char pattern[256];
    char name[96];
    int status = 0;
    sonde_metrics_heads(&known);
    for (const char *at = metrics; *at && !status; at += strcspn(at, ","), at += *at == ',') {
        struct sonde_text found = {0};
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at, ","), at);
        sonde_samples_choose(sonde_text_get(&known), pattern, NULL, &found);
        status = strstr(sonde_text_get(&found), "# TYPE") ? 0 : SONDE_EINVALID;
        sonde_text_fini(&found);
    }
    *nearest = (struct sonde_nearest){.word = pattern};
    for (const char *line = sonde_text_get(&known); status && line; line = strchr(line, '\n'), line += line != NULL)
        if (sscanf(line, "# TYPE %95s", name) == 1)
            sonde_nearest_try(nearest, name);
    if (status)
        sonde_text_format(wrong, "there is no metric '%s'", pattern);
    sonde_text_fini(&known);
    return status;
}

int monitor_option_check(const struct monitor_options *o, struct sonde_text *wrong, struct sonde_nearest *nearest)
{
    *nearest = (struct sonde_nearest){.word = ""};
    if (o->devices && (!*o->devices || strspn(o->devices, "0123456789,") != strlen(o->devices))) {
        sonde_text_format(wrong, "devices are numbers such as 0,1, not '%s'", o->devices);
        return SONDE_EINVALID;
    }
    if (o->counters && !sonde_gpus_can_sample(o->counters)) {
        sonde_text_format(wrong, "--counters is a list of at most 32 metrics or sets, such as memory or dram__bytes_read.sum, not '%s'", o->counters);
        return SONDE_EINVALID;
    }
    if (o->counter_interval_ns != UINT64_MAX && (o->counter_interval_ns < 20000 || o->counter_interval_ns > 1000000000)) {
        sonde_text_format(wrong, "--counter-interval takes a time from 20us to 1s");
        return SONDE_EINVALID;
    }
    int status = o->metrics ? check_metrics(o->metrics, wrong, nearest) : 0;
    if (!status && o->when) {
        struct monitor_when *when;
        status = monitor_when_read(o->when, &when, wrong, nearest);
        monitor_when_free(when);
    }
    return status;
}

/* 0, or the exit status after a message. */
static int check(const struct monitor_options *o)
{
    struct sonde_text wrong = {0};
    struct sonde_nearest nearest;
    const int status = monitor_option_check(o, &wrong, &nearest) ? sonde_say_unknown(&sonde_command_monitor, &nearest, "%s", sonde_text_get(&wrong)) : 0;
    sonde_text_fini(&wrong);
    return status;
}

/* What nobody could ask for: with it a field is not set. */
static const struct monitor_options unset = {.interval_ns = UINT64_MAX, .counter_interval_ns = UINT64_MAX, .sqlite_keep_ns = UINT64_MAX};

static int run(const void *given, int argc, char **argv)
{
    struct monitor_options o = *(const struct monitor_options *)given;
    (void)argc;
    (void)argv;
    int status = check(&o);
    if (!status && o.config)
        status = monitor_config_read(o.config, &unset, &o);
    if (!o.listen)
        o.listen = "127.0.0.1:9469";
    if (o.interval_ns == UINT64_MAX)
        o.interval_ns = 1000000000;
    if (o.counter_interval_ns == UINT64_MAX)
        o.counter_interval_ns = 100000000;
    if (o.sqlite_keep_ns == UINT64_MAX)
        o.sqlite_keep_ns = 7 * 86400 * (uint64_t)1000000000;
    if (!o.csv_bytes)
        o.csv_bytes = 64 << 20;
    return status || o.check ? status : monitor_serve(&o);
}

#define AT(field) offsetof(struct monitor_options, field)
/* clang-format off */
const struct sonde_option monitor_options_table[] = {
    {.name = "config", .type = SONDE_OPTION_STRING, .argument = "FILE", .offset = AT(config), .value = 1,
     .help = "Read options from a file: lines such as listen = \"0.0.0.0:9469\". What is also given here counts."},
    {.name = "check", .type = SONDE_OPTION_FLAG, .offset = AT(check), .value = 1, .help = "Only say what is wrong with the options and the file."},
    {.name = "listen", .type = SONDE_OPTION_STRING, .argument = "ADDRESS:PORT", .offset = AT(listen),
     .help = "Where /metrics is served; port 0 is a free one (default: 127.0.0.1:9469)."},
    {.name = "interval", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(interval_ns),
     .help = "How often programs are looked at (default: 1s). Whoever asks gets the figures of the last look."},
    {.name = "folder", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = AT(folder),
     .help = "Folder of announced programs (default: /dev/shm/sonde-UID)."},
    {.name = "metrics", .type = SONDE_OPTION_STRING, .argument = "PATTERN,...", .offset = AT(metrics),
     .help = "Serve and store only metrics with such names, such as 'sonde_nvml_*,sonde_agent_operations' (default: all)."},
    {.name = "devices", .type = SONDE_OPTION_STRING, .argument = "NUMBER,...", .offset = AT(devices),
     .help = "Of NVIDIA devices only these, by NVML's numbers (default: all)."},
    {.name = "counters", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(counters),
     .help = "Have the hardware of NVIDIA devices count, whoever uses them, by PM sampling: metrics and sets as of `sonde record --counters` (default: nothing)."},
    {.name = "counter-interval", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(counter_interval_ns), 
     .help = "How often the device notes them (default: 100ms). A look takes all that it has noted."},
    {.name = "csv", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = AT(csv),
     .help = "Store the figures of each look in this folder, as CSV files in the layout of LDMS."},
    {.name = "csv-size", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(csv_bytes), .low = 1 << 20,
     .help = "Begin another file when one is as large (default: 64M), and with each day."},
    {.name = "sqlite", .type = SONDE_OPTION_STRING, .argument = "FILE", .offset = AT(sqlite),
     .help = "Store the figures of each look in a database of SQLite, too."},
    {.name = "sqlite-keep", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(sqlite_keep_ns),
     .help = "Remove figures from it that are older (default: 168h)."},
    {.name = "write-last-when", .type = SONDE_OPTION_STRING, .argument = "CONDITION,...", .offset = AT(when),
     .help = "Let `sonde record --last` write what it has when a metric is so for a time, such as 'sonde_nvml_temperature_celsius > 85 for 10s' or "
             "'rate(sonde_agent_enqueued_operations_total) < 10 for 1m': that of the program, or of all for a metric of no program."},
    {.name = NULL},
};
/* clang-format on */

static const struct sonde_example examples[] = {
    {"sonde monitor", "serves http://127.0.0.1:9469/metrics"},
    {"sonde record --light -- ./heat 2048 500", "a program that it sees"},
    {"sonde monitor --listen 0.0.0.0:9469 --interval 5s", "to other machines, too"},
    {"sonde monitor --write-last-when 'rate(sonde_agent_enqueued_operations_total) < 1 for 30s'", "a hang of a program under `sonde record --last`"},
    {"sonde monitor --config /etc/sonde.toml --check", "is the file right?"},
    {NULL, NULL},
};

const struct sonde_command sonde_command_monitor = {
    .name = "monitor",
    .summary = "serve what programs do on devices as OpenMetrics",
    .usage = "[OPTION...]",
    .description = "Looks at the programs that were started with `sonde record --light`, again and again, and serves their operations, busy "
                   "time and bytes by process, device and kernel as OpenMetrics, for Prometheus and what reads its format, until Ctrl-C, "
                   "SIGTERM or SIGHUP. NVIDIA devices are served too, whoever uses them: power, temperature, clocks, memory, links and errors "
                   "from NVML, and how their units are used from GPM.",
    .notes = "Programs are not stopped and not asked: each keeps its sums in memory that it shares. They may start and end at any time, and "
             "the monitor too. An ended program keeps its last figures for five minutes.",
    .options = monitor_options_table,
    .examples = examples,
    .options_bytes = sizeof(struct monitor_options),
    .defaults = &unset,
    .operand = SONDE_OPERAND_NONE,
    .signals = true,
    .run = run,
};
