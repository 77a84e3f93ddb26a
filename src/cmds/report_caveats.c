/* report_caveats.c - after a view: what its figures lack, and why, in a sentence each. */
#include <stdio.h>
#include <string.h>

#include "analyze/caveats.h"
#include "report.h"

/* What touches a view; one that is not here reads all but what few ask about. */
static unsigned touches(const char *view)
{
    enum { NAMES = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON };
    static const struct { const char *view; unsigned kinds; } views[] = {
        {"summary", SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_PAUSES | SONDE_CAVEAT_SAMPLES |
                        SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_VIEWS},
        {"profile", SONDE_CAVEAT_CLOCK | NAMES | SONDE_CAVEAT_LIBRARIES | SONDE_CAVEAT_SAMPLES |
                        SONDE_CAVEAT_VIEWS}, /* says itself when the CPU side is missing */
        {"contexts", SONDE_CAVEAT_CLOCK | NAMES | SONDE_CAVEAT_LIBRARIES},
        {"kernels", SONDE_CAVEAT_CLOCK | NAMES},
        {"copies", SONDE_CAVEAT_CLOCK | NAMES},
        {"api", NAMES},
        {"objects", NAMES},
        {"memory", NAMES | SONDE_CAVEAT_PAUSES},
        {"lanes", SONDE_CAVEAT_TRACE | SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_LANES | SONDE_CAVEAT_PAUSES},
        {"overlap", SONDE_CAVEAT_TRACE | SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_PAUSES},
        {"ledger", SONDE_CAVEAT_ALL},
        {"statistics", SONDE_CAVEAT_ALL & ~(unsigned)(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES | SONDE_CAVEAT_VIEWS)}, /* says it row by row */
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].view, view) == 0)
            return views[i].kinds;
    return SONDE_CAVEAT_ALL & ~(unsigned)(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES);
}

/* With what only a comparison of views tells. */
static int find_caveats(const struct report *r, unsigned kinds, struct sonde_caveats *out)
{
    struct sonde_text text = {0};
    struct sonde_diag diag = {0};
    int rc = sonde_caveats_compute(r->m, r->profile, out);
    if (!rc && kinds & SONDE_CAVEAT_VIEWS)
        rc = report_disagreement(r, &text, &diag);
    if (!rc && text.length) {
        rc = sonde_vector_push(&out->items, (struct sonde_caveat){SONDE_CAVEAT_VIEWS, text});
        text = rc ? text : (struct sonde_text){0};
    }
    sonde_text_fini(&text);
    return rc;
}

int report_caveats_text(const struct report *r, const char *view, struct sonde_diag *diag)
{
    struct sonde_caveats caveats = {0};
    const unsigned kinds = touches(view);
    bool begun = false;
    int rc = find_caveats(r, kinds, &caveats);
    for (size_t i = 0; i < caveats.items.count && !rc; i++) {
        if (!(caveats.items.items[i].kind & kinds))
            continue;
        if (!begun)
            fputc('\n', stdout);
        begun = true;
        report_say(r, "note: %s", sonde_text_get(&caveats.items.items[i].text));
    }
    sonde_caveats_fini(&caveats);
    return rc ? sonde_diag_set(diag, rc, r->path, "cannot say what is missing in") : 0;
}

json_t *report_caveats_json(const struct report *r)
{
    struct sonde_caveats caveats = {0};
    json_t *array = find_caveats(r, SONDE_CAVEAT_ALL, &caveats) ? NULL : json_array();
    for (size_t i = 0; array && i < caveats.items.count; i++)
        json_array_append_new(array, json_pack("{s:s, s:o}", "kind", sonde_caveat_name(caveats.items.items[i].kind),
                                               "text", report_json_text(sonde_text_get(&caveats.items.items[i].text))));
    sonde_caveats_fini(&caveats);
    return array;
}
