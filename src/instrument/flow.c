/* flow.c - see flow.h. */
#include "flow.h"

#include <stdbool.h>
#include <string.h>

#include <sonde/error.h>

#include "guest/memory.h"
#include "statement.h"

#define PARAMETERS_MAX 256u /* of which names are kept */
#define PASSES_MAX 64u
#define WORD_BYTES 8u       /* of an address */

/* Where a register's value comes from: nowhere that matters (an index, a constant), a parameter, or several. */
typedef uint32_t origin; /* parameter << 16 | offset */
#define NOWHERE 0u
#define SEVERAL UINT32_MAX
#define VARIABLE ((uint32_t)SONDE_PTX_OF_VARIABLE << 16)
#define COMPILER ((uint32_t)SONDE_PTX_OF_COMPILER << 16)
#define OTHER ((SONDE_PTX_OF_COMPILER - 1u) << 16) /* shared or local memory, as a generic address */
#define MIXED (SEVERAL - 1)                        /* that, or something else */

struct slot {
    struct sonde_ptx_span name;
    origin from;
};

struct flow {
    const struct sonde_ptx *p;
    const struct sonde_ptx_variables *variables;
    struct sonde_ptx_span parameter[PARAMETERS_MAX];
    uint32_t parameters;
    struct slot *slots; /* of registers that come from somewhere */
    uint32_t mask;
    size_t room;
    bool changed;
};

/* ---- registers --------------------------------------------------------------------------------- */

static bool same(const struct sonde_ptx *p, struct sonde_ptx_span a, struct sonde_ptx_span b)
{
    return a.bytes == b.bytes && memcmp(p->text + a.at, p->text + b.at, a.bytes) == 0;
}

/* The slot of this name, or the empty one where it would be. There are more slots than statements. */
static struct slot *slot_of(const struct flow *f, struct sonde_ptx_span name)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < name.bytes; i++)
        hash = (hash ^ (unsigned char)f->p->text[name.at + i]) * 16777619u;
    uint32_t at = hash & f->mask;
    while (f->slots[at].name.bytes && !same(f->p, f->slots[at].name, name))
        at = (at + 1) & f->mask;
    return &f->slots[at];
}

static bool is_elsewhere(origin o)
{
    return o == OTHER || o == MIXED;
}

static origin several(origin a, origin b)
{
    return is_elsewhere(a) || is_elsewhere(b) ? MIXED : SEVERAL;
}

static origin join(origin a, origin b)
{
    return a == NOWHERE || a == b ? b : (b == NOWHERE ? a : several(a, b));
}

static void flows(struct flow *f, struct sonde_ptx_span to, origin from)
{
    if (from == NOWHERE || !to.bytes || f->p->text[to.at] != '%')
        return;
    struct slot *s = slot_of(f, to);
    const origin all = join(s->from, from);
    f->changed |= all != s->from;
    *s = (struct slot){to, all};
}

/* Of an operand: a register, a constant, a name. */
static origin of(const struct flow *f, struct sonde_ptx_span s)
{
    const char c = s.bytes ? f->p->text[s.at] : '0';
    if (c == '%')
        return slot_of(f, s)->from;
    if (sonde__ptx_variable(f->p, f->variables, s))
        return VARIABLE;
    if (sonde__ptx_is_compilers(f->p, s))
        return COMPILER;
    return (c >= '0' && c <= '9') || c == '-' ? NOWHERE : SEVERAL;
}

/* ---- parameters ---------------------------------------------------------------------------------- */

/* ".param .u64 .ptr .align 1 NAME_param_0, .param .align 8 .b8 NAME_param_1[24]": the names. */
static void read_parameters(struct flow *f, const struct sonde_ptx_function *function)
{
    const struct sonde_ptx_span head = f->p->items[function->head].text;
    struct span_reader r = {f->p->text + function->name.at + function->name.bytes, f->p->text + head.at + head.bytes};
    struct sonde_ptx_span last = {0};
    bool done = false;
    if (!sonde__ptx_char(&r, '('))
        return;
    for (bool sized = false; !done && r.at < r.end;) {
        const struct sonde_ptx_span word = sonde__ptx_word(f->p, &r);
        if (word.bytes) {
            last = sized ? last : word;
            continue;
        }
        sized |= *r.at == '[';
        done = *r.at == ')';
        if ((*r.at == ',' || done) && last.bytes) {
            if (f->parameters < PARAMETERS_MAX)
                f->parameter[f->parameters] = last;
            f->parameters++;
            last.bytes = 0;
            sized = false;
        }
        r.at++;
    }
}

struct sonde_ptx_span sonde__ptx_parameter(const struct sonde_ptx *p, const struct sonde_ptx_function *f, uint32_t number)
{
    struct flow flow = {.p = p};
    read_parameters(&flow, f);
    return number && number <= flow.parameters && number <= PARAMETERS_MAX ? flow.parameter[number - 1] : (struct sonde_ptx_span){0};
}

/* "[NAME]", "[NAME+8]". */
static origin of_parameter(const struct flow *f, struct span_reader r)
{
    uint32_t offset = 0;
    if (!sonde__ptx_char(&r, '['))
        return SEVERAL;
    const struct sonde_ptx_span name = sonde__ptx_word(f->p, &r);
    if (sonde__ptx_char(&r, '+')) {
        const struct sonde_ptx_span digits = sonde__ptx_word(f->p, &r);
        for (uint32_t i = 0; i < digits.bytes && offset <= UINT16_MAX; i++)
            offset = 10 * offset + (uint32_t)(f->p->text[digits.at + i] - '0');
    }
    for (uint32_t k = 0; k < f->parameters && k < PARAMETERS_MAX; k++)
        if (same(f->p, f->parameter[k], name) && offset <= UINT16_MAX && sonde__ptx_char(&r, ']'))
            return (k + 1) << 16 | offset;
    return SEVERAL;
}

/* ---- statements ------------------------------------------------------------------------------------ */

#define OPERANDS_MAX 5u

/* Is the last type 64 bits wide? */
static bool is_wide(const struct flow *f, const struct instruction *i)
{
    const struct sonde_ptx_span m = i->modifiers ? i->modifier[i->modifiers - 1] : (struct sonde_ptx_span){0};
    return m.bytes >= 3 && memcmp(f->p->text + m.at + m.bytes - 2, "64", 2) == 0;
}

static bool has(const struct flow *f, const struct instruction *i, const char *word)
{
    for (uint32_t m = 0; m < i->modifiers; m++)
        if (sonde__ptx_is(f->p, i->modifier[m], word))
            return true;
    return false;
}

/* A register, or several in braces, each of a word. */
static void load(struct flow *f, struct instruction *i)
{
    const struct sonde_ptx_span to = sonde__ptx_operand(f->p, &i->operands);
    sonde__ptx_char(&i->operands, ',');
    const origin from = has(f, i, "param") ? of_parameter(f, i->operands) : SEVERAL;
    struct span_reader r = sonde__ptx_reader(f->p, to);
    const bool many = sonde__ptx_char(&r, '{');
    for (uint32_t k = 0; r.at < r.end; k++) {
        const struct sonde_ptx_span name = sonde__ptx_word(f->p, &r);
        if (name.bytes)
            flows(f, name, from == SEVERAL ? SEVERAL : from + k * WORD_BYTES);
        if (!many || !sonde__ptx_char(&r, ','))
            break;
    }
}

/* Of what is computed from operands 1 to `count` - 1. */
static origin computed(const struct flow *f, const struct instruction *i, const struct sonde_ptx_span *operand, uint32_t count)
{
    const origin a = count > 1 ? of(f, operand[1]) : NOWHERE, b = count > 2 ? of(f, operand[2]) : NOWHERE;
    if (sonde__ptx_is(f->p, i->name, "cvta") && !has(f, i, "to") && (has(f, i, "shared") || has(f, i, "local")))
        return OTHER;
    if (sonde__ptx_is(f->p, i->name, "mov") || sonde__ptx_is(f->p, i->name, "cvta"))
        return a;
    if (sonde__ptx_is(f->p, i->name, "add"))
        return a && b ? several(a, b) : a | b;
    if (sonde__ptx_is(f->p, i->name, "sub")) /* of two addresses: a number */
        return a && b ? (a == SEVERAL || b == SEVERAL ? SEVERAL : NOWHERE) : (b ? SEVERAL : a);
    if (sonde__ptx_is(f->p, i->name, "selp") || sonde__ptx_is(f->p, i->name, "and"))
        return join(a, b);
    if (sonde__ptx_is(f->p, i->name, "mad") && !a && !b)
        return count > 3 ? of(f, operand[3]) : NOWHERE;
    origin all = NOWHERE;
    for (uint32_t k = 1; k < count; k++)
        if (of(f, operand[k]) != NOWHERE)
            all = several(all, of(f, operand[k]));
    return all;
}

static void follow(struct flow *f, struct sonde_ptx_span text)
{
    struct instruction i;
    struct sonde_ptx_span operand[OPERANDS_MAX];
    uint32_t count = 0;
    if (!sonde__ptx_parse(f->p, text, &i) || (!is_wide(f, &i) && !sonde__ptx_is(f->p, i.name, "mad")) || sonde__ptx_is(f->p, i.name, "setp"))
        return;
    if (sonde__ptx_is(f->p, i.name, "ld") || sonde__ptx_is(f->p, i.name, "ldu") || sonde__ptx_is(f->p, i.name, "atom")) {
        load(f, &i);
        return;
    }
    do
        operand[count] = sonde__ptx_operand(f->p, &i.operands);
    while (++count < OPERANDS_MAX && sonde__ptx_char(&i.operands, ','));
    flows(f, operand[0], computed(f, &i, operand, count));
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* False: it does not come to rest. */
static bool follow_all(struct flow *f, const struct sonde_ptx_function *function)
{
    f->changed = true;
    for (uint32_t pass = 0; f->changed && pass < PASSES_MAX; pass++) {
        f->changed = false;
        for (uint32_t item = function->open; item < function->close; item++)
            if (f->p->items[item].kind == SONDE_PTX_STATEMENT)
                follow(f, f->p->items[item].text);
    }
    return !f->changed;
}

static bool make_room(struct flow *f, const struct sonde_ptx_function *function)
{
    uint32_t slots = 64;
    while (slots / 10 < function->close - function->open) /* a load fills eight at the most */
        slots *= 2;
    f->mask = slots - 1;
    f->room = slots * sizeof *f->slots;
    f->slots = sonde__pages_get(f->room);
    return f->slots != NULL;
}

static bool writes(const struct sonde_ptx_access *a)
{
    return a->op == SONDE_PTX_STORE || a->op == SONDE_PTX_ATOMIC || a->op == SONDE_PTX_REDUCTION;
}

/* The number of this origin's pointer, from 1; 0: there are too many. */
static uint32_t number_of(struct sonde_ptx_flow *out, struct sonde_ptx_origin o)
{
    uint32_t i = 0;
    if (out->pointer_count == UINT32_MAX)
        return 0;
    while (i < out->pointer_count && (out->pointers[i].origin.parameter != o.parameter || out->pointers[i].origin.offset != o.offset))
        i++;
    if (i == SONDE_PTX_POINTERS_MAX) {
        out->pointer_count = UINT32_MAX;
        return 0;
    }
    if (i == out->pointer_count)
        out->pointers[out->pointer_count++] = (struct sonde_ptx_pointer){.origin = o};
    return i + 1;
}

/* One more place where something is written through the pointer. */
static void add_place(struct sonde_ptx_pointer *pointer, struct sonde_ptx_place place)
{
    if (!pointer->grain) {
        pointer->file = place.file;
        pointer->line = place.line;
    } else if (pointer->file != place.file || pointer->line != place.line) {
        pointer->line = 0;
    }
    pointer->lines |= place.line != 0;
}

static void list_pointers(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_flow *out)
{
    for (uint32_t k = 0; k < f->accesses; k++) {
        const struct sonde_ptx_access *a = &p->accesses[f->first_access + k];
        const uint8_t bytes = a->element_bytes < 8 ? a->element_bytes : 8;
        const uint16_t parameter = out->origins[k].parameter;
        if (parameter >= SONDE_PTX_OF_COMPILER)
            continue;
        out->pointer[k] = (uint8_t)(parameter ? number_of(out, out->origins[k]) : 0);
        if (!out->pointer[k]) {
            out->writes_unknown |= writes(a);
            continue;
        }
        struct sonde_ptx_pointer *pointer = &out->pointers[out->pointer[k] - 1];
        pointer->reads |= a->op != SONDE_PTX_STORE;
        if (a->op == SONDE_PTX_LOAD && (!pointer->loaded || bytes < pointer->loaded))
            pointer->loaded = bytes;
        if (writes(a))
            add_place(pointer, sonde__ptx_line(p, a->item));
        if (writes(a) && !pointer->grain)
            pointer->set = (uint8_t)out->sets++;
        if (writes(a) && (!pointer->grain || bytes < pointer->grain))
            pointer->grain = bytes;
    }
}

int sonde__ptx_flow(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_flow *out)
{
    struct flow flow = {.p = p, .variables = &out->variables};
    *out = (struct sonde_ptx_flow){.room = (f->accesses + 1) * (sizeof *out->origins + sizeof *out->pointer)};
    out->origins = sonde__pages_get(out->room);
    if (!out->origins || !make_room(&flow, f))
        return SONDE_ENOMEM;
    out->pointer = (uint8_t *)(out->origins + f->accesses + 1);
    read_parameters(&flow, f);
    out->parameters = flow.parameters;
    sonde__ptx_variables(p, f, &out->variables);
    const bool known = follow_all(&flow, f);
    for (uint32_t k = 0; known && k < f->accesses; k++) {
        const struct sonde_ptx_access *a = &p->accesses[f->first_access + k];
        const origin from = of(&flow, a->base);
        out->elsewhere |= is_elsewhere(from) && a->flags & SONDE_PTX_GENERIC;
        if (from != SEVERAL && !is_elsewhere(from))
            out->origins[k] = (struct sonde_ptx_origin){(uint16_t)(from >> 16), (uint16_t)from};
    }
    list_pointers(p, f, out);
    sonde__pages_put(flow.slots, flow.room);
    return 0;
}

void sonde__ptx_flow_release(struct sonde_ptx_flow *flow)
{
    sonde__pages_put(flow->origins, flow->room);
    *flow = (struct sonde_ptx_flow){0};
}
