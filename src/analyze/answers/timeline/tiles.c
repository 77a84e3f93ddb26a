/* tiles.c - rows put together by bins of a power of two, and the cache of what came of it.
 *
 * A row that is as long as a bin or longer stays what it is. Of shorter ones the time goes to the bins that they
 * lie in, and they are counted where they begin. So two tiles make the one above them, as if that had been made of the
 * rows: what was kept is found again by who zooms out.
 */
#include <stdlib.h>
#include <string.h>

#include "own.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The last instant of a row; an instant lasts none. */
static uint64_t last_of(const struct sonde__long *row)
{
    return row->end_ns > row->begin_ns ? row->end_ns - 1 : row->begin_ns;
}

/* ---- filling ---------------------------------------------------------------------------------- */

/* Rows come nearly in order: where those of a node went is remembered for a while. If that is forgotten too early, or a row
 * comes late, the bin has two of one kind, which sonde__tile_settle joins. */
static int add_to_bin(struct sonde__filler *f, uint32_t index, const struct sonde__bin *more)
{
    struct sonde__tile *tile = f->tiles[index];
    const uint32_t slot = (more->node * 31 + more->at * 7u + more->kind) % (sizeof f->recent / sizeof *f->recent);
    const uint32_t known = f->recent[slot].bin;
    if (f->recent[slot].tile == index && known < tile->bins.count) {
        struct sonde__bin *bin = &tile->bins.items[known];
        if (bin->node == more->node && bin->at == more->at && bin->kind == more->kind) {
            bin->time_ns += more->time_ns;
            bin->rows += more->rows;
            return 0;
        }
        tile->twice |= bin->at >= more->at;
    }
    tile->twice |= tile->bins.count && tile->bins.items[tile->bins.count - 1].at > more->at + 1;
    f->recent[slot].tile = index;
    f->recent[slot].bin = (uint32_t)tile->bins.count;
    return sonde_vector_push(&tile->bins, *more);
}

static int by_place(const void *left, const void *right)
{
    const struct sonde__bin *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->node != b->node ? (a->node < b->node ? -1 : 1) : a->kind - b->kind;
}

void sonde__tile_settle(struct sonde__tile *tile)
{
    struct sonde__bin *bins = tile->bins.items;
    size_t kept = 0;
    if (!tile->twice)
        return;
    qsort(bins, tile->bins.count, sizeof *bins, by_place);
    for (size_t i = 0; i < tile->bins.count; i++) {
        if (kept && by_place(&bins[kept - 1], &bins[i]) == 0) {
            bins[kept - 1].time_ns += bins[i].time_ns;
            bins[kept - 1].rows += bins[i].rows;
        } else {
            bins[kept++] = bins[i];
        }
    }
    tile->bins.count = kept;
    tile->twice = false;
}

/* What of a short row lies in one tile: it touches two bins at most. */
static int add_short(struct sonde__filler *f, uint32_t index, const struct sonde__long *row)
{
    const struct sonde__tile *tile = f->tiles[index];
    const uint64_t begin = sonde__tile_begin(tile), width = 1ull << tile->level;
    const uint64_t from = most(row->begin_ns, begin), last = least(last_of(row), sonde__tile_last(tile));
    int rc = 0;
    for (uint64_t at = (from - begin) >> tile->level; at <= (last - begin) >> tile->level && !rc; at++) {
        const uint64_t first_ns = begin + (at << tile->level), last_ns = first_ns + (width - 1);
        const bool begins = row->begin_ns >= first_ns && row->begin_ns <= last_ns;
        const struct sonde__bin bin = {
            .time_ns = row->end_ns > row->begin_ns ? least(last, last_ns) - most(from, first_ns) + 1 : 0,
            .node = row->node,
            .rows = begins ? row->rows : 0,
            .at = (uint16_t)at,
            .kind = row->kind,
        };
        rc = add_to_bin(f, index, &bin);
    }
    return rc;
}

int sonde__filler_add(struct sonde__filler *f, const struct sonde__long *row)
{
    int rc = 0;
    const uint32_t shift = f->level + SONDE__TILE_SHIFT;
    const uint64_t first = most(row->begin_ns >> shift, f->first), last = least(last_of(row) >> shift, f->first + f->count - 1);
    const bool is_long = row->end_ns > row->begin_ns && row->end_ns - row->begin_ns >= 1ull << f->level;
    for (uint64_t number = first; number <= last && !rc; number++) {
        struct sonde__tile *tile = f->tiles[number - f->first];
        if (tile)
            rc = is_long ? sonde_vector_push(&tile->longs, *row) : add_short(f, (uint32_t)(number - f->first), row);
    }
    return rc;
}

int sonde__tile_coarsen(struct sonde__tile *tile, const struct sonde__tile *first, const struct sonde__tile *second)
{
    struct sonde__filler filler = {.tiles = &tile, .level = tile->level, .first = tile->number, .count = 1};
    const struct sonde__tile *const halves[] = {first, second};
    int rc = 0;
    for (uint32_t half = 0; half < 2; half++) {
        const struct sonde__tile *from = halves[half];
        for (size_t i = 0; i < from->bins.count && !rc; i++) {
            struct sonde__bin bin = from->bins.items[i];
            bin.at = (uint16_t)((bin.at >> 1) + (half << (SONDE__TILE_SHIFT - 1)));
            rc = add_to_bin(&filler, 0, &bin);
        }
        for (size_t i = 0; i < from->longs.count && !rc; i++)
            if (!half || from->longs.items[i].begin_ns >= sonde__tile_begin(from)) /* else the first has it */
                rc = sonde__filler_add(&filler, &from->longs.items[i]);
    }
    sonde__tile_settle(tile);
    return rc;
}

void sonde__tile_free(struct sonde__tile *tile)
{
    if (!tile)
        return;
    sonde_vector_fini(&tile->longs);
    sonde_vector_fini(&tile->bins);
    free(tile);
}

/* ---- the cache --------------------------------------------------------------------------------- */

enum { BUCKETS = 1 << 16 };

static struct sonde__tile **bucket_of(const struct sonde__tiles *tiles, uint32_t process, uint32_t lane, uint32_t level, uint64_t number)
{
    const uint64_t hash = sonde_hash_mix(sonde_hash_mix((uint64_t)process << 32 | lane, level), number);
    return &tiles->buckets[hash % BUCKETS];
}

int sonde__tiles_init(struct sonde__tiles *tiles, size_t room_bytes)
{
    *tiles = (struct sonde__tiles){.buckets = calloc(BUCKETS, sizeof *tiles->buckets), .room_bytes = room_bytes};
    return tiles->buckets ? 0 : SONDE_ENOMEM;
}

static void unlink_tile(struct sonde__tiles *tiles, struct sonde__tile *tile)
{
    *(tile->newer ? &tile->newer->older : &tiles->newest) = tile->older;
    *(tile->older ? &tile->older->newer : &tiles->oldest) = tile->newer;
}

static void put_first(struct sonde__tiles *tiles, struct sonde__tile *tile)
{
    tile->newer = NULL;
    tile->older = tiles->newest;
    *(tile->older ? &tile->older->newer : &tiles->oldest) = tile;
    tiles->newest = tile;
    tile->used = tiles->question;
}

struct sonde__tile *sonde__tiles_find(struct sonde__tiles *tiles, uint32_t process, uint32_t lane, uint32_t level, uint64_t number)
{
    struct sonde__tile *tile = *bucket_of(tiles, process, lane, level, number);
    while (tile && (tile->process != process || tile->lane != lane || tile->level != level || tile->number != number))
        tile = tile->next;
    if (tile) {
        unlink_tile(tiles, tile);
        put_first(tiles, tile);
    }
    return tile;
}

void sonde__tiles_keep(struct sonde__tiles *tiles, struct sonde__tile *tile)
{
    struct sonde__tile **bucket = bucket_of(tiles, tile->process, tile->lane, tile->level, tile->number);
    tile->bytes = sizeof *tile + tile->longs.capacity * sizeof *tile->longs.items + tile->bins.capacity * sizeof *tile->bins.items;
    tile->next = *bucket;
    *bucket = tile;
    tiles->bytes += tile->bytes;
    put_first(tiles, tile);
}

static void drop(struct sonde__tiles *tiles, struct sonde__tile *tile)
{
    struct sonde__tile **at = bucket_of(tiles, tile->process, tile->lane, tile->level, tile->number);
    while (*at != tile)
        at = &(*at)->next;
    *at = tile->next;
    unlink_tile(tiles, tile);
    tiles->bytes -= tile->bytes;
    sonde__tile_free(tile);
}

void sonde__tiles_shrink(struct sonde__tiles *tiles)
{
    while (tiles->bytes > tiles->room_bytes && tiles->oldest && tiles->oldest->used != tiles->question)
        drop(tiles, tiles->oldest);
}

void sonde__tiles_fini(struct sonde__tiles *tiles)
{
    while (tiles->oldest)
        drop(tiles, tiles->oldest);
    free(tiles->buckets);
    *tiles = (struct sonde__tiles){.buckets = NULL};
}
