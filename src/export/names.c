/* names.c - see names.h. Ids may be unknown where a part of the measurement
 * was damaged: every look-up is checked, and says "unknown" or a number then.
 */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS_MAX 64

/* Number the queues, and the threads, of a process. */
static uint32_t *number_lanes(const struct sonde_process *p)
{
    uint32_t queues = 0, threads = 0;
    uint32_t *ordinal = calloc(p->lane_count + 1, sizeof *ordinal);
    for (uint32_t i = 1; ordinal && i < p->lane_count; i++)
        if (!sonde_lane_is_series(&p->lanes[i]))
            ordinal[i] = p->lanes[i].kind == SONDE_LANE_KIND_QUEUE ? ++queues : ++threads;
    return ordinal;
}

int sonde_names_init(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_diag *diag)
{
    struct sonde_profile *profile;
    memset(names, 0, sizeof *names);
    int code = sonde_profile_build(m, &profile, diag);
    return code ? code : sonde_names_of(names, m, profile, diag);
}

int sonde_names_of(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_profile *profile, struct sonde_diag *diag)
{
    int code = 0;
    *names = (struct sonde_names){.measurement = m, .profile = profile};
    names->ordinals = calloc(m->process_count + 1, sizeof *names->ordinals);
    for (uint32_t i = 0; names->ordinals && i < m->process_count; i++) {
        names->ordinals[i] = number_lanes(&m->processes[i]);
        code = names->ordinals[i] ? code : SONDE_ENOMEM;
    }
    if (!names->ordinals || code) {
        sonde_names_fini(names);
        return sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    }
    return 0;
}

void sonde_names_fini(struct sonde_names *names)
{
    for (uint32_t i = 0; names->ordinals && i < names->measurement->process_count; i++)
        free(names->ordinals[i]);
    free(names->ordinals);
    sonde_profile_destroy(names->profile);
    sonde_text_fini(&names->scratch);
    memset(names, 0, sizeof *names);
}

const char *sonde_group_text(uint32_t kind)
{
    static const char *const text[] = {
        [SONDE_GROUP_KERNEL] = "kernel",
        [SONDE_GROUP_COPY] = "copy",
        [SONDE_GROUP_SET] = "set",
        [SONDE_GROUP_ORDER] = "order",
    };
    return kind < SONDE_OP_KIND_COUNT ? text[sonde_op_kind_group(kind)] : "unknown";
}

const char *sonde_state_text(uint32_t state)
{
    return state == SONDE_PROCESS_RUNNING  ? "running"
           : state == SONDE_PROCESS_EXITED ? "exited"
           : state == SONDE_PROCESS_OFF    ? "off"
                                           : "unknown";
}

uint32_t sonde_names_locate(const struct sonde_names *names, uint32_t process, uint32_t node)
{
    uint32_t at = sonde_profile_locate(names->profile, process, node);
    return at < names->profile->nodes.count ? at : 0;
}

const char *sonde_names_op(const struct sonde_names *names, uint32_t at, uint32_t kind)
{
    const struct sonde_cct_node *node = &names->profile->nodes.items[at];
    return at && node->kind == SONDE_FRAME_OP && *node->name ? node->name : sonde_op_kind_name(kind);
}

const char *sonde_names_call(const struct sonde_names *names, uint32_t at)
{
    const struct sonde_cct_node *node = &names->profile->nodes.items[at];
    return at && node->kind == SONDE_FRAME_API && *node->name ? node->name : "API call";
}

const char *sonde_sleep_text(uint32_t kind)
{
    /* clang-format off */
    static const char *const texts[] = {"unknown",
#define X(name, text) text,
        SONDE_SLEEP_MAP(X)
#undef X
    };
    /* clang-format on */
    return texts[kind < SONDE_SLEEP_KINDS ? kind : 0];
}

/* "step() heat.c:81": brackets unless the name has its own, or is "<module>". Links
 * and ranges as in reports. */
static void add_function(struct sonde_text *text, const struct sonde_cct_node *node)
{
    if (node->kind == SONDE_FRAME_RANGE) {
        sonde_text_format(text, *node->module ? "[%s: %s]" : "[%s%s]", node->module, node->name);
        return;
    }
    if (node->kind == SONDE_FRAME_LINK && !node->offset) {
        sonde_text_add(text, "prepared elsewhere");
        return;
    }
    if (node->kind == SONDE_FRAME_LINK)
        sonde_text_add(text, "prepared in ");
    if (node->kind == SONDE_FRAME_LINK && !*node->name)
        sonde_text_add(text, *node->module ? sonde_path_base(node->module) : "unknown code");
    else if (node->kind == SONDE_FRAME_CUT)
        sonde_text_add(text, "(outer frames missing)");
    else if (*node->name)
        sonde_text_format(text, "%s%s", node->name, *node->name == '<' || strchr(node->name, '(') ? "" : "()");
    else if (*node->module)
        sonde_text_format(text, "%s+0x%llx", sonde_path_base(node->module), (unsigned long long)node->offset);
    else
        sonde_text_add(text, "unknown code");
}

static void add_frame(struct sonde_text *text, const struct sonde_cct_node *node)
{
    const bool coded = node->kind != SONDE_FRAME_RANGE && (node->kind != SONDE_FRAME_LINK || node->offset);
    add_function(text, node);
    if (coded && *node->file)
        sonde_text_format(text, " %s", sonde_path_base(node->file));
    if (coded && *node->file && node->line)
        sonde_text_format(text, ":%u", node->line);
}

const char *sonde_names_sleep(struct sonde_names *names, uint32_t at)
{
    uint32_t caller;
    names->scratch.length = 0;
    sonde_text_add(&names->scratch, at && *names->profile->nodes.items[at].name ? names->profile->nodes.items[at].name : "a wait");
    if (at && sonde_profile_callers(names->profile, at, &caller, 1)) {
        sonde_text_add(&names->scratch, " in ");
        add_function(&names->scratch, &names->profile->nodes.items[caller]);
    }
    return sonde_text_get(&names->scratch);
}

const char *sonde_names_frame(struct sonde_names *names, uint32_t at, bool place)
{
    const struct sonde_cct_node *node = &names->profile->nodes.items[at];
    if (node->kind == SONDE_FRAME_OP)
        return sonde_names_op(names, at, node->op);
    if (node->kind == SONDE_FRAME_API)
        return sonde_names_call(names, at);
    names->scratch.length = 0;
    if (place)
        add_frame(&names->scratch, node);
    else
        add_function(&names->scratch, node);
    return sonde_text_get(&names->scratch);
}

const char *sonde_names_callers(struct sonde_names *names, uint32_t at, uint32_t max)
{
    uint32_t callers[CALLERS_MAX];
    uint32_t count = sonde_profile_callers(names->profile, at, callers, max < CALLERS_MAX ? max : CALLERS_MAX);
    names->scratch.length = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            sonde_text_add(&names->scratch, sonde_profile_called_by(names->profile, callers[i - 1]));
        add_frame(&names->scratch, &names->profile->nodes.items[callers[i]]);
    }
    return names->scratch.length ? sonde_text_get(&names->scratch) : "";
}

const char *sonde_names_stack(struct sonde_names *names, uint32_t at)
{
    names->scratch.length = 0;
    while (at) {
        const struct sonde_cct_node *node = &names->profile->nodes.items[at];
        at = node->parent;
        if (node->kind == SONDE_FRAME_OP || node->kind == SONDE_FRAME_API)
            continue;
        if (names->scratch.length)
            sonde_text_add(&names->scratch, "\n");
        add_frame(&names->scratch, node);
    }
    return names->scratch.length ? sonde_text_get(&names->scratch) : "";
}

const char *sonde_names_ranges(struct sonde_names *names, uint32_t at)
{
    names->scratch.length = 0;
    for (; at; at = names->profile->nodes.items[at].parent) {
        const struct sonde_cct_node *node = &names->profile->nodes.items[at];
        if (node->kind != SONDE_FRAME_RANGE)
            continue;
        if (names->scratch.length)
            sonde_text_add(&names->scratch, " \xe2\x86\x90 ");
        add_frame(&names->scratch, node);
    }
    return names->scratch.length ? sonde_text_get(&names->scratch) : "";
}

char *sonde_names_device(const struct sonde_process *p, uint32_t device, char *out, size_t size)
{
    const char *name = device && device < p->device_count ? sonde_process_string(p, p->devices[device].name) : "";
    if (*name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "device %u", device);
    return out;
}

char *sonde_names_device_numbered(const struct sonde_process *p, uint32_t device, char *out, size_t size)
{
    char name[128];
    if (device)
        snprintf(out, size, "Device %u \xc2\xb7 %s", device - 1, sonde_names_device(p, device, name, sizeof name));
    else
        snprintf(out, size, "Unknown device");
    return out;
}

char *sonde_names_lane(const struct sonde_names *names, uint32_t process, uint32_t lane, char *out, size_t size)
{
    const struct sonde_process *p = &names->measurement->processes[process];
    const struct sonde_row_lane *row;
    char device[128];
    if (lane == 0 || lane >= p->lane_count) {
        snprintf(out, size, "Lane %u", lane);
        return out;
    }
    row = &p->lanes[lane];
    const char *name = sonde_process_string(p, row->name);
    if (row->kind == SONDE_LANE_KIND_THREAD)
        snprintf(out, size, "%s %u", *name ? name : "Thread", row->tid);
    else if (strncmp(name, "queue ", 6) == 0) /* the backend's own number, as in reports */
        snprintf(out, size, "Queue %s \xc2\xb7 %s", name + 6,
                 sonde_names_device(p, row->device, device, sizeof device));
    else
        snprintf(out, size, "Queue %u%s%s \xc2\xb7 %s", names->ordinals[process][lane], *name ? " " : "", name,
                 sonde_names_device(p, row->device, device, sizeof device));
    return out;
}

static void put_sizes(const uint64_t *sizes, uint32_t dims, char *out, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < dims && i < 3 && sizes[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%llu", i ? " \xc3\x97 " : "",
                                 (unsigned long long)sizes[i]);
}

char *sonde_names_work(const struct sonde_process *p, uint32_t work, enum sonde_work_text which, char *out, size_t size)
{
    out[0] = 0;
    if (work == 0 || work >= p->work_count)
        return out;
    const struct sonde_row_work *w = &p->works[work];
    const uint64_t cluster[] = {w->cluster[0], w->cluster[1], w->cluster[2]};
    const char *text = "";
    switch (which) {
    case SONDE_WORK_GLOBAL: put_sizes(w->global, w->dims, out, size); return out;
    case SONDE_WORK_LOCAL: put_sizes(w->local, w->dims, out, size); return out;
    case SONDE_WORK_CLUSTER: put_sizes(cluster, 3, out, size); return out;
    case SONDE_WORK_LIMITER: text = w->occupancy && w->limiter ? sonde_limiter_name(w->limiter) : ""; break;
    case SONDE_WORK_SOURCE: text = w->source ? sonde_memory_name(w->source) : ""; break;
    case SONDE_WORK_TARGET: text = w->target ? sonde_memory_name(w->target) : ""; break;
    case SONDE_WORK_SOURCE_DEVICE: return w->source_device ? sonde_names_device_numbered(p, w->source_device, out, size) : out;
    case SONDE_WORK_TARGET_DEVICE: return w->target_device ? sonde_names_device_numbered(p, w->target_device, out, size) : out;
    case SONDE_WORK_TEXTS: break;
    }
    snprintf(out, size, "%s", text);
    return out;
}

const struct sonde_row_work *sonde_names_launch(const struct sonde_process *p, uint32_t work)
{
    const struct sonde_row_work *w = work && work < p->work_count ? &p->works[work] : NULL;
    return w && (w->registers || w->occupancy) ? w : NULL;
}
