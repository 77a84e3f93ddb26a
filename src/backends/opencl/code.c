/* code.c - what the code of a kernel that is launched (enqueue->code) says of its arguments: which it reads and writes, in elements of
 * what size, and on which line of its source.
 */
#include "opencl.h"

#include <string.h>

#include "instrument/llvm.h"

enum sonde_engine sonde__cl_code_engine(const struct sonde_cl_enqueue *enqueue)
{
    const bool needs_none = enqueue->code && !enqueue->code->why && enqueue->code->needs_none;
    return enqueue->twin || needs_none ? SONDE_ENGINE_LLVM : SONDE_ENGINE_NONE;
}

bool sonde__cl_code_knows(const struct sonde_cl_enqueue *enqueue)
{
    return enqueue->code && !enqueue->code->writes_unknown;
}

bool sonde__cl_code_writes(const struct sonde_cl_enqueue *enqueue, uint32_t argument)
{
    return sonde__cl_code_element(enqueue, argument) != 0;
}

uint32_t sonde__cl_code_element(const struct sonde_cl_enqueue *enqueue, uint32_t argument)
{
    const struct sonde_llvm_kernel *code = enqueue->code;
    uint32_t bytes = 0;
    bool is_set = false;
    for (uint32_t s = 0; s < code->sets; s++)
        is_set |= code->set[s] == argument + 1;
    for (uint32_t k = 0; k < code->plan.accesses && is_set; k++)
        if (code->accesses[k].writes && (code->accesses[k].parameter == argument + 1 || code->accesses[k].several) && (!bytes || code->accesses[k].element_bytes < bytes))
            bytes = code->accesses[k].element_bytes;
    return bytes;
}

unsigned sonde__cl_code_how(const struct sonde_cl_enqueue *enqueue, uint32_t argument)
{
    const struct sonde_llvm_kernel *code = enqueue->code;
    unsigned how = 0;
    for (uint32_t k = 0; k < code->plan.accesses; k++) {
        const struct sonde_llvm_access *a = &code->accesses[k];
        const unsigned own = (a->what == SONDE_ACCESS_STORE ? 0 : SONDE_FLOW_READ) | (a->writes ? SONDE_FLOW_WRITE : 0);
        if (a->parameter == argument + 1)
            how |= own;
        else if (!a->parameter) /* perhaps */
            how |= own | SONDE_FLOW_MAYBE;
    }
    return how;
}

/* PoCL has the text of a program in a file of its own, which is gone and had another name each time; clang gets it as its input. */
uint32_t sonde__cl_code_file(const char *path)
{
    static const char source[] = "<source>";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (strncmp(base, "tempfile_", 9) == 0 || strcmp(base, "<stdin>") == 0)
        path = source;
    return sonde_string(path, strlen(path));
}

/* May the access be through the argument? */
static bool is_of(const struct sonde_llvm_access *a, uint32_t argument)
{
    return a->parameter == argument + 1 || !a->parameter;
}

/* On which line it writes the object, if lines are known. */
static void tell_line(const struct sonde_llvm_kernel *code, uint32_t operation, uint32_t argument, uint32_t object)
{
    const struct sonde_llvm_access *first = NULL;
    bool several = false, any = false;
    for (uint32_t k = 0; k < code->plan.accesses; k++) {
        const struct sonde_llvm_access *a = &code->accesses[k];
        if (!a->writes || !is_of(a, argument))
            continue;
        first = first ? first : a;
        any |= a->file && a->line;
        several |= a->line != first->line || !a->file != !first->file || (a->file && strcmp(a->file, first->file) != 0);
    }
    if (any)
        sonde_value_written(operation, object, several ? 0 : sonde__cl_code_file(first->file), several ? 0 : first->line);
}

static void tell_element(const struct sonde_llvm_kernel *code, uint32_t operation, uint32_t argument, uint32_t object)
{
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < code->plan.accesses; k++) {
        const struct sonde_llvm_access *a = &code->accesses[k];
        if (a->what == SONDE_ACCESS_LOAD && a->parameter == argument + 1 && (!bytes || a->element_bytes < bytes))
            bytes = a->element_bytes;
    }
    if (bytes)
        sonde_value_read(operation, object, bytes);
}

void sonde__cl_code_tell(const struct sonde_cl_enqueue *enqueue, uint32_t operation, uint32_t argument, uint32_t object, bool writes)
{
    if (writes)
        tell_line(enqueue->code, operation, argument, object);
    if (!sonde_values_wanted(SONDE_VALUES_FINE)) /* else each access has a row of its own */
        tell_element(enqueue->code, operation, argument, object);
}
