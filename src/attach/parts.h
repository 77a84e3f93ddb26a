/* parts.h - what the files of src/attach share. */
#ifndef SONDE_ATTACH_PARTS_H
#define SONDE_ATTACH_PARTS_H

#include <sys/user.h>

#include "attach.h"
#include "base/vector.h"

/* ---- memory and libraries (modules.c) ------------------------------------------------ */

struct sonde_mapping {
    uint64_t begin, end, offset, inode;
    uint32_t device_major, device_minor;
    bool executable;
    char *path; /* "" without a file */
};
struct sonde_mappings {
    SONDE_VECTOR(struct sonde_mapping) list;
};

/* A module in the process's memory; `base` 0: none. */
struct sonde_remote_module {
    uint64_t base, bias;        /* of its ELF header; what is added to its addresses */
    uint64_t symbols, strings, hash;
    uint64_t tls_image, tls_bytes; /* of its thread-local variables: their first contents */
};

bool sonde__mappings_read(pid_t pid, struct sonde_mappings *out);
void sonde__mappings_fini(struct sonde_mappings *m);
const struct sonde_mapping *sonde__mapping_at(const struct sonde_mappings *m, uint64_t address);
/* The first mapping of a file whose name begins with `name` ("libc.so.6"). */
const struct sonde_mapping *sonde__mapping_of(const struct sonde_mappings *m, const char *name);

bool sonde__remote_read(const struct sonde_attach *a, uint64_t address, void *to, size_t bytes);
bool sonde__remote_write(const struct sonde_attach *a, uint64_t address, const void *from, size_t bytes);

/* The module whose ELF header is at `base`. */
bool sonde__module_open(const struct sonde_attach *a, uint64_t base, struct sonde_remote_module *out);
uint64_t sonde__module_symbol(const struct sonde_attach *a, const struct sonde_remote_module *m, const char *name); /* 0: none */

/* ---- the process ------------------------------------------------------------------------- */

/* What is known of the C library of the process. */
struct sonde_remote_libc {
    struct sonde_remote_module libc, loader;
    uint64_t dlopen, dlerror, ctype_init, pause;
    uint64_t syscall;             /* of the instruction, in libc's function of that name */
    uint64_t single_threaded;     /* the variable */
    uint64_t debug;               /* _r_debug: the list of libraries begins there */
    uint64_t rseq_offset;         /* the variable; 0: none */
    uint32_t thread_bytes, tid_at, tls_offset_at;
};

struct sonde_attach {
    pid_t pid;
    int memory;                   /* /proc/PID/mem */
    char agent[4096];
    uint64_t agent_device, agent_inode;
    struct sonde_remote_libc libc;
    uint64_t attached;            /* where the agent's `struct sonde_attached` is; 0: not loaded yet */
    struct sonde_remote_module module; /* the agent */
};

/* look.c: what forbids it. 0, or an error with `diag`. */
int sonde__look(pid_t pid, struct sonde_diag *diag);
int sonde__look_refused(pid_t pid, int why, struct sonde_diag *diag); /* of ptrace, or of opening its memory */
char sonde__look_state(pid_t pid); /* as /proc/PID/stat has it; 0: there is none */
bool sonde__look_has_children(pid_t tid);  /* does this thread, not another one of its process, have child processes? */

/* ---- threads (stop.c) ----------------------------------------------------------------------- */

/* A thread of the program that stands still. */
struct sonde_stopped {
    pid_t tid;
    struct user_regs_struct registers; /* what it will go on with */
};
struct sonde_stopped_list {
    SONDE_VECTOR(struct sonde_stopped) list;
};

enum sonde_stopping {
    SONDE_STOPPED,
    SONDE_STOP_GONE,    /* it has ended */
    SONDE_STOP_LATER,   /* it does not stop now, or is where it must not be used */
    SONDE_STOP_REFUSED, /* errno says why */
};
enum sonde_stopping sonde__thread_stop(pid_t tid, struct sonde_stopped *out);
void sonde__thread_go(const struct sonde_stopped *t);
/* All threads. False: not all of them stop; those that did go on. */
bool sonde__threads_stop(pid_t pid, struct sonde_stopped_list *out);
void sonde__threads_go(struct sonde_stopped_list *list);

/* May it be borrowed for a system call? */
bool sonde__thread_is_plain(const struct sonde_attach *a, const struct sonde_stopped *t);

/* The first thread that may, stopped. */
enum sonde_stopping sonde__thread_borrow(const struct sonde_attach *a, struct sonde_stopped *out);

/* Wait for a stop of a thread that is traced. False: it has ended. */
bool sonde__thread_wait(pid_t tid, int *status);
/* Let the stopped thread make a system call; `clone`: where the tid of a thread that it makes goes, or NULL. Its result.
 * Afterwards it stands as before it, with other registers. */
int64_t sonde__thread_syscall(pid_t tid, uint64_t instruction, long number, const uint64_t argument[6], pid_t *clone);

/* ---- a thread of our own (thread.c) ------------------------------------------------------------- */

struct sonde_guest {
    pid_t tid;
    uint64_t memory, bytes; /* its stack and the rest */
    uint64_t stack, scratch;
};
#define SONDE_GUEST_SCRATCH 65536u /* bytes for arguments */

/* Made by a stopped thread of the program, which is as before when this returns. */
int sonde__guest_make(const struct sonde_attach *a, const struct sonde_stopped *by, struct sonde_guest *out, struct sonde_diag *diag);
/* Call a function; false: it did not return. */
bool sonde__guest_call(const struct sonde_attach *a, const struct sonde_guest *g, uint64_t function, const uint64_t argument[3], uint64_t *result);
void sonde__guest_end(const struct sonde_attach *a, const struct sonde_guest *g);

#endif
