/* scene.c - rows of a made-up process, and the measurement of it. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/writer.h"

struct scene {
    char path[64], process[96];
    struct synth_build *build;
    struct sonde_live_header header;
    struct account { uint32_t node, lane, profile; } *accounts;
    uint32_t account_count;
};

static void must(bool made, const char *what)
{
    if (made)
        return;
    perror(what);
    exit(1);
}

struct scene *scene_create(void)
{
    struct scene *s = calloc(1, sizeof *s);
    must(s, "scene");
    snprintf(s->path, sizeof s->path, "/tmp/sonde-scene-XXXXXX");
    must(mkdtemp(s->path), s->path);
    snprintf(s->process, sizeof s->process, "%s/scene-1-1", s->path);
    must(!mkdir(s->process, 0700), s->process);
    s->build = synth_build_create(s->process);
    s->header = (struct sonde_live_header){.pid = 1, .trace = 1, .stop_ns = 1000, .state = SONDE_PROCESS_EXITED};
    return s;
}

struct synth_build *scene_build(struct scene *s)
{
    return s->build;
}

struct sonde_live_header *scene_header(struct scene *s)
{
    return &s->header;
}

uint32_t scene_device(struct scene *s, const char *name)
{
    struct sonde_row_device row = {.name = synth_add_string(s->build, name)};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_DEVICE, 0, &row);
}

uint32_t scene_queue(struct scene *s, uint32_t device)
{
    struct sonde_row_lane row = {.kind = SONDE_LANE_KIND_QUEUE, .device = device, .context = 1};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_LANE, 0, &row);
}

uint32_t scene_thread(struct scene *s)
{
    struct sonde_row_lane row = {.kind = SONDE_LANE_KIND_THREAD, .threads = 1};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_LANE, 0, &row);
}

static uint32_t add_node(struct scene *s, uint32_t thread, uint32_t parent, const struct sonde_row_frame *frame)
{
    struct sonde_row_node row = {.parent = parent, .frame = (uint32_t)synth_add(s->build, SONDE_TABLE_FRAME, 0, frame)};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_NODE, thread, &row);
}

uint32_t scene_function(struct scene *s, uint32_t thread, uint32_t parent, const char *name)
{
    return scene_line(s, thread, parent, name, 1);
}

uint32_t scene_line(struct scene *s, uint32_t thread, uint32_t parent, const char *function, uint32_t line)
{
    struct sonde_row_pycode code = {
        .name = synth_add_string(s->build, function),
        .file = synth_add_string(s->build, "scene.py"),
        .first_line = line,
    };
    struct sonde_row_frame frame = {.kind = SONDE_FRAME_PYTHON,
                                    .module = (uint32_t)synth_add(s->build, SONDE_TABLE_PYCODE, 0, &code)};
    return add_node(s, thread, parent, &frame);
}

uint32_t scene_api(struct scene *s, uint32_t thread, uint32_t parent, const char *name)
{
    struct sonde_row_frame frame = {.kind = SONDE_FRAME_API, .name = synth_add_string(s->build, name)};
    return add_node(s, thread, parent, &frame);
}

uint32_t scene_kernel(struct scene *s, uint32_t thread, uint32_t parent, const char *name)
{
    struct sonde_row_frame frame = {.kind = SONDE_FRAME_OP, .op = SONDE_OP_KERNEL, .name = synth_add_string(s->build, name)};
    return add_node(s, thread, parent, &frame);
}

uint32_t scene_native(struct scene *s, uint32_t thread, uint32_t parent, const char *module)
{
    const struct sonde_row_module row = {.path = synth_add_string(s->build, module), .start = 0x1000, .end = 0x2000};
    struct sonde_row_frame frame = {.kind = SONDE_FRAME_NATIVE,
                                    .offset = 0x1800,
                                    .module = (uint32_t)synth_add(s->build, SONDE_TABLE_MODULE, 0, &row)};
    return add_node(s, thread, parent, &frame);
}

/* Count it in the profile, as the agent does. */
static void account(struct scene *s, uint32_t node, uint32_t lane, uint64_t ns)
{
    uint32_t i = 0;
    if (!node)
        return;
    while (i < s->account_count && (s->accounts[i].node != node || s->accounts[i].lane != lane))
        i++;
    if (i == s->account_count) {
        struct sonde_row_profile row = {.node = node, .lane = lane, .min_ns = UINT64_MAX};
        s->accounts = realloc(s->accounts, (i + 1) * sizeof *s->accounts);
        must(s->accounts, "scene");
        s->accounts[i] = (struct account){node, lane, (uint32_t)synth_add(s->build, SONDE_TABLE_PROFILE, 0, &row)};
        s->account_count++;
    }
    struct sonde_row_profile *row = synth_row(s->build, SONDE_TABLE_PROFILE, s->accounts[i].profile);
    const double distance = (double)ns - row->mean_ns;
    row->count++, row->timed++;
    row->sum_ns += ns;
    row->min_ns = ns < row->min_ns ? ns : row->min_ns;
    row->max_ns = ns > row->max_ns ? ns : row->max_ns;
    row->mean_ns += distance / (double)row->count;
    row->m2 += distance * ((double)ns - row->mean_ns);
}

void scene_call(struct scene *s, uint32_t thread, uint32_t node, uint64_t enter_ns, uint64_t leave_ns,
                uint64_t correlation)
{
    struct sonde_row_call row = {.enter_ns = enter_ns, .leave_ns = leave_ns, .correlation = correlation, .node = node};
    synth_add(s->build, SONDE_TABLE_CALL, thread, &row);
    account(s, node, 0, leave_ns - enter_ns);
}

void scene_op(struct scene *s, uint32_t queue, uint32_t node, uint64_t start_ns, uint64_t end_ns, uint64_t correlation)
{
    struct sonde_row_op row = {
        .start_ns = start_ns,
        .end_ns = end_ns,
        .queued_ns = start_ns,
        .submit_ns = start_ns,
        .enter_ns = start_ns,
        .correlation = correlation,
        .node = node,
        .kind = SONDE_OP_KERNEL,
    };
    synth_add(s->build, SONDE_TABLE_OP, queue, &row);
    account(s, node, queue, end_ns - start_ns);
}

static void add_sample(struct scene *s, uint32_t thread, const struct sonde_row_sample *row)
{
    synth_add(s->build, SONDE_TABLE_SAMPLE, thread, row);
    account(s, row->node, thread, row->cpu_ns);
}

void scene_sample(struct scene *s, uint32_t thread, uint32_t node, uint64_t time_ns, uint64_t cpu_ns)
{
    add_sample(s, thread, &(struct sonde_row_sample){.time_ns = time_ns, .cpu_ns = cpu_ns, .node = node});
}

void scene_rest(struct scene *s, uint32_t thread, uint32_t node, uint64_t time_ns, uint64_t cpu_ns)
{
    add_sample(s, thread, &(struct sonde_row_sample){.time_ns = time_ns, .cpu_ns = cpu_ns, .node = node, .flags = SONDE_SAMPLE_REST});
}

void scene_switch(struct scene *s, uint32_t thread, uint64_t out_ns, uint64_t in_ns, uint32_t flags)
{
    struct sonde_row_switch row = {.out_ns = out_ns, .in_ns = in_ns, .flags = flags};
    synth_add(s->build, SONDE_TABLE_SWITCH, thread, &row);
}

void scene_sleep(struct scene *s, uint32_t thread, uint32_t node, uint64_t from_ns, uint64_t to_ns)
{
    struct sonde_row_sleep row = {.from_ns = from_ns, .to_ns = to_ns, .node = node, .kind = SONDE_SLEEP_TIME};
    synth_add(s->build, SONDE_TABLE_SLEEP, thread, &row);
    account(s, node, 0, to_ns - from_ns);
}

void scene_wait(struct scene *s, uint32_t thread, uint64_t enter_ns)
{
    struct sonde_row_wait row = {.enter_ns = enter_ns};
    synth_add(s->build, SONDE_TABLE_WAIT, thread, &row);
}

struct sonde_measurement *scene_open(struct scene *s)
{
    struct sonde_measurement *m = NULL;
    char command[128];
    must(!synth_build_finish(s->build, &s->header), s->process);
    must(!sonde_process_seal(s->process, NULL), s->process);
    must(!sonde_measurement_open(s->path, &m, NULL), s->path);
    snprintf(command, sizeof command, "rm -rf '%s'", s->path); /* what is mapped stays */
    must(!system(command), command);
    free(s->accounts);
    free(s);
    return m;
}
