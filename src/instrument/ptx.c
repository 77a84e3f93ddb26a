/* ptx.c - PTX is read in two passes: text to items (lexer), items to functions, blocks and accesses. */
#include "ptx.h"

#include <string.h>

#include <sonde/error.h>

#include "guest/memory.h"
#include "statement.h"

#define TEXT_MAX UINT32_MAX /* spans are 32 bits wide */

/* ---- arrays that grow ------------------------------------------------------------------------ */

static bool grow(void **items, size_t *room, size_t used)
{
    const size_t bytes = *room ? 2 * *room : 65536;
    void *larger = sonde__pages_get(bytes);
    if (!larger)
        return false;
    memcpy(larger, *items ? *items : larger, used);
    sonde__pages_put(*items, *room);
    *items = larger;
    *room = bytes;
    return true;
}

enum { ITEMS,
       FILES,
       PLACES,
       FUNCTIONS,
       ACCESSES };

/* The next element of `p->LIST`, zeroed; NULL: no memory. */
#define ADD(p, which, list, count) add(p, (void **)&(p)->list, which, &(p)->count, sizeof *(p)->list)
static void *add(struct sonde_ptx *p, void **items, int which, uint32_t *count, size_t each)
{
    const size_t used = *count * each;
    if (used + each > p->room[which] && !grow(items, &p->room[which], used))
        return NULL;
    ++*count;
    return memset((char *)*items + used, 0, each);
}

/* ---- characters ---------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static struct sonde_ptx_span to_span(const struct sonde_ptx *p, const char *from, const char *to)
{
    return (struct sonde_ptx_span){(uint32_t)(from - p->text), (uint32_t)(to - from)};
}

/* The end of the comment that begins at `at`, or `at`: there is none. */
static const char *past_comment(const char *at, const char *end)
{
    if (end - at < 2 || at[0] != '/')
        return at;
    if (at[1] == '/') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        return line ? line + 1 : end;
    }
    if (at[1] != '*')
        return at;
    for (at += 2; end - at >= 2; at++)
        if (at[0] == '*' && at[1] == '/')
            return at + 2;
    return end;
}

static const char *past_blanks(const char *at, const char *end)
{
    for (;;) {
        while (at < end && is_space(*at))
            at++;
        const char *next = past_comment(at, end);
        if (next == at)
            return at;
        at = next;
    }
}

static void skip_blanks(struct span_reader *r)
{
    r->at = past_blanks(r->at, r->end);
}

struct sonde_ptx_span sonde__ptx_word(const struct sonde_ptx *p, struct span_reader *r)
{
    skip_blanks(r);
    const char *from = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    return to_span(p, from, r->at);
}

bool sonde__ptx_char(struct span_reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool begins(const char *at, const char *end, const char *word)
{
    const size_t bytes = strlen(word);
    return (size_t)(end - at) >= bytes && memcmp(at, word, bytes) == 0;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c >= 'a' && c <= 'f' ? c - 'a' + 10 : (c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99));
}

/* Integer constants of section 4.5.1: decimal, 0x, 0b, octal, with a U behind or not. */
static bool take_number(const struct sonde_ptx *p, struct span_reader *r, uint64_t *value)
{
    const struct sonde_ptx_span word = sonde__ptx_word(p, r);
    const char *at = p->text + word.at, *end = at + word.bytes;
    int base = 10;
    *value = 0;
    if (at == end || *at < '0' || *at > '9')
        return false;
    if (end[-1] == 'U')
        end--;
    if (*at == '0' && end - at > 1) {
        base = at[1] == 'x' || at[1] == 'X' ? 16 : (at[1] == 'b' || at[1] == 'B' ? 2 : 8);
        at += base == 8 ? 1 : 2;
    }
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (digit_of(*at) >= base)
            return false;
        *value = *value * (unsigned)base + (unsigned)digit_of(*at);
    }
    return true;
}

static uint32_t take_small(const struct sonde_ptx *p, struct span_reader *r)
{
    uint64_t value;
    return take_number(p, r, &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* ---- the first pass: items ---------------------------------------------------------------------------- */

static int fail(struct sonde_ptx *p, const char *at, const char *why)
{
    p->why = why;
    p->line = 1;
    for (const char *c = p->text; c < at; c++)
        p->line += *c == '\n';
    return SONDE_EFORMAT;
}

static int put(struct sonde_ptx *p, enum sonde_ptx_kind kind, const char *from, const char *to)
{
    struct sonde_ptx_item *item = ADD(p, ITEMS, items, item_count);
    if (!item)
        return SONDE_ENOMEM;
    while (to > from && is_space(to[-1]))
        to--;
    *item = (struct sonde_ptx_item){.text = to_span(p, from, to), .kind = (uint8_t)kind};
    return 0;
}

static const char *past_line(const char *at, const char *end)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    return line ? line : end;
}

/* Directives that end with their line, not with a semicolon. */
static bool is_line_directive(const char *at, const char *end)
{
    static const char *const names[] = {".version", ".target", ".address_size", ".file", ".loc", "@@"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins(at, end, names[i]) && (names[i][0] == '@' || at + strlen(names[i]) == end || !is_word(at[strlen(names[i])])))
            return true;
    return false;
}

/* Behind a string, comment or character. */
static const char *past_one(const char *at, const char *end)
{
    if (*at == '"') {
        const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
        return quote ? quote + 1 : end;
    }
    const char *next = past_comment(at, end);
    return next == at ? at + 1 : next;
}

/* A section of DWARF: its braces and all between them. */
static const char *past_section(const char *at, const char *end)
{
    while (at < end && *at != '{')
        at = past_one(at, end);
    while (at < end && *at != '}')
        at = past_one(at, end);
    return at < end ? at + 1 : end;
}

/* A statement up to its semicolon, or the head of a function up to its brace; *to is where it ends. */
static int read_statement(struct sonde_ptx *p, const char **at, const char *end, bool outside)
{
    const char *from = *at, *c = from;
    bool function = false;
    for (int depth = 0; c < end; c = past_one(c, end)) {
        if (outside && *c == '.' && (begins(c, end, ".entry") || begins(c, end, ".func")))
            function = true;
        if (function && *c == '{') {
            *at = c;
            return put(p, SONDE_PTX_HEAD, from, c);
        }
        if (*c == ';' && depth == 0) {
            *at = c + 1;
            return put(p, SONDE_PTX_STATEMENT, from, c);
        }
        depth += (*c == '{') - (*c == '}');
        if (depth < 0)
            break;
    }
    return fail(p, from, "a statement has no end");
}

static const char *label_end(const char *at, const char *end)
{
    const char *c = at;
    while (c < end && is_word(*c))
        c++;
    if (c == at || (*at >= '0' && *at <= '9'))
        return NULL;
    const char *colon = past_blanks(c, end);
    return colon < end && *colon == ':' && !(colon + 1 < end && colon[1] == ':') ? c : NULL;
}

static int read_items(struct sonde_ptx *p, const char *end)
{
    int depth = 0, rc = 0;
    const char *at = past_blanks(p->text, end), *name_end;
    for (; at < end && !rc; at = past_blanks(at, end)) {
        const char *from = at;
        if (*at == '{' || *at == '}') {
            depth += *at == '{' ? 1 : -1;
            if (depth < 0)
                return fail(p, at, "a brace closes nothing");
            rc = put(p, *at == '{' ? SONDE_PTX_OPEN : SONDE_PTX_CLOSE, at, at + 1);
            at++;
        } else if (begins(at, end, ".section")) {
            at = past_section(at, end);
            rc = put(p, SONDE_PTX_DIRECTIVE, from, at);
        } else if (is_line_directive(at, end)) {
            at = past_line(at, end);
            rc = put(p, SONDE_PTX_DIRECTIVE, from, at);
        } else if ((name_end = label_end(at, end))) {
            rc = put(p, SONDE_PTX_LABEL, from, name_end);
            at = past_blanks(name_end, end) + 1;
        } else {
            rc = read_statement(p, &at, end, depth == 0);
        }
    }
    return rc ? rc : (depth ? fail(p, end, "a brace is not closed") : 0);
}

/* ---- .file, .loc, .version, .target --------------------------------------------------------------------- */

static int read_file(struct sonde_ptx *p, struct span_reader r)
{
    struct sonde_ptx_file *file = ADD(p, FILES, files, file_count);
    if (!file)
        return SONDE_ENOMEM;
    file->number = take_small(p, &r);
    if (sonde__ptx_char(&r, '"')) {
        const char *from = r.at;
        while (r.at < r.end && *r.at != '"')
            r.at++;
        file->name = to_span(p, from, r.at);
    }
    return 0;
}

static int read_place(struct sonde_ptx *p, struct span_reader r)
{
    struct sonde_ptx_place *place = ADD(p, PLACES, places, place_count);
    if (!place)
        return SONDE_ENOMEM;
    place->file = take_small(p, &r);
    place->line = take_small(p, &r);
    place->column = take_small(p, &r);
    while (sonde__ptx_char(&r, ',')) /* function_name LABEL [+ N], inlined_at FILE LINE COLUMN */
        if (sonde__ptx_is(p, sonde__ptx_word(p, &r), "inlined_at")) {
            place->at_file = take_small(p, &r);
            place->at_line = take_small(p, &r);
            place->at_column = take_small(p, &r);
        } else {
            while (r.at < r.end && *r.at != ',')
                r.at++;
        }
    return 0;
}

static void read_target(struct sonde_ptx *p, struct span_reader r)
{
    const struct sonde_ptx_span word = sonde__ptx_word(p, &r);
    const char *at = p->text + word.at, *end = at + word.bytes;
    if (!begins(at, end, "sm_"))
        return;
    for (at += 3; at < end && *at >= '0' && *at <= '9'; at++)
        p->target = 10 * p->target + (uint32_t)(*at - '0');
    p->target_suffix = at < end ? *at : 0;
}

/* What a directive says; `place` becomes that of .loc. */
static int read_directive(struct sonde_ptx *p, struct sonde_ptx_span text, uint32_t *place)
{
    struct span_reader r = sonde__ptx_reader(p, text);
    if (!sonde__ptx_char(&r, '.'))
        return 0;
    const struct sonde_ptx_span name = sonde__ptx_word(p, &r);
    if (sonde__ptx_is(p, name, "file"))
        return read_file(p, r);
    if (sonde__ptx_is(p, name, "loc")) {
        *place = p->place_count;
        return read_place(p, r);
    }
    if (sonde__ptx_is(p, name, "target"))
        read_target(p, r);
    if (sonde__ptx_is(p, name, "version")) {
        p->version = 10 * take_small(p, &r);
        if (sonde__ptx_char(&r, '.'))
            p->version += take_small(p, &r);
    }
    return 0;
}

/* ---- the second pass: instructions ------------------------------------------------------------------------- */

bool sonde__ptx_parse(const struct sonde_ptx *p, struct sonde_ptx_span text, struct instruction *out)
{
    struct span_reader r = sonde__ptx_reader(p, text);
    *out = (struct instruction){0};
    if (sonde__ptx_char(&r, '@')) {
        out->negated = sonde__ptx_char(&r, '!');
        out->predicate = sonde__ptx_word(p, &r);
    }
    out->name = sonde__ptx_word(p, &r);
    if (!out->name.bytes)
        return false;
    while (r.at < r.end && *r.at == '.') {
        const char *from = ++r.at;
        while (r.at < r.end && (is_word(*r.at) || (begins(r.at, r.end, "::") && (r.at += 1))))
            r.at++;
        if (out->modifiers < MODIFIERS_MAX)
            out->modifier[out->modifiers++] = to_span(p, from, r.at);
    }
    out->operands = r;
    return true;
}

/* Which of `words` (up to NULL) a modifier is, without what stands behind "::"; -1: none. */
static int modifier(const struct sonde_ptx *p, const struct instruction *i, const char *const *words)
{
    for (uint32_t m = 0; m < i->modifiers; m++)
        for (int w = 0; words[w]; w++) {
            const size_t bytes = strlen(words[w]);
            const char *at = p->text + i->modifier[m].at;
            if (i->modifier[m].bytes >= bytes && memcmp(at, words[w], bytes) == 0 &&
                (i->modifier[m].bytes == bytes || at[bytes] == ':'))
                return w;
        }
    return -1;
}

static bool has(const struct sonde_ptx *p, const struct instruction *i, const char *word)
{
    return modifier(p, i, (const char *const[]){word, NULL}) >= 0;
}

/* "f32", "b128", "bf16x2": section 5.2. False: it is no type. */
static bool type_of(const struct sonde_ptx *p, struct sonde_ptx_span s, struct sonde_ptx_access *a)
{
    static const struct {
        const char *name;
        enum sonde_ptx_type type;
    } kinds[] = {{"bf", SONDE_PTX_BFLOAT}, {"b", SONDE_PTX_BITS}, {"u", SONDE_PTX_UNSIGNED}, {"s", SONDE_PTX_SIGNED}, {"f", SONDE_PTX_FLOAT}};
    const char *at = p->text + s.at, *end = at + s.bytes;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!begins(at, end, kinds[k].name))
            continue;
        const char *c = at + strlen(kinds[k].name);
        unsigned bits = 0, times = 1;
        for (; c < end && *c >= '0' && *c <= '9' && bits < 1000; c++)
            bits = 10 * bits + (unsigned)(*c - '0');
        if (end - c == 2 && c[0] == 'x') {
            times = (unsigned)(c[1] - '0');
            c = end;
        }
        if (c != end || bits < 8 || bits > 128 || (bits & (bits - 1)) || times - 1 > 7)
            continue;
        a->type = (uint8_t)kinds[k].type;
        a->element_bytes = (uint8_t)(bits / 8);
        a->elements = (uint8_t)times;
        return true;
    }
    return false;
}

/* "[base]", "[base+8]", "[base+-8]", "[name]", "[4096]"; behind it afterwards. */
static bool take_address(const struct sonde_ptx *p, struct span_reader *r, struct sonde_ptx_access *a)
{
    uint64_t value;
    if (!sonde__ptx_char(r, '['))
        return false;
    a->base = sonde__ptx_word(p, r);
    if (sonde__ptx_char(r, '+')) {
        const bool minus = sonde__ptx_char(r, '-');
        if (!take_number(p, r, &value))
            return false;
        a->offset = minus ? -(int64_t)value : (int64_t)value;
    } else if (sonde__ptx_char(r, '-')) {
        if (!take_number(p, r, &value))
            return false;
        a->offset = -(int64_t)value;
    }
    return a->base.bytes && sonde__ptx_char(r, ']');
}

struct sonde_ptx_span sonde__ptx_operand(const struct sonde_ptx *p, struct span_reader *r)
{
    skip_blanks(r);
    const char *from = r->at;
    if (sonde__ptx_char(r, '{')) {
        while (r->at < r->end && *r->at != '}')
            r->at++;
        if (r->at < r->end)
            r->at++;
    } else {
        while (r->at < r->end && *r->at != ',' && !is_space(*r->at))
            r->at++;
    }
    return to_span(p, from, r->at);
}

static bool not_followed(const struct instruction *i, enum sonde_ptx_op op, struct sonde_ptx_access *a)
{
    const uint8_t flags = a->flags & (SONDE_PTX_PREDICATED | SONDE_PTX_NEGATED);
    *a = (struct sonde_ptx_access){.op = (uint8_t)op, .flags = flags, .predicate = i->predicate, .base = i->name};
    return true;
}

/* ld, ldu, st, atom, red. */
static bool plain_access(const struct sonde_ptx *p, const struct instruction *i, enum sonde_ptx_op op, struct sonde_ptx_access *a)
{
    static const char *const elsewhere[] = {"shared", "local", "param", "const", NULL};
    struct span_reader r = i->operands;
    if (modifier(p, i, elsewhere) >= 0)
        return false; /* not of the device */
    if (has(p, i, "async") || has(p, i, "bulk"))
        return not_followed(i, SONDE_PTX_BULK, a);
    if (!i->modifiers || !type_of(p, i->modifier[i->modifiers - 1], a))
        return not_followed(i, SONDE_PTX_UNKNOWN, a);
    const int vector = modifier(p, i, (const char *const[]){"v2", "v4", "v8", NULL});
    if (vector >= 0)
        a->elements = (uint8_t)(a->elements * (2u << vector));
    a->op = (uint8_t)op;
    a->flags |= has(p, i, "global") ? 0 : SONDE_PTX_GENERIC;
    if (op == SONDE_PTX_LOAD || op == SONDE_PTX_ATOMIC) {
        a->values = sonde__ptx_operand(p, &r);
        if (!a->values.bytes || !sonde__ptx_char(&r, ','))
            return not_followed(i, SONDE_PTX_UNKNOWN, a);
    }
    if (!take_address(p, &r, a) || (op == SONDE_PTX_STORE && !sonde__ptx_char(&r, ',')))
        return not_followed(i, SONDE_PTX_UNKNOWN, a);
    if (op != SONDE_PTX_LOAD)
        a->values = op == SONDE_PTX_STORE ? sonde__ptx_operand(p, &r) : (struct sonde_ptx_span){0};
    return true;
}

/* cp.async.ca.shared.global [to], [from], bytes [, bytes that are there] [, cache policy]; the bulk ones are not followed. */
static bool copy_access(const struct sonde_ptx *p, const struct instruction *i, struct sonde_ptx_access *a)
{
    struct span_reader r = i->operands;
    uint32_t more = 0;
    uint64_t bytes;
    if (has(p, i, "bulk"))
        return (has(p, i, "global") || has(p, i, "tensor")) && not_followed(i, SONDE_PTX_BULK, a);
    if (!has(p, i, "global"))
        return false; /* commit_group, wait_group, mbarrier */
    if (!take_address(p, &r, a) || !sonde__ptx_char(&r, ','))
        return not_followed(i, SONDE_PTX_UNKNOWN, a);
    a->offset = 0;
    if (!take_address(p, &r, a) || !sonde__ptx_char(&r, ',') || !take_number(p, &r, &bytes) || bytes > 16)
        return not_followed(i, SONDE_PTX_UNKNOWN, a);
    for (; sonde__ptx_char(&r, ','); more++)
        sonde__ptx_operand(p, &r);
    if (more > (has(p, i, "L2::cache_hint") ? 1u : 0u))
        return not_followed(i, SONDE_PTX_LENGTH, a);
    a->op = SONDE_PTX_COPY_IN;
    a->element_bytes = (uint8_t)bytes;
    a->elements = 1;
    return true;
}

/* Does it access memory of the device? Then *a says how. */
static bool access_of(const struct sonde_ptx *p, const struct instruction *i, struct sonde_ptx_access *a)
{
    static const struct {
        const char *name;
        enum sonde_ptx_op op;
    } plain[] = {{"ld", SONDE_PTX_LOAD}, {"ldu", SONDE_PTX_LOAD}, {"st", SONDE_PTX_STORE}, {"atom", SONDE_PTX_ATOMIC}, {"red", SONDE_PTX_REDUCTION}};
    static const char *const textures[] = {"tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq", NULL};
    *a = (struct sonde_ptx_access){.flags = (uint8_t)((i->predicate.bytes ? SONDE_PTX_PREDICATED : 0) | (i->negated ? SONDE_PTX_NEGATED : 0)),
                                   .predicate = i->predicate};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (sonde__ptx_is(p, i->name, plain[k].name))
            return plain_access(p, i, plain[k].op, a);
    if (sonde__ptx_needs_no_memory(p, i->name))
        return false;
    if (sonde__ptx_is(p, i->name, "cp"))
        return copy_access(p, i, a);
    for (int k = 0; textures[k]; k++)
        if (sonde__ptx_is(p, i->name, textures[k]))
            return not_followed(i, SONDE_PTX_TEXTURE, a);
    if (sonde__ptx_is(p, i->name, "wmma"))
        return (has(p, i, "load") || has(p, i, "store")) && !has(p, i, "shared") && not_followed(i, SONDE_PTX_MATRIX, a);
    if (sonde__ptx_is(p, i->name, "tensormap"))
        return (has(p, i, "global") || !has(p, i, "shared")) && not_followed(i, SONDE_PTX_BULK, a);
    return not_followed(i, sonde__ptx_is(p, i->name, "multimem") ? SONDE_PTX_BULK : SONDE_PTX_UNKNOWN, a);
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

static int read_head(const struct sonde_ptx *p, const struct sonde_ptx_item *item, struct sonde_ptx_function *f)
{
    struct span_reader r = sonde__ptx_reader(p, item->text);
    bool named = false;
    while (!named && r.at < r.end) { /* .visible .entry NAME (…) or .func (…) NAME (…) */
        skip_blanks(&r);
        if (sonde__ptx_char(&r, '.')) {
            if (sonde__ptx_is(p, sonde__ptx_word(p, &r), "entry"))
                f->flags |= SONDE_PTX_ENTRY;
        } else if (sonde__ptx_char(&r, '(')) {
            for (int depth = 1; r.at < r.end && depth; r.at = past_one(r.at, r.end))
                depth += (*r.at == '(') - (*r.at == ')');
        } else {
            f->name = sonde__ptx_word(p, &r);
            named = true;
        }
    }
    return f->name.bytes ? 0 : SONDE_EFORMAT;
}

/* What ends a basic block. */
static bool ends_block(const struct sonde_ptx *p, const struct instruction *i)
{
    static const char *const names[] = {"bra", "brx", "call", "ret", "exit", "trap", NULL};
    for (int k = 0; names[k]; k++)
        if (sonde__ptx_is(p, i->name, names[k]))
            return true;
    return false;
}

struct body {
    struct sonde_ptx_function *f;
    bool open; /* the block has an access */
};

static int read_instruction(struct sonde_ptx *p, struct body *b, uint32_t item)
{
    struct instruction i;
    struct sonde_ptx_access a, *to;
    if (!sonde__ptx_parse(p, p->items[item].text, &i))
        return 0;
    if (sonde__ptx_is(p, i.name, "call"))
        b->f->flags |= SONDE_PTX_CALLS;
    if (sonde__ptx_is(p, i.name, "brx"))
        b->f->flags |= SONDE_PTX_BRANCHES;
    if (ends_block(p, &i)) {
        b->open = false;
        return 0;
    }
    if (!access_of(p, &i, &a))
        return 0;
    if (!(to = ADD(p, ACCESSES, accesses, access_count)))
        return SONDE_ENOMEM;
    a.item = item;
    if (i.predicate.bytes || !b->open)
        b->f->blocks++;
    a.block = b->f->blocks - 1;
    b->open = !i.predicate.bytes;
    *to = a;
    b->f->accesses++;
    return 0;
}

/* Marks what lies between a label and a branch back to it. */
static void mark_loops(struct sonde_ptx *p, const struct sonde_ptx_function *f, uint32_t label, uint32_t branch)
{
    for (uint32_t k = f->first_access; k < f->first_access + f->accesses; k++)
        if (p->accesses[k].item > label && p->accesses[k].item < branch)
            p->accesses[k].flags |= SONDE_PTX_IN_LOOP;
}

static void find_loops(struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    struct instruction i;
    for (uint32_t at = f->open; at < f->close; at++) {
        if (p->items[at].kind != SONDE_PTX_STATEMENT || !sonde__ptx_parse(p, p->items[at].text, &i) || !sonde__ptx_is(p, i.name, "bra"))
            continue;
        const struct sonde_ptx_span target = sonde__ptx_word(p, &i.operands);
        for (uint32_t label = at; label-- > f->open;)
            if (p->items[label].kind == SONDE_PTX_LABEL && p->items[label].text.bytes == target.bytes &&
                memcmp(p->text + p->items[label].text.at, p->text + target.at, target.bytes) == 0) {
                mark_loops(p, f, label, at);
                break;
            }
    }
}

/* The body that opens behind the head at item `head`; *at: its last brace afterwards. */
static int read_function(struct sonde_ptx *p, uint32_t head, uint32_t *at)
{
    struct sonde_ptx_function *f = ADD(p, FUNCTIONS, functions, function_count);
    uint32_t place = 0;
    int depth = 0, rc = 0;
    if (!f)
        return SONDE_ENOMEM;
    *f = (struct sonde_ptx_function){.head = head, .open = head + 1, .first_access = p->access_count};
    if (read_head(p, &p->items[head], f))
        return fail(p, p->text + p->items[head].text.at, "a function has no name");
    struct body b = {.f = f};
    for (uint32_t k = head + 1; k < p->item_count && !rc; k++) {
        p->items[k].place = place;
        switch (p->items[k].kind) {
        case SONDE_PTX_OPEN: depth++; break;
        case SONDE_PTX_CLOSE: depth--; break;
        case SONDE_PTX_LABEL: b.open = false; break;
        case SONDE_PTX_DIRECTIVE: rc = read_directive(p, p->items[k].text, &place); break;
        default: rc = read_instruction(p, &b, k); break;
        }
        if (depth == 0) {
            *at = f->close = k;
            if (!rc)
                find_loops(p, f);
            return rc;
        }
    }
    return rc ? rc : fail(p, p->text + p->items[head].text.at, "a function has no body");
}

int sonde__ptx_read(struct sonde_ptx *p, const char *text, size_t bytes)
{
    uint32_t unused = 0;
    *p = (struct sonde_ptx){.text = text};
    const char *end = bytes ? memchr(text, 0, bytes) : text;
    end = end ? end : text + bytes;
    if ((size_t)(end - text) > TEXT_MAX)
        return SONDE_ENOMEM;
    int rc = ADD(p, PLACES, places, place_count) ? read_items(p, end) : SONDE_ENOMEM;
    for (uint32_t k = 0; k < p->item_count && !rc; k++) {
        if (p->items[k].kind == SONDE_PTX_DIRECTIVE)
            rc = read_directive(p, p->items[k].text, &unused);
        else if (p->items[k].kind == SONDE_PTX_HEAD)
            rc = read_function(p, k, &k);
    }
    return rc ? rc : (p->version ? 0 : fail(p, text, "no .version"));
}

void sonde__ptx_release(struct sonde_ptx *p)
{
    void *const list[] = {p->items, p->files, p->places, p->functions, p->accesses};
    for (int k = 0; k < 5; k++)
        sonde__pages_put(list[k], p->room[k]);
    *p = (struct sonde_ptx){0};
}

bool sonde__ptx_ends(const struct sonde_ptx *p, uint32_t item, struct sonde_ptx_span *predicate, bool *negated)
{
    struct instruction i;
    if (p->items[item].kind != SONDE_PTX_STATEMENT || !sonde__ptx_parse(p, p->items[item].text, &i) || (!sonde__ptx_is(p, i.name, "ret") && !sonde__ptx_is(p, i.name, "exit")))
        return false;
    *predicate = i.predicate;
    *negated = i.negated;
    return true;
}

bool sonde__ptx_ends_block(const struct sonde_ptx *p, uint32_t item)
{
    struct instruction i;
    return p->items[item].kind == SONDE_PTX_LABEL || (p->items[item].kind == SONDE_PTX_STATEMENT && sonde__ptx_parse(p, p->items[item].text, &i) && ends_block(p, &i));
}

struct sonde_ptx_span sonde__ptx_file(const struct sonde_ptx *p, uint32_t number)
{
    for (uint32_t k = 0; k < p->file_count; k++)
        if (p->files[k].number == number)
            return p->files[k].name;
    return (struct sonde_ptx_span){0};
}

/* …/targets/x86_64-linux/include/device_atomic_functions.hpp, …/nvidia/cu13/include/… */
static bool is_toolkits(const struct sonde_ptx *p, struct sonde_ptx_span file)
{
    const char *name = p->text + file.at;
    return memmem(name, file.bytes, "/include/", 9) && (memmem(name, file.bytes, "cuda", 4) || memmem(name, file.bytes, "nvidia", 6));
}

struct sonde_ptx_place sonde__ptx_line(const struct sonde_ptx *p, uint32_t item)
{
    struct sonde_ptx_place place = p->places[p->items[item].place];
    if (place.at_line && is_toolkits(p, sonde__ptx_file(p, place.file)))
        place = (struct sonde_ptx_place){.file = place.at_file, .line = place.at_line, .column = place.at_column};
    return place;
}
