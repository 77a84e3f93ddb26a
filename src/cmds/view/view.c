/* view.c - `sonde view`: the viewer, in a browser on this machine. docs/viewer.md. */
#include "view.h"

#include "base/number.h"
#include "cmds/command.h"
#include "format/reader.h"
#include "html.h"

void view_say_damage(const struct sonde_measurement *m)
{
    char count[SONDE_NUMBER_MAX];
    sonde_say_manifest(m);
    if (m->damaged_chunks)
        sonde_say("%s damaged chunk%s of %s %s skipped; the rest is shown", sonde_number_count(count, m->damaged_chunks),
                  m->damaged_chunks == 1 ? "" : "s", m->path, m->damaged_chunks == 1 ? "was" : "were");
}

static int run(const void *options, int argc, char **argv)
{
    const char *given = argc ? argv[0] : NULL;
    struct sonde_diag diag = {0};
    char path[PATH_MAX];
    const struct view_options *o = options;
    if (o->html && o->before)
        return sonde_say_usage(&sonde_command_view, "--html and --before do not go together: the file holds one measurement");
    if (sonde_find_measurement(given, NULL, path, &diag))
        return sonde_say_diag(&diag);
    if (!given)
        sonde_say("%s is the newest measurement here", path);
    return o->html ? view_save(o, path) : view_serve(o, path);
}

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "port", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 65535, .offset = offsetof(struct view_options, port),
     .help = "TCP port on 127.0.0.1. Default: a free one."},
    {.name = "no-browser", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct view_options, no_browser),
     .help = "Print the address only. A browser is opened (by xdg-open) where standard error is a terminal and $DISPLAY or "
             "$WAYLAND_DISPLAY is set."},
    {.name = "before", .type = SONDE_OPTION_STRING, .argument = "DIR[,DIR...]", .offset = offsetof(struct view_options, before),
     .help = "Compare with these measurements, on the page Compare, as 'sonde diff' does."},
    {.name = "html", .type = SONDE_OPTION_STRING, .argument = "FILE", .offset = offsetof(struct view_options, html),
     .help = "Write one file that shows the measurement in any browser, without Sonde, and end."},
    {.name = "force", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = offsetof(struct view_options, force),
     .help = "With --html: replace FILE if it is there."},
    {.name = "html-limit", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = offsetof(struct view_options, html_limit),
     .help = "With --html: of a measurement that is larger, the last rows of its traces are left out, which the page says (default: 64 MiB)."},
    {.name = NULL},
};
/* clang-format on */

static const struct view_options defaults = {.html_limit = SONDE_HTML_LIMIT_BYTES};

static const struct sonde_example examples[] = {
    {"sonde view", "the newest measurement here"},
    {"sonde view heat --before old1,old2,old3", "what got slower since then, side by side"},
    {"sonde view heat --html heat.html", "one file, to keep or to send"},
    {"sonde view heat --port 8080 --no-browser", "prints the address, for ssh -L 8080:127.0.0.1:8080"},
    {NULL, NULL},
};

const struct sonde_command sonde_command_view = {
    .name = "view",
    .summary = "look at a measurement in a browser",
    .usage = "[OPTION...] [DIR]",
    .description = "Opens the measurement DIR (DIR.sonde if there is no DIR; by default the newest in the current folder), without "
                   "changing it, prints an address on this machine, and shows the measurement to the browser that opens it, until "
                   "Ctrl-C, SIGTERM or SIGHUP, or until the terminal is closed.",
    .options = options_table,
    .examples = examples,
    .notes = "The address holds a random token, without which nothing of the measurement is told. Who has the address can read the "
             "measurement. It works from this machine alone.\n\n"
             "Damaged parts of a measurement are left out, with a message.",
    .defaults = &defaults,
    .options_bytes = sizeof(struct view_options),
    .operand = SONDE_OPERAND_MEASUREMENT,
    .operands_max = 1,
    .signals = true,
    .run = run,
};
