/* llvm_put.c - what a kernel's copy keeps of its accesses, and where it leaves it (llvm_kernel.h, plan.h).
 *
 * What is kept lies in variables of the work-item (alloca), which the runtime's own passes make registers of. Everything is 64 bits
 * wide. At the kernel's end they are added to the thread's part of the area.
 */
#include <sonde/kinds.h>

#include "guest/memory.h"
#include "llvm_kernel.h"

#define VALUE_WORDS 4u /* struct sonde_plan_values */

/* ---- what is put into it --------------------------------------------------------------------------------------- */

struct maker {
    struct kernel *k;
    ref b, word;               /* the builder; i64 */
    ref one;                   /* what a block's execution adds to its count */
    ref count[ACCESSES_MAX];   /* of blocks */
    ref kept[ACCESSES_MAX][VALUE_WORDS];
    ref area, part;            /* of the thread */
    ref table, system, counters; /* SONDE_PLAN_REMOTE; of the thread, too */
    struct guess {
        ref stands, value, slope, offset;       /* as the thread began */
        ref lined_wanted;                       /* a line stands, or is voted on */
        ref at;                                 /* struct sonde_plan_guess */
        ref equal, lined;                       /* variables: counts; */
        ref bits, number, index;                /* of the last element */
    } guess[ACCESSES_MAX];
};

static ref constant(const struct maker *m, uint64_t value)
{
    return sonde__llvm.ConstInt(m->word, value, 0);
}

static ref variable(struct maker *m, uint64_t start)
{
    const ref at = sonde__llvm.BuildAlloca(m->b, m->word, "");
    sonde__llvm.BuildStore(m->b, constant(m, start), at);
    return at;
}

/* One of llvm_guess.h's functions, by its name. */
static ref put_call(struct maker *m, const char *name, ref *argument, unsigned count)
{
    const ref called = sonde__llvm.GetNamedFunction(m->k->module, name);
    return sonde__llvm.BuildCall2(m->b, sonde__llvm.GlobalGetValueType(called), called, argument, count, "");
}

static ref word_at(struct maker *m, ref part, size_t bytes)
{
    const ref byte = sonde__llvm.IntTypeInContext(m->k->context, 8);
    ref index = constant(m, bytes);
    return sonde__llvm.BuildGEP2(m->b, byte, part, &index, 1, "");
}

/* As other work-groups may be writing it. */
static ref shared(struct maker *m, ref at, int ordering)
{
    const ref value = sonde__llvm.BuildLoad2(m->b, m->word, at, "");
    sonde__llvm.SetAlignment(value, sizeof(uint64_t));
    sonde__llvm.SetOrdering(value, ordering);
    return value;
}

static bool guesses(const struct kernel *k)
{
    return k->out->plan.what & SONDE_PLAN_GUESSES;
}

static void put_guess(struct maker *m, uint32_t access)
{
    struct guess *g = &m->guess[access];
    const ref yes = sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 1), 1, 0);
    const size_t at = m->k->out->parts * sonde__plan_part(&m->k->out->plan) + access * sizeof(struct sonde_plan_guess);
    g->at = word_at(m, m->area, at);
    g->stands = sonde__llvm.BuildICmp(m->b, IS_NOT_BELOW, shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, votes)), ACQUIRE),
                                      constant(m, SONDE_PLAN_VOTES), "");
    g->value = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, value)), MONOTONIC);
    g->equal = variable(m, 0);
    g->bits = variable(m, 0);
    if (!m->k->access[access].has_line)
        return;
    g->slope = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, slope)), MONOTONIC);
    g->offset = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, offset)), MONOTONIC);
    g->lined_wanted = sonde__llvm.BuildSelect(m->b, g->stands, sonde__llvm.BuildICmp(m->b, IS_NOT_EQUAL, g->slope, constant(m, 0), ""), yes, "");
    g->lined = variable(m, 0);
    g->number = variable(m, 0);
    g->index = variable(m, 0);
}

/* 1, which nobody knows: where a branch of several work-items ends in blocks of its own, Intel's runtime (2026.2.0) takes a constant of either
 * side for that of all of them. */
static ref put_one(struct maker *m)
{
    if (!m->k->spir)
        return constant(m, 1);
    const ref at = sonde__llvm.BuildAlloca(m->b, m->word, "");
    sonde__llvm.SetVolatile(sonde__llvm.BuildStore(m->b, constant(m, 1), at), 1);
    const ref one = sonde__llvm.BuildLoad2(m->b, m->word, at, "");
    sonde__llvm.SetVolatile(one, 1);
    return one;
}

/* One of those behind the kernel's own. */
static ref parameter_of_ours(struct maker *m, uint32_t i)
{
    const ref parameter = sonde__llvm.GetParam(m->k->function, m->k->out->parameters + i);
    return m->k->spir ? parameter : sonde__llvm.BuildPointerCast(m->b, parameter, sonde__llvm.PointerType(sonde__llvm.IntTypeInContext(m->k->context, 8), 0), "");
}

static void put_start(struct maker *m)
{
    const struct kernel *k = m->k;
    sonde__llvm.PositionBuilderBefore(m->b, sonde__llvm.GetFirstInstruction(sonde__llvm.GetFirstBasicBlock(k->function)));
    m->one = put_one(m);
    for (uint32_t i = 0; i < k->blocks; i++)
        m->count[i] = variable(m, 0);
    for (uint32_t i = 0; i < k->accesses; i++) {
        uint64_t start[VALUE_WORDS];
        memcpy(start, &sonde__plan_none, sizeof start);
        for (uint32_t w = 0; k->access[i].has_values && w < VALUE_WORDS; w++)
            m->kept[i][w] = variable(m, start[w]);
    }
    m->area = parameter_of_ours(m, 0);
    for (uint32_t i = 0; i < k->accesses; i++)
        if (k->access[i].has_values && guesses(k))
            put_guess(m, i);
}

static void put_counts(struct maker *m)
{
    for (uint32_t i = 0; i < m->k->blocks; i++) {
        sonde__llvm.PositionBuilderBefore(m->b, m->k->block[i]);
        sonde__llvm.BuildStore(m->b, sonde__llvm.BuildAdd(m->b, sonde__llvm.BuildLoad2(m->b, m->word, m->count[i], ""), m->one, ""), m->count[i]);
    }
}

/* The least or the most of what is kept and the number; `real`: not a NaN, else NULL. */
static void put_extreme(struct maker *m, ref at, ref number, int is, ref real)
{
    const ref old = sonde__llvm.BuildLoad2(m->b, m->word, at, "");
    ref further = sonde__llvm.BuildICmp(m->b, is, number, old, "");
    if (real)
        further = sonde__llvm.BuildAnd(m->b, further, real, "");
    sonde__llvm.BuildStore(m->b, sonde__llvm.BuildSelect(m->b, further, number, old, ""), at);
}

static void put_add(struct maker *m, ref at, ref more)
{
    sonde__llvm.BuildStore(m->b, sonde__llvm.BuildAdd(m->b, sonde__llvm.BuildLoad2(m->b, m->word, at, ""), more, ""), at);
}

static ref mask_of(struct maker *m, const struct sonde_llvm_access *a)
{
    return constant(m, UINT64_MAX >> (64 - 8u * a->element_bytes));
}

/* The function for a type of lines. */
static const char *for_type(const struct sonde_llvm_access *a, const char *integer, const char *single, const char *wide)
{
    return a->type != SONDE_ELEMENT_FLOAT ? integer : a->element_bytes == 8 ? wide
                                                                            : single;
}

static void put_guessed(struct maker *m, const struct sonde_llvm_access *a, const struct guess *g, ref word, ref number, ref index)
{
    put_add(m, g->equal, sonde__llvm.BuildZExt(m->b, sonde__llvm.BuildICmp(m->b, IS_EQUAL, word, g->value, ""), m->word, ""));
    sonde__llvm.BuildStore(m->b, word, g->bits);
    if (!a->has_line)
        return;
    ref argument[] = {g->lined_wanted, g->lined, g->number, g->index, g->slope, g->offset, index, word, mask_of(m, a), number};
    put_call(m, for_type(a, "sonde_line", "sonde_line_float", "sonde_line_double"), argument, sizeof argument / sizeof *argument);
}

/* As a number, an element's highest bit is its sign. */
static bool is_extended(const struct sonde_llvm_access *a)
{
    return a->element_bytes == 4 || (a->element_bytes < 4 && a->type == SONDE_ELEMENT_SIGNED);
}

/* `index`: of the element, behind what the parameter points to; NULL: not known. */
static void put_element(struct maker *m, const struct sonde_llvm_access *a, ref bits, ref index)
{
    const uint32_t k = (uint32_t)(a - m->k->access);
    ref const *kept = m->kept[k];
    const ref word = a->element_bytes == 8 ? bits : sonde__llvm.BuildZExt(m->b, bits, m->word, "");
    ref number = is_extended(a) ? sonde__llvm.BuildSExt(m->b, bits, m->word, "") : word, real = NULL;
    if (a->type == SONDE_ELEMENT_FLOAT) { /* sonde__plan_ordered; above the infinities' bits are NaNs */
        const bool wide = a->element_bytes == 8;
        const ref size = sonde__llvm.BuildAnd(m->b, word, constant(m, wide ? INT64_MAX : INT32_MAX), "");
        real = sonde__llvm.BuildXor(m->b, sonde__llvm.BuildICmp(m->b, IS_MORE, size, constant(m, wide ? 0x7ff0000000000000u : 0x7f800000u), ""),
                                    sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 1), 1, 0), "");
        number = sonde__llvm.BuildXor(m->b, number, sonde__llvm.BuildAnd(m->b, sonde__llvm.BuildAShr(m->b, number, constant(m, 63), ""), constant(m, wide ? INT64_MAX : INT32_MAX), ""), "");
    }
    sonde__llvm.BuildStore(m->b, sonde__llvm.BuildOr(m->b, sonde__llvm.BuildLoad2(m->b, m->word, kept[0], ""), word, ""), kept[0]);
    sonde__llvm.BuildStore(m->b, sonde__llvm.BuildAnd(m->b, sonde__llvm.BuildLoad2(m->b, m->word, kept[1], ""), word, ""), kept[1]);
    if (guesses(m->k))
        put_guessed(m, a, &m->guess[k], word, number, index);
    put_extreme(m, kept[2], number, IS_LESS, real);
    put_extreme(m, kept[3], number, IS_MORE, real);
}

/* Of the access's first element. */
static ref put_index(struct maker *m, const struct sonde_llvm_access *a, ref instruction)
{
    const ref address = sonde__llvm.GetOperand(instruction, a->what == SONDE_ACCESS_LOAD ? 0 : 1);
    const ref from = sonde__llvm.BuildPtrToInt(m->b, sonde__llvm.GetParam(m->k->function, a->parameter - 1u), m->word, "");
    const ref bytes = sonde__llvm.BuildSub(m->b, sonde__llvm.BuildPtrToInt(m->b, address, m->word, ""), from, "");
    unsigned shift = 0;
    while (1u << shift < a->element_bytes)
        shift++;
    return sonde__llvm.BuildAShr(m->b, bytes, constant(m, shift), "");
}

/* The value's elements, as integers. A vector may have been handed over in something larger, or of another type. */
static void put_value(struct maker *m, const struct sonde_llvm_access *a, ref instruction, ref value, bool in_memory)
{
    const ref index = a->has_line && guesses(m->k) ? put_index(m, a, instruction) : NULL;
    const ref element = sonde__llvm.IntTypeInContext(m->k->context, 8u * a->element_bytes);
    if (!in_memory) /* what overflowed is one value, as it is for the program */
        value = sonde__llvm.BuildFreeze(m->b, value, "");
    if (in_memory) {
        value = sonde__llvm.BuildLoad2(m->b, sonde__llvm.VectorType(element, a->elements), value, "");
        sonde__llvm.SetAlignment(value, a->element_bytes);
    } else if (sonde__llvm.GetTypeKind(sonde__llvm.TypeOf(value)) == TYPE_POINTER) {
        put_element(m, a, sonde__llvm.BuildPtrToInt(m->b, value, element, ""), index);
        return;
    }
    const unsigned bits = sonde__llvm_bits(sonde__llvm.TypeOf(value)), lanes = bits / (8u * a->element_bytes);
    if (lanes == 1) {
        put_element(m, a, sonde__llvm.BuildBitCast(m->b, value, element, ""), index);
        return;
    }
    value = sonde__llvm.BuildBitCast(m->b, value, sonde__llvm.VectorType(element, lanes), "");
    for (unsigned e = 0; e < a->elements; e++)
        put_element(m, a, sonde__llvm.BuildExtractElement(m->b, value, sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 32), e, 0), ""),
                    index ? sonde__llvm.BuildAdd(m->b, index, constant(m, e), "") : NULL);
}

static void put_values(struct maker *m)
{
    for (uint32_t i = 0; i < m->k->accesses; i++) {
        const ref at = m->k->at[i].instruction;
        if (!m->k->access[i].has_values)
            continue;
        sonde__llvm.PositionBuilderBefore(m->b, m->k->at[i].after ? sonde__llvm.GetNextInstruction(at) : at);
        put_value(m, &m->k->access[i], at, m->k->at[i].is_operand ? sonde__llvm.GetOperand(at, 0) : at, m->k->at[i].in_memory);
    }
}

/* ---- what it writes -------------------------------------------------------------------------------------------- */

/* The address of the access's first byte, as a number. */
static ref put_address(struct maker *m, uint32_t access)
{
    const struct sonde_llvm_access *a = &m->k->access[access];
    const ref at = m->k->at[access].instruction, address = sonde__llvm.GetOperand(at, m->k->at[access].address);
    const ref offset = m->k->at[access].offset == NO_OPERAND ? NULL : sonde__llvm.GetOperand(at, m->k->at[access].offset);
    const ref from = sonde__llvm.BuildPtrToInt(m->b, address, m->word, "");
    if (!offset)
        return from;
    return sonde__llvm.BuildAdd(m->b, from, sonde__llvm.BuildMul(m->b, sonde__llvm.BuildZExt(m->b, offset, m->word, ""), constant(m, (uint64_t)a->element_bytes * a->elements), ""), "");
}

/* The same behind what the parameter points to. */
static ref put_place(struct maker *m, uint32_t access, uint16_t parameter)
{
    const ref from = sonde__llvm.BuildPtrToInt(m->b, sonde__llvm.GetParam(m->k->function, parameter - 1u), m->word, "");
    return sonde__llvm.BuildSub(m->b, put_address(m, access), from, "");
}

/* Was it done? `compare` is what it returned. */
static ref put_done(struct maker *m, ref compare)
{
    if (sonde__llvm.GetInstructionOpcode(compare) == COMPARE_EXCHANGE)
        return sonde__llvm.BuildExtractValue(m->b, compare, 1, "");
    const ref type = sonde__llvm.TypeOf(compare);
    return sonde__llvm_bits(type) < 32 ? sonde__llvm.BuildICmp(m->b, IS_NOT_EQUAL, compare, sonde__llvm.ConstInt(type, 0, 0), "")
                                       : sonde__llvm.BuildICmp(m->b, IS_EQUAL, compare, sonde__llvm.GetOperand(compare, 1), "");
}

/* What is not done, or lies elsewhere, is not marked. */
static void put_mark(struct maker *m, uint32_t access, uint32_t set)
{
    static const char *const names[] = {[1] = "sonde_mark1", [2] = "sonde_mark2", [4] = "sonde_mark4", [8] = "sonde_mark8"};
    const struct kernel *k = m->k;
    const struct sonde_llvm_access *a = &k->access[access];
    const ref at = k->at[access].instruction;
    const uint32_t all = (uint32_t)a->element_bytes * a->elements / k->out->grain, parameter = k->out->parameters + first_more(k->out) + 2 * set;
    const ref count = sonde__llvm.GetParam(k->function, parameter + 1);
    uint32_t marks = 8;
    sonde__llvm.PositionBuilderBefore(m->b, k->at[access].if_equal ? sonde__llvm.GetNextInstruction(at) : at);
    ref first = sonde__llvm.BuildAShr(m->b, put_place(m, access, k->out->set[set]), constant(m, (uint64_t)__builtin_ctz(k->out->grain)), "");
    if (k->at[access].if_equal)
        first = sonde__llvm.BuildSelect(m->b, put_done(m, at), first, count, "");
    for (uint32_t done = 0; done < all; done += marks) {
        while (marks > all - done)
            marks /= 2;
        ref argument[] = {sonde__llvm.GetParam(k->function, parameter), sonde__llvm.BuildAdd(m->b, first, constant(m, done), ""), count};
        put_call(m, names[marks], argument, 3);
    }
}

/* Of an access to one of several parameters it is tried with each. */
static void put_marks(struct maker *m)
{
    const struct sonde_llvm_kernel *out = m->k->out;
    for (uint32_t i = 0; i < m->k->accesses; i++)
        for (uint32_t s = 0; s < out->sets && m->k->access[i].writes; s++)
            if (m->k->access[i].several || m->k->access[i].parameter == out->set[s])
                put_mark(m, i, s);
}

/* ---- whose memory it is ---------------------------------------------------------------------------------------- */

/* Before each access, so that a store finds who wrote there before it. */
static void put_remote(struct maker *m, uint32_t access)
{
    const struct kernel *k = m->k;
    const struct sonde_llvm_access *a = &k->access[access];
    sonde__llvm.PositionBuilderBefore(m->b, k->at[access].instruction);
    const uint64_t bit = a->parameter && a->parameter <= 64 ? 1ull << (a->parameter - 1) : 0;
    const ref system = sonde__llvm.BuildICmp(m->b, IS_NOT_EQUAL, sonde__llvm.BuildAnd(m->b, m->system, constant(m, bit), ""), constant(m, 0), "");
    ref argument[] = {m->table, word_at(m, m->counters, access * SONDE_PLAN_REMOTE_SLOTS * sizeof(uint64_t)), put_address(m, access),
                      constant(m, (uint64_t)a->element_bytes * a->elements), sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(k->context, 1), a->writes, 0), system, constant(m, sonde__plan_cell_kind(a->what) * sizeof(uint64_t))};
    put_call(m, "sonde_remote", argument, sizeof argument / sizeof *argument);
}

static void put_remotes(struct maker *m)
{
    const struct kernel *k = m->k;
    sonde__llvm.PositionBuilderBefore(m->b, sonde__llvm.GetFirstInstruction(sonde__llvm.GetFirstBasicBlock(k->function)));
    m->table = parameter_of_ours(m, 1);
    m->system = sonde__llvm.GetParam(k->function, k->out->parameters + 2);
    ref whose[] = {parameter_of_ours(m, 0), constant(m, sonde__plan_part(&k->out->plan)), constant(m, 0), constant(m, k->out->parts - 1)};
    m->counters = put_call(m, "sonde_part", whose, 4);
    for (uint32_t i = 0; i < k->accesses; i++)
        put_remote(m, i);
}

/* ---- at its end -------------------------------------------------------------------------------------------------- */

/* Two blocks behind the builder's: the first where `is`, then always the second, in which it ends. */
static ref begin_if(struct maker *m, ref is)
{
    const ref then = sonde__llvm.AppendBasicBlockInContext(m->k->context, m->k->function, "sonde_new"),
              next = sonde__llvm.AppendBasicBlockInContext(m->k->context, m->k->function, "sonde_next");
    sonde__llvm.BuildCondBr(m->b, is, then, next);
    sonde__llvm.PositionBuilderAtEnd(m->b, then);
    return next;
}

static void end_if(struct maker *m, ref next)
{
    sonde__llvm.BuildBr(m->b, next);
    sonde__llvm.PositionBuilderAtEnd(m->b, next);
}

static ref kept(struct maker *m, ref at)
{
    return sonde__llvm.BuildLoad2(m->b, m->word, at, "");
}

static void put_sum(struct maker *m, size_t at, ref more)
{
    ref argument[] = {word_at(m, m->part, at), more};
    put_call(m, "sonde_add", argument, 2);
}

static void put_value_result(struct maker *m, uint32_t access)
{
    ref argument[1 + VALUE_WORDS] = {word_at(m, m->part, sonde__plan_counts(&m->k->out->plan) + access * sizeof(struct sonde_plan_values))};
    for (uint32_t w = 0; w < VALUE_WORDS; w++)
        argument[1 + w] = kept(m, m->kept[access][w]);
    put_call(m, "sonde_join", argument, 1 + VALUE_WORDS);
}

/* In place of a vote. */
static void put_sample(struct maker *m, uint32_t access)
{
    const struct sonde_llvm_access *a = &m->k->access[access];
    const struct guess *g = &m->guess[access];
    const ref no = sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 1), 0, 0);
    const ref once = sonde__llvm.BuildICmp(m->b, IS_EQUAL, kept(m, m->count[a->block]), constant(m, 1), "");
    ref argument[] = {g->at, a->elements == 1 ? once : no, kept(m, g->bits), a->has_line ? kept(m, g->index) : constant(m, 0), mask_of(m, a),
                      constant(m, is_extended(a) ? 64 - 8u * a->element_bytes : 0)};
    put_call(m, a->has_line ? for_type(a, "sonde_sample", "sonde_sample_float", "sonde_sample_double") : "sonde_sample_value", argument, 6);
}

static void put_vote(struct maker *m, uint32_t access)
{
    const struct sonde_llvm_access *a = &m->k->access[access];
    const struct guess *g = &m->guess[access];
    ref at = g->at;
    const ref open = put_call(m, "sonde_enter", &at, 1);
    if (a->elements == 1) {
        ref one[] = {at, kept(m, m->count[a->block]), kept(m, g->bits), a->has_line ? kept(m, g->index) : constant(m, 0)};
        put_call(m, "sonde_log", one, 4);
    }
    const ref next = begin_if(m, open);
    ref value[] = {at, kept(m, g->bits)};
    put_call(m, "sonde_vote_value", value, 2);
    if (a->has_line) {
        ref line[] = {at, kept(m, g->index), kept(m, g->bits), mask_of(m, a), kept(m, g->number)};
        put_call(m, for_type(a, "sonde_vote_line", "sonde_vote_line_float", "sonde_vote_line_double"), line, 5);
    }
    put_call(m, "sonde_voted", &at, 1);
    end_if(m, next);
    put_call(m, "sonde_leave", &at, 1);
}

static void put_guess_result(struct maker *m, uint32_t access)
{
    const struct sonde_llvm_access *a = &m->k->access[access];
    const struct guess *g = &m->guess[access];
    const size_t at = sonde__plan_found_at(&m->k->out->plan) + access * sizeof(struct sonde_plan_found);
    const ref no = sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 1), 0, 0), count = kept(m, m->count[a->block]);
    const ref executed = sonde__llvm.BuildICmp(m->b, IS_NOT_EQUAL, count, constant(m, 0), "");
    ref next = begin_if(m, sonde__llvm.BuildSelect(m->b, g->stands, no, executed, ""));
    put_sum(m, at + offsetof(struct sonde_plan_found, unchecked), count);
    if (m->k->spir)
        put_sample(m, access);
    else
        put_vote(m, access);
    end_if(m, next);
    put_sum(m, at + offsetof(struct sonde_plan_found, equal), sonde__llvm.BuildSelect(m->b, g->stands, kept(m, g->equal), constant(m, 0), ""));
    if (!a->has_line)
        return;
    next = begin_if(m, sonde__llvm.BuildSelect(m->b, g->stands, g->lined_wanted, no, ""));
    put_sum(m, at + offsetof(struct sonde_plan_found, lined), kept(m, g->lined));
    end_if(m, next);
}

/* Where all work-items come: no way leads from behind the kernel's own barriers to what follows but this one (llvm_barriers.c). */
static void put_barrier(struct maker *m)
{
    ref fence = sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(m->k->context, 32), 1, 0);
    if (m->k->has_barrier && !m->k->spir)
        put_call(m, "_Z7barrierj", &fence, 1);
}

/* What was chosen: by the first work-item of a group. */
static void put_groups(struct maker *m)
{
    const size_t at = sonde__plan_groups_at(&m->k->out->plan);
    ref every = constant(m, m->k->out->every);
    const ref first = put_call(m, "sonde_is_first", NULL, 0), many = put_call(m, "sonde_choose", &every, 1);
    const ref next = begin_if(m, first);
    put_sum(m, at + offsetof(struct sonde_plan_groups, looked_at), constant(m, 1));
    put_sum(m, at + offsetof(struct sonde_plan_groups, all), many);
    end_if(m, next);
}

/* A thread's part is its own from the first work-item on. */
static void put_results(struct maker *m)
{
    const struct kernel *k = m->k;
    ref whose[] = {m->area, constant(m, sonde__plan_part(&k->out->plan)), constant(m, sonde__plan_owner_at(&k->out->plan)), constant(m, k->out->parts - 1)};
    m->part = put_call(m, "sonde_part", whose, 4);
    for (uint32_t i = 0; i < k->blocks; i++)
        put_sum(m, i * sizeof(uint64_t), kept(m, m->count[i]));
    for (uint32_t i = 0; i < k->accesses; i++) {
        if (!k->access[i].has_values)
            continue;
        put_value_result(m, i);
        if (guesses(k))
            put_guess_result(m, i);
    }
    if (k->plain)
        put_groups(m);
    if (k->spir)
        return;
    whose[0] = m->part;
    whose[1] = word_at(m, m->area, (k->out->parts - 1) * sonde__plan_part(&k->out->plan));
    put_call(m, "sonde_done", whose, 3);
}

/* Other groups run the kernel's own code. What lies in the frame must be in the first block. */
static void put_choice(struct maker *m)
{
    const struct kernel *k = m->k;
    ref argument[PARAMETERS_MAX], every = constant(m, k->out->every);
    const ref old = sonde__llvm.GetFirstBasicBlock(k->function), first = sonde__llvm.InsertBasicBlockInContext(k->context, old, "sonde_choose"),
              other = sonde__llvm.AppendBasicBlockInContext(k->context, k->function, "sonde_other");
    sonde__llvm.PositionBuilderAtEnd(m->b, first);
    for (ref i = sonde__llvm.GetFirstInstruction(old), next; i; i = next) {
        next = sonde__llvm.GetNextInstruction(i);
        if (sonde__llvm.GetInstructionOpcode(i) != ALLOCA)
            continue;
        sonde__llvm.InstructionRemoveFromParent(i);
        sonde__llvm.InsertIntoBuilder(m->b, i);
    }
    const ref many = put_call(m, "sonde_choose", &every, 1);
    sonde__llvm.BuildCondBr(m->b, sonde__llvm.BuildICmp(m->b, IS_NOT_EQUAL, many, constant(m, 0), ""), old, other);
    sonde__llvm.PositionBuilderAtEnd(m->b, other);
    for (uint32_t i = 0; i < k->out->parameters; i++)
        argument[i] = sonde__llvm.GetParam(k->function, i);
    const ref call = sonde__llvm.BuildCall2(m->b, sonde__llvm.GlobalGetValueType(k->plain), k->plain, argument, k->out->parameters, "");
    sonde__llvm.SetInstructionCallConv(call, sonde__llvm.GetFunctionCallConv(k->plain));
    put_barrier(m);
    sonde__llvm.BuildRetVoid(m->b);
}

static void put_end(struct maker *m)
{
    const struct kernel *k = m->k;
    const ref end = sonde__llvm.AppendBasicBlockInContext(k->context, k->function, "sonde_end");
    for (ref b = sonde__llvm.GetFirstBasicBlock(k->function); b != end; b = sonde__llvm.GetNextBasicBlock(b)) {
        const ref last = sonde__llvm.GetBasicBlockTerminator(b);
        if (!last || sonde__llvm.GetInstructionOpcode(last) != RET)
            continue;
        sonde__llvm.InstructionEraseFromParent(last);
        sonde__llvm.PositionBuilderAtEnd(m->b, b);
        sonde__llvm.BuildBr(m->b, end);
    }
    sonde__llvm.PositionBuilderAtEnd(m->b, end);
    put_barrier(m); /* what follows has branches */
    put_results(m);
    sonde__llvm.BuildRetVoid(m->b);
}

bool sonde__llvm_put(struct kernel *k)
{
    struct maker *m = sonde__pages_get(sizeof *m);
    if (!m)
        return false;
    m->k = k;
    m->word = sonde__llvm.IntTypeInContext(k->context, 64);
    m->b = sonde__llvm.CreateBuilderInContext(k->context);
    const bool values = k->out->plan.what & SONDE_PLAN_VALUES;
    if (values) {
        put_start(m);
        put_counts(m);
        put_values(m);
    }
    put_marks(m);
    if (k->out->plan.what & SONDE_PLAN_REMOTE)
        put_remotes(m);
    if (values)
        put_end(m);
    if (k->plain)
        put_choice(m);
    sonde__llvm.DisposeBuilder(m->b);
    sonde__pages_put(m, sizeof *m);
    return true;
}
