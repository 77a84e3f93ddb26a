/* limits.c - see limits.h. */
#include "limits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct sonde_row_setting *find(const struct sonde_process *p, enum sonde_setting_kind kind)
{
    const struct sonde_row_setting *rows = p->tables[SONDE_TABLE_SETTING].rows;
    for (uint32_t i = 0; i < p->tables[SONDE_TABLE_SETTING].count; i++)
        if (rows[i].kind == kind)
            return &rows[i];
    return NULL;
}

static const struct sonde_row_setting *limit(const struct sonde_process *p, bool network)
{
    return find(p, network ? SONDE_SETTING_EAGER_NETWORK : SONDE_SETTING_EAGER_HOST);
}

uint64_t sonde__limit_of(const struct sonde_process *p, bool network)
{
    const struct sonde_row_setting *row = limit(p, network);
    return row ? row->value : 0;
}

/* As it may be shown; `other` where there is none, as in what is damaged. 0: out of memory. */
static uint32_t text_of(struct sonde_intern *texts, const char *said, const char *other)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, *said ? said : other);
    const uint32_t id = clean.failed ? 0 : sonde_intern_text(texts, sonde_text_get(&clean));
    sonde_text_fini(&clean);
    return id;
}

/* "MPICH Version:\t4.0.2", "Open MPI v4.1.4" -> "MPICH 4.0.2", "Open MPI 4.1.4". */
static uint32_t library_of(struct sonde_intern *texts, const char *version)
{
    struct sonde_text name = {0};
    for (const char *at = version; *at;) {
        const size_t blank = strspn(at, " \t:"), word = strcspn(at + blank, " \t:");
        const char *from = at + blank;
        at = from + word;
        if (!word || (word == 7 && strncmp(from, "Version", 7) == 0))
            continue;
        const bool v = *from == 'v' && isdigit((unsigned char)from[1]);
        sonde_text_add(&name, name.length ? " " : "");
        sonde_text_add_bytes(&name, from + v, word - v);
    }
    const uint32_t id = name.failed ? 0 : text_of(texts, sonde_text_get(&name), "MPI");
    sonde_text_fini(&name);
    return id;
}

static int add(struct sonde_messages *out, const struct sonde_message_limit *said)
{
    for (size_t i = 0; i < out->limits.count; i++) {
        struct sonde_message_limit *l = &out->limits.items[i];
        if (l->library == said->library && l->variable == said->variable && l->network == said->network && l->bytes == said->bytes) {
            l->ranks++;
            return 0;
        }
    }
    return sonde_vector_push(&out->limits, *said);
}

static int read_one(const struct sonde_process *p, bool network, struct sonde_messages *out)
{
    const struct sonde_row_setting *version = find(p, SONDE_SETTING_VERSION), *row = limit(p, network);
    struct sonde_message_limit said = {.network = network, .ranks = 1};
    if (!version)
        return 0;
    said.library = library_of(&out->texts, sonde_process_string(p, version->text));
    if (row) {
        said.variable = text_of(&out->texts, sonde_process_string(p, row->name), "?");
        said.bytes = row->value;
    }
    return said.library && (!row || said.variable) ? add(out, &said) : SONDE_ENOMEM;
}

static int by_ranks(const void *left, const void *right)
{
    const struct sonde_message_limit *a = left, *b = right;
    if (a->ranks != b->ranks)
        return a->ranks > b->ranks ? -1 : 1;
    if (a->network != b->network)
        return a->network ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->library < b->library ? -1 : a->library > b->library;
}

int sonde__limits_read(const struct sonde_measurement *m, struct sonde_messages *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        rc = read_one(&m->processes[i], false, out);
        rc = rc ? rc : read_one(&m->processes[i], true, out);
    }
    if (out->limits.count)
        qsort(out->limits.items, out->limits.count, sizeof *out->limits.items, by_ranks);
    return rc;
}
