/* llvm.c - see llvm.h: the module is read, prepared, and written again. */
#include "llvm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sonde/error.h>
#include <sonde/kinds.h>

#include "guest/memory.h"
#include "llvm_guess.h"
#include "llvm_kernel.h"
#include "llvm_remote.h"

#define PARTS_LEAST 16u
#define PARTS_MOST  256u
#define MORE_MAX    (3 + 2 * SONDE_LLVM_SETS_MAX) /* parameters of ours */

struct llvm sonde__llvm;

bool sonde__llvm_open(void *library)
{
    struct llvm found;
#define X(type, name, parameters)                                                 \
    if (!(*(void **)&found.name = dlsym(library, "LLVM" #name)))                  \
        return false;
    LLVM_MAP(X)
#undef X
    sonde__llvm = found;
    return true;
}

/* ---- what a kernel says of its parameters -------------------------------------------------------------------- */

enum { POINTER,
       NUMBER,
       KINDS };
static const struct {
    const char *name;
    const char *ours[KINDS]; /* NULL: a number, the address space */
} lists[] = {
    /* one entry for each parameter */
    {"kernel_arg_addr_space", {NULL, NULL}},
    {"kernel_arg_access_qual", {"none", "none"}},
    {"kernel_arg_type", {"ulong*", "ulong"}},
    {"kernel_arg_base_type", {"ulong*", "ulong"}},
    {"kernel_arg_type_qual", {"", ""}},
    {"kernel_arg_name", {"sonde_memory", "sonde_count"}},
};
#define LISTS (sizeof lists / sizeof *lists)

/* How many parameters are ours, and what number `i` of them is: those of first_more, then marks and their number by turns. */
static uint32_t more_parameters(const struct sonde_llvm_kernel *out)
{
    return first_more(out) + 2 * out->sets;
}

static int kind_of_more(const struct sonde_llvm_kernel *out, uint32_t i)
{
    return (i < first_more(out) ? i < 2 : (i - first_more(out)) % 2 == 0) ? POINTER : NUMBER;
}

static unsigned kind_of(ref context, const char *name)
{
    return sonde__llvm.GetMDKindIDInContext(context, name, (unsigned)strlen(name));
}

/* The entries of a list; 0: there are too many. */
static unsigned entries_of(ref context, ref list, ref *entry)
{
    const ref value = sonde__llvm.MetadataAsValue(context, list);
    const unsigned count = sonde__llvm.GetMDNodeNumOperands(value);
    if (count > PARAMETERS_MAX)
        return 0;
    sonde__llvm.GetMDNodeOperands(value, entry);
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

/* "uint*", "uchar4*"; not a name that the program made. */
static bool is_unsigned(const char *type)
{
    static const char *const names[] = {"uchar", "ushort", "uint", "ulong"};
    const size_t length = strcspn(type, "0123456789*");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(type, names[i], length) == 0)
            return true;
    return false;
}

/* Integers of SPIR-V have no sign: they count as signed, but where the name of a type in OpenCL C was kept. */
static void learn_integers(struct kernel *k, uint32_t parameter, const char *type, bool is_name)
{
    uint8_t *integers = &k->integers[parameter];
    if (is_name ? is_unsigned(type) : *integers != SONDE_ELEMENT_UNSIGNED)
        *integers = is_name ? (uint8_t)SONDE_ELEMENT_UNSIGNED : integers_of(type);
}

static void learn_parameters(struct kernel *k)
{
    size_t count = 0;
    ref entry[PARAMETERS_MAX];
    const ref all = sonde__llvm.GlobalCopyAllMetadata(k->function, &count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned kind = sonde__llvm.ValueMetadataEntriesGetKind(all, i);
        const bool spaces = kind == kind_of(k->context, "kernel_arg_addr_space"), names = kind == kind_of(k->context, "kernel_arg_type");
        const bool types = names || kind == kind_of(k->context, "kernel_arg_base_type");
        const unsigned entries = spaces || types ? entries_of(k->context, sonde__llvm.ValueMetadataEntriesGetMetadata(all, i), entry) : 0;
        for (unsigned p = 0; p < entries && p < k->out->parameters; p++) {
            unsigned bytes = 0;
            const char *type = types && entry[p] ? sonde__llvm.GetMDString(entry[p], &bytes) : NULL;
            if (spaces && entry[p])
                k->space[p] = (uint8_t)sonde__llvm.ConstIntGetZExtValue(entry[p]);
            if (type && bytes)
                learn_integers(k, p, type, names);
        }
    }
    sonde__llvm.DisposeValueMetadataEntries(all);
}

/* The list with ours behind it. */
static ref longer(struct kernel *k, ref list, const char *const *ours)
{
    ref entry[PARAMETERS_MAX + MORE_MAX];
    unsigned count = entries_of(k->context, list, entry);
    for (unsigned i = 0; i < count; i++)
        entry[i] = entry[i] ? sonde__llvm.ValueAsMetadata(entry[i]) : NULL;
    for (uint32_t i = 0; i < more_parameters(k->out); i++) {
        const int kind = kind_of_more(k->out, i);
        const ref space = sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(k->context, 32), kind == POINTER, 0);
        entry[count++] = ours[kind] ? sonde__llvm.MDStringInContext2(k->context, ours[kind], strlen(ours[kind])) : sonde__llvm.ValueAsMetadata(space);
    }
    return sonde__llvm.MDNodeInContext2(k->context, entry, count);
}

static void copy_metadata(struct kernel *k, ref to)
{
    size_t count = 0;
    const ref all = sonde__llvm.GlobalCopyAllMetadata(k->function, &count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned kind = sonde__llvm.ValueMetadataEntriesGetKind(all, i);
        ref list = sonde__llvm.ValueMetadataEntriesGetMetadata(all, i);
        for (size_t l = 0; l < LISTS; l++)
            if (kind == kind_of(k->context, lists[l].name))
                list = longer(k, list, lists[l].ours);
        sonde__llvm.GlobalSetMetadata(to, kind, list);
    }
    sonde__llvm.DisposeValueMetadataEntries(all);
}

/* It writes now, whatever it did before. */
static bool still_holds(ref attribute)
{
    static const char *const gone[] = {"readonly", "readnone", "writeonly", "argmemonly", "inaccessiblememonly", "inaccessiblemem_or_argmemonly",
                                       "memory", "nosync"};
    for (size_t i = 0; sonde__llvm.IsEnumAttribute(attribute) && i < sizeof gone / sizeof *gone; i++) {
        const unsigned kind = sonde__llvm.GetEnumAttributeKindForName(gone[i], strlen(gone[i]));
        if (kind && kind == sonde__llvm.GetEnumAttributeKind(attribute))
            return false;
    }
    return true;
}

static void copy_attributes(ref from, ref to, unsigned index, bool all)
{
    ref attribute[128];
    const unsigned count = sonde__llvm.GetAttributeCountAtIndex(from, index);
    if (count > sizeof attribute / sizeof *attribute)
        return;
    sonde__llvm.GetAttributesAtIndex(from, index, attribute);
    for (unsigned i = 0; i < count; i++)
        if (all || still_holds(attribute[i]))
            sonde__llvm.AddAttributeAtIndex(to, index, attribute[i]);
}

/* Nobody else writes marks, or reads them: what the kernel does may be done for several work-items at once, as it is without. */
static void set_apart(struct kernel *k, ref function)
{
    const ref apart = sonde__llvm.CreateEnumAttribute(k->context, sonde__llvm.GetEnumAttributeKindForName("noalias", 7), 0);
    for (uint32_t s = 0; s < k->out->sets; s++)
        sonde__llvm.AddAttributeAtIndex(function, k->out->parameters + first_more(k->out) + 2 * s + 1, apart);
}

/* As many work-items at once as without what is put in: mathematical functions may round otherwise for another number of lanes. A runtime
 * that makes vectors of work-items is told so as the size of sub-groups (cl_intel_required_subgroup_size). */
static void set_lanes(struct kernel *k, ref function)
{
    static const char name[] = "intel_reqd_sub_group_size";
    ref lanes = sonde__llvm.ValueAsMetadata(sonde__llvm.ConstInt(sonde__llvm.IntTypeInContext(k->context, 32), k->out->lanes, 0));
    if (k->out->lanes)
        sonde__llvm.GlobalSetMetadata(function, kind_of(k->context, name), sonde__llvm.MDNodeInContext2(k->context, &lanes, 1));
}

/* The kernel with its parameters more, by its own name; the old one is gone. */
static void widen(struct kernel *k)
{
    const ref old = k->function, type = sonde__llvm.GlobalGetValueType(old);
    const uint32_t count = k->out->parameters, more = more_parameters(k->out);
    ref types[PARAMETERS_MAX + MORE_MAX], pointer = sonde__llvm.PointerType(sonde__llvm.IntTypeInContext(k->context, 8), k->spir);
    sonde__llvm.GetParamTypes(type, types);
    for (uint32_t i = 0; i < count; i++) /* where spaces are kept apart, ours are where its buffers are */
        if (k->space[i] == 1)
            pointer = types[i];
    for (uint32_t i = 0; i < more; i++)
        types[count + i] = kind_of_more(k->out, i) == POINTER ? pointer : sonde__llvm.IntTypeInContext(k->context, 64);
    const ref fresh = sonde__llvm.AddFunction(k->module, "sonde_copy", sonde__llvm.FunctionType(sonde__llvm.GetReturnType(type), types, count + more, 0));
    sonde__llvm.SetFunctionCallConv(fresh, sonde__llvm.GetFunctionCallConv(old));
    sonde__llvm.SetLinkage(fresh, sonde__llvm.GetLinkage(old));
    copy_attributes(old, fresh, (unsigned)FUNCTION, false);
    copy_metadata(k, fresh);
    set_lanes(k, fresh);
    for (ref b = sonde__llvm.GetFirstBasicBlock(old), next; b; b = next) {
        next = sonde__llvm.GetNextBasicBlock(b);
        sonde__llvm.RemoveBasicBlockFromParent(b);
        sonde__llvm.AppendExistingBasicBlock(fresh, b);
    }
    for (uint32_t i = 0; i < count; i++) {
        copy_attributes(old, fresh, i + 1, true);
        sonde__llvm.ReplaceAllUsesWith(sonde__llvm.GetParam(old, i), sonde__llvm.GetParam(fresh, i));
    }
    sonde__llvm.DeleteFunction(old);
    set_apart(k, fresh);
    sonde__llvm.SetValueName2(fresh, k->out->name, strlen(k->out->name));
    k->function = fresh;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

/* False: there are too many. */
static bool add_set(struct sonde_llvm_kernel *out, uint16_t parameter)
{
    for (uint32_t s = 0; s < out->sets; s++)
        if (out->set[s] == parameter)
            return true;
    if (out->sets == SONDE_LLVM_SETS_MAX)
        return false;
    out->set[out->sets++] = parameter;
    return true;
}

static bool add_sets(struct kernel *k, const struct sonde_llvm_access *a)
{
    bool all = !a->several ? a->parameter && add_set(k->out, a->parameter) : true;
    for (uint16_t p = 0; a->several && p < k->out->parameters; p++)
        all = all && (k->space[p] != 1 || add_set(k->out, p + 1));
    return all;
}

/* The parameters through which it writes, and the largest size of which all that it writes there are multiples. */
static void find_sets(struct kernel *k)
{
    struct sonde_llvm_kernel *out = k->out;
    out->grain = sizeof(uint64_t);
    for (uint32_t i = 0; i < k->accesses; i++) {
        const struct sonde_llvm_access *a = &k->access[i];
        if (!a->writes)
            continue;
        if (!add_sets(k, a))
            out->writes_unknown = true;
        while (out->grain > k->at[i].grain)
            out->grain /= 2;
    }
    if (out->writes_unknown || !(out->plan.what & SONDE_PLAN_SETS))
        out->sets = 0;
}

/* What there is to know of it. NONE: it can be instrumented, or needs not be. */
static enum sonde_value_missed look(struct kernel *k)
{
    if (k->out->parameters > PARAMETERS_MAX)
        return SONDE_VALUE_MISSED_ARGUMENTS;
    if (sonde__llvm.GetFirstUse(k->function)) /* other functions call it */
        return SONDE_VALUE_MISSED_PLAIN;
    learn_parameters(k);
    if (!sonde__llvm_find(k))
        return SONDE_VALUE_MISSED_PLAIN;
    k->out->accesses = sonde__memory_get((k->accesses + 1) * sizeof *k->access);
    if (!k->out->accesses)
        return SONDE_VALUE_MISSED_MEMORY;
    memcpy(k->out->accesses, k->access, k->accesses * sizeof *k->access);
    k->out->plan.blocks = k->blocks;
    k->out->plan.accesses = k->accesses;
    k->out->plan.checked = k->out->plan.what & SONDE_PLAN_REMOTE ? k->accesses : 0;
    find_sets(k);
    const bool nothing_asked = k->accesses && !more_parameters(k->out); /* of where it writes, if that is not known */
    k->out->needs_none = !k->accesses || (nothing_asked && !k->out->writes_unknown);
    return nothing_asked && k->out->writes_unknown ? SONDE_VALUE_MISSED_PLAIN : SONDE_VALUE_MISSED_NONE;
}

static enum sonde_value_missed instrument(struct kernel *k)
{
    if (!k->spir && !sonde__llvm_may_grow(k))
        return SONDE_VALUE_MISSED_BARRIER;
    widen(k);
    return sonde__llvm_put(k) ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_MEMORY;
}

/* ---- modules ---------------------------------------------------------------------------------------------------- */

static bool is_kernel(ref f)
{
    return !sonde__llvm.IsDeclaration(f) && sonde__llvm.GetFunctionCallConv(f) == KERNEL_CONVENTION;
}

/* What only the library's bodies called, with a name of its own (Sleef_logf_u10): where it is there, the runtime does not link it again. */
static void remove_unused(ref module)
{
    for (bool any = true; any;) {
        any = false;
        for (ref f = sonde__llvm.GetFirstFunction(module), next; f; f = next) {
            next = sonde__llvm.GetNextFunction(f);
            if (sonde__llvm.IsDeclaration(f) || is_kernel(f) || sonde__llvm.GetFirstUse(f))
                continue;
            sonde__llvm.DeleteFunction(f);
            any = true;
        }
    }
}

/* The runtime links its library to what has no body. */
static void remove_builtins(ref module)
{
    for (ref f = sonde__llvm.GetFirstFunction(module), next; f; f = next) {
        char name[512];
        const struct name n = name_of(f);
        next = sonde__llvm.GetNextFunction(f);
        if (sonde__llvm.IsDeclaration(f) || !is_builtin(n) || n.bytes >= sizeof name)
            continue;
        memcpy(name, n.text, n.bytes);
        name[n.bytes] = 0;
        sonde__llvm.SetValueName2(f, "", 0);
        const ref fresh = sonde__llvm.AddFunction(module, name, sonde__llvm.GlobalGetValueType(f));
        sonde__llvm.SetFunctionCallConv(fresh, sonde__llvm.GetFunctionCallConv(f));
        sonde__llvm.ReplaceAllUsesWith(f, fresh);
        sonde__llvm.DeleteFunction(f);
    }
    remove_unused(module);
}

static void drop_attribute(ref function, const char *name)
{
    sonde__llvm.RemoveEnumAttributeAtIndex(function, (unsigned)FUNCTION, sonde__llvm.GetEnumAttributeKindForName(name, strlen(name)));
}

/* Of its calls. */
static void drop_at_calls(ref function, const char *name)
{
    const unsigned kind = sonde__llvm.GetEnumAttributeKindForName(name, strlen(name));
    for (ref b = sonde__llvm.GetFirstBasicBlock(function); b; b = sonde__llvm.GetNextBasicBlock(b))
        for (ref i = sonde__llvm.GetFirstInstruction(b); i; i = sonde__llvm.GetNextInstruction(i))
            if (sonde__llvm.GetInstructionOpcode(i) == CALL)
                sonde__llvm.RemoveCallSiteEnumAttribute(i, (unsigned)FUNCTION, kind);
}

/* Functions of the program become part of the kernels that call them, and variables registers, so that it is seen where pointers come
 * from. Neither changes what is computed. */
static void prepare(ref context, ref module)
{
    const unsigned always = sonde__llvm.GetEnumAttributeKindForName("alwaysinline", 12);
    for (ref f = sonde__llvm.GetFirstFunction(module); f; f = sonde__llvm.GetNextFunction(f)) {
        if (sonde__llvm.IsDeclaration(f))
            continue;
        drop_attribute(f, "optnone");
        drop_at_calls(f, "noinline"); /* llvm-spirv has it there, too */
        if (is_kernel(f))
            continue;
        drop_attribute(f, "noinline");
        sonde__llvm.AddAttributeAtIndex(f, (unsigned)FUNCTION, sonde__llvm.CreateEnumAttribute(context, always, 0));
    }
    const ref options = sonde__llvm.CreatePassBuilderOptions();
    const ref error = sonde__llvm.RunPasses(module, "always-inline,function(mem2reg)", NULL, options);
    if (error)
        sonde__llvm.ConsumeError(error);
    sonde__llvm.DisposePassBuilderOptions(options);
}

static uint32_t list_kernels(ref module, ref *list, uint32_t most)
{
    uint32_t count = 0;
    for (ref f = sonde__llvm.GetFirstFunction(module); f; f = sonde__llvm.GetNextFunction(f))
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

static bool describe(struct sonde_llvm_kernel *out, ref function, uint32_t what, const struct sonde_llvm_lanes *lanes)
{
    const struct name n = name_of(function);
    out->name = sonde__memory_get(n.bytes + 1);
    if (!out->name)
        return false;
    memcpy(out->name, n.text, n.bytes);
    out->name[n.bytes] = 0;
    out->parameters = sonde__llvm.CountParams(function);
    out->parts = parts();
    out->plan.what = what;
    for (uint32_t i = 0; lanes && i < lanes->count; i++)
        if (strcmp(lanes->of[i].name, out->name) == 0)
            out->lanes = lanes->of[i].count;
    return true;
}

/* `text` behind the first `length` of `all`, with `pointer` for its PTRs; how much there is then, at most `most`. */
static size_t add_text(char *all, size_t length, size_t most, const char *text, const char *pointer)
{
    for (const char *at = text, *next; length < most && *at; at = next + 3) {
        next = strstr(at, "PTR");
        length += (size_t)snprintf(all + length, most - length, "%.*s%s", next ? (int)(next - at) : INT_MAX, at, next ? pointer : "");
        if (!next)
            break;
    }
    return length < most ? length : most;
}

/* Those that what is put in calls. */
static int add_functions(ref context, ref module, bool spir, uint32_t what)
{
#define TEXTS(name) name, sizeof name / sizeof *name
    enum { TEXT_MAX = 65536 };
    const bool cells = what & SONDE_PLAN_CELLS;
    const struct {
        bool wanted;
        const char *const *texts;
        size_t count;
    } every[] = {
        {what & SONDE_PLAN_VALUES && !spir, TEXTS(llvm_alone_texts)},
        {what & (SONDE_PLAN_VALUES | SONDE_PLAN_REMOTE) && spir, TEXTS(llvm_group_part_texts)},
        {what & SONDE_PLAN_VALUES && spir, TEXTS(llvm_together_texts)},
        {what & SONDE_PLAN_VALUES, TEXTS(llvm_guess_texts)},
        {what & SONDE_PLAN_SETS, TEXTS(llvm_mark_texts)},
        {what & SONDE_PLAN_REMOTE && !cells && !spir, TEXTS(llvm_remote_texts)},
        {what & SONDE_PLAN_REMOTE && !cells && spir, TEXTS(llvm_spir_remote_texts)},
        {cells && !spir, TEXTS(llvm_cells_texts)},
        {cells && spir, TEXTS(llvm_spir_cells_texts)},
        {what & SONDE_PLAN_BLOCKS && !spir, TEXTS(llvm_choice_texts)},
        {what & SONDE_PLAN_BLOCKS && spir, TEXTS(llvm_spir_choice_texts)},
    };
#undef TEXTS
    char *all = sonde__pages_get(TEXT_MAX), *why = NULL;
    size_t length = 0;
    for (size_t l = 0; all && l < sizeof every / sizeof *every; l++)
        for (size_t i = 0; every[l].wanted && i < every[l].count; i++)
            length = add_text(all, length, TEXT_MAX, every[l].texts[i], spir ? "ptr addrspace(1)" : "ptr");
    if (!all)
        return SONDE_ENOMEM;
    const ref text = sonde__llvm.CreateMemoryBufferWithMemoryRangeCopy(all, length, "");
    sonde__pages_put(all, TEXT_MAX);
    ref ours = NULL;
    int failed = sonde__llvm.ParseIRInContext(context, text, &ours, &why); /* the text is gone */
    if (why)
        sonde__llvm.DisposeMessage(why);
    failed = failed || sonde__llvm.LinkModules2(module, ours); /* ours is gone */
    for (ref f = sonde__llvm.GetFirstFunction(module); f && !failed; f = sonde__llvm.GetNextFunction(f))
        if (begins(name_of(f), "sonde_"))
            sonde__llvm.SetLinkage(f, INTERNAL);
    return failed ? SONDE_EFORMAT : 0;
}

static bool is_spir(ref module)
{
    return strncmp(sonde__llvm.GetTarget(module), "spir", 4) == 0;
}

/* ---- kernels as they are, for work-groups that are not looked at ---------------------------------------------- */

#define PLAIN "sonde_plain_"

struct linkages { /* that variables had, which are open to another module meanwhile; by name, since linking may put others in their places */
    size_t bytes, used;
    char *each; /* of each an int and its name with the NUL, one behind the other */
};

static size_t bytes_of_names(ref module)
{
    size_t bytes = 1;
    for (ref v = sonde__llvm.GetFirstGlobal(module); v; v = sonde__llvm.GetNextGlobal(v))
        bytes += name_of(v).bytes + 1 + sizeof(int);
    return bytes;
}

/* A second module's variables are the first one's, but for constants that nobody else sees. */
static void share_variables(ref module, ref copy, struct linkages *l)
{
    for (ref v = sonde__llvm.GetFirstGlobal(copy); v; v = sonde__llvm.GetNextGlobal(v)) {
        const struct name n = name_of(v);
        const int kind = sonde__llvm.GetLinkage(v);
        const ref own = n.bytes ? sonde__llvm.GetNamedGlobal(module, n.text) : NULL;
        if (!own || (sonde__llvm.IsGlobalConstant(v) && (kind == INTERNAL || kind == PRIVATE)))
            continue;
        if (kind == INTERNAL || kind == PRIVATE) {
            memcpy(l->each + l->used, &kind, sizeof kind);
            memcpy(l->each + l->used + sizeof kind, n.text, n.bytes + 1);
            l->used += sizeof kind + n.bytes + 1;
            sonde__llvm.SetLinkage(own, EXTERNAL);
        }
        sonde__llvm.SetLinkage(v, EXTERNAL);
        sonde__llvm.SetInitializer(v, NULL);
    }
}

static void restore_variables(ref module, const struct linkages *l)
{
    for (size_t at = 0; at < l->used; at += sizeof(int) + strlen(l->each + at + sizeof(int)) + 1) {
        int kind;
        memcpy(&kind, l->each + at, sizeof kind);
        const ref v = sonde__llvm.GetNamedGlobal(module, l->each + at + sizeof kind);
        if (v)
            sonde__llvm.SetLinkage(v, kind);
    }
}

/* Kernels become functions of other names; other functions are part of them (prepare). */
static void rename_kernels(ref context, ref copy, bool spir)
{
    const unsigned always = sonde__llvm.GetEnumAttributeKindForName("alwaysinline", 12);
    for (ref f = sonde__llvm.GetFirstFunction(copy), next; f; f = next) {
        char name[512];
        const struct name n = name_of(f);
        next = sonde__llvm.GetNextFunction(f);
        if (sonde__llvm.IsDeclaration(f))
            continue;
        if (!is_kernel(f) && !sonde__llvm.GetFirstUse(f))
            sonde__llvm.DeleteFunction(f);
        if (!is_kernel(f))
            continue;
        const int length = snprintf(name, sizeof name, PLAIN "%.*s", (int)n.bytes, n.text);
        sonde__llvm.SetValueName2(f, name, (size_t)length < sizeof name ? (size_t)length : sizeof name - 1);
        sonde__llvm.SetFunctionCallConv(f, spir ? SPIR_CONVENTION : C_CONVENTION);
        sonde__llvm.GlobalClearMetadata(f);
        drop_attribute(f, "noinline");
        sonde__llvm.AddAttributeAtIndex(f, (unsigned)FUNCTION, sonde__llvm.CreateEnumAttribute(context, always, 0));
    }
}

/* False: there is none, all are looked at. */
static bool add_plain(ref context, ref module, bool spir)
{
    struct linkages l = {.bytes = bytes_of_names(module)};
    const ref buffer = sonde__llvm.WriteBitcodeToMemoryBuffer(module);
    ref copy = NULL;
    l.each = sonde__pages_get(l.bytes);
    bool done = l.each && !sonde__llvm.ParseBitcodeInContext2(context, buffer, &copy);
    if (done) {
        share_variables(module, copy, &l);
        rename_kernels(context, copy, spir);
        done = !sonde__llvm.LinkModules2(module, copy); /* the copy is gone */
        restore_variables(module, &l);
    }
    sonde__llvm.DisposeMemoryBuffer(buffer);
    if (l.each)
        sonde__pages_put(l.each, l.bytes);
    return done;
}

static ref plain_of(ref module, const char *kernel)
{
    char name[512];
    const int length = snprintf(name, sizeof name, PLAIN "%s", kernel);
    return (size_t)length < sizeof name ? sonde__llvm.GetNamedFunction(module, name) : NULL;
}

static void put_inline(ref module)
{
    const ref options = sonde__llvm.CreatePassBuilderOptions();
    const ref error = sonde__llvm.RunPasses(module, "always-inline", NULL, options);
    if (error)
        sonde__llvm.ConsumeError(error);
    sonde__llvm.DisposePassBuilderOptions(options);
}

static int rewrite(ref context, ref module, uint32_t what, uint32_t every, const struct sonde_llvm_lanes *lanes, struct sonde_llvm_module *out)
{
    enum { KERNELS_MAX = 1024 };
    ref list[KERNELS_MAX];
    struct kernel *k = sonde__pages_get(sizeof *k);
    char *why = NULL;
    int rc = k ? 0 : SONDE_ENOMEM;
    const bool spir = is_spir(module);
    if (!spir) /* there they have no bodies: one that has is the program's own */
        remove_builtins(module);
    prepare(context, module);
    const bool some = every > 1 && what & SONDE_PLAN_VALUES && !(what & SONDE_PLAN_SETS) && !rc && add_plain(context, module, spir);
    what |= some ? SONDE_PLAN_BLOCKS : 0u;
    rc = rc ? rc : add_functions(context, module, spir, what);
    out->count = list_kernels(module, list, KERNELS_MAX);
    out->kernels = sonde__memory_get((out->count + 1) * sizeof *out->kernels);
    rc = out->kernels ? rc : SONDE_ENOMEM;
    for (uint32_t i = 0; i < out->count && !rc; i++) {
        memset(k, 0, sizeof *k);
        k->context = context;
        k->module = module;
        k->spir = spir;
        k->function = list[i];
        k->out = &out->kernels[i];
        if (!describe(k->out, list[i], what, lanes)) {
            rc = SONDE_ENOMEM;
            continue;
        }
        k->out->together = spir;
        k->plain = some ? plain_of(module, k->out->name) : NULL;
        k->out->every = k->plain ? every : 0;
        k->out->why = look(k);
        if (!k->out->why && !k->out->needs_none)
            k->out->why = instrument(k);
    }
    if (some)
        put_inline(module);
    sonde__llvm.StripModuleDebugInfo(module);
    if (k)
        sonde__pages_put(k, sizeof *k);
    if (!rc && sonde__llvm.VerifyModule(module, RETURN_STATUS, &why))
        rc = SONDE_EFORMAT;
    if (why)
        sonde__llvm.DisposeMessage(why);
    return rc;
}

static int write_out(ref module, struct sonde_llvm_module *out)
{
    const ref buffer = sonde__llvm.WriteBitcodeToMemoryBuffer(module);
    out->bytes = sonde__llvm.GetBufferSize(buffer);
    out->bitcode = sonde__pages_get(out->bytes);
    if (out->bitcode)
        memcpy(out->bitcode, sonde__llvm.GetBufferStart(buffer), out->bytes);
    sonde__llvm.DisposeMemoryBuffer(buffer);
    return out->bitcode ? 0 : SONDE_ENOMEM;
}

/* LLVM's own ends the process. */
static void ignore(ref said, void *user)
{
    (void)said;
    (void)user;
}

/* What PoCL makes of a program with debug information (-g) is wrong where it has linked its library, and nobody asks whether it is while it is
 * linked to another module, function by function. The parser does, and tells the program's standard error: of a version that LLVM does not
 * know it drops the information unseen. The name of the version stands in the bitcode as text. */
static char *debug_version(char *bitcode, size_t bytes)
{
    static const char name[] = "Debug Info Version";
    return memmem(bitcode, bytes, name, sizeof name - 1);
}

/* NULL: it cannot be. */
static ref read_with_lines(ref context, const char *bitcode, size_t bytes)
{
    const ref buffer = sonde__llvm.CreateMemoryBufferWithMemoryRangeCopy(bitcode, bytes, "");
    ref lazy = NULL;
    if (sonde__llvm.GetBitcodeModuleInContext2(context, buffer, &lazy)) {
        sonde__llvm.DisposeMemoryBuffer(buffer);
        return NULL;
    }
    const ref module = sonde__llvm.ModuleCreateWithNameInContext("", context);
    sonde__llvm.SetTarget(module, sonde__llvm.GetTarget(lazy));
    sonde__llvm.SetDataLayout(module, sonde__llvm.GetDataLayoutStr(lazy));
    if (!sonde__llvm.LinkModules2(module, lazy)) /* it is gone, and the buffer */
        return module;
    sonde__llvm.DisposeModule(module);
    return NULL;
}

static ref read_without(ref context, ref buffer)
{
    ref module = NULL;
    return sonde__llvm.ParseBitcodeInContext2(context, buffer, &module) ? NULL : module;
}

int sonde__llvm_rewrite(void *bitcode, size_t bytes, uint32_t what, uint32_t every, const struct sonde_llvm_lanes *lanes, struct sonde_llvm_module *out)
{
    const ref context = sonde__llvm.ContextCreate();
    char *version = debug_version(bitcode, bytes);
    sonde__llvm.PointerType(sonde__llvm.IntTypeInContext(context, 8), 0); /* in LLVM 15, too, pointers have no types, whatever those that it reads have */
    *out = (struct sonde_llvm_module){0};
    sonde__llvm.ContextSetDiagnosticHandler(context, ignore, NULL);
    ref module = version ? read_with_lines(context, bitcode, bytes) : NULL;
    if (version)
        *version = 'd';
    const ref buffer = sonde__llvm.CreateMemoryBufferWithMemoryRange(bitcode, bytes, "", 0);
    if (!module)
        module = read_without(context, buffer);
    int rc = module ? rewrite(context, module, what, every, lanes, out) : SONDE_EFORMAT;
    rc = rc ? rc : write_out(module, out);
    if (rc)
        out->count = 0; /* some may have no names */
    if (module)
        sonde__llvm.DisposeModule(module);
    sonde__llvm.DisposeMemoryBuffer(buffer);
    sonde__llvm.ContextDispose(context);
    return rc;
}
