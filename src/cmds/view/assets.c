/* assets.c - see assets.h. */
#include "assets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmds/command.h"

#define FOLDER "share/sonde/viewer"

/* clang-format off */
static const struct { const char *name, *type; } known[VIEW_ASSET_COUNT] = {
    {"index.html", "text/html; charset=utf-8"},
    {"viewer.js", "text/javascript; charset=utf-8"},
    {"viewer.css", "text/css; charset=utf-8"},
    {"worker.js", "text/javascript; charset=utf-8"},
    {"sonde.wasm", "application/wasm"},
};
/* clang-format on */

static int read_file(const char *path, struct sonde_text *out, struct sonde_diag *diag)
{
    char piece[65536];
    FILE *file = fopen(path, "re");
    int code = file ? 0 : sonde_diag_set(diag, errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO, path, "cannot read");
    if (code)
        sonde_diag_errno(diag, errno);
    for (size_t length; !code && (length = fread(piece, 1, sizeof piece, file)) > 0;)
        sonde_text_add_bytes(out, piece, length);
    if (!code && ferror(file))
        code = sonde_diag_set(diag, SONDE_EIO, path, "cannot read");
    if (!code && out->failed)
        code = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot read");
    if (file)
        fclose(file);
    return code;
}

static int not_built(struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "the viewer's page was not built");
    snprintf(diag->why, sizeof diag->why, "there is no %s beside this sonde", FOLDER);
    sonde_diag_hint(diag, "install Node.js with npm and build again (docs/viewer.md)");
    return SONDE_ENOTFOUND;
}

int view_assets_load(struct view_assets *assets, struct sonde_diag *diag)
{
    char folder[PATH_MAX], path[PATH_MAX];
    int code = sonde_find_installed(FOLDER, folder, diag);
    for (size_t i = 0; i < VIEW_ASSET_COUNT && !code; i++) {
        struct view_asset *asset = &assets->list[i];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, known[i].name);
        code = n > 0 && (size_t)n < sizeof path ? read_file(path, &asset->bytes, diag) : SONDE_ENOTFOUND;
        if (!code) {
            asset->name = known[i].name;
            asset->type = known[i].type;
        } else if (code == SONDE_ENOTFOUND && i) {
            code = 0; /* a page without one of its other files is one all the same */
        }
    }
    return code == SONDE_ENOTFOUND ? not_built(diag) : code;
}

void view_assets_fini(struct view_assets *assets)
{
    for (size_t i = 0; i < VIEW_ASSET_COUNT; i++)
        sonde_text_fini(&assets->list[i].bytes);
    *assets = (struct view_assets){0};
}

const struct view_asset *view_assets_find(const struct view_assets *assets, const char *name, size_t length)
{
    for (size_t i = 0; i < VIEW_ASSET_COUNT; i++) {
        const struct view_asset *asset = &assets->list[i];
        if (asset->name && strlen(asset->name) == length && memcmp(asset->name, name, length) == 0)
            return asset;
    }
    return NULL;
}
