/* values.c - what operations did to the values of data objects: sums by operation (in its calling context) and object.
 */
#include "store.h"

#include <fnmatch.h>
#include <string.h>

#include "agent/state/state.h"
#include "guest/once.h"
#include "table.h"

#define MISSED (1u << 31) /* in the place of the object: the reason */

/* Under table_lock. */
static struct sonde_map rows;     /* node << 32 | object -> row */
static struct sonde_map duplicates; /* of (node, object, other) -> row */
static struct sonde_map flows;      /* of (from, to, object, how) -> row */
static struct sonde_map said_so;    /* what code says, of (operation, site, file, line, element) -> 1 */
static struct sonde_map writers;    /* object -> who wrote it last */
static struct sonde_map launches; /* of (node, shape) -> how many so far */
static struct sonde_map named;    /* kernel's name -> is it asked for? 1 no, 2 yes */

static struct { /* of the host's memory */
    _Atomic uint64_t bytes;                     /* that are taken */
    _Atomic uint64_t refused, refused_until_ns; /* as many are not to be had: it is not asked again at each operation */
} host;

void sonde__values_init(void)
{
    memset(&rows, 0, sizeof rows);
    memset(&duplicates, 0, sizeof duplicates);
    memset(&flows, 0, sizeof flows);
    memset(&said_so, 0, sizeof said_so);
    memset(&writers, 0, sizeof writers);
    memset(&launches, 0, sizeof launches);
    memset(&named, 0, sizeof named);
    memset(&host, 0, sizeof host); /* what a parent took is the parent's */
}

bool sonde_values_wanted(unsigned what)
{
    return sonde__agent.config.values & what;
}

uint64_t sonde_values_memory(void)
{
    return sonde__agent.config.values_bytes;
}

/* Without --values-host-memory: a quarter of what would be available without them. It is asked anew for each: others take memory, too, and of
 * several processes on a machine none takes what the program will need. */
static uint64_t most_on_host(uint64_t taken)
{
    const uint64_t asked = sonde__agent.config.values_host_bytes;
    return asked != SONDE_VALUES_HOST_QUARTER ? asked : sonde__memory_available("") / 4 + taken / 4;
}

bool sonde_values_host_take(uint64_t bytes)
{
    enum { AGAIN_NS = 1000000000 };
    static struct sonde_once said;
    const uint64_t now = sonde_now_ns();
    if (now < atomic_load(&host.refused_until_ns) && bytes >= atomic_load(&host.refused))
        return false;
    uint64_t taken = atomic_load(&host.bytes);
    const uint64_t most = most_on_host(taken);
    do
        if (taken > most || bytes > most - taken) {
            atomic_store(&host.refused, bytes);
            atomic_store(&host.refused_until_ns, now + AGAIN_NS);
            return false;
        }
    while (!atomic_compare_exchange_weak(&host.bytes, &taken, taken + bytes));
    if (sonde__once(&said))
        sonde_note("values: the device had no memory left for copies (--values-memory): some are in the host's, and are compared over the bus");
    return true;
}

void sonde_values_host_give(uint64_t bytes)
{
    atomic_fetch_sub(&host.bytes, bytes);
    atomic_store(&host.refused_until_ns, 0);
}

/* ---- which launches ---------------------------------------------------------------------- */

static bool matches(const char *list, const char *name)
{
    char pattern[sizeof sonde__agent.config.values_kernel];
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        memcpy(pattern, list, length);
        pattern[length] = 0;
        if (length && fnmatch(pattern, name, 0) == 0)
            return true;
    }
    return false;
}

static bool is_asked_for(uint32_t name)
{
    char text[4096];
    size_t length = 0;
    const uint64_t *known = sonde__map_find(&named, name);
    if (known)
        return *known == 2;
    const char *bytes = name ? sonde__string_bytes(name, &length) : "";
    length = length < sizeof text - 1 ? length : sizeof text - 1;
    memcpy(text, bytes, length);
    text[length] = 0;
    const bool asked = matches(sonde__agent.config.values_kernel, text);
    if (name && sonde__map_room(&named, &sonde__agent.heap))
        sonde__map_add(&named, &sonde__agent.heap, name, asked ? 2 : 1);
    return asked;
}

/* How many there were before; without room for another: none. */
static uint64_t launches_before(uint64_t key)
{
    uint64_t *count = sonde__map_find(&launches, key | 1);
    if (!count && sonde__map_room(&launches, &sonde__agent.heap)) {
        sonde__map_add(&launches, &sonde__agent.heap, key | 1, 0);
        count = sonde__map_find(&launches, key | 1);
    }
    return count ? (*count)++ : 0;
}

static bool is_chosen(uint32_t operation, uint64_t shape)
{
    const struct sonde_config *c = &sonde__agent.config;
    const uint64_t before = launches_before(sonde__map_hash(shape ^ sonde__map_hash(operation)));
    return (c->values_of ? before % c->values_of : before) < c->values_first;
}

/* Of each M the first N from a place on that nobody knows, of the first ones from the first on. */
static bool is_scattered(uint32_t operation)
{
    const struct sonde_config *c = &sonde__agent.config;
    const uint64_t before = launches_before(sonde__map_hash(~(uint64_t)operation)), of = c->values_of;
    const uint64_t from = of && before / of ? sonde__map_hash(before / of) % of : 0;
    return (of ? (before % of + of - from) % of : before) < c->values_first;
}

bool sonde_value_scattered(uint32_t operation)
{
    if (!sonde__agent.config.values_first || !sonde__agent_here())
        return true;
    sonde__lock(&sonde__agent.table_lock);
    const bool scattered = is_scattered(operation);
    sonde__unlock(&sonde__agent.table_lock);
    return scattered;
}

bool sonde_value_asked(uint32_t name)
{
    if (!*sonde__agent.config.values_kernel || !sonde__agent_here())
        return true;
    sonde__lock(&sonde__agent.table_lock);
    const bool asked = is_asked_for(name);
    sonde__unlock(&sonde__agent.table_lock);
    return asked;
}

enum sonde_value_missed sonde_value_choose(uint32_t operation, uint32_t name, uint64_t shape)
{
    if (!sonde_value_asked(name))
        return SONDE_VALUE_MISSED_KERNEL;
    if (!sonde__agent.config.values_first || !sonde__agent_here())
        return SONDE_VALUE_MISSED_NONE;
    sonde__lock(&sonde__agent.table_lock);
    const bool chosen = is_chosen(operation, shape);
    sonde__unlock(&sonde__agent.table_lock);
    return chosen ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_SAMPLE;
}

uint32_t sonde_values_every(void)
{
    return (uint32_t)sonde__agent.config.values_blocks;
}

/* ---- what was found ---------------------------------------------------------------------- */

/* Under table_lock; NULL: no room. */
static struct sonde_row_value *row_for(uint32_t node, uint32_t what)
{
    const uint64_t key = (uint64_t)node << 32 | what, *known = sonde__map_find(&rows, key);
    uint32_t id = known ? (uint32_t)*known : 0;
    if (known)
        return sonde__table_find(SONDE_TABLE_VALUE, sizeof(struct sonde_row_value), id);
    struct sonde_row_value *row = sonde__map_room(&rows, &sonde__agent.heap) ? ROW_ADD(VALUE, struct sonde_row_value, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_value){.node = node, .object = what & MISSED ? 0 : what, .missed = (uint16_t)(what & MISSED ? what & ~MISSED : 0)};
    sonde__row_commit(SONDE_TABLE_VALUE);
    sonde__map_add(&rows, &sonde__agent.heap, key, id);
    return row;
}

void sonde_value_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine)
{
    if (!operation || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_value *row = row_for(operation, MISSED | why);
    if (row) {
        row->operations++;
        row->flags |= (uint16_t)(1u << engine);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all operations and objects");
}

void sonde_value_blocks(uint32_t operation, uint64_t blocks, uint64_t looked_at)
{
    if (!operation || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_value *row = row_for(operation, MISSED | SONDE_VALUE_MISSED_NONE);
    if (row) {
        row->elements1 += blocks;
        row->elements2 += looked_at;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

void sonde_value_changed(const struct sonde_value_change *change)
{
    if (!change->operation || !change->object || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_value *row = row_for(change->operation, change->object);
    if (row) {
        row->flags |= (uint16_t)((change->maybe ? SONDE_VALUE_MAYBE : 0) | (change->raced ? SONDE_VALUE_RACED : 0));
        row->element_bytes = change->element_bytes;
        row->operations += change->operations;
        row->bytes += change->bytes;
        row->elements1 += change->elements[0];
        row->elements2 += change->elements[1];
        row->elements4 += change->elements[2];
        row->elements8 += change->elements[3];
        row->unchanged1 += change->unchanged[0];
        row->unchanged2 += change->unchanged[1];
        row->unchanged4 += change->unchanged[2];
        row->unchanged8 += change->unchanged[3];
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all operations and objects");
}

void sonde_value_duplicate(uint32_t operation, uint32_t object, uint32_t other, uint64_t bytes)
{
    uint32_t id = 0;
    if (!operation || !object || !other || !sonde__agent_here())
        return;
    const uint64_t key = sonde__map_hash((uint64_t)object << 32 | other) ^ operation;
    sonde__lock(&sonde__agent.table_lock);
    const uint64_t *known = sonde__map_find(&duplicates, key);
    struct sonde_row_duplicate *row = known ? sonde__table_find(SONDE_TABLE_DUPLICATE, sizeof *row, (uint32_t)*known)
                                      : sonde__map_room(&duplicates, &sonde__agent.heap)
                                          ? ROW_ADD(DUPLICATE, struct sonde_row_duplicate, &id)
                                          : NULL;
    if (row && !known) {
        *row = (struct sonde_row_duplicate){.node = operation, .object = object, .other = other};
        sonde__row_commit(SONDE_TABLE_DUPLICATE);
        sonde__map_add(&duplicates, &sonde__agent.heap, key, id);
    }
    if (row) {
        row->operations++;
        row->bytes += bytes;
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all operations and objects");
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_flow *flow_for(uint32_t from, uint32_t to, uint32_t object, unsigned how)
{
    uint32_t id = 0;
    const uint64_t key = sonde__map_hash((uint64_t)from << 32 | to) ^ sonde__map_hash((uint64_t)object << 8 | how);
    const uint64_t *known = sonde__map_find(&flows, key | 1);
    if (known)
        return sonde__table_find(SONDE_TABLE_FLOW, sizeof(struct sonde_row_flow), (uint32_t)*known);
    struct sonde_row_flow *row = sonde__map_room(&flows, &sonde__agent.heap) ? ROW_ADD(FLOW, struct sonde_row_flow, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_flow){.from = from, .to = to, .object = object, .how = how};
    sonde__row_commit(SONDE_TABLE_FLOW);
    sonde__map_add(&flows, &sonde__agent.heap, key | 1, id);
    return row;
}

void sonde_value_flow(uint32_t operation, uint32_t object, uint64_t bytes, unsigned how)
{
    if (!operation || !object || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    uint64_t *last = sonde__map_find(&writers, object);
    struct sonde_row_flow *row = flow_for(last ? (uint32_t)*last : 0, operation, object, how);
    if (row) {
        row->operations++;
        row->bytes += bytes;
    }
    if (how & SONDE_FLOW_WRITE && last)
        *last = operation;
    else if (how & SONDE_FLOW_WRITE && sonde__map_room(&writers, &sonde__agent.heap))
        sonde__map_add(&writers, &sonde__agent.heap, object, operation);
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all operations and objects");
}

/* What the code of an operation says of the objects of a site: a row without elements, once. Without room it stays unknown. */
static void add_said(struct sonde_row_access said)
{
    uint32_t id;
    if (!said.node || !said.object || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    said.object = sonde__object_site(said.object);
    const uint64_t where = (uint64_t)said.file << 32 | said.line, what = (uint64_t)said.what << 32 | said.element_bytes;
    const uint64_t key = (sonde__map_hash((uint64_t)said.node << 32 | said.object) ^ sonde__map_hash(~where) ^ sonde__map_hash(what)) | 1;
    if (!sonde__map_find(&said_so, key) && sonde__map_room(&said_so, &sonde__agent.heap)) {
        struct sonde_row_access *row = ROW_ADD(ACCESS, struct sonde_row_access, &id);
        if (row) {
            *row = said;
            sonde__row_commit(SONDE_TABLE_ACCESS);
            sonde__map_add(&said_so, &sonde__agent.heap, key, 1);
        }
    }
    sonde__unlock(&sonde__agent.table_lock);
}

void sonde_value_written(uint32_t operation, uint32_t object, uint32_t file, uint32_t line)
{
    add_said((struct sonde_row_access){.node = operation, .object = object, .file = file, .line = line, .what = SONDE_ACCESS_STORE});
}

void sonde_value_read(uint32_t operation, uint32_t object, uint32_t element_bytes)
{
    add_said((struct sonde_row_access){.node = operation, .object = object, .what = SONDE_ACCESS_LOAD, .element_bytes = (uint16_t)element_bytes});
}

uint32_t sonde_value_access_add(const struct sonde_value_access *a)
{
    uint32_t id = 0;
    if (!a->operation || !sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_access *row = ROW_ADD(ACCESS, struct sonde_row_access, &id);
    if (row) {
        *row = (struct sonde_row_access){
            .node = a->operation,
            .object = a->object,
            .file = a->file,
            .line = a->line,
            .number = a->number,
            .element_bytes = a->element_bytes,
            .what = a->what,
            .type = a->type,
            .all = UINT64_MAX,
            .least = (uint64_t)INT64_MAX,
            .most = (uint64_t)INT64_MIN,
        };
        sonde__row_commit(SONDE_TABLE_ACCESS);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all accesses and objects");
    return row ? id : 0;
}

void sonde_value_access_seen(uint32_t id, const struct sonde_value_seen *seen)
{
    if (!id || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_access *row = sonde__table_find(SONDE_TABLE_ACCESS, sizeof *row, id);
    if (row) {
        row->elements = seen->elements;
        row->any = seen->any;
        row->all = seen->all;
        row->least = (uint64_t)seen->least;
        row->most = (uint64_t)seen->most;
        row->checked = seen->checked;
        row->equal = seen->equal;
        row->lined = seen->lined;
        row->value = seen->value;
        row->slope = (uint64_t)seen->slope;
        row->offset = (uint64_t)seen->offset;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

uint32_t sonde_value_bits_add(uint32_t access)
{
    uint32_t id = 0;
    if (!access || !sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_bits *row = ROW_ADD(BITS, struct sonde_row_bits, &id);
    if (row) {
        *row = (struct sonde_row_bits){.access = access, .least = UINT64_MAX, .least_set = UINT64_MAX};
        sonde__row_commit(SONDE_TABLE_BITS);
    }
    sonde__unlock(&sonde__agent.table_lock);
    return row ? id : 0;
}

void sonde_value_bits_seen(uint32_t id, const struct sonde_value_bits *bits)
{
    if (!id || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_bits *row = sonde__table_find(SONDE_TABLE_BITS, sizeof *row, id);
    if (row) {
        row->least = bits->whole[0].least;
        row->most = bits->whole[0].most;
        row->least_set = bits->whole[1].least;
        row->most_set = bits->whole[1].most;
        row->least4 = (uint32_t)bits->half[0].least;
        row->most4 = (uint32_t)bits->half[0].most;
        row->least4_set = (uint32_t)bits->half[1].least;
        row->most4_set = (uint32_t)bits->half[1].most;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

uint32_t sonde_value_guesses_add(uint32_t access)
{
    uint32_t id = 0;
    if (!access || !sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_guess *row = ROW_ADD(GUESS, struct sonde_row_guess, &id);
    if (row) {
        *row = (struct sonde_row_guess){.access = access};
        sonde__row_commit(SONDE_TABLE_GUESS);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("values: no room in --memory for all that was guessed of accesses");
    return row ? id : 0;
}

void sonde_value_guesses_seen(uint32_t id, const struct sonde_value_guesses *g)
{
    if (!id || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_guess *row = sonde__table_find(SONDE_TABLE_GUESS, sizeof *row, id);
    if (row)
        *row = (struct sonde_row_guess){
            .access = row->access,
            .value4 = g->value4,
            .lined = g->integers.lined,
            .slope = (uint64_t)g->integers.slope,
            .offset = (uint64_t)g->integers.offset,
            .reals = g->reals.lined,
            .slope_real = (uint64_t)g->reals.slope,
            .offset_real = (uint64_t)g->reals.offset,
            .checked4 = g->checked4,
            .equal4 = g->equal4,
            .lined4 = g->integers4.lined,
            .slope4 = (uint64_t)g->integers4.slope,
            .offset4 = (uint64_t)g->integers4.offset,
            .reals4 = g->reals4.lined,
            .slope4_real = (uint64_t)g->reals4.slope,
            .offset4_real = (uint64_t)g->reals4.offset,
        };
    sonde__unlock(&sonde__agent.table_lock);
}
