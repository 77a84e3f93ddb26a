/* il.c - see il.h. */
#include "il.h"

#include <string.h>

#include "guest/lock.h"
#include "guest/map.h"
#include "guest/memory.h"
#include "instrument/spirv.h"

struct constant {
    struct constant *next; /* of the same program. They are never taken out */
    uint32_t number;
    struct value {
        bool is; /* else it is as the SPIR-V has it */
        uint8_t bytes;
        uint64_t bits;
    } set, built; /* by the program; when it was built */
};

struct program { /* of a handle */
    bool built, changed; /* changed: it was built again, with other constants */
    struct constant *constants;
};

static struct sonde_lock lock;           /* of all programs */
static struct sonde_shared_map programs; /* -> struct program */
static bool lost;                        /* there was no memory for something of them */

/* NULL: it is not known. */
static struct program *program_of(cl_program handle)
{
    uint64_t known = 0;
    sonde__shared_map_get(&programs, (uintptr_t)handle, &known);
    return (struct program *)(uintptr_t)known;
}

/* NULL: no memory. */
static struct program *program_made(cl_program handle)
{
    struct program *p = program_of(handle);
    if (p || !(p = sonde__memory_get(sizeof *p)))
        return p;
    return sonde__shared_map_put(&programs, (uintptr_t)handle, (uintptr_t)p) ? p : NULL;
}

void sonde__cl_il_made(cl_program handle)
{
    if (!sonde__cl_twins_wanted())
        return;
    sonde__lock(&lock);
    struct program *p = program_made(handle);
    lost |= !p;
    if (p)
        p->built = p->changed = false;
    for (struct constant *c = p ? p->constants : NULL; c; c = c->next)
        c->set = c->built = (struct value){0};
    sonde__unlock(&lock);
}

void sonde__cl_il_building(cl_program handle)
{
    sonde__lock(&lock);
    struct program *p = program_of(handle);
    for (struct constant *c = p ? p->constants : NULL; c; c = c->next) {
        p->changed |= p->built && (c->set.is != c->built.is || c->set.bits != c->built.bits);
        c->built = c->set;
    }
    if (p)
        p->built = true;
    sonde__unlock(&lock);
}

/* Under the lock. NULL: no memory. */
static struct constant *constant_of(struct program *p, uint32_t number)
{
    struct constant *c = p ? p->constants : NULL;
    while (c && c->number != number)
        c = c->next;
    if (c || !p || !(c = sonde__memory_get(sizeof *c)))
        return c;
    c->number = number;
    c->next = p->constants;
    return p->constants = c;
}

cl_int CL_API_CALL sonde__clSetProgramSpecializationConstant(cl_program handle, cl_uint number, size_t bytes, const void *value)
{
    const cl_int status = sonde__cl_target(handle)->clSetProgramSpecializationConstant(handle, number, bytes, value);
    if (status != CL_SUCCESS || !sonde__cl_twins_wanted())
        return status;
    sonde__lock(&lock);
    struct constant *c = bytes <= sizeof c->set.bits ? constant_of(program_of(handle), number) : NULL;
    lost |= !c;
    if (c) {
        c->set = (struct value){.is = true, .bytes = (uint8_t)bytes};
        memcpy(&c->set.bits, value, bytes);
    }
    sonde__unlock(&lock);
    return status;
}

static enum sonde_value_missed specialize(cl_program handle, void *il, size_t bytes)
{
    bool all = true;
    sonde__lock(&lock);
    const struct program *p = program_of(handle);
    const bool known = p && !p->changed && !lost;
    for (const struct constant *c = known ? p->constants : NULL; c && all; c = c->next)
        all = !c->built.is || sonde__spirv_specialize(il, bytes, c->number, c->built.bits, c->built.bytes);
    sonde__unlock(&lock);
    return !known ? SONDE_VALUE_MISSED_BITCODE : (all ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_TRANSLATE);
}

enum sonde_value_missed sonde__cl_il_translate(cl_program program, void *il, size_t bytes, struct sonde_child_made *out)
{
    const enum sonde_value_missed why = sonde__spirv_open() ? specialize(program, il, bytes) : SONDE_VALUE_MISSED_SPIRV;
    if (why)
        return why;
    return sonde__spirv_translate(il, bytes, out) ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_TRANSLATE;
}
