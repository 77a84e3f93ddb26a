/* slice.c - what a kernel's loads and stores hold, from the instructions that use what was loaded or make what is stored (sass.h).
 *
 * As section 5 of Zhou, Hao, Mellor-Crummey, Meng, Liu: ValueExpert (ASPLOS 2022) has it: along definitions and uses, both ways. A
 * register is taken apart into webs: definitions that may reach one use are one web, with those that it is copied to. What any
 * instruction takes a web for holds for all of it. A web goes on from one block to another where the register is still read; so a
 * register that is used again for something else is another web.
 *
 * The webs are sets that are united (Tarjan, 1975), in one pass over the blocks.
 */
#include "sass.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>
#include <sonde/kinds.h>

#include "disassembly.h"

#define WORDS 4u /* bits of 256 registers */

struct block {
    uint32_t first, end;               /* instructions */
    uint32_t to, to_count;             /* where it goes on, in slice.edges */
    uint64_t reads[WORDS], writes[WORDS]; /* before they are written; for certain */
    uint64_t live[WORDS];              /* read later, as it begins */
    uint32_t *webs;                    /* by register, as it begins; NULL: none */
};

struct slice {
    const struct sonde__sass_code *code;
    struct block *blocks;
    uint32_t count;
    uint32_t *block_of;                /* instruction -> block */
    SONDE_VECTOR(uint32_t) edges;
    SONDE_VECTOR(struct web {
        uint32_t parent;
        unsigned as;
    }) webs;                           /* from 1 on */
    uint32_t (*held)[4];               /* instruction -> webs of what it loads or stores, by register; or NULL */
    bool failed;
};

/* ---- webs ------------------------------------------------------------------------------------------------ */

static uint32_t web_new(struct slice *s, unsigned as)
{
    const uint32_t id = (uint32_t)s->webs.count;
    s->failed |= sonde_vector_push(&s->webs, (struct web){id, as}) != 0;
    return s->failed ? 0 : id;
}

static uint32_t web_find(struct slice *s, uint32_t id)
{
    struct web *w = s->webs.items;
    while (w[id].parent != id)
        id = w[id].parent = w[w[id].parent].parent;
    return id;
}

/* 0: there is none yet. */
static uint32_t unite(struct slice *s, uint32_t a, uint32_t b)
{
    if (!a || !b)
        return a ? a : b;
    a = web_find(s, a);
    b = web_find(s, b);
    s->webs.items[b].parent = a;
    if (a != b)
        s->webs.items[a].as |= s->webs.items[b].as;
    return a;
}

/* ---- blocks ------------------------------------------------------------------------------------------------ */

static bool has_bit(const uint64_t *set, unsigned bit)
{
    return set[bit / 64] >> bit % 64 & 1;
}

static uint32_t place_of(const struct slice *s, uint32_t label)
{
    const uint32_t at = label ? s->code->places.items[label - 1] : UINT32_MAX;
    return at < s->code->instructions.count ? at : UINT32_MAX;
}

static bool goes_on(const struct sonde__sass_instruction *i)
{
    return i->guard || (i->flow != SONDE__SASS_JUMP && i->flow != SONDE__SASS_ANYWHERE && i->flow != SONDE__SASS_END);
}

static bool ends_block(const struct sonde__sass_instruction *i)
{
    return i->flow != SONDE__SASS_NEXT && i->flow != SONDE__SASS_CALL;
}

static int make_blocks(struct slice *s)
{
    const size_t count = s->code->instructions.count;
    const struct sonde__sass_instruction *all = s->code->instructions.items;
    uint8_t *begins = calloc(count + 1, 1);
    s->block_of = malloc((count + 1) * sizeof *s->block_of);
    if (!begins || !s->block_of) {
        free(begins);
        return SONDE_ENOMEM;
    }
    begins[0] = 1;
    for (size_t i = 0; i < s->code->places.count; i++)
        if (s->code->places.items[i] < count)
            begins[s->code->places.items[i]] = 1;
    for (size_t i = 0; i < count; i++)
        begins[i + 1] |= ends_block(&all[i]);
    for (size_t i = 0; i < count; i++)
        s->block_of[i] = (s->count += begins[i]) - 1;
    s->blocks = calloc(s->count, sizeof *s->blocks);
    for (size_t i = 0; i < count && s->blocks; i++) {
        struct block *b = &s->blocks[s->block_of[i]];
        b->first = begins[i] ? (uint32_t)i : b->first;
        b->end = (uint32_t)i + 1;
    }
    free(begins);
    return s->blocks ? 0 : SONDE_ENOMEM;
}

static void add_edge(struct slice *s, struct block *from, uint32_t instruction)
{
    if (instruction >= s->code->instructions.count)
        return;
    s->failed |= sonde_vector_push(&s->edges, s->block_of[instruction]) != 0;
    from->to_count++;
}

/* Is the next instruction where the threads of the barrier go on? A barrier's number is used again elsewhere. */
static bool meets_at(const struct slice *s, uint8_t barrier, uint32_t next)
{
    const struct sonde__sass_instruction *all = s->code->instructions.items;
    for (uint32_t i = next; i-- > 0;)
        if (all[i].barrier == barrier && all[i].label && place_of(s, all[i].label) == next)
            return true;
    return false;
}

/* Of a barrier, the labels at which its threads may go on; 0: all labels. */
static void add_labels(struct slice *s, struct block *from, uint8_t barrier)
{
    const struct sonde__sass_instruction *all = s->code->instructions.items;
    if (!barrier)
        for (size_t i = 0; i < s->code->places.count; i++)
            add_edge(s, from, s->code->places.items[i]);
    for (size_t i = 0; i < s->code->instructions.count && barrier; i++)
        if (all[i].barrier == barrier && all[i].label)
            add_edge(s, from, place_of(s, all[i].label));
}

static void add_edges(struct slice *s, struct block *b)
{
    const struct sonde__sass_instruction *last = &s->code->instructions.items[b->end - 1];
    b->to = (uint32_t)s->edges.count;
    if (goes_on(last))
        add_edge(s, b, b->end);
    if (last->flow == SONDE__SASS_JUMP || last->flow == SONDE__SASS_ALSO)
        add_edge(s, b, place_of(s, last->label));
    else if (last->flow == SONDE__SASS_ANYWHERE || (last->flow == SONDE__SASS_MEET && !meets_at(s, last->barrier, b->end)))
        add_labels(s, b, last->flow == SONDE__SASS_MEET ? last->barrier : 0);
}

/* ---- functions that are called ------------------------------------------------------------------------------- */

/* The registers that a function writes, with those of what it calls. Of one that is not in this code: those in which results are. */
static void written_by(const struct slice *s, uint32_t label, unsigned depth, uint64_t *set)
{
    const uint32_t place = place_of(s, label);
    uint32_t end = (uint32_t)s->code->instructions.count;
    for (unsigned r = 4; r < 16 && place == UINT32_MAX; r++)
        set[0] |= 1ull << r;
    for (size_t i = s->code->functions.count; i-- > 0;)
        if (place != UINT32_MAX && s->code->functions.items[i] > place)
            end = s->code->functions.items[i];
    for (uint32_t i = place; i < end; i++) {
        const struct sonde__sass_instruction *one = &s->code->instructions.items[i];
        for (uint32_t k = one->first; k < one->first + one->count; k++)
            if (s->code->registers.items[k].written)
                set[s->code->registers.items[k].number / 64] |= 1ull << s->code->registers.items[k].number % 64;
        if (one->flow == SONDE__SASS_CALL && depth)
            written_by(s, one->label, depth - 1, set);
    }
}

/* ---- what is read later ------------------------------------------------------------------------------------------ */

static void read_block(struct slice *s, struct block *b)
{
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct sonde__sass_instruction *one = &s->code->instructions.items[i];
        for (uint32_t k = one->first; k < one->first + one->count; k++) {
            const struct sonde__sass_register *r = &s->code->registers.items[k];
            const uint64_t bit = 1ull << r->number % 64;
            if (!r->written && !(b->writes[r->number / 64] & bit))
                b->reads[r->number / 64] |= bit;
            else if (r->written && !one->guard && !(r->as & SONDE__SASS_ANYTHING))
                b->writes[r->number / 64] |= bit;
        }
        if (one->flow == SONDE__SASS_CALL && !one->guard)
            written_by(s, one->label, 4, b->writes);
    }
}

static bool spread(struct slice *s, struct block *b)
{
    bool more = false;
    for (unsigned w = 0; w < WORDS; w++) {
        uint64_t live = 0;
        for (uint32_t k = 0; k < b->to_count; k++)
            live |= s->blocks[s->edges.items[b->to + k]].live[w];
        live = b->reads[w] | (live & ~b->writes[w]);
        more |= live != b->live[w];
        b->live[w] = live;
    }
    return more;
}

static void find_live(struct slice *s)
{
    bool more = true;
    for (uint32_t i = 0; i < s->count; i++)
        read_block(s, &s->blocks[i]);
    while (more) {
        more = false;
        for (uint32_t i = s->count; i-- > 0;)
            more |= spread(s, &s->blocks[i]);
    }
}

/* ---- webs of a block ----------------------------------------------------------------------------------------------- */

/* What a register holds: where it was written under a predicate, `web`, and when that is false `other`, of before. */
struct holds {
    uint32_t web, other;
    uint8_t guard; /* 0: `web` in any case */
};

struct walk {
    struct slice *s;
    struct holds now[SONDE__SASS_REGISTERS + 1];
};

static void settle(struct walk *w, struct holds *h)
{
    if (h->guard)
        *h = (struct holds){.web = unite(w->s, h->web, h->other)};
}

/* The web that a read of it sees. */
static uint32_t seen(struct walk *w, unsigned number, uint8_t guard)
{
    struct holds *h = &w->now[number];
    if (h->guard && h->guard != guard)
        settle(w, h);
    if (!h->web)
        h->web = web_new(w->s, 0);
    return h->web;
}

static bool is_constant(unsigned as)
{
    return (as & ~SONDE__SASS_READ) == SONDE__SASS_CONSTANT;
}

/* A constant is to each who reads it something of its own: 4 is a size here, and a value there. */
static uint32_t read_web(struct walk *w, unsigned number, uint8_t guard)
{
    const uint32_t web = seen(w, number, guard);
    const bool shared = !w->s->failed && is_constant(w->s->webs.items[web_find(w->s, web)].as);
    return shared ? web_new(w->s, SONDE__SASS_CONSTANT) : web;
}

/* What goes on where the guard held. */
static uint32_t left_by(struct walk *w, unsigned number, uint8_t guard)
{
    struct holds *h = &w->now[number];
    if (!guard || !h->guard || (h->guard ^ guard) > 1)
        return seen(w, number, 0);
    if (h->guard == guard)
        return h->web;
    if (!h->other)
        h->other = web_new(w->s, 0);
    return h->other;
}

static void put(struct walk *w, unsigned number, uint8_t guard, uint32_t web)
{
    struct holds *h = &w->now[number];
    if (!guard)
        *h = (struct holds){.web = web};
    else if (h->guard && guard != UINT8_MAX && (h->guard ^ guard) == 1) /* once this, once that: nothing of before is left */
        *h = (struct holds){.web = web, .other = h->web, .guard = guard};
    else if (h->guard != guard || guard == UINT8_MAX) {
        settle(w, h);
        *h = (struct holds){.web = web, .other = h->web, .guard = guard};
    } else
        h->web = web;
}

static void take(struct walk *w, const struct sonde__sass_instruction *one, const struct sonde__sass_register *r, uint32_t *copies, uint32_t *held,
                 unsigned *data)
{
    const bool is_data = one->bytes && r->written != one->store && !(r->as & SONDE__SASS_ADDRESS);
    uint32_t web;
    if (r->as & SONDE__SASS_ANYTHING) {
        web = seen(w, r->number, one->guard);
        w->s->webs.items[web_find(w->s, web)].as |= r->as;
        return;
    }
    web = r->written ? web_new(w->s, r->as) : read_web(w, r->number, one->guard);
    if (w->s->failed)
        return;
    if (r->copy)
        copies[r->copy] = unite(w->s, copies[r->copy], web);
    w->s->webs.items[web_find(w->s, web)].as |= r->as | (r->written ? 0 : SONDE__SASS_READ);
    if (r->written)
        put(w, r->number, one->guard, web);
    if (is_data && held && *data < 4)
        held[(*data)++] = web;
}

static void call(struct walk *w, const struct sonde__sass_instruction *one)
{
    uint64_t written[WORDS] = {0};
    written_by(w->s, one->label, 4, written);
    for (unsigned r = 0; r < SONDE__SASS_REGISTERS; r++)
        if (has_bit(written, r))
            put(w, r, one->guard, web_new(w->s, 0));
}

static void forget_predicates(struct walk *w, uint8_t predicates)
{
    for (unsigned r = 0; r < SONDE__SASS_REGISTERS && predicates; r++) {
        struct holds *h = &w->now[r];
        if (h->guard && (h->guard == UINT8_MAX || predicates >> ((h->guard - 2u) / 2) & 1))
            settle(w, h);
    }
}

static void walk_block(struct walk *w, struct block *b)
{
    struct slice *s = w->s;
    for (unsigned r = 0; r < SONDE__SASS_REGISTERS; r++)
        w->now[r] = (struct holds){.web = b->webs ? b->webs[r] : 0};
    for (uint32_t i = b->first; i < b->end && !s->failed; i++) {
        const struct sonde__sass_instruction *one = &s->code->instructions.items[i];
        uint32_t copies[3] = {0};
        unsigned data = 0;
        for (uint32_t k = one->first; k < one->first + one->count && !s->failed; k++)
            take(w, one, &s->code->registers.items[k], copies, s->held[i], &data);
        if (one->flow == SONDE__SASS_CALL)
            call(w, one);
        forget_predicates(w, one->predicates);
    }
}

/* What is live goes on in the blocks behind: with a guard, on the first way where it did not hold, on the second where it did. */
static void hand_on(struct walk *w, const struct block *b)
{
    const struct sonde__sass_instruction *last = &w->s->code->instructions.items[b->end - 1];
    const bool splits = last->guard && last->guard != UINT8_MAX && (last->flow == SONDE__SASS_JUMP || last->flow == SONDE__SASS_END);
    for (uint32_t k = 0; k < b->to_count; k++) {
        struct block *to = &w->s->blocks[w->s->edges.items[b->to + k]];
        const uint8_t guard = !splits ? 0 : (k ? last->guard : last->guard ^ 1);
        for (unsigned r = 0; r < SONDE__SASS_REGISTERS && !w->s->failed; r++)
            if (has_bit(to->live, r))
                to->webs[r] = unite(w->s, to->webs[r], left_by(w, r, guard));
    }
}

static int find_webs(struct slice *s)
{
    struct walk w = {.s = s};
    const size_t count = s->code->instructions.count;
    s->held = calloc(count ? count : 1, sizeof *s->held);
    web_new(s, 0); /* 0 is none */
    for (uint32_t i = 0; i < s->count && s->held; i++)
        if (!(s->blocks[i].webs = calloc(SONDE__SASS_REGISTERS + 1, sizeof *s->blocks[i].webs)))
            return SONDE_ENOMEM;
    for (uint32_t i = 0; i < s->count && s->held && !s->failed; i++) {
        struct block *b = &s->blocks[i];
        for (unsigned r = 0; r < SONDE__SASS_REGISTERS && !s->failed; r++) /* before anything comes from elsewhere */
            if (has_bit(b->live, r) && !b->webs[r])
                b->webs[r] = web_new(s, 0);
        if (s->failed)
            break;
        walk_block(&w, b);
        hand_on(&w, b);
    }
    return !s->held || s->failed ? SONDE_ENOMEM : 0;
}

/* ---- types ------------------------------------------------------------------------------------------------------------- */

struct type {
    uint8_t type, bytes; /* enum sonde_element, of an element; BITS: not known */
};

#define REAL  (SONDE__SASS_FLOAT | SONDE__SASS_DOUBLE_LOW | SONDE__SASS_DOUBLE_HIGH | SONDE__SASS_HALF | SONDE__SASS_BRAIN)
#define SMALL (SONDE__SASS_HALF | SONDE__SASS_BRAIN)

static uint8_t integer_of(unsigned as)
{
    return as & SONDE__SASS_UNSIGNED && !(as & SONDE__SASS_SIGNED) ? SONDE_ELEMENT_UNSIGNED : SONDE_ELEMENT_SIGNED;
}

/* Of one register, or a part of it. */
static struct type type_of(unsigned as, uint8_t bytes)
{
    const struct type none = {SONDE_ELEMENT_BITS, bytes};
    const unsigned real = as & REAL;
    if (as & (SONDE__SASS_ANYTHING | SONDE__SASS_ADDRESS | SONDE__SASS_DOUBLE_LOW | SONDE__SASS_DOUBLE_HIGH) || (as & SONDE__SASS_INTEGER && real))
        return none;
    if (real == SONDE__SASS_FLOAT)
        return bytes == 4 ? (struct type){SONDE_ELEMENT_FLOAT, 4} : none;
    if (real == SONDE__SASS_HALF && bytes >= 2)
        return (struct type){SONDE_ELEMENT_FLOAT, 2};
    if (real == SONDE__SASS_BRAIN && bytes >= 2)
        return (struct type){SONDE_ELEMENT_BFLOAT, 2};
    if (!real && as & (SONDE__SASS_INTEGER | SONDE__SASS_MAYBE))
        return (struct type){integer_of(as), bytes};
    return none;
}

/* Of a pair: one of 64 bits, else BITS. What is done to a half of a double by itself does not count. */
static struct type type_of_pair(unsigned low, unsigned high)
{
    const unsigned both = low | high;
    if (both & (SONDE__SASS_ANYTHING | SONDE__SASS_ADDRESS))
        return (struct type){SONDE_ELEMENT_BITS, 8};
    if (low & SONDE__SASS_DOUBLE_LOW && high & SONDE__SASS_DOUBLE_HIGH && !(low & SONDE__SASS_DOUBLE_HIGH) && !(high & SONDE__SASS_DOUBLE_LOW))
        return (struct type){SONDE_ELEMENT_FLOAT, 8};
    if (high & SONDE__SASS_WIDE_HIGH && !(both & REAL))
        return (struct type){integer_of(high), 8};
    return (struct type){SONDE_ELEMENT_BITS, 8};
}

static bool same(struct type a, struct type b)
{
    return a.type == b.type && a.bytes == b.bytes;
}

/* Constants, and what nobody reads, go with what they are loaded or stored with. */
static bool is_any(unsigned as)
{
    return is_constant(as) || as == 0;
}

/* All pairs one type, or all registers. */
static struct type type_of_all(const unsigned *as, unsigned count)
{
    const struct type none = {SONDE_ELEMENT_BITS, (uint8_t)(count > 1 ? 8 : 4)};
    struct type found = none;
    bool known = false;
    for (unsigned i = 0; i + 1 < count; i += 2) {
        const struct type t = type_of_pair(as[i], as[i + 1]);
        if (is_any(as[i]) && is_any(as[i + 1]))
            continue;
        if (t.type == SONDE_ELEMENT_BITS || (known && !same(t, found))) {
            known = false;
            break;
        }
        found = t;
        known = true;
    }
    if (known)
        return found;
    for (unsigned i = 0; i < count; i++) {
        const struct type t = type_of(as[i], 4);
        if (is_any(as[i]))
            continue;
        if (t.type == SONDE_ELEMENT_BITS || (known && !same(t, found)))
            return none;
        found = t;
        known = true;
    }
    return known ? found : none;
}

static void tell(struct slice *s, uint32_t i, const char *kernel, sonde__sass_fn fn, void *user)
{
    const struct sonde__sass_instruction *one = &s->code->instructions.items[i];
    struct sonde__sass_access a = {.number = one->at / SONDE__SASS_INSTRUCTION, .bytes = one->bytes, .store = one->store};
    unsigned as[4] = {0};
    struct type t = {SONDE_ELEMENT_BITS, one->bytes < 8 ? one->bytes : 8};
    for (unsigned k = 0; k < 4; k++)
        as[k] = s->held[i][k] ? s->webs.items[web_find(s, s->held[i][k])].as : 0;
    if (one->bytes >= 4 && one->bytes <= 16)
        t = type_of_all(as, one->bytes / 4);
    else if (one->bytes < 4 && one->is_signed)
        t.type = SONDE_ELEMENT_SIGNED;
    else if (one->bytes < 4) {
        t = type_of(as[0], one->bytes);
        if (!one->store && t.type == SONDE_ELEMENT_SIGNED) /* it was filled up with zeros */
            t.type = SONDE_ELEMENT_UNSIGNED;
    }
    a.type = t.type;
    a.element_bytes = t.bytes;
    fn(user, kernel, &a);
}

static void slice_fini(struct slice *s)
{
    for (uint32_t i = 0; i < s->count && s->blocks; i++)
        free(s->blocks[i].webs);
    free(s->blocks);
    free(s->block_of);
    free(s->held);
    sonde_vector_fini(&s->edges);
    sonde_vector_fini(&s->webs);
}

static int slice(const struct sonde__sass_code *code, const char *kernel, sonde__sass_fn fn, void *user)
{
    struct slice s = {.code = code};
    int rc = code->failed ? SONDE_ENOMEM : 0;
    if (rc || !code->instructions.count)
        return rc;
    rc = make_blocks(&s);
    for (uint32_t i = 0; i < s.count && !rc; i++)
        add_edges(&s, &s.blocks[i]);
    if (!rc && !s.failed)
        find_live(&s);
    rc = rc ? rc : (s.failed ? SONDE_ENOMEM : find_webs(&s));
    for (uint32_t i = 0; i < code->instructions.count && !rc; i++)
        if (code->instructions.items[i].bytes)
            tell(&s, i, kernel, fn, user);
    slice_fini(&s);
    return rc;
}

/* ---- a text -------------------------------------------------------------------------------------------------------------- */

int sonde__sass_accesses(FILE *text, sonde__sass_fn fn, void *user)
{
    struct sonde__sass_code code = {0};
    char *line = NULL, *name = NULL;
    size_t room = 0;
    int rc = 0;
    while (!rc && getline(&line, &room, text) > 0) {
        char *next = NULL;
        if (sonde__disassembly_section(line, &next)) { /* another begins */
            rc = name ? slice(&code, name, fn, user) : 0;
            sonde__sass_fini(&code);
            free(name);
            name = next;
        } else if (name) {
            sonde__sass_line(&code, line);
        }
    }
    rc = rc ? rc : (name ? slice(&code, name, fn, user) : 0);
    sonde__sass_fini(&code);
    free(name);
    free(line);
    return rc;
}
