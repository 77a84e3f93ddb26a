/* backend.h - the ABI between the agent and a backend (the adapter to one GPU runtime).
 *
 * A backend hooks its runtime's calls, and in each hook describes what the
 * program asked for; the agent does the rest (call path, channels,
 * matching, profile, trace, ledger). A backend includes this header and
 * nothing else of the agent.
 *
 * One hooked call, in the thread of the program that made it:
 *
 *     struct sonde_call call;
 *     if (!sonde_call_begin(&call, API_clEnqueueX))    // off, or we are inside a hook already
 *         return real(...);
 *     int status = real(...);                          // with our event when the program gave none
 *     sonde_call_leave(&call);                         // the API call has ended
 *     if (made work)
 *         sonde_call_submit(&call, &(struct sonde_submit){...});
 *     sonde_call_end(&call);
 *
 * Completion comes in one of two ways. A runtime that must be asked (OpenCL):
 * the agent asks `poll` about every submission that carries a token, from
 * whichever thread harvests (the monitor thread, or a thread of the program
 * inside sonde_harvest). One thread harvests one program thread's submissions
 * at a time. A runtime that reports (CUDA through CUPTI): the submission
 * carries a key, and the backend says sonde_complete() for each report, from
 * `collect`, which the monitor thread calls at every turn.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC_RAW of the host, unless named
 * device_ns.
 */
#ifndef SONDE_BACKEND_H
#define SONDE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/kinds.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a backend provides ---------------------------------------- */

enum sonde_poll {
    SONDE_POLL_PENDING,  /* ask again later; the token stays held */
    SONDE_POLL_DONE,     /* finished; times are valid; the token was released */
    SONDE_POLL_FAILED,   /* finished with an error; the token was released */
    SONDE_POLL_NO_TIMES, /* finished, but the runtime has no times; released */
};

struct sonde_times {
    uint64_t queued_ns, submit_ns, start_ns, end_ns; /* host axis */
};

enum sonde_collect {
    SONDE_COLLECT_TURN,  /* what is there */
    SONDE_COLLECT_LAST,  /* ask the runtime for all it has; the program waits for this, so be bounded */
    SONDE_COLLECT_DYING, /* the same, and nothing that comes later will count */
};

struct sonde_backend {
    size_t size;       /* sizeof(struct sonde_backend) the backend was built with */
    const char *name;  /* "opencl" */

    /* Names of the API calls; index is the `api` of sonde_call_begin. Entry 0 is unused. */
    const char *const *api_names;
    uint32_t api_count;

    /* Has this submission finished? Must not block. Any harvesting thread.
     * NULL: this backend's submissions have keys. */
    enum sonde_poll (*poll)(uint64_t token, uint32_t lane, struct sonde_times *times);

    /* Give a token back without asking (the agent lost interest, or is off). */
    void (*release)(uint64_t token);

    /* Optional. Called by the monitor thread every few seconds and at start and
     * end, to tie device clocks to the host's with sonde_clock_pair(). */
    void (*sync_clocks)(void);

    /* Optional. On the monitor thread, at every turn: say sonde_complete() for
     * what the runtime has reported so far. */
    void (*collect)(enum sonde_collect how);

    /* Optional. Recording begins (called before the first hook records) or has
     * ended (after the last). What is enqueued while it is off need not be
     * reported; what was enqueued while it was on still must. Any thread; also
     * once at the start, and again with the same value. */
    void (*range)(bool on);

    /* Optional. The device (of sonde_device_add) that is current in the calling
     * thread of the program; 0 none, or not known. */
    uint32_t (*device_here)(void);

    /* Optional. A thread's stack goes through this module for the first time;
     * `path` is its file. In that thread, within a hooked call. */
    void (*module)(const char *path);

    /* Optional. The agent has come into a program that runs: take hold of the runtime, where it is loaded, so that its calls are
     * seen from now on. Once, in a thread of the agent's own, before range(true). True: hold is taken. */
    bool (*attach)(void);
    /* Optional, goes with attach. Let go of it, for good: after range(false), and when nothing is outstanding any more or has been
     * given up. Calls that are under way may still be in their hooks. False: something of the runtime's still leads into this
     * backend, which cannot be undone. The monitor thread. */
    bool (*detach)(void);

    /* Optional. In a forked child, before anything else: forget the parent's
     * objects without calling the runtime. */
    void (*forked)(void);
};

/* ---- what the agent offers ------------------------------------------- */

/* In collect(): is anything that was enqueued still to finish, as far as it is known? */
bool sonde_is_waiting(void);

/* State of one hooked call; lives on the hook's stack. Private to the agent. */
struct sonde_call {
    struct sonde_thread *thread;
    uint64_t tsc;
    uint64_t enter_ns, leave_ns;
    uint32_t node; /* call path of the API call: a node of the tree */
    uint32_t api;
    bool submitted;
};

enum {
    SONDE_SUBMIT_MANY = 1, /* with a key: any number of completions (a graph); each is an operation of its own */
};

/* What an API call asked the device to do. With a key, only `kind` and `object`
 * are needed: the completions say the rest. */
struct sonde_submit {
    enum sonde_op_kind kind;
    uint32_t lane;             /* queue lane, from sonde_lane_add */
    uint32_t name;             /* string id of the kernel's name, 0 = none */
    uint32_t work;             /* launch configuration from sonde_work_add, 0 = none */
    uint32_t object;           /* data object; of a copy between two the one that it reads; 0 = none or several */
    uint64_t bytes;            /* moved or filled, counted once */
    uint64_t token;            /* handed to poll(); 0 = finished within the call, no device times */
    uint64_t key;              /* instead of a token: sonde_complete() will name it; never used again */
    uint32_t flags;            /* SONDE_SUBMIT_* */
};

/* True while the agent is loaded, healthy and recording. A hook that finds it
 * false calls the runtime and nothing else. Cheap: one load and one branch.
 * Object creation must be followed even while it is false. */
bool sonde_recording(void);
/* The program itself says from when on and until when to record (cudaProfilerStart and
 * Stop, with --capture-range). Any thread, not inside a hooked call. */
void sonde_recording_set(bool on);

/* Begin a hooked call: starts the agent on first use, unwinds, finds the
 * call path. False: call the runtime only, and call no other sonde_call
 * function. errno is preserved. */
bool sonde_call_begin(struct sonde_call *call, uint32_t api);
/* Right after the runtime's function returned. */
void sonde_call_leave(struct sonde_call *call);
/* Between leave and end, for each operation that the call made. If the agent cannot
 * take it (memory budget spent), it counts the loss, calls release(token) and
 * returns 0; else the operation's correlation, by which waits name it. */
uint64_t sonde_call_submit(struct sonde_call *call, const struct sonde_submit *submit);
/* Between leave and end, for each dependency that is not plain order of a thread
 * or of an in-order queue. */
struct sonde_wait {
    uint64_t waiter; /* operation of this call that starts only then; 0: the call returned only then;
                      * a user event's number (SONDE_WAIT_USER_EVENT): this call completes it, and nothing is awaited */
    uint64_t op;     /* operation, or number of the user event, waited for; 0: */
    uint32_t lane;   /* all earlier work of this queue lane; 0: */
    uint32_t device; /* of this device; 0: of the process */
};
void sonde_call_waits(struct sonde_call *call, const struct sonde_wait *wait);
/* The operation of a submission uses these data objects, too, besides the one that it names (kernels'
 * arguments, what a copy between two writes). One may stand there twice, and 0 is none; each
 * counts once, and so does what it is a part of. */
void sonde_call_uses(const struct sonde_call *call, const uint32_t *objects, uint32_t count);
void sonde_call_end(struct sonde_call *call);

/* An operation of a higher level (a collective), which the calling thread's latest
 * hooked call carries out: it has that call's context, and the times of what the
 * call submitted with a key. Without one key of its own it has no times. Of `submit`
 * count kind, lane, name, work, object and bytes. Not inside a hooked call. */
enum sonde_over {
    SONDE_OVER_DONE,
    SONDE_OVER_NOTHING, /* that call submitted nothing: the operation did not happen (it was captured) */
    SONDE_OVER_NO_CALL, /* the thread has made no call, or is not recorded */
};
enum sonde_over sonde_submit_over(const struct sonde_submit *submit);

/* Messages between the ranks of a job, and what all of them do together. They are told after the call in which they were sent, or had come in
 * full; that call may itself make hooked ones (of a runtime whose memory it sends), so that it is none. Any thread. */
struct sonde_message {
    enum sonde_message_kind kind;
    uint32_t comm;      /* a string that all ranks of the communicator have for it; 0 unknown */
    uint32_t peer;      /* the other rank of the job, or a collective's root, from 1; 0 none, or unknown */
    uint32_t tag;
    uint64_t bytes;     /* of a collective: what this rank gave, or got where only the root gives */
    uint64_t posted_ns; /* a receive, or a collective, that was begun in an earlier call: when that was entered; 0 in this one */
};
/* Before the call: when it was entered; 0: not recording, and then nothing is told of it. */
uint64_t sonde_messages_begin(void);
/* After it: `count` may be 0, the call was there nevertheless. */
void sonde_messages(uint32_t api, uint64_t enter_ns, const struct sonde_message *list, uint32_t count);

/* What the library said of itself: once each. `name`: of the variable, or NULL; `text`, or NULL and `value`. Not inside a hooked call. */
void sonde_library_says(enum sonde_setting_kind kind, const char *name, const char *text, uint64_t value);

/* What the runtime reported about one finished operation. */
struct sonde_completion {
    uint64_t key;               /* of its submission */
    enum sonde_op_kind kind;
    enum sonde_poll result; /* never SONDE_POLL_PENDING */
    uint32_t lane, name, work, object; /* as in struct sonde_submit */
    uint32_t origin; /* call path in which it was prepared (a graph node), from sonde_call_context; 0 none */
    uint64_t bytes;
    struct sonde_times times;   /* queued_ns and submit_ns may be 0: unknown */
};
/* Only within collect(). A completion may come before its submission does. */
void sonde_complete(const struct sonde_completion *completion);

/* The runtime reported work without a known API call. It is counted as unattributed; `what`
 * ("kernel f") goes into a note, NULL: it is in one already. Within collect(). */
void sonde_unplaced(const char *what);

/* Keep bytes in the measurement as a file of this name, compressed, once per
 * name in all its processes: code that was loaded. Within collect(). 0, or a
 * negative enum sonde_error. */
int sonde_blob(const char *name, const void *bytes, size_t size);

/* The call path of a call that has begun, for sonde_completion.origin. */
uint32_t sonde_call_context(const struct sonde_call *call);

/* Overhead that the runtime's own profiling library reports. Within collect(). */
void sonde_vendor_overhead(uint64_t ns);

/* Ranges that the program names, in the calling thread. A range that is open is
 * a frame of the call paths of what the thread does in it, and a slice of
 * its lane. Threads: any; a range is popped by the thread that pushed it.
 * sonde_enter() comes first: it starts the agent if need be (false: off, and
 * then there are no string ids). */
bool sonde_enter(void);
struct sonde_range {
    uint32_t name, domain, category; /* string ids */
    uint16_t payload_type;           /* 0 none, 1 uint64, 2 int64, 3 double */
    uint64_t payload;                /* its bits */
};
void sonde_range_push(const struct sonde_range *range);
/* Pops the innermost open range of this domain; its name, 0 when there is none. */
uint32_t sonde_range_pop(uint32_t domain);
void sonde_mark(const struct sonde_range *mark);
/* A range that may end on another thread: no frame, only a slice. 0 = no room. */
uint64_t sonde_range_start(const struct sonde_range *range);
uint32_t sonde_range_end(uint64_t id); /* its name; 0: no such range is open */

/* What the calling thread does from here on was prepared in `context` (of
 * sonde_last_context), under the name `name` (string id): an autograd operator
 * and its forward call. It stands before the frame of the function on whose
 * stack frame `within` lies. Both 0 end it; context 0 alone: only the name is known. */
void sonde_link(uint32_t context, uint32_t name, const void *within);
/* The call path of this thread's latest hooked call; 0 none. */
uint32_t sonde_last_context(void);
/* The calling thread is the vendor's tool library's, not the program's, unless it has
 * made a hooked call: it is not sampled. Cheap when it was said before. */
void sonde_tool_thread(void);
/* A thread of the backend's own has used so much CPU time more: it is Sonde's, not the program's. Any thread. */
void sonde_tool_thread_ran(uint64_t cpu_ns);
/* Have `watch` called at each hooked call, in its thread, with its call path.
 * One watcher; it must be as cheap as the hook, and never goes away. */
void sonde_watch_calls(void (*watch)(uint32_t context));

/* Harvest what this process's threads have submitted and what has finished.
 * Call it, outside of any runtime lock, after the program waited
 * (clFinish, ...). Returns the number still outstanding. `all` also waits for
 * another harvesting thread (bounded), for reference-count queries. */
size_t sonde_harvest(bool all);

/* The program enqueued an operation in a call for which sonde_call_begin() was
 * false: counted as dropped when the buffer of the calling thread was full. Any thread. */
void sonde_op_unrecorded(void);

/* Is `token` held by a submission that has not been harvested? Slow; for
 * queries that must hide our reference. Harvests first. */
bool sonde_token_held(uint64_t token);

/* Copy a string (or any bytes) into the measurement; equal strings give equal
 * ids. 0 when the budget is spent. Takes a lock the first time; afterwards it
 * costs a hash of the bytes. */
uint32_t sonde_string(const char *bytes, size_t length);
/* The same for the name of a range: after 65,536 different ones all others are
 * one, so that a name with a number in it does not spend the budget. */
uint32_t sonde_range_name(const char *bytes, size_t length);

struct sonde_device_info {
    const struct sonde_backend *backend; /* NULL: the first of the table */
    const char *platform, *name, *vendor, *driver;
    uint32_t kind; /* 0 unknown, 1 CPU, 2 GPU, 3 accelerator */
    uint64_t memory_bytes;
    uint32_t compute_units; /* multiprocessors: each runs blocks of its own; 0 unknown */
    uint32_t pci;  /* its address: domain << 16 | bus << 8 | device << 3; 0 unknown */
};
uint32_t sonde_device_add(const struct sonde_device_info *info);

/* A queue (stream) of the program. `context` numbers contexts from 1; `flags`: SONDE_LANE_*. */
uint32_t sonde_lane_add(uint32_t device, uint32_t context, uint32_t flags, const char *name);

/* Launch configuration; equal ones give equal ids. `dims` is 1 to 3; `local`
 * may be NULL (runtime's choice). 0 when the budget is spent. */
uint32_t sonde_work_add(uint32_t dims, const size_t *global, const size_t *local);

/* The same with all that a runtime may know. `global` counts work-items
 * (threads), `local` those of one group (block). */
struct sonde_work {
    uint32_t dims;
    uint64_t global[3], local[3];
    uint32_t cluster[3];                    /* blocks; 0 = no clusters */
    uint32_t registers;                     /* per thread */
    uint32_t static_shared, dynamic_shared; /* bytes per block */
    uint32_t local_bytes;                   /* local memory, bytes per thread */
    uint16_t occupancy;                     /* theoretical, in thousandths; 0 unknown */
    uint16_t limiter;                       /* enum sonde_limiter */
    uint16_t source, target;                /* copies: enum sonde_memory */
    uint32_t source_device, target_device;  /* copies between devices: device ids */
    uint32_t algorithm, protocol;           /* collectives: string ids; 0 unknown */
    uint32_t channels;                      /* 0 unknown */
    uint32_t rank, ranks;                   /* whose it is in its communicator, from 0; how many there are, 0 unknown */
    uint32_t peer;                          /* the other rank of a send or receive, the root of a collective that has one, from 1; 0 none */
};
uint32_t sonde_work_intern(const struct sonde_work *work);

/* A data object allocated by the API call `call` (its call path is kept). */
uint32_t sonde_object_add(const struct sonde_call *call, enum sonde_object_kind kind,
                          uint64_t bytes, uint64_t address);
/* A data object that was allocated before the agent came (sonde_is_attached): nobody knows where. Some of its uses are not known either. */
uint32_t sonde_object_met(enum sonde_object_kind kind, uint64_t bytes, uint64_t address);
/* Where it lies: on `device` (0: the host, or not known), and within another object
 * (a sub-buffer, an image of a buffer), whose memory it shares; 0 none. */
void sonde_object_place(uint32_t object, uint32_t device, uint32_t parent);
void sonde_object_free(uint32_t object);
/* From now on operations may use any object without a report of it. */
void sonde_object_uses_hidden(void);
/* The living object, of those whose address is one (not a handle), in which `address`
 * lies; 0 none. Takes a lock. */
uint32_t sonde_object_at(uint64_t address);

/* An object as sonde_object_add and sonde_object_place had it: its address may be a handle. False: it was freed. */
struct sonde_object_info {
    enum sonde_object_kind kind;
    uint32_t device;
    uint64_t address, bytes;
};
bool sonde_object_find(uint32_t object, struct sonde_object_info *out);
/* The program gave a part of it a name (sonde/sonde.h). Takes a lock. */
bool sonde_object_is_named(uint32_t object);
/* How many objects this is true of so far: when it has grown, others may be among them. */
uint32_t sonde_objects_named(void);

/* Values (sonde record --values): what operations leave unchanged. A backend compares objects as they were
 * before and after an operation, and says what it found. False: nobody asked. Cheap; any hooked call. */
bool sonde_values_wanted(unsigned what); /* SONDE_VALUES_* */
/* The most bytes of one device's memory that may be taken for it; 0: a quarter of what it has. */
uint64_t sonde_values_memory(void);
/* So many bytes of the host's memory, for what the device has no room for; false: no more may be taken (--values-host-memory). They are
 * given back when they are free again. Any thread; reads files of the kernel's, but not again within a second where it was refused. */
bool sonde_values_host_take(uint64_t bytes);
void sonde_values_host_give(uint64_t bytes);
/* Whether this launch of the kernel `name`, whose launch size is `shape` (equal: the same number), is to be looked at; else why not
 * (--values-sample, --kernel). Once for each; takes a lock. */
enum sonde_value_missed sonde_value_choose(uint32_t operation, uint32_t name, uint64_t shape);
/* For kernels of a CUDA graph, which are looked at together or not at all: whether the launch of the graph is one of the sample, once for each, at any place within its M: graphs
 * may take turns at one call. `operation`: of its first kernel. And whether a kernel is asked for. */
bool sonde_value_scattered(uint32_t operation);
bool sonde_value_asked(uint32_t name);
/* Of each launch that is looked at one of so many blocks is, instrument/plan.h says which; 0: all (--values-blocks). Not before the first
 * call that is recorded. Any thread. */
uint32_t sonde_values_every(void);
/* A launch is looked at: so many of its blocks. Any thread; takes a lock. */
void sonde_value_blocks(uint32_t operation, uint64_t blocks, uint64_t looked_at);
/* The operation `kind` `name` of a call that has begun: a node of the tree. */
uint32_t sonde_call_operation(const struct sonde_call *call, enum sonde_op_kind kind, uint32_t name);

/* What operations of one kind in one place did to one object. Elements are those of the object (at multiples of their size from its beginning)
 * that lie within what was compared, of 1, 2, 4 and 8 bytes. */
struct sonde_value_change {
    uint32_t operation;     /* of sonde_call_operation */
    uint32_t object;
    uint32_t element_bytes; /* as the operation's code has it; 0 unknown */
    bool maybe;             /* it may have written less than was compared */
    bool raced;             /* another operation, or the host, may have written the object meanwhile */
    uint64_t operations;    /* that are told of at once */
    uint64_t bytes;
    uint64_t elements[4], unchanged[4];
};
void sonde_value_changed(const struct sonde_value_change *change); /* any thread */
/* After the operation, `object` held the same `bytes` as `other`: all of both. Any thread. */
void sonde_value_duplicate(uint32_t operation, uint32_t object, uint32_t other, uint64_t bytes);
/* The operation reads or writes `bytes` of the object (`how`: SONDE_FLOW_*). In the order in which operations are
 * enqueued; of one operation what it reads comes first. */
void sonde_value_flow(uint32_t operation, uint32_t object, uint64_t bytes, unsigned how);
/* The line of its kernel's source on which the operation writes the object; 0, 0: on several, or also on one that is not known. `file` is a
 * string. As often as one likes. Takes a lock. */
void sonde_value_written(uint32_t operation, uint32_t object, uint32_t file, uint32_t line);
/* The operation reads the object as elements of this size, where its accesses are not looked at. The same. */
void sonde_value_read(uint32_t operation, uint32_t object, uint32_t element_bytes);
/* Of an operation not all that it may have written was looked at; NONE: all was. For each of these once. `engine`: of its code. */
void sonde_value_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine);

/* Accesses are told of all objects of one kind that were allocated in one call path. Of each object (0: none) the one that stands for
 * those: always the same, whether it was freed or not. Takes a lock. */
void sonde_value_sites(const uint32_t *objects, uint32_t count, uint32_t *sites);
/* These are looked at. Takes a lock. */
void sonde_value_looked_at(const uint32_t *objects, uint32_t count);
/* One access in the code of a kernel, to the objects for which one stands, or to one object: a row of the measurement. 0: no room. */
struct sonde_value_access {
    uint32_t operation, object; /* 0: not known */
    uint32_t file, line;        /* of the kernel's source; a string */
    uint32_t number;            /* in the kernel's code, from 0 */
    uint8_t what, type;         /* enum sonde_access, enum sonde_element */
    uint8_t element_bytes;      /* 1, 2, 4, 8 */
};
uint32_t sonde_value_access_add(const struct sonde_value_access *access);
/* What its elements were since the beginning; later ones replace earlier ones. As struct sonde_plan_values has it. */
struct sonde_value_seen {
    uint64_t elements, any, all;
    int64_t least, most;
    uint64_t checked;      /* of the elements, so many were compared with `value` and with the line slope * index + offset, */
    uint64_t equal, lined; /* which so many were, or lay on */
    uint64_t value;        /* bits of an element */
    int64_t slope, offset; /* integers, or doubles' bits; the index is from where the kernel's parameter points; slope 0: no line */
};
void sonde_value_access_seen(uint32_t row, const struct sonde_value_seen *seen);
/* Of an access whose type is not known, what it takes to tell the least and the most when it is: of elements whose first bit is 0 [0] and
 * is 1 [1], as numbers without a sign; least above most: there is none. `access` is its row; 0: no room. */
struct sonde_value_bits {
    struct sonde_value_extent {
        uint64_t least, most;
    } whole[2], half[2]; /* half: of elements of 8 bytes, both halves as elements of 4 */
};
uint32_t sonde_value_bits_add(uint32_t access);
void sonde_value_bits_seen(uint32_t row, const struct sonde_value_bits *bits);
/* And of such an access the lines that were guessed for each type that it may have, by index from where the object begins; `checked` and
 * `equal` of its elements are those of struct sonde_value_seen. */
struct sonde_value_guesses {
    struct sonde_value_line {
        uint64_t lined;
        int64_t slope, offset; /* slope 0: none */
    } integers, reals, integers4, reals4; /* 4: of elements of 8 bytes, of both halves as elements of 4 */
    uint64_t checked4, equal4;
    uint32_t value4;
};
uint32_t sonde_value_guesses_add(uint32_t access);
void sonde_value_guesses_seen(uint32_t row, const struct sonde_value_guesses *guesses);

/* Communication (sonde record --comm): accesses of kernels to memory that is not their device's. One access in the code of a kernel, to the objects
 * for which one stands (sonde_value_sites), or to memory of which none is known: a row of the measurement. 0: no room. */
struct sonde_remote_access {
    uint32_t operation, object; /* of sonde_call_operation; 0: not known */
    uint32_t file, line;        /* of the kernel's source; a string */
    uint32_t number;            /* in the kernel's code, from 0 */
    uint8_t what;               /* enum sonde_access */
    uint8_t bytes;              /* that a thread accesses at once */
    uint8_t engine;             /* enum sonde_engine; of SANITIZER the number is of an instruction */
    uint8_t group;              /* of sonde_remote_group: of launches of which these are */
    uint32_t device, owner;     /* that executes it; in whose memory it is, 0: the host's, SONDE_REMOTE_OTHERS */
};
uint32_t sonde_remote_add(const struct sonde_remote_access *access);
/* How many threads executed it since the beginning; later numbers replace earlier ones. */
void sonde_remote_seen(uint32_t row, uint64_t threads);
/* Its elements (--comm-elements): the bytes of each allocation of such memory fall into cells, of which there are so many at the most; 0: nobody asked. Not
 * before the first hooked call. */
uint64_t sonde_remote_cells(void);
/* The cells of all objects of one size for which one stands: a row of the measurement. 0: no room. Then, when the program has ended with them, what was
 * accessed in each, in runs of cells that have as much; and that these were all. */
struct sonde_remote_array {
    uint32_t object;        /* 0: not known */
    bool alone;             /* the cells are those of `object` and of no other: it is named */
    uint32_t device, owner; /* as in struct sonde_remote_access */
    uint32_t shift;         /* a cell has 1 << shift bytes */
    uint64_t bytes;         /* of one object */
};
uint32_t sonde_remote_array_add(const struct sonde_remote_array *array);
/* `bytes` in each of the cells. False: no room. */
bool sonde_remote_run_add(uint32_t array, enum sonde_cell_accesses kind, uint32_t first, uint32_t count, uint64_t bytes);
void sonde_remote_array_read(uint32_t array);
/* Which group of its operation's launches one is in that is looked at: each is in the next, so that groups differ by chance alone. 0: all are, and always where all
 * launches are looked at (SONDE_REMOTE_GROUPS). */
uint32_t sonde_remote_group(uint32_t operation);
/* Once for each operation that is, or may be, one with such accesses: looked at (NONE), or why not. */
void sonde_remote_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group);

/* The driver moved managed memory by itself, or a processor met memory that was not there (page faults): added up. Within collect(). */
struct sonde_migration {
    uint32_t object;   /* 0: not known */
    uint32_t from, to; /* devices; 0: the host. Of page faults `to` alone: whose they are */
    bool faults;
    uint64_t count, bytes, ns; /* moves, or faults; of moves how much, and how long they took */
};
void sonde_migrated(const struct sonde_migration *migration);

/* Counters of the hardware (sonde record --counters). What one operation's was: `metric` and `unit` are strings. Any thread. */
void sonde_counter(uint32_t operation, uint32_t device, uint32_t metric, uint32_t unit, double value);
/* Of so many operations there are no values. */
void sonde_counter_missed(uint32_t operation, uint32_t device, uint64_t operations);

/* A counter of a device over time (sonde record --counter-series), whoever uses the device; 0: no room. Any thread. */
uint32_t sonde_series_add(uint32_t device, const char *metric, const char *unit);
/* What it was from one time to another (sonde_now_ns). On the monitor thread, within `collect`; values of one counter in order. */
void sonde_series_value(uint32_t series, uint64_t from_ns, uint64_t to_ns, double value);
/* So many values are missing. */
void sonde_series_lost(uint32_t series, uint64_t values);

/* Samples of where warps of a kernel were (sonde record --pc), added up. Strings but for `offset`, `line`, `code` and `cycles`. */
struct sonde_stall {
    enum sonde_stall_kind kind; /* SAMPLED; else of the others only `device` and `cycles` count */
    uint32_t device;            /* 0: not known */
    uint32_t function, file, line; /* of the code; file and line 0: not known */
    uint32_t reason;            /* why the warp could not go on */
    uint32_t cycles;            /* between two samples of a multiprocessor */
    uint64_t code, offset;      /* which piece of code, and bytes from the function's beginning */
};
/* So many more, of which in so many cycles the scheduler issued nothing. False: no room for them. Any thread. */
bool sonde_stalled(const struct sonde_stall *where, uint64_t samples, uint64_t idle);

/* One clock pair of `device`: at host time host_ns its clock read device_ns;
 * the pair is exact within +- bound_ns. */
void sonde_clock_pair(uint32_t device, uint64_t host_ns, uint64_t device_ns, uint64_t bound_ns);

/* What `sonde record` says by the variable `name`; NULL: nothing. In a program that the agent was attached to, the environment says nothing. */
const char *sonde_setting(const char *name);
/* The agent came into a program that ran, and will leave it again: nothing may be changed that could not be undone then, and
 * nothing be left with the runtime that leads back here. */
bool sonde_is_attached(void);

/* The host clock of all times. */
uint64_t sonde_now_ns(void);

/* Something went wrong that the user should know (once per text); goes to the ledger. */
void sonde_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the table of backends (src/backends/backends.c) ------------------ */
#define SONDE_BACKENDS_MAX 8
extern const struct sonde_backend *const sonde_backends[SONDE_BACKENDS_MAX]; /* ends with NULL, or is full */
extern const struct sonde_backend sonde_backend_opencl, sonde_backend_cuda, sonde_backend_torch,
    sonde_backend_nccl, sonde_backend_mpi;

#ifdef __cplusplus
}
#endif
#endif
