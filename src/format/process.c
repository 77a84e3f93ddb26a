/* process.c - one process directory: its pieces, and its tables made dense by id.
 */
#include "process.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void free_rows(const void *rows)
{
    free((void *)(uintptr_t)rows);
}

/* Whoever reads traces meanwhile may find more. */
static void count_damage(struct sonde_process *p, uint64_t bytes)
{
    ((struct sonde__process *)p->private_data)->untold++;
    __atomic_fetch_add(&p->damaged_chunks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->damaged_bytes, bytes, __ATOMIC_RELAXED);
}

/* ---- pieces ------------------------------------------------------------- */

static int compare_pieces(const void *a, const void *b)
{
    const struct sonde__piece *x = a, *y = b;
    int order = sonde__chunk_compare(&x->header, &y->header);
    if (order)
        return order;
    if (!x->chunk != !y->chunk) /* sealed before live */
        return x->chunk ? -1 : 1;
    if (x->chunk)
        return x->chunk->offset < y->chunk->offset ? -1 : 1;
    return x->live < y->live ? -1 : x->live > y->live;
}

static struct sonde__piece live_piece(const struct sonde__live_segment *s)
{
    struct sonde__piece piece = {.live = s};
    struct sonde_chunk *h = &piece.header;

    h->table = s->header.table;
    h->owner = s->header.owner;
    h->first = s->header.first;
    h->count = s->count;
    h->row_bytes = s->header.row_bytes;
    h->raw_bytes = s->header.used * s->header.row_bytes;
    h->stored_bytes = h->raw_bytes;
    if (sonde_table_is_trace(h->table))
        sonde__chunk_cover(h, s->rows, s->count);
    return piece;
}

static int collect_pieces(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;
    void *rows = malloc(SONDE_SEGMENT_ROOM);

    own->pieces = malloc((own->data.count + own->live.count + 1) * sizeof *own->pieces);
    if (!own->pieces || !rows || sonde__data_sort(&own->data) < 0) {
        free(rows);
        return SONDE_ENOMEM;
    }
    p->unknown_rows = own->live.unknown_rows;
    for (size_t i = 0; i < own->data.count; i++) {
        const struct sonde_chunk *h = &own->data.chunks[i].header;
        if (!sonde_table_info(h->table))
            p->unknown_rows += h->count;
        else if (h->count)
            own->pieces[own->piece_count++] = (struct sonde__piece){.header = *h, .chunk = &own->data.chunks[i]};
    }
    for (uint32_t i = 0; i < own->live.count; i++)
        if (!sonde__segment_sealed(&own->data, &own->live.segments[i], own->decoder, rows))
            own->pieces[own->piece_count++] = live_piece(&own->live.segments[i]);
    if (own->piece_count)
        qsort(own->pieces, own->piece_count, sizeof *own->pieces, compare_pieces);
    free(rows);
    return 0;
}

size_t sonde__process_pieces(const struct sonde_process *p, enum sonde_table table, size_t *end)
{
    const struct sonde__process *own = p->private_data;
    size_t edge[2];

    for (int i = 0; i < 2; i++) {
        size_t low = 0, high = own->piece_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (own->pieces[middle].header.table < (uint32_t)table + (uint32_t)i)
                low = middle + 1;
            else
                high = middle;
        }
        edge[i] = low;
    }
    *end = edge[1];
    return edge[0];
}

/* Of the tables that are wanted: is each chunk there, whole, and the one that the index spoke of? Others are left out. */
static void check_pieces(struct sonde_process *p, bool (*wanted)(enum sonde_table table))
{
    struct sonde__process *own = p->private_data;
    size_t kept = 0;

    for (size_t i = 0; i < own->piece_count; i++) {
        struct sonde__piece *piece = &own->pieces[i];
        const struct sonde__chunk_at *chunk = piece->chunk;
        if (chunk && !chunk->checked && wanted(piece->header.table) &&
            !sonde__chunk_is(own->data.bytes + chunk->offset, own->data.size - chunk->offset, &chunk->header, &piece->header))
            count_damage(p, chunk->header.stored_bytes);
        else
            own->pieces[kept++] = *piece;
    }
    own->piece_count = kept;
}

int sonde__piece_rows(const struct sonde_process *p, const struct sonde__piece *piece, void *rows)
{
    struct sonde__process *own = p->private_data;
    if (piece->live) {
        memcpy(rows, piece->live->rows, sonde__decoded_bytes(&piece->header));
        return 0;
    }
    return sonde__decoder_run(own->decoder, own->data.bytes + piece->chunk->offset,
                              own->data.size - piece->chunk->offset, &piece->header, rows);
}

/* ---- dense tables ------------------------------------------------------- */

/* Ids are dense but for lost or half-full segments: an id far beyond what the
 * pieces can hold is damage, and must not make us allocate for it. */
static uint64_t id_limit(size_t pieces, uint32_t width)
{
    uint64_t limit = (pieces + 256) * (uint64_t)(SONDE_SEGMENT_ROOM / width);
    return limit < UINT32_MAX ? limit : UINT32_MAX;
}

/* Rows of a table by id, row 0 zero; *count includes it. NULL: out of memory. */
static void *read_dense(struct sonde_process *p, enum sonde_table table, uint32_t *count)
{
    const struct sonde__process *own = p->private_data;
    uint32_t width = sonde_row_bytes(table);
    size_t end, begin = sonde__process_pieces(p, table, &end);
    uint64_t limit = id_limit(end - begin, width), ids = 1;
    uint8_t *rows, *piece_rows = malloc(SONDE_SEGMENT_ROOM);

    for (size_t i = begin; i < end; i++) {
        const struct sonde_chunk *h = &own->pieces[i].header;
        if (h->first + h->count <= limit && h->first + h->count > ids)
            ids = h->first + h->count;
    }
    rows = calloc(ids, width);
    for (size_t i = begin; rows && piece_rows && i < end; i++) {
        const struct sonde_chunk *h = &own->pieces[i].header;
        uint32_t skip = h->first == 0; /* id 0 is nobody's */
        if (h->first + h->count > limit || sonde__piece_rows(p, &own->pieces[i], piece_rows) < 0)
            count_damage(p, h->stored_bytes);
        else
            memcpy(rows + (h->first + skip) * width, piece_rows + (size_t)skip * width,
                   (size_t)(h->count - skip) * width);
    }
    *count = (uint32_t)ids;
    if (!piece_rows) {
        free(rows);
        rows = NULL;
    }
    free(piece_rows);
    return rows;
}

/* Rows of a table without ids, one after the other. */
static void *read_list(struct sonde_process *p, enum sonde_table table, uint32_t *count)
{
    const struct sonde__process *own = p->private_data;
    uint32_t width = sonde_row_bytes(table);
    size_t end, begin = sonde__process_pieces(p, table, &end), total = 0;
    uint8_t *rows;

    for (size_t i = begin; i < end; i++)
        total += own->pieces[i].header.count;
    rows = malloc(total * width + 1);
    *count = 0;
    for (size_t i = begin; rows && i < end && total <= UINT32_MAX; i++) {
        if (sonde__piece_rows(p, &own->pieces[i], rows + (size_t)*count * width) < 0)
            count_damage(p, own->pieces[i].header.stored_bytes);
        else
            *count += own->pieces[i].header.count;
    }
    return rows;
}

/* ---- strings ------------------------------------------------------------ */

/* Copy a piece's strings, each with a NUL, to `to`. Returns the end of them. */
static char *place_strings(struct sonde_process *p, const struct sonde_chunk *h, const uint8_t *bytes, char *to)
{
    for (uint64_t id = h->first; id < h->first + h->count; id++) {
        uint32_t length;
        memcpy(&length, bytes, sizeof length);
        memcpy(to, bytes + sizeof length, length);
        to[length] = '\0';
        if (id)
            p->strings[id] = (struct sonde_string){to, length};
        to += length + 1;
        bytes += sizeof length + (((size_t)length + 3) & ~(size_t)3);
    }
    return to;
}

static int read_strings(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;
    size_t end, begin = sonde__process_pieces(p, SONDE_TABLE_STRING, &end), bytes = 1;
    uint64_t limit = id_limit(end - begin, sizeof(uint32_t)), ids = 1;
    uint8_t *piece_rows = malloc(SONDE_SEGMENT_ROOM);
    char *to;

    for (size_t i = begin; i < end; i++) {
        const struct sonde_chunk *h = &own->pieces[i].header;
        bytes += (size_t)h->raw_bytes + h->count;
        if (h->first + h->count <= limit && h->first + h->count > ids)
            ids = h->first + h->count;
    }
    p->strings = malloc(ids * sizeof *p->strings);
    to = own->string_bytes = malloc(bytes);
    if (!p->strings || !to || !piece_rows) {
        free(piece_rows);
        return SONDE_ENOMEM;
    }
    p->string_count = (uint32_t)ids;
    for (uint64_t i = 0; i < ids; i++)
        p->strings[i] = (struct sonde_string){"", 0};
    for (size_t i = begin; i < end; i++) {
        const struct sonde_chunk *h = &own->pieces[i].header;
        if (h->first + h->count > limit || sonde__piece_rows(p, &own->pieces[i], piece_rows) < 0)
            count_damage(p, h->stored_bytes);
        else
            to = place_strings(p, h, piece_rows, to);
    }
    free(piece_rows);
    return 0;
}

const char *sonde_process_string(const struct sonde_process *p, uint32_t id)
{
    return id < p->string_count ? p->strings[id].bytes : "";
}

/* ---- symbols ------------------------------------------------------------ */

struct symbol_key {
    uint32_t frame, depth, index;
};

static int compare_symbols(const void *a, const void *b)
{
    const struct symbol_key *x = a, *y = b;
    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* By frame and depth; when a frame was resolved twice the later row counts. */
static int read_symbols(struct sonde_process *p)
{
    const struct sonde_row_symbol *rows = p->tables[SONDE_TABLE_SYMBOL].rows;
    const uint32_t count = p->tables[SONDE_TABLE_SYMBOL].count;
    uint32_t kept = 0;
    struct sonde_row_symbol *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    struct symbol_key *keys = malloc(((size_t)count + 1) * sizeof *keys);
    int status = sorted && keys ? 0 : SONDE_ENOMEM;

    for (uint32_t i = 0; !status && i < count; i++)
        keys[i] = (struct symbol_key){rows[i].frame, rows[i].depth, i};
    if (!status && count)
        qsort(keys, count, sizeof *keys, compare_symbols);
    for (uint32_t i = 0; !status && i < count; i++) {
        bool again = kept && sorted[kept - 1].frame == keys[i].frame && sorted[kept - 1].depth == keys[i].depth;
        kept -= again;
        sorted[kept++] = rows[keys[i].index];
    }
    free_rows(rows);
    free(keys);
    p->tables[SONDE_TABLE_SYMBOL] = (struct sonde_rows){p->symbols = sorted, p->symbol_count = kept};
    return status;
}

/* ---- nodes -------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
    const struct sonde_node_block *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->count > y->count ? -1 : x->count < y->count;
}

/* Where two blocks claim the same ids, the first stays. */
static void drop_overlaps(struct sonde_process *p)
{
    uint32_t kept = 0;
    uint64_t end = 0;

    for (uint32_t i = 0; i < p->node_block_count; i++) {
        struct sonde_node_block *b = &p->node_blocks[i];
        if (b->first < end) {
            if ((uint64_t)b->first + b->count > end)
                count_damage(p, (uint64_t)b->count * sizeof *b->rows);
            free_rows(b->rows);
            continue;
        }
        end = (uint64_t)b->first + b->count;
        p->node_blocks[kept++] = *b;
    }
    p->node_block_count = kept;
}

static int read_nodes(struct sonde_process *p)
{
    const struct sonde__process *own = p->private_data;
    size_t end, begin = sonde__process_pieces(p, SONDE_TABLE_NODE, &end);

    p->node_blocks = calloc(end - begin + 1, sizeof *p->node_blocks);
    if (!p->node_blocks)
        return SONDE_ENOMEM;
    for (size_t i = begin; i < end; i++) {
        const struct sonde_chunk *h = &own->pieces[i].header;
        struct sonde_row_node *rows = malloc((size_t)h->count * sizeof *rows);
        if (!rows)
            return SONDE_ENOMEM;
        if (h->first + h->count > UINT32_MAX || sonde__piece_rows(p, &own->pieces[i], rows) < 0) {
            count_damage(p, h->stored_bytes);
            free(rows);
            continue;
        }
        p->node_blocks[p->node_block_count++] =
            (struct sonde_node_block){(uint32_t)h->first, h->count, h->owner, rows};
    }
    if (p->node_block_count)
        qsort(p->node_blocks, p->node_block_count, sizeof *p->node_blocks, compare_blocks);
    drop_overlaps(p);
    return 0;
}

static const struct sonde_node_block *find_block(const struct sonde_process *p, uint32_t id)
{
    uint32_t low = 0, high = p->node_block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->node_blocks[middle].first <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low && id - p->node_blocks[low - 1].first < p->node_blocks[low - 1].count ? &p->node_blocks[low - 1] : NULL;
}

const struct sonde_row_node *sonde_process_node(const struct sonde_process *p, uint32_t id, uint32_t *slot)
{
    const struct sonde_node_block *block = id ? find_block(p, id) : NULL;
    if (!block)
        return NULL;
    if (slot)
        *slot = block->owner;
    return &block->rows[id - block->first];
}

const struct sonde_row_frame *sonde_process_frame(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    return row && row->frame < p->frame_count ? &p->frames[row->frame] : NULL;
}

/* Follow parents from one node, painting the way in this walk's colour: a node
 * of that colour met again closes a circle, one of an older colour is known to
 * end well. */
static void walk_parents(struct sonde_process *p, uint32_t **colours, uint32_t id, uint32_t colour)
{
    struct sonde_row_node *child = NULL;

    while (id) {
        const struct sonde_node_block *block = find_block(p, id);
        uint32_t *seen = block ? &colours[block - p->node_blocks][id - block->first] : NULL;
        if (!block || *seen == colour) {
            if (child)
                child->parent = 0;
            return;
        }
        if (*seen)
            return;
        *seen = colour;
        child = (struct sonde_row_node *)(uintptr_t)&block->rows[id - block->first];
        if (child->frame >= p->frame_count)
            child->frame = 0;
        id = child->parent;
    }
}

int sonde__process_mend_nodes(struct sonde_process *p)
{
    uint32_t **colours = calloc((size_t)p->node_block_count + 1, sizeof *colours), colour = 0;
    int status = colours ? 0 : SONDE_ENOMEM;

    for (uint32_t i = 0; !status && i < p->node_block_count; i++)
        if (!(colours[i] = calloc(p->node_blocks[i].count, sizeof **colours)))
            status = SONDE_ENOMEM;
    for (uint32_t i = 0; !status && i < p->node_block_count; i++)
        for (uint32_t k = 0; k < p->node_blocks[i].count; k++)
            walk_parents(p, colours, p->node_blocks[i].first + k, ++colour);
    for (uint32_t i = 0; colours && i < p->node_block_count; i++)
        free(colours[i]);
    free(colours);
    return status;
}

/* ---- opening ------------------------------------------------------------ */

/* References that lead nowhere (damage, or a program still writing) become 0,
 * so that nobody who follows them needs to doubt them. */
static void mend_references(struct sonde_process *p)
{
    const struct sonde__process *own = p->private_data;
    struct sonde_row_frame *frames = (struct sonde_row_frame *)(uintptr_t)p->frames;
    struct sonde_row_profile *profiles = (struct sonde_row_profile *)(uintptr_t)p->profiles;

    for (uint32_t i = 0; i < p->frame_count; i++)
        if ((frames[i].kind == SONDE_FRAME_NATIVE && frames[i].module >= p->module_count) ||
            (frames[i].kind == SONDE_FRAME_PYTHON && frames[i].module >= p->pycode_count))
            frames[i].module = 0;
    for (uint32_t i = 0; i < p->profile_count; i++) {
        if (profiles[i].lane >= own->lane_rows)
            profiles[i].lane = 0;
        if (profiles[i].work >= p->work_count)
            profiles[i].work = 0;
        for (size_t k = 0; k < sizeof profiles->histogram / sizeof *profiles->histogram; k++)
            if (profiles[i].histogram[k] >= p->histogram_count)
                profiles[i].histogram[k] = 0;
    }
}

static const void *rows_of(const struct sonde_process *p, enum sonde_table table, uint32_t *count)
{
    *count = p->tables[table].count;
    return p->tables[table].rows;
}

/* What a process was; its lanes, by which traces are told; and when it was recorded. */
static bool is_head(enum sonde_table table)
{
    return table == SONDE_TABLE_PROCESS || table == SONDE_TABLE_DEVICE || table == SONDE_TABLE_LANE || table == SONDE_TABLE_CLOCK ||
           table == SONDE_TABLE_PAUSE;
}

static bool is_string(enum sonde_table table)
{
    return table == SONDE_TABLE_STRING;
}

static bool is_other(enum sonde_table table)
{
    return !sonde_table_is_trace(table) && !is_head(table) && !is_string(table) && table != SONDE_TABLE_INDEX;
}

/* Those that are wanted; but for those with strings, nodes and headers, which are read in ways of their own. */
static int read_tables(struct sonde_process *p, bool (*wanted)(enum sonde_table table))
{
    for (enum sonde_table table = SONDE_TABLE_FREE + 1; table < SONDE_TABLE_COUNT; table++) {
        struct sonde_rows *r = &p->tables[table];
        if (!wanted(table) || table == SONDE_TABLE_NODE || table == SONDE_TABLE_PROCESS)
            continue;
        r->rows = (sonde_table_info(table)->properties & SONDE_ROWS_NO_ID ? read_list : read_dense)(p, table, &r->count);
        if (!r->rows)
            return SONDE_ENOMEM;
    }
    return 0;
}

static int read_heads(struct sonde_process *p)
{
    const int status = read_tables(p, is_head);

    p->devices = rows_of(p, SONDE_TABLE_DEVICE, &p->device_count);
    p->lanes = rows_of(p, SONDE_TABLE_LANE, &p->lane_count);
    p->clocks = rows_of(p, SONDE_TABLE_CLOCK, &p->clock_count);
    p->pauses = rows_of(p, SONDE_TABLE_PAUSE, &p->pause_count);
    for (uint32_t i = 0; i < p->lane_count; i++)
        if (p->lanes[i].device >= p->device_count)
            ((struct sonde_row_lane *)(uintptr_t)p->lanes)[i].device = 0;
    return status;
}

static int read_others(struct sonde_process *p)
{
    int status = read_tables(p, is_other);

    if (status)
        return status;
    p->frames = rows_of(p, SONDE_TABLE_FRAME, &p->frame_count);
    p->modules = rows_of(p, SONDE_TABLE_MODULE, &p->module_count);
    p->pycodes = rows_of(p, SONDE_TABLE_PYCODE, &p->pycode_count);
    p->works = rows_of(p, SONDE_TABLE_WORK, &p->work_count);
    p->objects = rows_of(p, SONDE_TABLE_OBJECT, &p->object_count);
    p->profiles = rows_of(p, SONDE_TABLE_PROFILE, &p->profile_count);
    p->histograms = rows_of(p, SONDE_TABLE_HISTOGRAM, &p->histogram_count);
    p->notes = rows_of(p, SONDE_TABLE_NOTE, &p->note_count);
    mend_references(p);
    for (uint32_t i = 0; i < p->note_count; i++)
        ((struct sonde_row_note *)(uintptr_t)p->notes)[i].text[sizeof p->notes->text - 1] = '\0';
    status = read_symbols(p);
    status = status ? status : read_nodes(p);
    return status ? status : sonde__process_mend_nodes(p);
}

/* live.sonde knows best; else the last header that was sealed. */
static int read_process_header(struct sonde_process *p)
{
    const struct sonde__process *own = p->private_data;
    size_t end, begin = sonde__process_pieces(p, SONDE_TABLE_PROCESS, &end), last = end;
    struct sonde_live_header *rows = malloc(SONDE_SEGMENT_ROOM);

    if (!rows)
        return SONDE_ENOMEM;
    p->header = own->live.header;
    p->sealed = end > begin && !own->live_exists;
    for (size_t i = begin; i < end; i++)
        if (last == end || own->pieces[i].chunk->offset > own->pieces[last].chunk->offset)
            last = i;
    if (last < end && !own->live.header_valid) {
        if (sonde__piece_rows(p, &own->pieces[last], rows) < 0)
            count_damage(p, own->pieces[last].header.stored_bytes);
        else
            p->header = rows[own->pieces[last].header.count - 1];
        p->header.executable[sizeof p->header.executable - 1] = '\0';
    }
    free(rows);
    return 0;
}

/* A sealed file ends with its index's footer; without it a part is missing,
 * even where the cut fell exactly between two chunks. */
static bool ends_with_footer(const struct sonde__data *data)
{
    const struct sonde_chunk *last = data->count ? &data->chunks[data->count - 1].header : NULL;
    return last && last->table == SONDE_TABLE_INDEX && last->count == 0;
}

/* Both files; one of them is enough. live.sonde comes first: what the program
 * moves from it to data.sonde in between is then seen twice, never lost. */
static int read_files(struct sonde_process *p, const struct sonde__way *way, struct sonde_diag *diag)
{
    struct sonde__process *own = p->private_data;
    struct sonde_diag other;
    int live = sonde__live_read(p->path, way->sums, &own->live, diag);
    bool live_bad = live && live != SONDE_ENOTFOUND && live != SONDE_EEMPTY;
    const bool through = way->through || live != SONDE_ENOTFOUND; /* what is in both is told by the chunks themselves */
    int data = live == SONDE_ENOMEM ? 0 : sonde__data_open(p->path, through, &own->data, live_bad ? &other : diag);
    bool data_bad = data && data != SONDE_ENOTFOUND;

    own->live_exists = live != SONDE_ENOTFOUND;
    if (live == SONDE_ENOMEM || data == SONDE_ENOMEM)
        return SONDE_ENOMEM;
    if (data == SONDE_EVERSION) {
        if (live_bad && diag)
            *diag = other;
        return data;
    }
    if (live && !own->data.count)
        return live_bad ? live : (data_bad ? data : SONDE_EEMPTY);
    p->damaged_chunks = own->live.damaged + own->data.damaged;
    p->damaged_bytes = own->live.damaged_bytes + own->data.damaged_bytes;
    if (live_bad || data_bad || (!own->live_exists && !p->damaged_chunks && !ends_with_footer(&own->data)))
        count_damage(p, 0);
    p->disk_bytes = own->live.disk_bytes + own->data.size;
    return 0;
}

/* The monitor counts an operation in the ledger, then in the profile. One that a kill left between the two is
 * in no view: it counts as one that was in flight. */
static void take_back_what_was_cut(struct sonde_process *p)
{
    uint64_t kept = 0;
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const uint32_t lane = p->profiles[i].lane;
        const bool samples = lane < p->lane_count && p->lanes[lane].kind == SONDE_LANE_KIND_THREAD;
        kept += lane && !samples ? p->profiles[i].count : 0;
    }
    if (p->header.state == SONDE_PROCESS_RUNNING && !p->damaged_chunks && p->header.ledger.done == kept + 1)
        p->header.ledger.done = kept;
}

/* What was read of the file, and what it was decoded with, needs no memory any more. */
static void let_go(struct sonde__process *own)
{
    sonde__decoder_destroy(own->decoder);
    own->decoder = NULL;
    if (own->data.index_at)
        madvise((void *)(uintptr_t)own->data.bytes, own->data.size, MADV_DONTNEED);
}

/* What of `what` is not there yet; the lock is held. */
static int load(struct sonde_process *p, unsigned what)
{
    struct sonde__process *own = p->private_data;
    int status;

    own->decoder = own->decoder ? own->decoder : sonde__decoder_create();
    status = own->decoder ? 0 : SONDE_ENOMEM;
    if (!status && what & SONDE_LOAD_STRINGS) {
        check_pieces(p, is_string);
        status = read_strings(p);
    }
    if (!status && what & SONDE_LOAD_ALL & ~SONDE_LOAD_STRINGS) {
        check_pieces(p, is_other);
        status = read_others(p);
    }
    let_go(own);
    return status;
}

int sonde_process_load(const struct sonde_process *p, enum sonde_load what)
{
    struct sonde__process *own = p->private_data;
    int status = 0;

    if ((atomic_load_explicit(&own->loaded, memory_order_acquire) & what) == what)
        return 0;
    pthread_mutex_lock(&own->lock);
    const unsigned missing = what & ~atomic_load_explicit(&own->loaded, memory_order_relaxed);
    status = own->load_status;
    if (!status && missing)
        status = own->load_status = load((struct sonde_process *)(uintptr_t)p, missing);
    if (!status)
        atomic_fetch_or_explicit(&own->loaded, missing, memory_order_release);
    pthread_mutex_unlock(&own->lock);
    return status;
}

uint32_t sonde__process_untold(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;
    const uint32_t untold = own->untold;
    own->untold = 0;
    return untold;
}

/* What opening always reads. */
static int open_heads(struct sonde_process *p, const struct sonde__way *way, struct sonde_diag *diag)
{
    int status = read_files(p, way, diag);

    if (!status)
        status = collect_pieces(p);
    if (status)
        return status;
    check_pieces(p, is_head);
    status = read_process_header(p);
    if (!status)
        status = read_heads(p);
    return status ? status : sonde__process_list_traces(p);
}

static uint64_t share_of(uint64_t bytes, uint32_t processes)
{
    bytes = processes ? bytes / processes : bytes;
    return bytes > SONDE__RESIDENT_LEAST ? bytes : SONDE__RESIDENT_LEAST;
}

int sonde__process_open(const char *path, const char *name, const struct sonde__way *way, struct sonde_process *p, struct sonde_diag *diag)
{
    struct sonde__process *own;
    int status;

    memset(p, 0, sizeof *p);
    p->private_data = own = calloc(1, sizeof *own);
    if (own) {
        pthread_mutex_init(&own->lock, NULL);
        own->resident_bytes = share_of(SONDE__RESIDENT_BYTES, way->processes);
    }
    p->path = strdup(path);
    p->name = strdup(name);
    status = own && p->path && p->name && (own->decoder = sonde__decoder_create()) ? 0 : SONDE_ENOMEM;
    if (!status)
        status = open_heads(p, way, diag);
    if (!status && !(way->heads && p->sealed && p->header.state != SONDE_PROCESS_RUNNING))
        status = sonde_process_load(p, SONDE_LOAD_ALL);
    if (status == SONDE_ENOMEM)
        sonde_diag_set(diag, status, path, "cannot read the measurement");
    if (status < 0) {
        sonde__process_close(p);
        return status;
    }
    let_go(own);
    take_back_what_was_cut(p);
    sonde__process_untold(p);
    return 0;
}

void sonde__process_close(struct sonde_process *p)
{
    struct sonde__process *own = p->private_data;

    free(p->strings);
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        free_rows(p->tables[table].rows);
    for (uint32_t i = 0; i < p->node_block_count; i++)
        free_rows(p->node_blocks[i].rows);
    free(p->node_blocks);
    free(p->traces);
    free(p->name);
    free(p->path);
    if (own) {
        sonde__live_free(&own->live);
        sonde__data_close(&own->data);
        sonde__decoder_destroy(own->decoder);
        free(own->pieces);
        free(own->string_bytes);
        free((void *)own->trace_state);
        pthread_mutex_destroy(&own->lock);
        free(own);
    }
    memset(p, 0, sizeof *p);
}
