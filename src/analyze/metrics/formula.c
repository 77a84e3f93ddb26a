/* formula.c - derived columns: small expressions, read once and computed for each row.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = sign { ("*" | "/") sign }
 *     sign    = "-" sign | atom
 *     atom    = number | column | ("min" | "max") "(" sum "," sum ")" | "(" sum ")"
 *
 * Recursive descent to postfix (Aho et al., "Compilers", 2nd edition, section
 * 2.3 and 4.4), which is then computed with a stack.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"

enum {
    DEEPEST = 64,
    STACK = 4 * DEEPEST,
};

enum step_kind {
    NUMBER,
    COLUMN,
    NEGATE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    MIN,
    MAX,
};

struct step {
    enum step_kind kind;
    uint32_t column;
    double number;
};

struct sonde_formula { SONDE_VECTOR(struct step) steps; };

struct parser {
    const struct sonde_columns *columns;
    const char *text, *next; /* next byte to be read */
    struct sonde_formula *formula;
    struct sonde_diag *diag;
    int depth, rc;
};

static void fail(struct parser *p, const char *what)
{
    if (!p->rc)
        p->rc = sonde_diag_set(p->diag, SONDE_EINVALID, NULL, "%s", what);
}

static void emit(struct parser *p, struct step step)
{
    if (!p->rc && sonde_vector_push(&p->formula->steps, step))
        p->rc = sonde_diag_set(p->diag, SONDE_ENOMEM, NULL, "cannot read the formula");
}

static char peek(struct parser *p)
{
    while (*p->next == ' ')
        p->next++;
    return *p->next;
}

static bool take(struct parser *p, char c)
{
    if (p->rc || peek(p) != c)
        return false;
    p->next++;
    return true;
}

static void need(struct parser *p, char c)
{
    char what[] = "expected ' '";
    what[sizeof what - 3] = c;
    if (!take(p, c))
        fail(p, what);
}

static void sum(struct parser *p);

static void call(struct parser *p, enum step_kind kind)
{
    need(p, '(');
    sum(p);
    need(p, ',');
    sum(p);
    need(p, ')');
    emit(p, (struct step){.kind = kind});
}

static void name(struct parser *p)
{
    const char *begin = p->next, *end = begin;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    size_t length = (size_t)(end - begin);
    bool min = length == 3 && !memcmp(begin, "min", 3), max = length == 3 && !memcmp(begin, "max", 3);
    int column = sonde_columns_find(p->columns, begin, length);
    if (!min && !max && column < 0) {
        p->rc = sonde__columns_unknown(p->columns, begin, length, p->diag);
        return;
    }
    p->next = end;
    if (min || max)
        call(p, min ? MIN : MAX);
    else
        emit(p, (struct step){.kind = COLUMN, .column = (uint32_t)column});
}

static void number(struct parser *p)
{
    char *end;
    double value = strtod(p->next, &end);
    if (!isfinite(value)) {
        fail(p, "number too large");
        return;
    }
    p->next = end;
    emit(p, (struct step){.kind = NUMBER, .number = value});
}

static void atom(struct parser *p)
{
    char c = peek(p);
    if (take(p, '(')) {
        sum(p);
        need(p, ')');
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)p->next[1]))) {
        number(p);
    } else if (isalpha((unsigned char)c) || c == '_') {
        name(p);
    } else {
        fail(p, "expected a number, a column or '('");
    }
}

static void sign(struct parser *p)
{
    if (++p->depth > DEEPEST)
        fail(p, "nested too deeply");
    else if (take(p, '-')) {
        sign(p);
        emit(p, (struct step){.kind = NEGATE});
    } else {
        atom(p);
    }
    p->depth--;
}

static void product(struct parser *p)
{
    sign(p);
    while (!p->rc && (peek(p) == '*' || peek(p) == '/')) {
        enum step_kind kind = *p->next++ == '*' ? MULTIPLY : DIVIDE;
        sign(p);
        emit(p, (struct step){.kind = kind});
    }
}

static void sum(struct parser *p)
{
    product(p);
    while (!p->rc && (peek(p) == '+' || peek(p) == '-')) {
        enum step_kind kind = *p->next++ == '+' ? ADD : SUBTRACT;
        product(p);
        emit(p, (struct step){.kind = kind});
    }
}

/* ---- definitions ------------------------------------------------------------------- */

static void release(struct sonde_derived *d)
{
    if (d->formula)
        sonde_vector_fini(&d->formula->steps);
    free(d->formula);
    free(d->name);
    free(d->text);
}

/* "name=formula" from p->next on. */
static void define(struct parser *p, struct sonde_columns *c)
{
    peek(p);
    const char *begin = p->next, *end = begin;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    if (end == begin || isdigit((unsigned char)*begin)) {
        fail(p, "expected a name for the new column");
        return;
    }
    if (sonde_columns_find(c, begin, (size_t)(end - begin)) >= 0 || !strncmp(begin, "min=", 4) || !strncmp(begin, "max=", 4)) {
        fail(p, "this name is taken");
        return;
    }
    if (c->derived.count >= SONDE_DERIVED_MAX) {
        fail(p, "too many columns");
        return;
    }
    p->next = end;
    need(p, '=');
    const char *formula = p->next;
    struct sonde_derived d = {.name = strndup(begin, (size_t)(end - begin)), .formula = calloc(1, sizeof *d.formula)};
    p->formula = d.formula;
    if (!d.name || !d.formula)
        p->rc = SONDE_ENOMEM;
    if (!p->rc)
        sum(p);
    if (!p->rc && peek(p) && *p->next != ';')
        fail(p, "expected an operator or the end");
    d.text = strndup(formula, (size_t)(p->next - formula));
    if (p->rc || !d.text || sonde_vector_push(&c->derived, d)) {
        release(&d);
        p->rc = p->rc ? p->rc : SONDE_ENOMEM;
    } else if (sonde_vector_push(&c->shown, sonde_columns_count(c) - 1)) {
        p->rc = SONDE_ENOMEM;
    }
}

int sonde_columns_derive(struct sonde_columns *c, const char *text, struct sonde_diag *diag, size_t *at)
{
    struct parser p = {.columns = c, .text = text, .next = text, .diag = diag};
    do
        define(&p, c);
    while (take(&p, ';'));
    *at = (size_t)(p.next - text);
    return p.rc == SONDE_ENOMEM ? sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot define a column") : p.rc;
}

void sonde_columns_fini(struct sonde_columns *c)
{
    for (size_t i = 0; i < c->derived.count; i++)
        release(&c->derived.items[i]);
    sonde_vector_fini(&c->derived);
    sonde_vector_fini(&c->shown);
}

/* ---- values -------------------------------------------------------------------------- */

static struct sonde_value known(double value)
{
    return isfinite(value) ? (struct sonde_value){value, SONDE_KNOWN} : (struct sonde_value){0, SONDE_ERROR};
}

static struct sonde_value combine(enum step_kind kind, struct sonde_value a, struct sonde_value b)
{
    if (a.validity == SONDE_ERROR || b.validity == SONDE_ERROR)
        return (struct sonde_value){0, SONDE_ERROR};
    if (a.validity == SONDE_UNKNOWN || b.validity == SONDE_UNKNOWN || (kind == DIVIDE && b.value == 0))
        return (struct sonde_value){0, SONDE_UNKNOWN};
    switch (kind) {
    case ADD:
        return known(a.value + b.value);
    case SUBTRACT:
        return known(a.value - b.value);
    case MULTIPLY:
        return known(a.value * b.value);
    case DIVIDE:
        return known(a.value / b.value);
    case MIN:
        return a.value < b.value ? a : b;
    default:
        return a.value > b.value ? a : b;
    }
}

/* What a step leaves on the stack is at most one more than before; a path from
 * the root of a formula to a leaf leaves at most two more at each level. */
static struct sonde_value compute(const struct sonde_formula *f, const struct sonde_value *values)
{
    struct sonde_value stack[STACK];
    size_t top = 0;
    for (size_t i = 0; i < f->steps.count && top < STACK; i++) {
        const struct step *s = &f->steps.items[i];
        if (s->kind == NUMBER)
            stack[top++] = known(s->number);
        else if (s->kind == COLUMN)
            stack[top++] = values[s->column];
        else if (s->kind == NEGATE)
            stack[top - 1].value = -stack[top - 1].value;
        else {
            stack[top - 2] = combine(s->kind, stack[top - 2], stack[top - 1]);
            top--;
        }
    }
    return top == 1 ? stack[0] : (struct sonde_value){0, SONDE_ERROR};
}

void sonde_columns_compute(const struct sonde_columns *c, struct sonde_value *values)
{
    for (size_t i = 0; i < c->derived.count; i++)
        values[SONDE_METRIC_COUNT + i] = compute(c->derived.items[i].formula, values);
}
