/* patches_values.c - what patches find of values (--values-engine=sanitizer): their table, added up, becomes rows. See sanitizer.h. */
#include "sanitizer.h"

#ifdef SONDE_SANITIZER

#include "guest/memory.h"
#include "instrument/patch.h"

static struct sonde_value_line line_of(const struct sonde_patch_guessed *g, unsigned way)
{
    const struct sonde_patch_line *line = &g->line[way - 1];
    return line->slope ? (struct sonde_value_line){g->matching[way], (int64_t)line->slope, (int64_t)line->offset} : (struct sonde_value_line){0};
}

/* The value is of the access, the lines depend on the type. */
static void tell_guess(struct sonde_patch_seen *s)
{
    const struct sonde_patch_guessed *whole = &s->guessed[0], *half = &s->guessed[1];
    const struct sonde_value_guesses guesses = {
        .integers = line_of(whole, SONDE_PATCH_ON_INTEGERS),
        .reals = line_of(whole, SONDE_PATCH_ON_REALS),
        .integers4 = line_of(half, SONDE_PATCH_ON_INTEGERS),
        .reals4 = line_of(half, SONDE_PATCH_ON_REALS),
        .checked4 = half->checked,
        .equal4 = half->matching[SONDE_PATCH_EQUAL],
        .value4 = (uint32_t)half->value,
    };
    if (whole->checked && !s->guess_row)
        s->guess_row = sonde_value_guesses_add(s->row);
    sonde_value_guesses_seen(s->guess_row, &guesses);
}

/* False: its launch has not returned yet, so that it is not known where its code is; unless there is no other time. */
static bool tell(const struct sonde_cuda_place *place, struct sonde_patch_seen *s, bool last)
{
    struct sonde_patches_whose of = {.operation = s->operation};
    if (!s->row && !sonde__patches_whose(place, s->pc, &of) && !last)
        return false;
    const struct sonde_value_access access = {
        .operation = of.operation,
        .object = s->object,
        .number = of.number,
        .what = s->store ? SONDE_ACCESS_STORE : SONDE_ACCESS_LOAD,
        .type = SONDE_ELEMENT_BITS,
        .element_bytes = s->bytes,
    };
    const struct sonde_value_seen seen = {
        .elements = s->elements,
        .any = s->any,
        .all = s->all,
        .least = s->least,
        .most = s->most,
        .checked = s->guessed[0].checked,
        .equal = s->guessed[0].matching[SONDE_PATCH_EQUAL],
        .value = s->guessed[0].value,
    };
    struct sonde_value_bits bits;
    for (unsigned set = 0; set < 2; set++) {
        bits.whole[set] = (struct sonde_value_extent){s->whole[set].least, s->whole[set].most};
        bits.half[set] = (struct sonde_value_extent){s->half[set].least, s->half[set].most};
    }
    if (!s->row && (s->row = sonde_value_access_add(&access)))
        s->bits_row = sonde_value_bits_add(s->row);
    sonde_value_access_seen(s->row, &seen);
    sonde_value_bits_seen(s->bits_row, &bits);
    tell_guess(s);
    return true;
}

static bool read_table(struct sonde_cuda_place *place, void **state, void *table, bool last)
{
    static struct sonde_once said, said_unguessed;
    const struct sonde_patch_table *t = table;
    struct sonde_patch_all *all = *state ? *state : (*state = sonde__memory_get(sizeof *all));
    if (!all || !sonde__patch_sum(all, t)) {
        sonde_note("values: no memory for what some kernels found");
        return true;
    }
    bool told = true;
    for (uint32_t i = 0; i < all->count; i++)
        told &= tell(place, &all->seen[i], last);
    if (t->lost && sonde__once(&said))
        sonde_note("values: more accesses and objects than their table holds: some were not looked at");
    if (t->unguessed && sonde__once(&said_unguessed))
        sonde_note("values: more accesses and objects than guesses are kept of: of some, frequent values and lines are not known");
    return told;
}

static void missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group)
{
    (void)group;
    sonde_value_missed(operation, why, engine);
}

const struct sonde_patches_for sonde__patches_values = {
    .option = "values",
    .functions = {{SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, SONDE_PATCH_ACCESS},
                  {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, SONDE_PATCH_ASYNC, "asynchronous copies to shared memory"}},
    .table_bytes = sizeof(struct sonde_patch_table),
    .missed = missed,
    .read = read_table,
};

#endif
