/* monitor.h - the parts of `sonde monitor`. */
#ifndef SONDE_CMDS_MONITOR_MONITOR_H
#define SONDE_CMDS_MONITOR_MONITOR_H

#include <stdint.h>

#include <sonde/error.h>

#include "base/nearest.h"
#include "base/option.h"
#include "base/text.h"
#include "monitor/openmetrics.h"

struct monitor_options {
    const char *config;
    int check;
    const char *listen;    /* "ADDRESS:PORT" */
    const char *folder;    /* of announced programs; NULL: this user's */
    uint64_t interval_ns;
    const char *metrics;   /* patterns of names, separated by commas; NULL: all */
    const char *devices;   /* numbers of NVIDIA devices, separated by commas; NULL: all */
    const char *counters;  /* of the hardware: metrics and sets, separated by commas; NULL: none */
    uint64_t counter_interval_ns; /* how often the devices note them */
    const char *csv;       /* folder of the CSV store; NULL: none */
    uint64_t csv_bytes;    /* another file begins when one is as large */
    const char *sqlite;    /* file of the database; NULL: none */
    uint64_t sqlite_keep_ns;
    const char *when;      /* conditions at which recordings of the last seconds are written (when.c); NULL: none */
};

/* Of the command. In lines with a `value` are options of the command line alone. All others are strings or have 64 bits. */
extern const struct sonde_option monitor_options_table[];

/* Of values that the table cannot check: 0, or SONDE_EINVALID with what is wrong, and what may have been meant. */
int monitor_option_check(const struct monitor_options *options, struct sonde_text *wrong, struct sonde_nearest *nearest);

/* config.c: fill in what `options` has as in `unset`. 0, or the exit status after a message. */
int monitor_config_read(const char *path, const struct monitor_options *unset, struct monitor_options *options);

/* when.c: conditions. 0, or SONDE_EINVALID with what is wrong, and what may have been meant. */
struct monitor_when;
int monitor_when_read(const char *text, struct monitor_when **out, struct sonde_text *wrong, struct sonde_nearest *nearest);
void monitor_when_free(struct monitor_when *when); /* NULL: nothing */
/* After a look, `text` being all that is served in the older form: says what it asks for, and of what. `now_ns`: CLOCK_MONOTONIC. */
void monitor_when_look(struct monitor_when *when, const struct sonde_watch *watch, const char *text, uint64_t now_ns);
/* How often it did, by condition; as long as `when`. */
const struct sonde_asked_count *monitor_when_counts(const struct monitor_when *when, size_t *count);

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
