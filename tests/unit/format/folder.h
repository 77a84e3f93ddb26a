/* folder.h - what the tests of whole measurements share: a scratch folder, and counting rows.
 */
#ifndef SONDE_TESTS_FORMAT_FOLDER_H
#define SONDE_TESTS_FORMAT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reader.h"
#include "synth.h"

/* Every how manyth byte or try the thorough tests take: sanitizers make them many times as slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { EVERY = 11 };
#else
enum { EVERY = 1 };
#endif

/* A fresh name in a scratch folder that is removed at the end of the program. */
const char *folder_new(void);
void folder_remove_all(void);

/* The only process directory of a synthetic measurement. */
const char *folder_process(const char *measurement);

void *folder_read(const char *dir, const char *file, size_t *size); /* to be freed; NULL when missing */
void folder_write(const char *dir, const char *file, const void *bytes, size_t size);
bool folder_has(const char *dir, const char *file);

/* What a reader finds. */
struct tally {
    int status;
    uint64_t ops, calls, op_ns, op_bytes, correlations; /* correlations: their sum */
    uint32_t strings, frames, nodes, profiles, symbols, notes, clocks;
    uint32_t damaged, processes;
    bool sealed;
    struct sonde_ledger ledger;
};
struct tally tally(const char *measurement);

#endif
