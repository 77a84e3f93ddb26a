/* report_caveats.c - after a view: what its figures lack, and why, in a sentence each. */
#include <stdio.h>

#include "report.h"
#include "views/notes.h"

int report_caveats_text(const struct report *r, const struct sonde_view *view, struct sonde_diag *diag)
{
    struct sonde_caveats caveats = {0};
    const unsigned kinds = view->caveats;
    bool begun = false;
    int rc = sonde_query_caveats(&r->q, kinds, &caveats);
    for (size_t i = 0; i < caveats.items.count && !rc; i++) {
        if (!(caveats.items.items[i].kind & kinds))
            continue;
        if (!begun)
            fputc('\n', stdout);
        begun = true;
        report_say(r, "note: %s", sonde_text_get(&caveats.items.items[i].text));
    }
    sonde_caveats_fini(&caveats);
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot say what is missing in") : 0;
}
