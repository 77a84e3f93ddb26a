/* libraries.c - what SQLite and OTF2 take alone: as many rows, or events, as an export of Sonde writes, of made-up numbers.
 *
 *   bench-libraries sqlite FILE OPERATIONS CALLS          tables, columns and indices of docs/sqlite.md, one transaction, no journal
 *   bench-libraries otf2 FOLDER OPERATIONS CALLS LANES    enter and leave of each, with the two attributes
 */
#include <otf2/otf2.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench-libraries: %s failed\n", what);
        exit(1);
    }
}

/* ---- SQLite -------------------------------------------------------------------------- */

static void execute(sqlite3 *db, const char *sql)
{
    check(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static void insert(sqlite3 *db, const char *sql, int columns, int text, uint64_t rows)
{
    sqlite3_stmt *row;
    check(sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK, sql);
    for (uint64_t i = 0; i < rows; i++) {
        for (int k = 1; k <= columns; k++)
            if (k == text)
                sqlite3_bind_text(row, k, "kernel", -1, SQLITE_STATIC);
            else if (k <= 4 || k > 10) /* small: process, lane, context, bytes, flags */
                sqlite3_bind_int64(row, k, (sqlite3_int64)((i * 2654435761u >> 7) % 1000));
            else
                sqlite3_bind_int64(row, k, (sqlite3_int64)(1000000000000 + i * 2000 + (uint64_t)k * 300));
        check(sqlite3_step(row) == SQLITE_DONE, "an insert");
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
}

static void write_sqlite(const char *path, uint64_t operations, uint64_t calls)
{
    sqlite3 *db;
    check(sqlite3_open(path, &db) == SQLITE_OK, "opening the file");
    execute(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN;"
                "CREATE TABLE operation (process INTEGER, lane INTEGER, kind TEXT, context INTEGER, correlation INTEGER, enter_ns INTEGER, "
                "queued_ns INTEGER, submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER, bytes INTEGER, work INTEGER, object INTEGER, failed INTEGER, "
                "bad_time INTEGER);"
                "CREATE TABLE call (process INTEGER, lane INTEGER, context INTEGER, correlation INTEGER, enter_ns INTEGER, leave_ns INTEGER, queue INTEGER)");
    insert(db, "INSERT INTO operation VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 15, 3, operations);
    insert(db, "INSERT INTO call VALUES (?,?,?,?,?,?,?)", 7, 0, calls);
    execute(db, "CREATE INDEX operation_start ON operation(start_ns); CREATE INDEX operation_context ON operation(context);"
                "CREATE INDEX operation_call ON operation(process, correlation); CREATE INDEX call_enter ON call(enter_ns);"
                "CREATE INDEX call_context ON call(context); CREATE INDEX call_operation ON call(process, correlation); COMMIT");
    check(sqlite3_close(db) == SQLITE_OK, "closing the file");
}

/* ---- OTF2 ---------------------------------------------------------------------------- */

static OTF2_FlushType always(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static void write_location(OTF2_Archive *archive, uint64_t location, uint64_t slices)
{
    OTF2_AttributeList *attributes = OTF2_AttributeList_New();
    OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(archive, location);
    check(events && attributes, "a location");
    for (uint64_t i = 0; i < slices; i++) {
        const OTF2_TimeStamp at = 1000000000000 + i * 2000;
        OTF2_AttributeList_AddUint64(attributes, 0, i);
        OTF2_AttributeList_AddCallingContextRef(attributes, 1, (OTF2_CallingContextRef)(i % 1000));
        check(OTF2_EvtWriter_Enter(events, attributes, at, (OTF2_RegionRef)(i % 100)) == OTF2_SUCCESS, "an event");
        check(OTF2_EvtWriter_Leave(events, NULL, at + 1500, (OTF2_RegionRef)(i % 100)) == OTF2_SUCCESS, "an event");
    }
    check(OTF2_Archive_CloseEvtWriter(archive, events) == OTF2_SUCCESS, "closing a location");
    OTF2_AttributeList_Delete(attributes);
}

static void write_otf2(const char *path, uint64_t operations, uint64_t calls, uint64_t lanes)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = always};
    OTF2_Archive *archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                                              OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    check(archive != NULL, "opening the archive");
    OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    for (uint64_t i = 0; i < lanes; i++)
        write_location(archive, i, operations / lanes);
    write_location(archive, lanes, calls);
    check(OTF2_Archive_CloseEvtFiles(archive) == OTF2_SUCCESS, "closing the events");
    check(OTF2_Archive_Close(archive) == OTF2_SUCCESS, "closing the archive");
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "sqlite") == 0) {
        write_sqlite(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    } else if (argc == 6 && strcmp(argv[1], "otf2") == 0) {
        write_otf2(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    } else {
        fprintf(stderr, "usage: bench-libraries sqlite FILE OPERATIONS CALLS | otf2 FOLDER OPERATIONS CALLS LANES\n");
        return 2;
    }
    return 0;
}
