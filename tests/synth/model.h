/* model.h - what the files of the made-up program share: model.c runs it, program.c is what it consists of.
 */
#ifndef SONDE_TESTS_SYNTH_MODEL_H
#define SONDE_TESTS_SYNTH_MODEL_H

#include "synth.h"

enum {
    API_KERNEL = 1,
    API_READ,
    API_WRITE,
    API_FINISH,
    API_COUNT,
};
enum { OPS = SYNTH_KERNELS + 2 /* kernels, read, write */ };
enum {
    MPI_IRECV,
    MPI_ISEND,
    MPI_WAITALL,
    MPI_ALLREDUCE,
    MPI_COUNT,
};

/* One way through the program's functions to its calls. */
struct path {
    uint32_t node; /* the innermost function */
    uint32_t api_node[API_COUNT], op_node[OPS];
    uint32_t api_profile[API_COUNT];
    uint32_t cpu_profile[API_COUNT]; /* [0]: in the function itself */
};

struct thread {
    uint32_t lane, device;
    struct path *paths;
    uint64_t now_ns, made;
    uint64_t to_sample_ns; /* CPU time until the next sample */
    uint64_t last_correlation, last_end_ns; /* of its operation before this one */
};

struct queue {
    uint32_t lane;
    uint64_t end_ns, seen;
};

struct model {
    const struct synth_options *options;
    struct synth_totals *totals;
    struct synth_build *build;
    struct thread *threads;
    struct queue *queues;
    struct synth_busy **busy; /* [device] */
    uint32_t *profiles; /* [thread][path][op node][queue]: id, 0 = none yet */
    uint32_t kernel_names[SYNTH_KERNELS], work, object, native_frames;
    uint64_t random, made, calls;
    uint64_t *steps;     /* when each begins, by the time of the job; messages.c */
    uint32_t rank, comm, mpi_node[MPI_COUNT];
    struct sonde_live_header header;
};

/* program.c: devices, contexts and lanes, before the run; symbols, after it. */
void synth_program_make(struct model *m);
void synth_program_free(struct model *m);
int synth_program_symbols(const struct model *m, const char *dir, uint32_t string, struct sonde_diag *diag);
int synth_manifest_write(const char *path);

/* model.c: when a process begins, by the time of the job. */
uint64_t synth_start_ns(const struct synth_options *o, uint32_t number);

/* messages.c: what is sent in all steps of the job. 0, or SONDE_ENOMEM. */
int synth_messages_plan(struct model *m);
/* Times of m->rank, by the clock of its host: when it is ready to send, and when the next step begins. */
uint64_t synth_ready_ns(const struct model *m, uint32_t step);
uint64_t synth_next_ns(const struct model *m, uint32_t step);
void synth_messages_step(struct model *m, uint32_t step);
uint32_t synth_host(const struct synth_options *o, uint32_t rank);
uint64_t synth_wall_offset_ns(const struct synth_options *o, uint32_t rank);

/* busy.c: unions of the operations of a device, made from intervals that come
 * nearly sorted: none that comes later begins before `settled_ns`. */
struct synth_busy;
struct synth_busy_sums { uint64_t count, busy_ns, kernel_ns, copy_ns, first_ns, last_ns; };
struct synth_busy *synth_busy_create(void);
void synth_busy_add(struct synth_busy *b, uint64_t start_ns, uint64_t end_ns, bool kernel);
/* True: it holds so many that settling pays. */
bool synth_busy_full(const struct synth_busy *b);
void synth_busy_settle(struct synth_busy *b, uint64_t settled_ns);
void synth_busy_finish(struct synth_busy *b, struct synth_busy_sums *sums); /* frees it */

#endif
