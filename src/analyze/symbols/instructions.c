/* instructions.c - see instructions.h.
 *
 * An instruction is known by its function's name and its place in that. Functions of one name in several pieces of code may differ: what they
 * do not have in common is not known.
 */
#include "instructions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "disassembly.h"
#include "format/reader.h"
#include "format/writer.h"
#include "nvdisasm.h"
#include "symbols.h"

enum { TEXT_MAX = 256 };
#define NOTE_BEGIN "pc: what "

struct functions {
    struct sonde_intern names; /* that were sampled */
    struct sonde_intern texts;
    struct sonde_map found;    /* function << 32 | offset -> text, 0: several */
    const char *program;       /* nvdisasm; NULL: there is none */
    unsigned failed;           /* pieces of code that it could not read */
};

static bool has_samples(const struct sonde_process *p)
{
    return p->sealed && p->tables[SONDE_TABLE_STALL].count > 1 && !p->tables[SONDE_TABLE_INSTRUCTION].count;
}

static int want(struct functions *f, const struct sonde_process *p)
{
    const struct sonde_row_stall *rows = p->tables[SONDE_TABLE_STALL].rows;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_STALL].count; i++) {
        const char *name = sonde_process_string(p, rows[i].function);
        if (*name && !sonde_intern_text(&f->names, name))
            return SONDE_ENOMEM;
    }
    return 0;
}

static int wants(void *user, const char *name)
{
    const struct functions *f = user;
    return sonde_intern_find(&f->names, name) != 0;
}

/* An offset in a comment, the instruction, a semicolon. */
static int take_line(struct functions *f, uint32_t function, const char *line)
{
    char text[TEXT_MAX], *rest;
    const char *at = strstr(line, "/*");
    uint64_t known;
    if (!at)
        return 0;
    const uint64_t offset = strtoull(at + 2, &rest, 16);
    const char *end = strchr(rest, ';');
    if (rest == at + 2 || strncmp(rest, "*/", 2) != 0 || !end || offset > UINT32_MAX)
        return 0;
    for (rest += 2; *rest == ' ' || *rest == '\t';)
        rest++;
    while (end > rest && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const size_t length = (size_t)(end - rest) < sizeof text ? (size_t)(end - rest) : sizeof text - 1;
    memcpy(text, rest, length);
    text[length] = '\0';
    const uint64_t key = (uint64_t)function << 32 | offset;
    uint32_t id = length ? sonde_intern_text(&f->texts, text) : 0;
    if (length && !id)
        return SONDE_ENOMEM;
    if (sonde_map_get(&f->found, key, &known) && known != id)
        id = 0;
    return sonde_map_put(&f->found, key, id);
}

static int read_text(void *user, FILE *text)
{
    struct functions *f = user;
    char *line = NULL, *name = NULL;
    size_t room = 0;
    uint32_t function = 0;
    int rc = 0;
    while (!rc && getline(&line, &room, text) > 0) {
        if (sonde__disassembly_section(line, &name))
            function = name ? sonde_intern_find(&f->names, name) : 0;
        else
            rc = function ? take_line(f, function, line) : 0;
    }
    free(name);
    free(line);
    return rc;
}

/* Function << 32 | offset; 0 none. `numbers`: of strings of the process that were asked for. */
static uint64_t instruction_of(const struct functions *f, const struct sonde_process *p, struct sonde_map *numbers, const struct sonde_row_stall *row)
{
    uint64_t number;
    if (row->kind != SONDE_STALL_KIND_SAMPLED || !row->function || row->offset > UINT32_MAX)
        return 0;
    if (!sonde_map_get(numbers, row->function, &number)) {
        number = sonde_intern_find(&f->names, sonde_process_string(p, row->function));
        sonde_map_put(numbers, row->function, number);
    }
    return number ? number << 32 | row->offset : 0;
}

/* One row for each that is known, of its first samples. */
static int append(const struct functions *f, const struct sonde_process *p, struct sonde_diag *diag)
{
    SONDE_VECTOR(struct sonde_row_instruction) rows = {0};
    struct sonde_map seen = {0}, numbers = {0};
    const struct sonde_row_stall *stalls = p->tables[SONDE_TABLE_STALL].rows;
    const uint32_t before = p->string_count ? p->string_count - 1 : 0;
    int rc = 0;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_STALL].count && !rc; i++) {
        const uint64_t key = instruction_of(f, p, &numbers, &stalls[i]);
        uint64_t text = 0, done;
        if (!key || !sonde_map_get(&f->found, key, &text) || !text || sonde_map_get(&seen, key, &done))
            continue;
        rc = sonde_map_put(&seen, key, 1);
        rc = rc ? rc : sonde_vector_push(&rows, (struct sonde_row_instruction){.stall = i, .text = before + (uint32_t)text});
    }
    if (rc)
        sonde_diag_set(diag, rc, p->path, "cannot add instructions to");
    else if (rows.count)
        rc = sonde__symbols_append_strings(p, &f->texts, diag);
    if (!rc && rows.count)
        rc = sonde_process_append(p->path, SONDE_TABLE_INSTRUCTION, 0, rows.items, (uint32_t)rows.count, diag);
    sonde_vector_fini(&rows);
    sonde_map_fini(&seen);
    sonde_map_fini(&numbers);
    return rc;
}

/* Why instructions have no text. */
static int append_note(const struct functions *f, const struct sonde_process *p, struct sonde_diag *diag)
{
    struct sonde_row_note note = {.at_ns = p->header.stop_ns};
    if (!f->program)
        snprintf(note.text, sizeof note.text, NOTE_BEGIN "instructions are is not known, for nvdisasm was not found: " SONDE_NVDISASM_GET);
    else
        snprintf(note.text, sizeof note.text, NOTE_BEGIN "some instructions are is not known: %.160s could not read their code", f->program);
    return sonde_process_append(p->path, SONDE_TABLE_NOTE, p->note_count, &note, 1, diag);
}

static bool has_note(const struct sonde_process *p)
{
    for (uint32_t i = 0; i < p->note_count; i++)
        if (strncmp(p->notes[i].text, NOTE_BEGIN, sizeof NOTE_BEGIN - 1) == 0)
            return true;
    return false;
}

static int finish(const struct functions *f, const struct sonde_process *p, struct sonde_diag *diag)
{
    const int rc = f->texts.count ? append(f, p, diag) : 0;
    return rc || (f->program && !f->failed) || has_note(p) ? rc : append_note(f, p, diag);
}

int sonde_instructions_resolve(const char *dir, struct sonde_diag *diag)
{
    struct sonde_measurement *m = NULL;
    struct functions f = {0};
    char program[PATH_MAX];
    int rc = sonde_measurement_open(dir, &m, diag);
    for (uint32_t i = 0; !rc && i < m->process_count; i++)
        rc = has_samples(&m->processes[i]) ? want(&f, &m->processes[i]) : 0;
    f.program = f.names.count && sonde_nvdisasm_find(program, sizeof program) ? program : NULL;
    if (!rc && f.program) {
        struct sonde__disassembly d = {.program = program, .wants = wants, .read = read_text, .user = &f};
        rc = sonde__disassemble(&d, dir);
        f.failed = d.failed;
    }
    if (rc && m)
        sonde_diag_set(diag, rc, dir, "cannot find the instructions of");
    for (uint32_t i = 0; !rc && m && f.names.count && i < m->process_count; i++)
        rc = has_samples(&m->processes[i]) ? finish(&f, &m->processes[i], diag) : 0;
    sonde_measurement_close(m);
    sonde_map_fini(&f.found);
    sonde_intern_fini(&f.names);
    sonde_intern_fini(&f.texts);
    return rc;
}
