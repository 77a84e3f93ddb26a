/* calls.c - see calls.h. Source: PTX ISA 9.0, sections 9.7.12.5 (call) and 7.1 (functions). */
#include "calls.h"

#include "flow.h"
#include "statement.h"

#define DEPTH_MAX 8u   /* of calls within calls; one that calls itself ends there */
#define CALLS_MAX 256u /* of functions that call others, and are looked into for one kernel */

struct walk {
    const struct sonde_ptx *p;
    uint32_t depth, calls;
    const struct sonde_ptx_function *reads; /* the compiler's tables alone: the last one, which is called again and again */
};

static bool same(const struct sonde_ptx *p, struct sonde_ptx_span a, struct sonde_ptx_span b)
{
    return a.bytes == b.bytes && memcmp(p->text + a.at, p->text + b.at, a.bytes) == 0;
}

/* NULL: its body is not here. */
static const struct sonde_ptx_function *function_of(const struct sonde_ptx *p, struct sonde_ptx_span name)
{
    for (uint32_t k = 0; k < p->function_count; k++)
        if (!(p->functions[k].flags & SONDE_PTX_ENTRY) && same(p, p->functions[k].name, name))
            return &p->functions[k];
    return NULL;
}

static bool is_of_mathematics(const struct sonde_ptx *p, struct sonde_ptx_span name)
{
    static const char begin[] = "__internal_";
    return name.bytes >= sizeof begin && memcmp(p->text + name.at, begin, sizeof begin - 1) == 0;
}

/* Declared, without a body. */
static bool is_known(const struct sonde_ptx *p, struct sonde_ptx_span name)
{
    static const char *const names[] = {"vprintf", "__assertfail", "malloc", "free"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (sonde__ptx_is(p, name, names[k]))
            return true;
    return is_of_mathematics(p, name);
}

/* All its accesses are loads from the compiler's own tables. */
static bool reads_tables(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    struct sonde_ptx_flow flow;
    bool all = !sonde__ptx_flow(p, f, &flow);
    for (uint32_t k = 0; all && k < f->accesses; k++)
        all = p->accesses[f->first_access + k].op == SONDE_PTX_LOAD && flow.origins[k].parameter == SONDE_PTX_OF_COMPILER;
    sonde__ptx_flow_release(&flow);
    return all;
}

static bool calls_are_harmless(struct walk *w, const struct sonde_ptx_function *f);

static bool is_harmless(struct walk *w, struct sonde_ptx_span name)
{
    const struct sonde_ptx_function *f = function_of(w->p, name);
    if (!f)
        return is_known(w->p, name);
    if (f->accesses && f != w->reads && !(is_of_mathematics(w->p, name) && reads_tables(w->p, f)))
        return false;
    w->reads = f->accesses ? f : w->reads;
    if (!(f->flags & SONDE_PTX_CALLS))
        return true;
    if (w->depth == DEPTH_MAX || w->calls++ == CALLS_MAX)
        return false;
    w->depth++;
    const bool harmless = calls_are_harmless(w, f);
    w->depth--;
    return harmless;
}

/* "(retval0), NAME, (param0)": what is called. */
static struct sonde_ptx_span callee_of(const struct sonde_ptx *p, struct span_reader r)
{
    if (sonde__ptx_char(&r, '(')) {
        while (r.at < r.end && *r.at++ != ')')
            ;
        sonde__ptx_char(&r, ',');
    }
    return sonde__ptx_word(p, &r);
}

static bool calls_are_harmless(struct walk *w, const struct sonde_ptx_function *f)
{
    const struct sonde_ptx *p = w->p;
    struct instruction i;
    for (uint32_t item = f->open; f->flags & SONDE_PTX_CALLS && item < f->close; item++)
        if (p->items[item].kind == SONDE_PTX_STATEMENT && sonde__ptx_parse(p, p->items[item].text, &i) && sonde__ptx_is(p, i.name, "call") &&
            !is_harmless(w, callee_of(p, i.operands)))
            return false;
    return true;
}

bool sonde__ptx_calls_are_harmless(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    return calls_are_harmless(&(struct walk){.p = p}, f);
}
