/* assets.h - the files of the viewer's page: which there are, and what is in them.
 *
 * The page's build puts them into share/sonde/viewer. They are read once, as a whole: who asks for a name that is not in the
 * list gets nothing, whatever lies in that folder.
 *
 * Threads: loading and fini one at a time, finding any.
 */
#ifndef SONDE_CMDS_VIEW_ASSETS_H
#define SONDE_CMDS_VIEW_ASSETS_H

#include <stddef.h>

#include <sonde/error.h>

#include "base/text.h"

enum { VIEW_ASSET_COUNT = 5 };

struct view_asset {
    const char *name, *type; /* "viewer.css", "text/css; charset=utf-8" */
    struct sonde_text bytes;
};

struct view_assets { struct view_asset list[VIEW_ASSET_COUNT]; }; /* ready when zeroed */

/* Read all of them. 0; ENOTFOUND with a `diag` that says how the page is built, EIO or ENOMEM with `diag`. fini in either case. */
int view_assets_load(struct view_assets *assets, struct sonde_diag *diag);
void view_assets_fini(struct view_assets *assets);

/* The one whose name is these bytes; NULL: there is none, or it was not read. */
const struct view_asset *view_assets_find(const struct view_assets *assets, const char *name, size_t length);

#endif
