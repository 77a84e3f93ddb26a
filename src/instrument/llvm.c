/* llvm.c - see llvm.h.
 *
 * What is kept lies in variables of the work-item (alloca), which the runtime's own passes make registers of. Everything is 64 bits
 * wide. At the kernel's end they are added to the work-group's part of the area.
 */
#include "llvm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sonde/error.h>
#include <sonde/kinds.h>

#include "guest/memory.h"
#include "llvm_calls.h"
#include "llvm_guess.h"

#define ACCESSES_MAX   4096u /* of a kernel */
#define PARAMETERS_MAX 256u
#define DEPTH_MAX      24u   /* steps from an address to what it comes from */
#define VALUE_WORDS    4u    /* struct sonde_plan_values */
#define PARTS_LEAST    16u
#define PARTS_MOST     256u

static struct llvm llvm;

bool sonde__llvm_open(void *library)
{
#define X(type, name, parameters)                                                 \
    if (!(*(void **)&llvm.name = dlsym(library, "LLVM" #name)))                   \
        return false;
    LLVM_MAP(X)
#undef X
    return true;
}

/* ---- names -------------------------------------------------------------------------------------------- */

struct name {
    const char *text;
    size_t bytes;
};

static struct name name_of(ref value)
{
    struct name n;
    n.text = llvm.GetValueName2(value, &n.bytes);
    return n;
}

static bool begins(struct name n, const char *with)
{
    return n.bytes >= strlen(with) && memcmp(n.text, with, strlen(with)) == 0;
}

static bool contains(struct name n, const char *part)
{
    return memmem(n.text, n.bytes, part, strlen(part)) != NULL;
}

/* Of the runtime's library: OpenCL C gives names of this kind to its own functions alone, and a program's are linked in any case or
 * its copy is refused. */
static bool is_builtin(struct name n)
{
    return begins(n, "_Z");
}

/* ---- where addresses come from ---------------------------------------------------------------------------- */

enum { NOWHERE = 0,
       UNKNOWN = UINT16_MAX }; /* memory that is the work-item's or its group's; else a parameter, from 1 */

struct kernel {
    ref context, function, module;
    struct sonde_llvm_kernel *out;
    uint8_t space[PARAMETERS_MAX];   /* of each parameter: an OpenCL address space */
    uint8_t integers[PARAMETERS_MAX]; /* what integers are to which it points: enum sonde_element */
    struct {
        ref instruction;
        bool is_operand;        /* what is read or written is its first operand, else itself */
        bool after;             /* it is there after the instruction, */
        bool in_memory;         /* at the address that is the value */
    } at[ACCESSES_MAX];
    struct sonde_llvm_access access[ACCESSES_MAX];
    uint32_t accesses, blocks;
    ref block[ACCESSES_MAX];         /* first access of each */
};

static uint16_t join(uint16_t a, uint16_t b)
{
    return a == b ? a : UNKNOWN;
}

static uint16_t origin(const struct kernel *k, ref address, unsigned depth);

static uint16_t origin_of_phi(const struct kernel *k, ref phi, unsigned depth)
{
    uint16_t all = UNKNOWN;
    bool any = false;
    for (unsigned i = 0; i < llvm.CountIncoming(phi); i++) {
        const ref from = llvm.GetIncomingValue(phi, i);
        /* A pointer that a loop moves on comes from where it began. */
        if (from == phi || (llvm.IsAInstruction(from) && llvm.GetInstructionOpcode(from) == GET_ELEMENT_POINTER && llvm.GetOperand(from, 0) == phi))
            continue;
        const uint16_t one = origin(k, from, depth);
        all = any ? join(all, one) : one;
        any = true;
    }
    return all;
}

static uint16_t origin(const struct kernel *k, ref address, unsigned depth)
{
    if (!depth)
        return UNKNOWN;
    if (llvm.IsAArgument(address)) {
        for (uint32_t i = 0; i < k->out->parameters; i++)
            if (llvm.GetParam(k->function, i) == address)
                return k->space[i] == 1 || k->space[i] == 2 ? (uint16_t)(i + 1) : (k->space[i] == 4 ? UNKNOWN : NOWHERE);
        return UNKNOWN;
    }
    if (!llvm.IsAInstruction(address))
        return llvm.IsAConstant(address) ? NOWHERE : UNKNOWN; /* a variable of the group, or a constant */
    switch (llvm.GetInstructionOpcode(address)) {
    case ALLOCA:
        return NOWHERE;
    case GET_ELEMENT_POINTER:
    case BIT_CAST:
    case ADDRESS_SPACE_CAST:
    case FREEZE:
        return origin(k, llvm.GetOperand(address, 0), depth - 1);
    case SELECT:
        return join(origin(k, llvm.GetOperand(address, 1), depth - 1), origin(k, llvm.GetOperand(address, 2), depth - 1));
    case PHI:
        return origin_of_phi(k, address, depth - 1);
    default:
        return UNKNOWN;
    }
}

/* ---- accesses --------------------------------------------------------------------------------------------- */

/* What is accessed: false where it is nothing that has elements. */
static bool element_of(ref type, struct sonde_llvm_access *a)
{
    a->elements = 1;
    if (llvm.GetTypeKind(type) == TYPE_VECTOR) {
        const unsigned count = llvm.GetVectorSize(type);
        if (count > 16)
            return false;
        a->elements = (uint8_t)count;
        type = llvm.GetElementType(type);
    }
    a->type = SONDE_ELEMENT_BITS;
    switch (llvm.GetTypeKind(type)) {
    case TYPE_INTEGER:
        a->element_bytes = (uint8_t)(llvm.GetIntTypeWidth(type) / 8);
        return llvm.GetIntTypeWidth(type) <= 64 && llvm.GetIntTypeWidth(type) % 8 == 0 && (a->element_bytes & (a->element_bytes - 1)) == 0;
    case TYPE_POINTER:
        a->element_bytes = 8;
        return true;
    case TYPE_HALF:
        a->element_bytes = 2;
        return true;
    case TYPE_FLOAT:
        a->type = SONDE_ELEMENT_FLOAT;
        a->element_bytes = 4;
        return true;
    case TYPE_DOUBLE:
        a->type = SONDE_ELEMENT_FLOAT;
        a->element_bytes = 8;
        return true;
    default:
        return false;
    }
}

/* Of a number or a vector of numbers; 0: it is neither. */
static unsigned bits_of(ref type)
{
    switch (llvm.GetTypeKind(type)) {
    case TYPE_VECTOR:
        return llvm.GetVectorSize(type) * bits_of(llvm.GetElementType(type));
    case TYPE_INTEGER:
        return llvm.GetIntTypeWidth(type);
    case TYPE_HALF:
        return 16;
    case TYPE_FLOAT:
        return 32;
    case TYPE_DOUBLE:
        return 64;
    default:
        return 0;
    }
}

/* What "vload4" or "vstore4" with this mangled name accesses: its number and, last, the letter of what is pointed to (Itanium C++
 * ABI 5.1.5.2). How such a vector is handed over depends on the processor. */
static bool element_of_call(struct name n, const char *function, struct sonde_llvm_access *a)
{
    static const struct {
        char letter;
        uint8_t type, bytes;
    } known[] = {
        {'c', SONDE_ELEMENT_SIGNED, 1},
        {'h', SONDE_ELEMENT_UNSIGNED, 1},
        {'s', SONDE_ELEMENT_SIGNED, 2},
        {'t', SONDE_ELEMENT_UNSIGNED, 2},
        {'i', SONDE_ELEMENT_SIGNED, 4},
        {'j', SONDE_ELEMENT_UNSIGNED, 4},
        {'l', SONDE_ELEMENT_SIGNED, 8},
        {'m', SONDE_ELEMENT_UNSIGNED, 8},
        {'f', SONDE_ELEMENT_FLOAT, 4},
        {'d', SONDE_ELEMENT_FLOAT, 8},
    };
    const char *at = memmem(n.text, n.bytes, function, strlen(function));
    a->elements = 0;
    for (at += strlen(function); at < n.text + n.bytes && *at >= '0' && *at <= '9'; at++)
        a->elements = (uint8_t)(10 * a->elements + *at - '0');
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n.text[n.bytes - 1] == known[i].letter && n.text[n.bytes - 2] != 'D') { /* "Dh": half */
            a->type = known[i].type;
            a->element_bytes = known[i].bytes;
            return a->elements > 1 && a->elements <= 16;
        }
    return false;
}

/* False: the kernel stays plain. */
static bool add(struct kernel *k, ref instruction, uint16_t parameter, ref value, bool after, struct sonde_llvm_access a)
{
    if (parameter == NOWHERE)
        return true;
    if (k->accesses == ACCESSES_MAX)
        return false;
    a.parameter = parameter == UNKNOWN ? 0 : parameter;
    a.block = k->blocks;
    a.has_values = value != NULL;
    if (a.has_values && a.parameter && a.type == SONDE_ELEMENT_BITS && llvm.GetTypeKind(llvm.TypeOf(value)) != TYPE_POINTER)
        a.type = k->integers[a.parameter - 1];
    k->at[k->accesses].instruction = instruction;
    k->at[k->accesses].is_operand = value != instruction;
    k->at[k->accesses].after = after;
    k->at[k->accesses].in_memory = false;
    k->access[k->accesses++] = a;
    return true;
}

static bool add_atomic(struct kernel *k, ref instruction, uint16_t parameter)
{
    return add(k, instruction, parameter, NULL, false, (struct sonde_llvm_access){.what = SONDE_ACCESS_ATOMIC, .element_bytes = 4, .elements = 1});
}

static bool add_plain(struct kernel *k, ref instruction, enum sonde_access what, ref address, ref value)
{
    struct sonde_llvm_access a = {.what = (uint8_t)what};
    const uint16_t parameter = origin(k, address, DEPTH_MAX);
    if (parameter == NOWHERE)
        return true;
    if (!element_of(llvm.TypeOf(value), &a) || !add(k, instruction, parameter, value, what == SONDE_ACCESS_LOAD, a))
        return false;
    struct sonde_llvm_access *added = &k->access[k->accesses - 1];
    added->has_line = added->parameter && added->type != SONDE_ELEMENT_BITS;
    return true;
}

/* A vector of the builtin functions is a value, or lies where a pointer says that is the call's first argument. */
static bool add_vector(struct kernel *k, ref call, struct name name, enum sonde_access what, uint16_t parameter)
{
    const bool load = what == SONDE_ACCESS_LOAD;
    const ref first = llvm.GetOperand(call, 0), value = load && llvm.GetTypeKind(llvm.TypeOf(call)) != TYPE_VOID ? call : first;
    struct sonde_llvm_access a = {.what = (uint8_t)what};
    const bool in_memory = llvm.GetTypeKind(llvm.TypeOf(value)) == TYPE_POINTER;
    if (!element_of_call(name, load ? "vload" : "vstore", &a) || !add(k, call, parameter, value, load, a))
        return false;
    k->at[k->accesses - 1].in_memory = in_memory;
    return in_memory || (bits_of(llvm.TypeOf(value)) % (8u * a.element_bytes) == 0 && bits_of(llvm.TypeOf(value)) >= 8u * a.element_bytes * a.elements);
}

/* Where a function that is called may reach memory that is not the work-item's or its group's. */
static uint16_t reaches(const struct kernel *k, ref call)
{
    uint16_t all = NOWHERE;
    for (unsigned i = 0; i < llvm.GetNumArgOperands(call); i++) {
        const ref argument = llvm.GetOperand(call, i);
        const uint16_t one = llvm.GetTypeKind(llvm.TypeOf(argument)) == TYPE_POINTER ? origin(k, argument, DEPTH_MAX) : NOWHERE;
        if (one != NOWHERE)
            all = all == NOWHERE ? one : join(all, one);
    }
    return all;
}

static bool add_call(struct kernel *k, ref call)
{
    const ref called = llvm.GetCalledValue(call);
    const struct name name = llvm.IsAFunction(called) ? name_of(called) : (struct name){"", 0};
    const uint16_t from = reaches(k, call);
    if (begins(name, "llvm.") || is_builtin(name)) {
        if (from == NOWHERE || contains(name, "prefetch") || begins(name, "llvm.lifetime") || begins(name, "llvm.assume"))
            return true;
        if (contains(name, "vload") && !contains(name, "half"))
            return add_vector(k, call, name, SONDE_ACCESS_LOAD, from);
        if (contains(name, "vstore") && !contains(name, "half"))
            return add_vector(k, call, name, SONDE_ACCESS_STORE, from);
        return contains(name, "atom") && add_atomic(k, call, from);
    }
    return begins(name, "pocl."); /* a barrier */
}

static bool add_instruction(struct kernel *k, ref i)
{
    switch (llvm.GetInstructionOpcode(i)) {
    case LOAD:
        return add_plain(k, i, SONDE_ACCESS_LOAD, llvm.GetOperand(i, 0), i);
    case STORE:
        return add_plain(k, i, SONDE_ACCESS_STORE, llvm.GetOperand(i, 1), llvm.GetOperand(i, 0));
    case COMPARE_EXCHANGE:
    case READ_MODIFY_WRITE:
        return add_atomic(k, i, origin(k, llvm.GetOperand(i, 0), DEPTH_MAX));
    case CALL:
        return add_call(k, i);
    default:
        return true;
    }
}

static bool find_accesses(struct kernel *k)
{
    for (ref b = llvm.GetFirstBasicBlock(k->function); b; b = llvm.GetNextBasicBlock(b)) {
        const uint32_t before = k->accesses;
        for (ref i = llvm.GetFirstInstruction(b); i; i = llvm.GetNextInstruction(i))
            if (!add_instruction(k, i))
                return false;
        if (k->accesses > before)
            k->block[k->blocks++] = k->at[before].instruction;
    }
    return true;
}

/* ---- what a kernel says of its parameters -------------------------------------------------------------------- */

static const char *const lists[][2] = {
    /* one entry for each parameter; that of ours */
    {"kernel_arg_addr_space", NULL},
    {"kernel_arg_access_qual", "none"},
    {"kernel_arg_type", "ulong*"},
    {"kernel_arg_base_type", "ulong*"},
    {"kernel_arg_type_qual", ""},
    {"kernel_arg_name", "sonde_area"},
};
#define LISTS (sizeof lists / sizeof *lists)

static unsigned kind_of(ref context, const char *name)
{
    return llvm.GetMDKindIDInContext(context, name, (unsigned)strlen(name));
}

/* The entries of a list; 0: there are too many. */
static unsigned entries_of(ref context, ref list, ref *entry)
{
    const ref value = llvm.MetadataAsValue(context, list);
    const unsigned count = llvm.GetMDNodeNumOperands(value);
    if (count > PARAMETERS_MAX)
        return 0;
    llvm.GetMDNodeOperands(value, entry);
    return count;
}

/* "char", "int4*", "ulong*", "float*": of integers that are read from there though it has none, or is a structure, nothing is known. */
static uint8_t integers_of(const char *type)
{
    static const char *const names[] = {"char", "short", "int", "long"};
    const uint8_t kind = *type == 'u' ? SONDE_ELEMENT_UNSIGNED : SONDE_ELEMENT_SIGNED;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(type + (*type == 'u'), names[i], strlen(names[i])) == 0)
            return kind;
    return SONDE_ELEMENT_BITS;
}

static void learn_parameters(struct kernel *k)
{
    size_t count = 0;
    ref entry[PARAMETERS_MAX];
    const ref all = llvm.GlobalCopyAllMetadata(k->function, &count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned kind = llvm.ValueMetadataEntriesGetKind(all, i);
        const bool spaces = kind == kind_of(k->context, "kernel_arg_addr_space"), types = kind == kind_of(k->context, "kernel_arg_base_type");
        const unsigned entries = spaces || types ? entries_of(k->context, llvm.ValueMetadataEntriesGetMetadata(all, i), entry) : 0;
        for (unsigned p = 0; p < entries && p < k->out->parameters; p++) {
            unsigned bytes = 0;
            const char *type = types && entry[p] ? llvm.GetMDString(entry[p], &bytes) : NULL;
            if (spaces && entry[p])
                k->space[p] = (uint8_t)llvm.ConstIntGetZExtValue(entry[p]);
            if (type && bytes)
                k->integers[p] = integers_of(type);
        }
    }
    llvm.DisposeValueMetadataEntries(all);
}

/* The list with ours behind it. */
static ref longer(struct kernel *k, ref list, const char *ours)
{
    ref entry[PARAMETERS_MAX + 1];
    const unsigned count = entries_of(k->context, list, entry);
    for (unsigned i = 0; i < count; i++)
        entry[i] = entry[i] ? llvm.ValueAsMetadata(entry[i]) : NULL;
    entry[count] = ours ? llvm.MDStringInContext2(k->context, ours, strlen(ours))
                        : llvm.ValueAsMetadata(llvm.ConstInt(llvm.IntTypeInContext(k->context, 32), 1, 0));
    return llvm.MDNodeInContext2(k->context, entry, count + 1);
}

static void copy_metadata(struct kernel *k, ref to)
{
    size_t count = 0;
    const ref all = llvm.GlobalCopyAllMetadata(k->function, &count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned kind = llvm.ValueMetadataEntriesGetKind(all, i);
        ref list = llvm.ValueMetadataEntriesGetMetadata(all, i);
        for (size_t l = 0; l < LISTS; l++)
            if (kind == kind_of(k->context, lists[l][0]))
                list = longer(k, list, lists[l][1]);
        llvm.GlobalSetMetadata(to, kind, list);
    }
    llvm.DisposeValueMetadataEntries(all);
}

/* It writes now, whatever it did before. */
static bool still_holds(ref attribute)
{
    static const char *const gone[] = {"readonly", "readnone", "writeonly", "argmemonly", "inaccessiblememonly", "inaccessiblemem_or_argmemonly",
                                       "memory", "nosync"};
    for (size_t i = 0; llvm.IsEnumAttribute(attribute) && i < sizeof gone / sizeof *gone; i++) {
        const unsigned kind = llvm.GetEnumAttributeKindForName(gone[i], strlen(gone[i]));
        if (kind && kind == llvm.GetEnumAttributeKind(attribute))
            return false;
    }
    return true;
}

static void copy_attributes(ref from, ref to, unsigned index, bool all)
{
    ref attribute[128];
    const unsigned count = llvm.GetAttributeCountAtIndex(from, index);
    if (count > sizeof attribute / sizeof *attribute)
        return;
    llvm.GetAttributesAtIndex(from, index, attribute);
    for (unsigned i = 0; i < count; i++)
        if (all || still_holds(attribute[i]))
            llvm.AddAttributeAtIndex(to, index, attribute[i]);
}

/* The kernel with a parameter more, by its own name; the old one is gone. */
static bool widen(struct kernel *k)
{
    const ref old = k->function, type = llvm.GlobalGetValueType(old);
    const uint32_t count = k->out->parameters;
    ref types[PARAMETERS_MAX + 1];
    llvm.GetParamTypes(type, types);
    types[count] = llvm.PointerType(llvm.IntTypeInContext(k->context, 8), 0);
    for (uint32_t i = 0; i < count; i++) /* where spaces are kept apart, ours is where its buffers are */
        if (k->space[i] == 1)
            types[count] = types[i];
    const ref fresh = llvm.AddFunction(k->module, "sonde_copy", llvm.FunctionType(llvm.GetReturnType(type), types, count + 1, 0));
    llvm.SetFunctionCallConv(fresh, llvm.GetFunctionCallConv(old));
    llvm.SetLinkage(fresh, llvm.GetLinkage(old));
    copy_attributes(old, fresh, (unsigned)FUNCTION, false);
    copy_metadata(k, fresh);
    for (ref b = llvm.GetFirstBasicBlock(old), next; b; b = next) {
        next = llvm.GetNextBasicBlock(b);
        llvm.RemoveBasicBlockFromParent(b);
        llvm.AppendExistingBasicBlock(fresh, b);
    }
    for (uint32_t i = 0; i < count; i++) {
        copy_attributes(old, fresh, i + 1, true);
        llvm.ReplaceAllUsesWith(llvm.GetParam(old, i), llvm.GetParam(fresh, i));
    }
    llvm.DeleteFunction(old);
    llvm.SetValueName2(fresh, k->out->name, strlen(k->out->name));
    k->function = fresh;
    return true;
}

/* ---- what is put into it --------------------------------------------------------------------------------------- */

struct maker {
    struct kernel *k;
    ref b, word;               /* the builder; i64 */
    ref count[ACCESSES_MAX];   /* of blocks */
    ref kept[ACCESSES_MAX][VALUE_WORDS];
    ref area, part;            /* of the thread */
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
    return llvm.ConstInt(m->word, value, 0);
}

static ref variable(struct maker *m, uint64_t start)
{
    const ref at = llvm.BuildAlloca(m->b, m->word, "");
    llvm.BuildStore(m->b, constant(m, start), at);
    return at;
}

/* A function of the module, by its name: ours, or OpenCL's own. */
static ref put_call(struct maker *m, const char *name, ref *argument, unsigned count)
{
    const ref called = llvm.GetNamedFunction(m->k->module, name);
    return llvm.BuildCall2(m->b, llvm.GlobalGetValueType(called), called, argument, count, "");
}

static ref word_at(struct maker *m, ref part, size_t bytes)
{
    const ref byte = llvm.IntTypeInContext(m->k->context, 8);
    ref index = constant(m, bytes);
    return llvm.BuildGEP2(m->b, byte, part, &index, 1, "");
}

/* As other work-groups may be writing it. */
static ref shared(struct maker *m, ref at, int ordering)
{
    const ref value = llvm.BuildLoad2(m->b, m->word, at, "");
    llvm.SetAlignment(value, sizeof(uint64_t));
    llvm.SetOrdering(value, ordering);
    return value;
}

static bool guesses(const struct kernel *k)
{
    return k->out->plan.what & SONDE_PLAN_GUESSES;
}

static void put_guess(struct maker *m, uint32_t access)
{
    struct guess *g = &m->guess[access];
    const ref yes = llvm.ConstInt(llvm.IntTypeInContext(m->k->context, 1), 1, 0);
    const size_t at = m->k->out->parts * sonde__plan_part(&m->k->out->plan) + access * sizeof(struct sonde_plan_guess);
    g->at = word_at(m, m->area, at);
    g->stands = llvm.BuildICmp(m->b, IS_NOT_BELOW, shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, votes)), ACQUIRE),
                               constant(m, SONDE_PLAN_VOTES), "");
    g->value = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, value)), MONOTONIC);
    g->equal = variable(m, 0);
    g->bits = variable(m, 0);
    if (!m->k->access[access].has_line)
        return;
    g->slope = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, slope)), MONOTONIC);
    g->offset = shared(m, word_at(m, m->area, at + offsetof(struct sonde_plan_guess, offset)), MONOTONIC);
    g->lined_wanted = llvm.BuildSelect(m->b, g->stands, llvm.BuildICmp(m->b, IS_NOT_EQUAL, g->slope, constant(m, 0), ""), yes, "");
    g->lined = variable(m, 0);
    g->number = variable(m, 0);
    g->index = variable(m, 0);
}

static void put_start(struct maker *m)
{
    const struct kernel *k = m->k;
    llvm.PositionBuilderBefore(m->b, llvm.GetFirstInstruction(llvm.GetFirstBasicBlock(k->function)));
    for (uint32_t i = 0; i < k->blocks; i++)
        m->count[i] = variable(m, 0);
    for (uint32_t i = 0; i < k->accesses; i++) {
        uint64_t start[VALUE_WORDS];
        memcpy(start, &sonde__plan_none, sizeof start);
        for (uint32_t w = 0; k->access[i].has_values && w < VALUE_WORDS; w++)
            m->kept[i][w] = variable(m, start[w]);
    }
    m->area = llvm.BuildPointerCast(m->b, llvm.GetParam(k->function, k->out->parameters), llvm.PointerType(llvm.IntTypeInContext(k->context, 8), 0), "");
    for (uint32_t i = 0; i < k->accesses; i++)
        if (k->access[i].has_values && guesses(k))
            put_guess(m, i);
}

static void put_counts(struct maker *m)
{
    for (uint32_t i = 0; i < m->k->blocks; i++) {
        llvm.PositionBuilderBefore(m->b, m->k->block[i]);
        llvm.BuildStore(m->b, llvm.BuildAdd(m->b, llvm.BuildLoad2(m->b, m->word, m->count[i], ""), constant(m, 1), ""), m->count[i]);
    }
}

/* The least or the most of what is kept and the number; `real`: not a NaN, else NULL. */
static void put_extreme(struct maker *m, ref at, ref number, int is, ref real)
{
    const ref old = llvm.BuildLoad2(m->b, m->word, at, "");
    ref further = llvm.BuildICmp(m->b, is, number, old, "");
    if (real)
        further = llvm.BuildAnd(m->b, further, real, "");
    llvm.BuildStore(m->b, llvm.BuildSelect(m->b, further, number, old, ""), at);
}

static void put_add(struct maker *m, ref at, ref more)
{
    llvm.BuildStore(m->b, llvm.BuildAdd(m->b, llvm.BuildLoad2(m->b, m->word, at, ""), more, ""), at);
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
    put_add(m, g->equal, llvm.BuildZExt(m->b, llvm.BuildICmp(m->b, IS_EQUAL, word, g->value, ""), m->word, ""));
    llvm.BuildStore(m->b, word, g->bits);
    if (!a->has_line)
        return;
    ref argument[] = {g->lined_wanted, g->lined, g->number, g->index, g->slope, g->offset, index, word, mask_of(m, a), number};
    put_call(m, for_type(a, "sonde_line", "sonde_line_float", "sonde_line_double"), argument, sizeof argument / sizeof *argument);
}

/* `index`: of the element, behind what the parameter points to; NULL: not known. */
static void put_element(struct maker *m, const struct sonde_llvm_access *a, ref bits, ref index)
{
    const uint32_t k = (uint32_t)(a - m->k->access);
    ref const *kept = m->kept[k];
    const ref word = a->element_bytes == 8 ? bits : llvm.BuildZExt(m->b, bits, m->word, "");
    const bool extends = a->element_bytes == 4 || (a->element_bytes < 4 && a->type == SONDE_ELEMENT_SIGNED);
    ref number = extends ? llvm.BuildSExt(m->b, bits, m->word, "") : word, real = NULL;
    if (a->type == SONDE_ELEMENT_FLOAT) { /* sonde__plan_ordered; above the infinities' bits are NaNs */
        const bool wide = a->element_bytes == 8;
        const ref size = llvm.BuildAnd(m->b, word, constant(m, wide ? INT64_MAX : INT32_MAX), "");
        real = llvm.BuildXor(m->b, llvm.BuildICmp(m->b, IS_MORE, size, constant(m, wide ? 0x7ff0000000000000u : 0x7f800000u), ""),
                             llvm.ConstInt(llvm.IntTypeInContext(m->k->context, 1), 1, 0), "");
        number = llvm.BuildXor(m->b, number, llvm.BuildAnd(m->b, llvm.BuildAShr(m->b, number, constant(m, 63), ""), constant(m, wide ? INT64_MAX : INT32_MAX), ""), "");
    }
    llvm.BuildStore(m->b, llvm.BuildOr(m->b, llvm.BuildLoad2(m->b, m->word, kept[0], ""), word, ""), kept[0]);
    llvm.BuildStore(m->b, llvm.BuildAnd(m->b, llvm.BuildLoad2(m->b, m->word, kept[1], ""), word, ""), kept[1]);
    if (guesses(m->k))
        put_guessed(m, a, &m->guess[k], word, number, index);
    put_extreme(m, kept[2], number, IS_LESS, real);
    put_extreme(m, kept[3], number, IS_MORE, real);
}

/* Of the access's first element. */
static ref put_index(struct maker *m, const struct sonde_llvm_access *a, ref instruction)
{
    const ref address = llvm.GetOperand(instruction, a->what == SONDE_ACCESS_LOAD ? 0 : 1);
    const ref from = llvm.BuildPtrToInt(m->b, llvm.GetParam(m->k->function, a->parameter - 1u), m->word, "");
    const ref bytes = llvm.BuildSub(m->b, llvm.BuildPtrToInt(m->b, address, m->word, ""), from, "");
    unsigned shift = 0;
    while (1u << shift < a->element_bytes)
        shift++;
    return llvm.BuildAShr(m->b, bytes, constant(m, shift), "");
}

/* The value's elements, as integers. A vector may have been handed over in something larger, or of another type. */
static void put_value(struct maker *m, const struct sonde_llvm_access *a, ref instruction, ref value, bool in_memory)
{
    const ref index = a->has_line && guesses(m->k) ? put_index(m, a, instruction) : NULL;
    const ref element = llvm.IntTypeInContext(m->k->context, 8u * a->element_bytes);
    if (!in_memory) /* what overflowed is one value, as it is for the program */
        value = llvm.BuildFreeze(m->b, value, "");
    if (in_memory) {
        value = llvm.BuildLoad2(m->b, llvm.VectorType(element, a->elements), value, "");
        llvm.SetAlignment(value, a->element_bytes);
    } else if (llvm.GetTypeKind(llvm.TypeOf(value)) == TYPE_POINTER) {
        put_element(m, a, llvm.BuildPtrToInt(m->b, value, element, ""), index);
        return;
    }
    const unsigned bits = bits_of(llvm.TypeOf(value)), lanes = bits / (8u * a->element_bytes);
    if (lanes == 1) {
        put_element(m, a, llvm.BuildBitCast(m->b, value, element, ""), index);
        return;
    }
    value = llvm.BuildBitCast(m->b, value, llvm.VectorType(element, lanes), "");
    for (unsigned e = 0; e < a->elements; e++)
        put_element(m, a, llvm.BuildExtractElement(m->b, value, llvm.ConstInt(llvm.IntTypeInContext(m->k->context, 32), e, 0), ""),
                    index ? llvm.BuildAdd(m->b, index, constant(m, e), "") : NULL);
}

static void put_values(struct maker *m)
{
    for (uint32_t i = 0; i < m->k->accesses; i++) {
        const ref at = m->k->at[i].instruction;
        if (!m->k->access[i].has_values)
            continue;
        llvm.PositionBuilderBefore(m->b, m->k->at[i].after ? llvm.GetNextInstruction(at) : at);
        put_value(m, &m->k->access[i], at, m->k->at[i].is_operand ? llvm.GetOperand(at, 0) : at, m->k->at[i].in_memory);
    }
}

/* ---- at its end -------------------------------------------------------------------------------------------------- */

/* Two blocks behind the builder's: the first where `is`, then always the second, in which it ends. */
static ref begin_if(struct maker *m, ref is)
{
    const ref then = llvm.AppendBasicBlockInContext(m->k->context, m->k->function, "sonde_new"),
              next = llvm.AppendBasicBlockInContext(m->k->context, m->k->function, "sonde_next");
    llvm.BuildCondBr(m->b, is, then, next);
    llvm.PositionBuilderAtEnd(m->b, then);
    return next;
}

static void end_if(struct maker *m, ref next)
{
    llvm.BuildBr(m->b, next);
    llvm.PositionBuilderAtEnd(m->b, next);
}

static ref kept(struct maker *m, ref at)
{
    return llvm.BuildLoad2(m->b, m->word, at, "");
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
    const ref no = llvm.ConstInt(llvm.IntTypeInContext(m->k->context, 1), 0, 0), count = kept(m, m->count[a->block]);
    const ref executed = llvm.BuildICmp(m->b, IS_NOT_EQUAL, count, constant(m, 0), "");
    ref next = begin_if(m, llvm.BuildSelect(m->b, g->stands, no, executed, ""));
    put_sum(m, at + offsetof(struct sonde_plan_found, unchecked), count);
    put_vote(m, access);
    end_if(m, next);
    put_sum(m, at + offsetof(struct sonde_plan_found, equal), llvm.BuildSelect(m->b, g->stands, kept(m, g->equal), constant(m, 0), ""));
    if (!a->has_line)
        return;
    next = begin_if(m, llvm.BuildSelect(m->b, g->stands, g->lined_wanted, no, ""));
    put_sum(m, at + offsetof(struct sonde_plan_found, lined), kept(m, g->lined));
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
    whose[0] = m->part;
    whose[1] = word_at(m, m->area, (k->out->parts - 1) * sonde__plan_part(&k->out->plan));
    put_call(m, "sonde_done", whose, 3);
}

static void put_end(struct maker *m)
{
    const struct kernel *k = m->k;
    const ref end = llvm.AppendBasicBlockInContext(k->context, k->function, "sonde_end");
    for (ref b = llvm.GetFirstBasicBlock(k->function); b != end; b = llvm.GetNextBasicBlock(b)) {
        const ref last = llvm.GetBasicBlockTerminator(b);
        if (!last || llvm.GetInstructionOpcode(last) != RET)
            continue;
        llvm.InstructionEraseFromParent(last);
        llvm.PositionBuilderAtEnd(m->b, b);
        llvm.BuildBr(m->b, end);
    }
    llvm.PositionBuilderAtEnd(m->b, end);
    put_results(m);
    llvm.BuildRetVoid(m->b);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static const char *instrument(struct kernel *k, struct maker *m)
{
    const uint32_t count = k->out->parameters;
    if (count >= PARAMETERS_MAX)
        return "it has too many parameters";
    if (llvm.GetFirstUse(k->function))
        return "other functions call it";
    learn_parameters(k);
    if (!find_accesses(k))
        return "its code has accesses or calls that cannot be followed";
    if (!k->accesses)
        return "it has no access to global memory";
    k->out->plan.blocks = k->blocks;
    k->out->plan.accesses = k->accesses;
    k->out->accesses = sonde__memory_get(k->accesses * sizeof *k->access);
    if (!k->out->accesses)
        return "there is no memory";
    memcpy(k->out->accesses, k->access, k->accesses * sizeof *k->access);
    widen(k);
    m->k = k;
    m->word = llvm.IntTypeInContext(k->context, 64);
    m->b = llvm.CreateBuilderInContext(k->context);
    put_start(m);
    put_counts(m);
    put_values(m);
    put_end(m);
    llvm.DisposeBuilder(m->b);
    return NULL;
}

/* ---- modules ---------------------------------------------------------------------------------------------------- */

/* The runtime links its library to what has no body. */
static void remove_builtins(ref module)
{
    for (ref f = llvm.GetFirstFunction(module), next; f; f = next) {
        char name[512];
        const struct name n = name_of(f);
        next = llvm.GetNextFunction(f);
        if (llvm.IsDeclaration(f) || !is_builtin(n) || n.bytes >= sizeof name)
            continue;
        memcpy(name, n.text, n.bytes);
        name[n.bytes] = 0;
        llvm.SetValueName2(f, "", 0);
        const ref fresh = llvm.AddFunction(module, name, llvm.GlobalGetValueType(f));
        llvm.SetFunctionCallConv(fresh, llvm.GetFunctionCallConv(f));
        llvm.ReplaceAllUsesWith(f, fresh);
        llvm.DeleteFunction(f);
    }
}

static bool is_kernel(ref f)
{
    return !llvm.IsDeclaration(f) && llvm.GetFunctionCallConv(f) == KERNEL_CONVENTION;
}

static void drop_attribute(ref function, const char *name)
{
    llvm.RemoveEnumAttributeAtIndex(function, (unsigned)FUNCTION, llvm.GetEnumAttributeKindForName(name, strlen(name)));
}

/* Functions of the program become part of the kernels that call them, and variables registers, so that it is seen where pointers come
 * from. Neither changes what is computed. */
static void prepare(ref context, ref module)
{
    const unsigned always = llvm.GetEnumAttributeKindForName("alwaysinline", 12);
    for (ref f = llvm.GetFirstFunction(module); f; f = llvm.GetNextFunction(f)) {
        if (llvm.IsDeclaration(f))
            continue;
        drop_attribute(f, "optnone");
        if (is_kernel(f))
            continue;
        drop_attribute(f, "noinline");
        llvm.AddAttributeAtIndex(f, (unsigned)FUNCTION, llvm.CreateEnumAttribute(context, always, 0));
    }
    const ref options = llvm.CreatePassBuilderOptions();
    const ref error = llvm.RunPasses(module, "always-inline,function(mem2reg)", NULL, options);
    if (error)
        llvm.ConsumeError(error);
    llvm.DisposePassBuilderOptions(options);
}

static uint32_t list_kernels(ref module, ref *list, uint32_t most)
{
    uint32_t count = 0;
    for (ref f = llvm.GetFirstFunction(module); f; f = llvm.GetNextFunction(f))
        if (is_kernel(f) && count < most)
            list[count++] = f;
    return count;
}

/* A power of two, and one. */
static uint32_t parts(void)
{
    const long threads = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t count = PARTS_LEAST;
    while (count < PARTS_MOST && count < 2 * threads)
        count *= 2;
    return count + 1;
}

static bool describe(struct sonde_llvm_kernel *out, ref function, bool with_guesses)
{
    const struct name n = name_of(function);
    out->name = sonde__memory_get(n.bytes + 1);
    if (!out->name)
        return false;
    memcpy(out->name, n.text, n.bytes);
    out->name[n.bytes] = 0;
    out->parameters = llvm.CountParams(function);
    out->parts = parts();
    out->plan.what = SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES | SONDE_PLAN_OWNERS | (with_guesses ? SONDE_PLAN_GUESSES : 0);
    return true;
}

/* Those that what is put in calls. */
static int add_functions(ref context, ref module)
{
    enum { TEXT_MAX = 65536 };
    char *all = sonde__pages_get(TEXT_MAX), *why = NULL;
    size_t length = 0;
    for (size_t i = 0; all && i < sizeof llvm_guess_texts / sizeof *llvm_guess_texts; i++)
        length += (size_t)snprintf(all + length, TEXT_MAX - length, "%s", llvm_guess_texts[i]);
    if (!all)
        return SONDE_ENOMEM;
    const ref text = llvm.CreateMemoryBufferWithMemoryRangeCopy(all, length, "");
    sonde__pages_put(all, TEXT_MAX);
    ref ours = NULL;
    int failed = llvm.ParseIRInContext(context, text, &ours, &why); /* the text is gone */
    if (why)
        llvm.DisposeMessage(why);
    failed = failed || llvm.LinkModules2(module, ours); /* ours is gone */
    for (ref f = llvm.GetFirstFunction(module); f && !failed; f = llvm.GetNextFunction(f))
        if (begins(name_of(f), "sonde_"))
            llvm.SetLinkage(f, INTERNAL);
    return failed ? SONDE_EFORMAT : 0;
}

static int rewrite(ref context, ref module, bool with_guesses, struct sonde_llvm_module *out)
{
    enum { KERNELS_MAX = 1024 };
    ref list[KERNELS_MAX];
    struct kernel *k = sonde__pages_get(sizeof *k);
    struct maker *m = sonde__pages_get(sizeof *m);
    char *why = NULL;
    int rc = k && m ? 0 : SONDE_ENOMEM;
    llvm.StripModuleDebugInfo(module);
    remove_builtins(module);
    prepare(context, module);
    rc = rc ? rc : add_functions(context, module);
    out->count = list_kernels(module, list, KERNELS_MAX);
    out->kernels = sonde__memory_get((out->count + 1) * sizeof *out->kernels);
    rc = out->kernels ? rc : SONDE_ENOMEM;
    for (uint32_t i = 0; i < out->count && !rc; i++) {
        memset(k, 0, sizeof *k);
        k->context = context;
        k->module = module;
        k->function = list[i];
        k->out = &out->kernels[i];
        if (!describe(k->out, list[i], with_guesses))
            rc = SONDE_ENOMEM;
        else
            k->out->why = instrument(k, m);
    }
    if (k)
        sonde__pages_put(k, sizeof *k);
    if (m)
        sonde__pages_put(m, sizeof *m);
    if (!rc && llvm.VerifyModule(module, RETURN_STATUS, &why))
        rc = SONDE_EFORMAT;
    if (why)
        llvm.DisposeMessage(why);
    return rc;
}

static int write_out(ref module, struct sonde_llvm_module *out)
{
    const ref buffer = llvm.WriteBitcodeToMemoryBuffer(module);
    out->bytes = llvm.GetBufferSize(buffer);
    out->bitcode = sonde__pages_get(out->bytes);
    if (out->bitcode)
        memcpy(out->bitcode, llvm.GetBufferStart(buffer), out->bytes);
    llvm.DisposeMemoryBuffer(buffer);
    return out->bitcode ? 0 : SONDE_ENOMEM;
}

/* LLVM's own ends the process. */
static void ignore(ref said, void *user)
{
    (void)said;
    (void)user;
}

/* What PoCL makes of a program with debug information is wrong where it has linked its library, of which LLVM tells the program's standard
 * error. Of a version that LLVM does not know it is dropped unseen. The name of the version stands in the bitcode as text. */
static void spoil_debug_version(char *bitcode, size_t bytes)
{
    static const char name[] = "Debug Info Version";
    char *at = memmem(bitcode, bytes, name, sizeof name - 1);
    if (at)
        at[0] = 'd';
}

int sonde__llvm_rewrite(void *bitcode, size_t bytes, bool with_guesses, struct sonde_llvm_module *out)
{
    spoil_debug_version(bitcode, bytes);
    const ref context = llvm.ContextCreate(), buffer = llvm.CreateMemoryBufferWithMemoryRange(bitcode, bytes, "", 0);
    ref module = NULL;
    *out = (struct sonde_llvm_module){0};
    llvm.ContextSetDiagnosticHandler(context, ignore, NULL);
    int rc = llvm.ParseBitcodeInContext2(context, buffer, &module) ? SONDE_EFORMAT : 0;
    rc = rc ? rc : rewrite(context, module, with_guesses, out);
    rc = rc ? rc : write_out(module, out);
    if (module)
        llvm.DisposeModule(module);
    llvm.DisposeMemoryBuffer(buffer);
    llvm.ContextDispose(context);
    return rc;
}
