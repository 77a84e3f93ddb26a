/* llvm_find.c - which accesses to global memory a kernel has, and through which of its parameters (llvm_kernel.h). */
#include <sonde/kinds.h>

#include "guest/memory.h"
#include "llvm_kernel.h"

#define DEPTH_MAX 24u /* steps from an address to what it comes from */

/* ---- where addresses come from ---------------------------------------------------------------------------- */

enum { NOWHERE = 0, /* memory that is the work-item's or its group's; else a parameter, from 1 */
       SEVERAL = UINT16_MAX - 1, /* one of the parameters */
       UNKNOWN = UINT16_MAX };

static uint16_t join(uint16_t a, uint16_t b)
{
    if (a == b)
        return a;
    return a == NOWHERE || a == UNKNOWN || b == NOWHERE || b == UNKNOWN ? UNKNOWN : SEVERAL;
}

static uint16_t origin(const struct kernel *k, ref address, unsigned depth);

static uint16_t origin_of_phi(const struct kernel *k, ref phi, unsigned depth)
{
    uint16_t all = UNKNOWN;
    bool any = false;
    for (unsigned i = 0; i < sonde__llvm.CountIncoming(phi); i++) {
        const ref from = sonde__llvm.GetIncomingValue(phi, i);
        /* A pointer that a loop moves on comes from where it began. */
        if (from == phi || (sonde__llvm.IsAInstruction(from) && sonde__llvm.GetInstructionOpcode(from) == GET_ELEMENT_POINTER && sonde__llvm.GetOperand(from, 0) == phi))
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
    if (sonde__llvm.IsAArgument(address)) {
        for (uint32_t i = 0; i < k->out->parameters; i++)
            if (sonde__llvm.GetParam(k->function, i) == address)
                return k->space[i] == 1 || k->space[i] == 2 ? (uint16_t)(i + 1) : (k->space[i] == 4 ? UNKNOWN : NOWHERE);
        return UNKNOWN;
    }
    if (!sonde__llvm.IsAInstruction(address))
        return sonde__llvm.IsAConstant(address) ? NOWHERE : UNKNOWN; /* a variable of the group, or a constant */
    switch (sonde__llvm.GetInstructionOpcode(address)) {
    case ALLOCA:
        return NOWHERE;
    case GET_ELEMENT_POINTER:
    case BIT_CAST:
    case ADDRESS_SPACE_CAST:
    case FREEZE:
        return origin(k, sonde__llvm.GetOperand(address, 0), depth - 1);
    case SELECT:
        return join(origin(k, sonde__llvm.GetOperand(address, 1), depth - 1), origin(k, sonde__llvm.GetOperand(address, 2), depth - 1));
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
    if (sonde__llvm.GetTypeKind(type) == TYPE_VECTOR) {
        const unsigned count = sonde__llvm.GetVectorSize(type);
        if (count > 16)
            return false;
        a->elements = (uint8_t)count;
        type = sonde__llvm.GetElementType(type);
    }
    a->type = SONDE_ELEMENT_BITS;
    switch (sonde__llvm.GetTypeKind(type)) {
    case TYPE_INTEGER:
        a->element_bytes = (uint8_t)(sonde__llvm.GetIntTypeWidth(type) / 8);
        return sonde__llvm.GetIntTypeWidth(type) <= 64 && sonde__llvm.GetIntTypeWidth(type) % 8 == 0 && (a->element_bytes & (a->element_bytes - 1)) == 0;
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

unsigned sonde__llvm_bits(ref type)
{
    switch (sonde__llvm.GetTypeKind(type)) {
    case TYPE_VECTOR:
        return sonde__llvm.GetVectorSize(type) * sonde__llvm_bits(sonde__llvm.GetElementType(type));
    case TYPE_INTEGER:
        return sonde__llvm.GetIntTypeWidth(type);
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

/* Of a program built with -g. Neighbours are mostly of one file. */
static void add_line(struct kernel *k, ref instruction)
{
    struct sonde_llvm_access *a = &k->access[k->accesses];
    const char *before = k->accesses ? a[-1].file : NULL;
    unsigned length = 0;
    const unsigned line = sonde__llvm.GetDebugLocLine(instruction);
    const char *file = line ? sonde__llvm.GetDebugLocFilename(instruction, &length) : NULL;
    char *copy = NULL;
    if (!file || !length)
        return;
    a->line = line;
    a->file = before && strlen(before) == length && memcmp(before, file, length) == 0 ? before : NULL;
    if (a->file || !(copy = sonde__memory_get(length + 1)))
        return;
    memcpy(copy, file, length);
    copy[length] = 0;
    a->file = copy;
}

/* False: the kernel stays plain. */
static bool add(struct kernel *k, ref instruction, uint16_t parameter, ref value, bool after, struct sonde_llvm_access a)
{
    if (parameter == NOWHERE)
        return true;
    if (k->accesses == ACCESSES_MAX)
        return false;
    a.parameter = parameter >= SEVERAL ? 0 : parameter;
    a.several = parameter == SEVERAL;
    a.block = k->blocks;
    a.has_values = value != NULL;
    if (a.has_values && a.parameter && a.type == SONDE_ELEMENT_BITS && sonde__llvm.GetTypeKind(sonde__llvm.TypeOf(value)) != TYPE_POINTER)
        a.type = k->integers[a.parameter - 1];
    k->at[k->accesses].instruction = instruction;
    k->at[k->accesses].is_operand = value != instruction;
    k->at[k->accesses].after = after;
    k->at[k->accesses].in_memory = false;
    k->access[k->accesses] = a;
    add_line(k, instruction);
    k->accesses++;
    return true;
}

/* What was added last is where these operands say. */
static void add_address(struct kernel *k, unsigned address, unsigned offset)
{
    k->at[k->accesses - 1].address = address;
    k->at[k->accesses - 1].offset = offset;
}

/* And it is written, at multiples of `grain`. */
static void add_write(struct kernel *k, unsigned grain)
{
    const uint32_t last = k->accesses - 1;
    k->access[last].writes = true;
    k->at[last].grain = grain && grain < k->access[last].element_bytes ? (uint8_t)grain : k->access[last].element_bytes;
}

static bool add_atomic(struct kernel *k, ref instruction, uint16_t parameter, ref type)
{
    const unsigned bits = sonde__llvm_bits(type), bytes = sonde__llvm.GetTypeKind(type) == TYPE_POINTER ? 8 : bits / 8;
    const struct sonde_llvm_access a = {.what = SONDE_ACCESS_ATOMIC, .element_bytes = (uint8_t)bytes, .elements = 1};
    const uint32_t before = k->accesses;
    if (bytes > 8 || !bytes || bits % 8 || (bytes & (bytes - 1)) || !add(k, instruction, parameter, NULL, false, a))
        return parameter == NOWHERE;
    if (k->accesses > before) {
        add_address(k, 0, NO_OPERAND);
        add_write(k, bytes);
    }
    return true;
}

/* What is read, changed or written by one of the builtin functions: what it returns, or, where that is whether it was done, or nothing, its
 * last argument of that size. */
static ref type_of_atomic(ref call, struct name name)
{
    const ref word = sonde__llvm.TypeOf(call);
    const unsigned count = sonde__llvm.GetNumArgOperands(call), at = contains(name, "compare_exchange") ? 2 : 1;
    if (sonde__llvm_bits(word) >= 32)
        return word;
    return !contains(name, "flag") && at < count ? sonde__llvm.TypeOf(sonde__llvm.GetOperand(call, at)) : NULL;
}

static bool add_plain(struct kernel *k, ref instruction, enum sonde_access what, ref address, ref value)
{
    struct sonde_llvm_access a = {.what = (uint8_t)what};
    const uint16_t parameter = origin(k, address, DEPTH_MAX);
    if (parameter == NOWHERE)
        return true;
    if (!element_of(sonde__llvm.TypeOf(value), &a) || !add(k, instruction, parameter, value, what == SONDE_ACCESS_LOAD, a))
        return false;
    struct sonde_llvm_access *added = &k->access[k->accesses - 1];
    added->has_line = added->parameter && added->type != SONDE_ELEMENT_BITS;
    add_address(k, what == SONDE_ACCESS_STORE, NO_OPERAND);
    if (what == SONDE_ACCESS_STORE)
        add_write(k, sonde__llvm.GetAlignment(instruction));
    return true;
}

/* A vector of the builtin functions is a value, or lies where a pointer says that is the call's first argument. */
static bool add_vector(struct kernel *k, ref call, struct name name, enum sonde_access what, uint16_t parameter)
{
    const bool load = what == SONDE_ACCESS_LOAD;
    const ref first = sonde__llvm.GetOperand(call, 0), value = load && sonde__llvm.GetTypeKind(sonde__llvm.TypeOf(call)) != TYPE_VOID ? call : first;
    struct sonde_llvm_access a = {.what = (uint8_t)what};
    const bool in_memory = sonde__llvm.GetTypeKind(sonde__llvm.TypeOf(value)) == TYPE_POINTER;
    if (!element_of_call(name, load ? "vload" : "vstore", &a) || !add(k, call, parameter, value, load, a))
        return false;
    k->at[k->accesses - 1].in_memory = in_memory;
    const unsigned count = sonde__llvm.GetNumArgOperands(call);
    if (count < 2)
        return false;
    add_address(k, count - 1, count - 2);
    if (!load)
        add_write(k, 0);
    return in_memory || (sonde__llvm_bits(sonde__llvm.TypeOf(value)) % (8u * a.element_bytes) == 0 && sonde__llvm_bits(sonde__llvm.TypeOf(value)) >= 8u * a.element_bytes * a.elements);
}

/* Where a function that is called may reach memory that is not the work-item's or its group's, and by how many of its arguments. */
static uint16_t reaches(const struct kernel *k, ref call, unsigned *pointers)
{
    uint16_t all = NOWHERE;
    *pointers = 0;
    for (unsigned i = 0; i < sonde__llvm.GetNumArgOperands(call); i++) {
        const ref argument = sonde__llvm.GetOperand(call, i);
        const uint16_t one = sonde__llvm.GetTypeKind(sonde__llvm.TypeOf(argument)) == TYPE_POINTER ? origin(k, argument, DEPTH_MAX) : NOWHERE;
        if (one == NOWHERE)
            continue;
        all = all == NOWHERE ? one : join(all, one);
        ++*pointers;
    }
    return all;
}

static bool add_atomic_call(struct kernel *k, ref call, struct name name, uint16_t from, unsigned pointers)
{
    const ref type = type_of_atomic(call, name), word = sonde__llvm.IntTypeInContext(k->context, 32);
    const uint32_t before = k->accesses;
    if (!add_atomic(k, call, pointers > 1 ? UNKNOWN : from, type ? type : word))
        return false;
    if (k->accesses > before && contains(name, "atomic_load"))
        k->access[before].writes = false;
    else if (k->accesses > before)
        k->at[before].if_equal = contains(name, "cmpxchg") || contains(name, "compare_exchange");
    return true;
}

static bool add_call(struct kernel *k, ref call)
{
    const ref called = sonde__llvm.GetCalledValue(call);
    const struct name name = sonde__llvm.IsAFunction(called) ? name_of(called) : (struct name){"", 0};
    unsigned pointers;
    if (k->spir && contains(name, "sub_group")) /* how large those are depends on the code */
        return false;
    const uint16_t from = reaches(k, call, &pointers);
    if (begins(name, "llvm.") || is_builtin(name)) {
        if (from == NOWHERE || contains(name, "prefetch") || begins(name, "llvm.lifetime") || begins(name, "llvm.assume"))
            return true;
        if (contains(name, "vload") && !contains(name, "half"))
            return add_vector(k, call, name, SONDE_ACCESS_LOAD, from);
        if (contains(name, "vstore") && !contains(name, "half"))
            return add_vector(k, call, name, SONDE_ACCESS_STORE, from);
        return contains(name, "atom") && add_atomic_call(k, call, name, from, pointers);
    }
    return begins(name, "pocl."); /* a barrier */
}

static bool add_instruction(struct kernel *k, ref i)
{
    switch (sonde__llvm.GetInstructionOpcode(i)) {
    case LOAD:
        return add_plain(k, i, SONDE_ACCESS_LOAD, sonde__llvm.GetOperand(i, 0), i);
    case STORE:
        return add_plain(k, i, SONDE_ACCESS_STORE, sonde__llvm.GetOperand(i, 1), sonde__llvm.GetOperand(i, 0));
    case COMPARE_EXCHANGE:
    case READ_MODIFY_WRITE:
        return add_atomic(k, i, origin(k, sonde__llvm.GetOperand(i, 0), DEPTH_MAX), sonde__llvm.TypeOf(sonde__llvm.GetOperand(i, 1)));
    case CALL:
        return add_call(k, i);
    default:
        return true;
    }
}

bool sonde__llvm_find(struct kernel *k)
{
    for (ref b = sonde__llvm.GetFirstBasicBlock(k->function); b; b = sonde__llvm.GetNextBasicBlock(b)) {
        const uint32_t before = k->accesses;
        for (ref i = sonde__llvm.GetFirstInstruction(b); i; i = sonde__llvm.GetNextInstruction(i))
            if (!add_instruction(k, i))
                return false;
        if (k->accesses > before)
            k->block[k->blocks++] = k->at[before].instruction;
    }
    return true;
}
