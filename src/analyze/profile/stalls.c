/* stalls.c - see stalls.h. Rows are sums by instruction and reason already; sorted by what a sum is of, those of each stand together. */
#include "stalls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/symbols.h"

struct sample {                /* a row */
    uint32_t process, device, line;
    const char *function, *file, *reason; /* of equal ones one string: they are interned */
    const char *text;          /* of one of an instruction's rows; "" of the others */
    uint64_t code, offset, samples, idle;
};

struct adding {
    const struct sonde_measurement *m;
    struct sonde_stalls *out;
    struct sonde_map demangled; /* interned name -> interned name as the source has it */
    SONDE_VECTOR(struct sample) rows;
};

/* By what NVIDIA's tools call them ("Warp Stall Reasons" in the documentation of Nsight Compute). */
static const struct {
    const char *reason, *meaning;
} meanings[] = {
    {"barrier", "waits for the other warps of its block (__syncthreads)"},
    {"branch_resolving", "waits for a branch to be computed"},
    {"dispatch_stall", "the dispatcher holds it back"},
    {"drain", "has ended, and waits for its stores to be written"},
    {"gmma", "waits for matrix instructions of its warp group"},
    {"imc_miss", "waits for a constant that is not in the cache"},
    {"lg_throttle", "the queue of loads and stores of global and local memory is full"},
    {"long_scoreboard", "waits for data of global, local or texture memory"},
    {"math_pipe_throttle", "the units that compute are busy with others"},
    {"membar", "waits for a memory barrier (__threadfence)"},
    {"mio_throttle", "the queue of shared memory and special instructions is full"},
    {"misc", "another reason"},
    {"no_instructions", "waits for instructions that are not in the cache, or after a jump"},
    {"not_selected", "could go on, but another warp did"},
    {"short_scoreboard", "waits for shared memory, or for a special function"},
    {"sleeping", "sleeps (__nanosleep)"},
    {"tex_throttle", "the queue of texture instructions is full"},
    {"wait", "waits the fixed time until a result is there"},
    {"warpgroup_arrive", "waits for the other warps of its warp group"},
};

const char *sonde_stall_meaning(const char *reason)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].reason, reason) == 0)
            return meanings[i].meaning;
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static const char *intern(struct adding *a, const char *text)
{
    return sonde_intern_get(&a->out->names, sonde_intern_text(&a->out->names, text));
}

/* As its source has it. */
static const char *function_name(struct adding *a, const char *symbol)
{
    struct sonde_intern *names = &a->out->names;
    const uint32_t id = sonde_intern_text(names, symbol);
    uint64_t known;
    if (!id || sonde_map_get(&a->demangled, id, &known))
        return id ? sonde_intern_get(names, (uint32_t)known) : "";
    char *readable = sonde_demangle(symbol);
    const uint32_t readable_id = readable ? sonde_intern_text(names, readable) : id;
    free(readable);
    sonde_map_put(&a->demangled, id, readable_id);
    return sonde_intern_get(names, readable_id);
}

/* `text`: a string of the process; 0 none. */
static int add_row(struct adding *a, uint32_t process, const struct sonde_row_stall *row, uint32_t text)
{
    const struct sonde_process *p = &a->m->processes[process];
    const char *reason = sonde_process_string(p, row->reason);
    struct sonde_stalls *out = a->out;
    out->cycles = row->cycles > out->cycles ? row->cycles : out->cycles;
    switch (row->kind) {
    case SONDE_STALL_KIND_SAMPLED:
        break;
    case SONDE_STALL_KIND_ELSEWHERE:
        out->elsewhere += row->samples;
        return 0;
    case SONDE_STALL_KIND_DROPPED:
        out->dropped += row->samples;
        return 0;
    default:
        out->lost += row->samples;
        return 0;
    }
    out->samples += row->samples;
    return sonde_vector_push(&a->rows, (struct sample){
                                           .process = process,
                                           .device = row->device,
                                           .line = row->line,
                                           .function = function_name(a, sonde_process_string(p, row->function)),
                                           .file = row->file ? intern(a, sonde_process_string(p, row->file)) : "",
                                           .text = text ? sonde_process_string(p, text) : "",
                                           .reason = intern(a, *reason ? reason : "unknown"),
                                           .code = row->code,
                                           .offset = row->offset,
                                           .samples = row->samples,
                                           .idle = row->idle,
                                       });
}

/* Function << 32 | offset, as they are in a row; 0: none that has a text. */
static uint64_t instruction_of(const struct sonde_row_stall *row)
{
    return row->function && row->offset <= UINT32_MAX ? (uint64_t)row->function << 32 | row->offset : 0;
}

static int add_process(struct adding *a, uint32_t process)
{
    const struct sonde_process *p = &a->m->processes[process];
    const struct sonde_row_stall *rows = p->tables[SONDE_TABLE_STALL].rows;
    const struct sonde_row_instruction *instructions = p->tables[SONDE_TABLE_INSTRUCTION].rows;
    const uint32_t count = p->tables[SONDE_TABLE_STALL].count;
    struct sonde_map texts = {0};
    int rc = 0;
    for (uint32_t i = 0; i < p->tables[SONDE_TABLE_INSTRUCTION].count && !rc; i++)
        if (instructions[i].stall && instructions[i].stall < count && instruction_of(&rows[instructions[i].stall]))
            rc = sonde_map_put(&texts, instruction_of(&rows[instructions[i].stall]), instructions[i].text);
    for (uint32_t i = 1; i < count && !rc; i++) {
        uint64_t text = 0;
        sonde_map_get(&texts, instruction_of(&rows[i]), &text);
        rc = rows[i].samples || rows[i].idle ? add_row(a, process, &rows[i], (uint32_t)text) : 0;
    }
    sonde_map_fini(&texts);
    return rc;
}

/* ---- sums ------------------------------------------------------------------------------------------- */

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_all(const struct sample *a, const struct sample *b)
{
    (void)a, (void)b;
    return 0;
}

static int order_functions(const struct sample *a, const struct sample *b)
{
    int rc = order(a->process, b->process);
    rc = rc ? rc : order(a->device, b->device);
    return rc ? rc : strcmp(a->function, b->function);
}

static int order_lines(const struct sample *a, const struct sample *b)
{
    int rc = order_functions(a, b);
    rc = rc ? rc : strcmp(a->file, b->file);
    return rc ? rc : order(a->line, b->line);
}

static int order_instructions(const struct sample *a, const struct sample *b)
{
    int rc = order_functions(a, b);
    rc = rc ? rc : order(a->code, b->code);
    return rc ? rc : order(a->offset, b->offset);
}

#define SORTER(name, order)                                                                       \
    static int name(const void *a, const void *b)                                                 \
    {                                                                                             \
        const int rc = order(a, b);                                                               \
        return rc ? rc : strcmp(((const struct sample *)a)->reason, ((const struct sample *)b)->reason); \
    }
SORTER(sort_all, order_all)
SORTER(sort_functions, order_functions)
SORTER(sort_lines, order_lines)
SORTER(sort_instructions, order_instructions)
#undef SORTER

static int most_reason(const void *x, const void *y)
{
    const struct sonde_stall_reason *a = x, *b = y;
    return a->samples != b->samples ? order(b->samples, a->samples) : strcmp(a->name, b->name);
}

/* Rows of one sum, sorted by reason. */
static int add_up(struct sonde_stalls *out, const struct sample *rows, size_t count, struct sonde_stall_sum *sum)
{
    sum->first_reason = out->reasons.count;
    for (size_t i = 0; i < count; i++) {
        sum->text = *rows[i].text ? rows[i].text : sum->text;
        sum->samples += rows[i].samples;
        sum->idle += rows[i].idle;
        if (strcmp(rows[i].reason, "selected") == 0) {
            sum->issued += rows[i].samples;
            continue;
        }
        struct sonde_stall_reason *last = out->reasons.count > sum->first_reason ? &out->reasons.items[out->reasons.count - 1] : NULL;
        if (!last || strcmp(last->name, rows[i].reason) != 0) {
            if (sonde_vector_push(&out->reasons, (struct sonde_stall_reason){.name = rows[i].reason}))
                return SONDE_ENOMEM;
            last = &out->reasons.items[out->reasons.count - 1];
        }
        last->samples += rows[i].samples;
        last->idle += rows[i].idle;
    }
    sum->reason_count = out->reasons.count - sum->first_reason;
    if (sum->reason_count)
        qsort(&out->reasons.items[sum->first_reason], sum->reason_count, sizeof *out->reasons.items, most_reason);
    return 0;
}

static int most_sum(const void *x, const void *y)
{
    const struct sonde_stall_sum *a = x, *b = y;
    int rc = order(b->samples, a->samples);
    rc = rc ? rc : order(a->process, b->process);
    rc = rc ? rc : order(a->device, b->device);
    rc = rc ? rc : strcmp(a->function, b->function);
    rc = rc ? rc : strcmp(a->file, b->file);
    rc = rc ? rc : order(a->line, b->line);
    rc = rc ? rc : order(a->code, b->code);
    return rc ? rc : order(a->offset, b->offset);
}

/* clang-format off */
enum level { ALL, FUNCTIONS, LINES, INSTRUCTIONS };
/* clang-format on */

static struct sonde_stall_sum sum_of(const struct sample *row, enum level level)
{
    struct sonde_stall_sum sum = {.process = row->process, .device = row->device, .function = row->function, .file = "", .text = ""};
    if (level >= LINES) {
        sum.file = row->file;
        sum.line = row->line;
    }
    if (level == INSTRUCTIONS) {
        sum.code = row->code;
        sum.offset = row->offset;
    }
    return sum;
}

static int keep_sum(struct sonde_stalls *out, enum level level, struct sonde_stall_sum sum)
{
    sum.text = level == INSTRUCTIONS ? sum.text : "";
    switch (level) {
    case ALL:
        out->all = sum;
        return 0;
    case FUNCTIONS:
        return sonde_vector_push(&out->functions, sum);
    case LINES:
        return sonde_vector_push(&out->lines, sum);
    default:
        return sonde_vector_push(&out->instructions, sum);
    }
}

static int add_level(struct adding *a, enum level level)
{
    static int (*const sorts[])(const void *, const void *) = {sort_all, sort_functions, sort_lines, sort_instructions};
    static int (*const orders[])(const struct sample *, const struct sample *) = {order_all, order_functions, order_lines, order_instructions};
    struct sample *rows = a->rows.items;
    const size_t count = a->rows.count;
    int rc = 0;
    if (count)
        qsort(rows, count, sizeof *rows, sorts[level]);
    for (size_t i = 0, next; i < count && !rc; i = next) {
        struct sonde_stall_sum sum = sum_of(&rows[i], level);
        for (next = i + 1; next < count && orders[level](&rows[i], &rows[next]) == 0;)
            next++;
        rc = add_up(a->out, &rows[i], next - i, &sum);
        rc = rc ? rc : keep_sum(a->out, level, sum);
    }
    return rc ? SONDE_ENOMEM : 0;
}

static void sort_sums(struct sonde_stall_sum *sums, size_t count)
{
    if (count)
        qsort(sums, count, sizeof *sums, most_sum);
}

/* ---- calling contexts --------------------------------------------------------------------------------- */

static const struct sonde_group *kernel_named(const struct sonde_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->ops.count; i++)
        if (profile->ops.items[i].op == SONDE_OP_KERNEL && strcmp(profile->ops.items[i].name, name) == 0)
            return &profile->ops.items[i];
    return NULL;
}

/* In all processes and on all devices together, since contexts are. */
struct of_name {
    const char *function;
    uint64_t samples;
};
typedef SONDE_VECTOR(struct of_name) names;

static int add_names(const struct sonde_stalls *s, names *out)
{
    struct sonde_map seen = {0}; /* names are interned: one place each */
    int rc = 0;
    for (size_t i = 0; i < s->functions.count && !rc; i++) {
        const struct sonde_stall_sum *sum = &s->functions.items[i];
        uint64_t at;
        if (sonde_map_get(&seen, (uintptr_t)sum->function, &at)) {
            out->items[at].samples += sum->samples;
            continue;
        }
        rc = sonde_map_put(&seen, (uintptr_t)sum->function, out->count);
        rc = rc ? rc : sonde_vector_push(out, (struct of_name){sum->function, sum->samples});
    }
    sonde_map_fini(&seen);
    return rc ? SONDE_ENOMEM : 0;
}

static int add_contexts_of(const struct sonde_profile *profile, struct sonde_stalls *out, const struct of_name *of)
{
    enum { DEPTH = 8 };
    const struct sonde_group *group = kernel_named(profile, of->function);
    struct sonde_caller *callers = NULL;
    uint64_t ns = 0;
    const long count = group ? sonde_profile_group_callers(profile, group, DEPTH, &callers) : 0;
    int rc = count < 0 ? SONDE_ENOMEM : 0;
    for (long i = 0; i < count; i++)
        ns += callers[i].metrics.device_ns;
    for (long i = 0; i < count && ns && !rc; i++) {
        const struct sonde_metrics *m = &callers[i].metrics;
        rc = sonde_vector_push(&out->contexts, (struct sonde_stall_context){.function = of->function,
                                                                            .leaf = callers[i].leaf,
                                                                            .operations = m->operations,
                                                                            .device_ns = m->device_ns,
                                                                            .samples = (double)of->samples * (double)m->device_ns / (double)ns,
                                                                            .exact = count == 1});
    }
    free(callers);
    return rc ? SONDE_ENOMEM : 0;
}

static int most_context(const void *x, const void *y)
{
    const struct sonde_stall_context *a = x, *b = y;
    const int rc = (b->samples > a->samples) - (b->samples < a->samples);
    return rc ? rc : order(a->leaf, b->leaf);
}

int sonde_stalls_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_stalls *out)
{
    struct adding a = {.m = m, .out = out};
    names functions = {0};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(&a, i);
    for (enum level level = ALL; level <= INSTRUCTIONS && !rc; level++)
        rc = add_level(&a, level);
    sort_sums(out->functions.items, out->functions.count);
    sort_sums(out->lines.items, out->lines.count);
    sort_sums(out->instructions.items, out->instructions.count);
    rc = rc ? rc : add_names(out, &functions);
    for (size_t i = 0; i < functions.count && !rc; i++)
        rc = add_contexts_of(profile, out, &functions.items[i]);
    sonde_vector_fini(&functions);
    if (out->contexts.count)
        qsort(out->contexts.items, out->contexts.count, sizeof *out->contexts.items, most_context);
    sonde_vector_fini(&a.rows);
    sonde_map_fini(&a.demangled);
    return rc;
}

void sonde_stalls_fini(struct sonde_stalls *stalls)
{
    sonde_vector_fini(&stalls->functions);
    sonde_vector_fini(&stalls->lines);
    sonde_vector_fini(&stalls->instructions);
    sonde_vector_fini(&stalls->reasons);
    sonde_vector_fini(&stalls->contexts);
    sonde_intern_fini(&stalls->names);
}
