/* attached.h - what the agent in a running program tells whoever attaches it (src/attach), in the program's memory.
 *
 * The agent exports one object of this type, `sonde__attached`, and two functions, which a thread calls that was made for
 * that (src/attach/thread.c):
 *
 *     int sonde__attach_begin(const char *settings)   record from now on; `settings`: "NAME=value" strings of the variables that
 *                                                     `sonde record` sets for programs that it starts, and an empty one
 *     int sonde__attach_forget(void)                  be as freshly loaded; while all other threads stand still, none of them in the agent
 *
 * Both return SONDE_ATTACHED_DONE, or another number and `why`.
 */
#ifndef SONDE_FORMAT_ATTACHED_H
#define SONDE_FORMAT_ATTACHED_H

#include <stdint.h>

#define SONDE_ATTACHED_VERSION 1u
#define SONDE_ATTACHED_DONE   60 /* exit's number: should nobody look at what the thread returns, it ends (src/attach/thread.c) */

enum sonde_attached_state {
    SONDE_ATTACHED_FRESH,    /* nothing has happened yet, or all of it is forgotten */
    SONDE_ATTACHED_RECORDS,  /* an attached agent is at work, */
    SONDE_ATTACHED_OVER,     /* or has ended: its threads, files and hooks are gone, its memory is there */
};

struct sonde_attached {
    uint32_t version;
    _Atomic uint32_t state;  /* enum sonde_attached_state */
    int64_t tls_offset;      /* where a thread has its variables of the agent, from its thread pointer, */
    uint64_t tls_bytes;      /* and how many bytes; all 0 when it is fresh */
    char why[192];           /* as in struct sonde_diag */
};

#endif
