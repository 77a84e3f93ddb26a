/* html.c - see html.h. docs/developers/viewer.md, "The HTML file", says what is in it.
 *
 * The page is index.html with its script and its style in place of the lines that load them, and with what the worker needs as texts
 * that no browser runs: digits (digits.h), since HTML is text. Texts of the page end at their end tag, whatever language they are in, so that
 * an end tag within one is written in another way. Whatever comes from the measured program is within the digits.
 */
#include "html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <zlib.h>

#include "analyze/symbols/symbols.h"
#include "base/number.h"
#include "base/text.h"
#include "digits.h"
#include "export/out.h"
#include "format/tables.h"

static const char cannot[] = "cannot write the page";

/* ---- the page's files ------------------------------------------------------------------ */

enum { INDEX,
       SCRIPT,
       STYLE,
       WORKER,
       WASM,
       PARTS };

static const char *const names[PARTS] = {"index.html", "viewer.js", "viewer.css", "worker.js", "sonde.wasm.gz"};

struct page {
    struct sonde_text parts[PARTS];
    char nonce[33];
};

static int read_part(const char *folder, const char *name, struct sonde_text *out, struct sonde_diag *diag)
{
    struct sonde_text path = {0};
    char block[65536];
    sonde_text_format(&path, "%s/%s", folder, name);
    FILE *file = fopen(sonde_text_get(&path), "re");
    int rc = file ? 0 : sonde_diag_set(diag, errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO, sonde_text_get(&path), "%s without", cannot);
    if (rc) {
        sonde_diag_errno(diag, errno);
        sonde_diag_hint(diag, "this Sonde was built without the viewer's page; `sonde report` needs none");
    }
    for (size_t got; file && (got = fread(block, 1, sizeof block, file)) > 0;)
        sonde_text_add_bytes(out, block, got);
    if (file && ferror(file))
        rc = sonde_diag_set(diag, SONDE_EIO, sonde_text_get(&path), "%s: cannot read", cannot);
    if (file)
        fclose(file);
    if (!rc && out->failed)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, sonde_text_get(&path), cannot);
    sonde_text_fini(&path);
    return rc;
}

/* A word that only scripts of this file have: no other one runs. */
static int make_nonce(char nonce[33], struct sonde_diag *diag)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sonde_diag_set(diag, SONDE_EIO, NULL, "%s: there are no random numbers", cannot);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* Where `name` is referred to: from `open` before it to `close` behind it, in `html`. False: nowhere. */
static bool find_tag(const char *html, const char *open, const char *name, const char *close, const char **begin, const char **end)
{
    const char *at = strstr(html, name), *next = at ? strstr(at, close) : NULL;
    *begin = NULL;
    for (const char *tag = html; at && (tag = strstr(tag, open)) && tag < at; tag++)
        *begin = tag;
    *end = next ? next + strlen(close) : NULL;
    return *begin && *end;
}

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* A script or a style, which its own end tag ("</script") must not end; nor may "<!--" begin what hides it. */
static void put_text(struct sonde_out *out, const struct sonde_text *text)
{
    const char *at = sonde_text_get(text), *end = at + text->length, *from = at;
    for (; (at = memchr(at, '<', (size_t)(end - at))); at++) {
        const char *other = begins(at, "</s") ? "<\\/" : begins(at, "<!--") ? "\\x3c!"
                                                                            : NULL;
        if (!other)
            continue;
        sonde_out_bytes(out, from, (size_t)(at - from));
        sonde_out_text(out, other);
        from = at + 2;
    }
    sonde_out_bytes(out, from, (size_t)(end - from));
}

/* What is compressed by gzip and then text. */
struct zipped {
    z_stream stream;
    struct view_digits digits;
    bool failed; /* no memory */
};

/* Fast: chunks of rows are compressed already, so that what is left takes 4 % off, and a higher level not much more. */
static void zip_begin(struct zipped *z, struct sonde_out *out)
{
    enum { GZIP = 16 };
    *z = (struct zipped){.digits = {.out = out}};
    z->failed = deflateInit2(&z->stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK;
}

static void zip_run(struct zipped *z, int flush)
{
    unsigned char block[16384];
    do {
        z->stream.next_out = block;
        z->stream.avail_out = sizeof block;
        deflate(&z->stream, flush);
        view_digits_put(&z->digits, block, sizeof block - z->stream.avail_out);
    } while (!z->stream.avail_out);
}

static void zip_put(void *user, const void *bytes, size_t size)
{
    struct zipped *z = user;
    const unsigned char *from = bytes;
    while (size && !z->failed) {
        const size_t part = size < UINT32_MAX ? size : UINT32_MAX;
        z->stream.next_in = (unsigned char *)(uintptr_t)from;
        z->stream.avail_in = (uInt)part;
        zip_run(z, Z_NO_FLUSH);
        from += part;
        size -= part;
    }
}

/* 0 or SONDE_ENOMEM. */
static int zip_end(struct zipped *z)
{
    if (z->failed)
        return SONDE_ENOMEM;
    z->stream.avail_in = 0;
    zip_run(z, Z_FINISH);
    deflateEnd(&z->stream);
    view_digits_end(&z->digits);
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

static void put_policy(struct sonde_out *out, const char *nonce)
{
    struct sonde_text text = {0};
    sonde_text_format(&text,
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-%s' 'wasm-unsafe-eval'; "
                      "style-src 'nonce-%s'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'\">\n",
                      nonce, nonce);
    sonde_out_text(out, sonde_text_get(&text));
    sonde_text_fini(&text);
}

static void put_open(struct sonde_out *out, const char *tag, const char *nonce)
{
    sonde_out_text(out, tag);
    sonde_out_text(out, " nonce=\"");
    sonde_out_text(out, nonce);
    sonde_out_text(out, "\">");
}

static int put_worker(struct sonde_out *out, const struct page *page, const struct sonde_pack *pack, struct sonde_diag *diag)
{
    struct view_digits wasm = {.out = out};
    struct zipped measurement;
    sonde_out_text(out, "<script type=\"text/plain\" id=\"sonde-worker\">");
    put_text(out, &page->parts[WORKER]);
    sonde_out_text(out, "</script>\n<script type=\"application/octet-stream\" id=\"sonde-wasm\">");
    view_digits_put(&wasm, sonde_text_get(&page->parts[WASM]), page->parts[WASM].length);
    view_digits_end(&wasm);
    sonde_out_text(out, "</script>\n<script type=\"application/octet-stream\" id=\"sonde-measurement\">");
    zip_begin(&measurement, out);
    const int rc = sonde_pack_write(pack, zip_put, &measurement, diag), ended = zip_end(&measurement);
    sonde_out_text(out, "</script>\n");
    return !rc && ended ? sonde_diag_set(diag, ended, NULL, cannot) : rc;
}

enum { POLICY,
       STYLE_TAG,
       SCRIPT_TAG,
       BODY_END,
       PLACES };

struct place {
    const char *begin, *end;
};

/* Where in index.html what is put. */
static bool find_places(const char *html, struct place places[PLACES])
{
    const char *head = strstr(html, "<head>"), *body = NULL;
    for (const char *at = html; (at = strstr(at, "</body>")); at++)
        body = at;
    places[POLICY] = (struct place){head ? head + 6 : NULL, head ? head + 6 : NULL};
    places[BODY_END] = (struct place){body, body};
    return head && body && find_tag(html, "<link", "viewer.css\"", ">", &places[STYLE_TAG].begin, &places[STYLE_TAG].end) &&
           find_tag(html, "<script", "viewer.js\"", "</script>", &places[SCRIPT_TAG].begin, &places[SCRIPT_TAG].end);
}

static int by_begin(const void *left, const void *right)
{
    const struct place *const *a = left, *const *b = right;
    return (*a)->begin<(*b)->begin ? -1 : (*a)->begin>(*b)->begin;
}

static int put_page(struct sonde_out *out, const struct page *page, const struct sonde_pack *pack, struct sonde_diag *diag)
{
    const char *at = sonde_text_get(&page->parts[INDEX]);
    struct place places[PLACES];
    const struct place *order[PLACES];
    int rc = 0;
    if (!find_places(at, places))
        return sonde_diag_set(diag, SONDE_EFORMAT, names[INDEX], "%s: its script or its style is not in", cannot);
    for (size_t i = 0; i < PLACES; i++)
        order[i] = &places[i];
    qsort(order, PLACES, sizeof *order, by_begin); /* the build decides where in the head they are */
    for (size_t i = 0; i < PLACES && !rc; i++) {
        sonde_out_bytes(out, at, (size_t)(order[i]->begin - at));
        at = order[i]->end;
        switch (order[i] - places) {
        case POLICY:
            sonde_out_char(out, '\n');
            put_policy(out, page->nonce);
            break;
        case STYLE_TAG:
            put_open(out, "<style", page->nonce);
            put_text(out, &page->parts[STYLE]);
            sonde_out_text(out, "</style>");
            break;
        case SCRIPT_TAG:
            put_open(out, "<script type=\"module\"", page->nonce);
            put_text(out, &page->parts[SCRIPT]);
            sonde_out_text(out, "</script>");
            break;
        default:
            rc = put_worker(out, page, pack, diag);
        }
    }
    sonde_out_text(out, at);
    return rc;
}

static int write_file(const struct sonde_html *html, const struct page *page, const struct sonde_pack *pack, uint64_t *bytes,
                      struct sonde_diag *diag)
{
    struct sonde_out *out;
    int rc = sonde_out_create(html->output, html->force, &out, diag);
    if (rc)
        return rc;
    rc = put_page(out, page, pack, diag);
    *bytes = sonde_out_size(out);
    if (!rc)
        return sonde_out_commit(out, diag);
    sonde_out_abandon(out);
    return rc;
}

/* What a report here says of files without symbols, the page says, too. */
static int add_symbols(struct sonde_pack *pack, const struct sonde_measurement *m, struct sonde_diag *diag)
{
    struct sonde_text text = {0};
    int rc = sonde_symbols_missing(m, &text);
    rc = rc ? rc : sonde_pack_add(pack, SONDE_SYMBOLS_FILE, sonde_text_get(&text), text.length);
    sonde_text_fini(&text);
    return rc ? sonde_diag_set(diag, rc, m->path, cannot) : 0;
}

int sonde_html_write(const struct sonde_html *html, const struct sonde_measurement *m, struct sonde_html_result *result,
                     struct sonde_diag *diag)
{
    struct page page = {0};
    struct sonde_pack *pack = NULL;
    int rc = make_nonce(page.nonce, diag);
    *result = (struct sonde_html_result){0};
    for (size_t i = 0; i < PARTS && !rc; i++)
        rc = read_part(html->page, names[i], &page.parts[i], diag);
    if (!rc)
        rc = sonde_pack_create(m, html->limit_bytes, &pack, diag);
    if (rc == SONDE_EINVALID)
        sonde_diag_hint(diag, "--html-limit allows more");
    if (!rc)
        rc = add_symbols(pack, m, diag);
    if (!rc)
        rc = write_file(html, &page, pack, &result->bytes, diag);
    for (enum sonde_trace trace = 0; trace < SONDE_TRACES && !rc; trace++)
        result->left_out[trace] = sonde_pack_left_out(pack, trace);
    sonde_pack_destroy(pack);
    for (size_t i = 0; i < PARTS; i++)
        sonde_text_fini(&page.parts[i]);
    return rc;
}

void sonde_html_left_out(const struct sonde_html_result *result, char *out, size_t size)
{
    struct sonde_text text = {0};
    char number[SONDE_NUMBER_MAX];
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++) {
        const uint64_t rows = sonde_table_is_trace(table) ? result->left_out[sonde_table_info(table)->trace] : 0;
        const char *lost = rows ? sonde_table_info(table)->lost : NULL;
        if (rows)
            sonde_text_format(&text, "%s%s %s%s", text.length ? ", " : "", sonde_number_count(number, rows), lost ? lost : "sleep",
                              rows == 1 ? "" : "s");
    }
    snprintf(out, size, "%s%s", sonde_text_get(&text), text.length ? " of the end of the run are not in the page: --html-limit allows more" : "");
    sonde_text_fini(&text);
}
