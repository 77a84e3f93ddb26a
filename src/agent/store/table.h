/* table.h - rows, strings and what is stored once, for the files that store rows in tables.
 *
 * Everything here is called under table_lock unless it says otherwise.
 */
#ifndef SONDE_AGENT_STORE_TABLE_H
#define SONDE_AGENT_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/rows.h"

/* Append one row; its id in *id, NULL when there is no room. Published by sonde__row_commit. */
void *sonde__row_add(enum sonde_table table, uint32_t row_bytes, uint32_t *id);
void sonde__row_commit(enum sonde_table table);
uint32_t sonde__row_count(enum sonde_table table);
#define ROW_ADD(TABLE, type, id) ((type *)sonde__row_add(SONDE_TABLE_##TABLE, sizeof(type), id))

/* 0: none, or no room. */
uint32_t sonde__string_id(const char *bytes, size_t length);
uint32_t sonde__text_id(const char *text);
/* Of an id that was given; it stays. */
const char *sonde__string_bytes(uint32_t id, size_t *length);

/* Operations, Python frames, launch sizes: by a key that is all of their row. */
bool sonde__known_quick(uint64_t key, uint64_t *id); /* any thread, without a lock; may miss what is known */
bool sonde__known_find(uint64_t key, uint64_t *id);
bool sonde__known_room(void);                        /* is there room to know one more? */
void sonde__known_put(uint64_t key, uint32_t id);
void sonde__known_say(void);                         /* outside of table_lock: a note when there was none */

uint32_t sonde__cache_entries(void);                 /* of each cache (guest/pairs.h), by the budget. Any thread */

#endif
