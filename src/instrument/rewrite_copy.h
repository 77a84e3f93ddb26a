/* rewrite_copy.h - the copy of a kernel that is being written (rewrite.c), for the files that put something into it.
 *
 * Threads: any; it is the caller's.
 */
#ifndef SONDE_INSTRUMENT_REWRITE_COPY_H
#define SONDE_INSTRUMENT_REWRITE_COPY_H

#include "flow.h"
#include "rewrite.h"

#define SONDE_PTX_REGISTERS_MAX 64u /* declarations in a function: nvcc makes one for each type */
#define SONDE_PTX_SCOPES_MAX    16u /* braces in braces */
#define SONDE_PTX_RELAXED_TARGET 70u /* ld.relaxed */
#define SONDE_PTX_REDUX_TARGET   80u /* redux.sync: PTX ISA 9.7.9.23, sm_80 and later */

#define SONDE_PTX_CACHE_LINE 128u /* bytes */

struct registers {
    struct declared {
        struct sonde_ptx_span name;
        bool many;     /* NAME<N>: NAME0, NAME1, … */
        uint8_t bytes; /* 0: a predicate */
    } list[SONDE_PTX_REGISTERS_MAX];
    uint32_t count;
    uint32_t outside[SONDE_PTX_SCOPES_MAX], scopes; /* how many there were when each brace opened */
};

struct copy {
    const struct sonde_ptx *p;
    const struct sonde_ptx_function *f;
    struct sonde_ptx_text *out;
    uint32_t plan, every;
    bool again;      /* its code is put for the second time: for blocks that are not looked at */
    uint32_t access; /* the next one */
    uint32_t block;  /* the last one that was counted, + 1 */
    struct registers registers;
    uint32_t watched, watches;         /* accesses of this block whose guesses have not been looked at: bits; how often that was done */
    uint32_t kept[SONDE_PTX_GUESSES];  /* elements of each: bits */
    uint32_t checked;           /* accesses so far that are looked at by their address */
    struct sonde_ptx_flow flow; /* SONDE_PLAN_SETS, SONDE_PLAN_GUESSES, SONDE_PLAN_REMOTE */
};

void sonde__ptx_put(struct sonde_ptx_text *t, const char *from, size_t bytes);
__attribute__((format(printf, 2, 3))) void sonde__ptx_say(struct sonde_ptx_text *t, const char *format, ...); /* 511 bytes at the most */
#define put sonde__ptx_put /* the text of a copy is mostly these */
#define say sonde__ptx_say
static inline void put_span(struct sonde_ptx_text *t, const struct sonde_ptx *p, struct sonde_ptx_span s)
{
    put(t, p->text + s.at, s.bytes);
}

/* Of what has none, or is too wide, nothing is kept. */
static inline bool sonde__ptx_has_values(const struct copy *c, const struct sonde_ptx_access *a)
{
    return c->plan & SONDE_PLAN_VALUES && a->values.bytes && a->element_bytes <= 8;
}

/* Loads and stores have no types for halves: these are bits. */
static inline bool sonde__ptx_is_real(const struct sonde_ptx_access *a)
{
    return a->type == SONDE_PTX_FLOAT;
}

/* How memory is read that others write meanwhile. */
static inline const char *sonde__ptx_shared_load(const struct copy *c)
{
    return c->p->target >= SONDE_PTX_RELAXED_TARGET ? "ld.relaxed.gpu.global" : "ld.volatile.global";
}

/* Executed at most once by a thread: no branch back spans it. Its count says whether it was. */
bool sonde__ptx_is_once(const struct copy *c, const struct sonde_ptx_access *a);

/* The sum of a 32-bit register over the lanes that end together, by one of them, to [%sonde_p+at]; behind sonde__ptx_lanes.
 * %sonde_below are the lanes below this one: none for the one that adds. Where ptxas sees that lanes add the same number, it has them summed
 * again, at ten instructions: SONDE_PTX_OWN has it not see that. */
void sonde__ptx_lanes(struct copy *c);
void sonde__ptx_sum(struct copy *c, const char *what, size_t at);
#define SONDE_PTX_OWN "or.b32 %%sonde_lo, %%sonde_lo, %%sonde_below;\ncvt.u64.u32 %%sonde_n, %%sonde_lo;\n"

/* ---- remote memory (rewrite_remote.c); both do nothing where no access is looked at ---- */

static inline bool sonde__ptx_has_table(const struct copy *c)
{
    return sonde__ptx_takes_table(c->f, &c->flow, c->plan);
}

/* At the kernel's beginning; before an access. */
void sonde__ptx_remote_start(struct copy *c);
void sonde__ptx_remote(struct copy *c, const struct sonde_ptx_access *a, uint32_t k);

/* ---- blocks (rewrite_blocks.c) ---- */

/* Where not all blocks are looked at: the others branch to $sonde_other. And is the item a declaration that stands there already? */
void sonde__ptx_blocks_start(struct copy *c);
bool sonde__ptx_is_declared(const struct copy *c, const struct sonde_ptx_item *i);

/* ---- guesses (rewrite_guess.c; rewrite_read.c has the host's side); all do nothing where there is none ---- */

/* Of so many accesses, from the first on. */
static inline uint32_t sonde__ptx_guesses(const struct sonde_ptx_function *f)
{
    return f->accesses < SONDE_PTX_GUESSES ? f->accesses : SONDE_PTX_GUESSES;
}

/* At the kernel's beginning; before an access; behind each of its elements, number `element`, whose bits are in %sonde_v or %sonde_w; where
 * a basic block ends, or what a predicate guards begins or ends; at the kernel's end, with the counts, and behind all else. */
void sonde__ptx_guess_start(struct copy *c);
void sonde__ptx_guess_index(struct copy *c, const struct sonde_ptx_access *a, uint32_t k);
void sonde__ptx_guess_element(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, uint32_t element);
void sonde__ptx_guess_watch(struct copy *c);
void sonde__ptx_guess_found(struct copy *c);
void sonde__ptx_guess_end(struct copy *c);

#endif
