/* fine.c - what the accesses of kernels read and write (sonde record --values=fine), and which memory they write (--values=coarse), by instrumented
 * copies (twins.h), which are given an area behind the kernel's own arguments. The first launches also guess (plan.h): what is not found in these is not looked for in the others, by a second copy that costs less. Where those
 * who vote have seen several values, launches take turns: each has an area whose guess is another of these. There
 * is an area for each operation in its calling context and the sites of the objects that the kernel's arguments are, so that there are
 * not more of them the longer a program runs that makes objects and releases them; what is in it only
 * grows. It lies in memory of the host, which the monitor reads at any time: the device must be one that uses that.
 *
 * What is written is marked in memory that values.c has for it, or nowhere.
 *
 * What the program waits for: the compiler at the first launch of a program's kernels, and again of each.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/map.h"
#include "guest/memory.h"
#include "twins.h"

enum { MORE_SHARE = 2 }; /* once this part of the memory for areas is taken, other values get none */

struct area {
    struct area *next, *alike; /* all; those of the same hash */
    const struct sonde_llvm_kernel *code;
    uint32_t node;
    cl_context context;
    cl_mem mem;
    unsigned char *host;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    struct sonde_plan_groups told;
    bool dull;                 /* of a copy that guesses: it has not found anything */
    _Atomic uint32_t asked;    /* launches, of this copy or of a cheaper one */
    _Atomic uint32_t more, turns; /* of one whose guesses are those of a vote: 1 + how many other values there are, 0: not known; launches since */
    struct area *_Atomic other[SONDE_PLAN_COMMON - 1]; /* their guesses are these, by turn */
    uint32_t *sites;           /* of each of the kernel's own parameters: the object that stands for what it is; behind the rows */
    uint32_t rows[];           /* of each access; 0: it has none */
};

static struct {
    struct sonde_lock lock; /* of making anything */
    struct area *areas;
} fine;

static struct sonde_shared_map by_hash; /* -> struct area */

/* ---- areas ------------------------------------------------------------------------------------------------- */

static void add_rows(struct area *a)
{
    for (uint32_t k = 0; k < a->code->plan.accesses; k++) {
        const struct sonde_llvm_access *access = &a->code->accesses[k];
        if (access->has_values)
            a->rows[k] = sonde_value_access_add(&(struct sonde_value_access){
                .operation = a->node,
                .object = access->parameter ? a->sites[access->parameter - 1] : 0,
                .number = k,
                .what = access->what,
                .type = access->type,
                .element_bytes = access->element_bytes,
                .file = access->file ? sonde__cl_code_file(access->file) : 0,
                .line = access->line,
            });
    }
}

/* In an area's memory. */
static struct sonde_plan_guess *guesses_at(const struct sonde_llvm_kernel *code, unsigned char *host)
{
    return (void *)(host + code->parts * sonde__plan_part(&code->plan));
}

/* Under fine.lock. `first` not NULL: the guesses are its other values, of this turn. Other values do not take the memory that a kernel needs which is not looked at yet. */
static struct area *area_new(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t node, const uint32_t *sites, const struct area *first,
                             unsigned turn)
{
    const struct sonde_llvm_kernel *code = t->code;
    unsigned char *host = sonde__cl_area_get(code, first ? MORE_SHARE : 1);
    for (uint32_t k = 0; host && first && k < code->plan.accesses; k++)
        guesses_at(code, host)[k] = sonde__plan_again(&guesses_at(code, first->host)[k], turn);
    cl_mem mem = host ? sonde__cl_area_mem(real, t, host) : NULL;
    struct area *a = mem ? sonde__memory_get(sizeof *a + (code->plan.accesses + code->parameters) * sizeof *a->rows) : NULL; /* it is never given back */
    if (!a) {
        if (mem)
            real->clReleaseMemObject(mem);
        if (host)
            sonde__cl_area_put(code, host);
        return NULL;
    }
    a->code = code;
    a->node = node;
    a->context = t->context;
    a->mem = mem;
    a->host = host;
    a->sites = a->rows + code->plan.accesses;
    memcpy(a->sites, sites, code->parameters * sizeof *sites);
    add_rows(a);
    a->next = fine.areas;
    fine.areas = a;
    return a;
}

/* NULL: no memory. */
static struct area *area_of(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t node, const uint32_t *sites)
{
    const size_t bytes = t->code->parameters * sizeof *sites;
    const void *seed[] = {t->code, t->context, (void *)(uintptr_t)node};
    const uint64_t key = XXH3_64bits_withSeed(sites, bytes, XXH3_64bits(seed, sizeof seed)) | 1;
    uint64_t first = 0;
    sonde__lock(&fine.lock);
    sonde__shared_map_get(&by_hash, key, &first);
    struct area *a = (void *)(uintptr_t)first;
    while (a && (a->code != t->code || a->context != t->context || a->node != node || memcmp(a->sites, sites, bytes) != 0))
        a = a->alike;
    if (!a && (a = area_new(real, t, node, sites, NULL, 0))) {
        a->alike = (void *)(uintptr_t)first;
        sonde__shared_map_put(&by_hash, key, (uintptr_t)a);
    }
    sonde__unlock(&fine.lock);
    return a;
}

/* The guess, and what the log says of those that voted on it. */
static void add_guess(const struct sonde_plan_guess *guess, const struct sonde_llvm_access *of, bool together, uint64_t unchecked, struct sonde_value_seen *seen)
{
    const uint64_t room = guess->logged < SONDE_PLAN_LOG ? guess->logged : SONDE_PLAN_LOG, which = together ? guess->lock : UINT64_MAX;
    uint64_t logged = 0;
    seen->value = guess->value;
    seen->slope = of->has_line && (guess->votes >= SONDE_PLAN_VOTES || guess->third) ? guess->slope : 0;
    seen->offset = seen->slope ? guess->offset : 0;
    for (uint64_t i = 0; i < room; i++) {
        if (!(which >> i & 1))
            continue;
        logged++;
        seen->equal += guess->log[i].bits == guess->value;
        seen->lined += seen->slope && sonde__plan_lined(guess->slope, guess->offset, of->type == SONDE_ELEMENT_FLOAT, of->element_bytes, guess->log[i].bits, guess->log[i].index);
    }
    unchecked -= logged < unchecked ? logged : unchecked;
    seen->checked = seen->elements > unchecked ? seen->elements - unchecked : 0;
    seen->equal = seen->equal < seen->checked ? seen->equal : seen->checked; /* it is read while kernels run */
    seen->lined = seen->lined < seen->checked ? seen->lined : seen->checked;
}

/* Of all its parts. */
static struct sonde_value_seen sum_of(const struct area *a, uint32_t access)
{
    const struct sonde_plan *plan = &a->code->plan;
    const struct sonde_llvm_access *of = &a->code->accesses[access];
    const size_t part = sonde__plan_part(plan);
    struct sonde_value_seen seen = {.all = UINT64_MAX, .least = INT64_MAX, .most = INT64_MIN};
    uint64_t unchecked = 0;
    for (uint32_t p = 0; p < a->code->parts; p++) {
        struct sonde_plan_values v;
        const struct sonde_plan_found found = sonde__plan_found(plan, a->host + p * part, access);
        seen.elements += of->elements * sonde__plan_read(plan, a->host + p * part, of->block, access, &v);
        seen.any |= v.any;
        seen.all &= v.all;
        seen.least = v.least < seen.least ? v.least : seen.least;
        seen.most = v.most > seen.most ? v.most : seen.most;
        seen.equal += found.equal;
        seen.lined += found.lined;
        unchecked += of->elements * found.unchecked;
    }
    if (plan->what & SONDE_PLAN_GUESSES)
        add_guess(&guesses_at(a->code, a->host)[access], of, a->code->together, unchecked, &seen);
    return seen;
}

/* ---- launches ------------------------------------------------------------------------------------------------ */

static cl_uint set_at(const struct sonde_llvm_kernel *code, uint32_t set)
{
    return sonde__cl_area_at(code) + (code->plan.what & SONDE_PLAN_VALUES ? 1 : 0) + 2 * set;
}

static bool put_marks(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t set, cl_mem marks, cl_ulong count)
{
    return real->clSetKernelArg(t->kernel, set_at(t->code, set), sizeof marks, &marks) == CL_SUCCESS &&
           real->clSetKernelArg(t->kernel, set_at(t->code, set) + 1, sizeof count, &count) == CL_SUCCESS;
}

static uint32_t wanted(bool guesses)
{
    const uint32_t fine_too = SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES | SONDE_PLAN_OWNERS | (guesses ? SONDE_PLAN_GUESSES : 0);
    return (sonde_values_wanted(SONDE_VALUES_COARSE) ? SONDE_PLAN_SETS : 0) | (sonde_values_wanted(SONDE_VALUES_FINE) ? fine_too : 0);
}

struct verdict {
    bool checked, waits, any; /* something was compared; some guess does not stand yet; and one shows something */
};

static struct verdict judge(const struct area *a)
{
    struct verdict v = {0};
    for (uint32_t k = 0; k < a->code->plan.accesses; k++) {
        const struct sonde_value_seen seen = sum_of(a, k);
        v.checked |= seen.checked > 0;
        v.waits |= a->rows[k] && seen.elements && guesses_at(a->code, a->host)[k].votes < SONDE_PLAN_VOTES;
        v.any |= 2 * seen.equal > seen.checked || 2 * seen.lined > seen.checked;
    }
    return v;
}

static uint32_t more_of(const struct area *first)
{
    unsigned most = 0;
    for (uint32_t k = 0; k < first->code->plan.accesses; k++) {
        const unsigned more = first->rows[k] ? sonde__plan_more(&guesses_at(first->code, first->host)[k]) : 0;
        most = more > most ? more : most;
    }
    return 1 + most;
}

/* What is seen while kernels run may be of any moment: it decides only which copy is launched next, and with which area. It is looked at after one
 * launch, two, four and so on. Nothing is found once each other value was counted, too. */
static bool is_dull(struct area *first)
{
    const uint32_t launches = atomic_fetch_add(&first->asked, 1);
    if (first->dull || !launches || launches & (launches - 1))
        return first->dull;
    struct verdict v = judge(first);
    if (!atomic_load(&first->more) && v.checked && (!v.waits || !v.any || launches >= SONDE_PLAN_PATIENCE))
        atomic_store(&first->more, more_of(first));
    const uint32_t more = atomic_load(&first->more);
    for (uint32_t turn = 1; turn < more; turn++) {
        const struct area *a = atomic_load(&first->other[turn - 1]);
        const struct verdict other = a ? judge(a) : (struct verdict){0};
        v.checked &= other.checked;
        v.any |= other.any;
    }
    return first->dull = v.checked && !v.any;
}

/* Of those that guess the one whose turn it is. */
static struct area *turn_of(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, struct area *first)
{
    const uint32_t more = atomic_load(&first->more), turn = more > 1 ? (1 + atomic_fetch_add(&first->turns, 1)) % more : 0;
    struct area *a = turn ? atomic_load(&first->other[turn - 1]) : first;
    if (a)
        return a;
    sonde__lock(&fine.lock);
    a = atomic_load(&first->other[turn - 1]);
    if (!a && (a = area_new(real, t, first->node, first->sites, first, turn)))
        atomic_store(&first->other[turn - 1], a);
    if (!a)
        atomic_store(&first->more, turn); /* it does with those that there are */
    sonde__unlock(&fine.lock);
    return a ? a : first;
}

/* The area of the launch; perhaps of a cheaper twin. NULL: no memory. */
static struct area *choose(const cl_icd_dispatch *real, const struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle,
                           struct sonde_cl_kernel *kernel, struct sonde_cl_twin **twin)
{
    const uint32_t count = (*twin)->code->parameters;
    uint32_t objects[ARGUMENTS_MAX] = {0}, sites[ARGUMENTS_MAX];
    for (uint32_t i = 0; i < count && i < kernel->arguments.count; i++)
        objects[i] = kernel->arguments.object[i];
    sonde_value_sites(objects, count, sites);
    const uint32_t node = sonde_call_operation(&enqueue->call, SONDE_OP_KERNEL, sonde__cl_kernel_name(handle, kernel));
    struct area *a = area_of(real, *twin, node, sites);
    if (a)
        sonde_value_looked_at(objects, count);
    if (!a || !is_dull(a))
        return a ? turn_of(real, *twin, a) : NULL;
    struct sonde_cl_twin *cheaper = sonde__cl_twin_of(real, queue, handle, kernel, wanted(false));
    struct area *other = cheaper && !cheaper->why ? area_of(real, cheaper, node, sites) : NULL;
    *twin = other ? cheaper : *twin;
    return other ? other : a;
}

static bool set_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel, const struct area *a)
{
    bool done = sonde__cl_twin_arguments(real, t, kernel) && (!a || real->clSetKernelArg(t->kernel, sonde__cl_area_at(t->code), sizeof a->mem, &a->mem) == CL_SUCCESS);
    for (uint32_t s = 0; s < t->code->sets && done; s++)
        done = put_marks(real, t, s, NULL, 0);
    return done;
}

/* NONE: the twin is locked, if there is one. */
static enum sonde_value_missed swap(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel)
{
    const bool fine_too = sonde_values_wanted(SONDE_VALUES_FINE);
    struct sonde_cl_twin *t = sonde__cl_twin_of(real, queue, handle, kernel, wanted(true));
    struct area *a = NULL;
    if (t && t->code && t->code->accesses)
        enqueue->code = t->code;
    if (!t || t->why || t->code->needs_none)
        return t ? t->why : SONDE_VALUE_MISSED_MEMORY;
    if (kernel->indirect.count)
        return SONDE_VALUE_MISSED_SVM;
    if (fine_too && !(a = choose(real, enqueue, queue, handle, kernel, &t)))
        return SONDE_VALUE_MISSED_MEMORY;
    sonde__lock(&t->lock);
    if (!set_arguments(real, t, kernel, a)) {
        sonde__unlock(&t->lock);
        return SONDE_VALUE_MISSED_ARGUMENTS;
    }
    if (a)
        atomic_fetch_add(&a->launches, 1);
    enqueue->twin = t;
    return SONDE_VALUE_MISSED_NONE;
}

void sonde__cl_fine_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    const enum sonde_value_missed why = kernel ? swap(sonde__cl_target(queue), enqueue, queue, handle, kernel) : SONDE_VALUE_MISSED_MEMORY;
    enqueue->writes = true;
    if (why && sonde_values_wanted(SONDE_VALUES_FINE)) /* without it, all of the arguments is compared */
        enqueue->missed |= 1ull << why;
}

uint32_t sonde__cl_fine_grain(const struct sonde_cl_enqueue *enqueue)
{
    return enqueue->twin && enqueue->twin->code->sets ? enqueue->twin->code->grain : 0;
}

bool sonde__cl_fine_marks(const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_kernel *kernel, cl_mem of, cl_mem marks, uint64_t count)
{
    const struct sonde_cl_twin *t = enqueue->twin;
    bool done = true;
    for (uint32_t s = 0; s < t->code->sets && done; s++) {
        const struct sonde_cl_argument *a = &kernel->argument[t->code->set[s] - 1];
        if (a->by ? a->value == (const void *)of : a->value && a->bytes == sizeof of && memcmp(a->value, &of, sizeof of) == 0)
            done = put_marks(sonde__cl_target(marks), t, s, marks, count);
    }
    return done;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* What is new since it was told. */
static void tell_groups(struct area *a)
{
    struct sonde_plan_groups sum = {0};
    for (uint32_t p = 0; p < a->code->parts; p++) {
        struct sonde_plan_groups part;
        memcpy(&part, a->host + p * sonde__plan_part(&a->code->plan) + sonde__plan_groups_at(&a->code->plan), sizeof part);
        sum.looked_at += part.looked_at;
        sum.all += part.all;
    }
    if (sum.all <= a->told.all || sum.looked_at <= a->told.looked_at) /* it is read while kernels run */
        return;
    sonde_value_blocks(a->node, sum.all - a->told.all, sum.looked_at - a->told.looked_at);
    a->told = sum;
}

static void read_area(struct area *a)
{
    if (a->code->every > 1)
        tell_groups(a);
    for (uint32_t k = 0; k < a->code->plan.accesses; k++)
        if (a->rows[k])
            sonde_value_access_seen(a->rows[k], &(struct sonde_value_seen[]){sum_of(a, k)}[0]);
}

void sonde__cl_fine_read(bool last)
{
    if (!sonde__lock_within(&fine.lock, 100))
        return;
    struct area *first = fine.areas;
    sonde__unlock(&fine.lock);
    for (struct area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (!last && launches == a->read_launches)
            continue;
        read_area(a);
        a->read_launches = launches;
    }
}

void sonde__cl_fine_forget(void)
{
    memset(&fine.lock, 0, sizeof fine.lock);
    fine.areas = NULL; /* the parent's */
}
