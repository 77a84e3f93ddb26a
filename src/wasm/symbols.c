/* symbols.c - a page reads no files of a machine: in place of what src/analyze/symbols has of ELF and DWARF stands what it found where
 * the page was written (SONDE_SYMBOLS_FILE).
 *
 * `sonde record` has stored functions and lines in the measurement; this is about frames that have none.
 */
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyze/symbols/cubin.h"
#include "analyze/symbols/debug_file.h"
#include "analyze/symbols/symbols.h"
#include "base/text.h"

static struct sonde_text known; /* lines; empty: nobody wrote them */

struct sonde__debug_file {
    bool partly; /* it has symbols for other frames */
};

int sonde_wasm_symbols(const char *path)
{
    struct sonde_text name = {0};
    char block[4096];
    sonde_text_fini(&known);
    sonde_text_format(&name, "%s/" SONDE_SYMBOLS_FILE, path);
    FILE *file = fopen(sonde_text_get(&name), "r");
    for (size_t got; file && (got = fread(block, 1, sizeof block, file)) > 0;)
        sonde_text_add_bytes(&known, block, got);
    if (file)
        fclose(file);
    const int rc = name.failed || known.failed ? SONDE_ENOMEM : 0;
    sonde_text_fini(&name);
    return rc;
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    const size_t length = line_length(line);
    return line + length + (line[length] == '\n');
}

/* The machine where the page was written: what it lacks may be where the run was recorded. */
int uname(struct utsname *here)
{
    const char *name = sonde_text_get(&known);
    *here = (struct utsname){0};
    snprintf(here->nodename, sizeof here->nodename, "%.*s", (int)line_length(name), name);
    return 0;
}

/* "no symbols for PATH: WHY": the reason, up to the line's end; NULL: the line is about another file. The path may be cut. */
static const char *reason_in(const char *line, const char *path)
{
    const char *at = memmem(line, line_length(line), path, strnlen(path, 140));
    at = at && *line != SONDE_SYMBOLS_PARTLY ? at + strnlen(path, 140) : NULL;
    return at && strncmp(at, ": ", 2) == 0 ? at + 2 : NULL;
}

static bool is_partly(const char *line, const char *path)
{
    return *line == SONDE_SYMBOLS_PARTLY && line_length(line) == strlen(path) + 1 && strncmp(line + 1, path, strlen(path)) == 0;
}

struct sonde__debug_file *sonde__debug_open(const struct sonde__debug_wanted *wanted, char *why, size_t why_bytes)
{
    struct sonde__debug_file file = {0};
    const char *reason = known.length ? NULL : SONDE__DEBUG_GONE;
    for (const char *line = next_line(sonde_text_get(&known)); *line && !reason; line = next_line(line)) {
        reason = reason_in(line, wanted->path);
        file.partly |= is_partly(line, wanted->path);
    }
    struct sonde__debug_file *out = reason ? NULL : malloc(sizeof *out);
    if (out)
        *out = file;
    else
        snprintf(why, why_bytes, "%.*s", (int)line_length(reason ? reason : ""), reason ? reason : "");
    return out;
}

void sonde__debug_close(struct sonde__debug_file *file)
{
    free(file);
}

bool sonde__debug_is_stripped(struct sonde__debug_file *file)
{
    return !file->partly;
}

void sonde__debug_expect(struct sonde__debug_file *file, const uint64_t *addresses, size_t count)
{
    (void)file, (void)addresses, (void)count;
}

size_t sonde__debug_lookup(struct sonde__debug_file *file, uint64_t address, struct sonde__place places[SONDE__PLACES_MAX])
{
    (void)file, (void)address, (void)places;
    return 0;
}

bool sonde__cubins_read(const char *folder, sonde__cubin_fn fn, void *user)
{
    (void)folder, (void)fn, (void)user;
    return false;
}
