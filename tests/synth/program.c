/* program.c - the made-up program itself: its functions, threads, queues and devices.
 *
 * Every thread has `paths` ways from main through `depth` functions to its
 * calls; they part like the branches of a binary tree, one level after the
 * other, until there are enough.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "format/writer.h"

static const char *const api_names[API_COUNT] = {
    "", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clFinish"};

enum { FIRST_OFFSET = 0x1140 };
enum { OFFSET_STEP = 0x140 };

/* Which of the functions of its level a path goes through. */
static uint32_t branch(const struct model *m, uint32_t level, uint32_t path)
{
    uint32_t branches = level < 2 ? 1 : (level > 20 ? UINT32_MAX : 1u << (level - 1));
    return path % (branches < m->options->paths ? branches : m->options->paths);
}

static uint32_t add_frame(struct model *m, enum sonde_frame_kind kind, enum sonde_op_kind op, uint32_t module,
                          uint64_t offset, uint32_t name)
{
    struct sonde_row_frame row = {(uint16_t)kind, (uint16_t)op, module, offset, name, 0};
    return (uint32_t)synth_add(m->build, SONDE_TABLE_FRAME, 0, &row);
}

static uint32_t add_node(struct model *m, uint32_t slot, uint32_t parent, uint32_t frame)
{
    struct sonde_row_node row = {parent, frame};
    return (uint32_t)synth_add(m->build, SONDE_TABLE_NODE, slot, &row);
}

static void add_devices(struct model *m)
{
    struct sonde_row_device device = {
        .platform = synth_add_string(m->build, "Synthetic Platform"),
        .name = synth_add_string(m->build, "Synthetic Device"),
        .vendor = synth_add_string(m->build, "nobody"),
        .driver = synth_add_string(m->build, "1.0"),
        .kind = 2,
        .backend = synth_add_string(m->build, "opencl"),
        .memory_bytes = 1ull << 34,
    };
    struct sonde_row_work work = {.dims = 1, .global = {65536, 1, 1}, .local = {256, 1, 1}};
    struct sonde_row_clock clock = {.host_ns = m->header.start_ns, .device_ns = m->header.start_ns};

    for (clock.device = 1; clock.device <= m->options->devices; clock.device++) {
        synth_add(m->build, SONDE_TABLE_DEVICE, 0, &device);
        synth_add(m->build, SONDE_TABLE_CLOCK, 0, &clock);
    }
    m->work = (uint32_t)synth_add(m->build, SONDE_TABLE_WORK, 0, &work);
}

/* ---- contexts ----------------------------------------------------------- */

/* The functions' frames, level after level; their number. */
static uint32_t add_functions(struct model *m)
{
    const struct synth_options *o = m->options;
    struct sonde_row_module module = {
        .path = synth_add_string(m->build, "/usr/bin/synthetic"),
        .base = 0x550000000000,
        .start = 0x550000001000,
        .end = 0x550000009000 + (uint64_t)o->depth * o->paths * OFFSET_STEP,
    };
    uint32_t file = (uint32_t)synth_add(m->build, SONDE_TABLE_MODULE, 0, &module), count = 0;

    for (uint32_t level = 0; level < o->depth; level++)
        for (uint32_t path = 0; path < o->paths && branch(m, level, path) == path; path++)
            add_frame(m, SONDE_FRAME_NATIVE, SONDE_OP_NONE, file, FIRST_OFFSET + OFFSET_STEP * (uint64_t)count++, 0);
    return count;
}

/* Nodes of one thread's paths. Frames of functions have the ids 1, 2 ... in the order of add_functions. */
static void add_paths(struct model *m, uint32_t index, const uint32_t *api_frames, const uint32_t *op_frames)
{
    const struct synth_options *o = m->options;
    struct thread *t = &m->threads[index];
    uint32_t frame = 1;

    t->paths = calloc(o->paths, sizeof *t->paths);
    for (uint32_t level = 0; level < o->depth; level++) {
        uint32_t *nodes = calloc(o->paths, sizeof *nodes);
        for (uint32_t path = 0; path < o->paths && branch(m, level, path) == path; path++)
            nodes[path] = add_node(m, index + 1, t->paths[path].node, frame++);
        for (uint32_t path = 0; path < o->paths; path++)
            t->paths[path].node = nodes[branch(m, level, path)];
        free(nodes);
    }
    for (uint32_t path = 0; path < o->paths; path++) {
        struct path *p = &t->paths[path];
        for (uint32_t k = 1; k < API_COUNT; k++)
            p->api_node[k] = add_node(m, index + 1, p->node, api_frames[k]);
        for (uint32_t k = 0; k < OPS; k++) {
            uint32_t api = k < SYNTH_KERNELS ? API_KERNEL : (k == SYNTH_KERNELS ? API_READ : API_WRITE);
            p->op_node[k] = add_node(m, index + 1, p->api_node[api], op_frames[k]);
        }
    }
}

/* What the first thread calls of MPI, in its last path. */
static void add_messages(struct model *m)
{
    static const char *const names[MPI_COUNT] = {"MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce"};
    char comm[64];

    for (uint32_t i = 0; i < MPI_COUNT; i++) {
        const uint32_t frame = add_frame(m, SONDE_FRAME_API, SONDE_OP_NONE, 0, API_COUNT + i, synth_add_string(m->build, names[i]));
        m->mpi_node[i] = add_node(m, 1, m->threads[0].paths[m->options->paths - 1].node, frame);
    }
    snprintf(comm, sizeof comm, "%u ranks, 5f0e11ab, 1", m->options->processes);
    m->comm = synth_add_string(m->build, comm);
}

static void add_contexts(struct model *m)
{
    uint32_t api_frames[API_COUNT], op_frames[OPS];

    m->native_frames = add_functions(m);
    for (uint32_t i = 1; i < API_COUNT; i++)
        api_frames[i] = add_frame(m, SONDE_FRAME_API, SONDE_OP_NONE, 0, i, synth_add_string(m->build, api_names[i]));
    for (uint32_t i = 0; i < SYNTH_KERNELS; i++) {
        m->kernel_names[i] = synth_add_string(m->build, m->totals->kernels[i].name);
        op_frames[i] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_KERNEL, 0, 0, m->kernel_names[i]);
    }
    op_frames[SYNTH_KERNELS] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_READ, 0, 0, 0);
    op_frames[SYNTH_KERNELS + 1] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_WRITE, 0, 0, 0);
    for (uint32_t i = 0; i < m->options->threads; i++)
        add_paths(m, i, api_frames, op_frames);
    if (m->options->messages)
        add_messages(m);
}

static void add_lanes(struct model *m)
{
    const struct synth_options *o = m->options;

    for (uint32_t i = 0; i < o->threads; i++) {
        struct sonde_row_lane lane = {
            .kind = SONDE_LANE_KIND_THREAD,
            .tid = m->header.pid + i,
            .threads = 1,
            .start_ns = m->header.start_ns,
        };
        struct thread *t = &m->threads[i];
        t->lane = (uint32_t)synth_add(m->build, SONDE_TABLE_LANE, 0, &lane);
        t->device = 1 + i % o->devices;
        t->now_ns = m->header.start_ns + 1000000 + i * 100;
        t->to_sample_ns = o->cpu_hz ? 1000000000u / o->cpu_hz * (i + 1) / (o->threads + 1) : 0;
    }
    for (uint32_t i = 0; i < o->lanes; i++) {
        struct sonde_row_lane lane = {
            .kind = SONDE_LANE_KIND_QUEUE,
            .device = 1 + i % o->devices,
            .context = 1,
            .start_ns = m->header.start_ns,
        };
        m->queues[i].lane = (uint32_t)synth_add(m->build, SONDE_TABLE_LANE, 0, &lane);
    }
    struct sonde_row_object object = {
        .kind = SONDE_OBJECT_BUFFER,
        .node = m->threads[0].paths[0].api_node[API_WRITE],
        .lane = m->threads[0].lane,
        .bytes = 1 << 16,
        .address = 0x7f0000000000,
        .alloc_ns = m->header.start_ns,
    };
    m->object = (uint32_t)synth_add(m->build, SONDE_TABLE_OBJECT, 0, &object);
}

void synth_program_make(struct model *m)
{
    const struct synth_options *o = m->options;

    m->threads = calloc(o->threads, sizeof *m->threads);
    m->queues = calloc(o->lanes, sizeof *m->queues);
    m->profiles = calloc((size_t)o->threads * o->paths * o->lanes * OPS, sizeof *m->profiles);
    m->busy = calloc(o->devices + 1, sizeof *m->busy);
    for (uint32_t i = 1; i <= o->devices; i++)
        m->busy[i] = synth_busy_create();
    add_devices(m);
    add_contexts(m);
    add_lanes(m);
}

void synth_program_free(struct model *m)
{
    for (uint32_t i = 0; i < m->options->threads; i++)
        free(m->threads[i].paths);
    free(m->threads);
    free(m->queues);
    free(m->profiles);
    free(m->busy);
}

/* ---- what record adds after the run ------------------------------------- */

/* main and step; the functions below are called after their number. */
static int add_strings(const struct model *m, const char *dir, uint32_t string, struct sonde_diag *diag)
{
    uint32_t count = m->native_frames + 2, at = 0;
    uint8_t *strings = calloc(count, 32);

    for (uint32_t i = 0; strings && i < count; i++) {
        char text[24] = "main";
        if (i)
            snprintf(text, sizeof text, i == 1 ? "step" : "function_%u", i);
        if (i >= count - 2)
            snprintf(text, sizeof text, "%s", i == count - 2 ? "synthetic.c" : "synthetic");
        uint32_t length = (uint32_t)strlen(text);
        memcpy(strings + at, &length, 4);
        memcpy(strings + at + 4, text, length);
        at += 4 + ((length + 3) & ~3u);
    }
    int status = strings ? sonde_process_append(dir, SONDE_TABLE_STRING, string, strings, at, diag) : SONDE_ENOMEM;
    free(strings);
    return status;
}

int synth_program_symbols(const struct model *m, const char *dir, uint32_t string, struct sonde_diag *diag)
{
    uint32_t count = m->native_frames;
    struct sonde_row_symbol *rows = calloc(count, sizeof *rows);
    int status = rows ? add_strings(m, dir, string, diag) : SONDE_ENOMEM;

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (struct sonde_row_symbol){
            .frame = i + 1,
            .function = string + i,
            .file = string + count,
            .line = i == 0 ? 42 : (i == 1 ? 17 : 100 + i),
            .module = string + count + 1,
        };
    if (!status)
        status = sonde_process_append(dir, SONDE_TABLE_SYMBOL, 0, rows, count, diag);
    free(rows);
    return status;
}

int synth_manifest_write(const char *path)
{
    char file[4200];
    json_t *manifest = json_pack("{s:s, s:i, s:s, s:[s], s:s, s:I, s:I}", "format", "sonde", "format_version",
                                 (int)SONDE_FORMAT_VERSION, "sonde_version", SONDE_VERSION, "command", "synthetic",
                                 "program", "/usr/bin/synthetic", "start_ns", (json_int_t)4000000000, "end_ns", (json_int_t)0);
    snprintf(file, sizeof file, "%s/manifest.json", path);
    int status = manifest && !json_dump_file(manifest, file, JSON_INDENT(1)) ? 0 : SONDE_EIO;
    json_decref(manifest);
    return status;
}
