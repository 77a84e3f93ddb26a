/* mpi.h - what the files of this folder share: how the MPI library in the process lays out its handles, its
 * communicators, and requests that are under way.
 *
 * No mpi.h of an implementation is included: OpenMPI's handles are pointers, MPICH's and its children's are ints, and
 * one agent serves both. A handle is passed on as the register holds it; as a key it is as wide as the library has it.
 * Sources: mpi.h of Open MPI 4.1 and of MPICH 4.0; MPI 4.0, chapters 3 (point-to-point), 6 (collectives), 15.2 (profiling interface).
 */
#ifndef SONDE_BACKENDS_MPI_MPI_H
#define SONDE_BACKENDS_MPI_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/backend.h>

typedef uintptr_t mpi_handle;

struct sonde_mpi_layout {
    const char *family;       /* part of what MPI_Get_library_version says; ends a table: NULL */
    uint32_t handle_bytes;    /* also of a request, in arrays */
    uint32_t status_bytes;    /* in arrays */
    uint32_t source, tag;     /* indices of these ints in a status */
    int no_process;           /* MPI_PROC_NULL */
    uintptr_t in_place, ignore; /* MPI_IN_PLACE; MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE */
    const char *world_symbol, *no_comm_symbol, *null_symbol, *byte_symbol; /* whose addresses these are; NULL: they are below */
    mpi_handle world, no_comm, null, byte; /* MPI_COMM_WORLD, MPI_COMM_NULL, MPI_REQUEST_NULL, MPI_BYTE */
};
#define MPI_STATUS_BYTES 64   /* no library's is larger */

/* The library's own `name`, as `caller` would have got it without us. NULL: there is none. */
/* Is the call from Open MPI's functions for Fortran? */
bool sonde__mpi_is_fortran(const void *caller);
void *sonde__mpi_function(const char *name, const void *caller);
/* Look at the library, once. False: it is one whose handles are not known, and nothing is told of it. */
bool sonde__mpi_ready(const void *caller);
const struct sonde_mpi_layout *sonde__mpi_layout(void); /* when ready */

mpi_handle sonde__mpi_handle_at(const void *array, uint32_t i);
bool sonde__mpi_is_null_request(mpi_handle request);
/* Bytes of `count` elements; 0 where that cannot be known. */
uint64_t sonde__mpi_bytes(mpi_handle type, int64_t count);

/* A communicator, known until it is freed. `members`: ranks of the job, from 1, 0 unknown. */
struct sonde_mpi_comm {
    uint64_t hash;     /* of its members: in each of them the same, */
    uint32_t which;    /* and the which of those that have the same, from 1 */
    uint32_t string;   /* id; 0 not yet */
    uint32_t count;    /* members */
    uint32_t ranks;    /* the same; where it is between two groups, of both: alike on either side */
    uint32_t pages_bytes;
    bool between;      /* of two groups: the members are the other one's */
    uint32_t members[];
};
/* Any handle of a communicator. NULL: none, or not known. */
struct sonde_mpi_comm *sonde__mpi_comm(mpi_handle comm);
void sonde__mpi_comm_made(mpi_handle comm); /* in the order in which all its ranks made theirs */
void sonde__mpi_comm_freed(mpi_handle comm);
uint32_t sonde__mpi_comm_string(struct sonde_mpi_comm *c);
uint32_t sonde__mpi_member(const struct sonde_mpi_comm *c, int rank); /* of the job, from 1; 0 none */

/* What one call has begun and another one will end. */
struct sonde_mpi_request {
    struct sonde_message message; /* receives: bytes, peer and tag are known in the end */
    mpi_handle comm;              /* of a receive; it may have been freed meanwhile */
    bool persistent;              /* begins again with each MPI_Start */
};
void sonde__mpi_request_put(mpi_handle request, const struct sonde_mpi_request *what);
void sonde__mpi_request_forget(mpi_handle request);
bool sonde__mpi_request_start(mpi_handle request, uint64_t now_ns, struct sonde_mpi_request *out); /* persistent: it begins. False: it is not known */
/* It is about to end, or has: another one may have its handle from then on. False: nothing is known of it, or it has not been started. */
bool sonde__mpi_request_take(mpi_handle request, struct sonde_mpi_request *out);
/* It has ended, as `status` says: what there is to tell of it in *out; false: nothing. */
bool sonde__mpi_request_ended(const struct sonde_mpi_request *r, const void *status, struct sonde_message *out);
/* Of a status that a receive has filled. Its communicator may have been freed since it was begun, when its string was `string`; 0: just now. */
void sonde__mpi_received(mpi_handle comm, uint32_t string, const void *status, struct sonde_message *out);

/* MPI_Init is over: tell what the library says of itself, once. */
void sonde__mpi_settings(const void *caller);

void sonde__mpi_forked(void);

#endif
