/* find.c - which measurement the user means: the folder as it was typed, `heat` for heat.sonde,
 * and the newest of the current folder when none was named (docs/report.md, "Which measurement"); and the several
 * of one side of a comparison (docs/diff.md).
 */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/text.h"
#include "format/folder.h"

/* False when the path would be too long. */
static bool join(char *out, const char *folder, const char *name, const char *suffix)
{
    const int n = snprintf(out, PATH_MAX, "%s%s%s%s", folder, *folder ? "/" : "", name, suffix);
    return n > 0 && n < PATH_MAX;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* When the measurement began, by its manifest, or where that does not say by its date; 0: it is none. */
static uint64_t begun_ns(const char *path)
{
    char file[PATH_MAX];
    json_t *manifest = join(file, path, SONDE_MANIFEST_FILE, "") ? json_load_file(file, 0, NULL) : NULL;
    const char *format = json_string_value(json_object_get(manifest, "format"));
    const json_int_t ns = json_integer_value(json_object_get(manifest, "start_wall_ns"));
    struct stat st;
    uint64_t begun = 0;
    if (format && strcmp(format, "sonde") == 0 && stat(file, &st) == 0)
        begun = ns > 0 ? (uint64_t)ns : (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    json_decref(manifest);
    return begun;
}

static int find_newest(char path[PATH_MAX], struct sonde_diag *diag)
{
    uint64_t newest = 0;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const uint64_t ns = entry->d_name[0] == '.' ? 0 : begun_ns(entry->d_name);
        if (ns > newest || (ns && ns == newest && strcmp(entry->d_name, path) > 0)) {
            newest = ns;
            snprintf(path, PATH_MAX, "%s", entry->d_name);
        }
    }
    if (folder)
        closedir(folder);
    if (newest)
        return 0;
    sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "nothing to read");
    snprintf(diag->why, sizeof diag->why, "there is no measurement in this folder");
    sonde_diag_hint(diag, "create one with 'sonde record -- PROGRAM', or name one: 'sonde report DIR'");
    return SONDE_ENOTFOUND;
}

/* Measurements beside a path that does not exist, with and without their suffix. */
static void try_neighbours(struct sonde_nearest *nearest, const char *folder)
{
    DIR *open = opendir(*folder ? folder : ".");
    char stem[NAME_MAX + 1];
    for (struct dirent *entry; open && (entry = readdir(open));) {
        const size_t length = strlen(entry->d_name), tail = strlen(SONDE_FOLDER_SUFFIX);
        if (length <= tail || length > NAME_MAX || strcmp(entry->d_name + length - tail, SONDE_FOLDER_SUFFIX) != 0)
            continue;
        memcpy(stem, entry->d_name, length - tail);
        stem[length - tail] = '\0';
        sonde_nearest_try(nearest, stem);
        sonde_nearest_try(nearest, entry->d_name);
    }
    if (open)
        closedir(open);
}

static void suggest(const char *given, const char *(*word)(size_t index), struct sonde_diag *diag)
{
    char folder[PATH_MAX] = "", found[PATH_MAX];
    const char *name = sonde_path_base(given), *text;
    struct sonde_nearest nearest = {.word = name};
    struct sonde_text quoted = {0};
    if (name > given + 1)
        snprintf(folder, sizeof folder, "%.*s", (int)(name - given - 1), given);
    else if (name > given)
        snprintf(folder, sizeof folder, "/.");
    try_neighbours(&nearest, folder);
    for (size_t i = 0; word && name == given && (text = word(i)); i++)
        sonde_nearest_try(&nearest, text);
    if (*nearest.known && join(found, folder, nearest.known, "")) {
        sonde_text_add_path(&quoted, found);
        sonde_diag_hint(diag, "did you mean %s?", sonde_text_get(&quoted));
    }
    sonde_text_fini(&quoted);
}

bool sonde_is_measurement(const char *path)
{
    return begun_ns(path) != 0;
}

int sonde_find_measurement(const char *given, const char *(*word)(size_t index), char path[PATH_MAX],
                           struct sonde_diag *diag)
{
    struct stat st;
    if (!given)
        return find_newest(path, diag);
    if (!is_folder(given) || !sonde_is_measurement(given)) {
        size_t length = strlen(given);
        while (length > 1 && given[length - 1] == '/')
            length--;
        if (snprintf(path, PATH_MAX, "%.*s" SONDE_FOLDER_SUFFIX, (int)length, given) < PATH_MAX && is_folder(path))
            return 0;
    }
    if (snprintf(path, PATH_MAX, "%s", given) >= PATH_MAX) {
        sonde_diag_set(diag, SONDE_EINVALID, given, "cannot read the measurement");
        sonde_diag_errno(diag, ENAMETOOLONG);
        return SONDE_EINVALID;
    }
    if (stat(given, &st) == 0 || errno != ENOENT)
        return 0;
    sonde_diag_set(diag, SONDE_ENOTFOUND, given, "cannot read the measurement");
    sonde_diag_errno(diag, ENOENT);
    suggest(given, word, diag);
    return SONDE_ENOTFOUND;
}

/* ---- one side of a comparison ------------------------------------------------------------------------ */

enum { MOST_RUNS = 256 };

/* The end of the first name; a measurement may have a comma in its name. */
static size_t first_name(const char *names)
{
    const char *comma = strchr(names, ',');
    return comma && !sonde_is_measurement(names) ? (size_t)(comma - names) : strlen(names);
}

static int refuse(struct sonde_diag *diag, const char *where, const char *why)
{
    sonde_diag_set(diag, SONDE_EINVALID, where, "cannot compare");
    snprintf(diag->why, sizeof diag->why, "%s", why);
    return SONDE_EINVALID;
}

static int add_run(struct sonde_side *side, const char *name, size_t length, struct sonde_diag *diag)
{
    char path[PATH_MAX], real[PATH_MAX], other[PATH_MAX];
    char *given = strndup(name, length);
    int rc = given ? sonde_find_measurement(given, NULL, path, diag) : sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot compare");
    free(given);
    for (size_t i = 0; i < side->paths.count && !rc; i++)
        if (realpath(path, real) && realpath(side->paths.items[i], other) && strcmp(real, other) == 0)
            rc = refuse(diag, path, "a side names it twice, which would hide the noise between runs");
    char *kept = rc ? NULL : strdup(path);
    if (!rc && (!kept || sonde_vector_push(&side->paths, kept))) {
        free(kept);
        rc = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot compare");
    }
    return rc;
}

int sonde_side_find(const char *names, struct sonde_side *out, struct sonde_diag *diag)
{
    int rc = 0;
    for (const char *at = names; at && !rc;) {
        const size_t length = first_name(at);
        if (!length)
            rc = refuse(diag, names, "there is an empty name in the list");
        else if (out->paths.count == MOST_RUNS)
            rc = refuse(diag, NULL, "a side has 256 measurements at most");
        else
            rc = add_run(out, at, length, diag);
        at = at[length] ? at + length + 1 : NULL;
    }
    return rc;
}

void sonde_side_fini(struct sonde_side *side)
{
    for (size_t i = 0; i < side->paths.count; i++)
        free(side->paths.items[i]);
    sonde_vector_fini(&side->paths);
}
