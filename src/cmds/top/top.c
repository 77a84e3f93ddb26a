/* top.c - `sonde top`: what announced programs do on their devices now, on the terminal or as JSON.
 *
 * The tables are laid out as those of `sonde report`, and drawn anew by two escape sequences; nothing is typed, so that needs no ncurses.
 */
#include "top.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmds/command.h"
#include "cmds/report/report.h"
#include "cmds/stop.h"
#include "monitor/announced.h"
#include "views/json.h"

struct top_options {
    int once, json, color;
    const char *folder;
    uint64_t interval_ns;
};

/* ---- looks ---------------------------------------------------------------------------------- */

static void remember(struct top *top)
{
    for (size_t i = 0; i < top->watch->process_count; i++)
        for (size_t k = 0; k < top->watch->processes[i].device_count; k++) {
            const struct sonde_watch_process *p = &top->watch->processes[i];
            struct top_history *h = top_history_of(top, p, k);
            if (!h) {
                struct top_history fresh = {.device = (uint32_t)k};
                snprintf(fresh.process, sizeof fresh.process, "%s", p->name);
                for (int n = 0; n < TOP_HISTORY; n++)
                    fresh.share[n] = -1;
                if (sonde_vector_push(&top->histories, fresh))
                    continue; /* no sparkline */
                h = &top->histories.items[top->histories.count - 1];
            }
            memmove(h->share, h->share + 1, sizeof h->share - sizeof *h->share);
            h->share[TOP_HISTORY - 1] = p->state == SONDE_WATCH_RUNNING ? sonde_watch_busy(p, &p->devices[k]) : 0;
        }
}

static int look(struct top *top, struct sonde_diag *diag)
{
    sonde_gpus_read(top->gpus);
    if (sonde_gpus_show(top->gpus))
        return sonde_diag_set(diag, SONDE_ENOMEM, "the devices", "cannot look at");
    const int code = sonde_watch_look(top->watch, diag);
    sonde_announced_sweep(top->watch->folder);
    if (!code)
        remember(top);
    return code;
}

static int print(const struct top *top, const struct top_options *options, struct sonde_diag *diag)
{
    struct sonde_view_data data = {0};
    struct sonde_text text = {0};
    const int columns = sonde_terminal_columns(STDOUT_FILENO);
    const struct report r = {.word = "", .columns = columns ? columns : 100, .colors = sonde_colors((enum sonde_color)options->color, STDOUT_FILENO)};
    top_fill(top, &data);
    int code = data.error;
    if (!code && options->json) {
        sonde_view_json(&top_view, &data, &text);
        code = text.failed ? SONDE_ENOMEM : 0;
        fputs(sonde_text_get(&text), stdout);
    } else if (!code) {
        report_lay_out(&r, &top_view, &data);
    }
    fflush(stdout);
    sonde_text_fini(&text);
    sonde_view_data_fini(&data);
    return code ? sonde_diag_set(diag, code, NULL, "cannot show what programs do") : 0;
}

static int show(struct top *top, const struct top_options *options, struct sonde_diag *diag)
{
    const bool live = !options->once && isatty(STDOUT_FILENO);
    struct sonde_stop stop;
    int code = sonde_stop_begin(&stop, diag), came = 0;
    if (!code)
        code = look(top, diag);
    for (bool again = true; !code && again; again = live) {
        came = sonde_stop_wait(&stop, (int)(options->interval_ns / 1000000), NULL, NULL);
        if (came)
            break;
        code = look(top, diag);
        if (!code && live)
            fputs("\033[H\033[J", stdout); /* to the upper left, and nothing below */
        if (!code)
            code = print(top, options, diag);
    }
    if (came == SIGINT && live)
        putchar('\n'); /* after the ^C */
    return code;
}

static int run(const void *options, int argc, char **argv)
{
    const struct top_options *o = options;
    struct top top = {.interval_ns = o->interval_ns, .all = o->json};
    struct sonde_diag diag = {0};
    char folder[PATH_MAX];
    (void)argc;
    (void)argv;
    int code = sonde_announced_folder(o->folder, folder, &diag);
    if (!code && (!(top.watch = sonde_watch_create(folder)) || !(top.gpus = sonde_gpus_create())))
        code = sonde_diag_set(&diag, SONDE_ENOMEM, NULL, "cannot look at programs");
    if (!code)
        code = show(&top, o, &diag);
    sonde_watch_destroy(top.watch);
    sonde_gpus_destroy(top.gpus);
    sonde_vector_fini(&top.histories);
    return code ? sonde_say_diag(&diag) : SONDE_EXIT_OK;
}

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "once", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct top_options, once),
     .help = "Print once, after one interval, and end. So it is where standard output is no terminal."},
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct top_options, json),
     .help = "Print JSON, with all rows."},
    {.name = "interval", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = offsetof(struct top_options, interval_ns),
     .help = "Time between two looks, over which rates are taken (default: 1s)."},
    {.name = "folder", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = offsetof(struct top_options, folder),
     .help = "Folder of announced programs (default: /dev/shm/sonde-UID)."},
    {.name = "color", .type = SONDE_OPTION_CHOICE, .argument = "WHEN", .offset = offsetof(struct top_options, color), .choices = sonde_color_names,
     .help = "Use colors: auto (default), always or never."},
    {.name = NULL},
};
/* clang-format on */

static const struct top_options defaults = {.interval_ns = 1000000000};

static const struct sonde_example examples[] = {
    {"sonde top", "until Ctrl-C"},
    {"sonde top --once --json", "for scripts"},
    {NULL, NULL},
};

const struct sonde_command sonde_command_top = {
    .name = "top",
    .summary = "show what programs do on devices now",
    .usage = "[OPTION...]",
    .description = "Shows the NVIDIA devices of this machine, as the driver knows them, with the processes on them; and the programs that were "
                   "started with `sonde record --light`: how busy they keep each device, what runs there now, and which kernels and copies "
                   "take the time; again and again until Ctrl-C.",
    .options = options_table,
    .examples = examples,
    .options_bytes = sizeof(struct top_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_NONE,
    .signals = true,
    .run = run,
};
