/* missing.c - in place of serve.c, where libmicrohttpd's header was missing when this was built. */
#include "monitor.h"

#include "cmds/command.h"

int monitor_serve(const struct monitor_options *options)
{
    (void)options;
    sonde_say("'sonde monitor' needs libmicrohttpd: this sonde was built without it; install libmicrohttpd-dev and build again");
    return SONDE_EXIT_FAILED;
}
