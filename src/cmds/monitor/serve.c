/* serve.c - `sonde monitor`: a look at each interval, and the figures of the last one to whoever asks. */
#include "monitor.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/command.h"
#include "cmds/stop.h"
#include "monitor/announced.h"
#include "monitor/csv.h"
#include "monitor/database.h"
#include "monitor/gpu_metrics.h"
#include "monitor/joined.h"
#include "monitor/gpus.h"
#include "monitor/openmetrics.h"
#include "monitor/samples.h"
#include "monitor/watch.h"

struct store {
    struct sonde_csv *csv; /* this, */
    struct sonde_database *database; /* or this */
    const char *path;
    char said[1024]; /* what was wrong at the last look; empty: nothing */
};

struct monitor {
    const struct monitor_options *options;
    pthread_mutex_t lock; /* over all of it: the server's thread reads what the first one changes */
    struct sonde_watch *watch;
    struct sonde_gpus *gpus;
    struct sonde_joined *joined;
    struct store stores[SONDE_STORES]; /* of the first thread alone */
    size_t store_count;
    struct sonde_openmetrics_own own;
    struct monitor_when *when; /* NULL: no conditions */
    double swept_s; /* when the folder was swept last */
    char said[1024]; /* the last message about programs that could not be read */
    bool told;       /* that there are no devices to watch */
};

static double seconds(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whatever is chosen to be served. */
static void write_all(struct monitor *m, enum sonde_metrics_form form, struct sonde_text *out)
{
    pthread_mutex_lock(&m->lock);
    m->own.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
    sonde_gpu_metrics_write(m->gpus, form, out);
    sonde_openmetrics_write(m->watch, &m->own, form, out);
    pthread_mutex_unlock(&m->lock);
}

static void write_metrics(void *user, enum sonde_metrics_form form, struct sonde_text *out)
{
    struct monitor *m = user;
    const bool all = !m->options->metrics && !m->options->devices;
    struct sonde_text whole = {0}, *to = all ? out : &whole;
    write_all(m, form, to);
    if (all)
        return;
    sonde_samples_choose(sonde_text_get(&whole), m->options->metrics, m->options->devices, out);
    out->failed |= whole.failed;
    sonde_text_fini(&whole);
}

/* What is wrong with a store is said once, and that it is well again. */
static void say_store(struct store *store, int code, const struct sonde_diag *diag)
{
    char now[sizeof store->said] = "";
    if (code)
        snprintf(now, sizeof now, "%s %s: %s", diag->what, diag->where, diag->why);
    if (strcmp(now, store->said) == 0)
        return;
    if (code)
        sonde_say_diag(diag);
    else
        sonde_say("figures are stored in %s again", store->path);
    memcpy(store->said, now, sizeof now);
}

/* The text is taken apart, so each store gets its own. */
static void put(struct monitor *m, size_t i, const struct timespec *now)
{
    struct store *store = &m->stores[i];
    struct sonde_store_count count = m->own.stores[i];
    struct sonde_text text = {0};
    struct sonde_diag diag = {0};
    int code = 0;
    write_metrics(m, SONDE_METRICS_CLASSIC, &text);
    if (text.failed)
        code = sonde_diag_set(&diag, SONDE_ENOMEM, store->path, "cannot store in");
    else if (text.length)
        code = store->csv ? sonde_csv_put(store->csv, text.bytes, now, &count, &diag)
                          : sonde_database_put(store->database, text.bytes, now, &count, &diag);
    sonde_text_fini(&text);
    pthread_mutex_lock(&m->lock);
    m->own.stores[i] = count;
    pthread_mutex_unlock(&m->lock);
    say_store(store, code, &diag);
}

static void put_all(struct monitor *m)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < m->store_count; i++)
        put(m, i, &now);
}

static int open_stores(struct monitor *m, struct sonde_diag *diag)
{
    const struct monitor_options *o = m->options;
    int code = 0;
    if (o->csv && !(code = sonde_csv_open(o->csv, o->csv_bytes, &m->stores[m->store_count].csv, diag))) {
        m->stores[m->store_count].path = o->csv;
        m->own.stores[m->store_count++].store = "csv";
    }
    if (!code && o->sqlite && !(code = sonde_database_open(o->sqlite, o->sqlite_keep_ns, &m->stores[m->store_count].database, diag))) {
        m->stores[m->store_count].path = o->sqlite;
        m->own.stores[m->store_count++].store = "sqlite";
    }
    return code;
}

/* They were checked: what is wrong now is memory. */
static int read_conditions(struct monitor *m, struct sonde_diag *diag)
{
    struct sonde_text wrong = {0};
    struct sonde_nearest nearest;
    int code = 0;
    if (m->options->when && monitor_when_read(m->options->when, &m->when, &wrong, &nearest))
        code = sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot serve");
    if (m->when)
        m->own.conditions = monitor_when_counts(m->when, &m->own.condition_count);
    sonde_text_fini(&wrong);
    return code;
}

static void close_stores(struct monitor *m)
{
    for (size_t i = 0; i < m->store_count; i++) {
        sonde_csv_close(m->stores[i].csv);
        sonde_database_close(m->stores[i].database);
    }
}

/* A program of another version, mostly: said once. */
static void say_unread(struct monitor *m)
{
    if (!*m->watch->unread_why || strcmp(m->said, m->watch->unread_why) == 0)
        return;
    snprintf(m->said, sizeof m->said, "%s", m->watch->unread_why);
    sonde_say("%s", m->said);
}

/* What became of devices, each line once. */
static void say_devices(struct monitor *m)
{
    char *notes = m->gpus->notes.bytes, *rest = NULL;
    if (*m->gpus->why && !m->told)
        sonde_say("no NVIDIA device is watched: %s", m->gpus->why);
    m->told = *m->gpus->why;
    for (char *line = notes ? strtok_r(notes, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        sonde_say("%s", line);
    sonde_text_fini(&m->gpus->notes);
}

/* Not at a look that failed: its figures are those of the look before. */
static void look_at_conditions(struct monitor *m)
{
    struct sonde_text text = {0};
    write_all(m, SONDE_METRICS_CLASSIC, &text);
    pthread_mutex_lock(&m->lock);
    if (!text.failed)
        monitor_when_look(m->when, m->watch, sonde_text_get(&text), (uint64_t)(seconds(CLOCK_MONOTONIC) * 1e9));
    pthread_mutex_unlock(&m->lock);
    sonde_text_fini(&text);
}

static void look(struct monitor *m)
{
    struct sonde_diag diag = {0};
    const double begin = seconds(CLOCK_MONOTONIC);
    sonde_gpus_read(m->gpus);
    pthread_mutex_lock(&m->lock);
    const int shown = sonde_gpus_show(m->gpus);
    int code = sonde_watch_look(m->watch, &diag);
    sonde_joined_look(m->joined, m->gpus, m->watch);
    if (shown && !code)
        code = sonde_diag_set(&diag, shown, "the devices", "cannot look at");
    m->own.look_s += seconds(CLOCK_MONOTONIC) - begin;
    pthread_mutex_unlock(&m->lock);
    if (begin - m->swept_s >= 1) {
        m->swept_s = begin;
        sonde_announced_sweep(m->watch->folder);
    }
    say_devices(m);
    say_unread(m);
    if (!code && m->when)
        look_at_conditions(m);
    if (code && strcmp(m->said, diag.where) != 0) { /* once, not at each look */
        snprintf(m->said, sizeof m->said, "%s", diag.where);
        sonde_say_diag(&diag);
    }
}

static void serve(struct monitor *m, const struct sonde_stop *stop, uint64_t interval_ns)
{
    double next = seconds(CLOCK_MONOTONIC);
    int came;
    do {
        look(m);
        put_all(m);
        const double now = seconds(CLOCK_MONOTONIC);
        next += (double)interval_ns / 1e9;
        if (next < now)
            next = now;
        came = sonde_stop_wait(stop, (int)((next - now) * 1e3 + .5), NULL, NULL);
    } while (!came);
    if (came == SIGINT && isatty(STDERR_FILENO))
        fputc('\n', stderr); /* after the ^C */
}

int monitor_serve(const struct monitor_options *options)
{
    struct monitor m = {.lock = PTHREAD_MUTEX_INITIALIZER, .options = options};
    struct monitor_server *server = NULL;
    struct sonde_diag diag = {0};
    struct sonde_stop stop;
    char folder[PATH_MAX];
    int code = sonde_announced_folder(options->folder, folder, &diag);
    if (!code && (!(m.watch = sonde_watch_create(folder)) || !(m.gpus = sonde_gpus_create()) || !(m.joined = sonde_joined_create())))
        code = sonde_diag_set(&diag, SONDE_ENOMEM, NULL, "cannot serve");
    if (!code && options->counters)
        sonde_gpus_sample(m.gpus, options->counters, options->counter_interval_ns);
    if (!code)
        code = read_conditions(&m, &diag);
    if (!code)
        code = open_stores(&m, &diag);
    if (!code)
        code = sonde_stop_begin(&stop, &diag);
    if (!code)
        code = monitor_server_start(options->listen, write_metrics, &m, &server, &diag);
    if (!code) {
        printf("%s\n", monitor_server_url(server));
        fflush(stdout);
        serve(&m, &stop, options->interval_ns);
        monitor_server_stop(server);
    }
    close_stores(&m);
    monitor_when_free(m.when);
    sonde_watch_destroy(m.watch);
    sonde_joined_destroy(m.joined);
    sonde_gpus_destroy(m.gpus);
    return code ? sonde_say_diag(&diag) : SONDE_EXIT_OK;
}
