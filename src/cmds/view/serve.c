/* serve.c - `sonde view DIR`: from a port that was taken to the end by a signal. */
#include "view.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stack.h"
#include "browser.h"
#include "cmds/command.h"
#include "format/reader.h"
#include "server.h"
#include "cmds/stop.h"

/* ---- the measurement ----------------------------------------------------------------------- */

struct opening {
    const char *path;
    const struct sonde_side *before;
    struct sonde_session *session;
    struct sonde_diag *diag;
};

static int open_session(void *user)
{
    struct opening *opening = user;
    int code = sonde_session_open(opening->path, &opening->session, opening->diag);
    if (!code && opening->before->paths.count)
        code = sonde_session_compare(opening->session, (const char *const *)opening->before->paths.items,
                                     (uint32_t)opening->before->paths.count, opening->diag);
    return code;
}

static int open_measurement(const char *path, const struct sonde_side *before, struct sonde_session **session, struct sonde_diag *diag)
{
    struct opening opening = {.path = path, .before = before, .diag = diag};
    struct sonde_progress *progress = sonde_progress_begin("reading", false);
    const int code = sonde_stack_run(open_session, &opening); /* signals end us as ever, and we may be in the first thread */
    sonde_progress_end(progress);
    *session = opening.session;
    if (!code)
        view_say_damage(sonde_session_measurement(opening.session));
    return code;
}

/* ---- the browser --------------------------------------------------------------------------- */

static void open_browser(const struct view_server *server, pid_t *browser)
{
    struct sonde_diag diag = {0};
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/open/%s", (unsigned)view_server_port(server), view_server_opening(server));
    *browser = view_browser_open(url, &diag);
    if (*browser < 0)
        sonde_say_diag(&diag);
}

static void browser_ended(void *user)
{
    pid_t *browser = user;
    int status = 0;
    if (*browser <= 0 || waitpid(*browser, &status, WNOHANG) != *browser)
        return;
    *browser = -1;
    if (status)
        sonde_say("no browser was opened: xdg-open failed; open the address in yours");
}

/* ---- serving ------------------------------------------------------------------------------- */

static void print_address(const struct view_server *server)
{
    printf("http://127.0.0.1:%u/#token=%s%s\n", (unsigned)view_server_port(server), view_server_token(server),
           isatty(STDOUT_FILENO) ? "   until Ctrl-C" : "");
    fflush(stdout);
}

/* The daemon's threads are started, so that signals have to be ours before. */
static int serve(const struct view_options *options, struct view_server *server, const struct sonde_session *session,
                 const struct view_assets *assets, struct sonde_diag *diag)
{
    struct sonde_stop stop;
    pid_t browser = -1;
    int code = sonde_stop_begin(&stop, diag);
    if (!code)
        code = view_server_start(server, session, assets, diag);
    if (code)
        return code;
    print_address(server);
    if (!options->no_browser && view_browser_can())
        open_browser(server, &browser);
    if (sonde_stop_wait(&stop, -1, browser_ended, &browser) == SIGINT && isatty(STDERR_FILENO))
        fputc('\n', stderr); /* after the ^C */
    return 0;
}

int view_serve(const struct view_options *options, const char *path)
{
    struct sonde_diag diag = {0}, page = {0};
    struct view_server *server = NULL;
    struct view_assets assets = {0};
    struct sonde_session *session = NULL;
    struct sonde_side before = {0};
    int code = options->before ? sonde_side_find(options->before, &before, &diag) : 0;
    if (!code)
        code = view_server_listen((uint16_t)options->port, &server, &diag);
    if (!code && view_assets_load(&assets, &page))
        sonde_say_diag(&page);
    if (!code)
        code = open_measurement(path, &before, &session, &diag);
    if (!code)
        code = serve(options, server, session, &assets, &diag);
    if (code)
        sonde_say_diag(&diag);
    if (server && !view_server_stop(server))
        _exit(sonde_output_finish(SONDE_EXIT_OK)); /* threads still read what would be given back */
    sonde_session_close(session);
    view_assets_fini(&assets);
    sonde_side_fini(&before);
    return code ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}
