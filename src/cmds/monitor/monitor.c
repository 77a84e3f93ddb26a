/* monitor.c - `sonde monitor`: what the programs of a machine do on its devices, for Prometheus. docs/monitor.md. */
#include "monitor.h"

#include "cmds/command.h"

static int run(const void *options, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return monitor_serve(options);
}

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "listen", .type = SONDE_OPTION_STRING, .argument = "ADDRESS:PORT", .offset = offsetof(struct monitor_options, listen),
     .help = "Where /metrics is served; port 0 is a free one (default: 127.0.0.1:9469)."},
    {.name = "interval", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = offsetof(struct monitor_options, interval_ns),
     .help = "How often programs are looked at (default: 1s). Whoever asks gets the figures of the last look."},
    {.name = "folder", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = offsetof(struct monitor_options, folder),
     .help = "Folder of announced programs (default: /dev/shm/sonde-UID)."},
    {.name = NULL},
};
/* clang-format on */

static const struct monitor_options defaults = {.listen = "127.0.0.1:9469", .interval_ns = 1000000000};

static const struct sonde_example examples[] = {
    {"sonde monitor", "serves http://127.0.0.1:9469/metrics"},
    {"sonde record --light -- ./heat 2048 500", "a program that it sees"},
    {"sonde monitor --listen 0.0.0.0:9469 --interval 5s", "to other machines, too"},
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
    .options = options_table,
    .examples = examples,
    .options_bytes = sizeof(struct monitor_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_NONE,
    .signals = true,
    .run = run,
};
