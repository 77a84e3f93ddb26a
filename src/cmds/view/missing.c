/* missing.c - in place of serve.c, where libmicrohttpd's header was missing when this was built. */
#include "view.h"

#include "cmds/command.h"

int view_serve(const struct view_options *options, const char *path)
{
    (void)options;
    (void)path;
    sonde_say("'sonde view' needs libmicrohttpd: this sonde was built without it; install libmicrohttpd-dev and build again");
    return SONDE_EXIT_FAILED;
}
