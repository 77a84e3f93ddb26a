/* sonde_sampler.c - a sampler of LDMS (4.5 and later): what announced programs do on their devices, as metric sets. docs/monitor.md, "LDMS".
 *
 * Each device of a program is a set of the schema sonde_device, each kind of operation there, of kernels each kernel, one of sonde_operation. Figures
 * are those that `sonde monitor` serves, counted since the program began. A set comes with what it is about, and goes when the program has ended
 * and its last figures have been there for KEEP_NS.
 *
 * Threads: ldmsd calls the functions of one configuration one at a time.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ldms/ldms.h>
#include <ldms/ldmsd.h>
#include <ldms/ldmsd_plug_api.h>
#include <ldms/sampler/sampler_base.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/kinds.h"
#include "base/map.h"
#include "base/vector.h"
#include "monitor/announced.h"
#include "monitor/watch.h"

#define SAMPLER "sonde_sampler"
#define KEEP_NS 10000000000u

enum {
    TEXT = 64, /* bytes of a text, of a kernel's name, with the end */
    KERNEL = 256,
    SETS_MOST = 4096, /* sets of one configuration */
};

/* ---- what sets have -------------------------------------------------------------------------------- */

enum {
    DEVICE_SET,
    OPERATION_SET,
    SET_KINDS,
};

struct metric {
    const char *name, *unit;
    int bytes; /* of a text; 0: a number */
};
/* In the order in which fill_whose, fill_device and fill_operation set them. */
/* clang-format off */
#define WHOSE                                                                                                             \
    {"process", "", TEXT}, {"program", "", TEXT}, {"pid", "", 0}, {"rank", "", 0}, {"device", "", 0}, {"device_name", "", TEXT}, \
    {"runtime", "", TEXT}
/* clang-format on */
static const struct metric device_metrics[] = {
    WHOSE,
    {"running", "", 0},
    {"device_busy_ns", "ns", 0},
    {"device_kernel_ns", "ns", 0},
    {"device_copy_ns", "ns", 0},
    {"device_waiting_operations", "", 0},
    {"enqueued_operations", "", 0},
    {"dropped_operations", "", 0},
    {"unmatched_operations", "", 0},
    {"overhead_ns", "ns", 0},
};
static const struct metric operation_metrics[] = {
    WHOSE,
    {"kind", "", TEXT},
    {"kernel", "", KERNEL},
    {"operations", "", 0},
    {"failed_operations", "", 0},
    {"timed_operations", "", 0},
    {"operation_ns", "ns", 0},
    {"operation_bytes", "B", 0},
};
static const struct {
    const char *schema;
    const struct metric *metrics;
    size_t count;
} kinds[SET_KINDS] = {
    {"sonde_device", device_metrics, sizeof device_metrics / sizeof *device_metrics},
    {"sonde_operation", operation_metrics, sizeof operation_metrics / sizeof *operation_metrics},
};

struct set {
    ldms_set_t set;
    char *name;
    uint64_t seen; /* the look in which it was last filled */
    int kind;
};

struct sampler { /* one configuration */
    ovis_log_t log;
    struct sonde_watch *watch;
    base_data_t base[SET_KINDS];
    char *prefix;               /* of the sets' names */
    int first[SET_KINDS];       /* our first metric */
    SONDE_VECTOR(struct set) sets;
    struct sonde_map by_name;   /* hash of a name -> index; of two with one hash the second is behind it */
    uint64_t looks;
    bool full;                  /* that was said */
};

/* ---- sets --------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *name)
{
    return XXH3_64bits(name, strlen(name));
}

/* LDMS's base makes and fills one set at a time. */
static ldms_set_t make_set(struct sampler *s, int kind, char *name)
{
    base_data_t base = s->base[kind];
    char *own = base->instance_name;
    base->instance_name = name;
    ldms_set_t set = base_set_new(base);
    base->instance_name = own;
    base->set = NULL;
    return set;
}

static void drop_set(struct sampler *s, struct set *set)
{
    base_data_t base = s->base[set->kind];
    char *own = base->instance_name;
    base->instance_name = set->name;
    base->set = set->set;
    base_set_delete(base);
    base->instance_name = own;
    base->set = NULL;
    free(set->name);
    set->name = NULL;
}

/* Known, or made now; NULL: it cannot be, which is said. */
static struct set *set_named(struct sampler *s, int kind, const char *name)
{
    uint64_t key = hash_of(name), at;
    for (; sonde_map_get(&s->by_name, key, &at); key++)
        if (s->sets.items[at].name && strcmp(s->sets.items[at].name, name) == 0)
            return &s->sets.items[at];
    if (s->sets.count == SETS_MOST) {
        if (!s->full)
            ovis_log(s->log, OVIS_LERROR, "%d sets are the most of one configuration: what comes now has none\n", SETS_MOST);
        s->full = true;
        return NULL;
    }
    struct set made = {.kind = kind, .name = strdup(name)};
    made.set = made.name ? make_set(s, kind, made.name) : NULL;
    if (!made.set || sonde_map_put(&s->by_name, key, s->sets.count) || sonde_vector_push(&s->sets, made)) {
        if (made.set)
            drop_set(s, &made);
        free(made.name);
        return NULL;
    }
    return &s->sets.items[s->sets.count - 1];
}

/* Sets of which this look told nothing: the rest move up, and are found again. */
static void drop_old(struct sampler *s)
{
    size_t kept = 0;
    bool any = false;
    for (size_t i = 0; i < s->sets.count; i++)
        any |= s->sets.items[i].seen != s->looks;
    if (!any)
        return;
    sonde_map_fini(&s->by_name);
    for (size_t i = 0; i < s->sets.count; i++) {
        struct set *set = &s->sets.items[i];
        if (set->seen != s->looks) {
            drop_set(s, set);
            continue;
        }
        uint64_t key = hash_of(set->name), at;
        while (sonde_map_get(&s->by_name, key, &at))
            key++;
        sonde_map_put(&s->by_name, key, kept);
        s->sets.items[kept++] = *set;
    }
    s->sets.count = kept;
}

/* ---- figures ------------------------------------------------------------------------------------------ */

struct filling {
    ldms_set_t set;
    const struct metric *metrics;
    int first, at;
};

/* store_csv puts quotes around a text (ietfcsv=1) and doubles none in it. */
static void text(struct filling *f, const char *value)
{
    char room[KERNEL];
    snprintf(room, (size_t)f->metrics[f->at].bytes, "%s", value);
    for (char *quote = room; (quote = strchr(quote, '"'));)
        *quote = '\'';
    ldms_metric_array_set_str(f->set, f->first + f->at++, room);
}

static void number(struct filling *f, uint64_t value)
{
    ldms_metric_set_u64(f->set, f->first + f->at++, value);
}

static struct filling fill_begin(struct sampler *s, struct set *set)
{
    set->seen = s->looks;
    s->base[set->kind]->set = set->set;
    base_sample_begin(s->base[set->kind]);
    return (struct filling){.set = set->set, .metrics = kinds[set->kind].metrics, .first = s->first[set->kind]};
}

static void fill_end(struct sampler *s, struct set *set)
{
    base_sample_end(s->base[set->kind]);
    s->base[set->kind]->set = NULL;
}

/* A rank that is none is 2^64 - 1. */
static void fill_whose(struct filling *f, const struct sonde_watch_process *p, uint32_t device)
{
    text(f, p->name);
    text(f, p->program);
    number(f, p->pid);
    number(f, p->rank < 0 ? UINT64_MAX : (uint64_t)p->rank);
    number(f, device);
    text(f, p->devices[device].name);
    text(f, p->devices[device].runtime);
}

static void fill_device(struct sampler *s, const struct sonde_watch_process *p, uint32_t device)
{
    char name[PATH_MAX];
    const struct sonde_watch_device *d = &p->devices[device];
    snprintf(name, sizeof name, "%s/%s/%u", s->prefix, p->name, device);
    struct set *set = set_named(s, DEVICE_SET, name);
    if (!set)
        return;
    struct filling f = fill_begin(s, set);
    fill_whose(&f, p, device);
    number(&f, p->state == SONDE_WATCH_RUNNING);
    number(&f, d->busy_ns);
    number(&f, d->kernel_ns);
    number(&f, d->copy_ns);
    number(&f, d->waiting);
    number(&f, p->seen);
    number(&f, p->dropped);
    number(&f, p->unmatched);
    number(&f, p->overhead_ns);
    fill_end(s, set);
}

/* A set's name has no room for a kernel's: its number among the program's stands for it. */
static void fill_operation(struct sampler *s, const struct sonde_watch_process *p, size_t row)
{
    char name[PATH_MAX];
    const struct sonde_watch_row *r = &p->rows[row];
    snprintf(name, sizeof name, "%s/%s/%u/%s/%016llx", s->prefix, p->name, r->device, sonde_op_kind_name(r->kind), (unsigned long long)hash_of(r->name));
    struct set *set = set_named(s, OPERATION_SET, name);
    if (!set)
        return;
    struct filling f = fill_begin(s, set);
    fill_whose(&f, p, r->device);
    text(&f, sonde_op_kind_name(r->kind));
    text(&f, r->name);
    number(&f, r->now.operations);
    number(&f, r->now.failed);
    number(&f, r->now.timed);
    number(&f, r->now.total_ns);
    number(&f, r->now.bytes);
    fill_end(s, set);
}

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int sample(ldmsd_plug_handle_t handle)
{
    struct sampler *s = ldmsd_plug_ctxt_get(handle);
    struct sonde_diag diag = {0};
    if (!s)
        return EINVAL;
    if (sonde_watch_look(s->watch, &diag) != SONDE_OK)
        ovis_log(s->log, OVIS_LERROR, "%s%s%s\n", diag.what, *diag.where ? ": " : "", diag.where);
    s->looks++;
    for (size_t i = 0; i < s->watch->process_count; i++) {
        const struct sonde_watch_process *p = &s->watch->processes[i];
        if (p->ended_ns && monotonic_ns() - p->ended_ns > KEEP_NS)
            continue;
        for (uint32_t device = 0; device < p->device_count; device++)
            fill_device(s, p, device);
        for (size_t row = 0; row < p->row_count; row++)
            fill_operation(s, p, row);
    }
    drop_old(s);
    return 0;
}

/* ---- configuration ------------------------------------------------------------------------------------- */

static const char *usage(ldmsd_plug_handle_t handle)
{
    (void)handle;
    return "config name=" SAMPLER " " BASE_CONFIG_SYNOPSIS "       [folder=DIR]\n" BASE_CONFIG_DESC
           "    instance     What the names of all sets begin with; the schemas are sonde_device and sonde_operation\n"
           "    folder       Of announced programs (sonde record --light); default: that of the user of ldmsd, /dev/shm/sonde-UID\n";
}

static void free_sampler(struct sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->sets.count; i++)
        drop_set(s, &s->sets.items[i]);
    sonde_vector_fini(&s->sets);
    sonde_map_fini(&s->by_name);
    for (int kind = 0; kind < SET_KINDS; kind++)
        if (s->base[kind])
            base_del(s->base[kind]);
    if (s->watch)
        sonde_watch_destroy(s->watch);
    free(s->prefix);
    free(s);
}

static int make_schema(struct sampler *s, int kind)
{
    ldms_schema_t schema = base_schema_new(s->base[kind]);
    if (!schema)
        return errno ? errno : ENOMEM;
    s->first[kind] = ldms_schema_metric_count_get(schema);
    for (size_t i = 0; i < kinds[kind].count; i++) {
        const struct metric *m = &kinds[kind].metrics[i];
        const int at = m->bytes ? ldms_schema_metric_array_add_with_unit(schema, m->name, m->unit, LDMS_V_CHAR_ARRAY, (uint32_t)m->bytes)
                                : ldms_schema_metric_add_with_unit(schema, m->name, m->unit, LDMS_V_U64);
        if (at < 0)
            return -at;
    }
    return 0;
}

static int config(ldmsd_plug_handle_t handle, struct attr_value_list *words, struct attr_value_list *values)
{
    ovis_log_t log = ldmsd_plug_log_get(handle);
    char folder[PATH_MAX];
    struct sonde_diag diag = {0};
    int rc = 0;
    (void)words;
    if (ldmsd_plug_ctxt_get(handle)) {
        ovis_log(log, OVIS_LERROR, "this is configured already\n");
        return EBUSY;
    }
    if (av_value(values, "schema")) {
        ovis_log(log, OVIS_LERROR, "the schemas are sonde_device and sonde_operation: there is no schema= here\n");
        return EINVAL;
    }
    struct sampler *s = calloc(1, sizeof *s);
    if (!s)
        return ENOMEM;
    s->log = log;
    if (sonde_announced_folder(av_value(values, "folder"), folder, &diag) != SONDE_OK) {
        ovis_log(log, OVIS_LERROR, "%s%s%s\n", diag.what, *diag.where ? ": " : "", diag.where);
        rc = EINVAL;
    }
    s->watch = rc ? NULL : sonde_watch_create(folder);
    rc = rc ? rc : (s->watch ? 0 : ENOMEM);
    for (int kind = 0; kind < SET_KINDS && !rc; kind++) {
        s->base[kind] = base_config(values, ldmsd_plug_cfg_name_get(handle), kinds[kind].schema, log);
        rc = s->base[kind] ? make_schema(s, kind) : (errno ? errno : EINVAL);
    }
    s->prefix = rc ? NULL : strdup(s->base[0]->instance_name);
    rc = rc ? rc : (s->prefix ? 0 : ENOMEM);
    if (rc)
        free_sampler(s);
    else
        ldmsd_plug_ctxt_set(handle, s);
    return rc;
}

static int constructor(ldmsd_plug_handle_t handle)
{
    ldmsd_plug_ctxt_set(handle, NULL);
    return 0;
}

static void destructor(ldmsd_plug_handle_t handle)
{
    free_sampler(ldmsd_plug_ctxt_get(handle));
    ldmsd_plug_ctxt_set(handle, NULL);
}

__attribute__((visibility("default"))) struct ldmsd_sampler ldmsd_plugin_interface = {
    .base =
        {
            .type = LDMSD_PLUGIN_SAMPLER,
            .flags = LDMSD_PLUGIN_MULTI_INSTANCE,
            .config = config,
            .usage = usage,
            .constructor = constructor,
            .destructor = destructor,
        },
    .sample = sample,
};
