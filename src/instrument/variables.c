/* variables.c - see variables.h. Source: PTX ISA 9.0, sections 5.1 (state spaces) and 5.4 (variables). */
#include "variables.h"

#include "statement.h"

struct variable {
    struct sonde_ptx_span name; /* empty: it is none */
    bool constant, own;         /* .const; the compiler's own */
};

static bool begins(const struct sonde_ptx *p, struct sonde_ptx_span s, const char *with)
{
    return s.bytes >= strlen(with) && memcmp(p->text + s.at, with, strlen(with)) == 0;
}

bool sonde__ptx_is_compilers(const struct sonde_ptx *p, struct sonde_ptx_span name)
{
    return begins(p, name, "$") || begins(p, name, "__cudart_");
}

/* ".visible .global .attribute(.managed) .align 4 .u32 steps = 5". */
static struct variable variable_of(const struct sonde_ptx *p, struct sonde_ptx_span text)
{
    struct span_reader r = sonde__ptx_reader(p, text);
    struct variable v = {0};
    bool shared = false;
    while (sonde__ptx_char(&r, '.')) {
        const struct sonde_ptx_span word = sonde__ptx_word(p, &r);
        v.constant |= sonde__ptx_is(p, word, "const");
        shared |= v.constant || sonde__ptx_is(p, word, "global");
        if (sonde__ptx_is(p, word, "align"))
            sonde__ptx_word(p, &r);
        if (sonde__ptx_is(p, word, "attribute"))
            while (r.at < r.end && *r.at++ != ')')
                ;
    }
    const struct sonde_ptx_span name = sonde__ptx_word(p, &r);
    if (shared)
        v.name = name;
    v.own = sonde__ptx_is_compilers(p, name);
    return v;
}

static bool same(const struct sonde_ptx *p, struct sonde_ptx_span a, struct sonde_ptx_span b)
{
    return a.bytes == b.bytes && memcmp(p->text + a.at, p->text + b.at, a.bytes) == 0;
}

static bool names(const struct sonde_ptx *p, struct sonde_ptx_span text, struct sonde_ptx_span variable)
{
    struct span_reader r = sonde__ptx_reader(p, text);
    while (r.at < r.end) {
        const struct sonde_ptx_span word = sonde__ptx_word(p, &r);
        if (!word.bytes)
            r.at += r.at < r.end;
        else if (same(p, word, variable))
            return true;
    }
    return false;
}

static bool function_names(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_span variable)
{
    for (uint32_t item = f->open; item < f->close; item++)
        if (p->items[item].kind == SONDE_PTX_STATEMENT && names(p, p->items[item].text, variable))
            return true;
    return false;
}

void sonde__ptx_variables(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_variables *out)
{
    bool own_constants = false, many = false;
    int depth = 0;
    *out = (struct sonde_ptx_variables){0};
    for (uint32_t item = 0; item < p->item_count; item++) {
        depth += (p->items[item].kind == SONDE_PTX_OPEN) - (p->items[item].kind == SONDE_PTX_CLOSE);
        if (depth || p->items[item].kind != SONDE_PTX_STATEMENT)
            continue;
        const struct variable v = variable_of(p, p->items[item].text);
        if (!v.name.bytes || (v.own && !v.constant) || !function_names(p, f, v.name))
            continue;
        own_constants |= v.own;
        many |= !v.own && out->count == SONDE_PTX_VARIABLES_MAX;
        out->constants |= !v.own && v.constant;
        if (!v.own && !many)
            out->name[out->count++] = v.name;
    }
    if (many || (own_constants && out->constants))
        out->count = UINT32_MAX;
}

uint32_t sonde__ptx_variable(const struct sonde_ptx *p, const struct sonde_ptx_variables *v, struct sonde_ptx_span name)
{
    for (uint32_t k = 0; v->count <= SONDE_PTX_VARIABLES_MAX && k < v->count; k++)
        if (same(p, v->name[k], name))
            return k + 1;
    return 0;
}
