/* monitor.h - the parts of `sonde monitor`. */
#ifndef SONDE_CMDS_MONITOR_MONITOR_H
#define SONDE_CMDS_MONITOR_MONITOR_H

#include <stdint.h>

#include <sonde/error.h>

#include "base/text.h"
#include "monitor/openmetrics.h"

struct monitor_options {
    const char *listen;    /* "ADDRESS:PORT" */
    const char *folder;    /* of announced programs; NULL: this user's */
    uint64_t interval_ns;
};

/* serve.c: until a signal comes. Returns the exit status, after a message. In place of it missing.c, where libmicrohttpd's header was
 * missing when this was built. */
int monitor_serve(const struct monitor_options *options);

/* server.c: answers /metrics at an address. `write` appends the answer in a form, in a thread of the server's, one at a time. */
struct monitor_server;
int monitor_server_start(const char *listen, void (*write)(void *user, enum sonde_metrics_form form, struct sonde_text *out), void *user, struct monitor_server **out,
                         struct sonde_diag *diag);
void monitor_server_stop(struct monitor_server *server);
/* "http://127.0.0.1:9469/metrics"; as long as the server. */
const char *monitor_server_url(const struct monitor_server *server);

#endif
