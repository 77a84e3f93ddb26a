/* database.c - see database.h.
 *
 * A look is one transaction in a write-ahead log (sqlite.org/wal.html): others may read meanwhile, and whoever is killed leaves whole looks. The log
 * is not synced at each look, so a machine that loses power may lose the last ones, but not the rest. Freed pages are used again: with a constant
 * number of series the file stops growing after one time of retention.
 */
#include "database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "samples.h"

enum {
    APPLICATION = 0x536f6e64, /* "Sond", in the file's header */
    BUSY_MS = 200,            /* so long others may keep it locked */
    SWEEP_SECONDS = 60,
};

static const char schema[] = "CREATE TABLE IF NOT EXISTS series (id INTEGER PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL,"
                             " last_us INTEGER NOT NULL, UNIQUE (name, labels));"
                             "CREATE TABLE IF NOT EXISTS sample (time_us INTEGER NOT NULL, series INTEGER NOT NULL, value REAL NOT NULL,"
                             " PRIMARY KEY (time_us, series)) WITHOUT ROWID;"
                             "CREATE VIEW IF NOT EXISTS named_sample AS SELECT time_us, name, labels, value FROM sample JOIN series ON series.id = sample.series;";

struct sonde_database {
    sqlite3 *db;
    sqlite3_stmt *find, *add_series, *add_sample, *mark, *sweep, *sweep_series;
    char *path;
    uint64_t keep_ns;
    time_t swept;
    /* of one look: */
    int64_t time_us;
    uint64_t rows;
    bool failed;
};

static int fails(const struct sonde_database *d, int rc, struct sonde_diag *diag)
{
    const int code = rc == SQLITE_FULL ? SONDE_EFULL : rc == SQLITE_NOMEM ? SONDE_ENOMEM
                                                                          : SONDE_EIO;
    sonde_diag_set(diag, code, d->path, "cannot store in");
    if (diag)
        snprintf(diag->why, sizeof diag->why, "%s", d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(rc));
    return code;
}

/* ---- one look ------------------------------------------------------------------------------- */

static void add_json(struct sonde_text *out, const char *text)
{
    sonde_text_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            sonde_text_add(out, "\\");
        sonde_text_add_bytes(out, text, 1);
    }
    sonde_text_add(out, "\"");
}

/* {"device":"0","kind":"kernel"}: names of labels need no escapes, and values have no control characters (metrics_text.c). */
static void add_labels(struct sonde_text *out, const struct sonde_sample *sample)
{
    sonde_text_add(out, "{");
    for (size_t i = 0; i < sample->label_count; i++) {
        sonde_text_format(out, "%s\"%.*s\":", i ? "," : "", (int)sample->labels[i].length, sample->labels[i].name);
        add_json(out, sample->labels[i].value);
    }
    sonde_text_add(out, "}");
}

/* Step, with the first two values bound. */
static int run(sqlite3_stmt *statement, const char *name, const char *labels)
{
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, labels, -1, SQLITE_STATIC);
    return sqlite3_step(statement);
}

/* Its number; negative: it could not be stored, `rc` says why. */
static int64_t series_of(struct sonde_database *d, const char *name, const char *labels, int *rc)
{
    int64_t id = -1;
    *rc = run(d->find, name, labels);
    if (*rc == SQLITE_ROW)
        id = sqlite3_column_int64(d->find, 0);
    sqlite3_reset(d->find);
    if (id >= 0 || *rc != SQLITE_DONE)
        return id;
    sqlite3_bind_int64(d->add_series, 3, d->time_us);
    *rc = run(d->add_series, name, labels);
    if (*rc == SQLITE_DONE)
        id = sqlite3_last_insert_rowid(d->db);
    sqlite3_reset(d->add_series);
    return id;
}

static int take(void *user, const struct sonde_sample *sample)
{
    struct sonde_database *d = user;
    struct sonde_text labels = {0};
    int rc = SQLITE_NOMEM;
    d->rows++;
    if (d->failed) /* counted, like those before */
        return 0;
    add_labels(&labels, sample);
    const int64_t series = labels.failed ? -1 : series_of(d, sample->name, sonde_text_get(&labels), &rc);
    if (series >= 0) {
        sqlite3_bind_int64(d->add_sample, 1, d->time_us);
        sqlite3_bind_int64(d->add_sample, 2, series);
        sqlite3_bind_double(d->add_sample, 3, strtod(sample->value, NULL));
        rc = sqlite3_step(d->add_sample);
        sqlite3_reset(d->add_sample);
    }
    d->failed = rc != SQLITE_DONE;
    sonde_text_fini(&labels);
    return 0;
}

static int step(sqlite3_stmt *statement, int64_t first, int64_t second)
{
    sqlite3_bind_int64(statement, 1, first);
    sqlite3_bind_int64(statement, 2, second);
    const int rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    return rc;
}

/* Once a minute. Which series still get figures is told by the last two minutes alone, not by all samples; so a series goes when
 * it had none for two minutes more than these are kept. */
static int sweep(struct sonde_database *d, const struct timespec *now)
{
    const int64_t margin_us = 2 * SWEEP_SECONDS * INT64_C(1000000), old_us = d->time_us - (int64_t)(d->keep_ns / 1000);
    if (now->tv_sec - d->swept < SWEEP_SECONDS && now->tv_sec >= d->swept)
        return SQLITE_DONE;
    int rc = step(d->mark, d->time_us, d->time_us - margin_us);
    if (rc == SQLITE_DONE)
        rc = step(d->sweep, old_us, 0);
    if (rc == SQLITE_DONE)
        rc = step(d->sweep_series, old_us - margin_us, 0);
    if (rc == SQLITE_DONE)
        d->swept = now->tv_sec;
    return rc;
}

int sonde_database_put(struct sonde_database *d, char *text, const struct timespec *time, struct sonde_store_count *count, struct sonde_diag *diag)
{
    int code = 0, rc = sqlite3_exec(d->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    d->time_us = (int64_t)time->tv_sec * 1000000 + time->tv_nsec / 1000;
    d->rows = 0;
    d->failed = rc != SQLITE_OK;
    if (d->failed)
        code = fails(d, rc, diag);
    sonde_samples_each(text, take, d);
    if (!d->failed && (rc = sweep(d, time)) != SQLITE_DONE)
        d->failed = true;
    if (!d->failed && (rc = sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL)) != SQLITE_OK)
        d->failed = true;
    if (d->failed && !code) /* before the rollback, which has a message of its own */
        code = fails(d, sqlite3_errcode(d->db), diag);
    if (d->failed && !sqlite3_get_autocommit(d->db))
        sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
    *(d->failed ? &count->lost : &count->kept) += d->rows;
    return code;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* An empty file, or one of ours. */
static int check_owner(struct sonde_database *d, struct sonde_diag *diag)
{
    sqlite3_stmt *ask = NULL;
    int rc = sqlite3_prepare_v2(d->db, "SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id", -1, &ask, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(ask);
    const bool ours = rc == SQLITE_ROW && (sqlite3_column_int(ask, 0) == APPLICATION || sqlite3_column_int(ask, 1) == 0);
    int code = 0;
    if (rc != SQLITE_ROW)
        code = fails(d, rc, diag);
    else if (!ours)
        code = sonde_diag_set(diag, SONDE_EUNSUPPORTED, d->path, "cannot store in");
    if (code == SONDE_EUNSUPPORTED && diag)
        snprintf(diag->why, sizeof diag->why, "this database is not one of 'sonde monitor'");
    sqlite3_finalize(ask);
    return code;
}

static int prepare(struct sonde_database *d, struct sonde_diag *diag)
{
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA application_id = %d", APPLICATION);
    const char *const texts[] = {pragma, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", schema};
    const struct {
        sqlite3_stmt **statement;
        const char *text;
    } all[] = {
        {&d->find, "SELECT id FROM series WHERE name = ? AND labels = ?"},
        {&d->add_series, "INSERT INTO series (name, labels, last_us) VALUES (?, ?, ?)"},
        {&d->add_sample, "INSERT OR REPLACE INTO sample VALUES (?, ?, ?)"},
        {&d->mark, "UPDATE series SET last_us = ? WHERE id IN (SELECT series FROM sample WHERE time_us >= ?)"},
        {&d->sweep, "DELETE FROM sample WHERE time_us < ?"},
        {&d->sweep_series, "DELETE FROM series WHERE last_us < ?"},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof texts / sizeof *texts; i++)
        rc = sqlite3_exec(d->db, texts[i], NULL, NULL, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof all / sizeof *all; i++)
        rc = sqlite3_prepare_v3(d->db, all[i].text, -1, SQLITE_PREPARE_PERSISTENT, all[i].statement, NULL);
    return rc == SQLITE_OK ? 0 : fails(d, rc, diag);
}

int sonde_database_open(const char *path, uint64_t keep_ns, struct sonde_database **out, struct sonde_diag *diag)
{
    struct sonde_database *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d || !(d->path = strdup(path))) {
        free(d);
        return sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot store in");
    }
    d->keep_ns = keep_ns;
    const int rc = sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    int code = rc == SQLITE_OK ? 0 : fails(d, rc, diag);
    if (!code)
        sqlite3_busy_timeout(d->db, BUSY_MS);
    if (!code)
        code = check_owner(d, diag);
    if (!code)
        code = prepare(d, diag);
    if (code)
        sonde_database_close(d);
    else
        *out = d;
    return code;
}

void sonde_database_close(struct sonde_database *d)
{
    if (!d)
        return;
    sqlite3_stmt *const all[] = {d->find, d->add_series, d->add_sample, d->mark, d->sweep, d->sweep_series};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sqlite3_finalize(all[i]);
    sqlite3_close(d->db);
    free(d->path);
    free(d);
}
