/* pack.c - see pack.h.
 *
 * A file whose traces are cut is copied but for the chunks that go; behind it come a header that counts them and an index, as
 * sealing writes them (docs/developers/format.md, "Sealing"). What is damaged is copied too, so that it is said.
 */
#include "pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "base/vector.h"
#include "process.h"

static const char magic[8] = "SNDPACK1";
static const char cannot[] = "cannot put into a page";
static const char zeros[8];

struct piece { /* a chunk of a trace that may be left out */
    const struct sonde_process *process;
    const struct sonde_chunk_ref *chunk;
    uint64_t wall_ns, size; /* when its first row began; with its padding */
};

struct cut {
    const struct sonde_process *process;
    SONDE_VECTOR(struct piece) gone; /* in the order of the file */
    struct sonde_text tail;          /* what comes behind the rest */
};

struct file {
    char *name, *path;      /* within the measurement; to open it */
    uint64_t size, on_disk;
    uint64_t stored;        /* bytes that are in the pack; the rest is zeros, or nobody reads it */
    struct cut *cut;        /* may be NULL */
    struct sonde_text made; /* of one without a path: its bytes */
};

struct sonde_pack {
    char *path;
    SONDE_VECTOR(struct file) files;
    struct cut *cuts; /* one for each process */
    uint32_t cut_count;
    uint64_t left_out[SONDE_TRACES];
};

static uint64_t padded(uint64_t size)
{
    return (size + 7) & ~(uint64_t)7;
}

/* ---- which files --------------------------------------------------------------------- */

/* Up to the last byte of it that is not zero: what the agent holds in reserve of live.sonde was never written. */
static uint64_t used_bytes(const char *path, uint64_t size)
{
    char block[65536];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (uint64_t end = size; fd >= 0 && end;) {
        const size_t part = end % sizeof block ? end % sizeof block : sizeof block;
        const ssize_t got = pread(fd, block, part, (off_t)(end - part));
        size_t left = got == (ssize_t)part ? part : 0;
        while (left && !block[left - 1])
            left--;
        if (left || got != (ssize_t)part) {
            size = left ? end - part + left : size;
            break;
        }
        size = end -= part;
    }
    if (fd >= 0)
        close(fd);
    return size;
}

/* One file, if there is one. `folder` is within the measurement, "" for itself. */
static int add_file(struct sonde_pack *pack, const char *folder, const char *name)
{
    struct file file = {0};
    struct stat st;
    int rc = asprintf(&file.name, "%s%s%s", folder, *folder ? "/" : "", name) < 0 ? SONDE_ENOMEM : 0;
    if (rc)
        return rc;
    file.path = sonde__path(pack->path, file.name);
    rc = file.path ? 0 : SONDE_ENOMEM;
    if (!rc && stat(file.path, &st) == 0 && S_ISREG(st.st_mode)) {
        file.size = file.stored = (uint64_t)st.st_size;
        file.on_disk = (uint64_t)st.st_blocks * 512;
        if (strcmp(folder, SONDE_CODE_FOLDER) == 0) /* its size is all that is asked for */
            file.stored = 0;
        else if (strcmp(name, SONDE_LIVE_FILE) == 0)
            file.stored = used_bytes(file.path, file.size);
        rc = sonde_vector_push(&pack->files, file);
        if (!rc)
            return 0;
    }
    free(file.name);
    free(file.path);
    return rc;
}

static int add_process_files(struct sonde_pack *pack, const char *folder)
{
    static const char *const names[] = {SONDE_PROCESS_FILES};
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !rc; i++)
        rc = add_file(pack, folder, names[i]);
    return rc;
}

static int add_folder(struct sonde_pack *pack, const char *folder, bool code)
{
    char *path = sonde__path(pack->path, folder);
    DIR *dir = path ? opendir(path) : NULL;
    int rc = path ? 0 : SONDE_ENOMEM;
    for (struct dirent *entry; dir && !rc && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            rc = code                                            ? add_file(pack, folder, entry->d_name)
                 : strcmp(entry->d_name, SONDE_CODE_FOLDER) == 0 ? add_folder(pack, entry->d_name, true)
                                                                 : add_process_files(pack, entry->d_name);
    if (dir)
        closedir(dir);
    free(path);
    return rc;
}

static int add_files(struct sonde_pack *pack)
{
    int rc = add_file(pack, "", SONDE_MANIFEST_FILE);
    rc = rc ? rc : add_process_files(pack, ""); /* a process by itself */
    return rc ? rc : add_folder(pack, "", false);
}

/* ---- which rows ------------------------------------------------------------------------ */

static int by_wall(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return a->wall_ns < b->wall_ns ? -1 : a->wall_ns > b->wall_ns;
}

static int by_place(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return a->chunk->data < b->chunk->data ? -1 : a->chunk->data > b->chunk->data;
}

typedef SONDE_VECTOR(struct piece) pieces;

/* Chunks of the traces of one that has ended: in live.sonde nothing can be cut. */
static int list_pieces(const struct sonde_process *p, pieces *out)
{
    int rc = 0;
    const struct sonde__process *own = p->private_data;
    const uint8_t *end = own->data.bytes + own->data.size;
    for (uint32_t i = 0; i < p->trace_count && p->sealed && !rc; i++) {
        const struct sonde_chunk_ref *chunk = &p->traces[i];
        const uint64_t size = padded(chunk->size);
        if (!chunk->live && size <= (uint64_t)(end - (const uint8_t *)chunk->data))
            rc = sonde_vector_push(out, (struct piece){p, chunk, chunk->time_min + p->header.wall_offset_ns, size});
    }
    return rc;
}

static struct cut *cut_of(const struct sonde_pack *pack, const struct sonde_process *p)
{
    for (uint32_t i = 0; i < pack->cut_count; i++)
        if (pack->cuts[i].process == p)
            return &pack->cuts[i];
    return NULL;
}

static int leave_out(struct sonde_pack *pack, const struct sonde_measurement *m, const pieces *all, size_t first)
{
    int rc = 0;
    pack->cuts = calloc(m->process_count, sizeof *pack->cuts);
    pack->cut_count = pack->cuts ? m->process_count : 0;
    for (uint32_t i = 0; i < pack->cut_count; i++)
        pack->cuts[i].process = &m->processes[i];
    for (size_t i = first; i < all->count && pack->cuts && !rc; i++) {
        const struct piece *piece = &all->items[i];
        rc = sonde_vector_push(&cut_of(pack, piece->process)->gone, *piece);
        pack->left_out[sonde_table_info(piece->chunk->table)->trace] += piece->chunk->count;
    }
    return pack->cuts ? rc : SONDE_ENOMEM;
}

/* ---- what comes behind a file that was cut ------------------------------------------------ */

struct tail {
    struct sonde_text *text;
    uint64_t at; /* of its end in the file */
    SONDE_VECTOR(struct sonde_row_index) index;
    void *scratch;
    uint8_t *out;
};

static int put_chunk(struct tail *t, enum sonde_table table, uint64_t first, const void *rows, uint32_t count)
{
    struct sonde_chunk h;
    const long size = sonde_chunk_encode(table, 0, first, rows, count, t->scratch, t->out, sonde_chunk_bound());
    if (size < 0)
        return (int)size;
    memcpy(&h, t->out, sizeof h);
    const int rc = sonde_vector_push(&t->index, sonde__index_row(&h, t->at));
    sonde_text_add_bytes(t->text, (const char *)t->out, (size_t)size);
    t->at += (uint64_t)size;
    return rc;
}

/* The chunks that stay, at the places where they will be. */
static int list_chunks(struct tail *t, const struct cut *cut, const struct sonde__data *data)
{
    uint64_t gone = 0;
    int rc = 0;
    for (size_t i = 0, k = 0; i < data->count && !rc; i++) {
        const struct sonde__chunk_at *chunk = &data->chunks[i];
        if (k < cut->gone.count && data->bytes + chunk->offset == (const uint8_t *)cut->gone.items[k].chunk->data)
            gone += cut->gone.items[k++].size;
        else
            rc = sonde_vector_push(&t->index, sonde__index_row(&chunk->header, chunk->offset - gone));
    }
    return rc;
}

static int put_index(struct tail *t)
{
    const uint32_t most = SONDE_SEGMENT_ROOM / sizeof *t->index.items;
    const size_t rows = t->index.count;
    const uint64_t at = t->at;
    int rc = 0;
    for (size_t i = 0; i < rows && !rc; i += most) {
        const uint32_t count = (uint32_t)(rows - i < most ? rows - i : most);
        rc = put_chunk(t, SONDE_TABLE_INDEX, i, t->index.items + i, count);
    }
    const size_t footer = sonde__footer_make(t->out, at, rows);
    sonde_text_add_bytes(t->text, (const char *)t->out, footer);
    return rc ? rc : t->text->failed ? SONDE_ENOMEM
                                     : 0;
}

static int put_tail(struct tail *t, struct cut *cut, const struct sonde__data *data)
{
    struct sonde_live_header header = cut->process->header;
    for (size_t i = 0; i < cut->gone.count; i++)
        sonde_rows_drop(&header, sonde_table_info(cut->gone.items[i].chunk->table), SONDE_DROP_PAGE, cut->gone.items[i].chunk->count);
    int rc = t->scratch && t->out ? list_chunks(t, cut, data) : SONDE_ENOMEM;
    rc = rc ? rc : put_chunk(t, SONDE_TABLE_PROCESS, 0, &header, 1);
    return rc ? rc : put_index(t);
}

static int end_file(struct file *file, struct cut *cut)
{
    const struct sonde__process *own = cut->process->private_data;
    struct tail t = {.text = &cut->tail, .scratch = aligned_alloc(64, sonde_chunk_scratch_bytes()), .out = malloc(sonde_chunk_bound())};
    qsort(cut->gone.items, cut->gone.count, sizeof *cut->gone.items, by_place);
    t.at = padded(own->data.size);
    sonde_text_add_bytes(&cut->tail, zeros, (size_t)(t.at - own->data.size));
    for (size_t i = 0; i < cut->gone.count; i++)
        t.at -= cut->gone.items[i].size;
    file->size = own->data.size - (padded(own->data.size) - t.at);
    file->cut = cut;
    const int rc = put_tail(&t, cut, &own->data);
    file->size = file->stored = file->on_disk = file->size + cut->tail.length;
    sonde_vector_fini(&t.index);
    free(t.scratch);
    free(t.out);
    return rc;
}

/* The data file of a process among those of the pack. */
static struct file *data_file(struct sonde_pack *pack, const struct sonde_process *p)
{
    char *path = sonde__path(p->path, SONDE_DATA_FILE);
    struct stat a, b;
    struct file *found = NULL;
    for (size_t i = 0; path && stat(path, &a) == 0 && i < pack->files.count && !found; i++)
        if (stat(pack->files.items[i].path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            found = &pack->files.items[i];
    free(path);
    return found;
}

static int end_files(struct sonde_pack *pack)
{
    int rc = 0;
    for (uint32_t i = 0; i < pack->cut_count && !rc; i++) {
        struct file *file = pack->cuts[i].gone.count ? data_file(pack, pack->cuts[i].process) : NULL;
        if (pack->cuts[i].gone.count)
            rc = file ? end_file(file, &pack->cuts[i]) : SONDE_EIO;
    }
    return rc;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Keep as many chunks as there is room for, from the first of the run on. */
static int fit(struct sonde_pack *pack, const struct sonde_measurement *m, uint64_t limit_bytes, struct sonde_diag *diag)
{
    uint64_t bytes = sonde_pack_bytes(pack);
    pieces all = {0};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = list_pieces(&m->processes[i], &all);
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_wall);
    size_t first = all.count;
    while (bytes > limit_bytes && first)
        bytes -= all.items[--first].size;
    if (!rc && bytes > limit_bytes) {
        char size[SONDE_NUMBER_MAX];
        rc = sonde_diag_set(diag, SONDE_EINVALID, m->path, cannot);
        snprintf(diag->why, sizeof diag->why, "without any trace it still has %s, more than the limit", sonde_number_bytes(size, (double)bytes));
    }
    rc = rc ? rc : leave_out(pack, m, &all, first);
    rc = rc ? rc : end_files(pack);
    sonde_vector_fini(&all);
    return rc;
}

int sonde_pack_create(const struct sonde_measurement *m, uint64_t limit_bytes, struct sonde_pack **out, struct sonde_diag *diag)
{
    struct sonde_pack *pack = calloc(1, sizeof *pack);
    int rc = pack && (pack->path = strdup(m->path)) ? add_files(pack) : SONDE_ENOMEM;
    diag->code = 0;
    if (!rc && sonde_pack_bytes(pack) > limit_bytes)
        rc = fit(pack, m, limit_bytes, diag);
    *out = rc ? NULL : pack;
    if (rc && !diag->code)
        sonde_diag_set(diag, rc, m->path, cannot);
    if (rc)
        sonde_pack_destroy(pack);
    return rc;
}

void sonde_pack_destroy(struct sonde_pack *pack)
{
    if (!pack)
        return;
    for (size_t i = 0; i < pack->files.count; i++) {
        free(pack->files.items[i].name);
        free(pack->files.items[i].path);
        sonde_text_fini(&pack->files.items[i].made);
    }
    for (uint32_t i = 0; i < pack->cut_count; i++) {
        sonde_vector_fini(&pack->cuts[i].gone);
        sonde_text_fini(&pack->cuts[i].tail);
    }
    sonde_vector_fini(&pack->files);
    free(pack->cuts);
    free(pack->path);
    free(pack);
}

int sonde_pack_add(struct sonde_pack *pack, const char *name, const char *bytes, size_t size)
{
    struct file file = {.name = strdup(name), .size = size, .on_disk = size, .stored = size};
    sonde_text_add_bytes(&file.made, bytes, size);
    if (file.name && !file.made.failed && !sonde_vector_push(&pack->files, file))
        return 0;
    free(file.name);
    sonde_text_fini(&file.made);
    return SONDE_ENOMEM;
}

uint64_t sonde_pack_left_out(const struct sonde_pack *pack, enum sonde_trace trace)
{
    return pack->left_out[trace];
}

enum { PACK_HEADER_BYTES = 16,
       FILE_HEADER_BYTES = 32 };

uint64_t sonde_pack_bytes(const struct sonde_pack *pack)
{
    uint64_t bytes = PACK_HEADER_BYTES + padded(strlen(pack->path));
    for (size_t i = 0; i < pack->files.count; i++)
        bytes += FILE_HEADER_BYTES + padded(strlen(pack->files.items[i].name)) + padded(pack->files.items[i].stored);
    return bytes;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct stream {
    sonde_pack_put put;
    void *user;
};

static void put_padding(const struct stream *s, uint64_t size)
{
    s->put(s->user, zeros, (size_t)(padded(size) - size));
}

static void put_text(const struct stream *s, const char *text)
{
    s->put(s->user, text, strlen(text));
    put_padding(s, strlen(text));
}

static int changed(const struct file *file, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EIO, file->path, cannot);
    snprintf(diag->why, sizeof diag->why, "it cannot be read, or changed meanwhile");
    return SONDE_EIO;
}

static int copy_file(const struct stream *s, const struct file *file, struct sonde_diag *diag)
{
    char block[65536];
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    uint64_t done = 0;
    for (ssize_t got = 1; fd >= 0 && done < file->stored && got > 0; done += got > 0 ? (uint64_t)got : 0) {
        const uint64_t left = file->stored - done;
        got = read(fd, block, left < sizeof block ? (size_t)left : sizeof block);
        if (got > 0)
            s->put(s->user, block, (size_t)got);
    }
    if (fd >= 0)
        close(fd);
    return done < file->stored ? changed(file, diag) : 0;
}

static void copy_cut(const struct stream *s, const struct cut *cut)
{
    const struct sonde__process *own = cut->process->private_data;
    const uint8_t *at = own->data.bytes;
    for (size_t i = 0; i < cut->gone.count; i++) {
        const uint8_t *gone = cut->gone.items[i].chunk->data;
        s->put(s->user, at, (size_t)(gone - at));
        at = gone + cut->gone.items[i].size;
    }
    s->put(s->user, at, (size_t)(own->data.bytes + own->data.size - at));
    s->put(s->user, sonde_text_get(&cut->tail), cut->tail.length);
}

int sonde_pack_write(const struct sonde_pack *pack, sonde_pack_put put, void *user, struct sonde_diag *diag)
{
    const struct stream s = {put, user};
    const uint32_t counts[2] = {(uint32_t)pack->files.count, (uint32_t)strlen(pack->path)};
    int rc = 0;
    put(user, magic, sizeof magic);
    put(user, counts, sizeof counts);
    put_text(&s, pack->path);
    for (size_t i = 0; i < pack->files.count && !rc; i++) {
        const struct file *file = &pack->files.items[i];
        const uint64_t header[FILE_HEADER_BYTES / 8] = {(uint32_t)strlen(file->name), file->size, file->stored, file->on_disk};
        put(user, header, sizeof header);
        put_text(&s, file->name);
        if (file->cut)
            copy_cut(&s, file->cut);
        else if (!file->path)
            put(user, sonde_text_get(&file->made), file->made.length);
        else
            rc = copy_file(&s, file, diag);
        put_padding(&s, file->stored);
    }
    return rc;
}
