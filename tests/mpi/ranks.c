/* ranks.c - an MPI program that says itself what each rank sent to which, and what all did together: by hand at each call, without the library's help.
 * Rank 0 prints it at the end as lines: "pair FROM TO COUNT BYTES", "all FUNCTION CALLS BYTES", "late NS" (how long a receive was there before its
 * send, by the clock of both, for each of those that were made late).
 *
 *     mpirun -n 4 ranks [few]     few: no late ones
 */
#include <mpi.h>

#ifdef LARGE /* with counts of 64 bits (MPI 4.0) */
#define MPI_Send MPI_Send_c
#define MPI_Ssend MPI_Ssend_c
#define MPI_Isend MPI_Isend_c
#define MPI_Recv MPI_Recv_c
#define MPI_Irecv MPI_Irecv_c
#define MPI_Sendrecv MPI_Sendrecv_c
#define MPI_Sendrecv_replace MPI_Sendrecv_replace_c
#define MPI_Mrecv MPI_Mrecv_c
#define MPI_Imrecv MPI_Imrecv_c
#define MPI_Send_init MPI_Send_init_c
#define MPI_Recv_init MPI_Recv_init_c
#define MPI_Bcast MPI_Bcast_c
#define MPI_Reduce MPI_Reduce_c
#define MPI_Allreduce MPI_Allreduce_c
#define MPI_Scan MPI_Scan_c
#define MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c
#define MPI_Gather MPI_Gather_c
#define MPI_Scatter MPI_Scatter_c
#define MPI_Allgather MPI_Allgather_c
#define MPI_Alltoall MPI_Alltoall_c
#define MPI_Iallreduce MPI_Iallreduce_c
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

enum { MOST = 16,
       LATE = 15,
       LATE_MS = 20 };
#define NOINLINE __attribute__((noinline, noclone))

static int me, all;
static long long sent[MOST][MOST][2];
static struct {
    char name[40];
    long long calls, bytes;
} together[64];
static double room[4096], other[4096];

static void note(int to, long long bytes)
{
    sent[me][to][0]++;
    sent[me][to][1] += bytes;
}

static void note_all(const char *name, long long bytes)
{
    int i = 0;
    while (*together[i].name && strcmp(together[i].name, name) != 0)
        i++;
    strcpy(together[i].name, name);
    together[i].calls++;
    together[i].bytes += bytes;
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void require(int yes, const char *what)
{
    if (!yes) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* ---- one to one -------------------------------------------------------------------------- */

NOINLINE static void ring(void)
{
    const int right = (me + 1) % all, left = (me + all - 1) % all;
    MPI_Request r[2];
    for (int i = 0; i < 5; i++) {
        MPI_Irecv(room, 1000, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(other, 1000, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
        note(right, 8000);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Status status;
    MPI_Sendrecv(other, 100, MPI_DOUBLE, left, 2, room, 4096, MPI_DOUBLE, right, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    note(left, 800);
    require(status.MPI_SOURCE == right && status.MPI_TAG == 2, "the status of MPI_Sendrecv");
    MPI_Sendrecv_replace(room, 50, MPI_DOUBLE, right, 3, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    note(right, 400);
}

NOINLINE static void open_line(void) /* its ends send to nobody */
{
    const int right = me + 1 < all ? me + 1 : MPI_PROC_NULL, left = me > 0 ? me - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(other, 10, MPI_INT, right, 4, room, 10, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (right != MPI_PROC_NULL)
        note(right, 40);
    MPI_Send(other, 10, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    MPI_Recv(room, 10, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

NOINLINE static void persistent(void)
{
    MPI_Request r[2];
    const int right = (me + 1) % all, left = (me + all - 1) % all;
    MPI_Recv_init(room, 64, MPI_BYTE, left, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Send_init(other, 64, MPI_BYTE, right, 5, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 4; i++) {
        MPI_Startall(2, r);
        note(right, 64);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* A type and a communicator may be freed while what was begun with them is under way. */
NOINLINE static void freed(void)
{
    const int right = (me + 1) % all, left = (me + all - 1) % all;
    MPI_Request r[2];
    MPI_Datatype type;
    MPI_Comm copy;
    for (int i = 0; i < 3; i++) {
        MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Irecv(room, 2, type, left, 30, copy, &r[0]);
        MPI_Isend(other, 2, type, right, 30, copy, &r[1]);
        note(right, 24);
        MPI_Type_free(&type);
        MPI_Comm_free(&copy);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

NOINLINE static void cancelled(void)
{
    MPI_Request r;
    MPI_Status status;
    int flag;
    MPI_Irecv(room, 1, MPI_INT, MPI_ANY_SOURCE, 39, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &flag);
    require(flag, "a receive that was cancelled");
}

NOINLINE static void many(void)
{
    enum { EACH = 100 };
    const int right = (me + 1) % all, left = (me + all - 1) % all;
    MPI_Request r[2 * EACH];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < EACH; i++) {
            MPI_Irecv(&room[i], 1, MPI_DOUBLE, left, 40 + i, MPI_COMM_WORLD, &r[i]);
            MPI_Isend(&other[i], 1, MPI_DOUBLE, right, 40 + i, MPI_COMM_WORLD, &r[EACH + i]);
            note(right, 8);
        }
        MPI_Waitall(2 * EACH, r, MPI_STATUSES_IGNORE);
    }
}

/* Everybody sends rank 0 messages of different sizes, which it receives in each way there is. */
NOINLINE static void many_ways(void)
{
    enum { WAYS = 8 };
    if (me) {
        for (int way = 0; way < WAYS; way++) {
            if (way % 2)
                MPI_Ssend(other, 10 * way + me, MPI_CHAR, 0, 10 + way, MPI_COMM_WORLD);
            else
                MPI_Send(other, 10 * way + me, MPI_CHAR, 0, 10 + way, MPI_COMM_WORLD);
            note(0, 10 * way + me);
        }
        return;
    }
    MPI_Request r[MOST];
    MPI_Status status[MOST];
    MPI_Message message;
    int n = all - 1, index, flag, ended, indices[MOST], size;
    char *to = (char *)room;
    for (int i = 0; i < n; i++) { /* 0: a plain one, found before */
        MPI_Probe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, status);
        MPI_Get_count(status, MPI_CHAR, &size);
        require(size == status->MPI_SOURCE, "the size that MPI_Probe found");
        MPI_Recv(to, size, MPI_CHAR, status->MPI_SOURCE, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++) { /* 1 */
        MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(to, 100, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++) { /* 2 */
        MPI_Mprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &message, status);
        MPI_Imrecv(to, 100, MPI_CHAR, &message, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++)
        MPI_Irecv(to + 200 * i, 200, MPI_CHAR, i + 1, 13, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < n; i++) { /* 3 */
        MPI_Waitany(n, r, &index, status);
        require(status->MPI_SOURCE == index + 1, "the status of MPI_Waitany");
    }
    for (int i = 0; i < n; i++)
        MPI_Irecv(to + 200 * i, 200, MPI_CHAR, i + 1, 14, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < n; i += ended) /* 4 */
        MPI_Waitsome(n, r, &ended, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        MPI_Irecv(to + 200 * i, 200, MPI_CHAR, i + 1, 15, MPI_COMM_WORLD, &r[i]);
    do /* 5 */
        MPI_Testall(n, r, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    for (int i = 0; i < n; i++) { /* 6 */
        MPI_Irecv(to, 200, MPI_CHAR, MPI_ANY_SOURCE, 16, MPI_COMM_WORLD, r);
        do
            MPI_Test(r, &flag, MPI_STATUS_IGNORE);
        while (!flag);
    }
    for (int i = 0; i < n; i++)
        MPI_Irecv(to + 200 * i, 200, MPI_CHAR, i + 1, 17, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < n;) { /* 7 */
        MPI_Testsome(n, r, &ended, indices, status);
        for (int k = 0; k < ended; k++)
            require(status[k].MPI_SOURCE == indices[k] + 1, "a status of MPI_Testsome");
        i += ended > 0 ? ended : 0;
    }
}

/* ---- all of a communicator ----------------------------------------------------------------- */

NOINLINE static void collectives(MPI_Comm comm)
{
    int n, rank, counts[MOST], places[MOST];
    MPI_Request r;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < n; i++) {
        counts[i] = i + 1;
        places[i] = i * 8;
    }
    MPI_Barrier(comm), note_all("MPI_Barrier", 0);
    MPI_Bcast(room, 30, MPI_DOUBLE, n - 1, comm), note_all("MPI_Bcast", 240);
    MPI_Reduce(room, other, 20, MPI_DOUBLE, MPI_SUM, 0, comm), note_all("MPI_Reduce", 160);
    MPI_Allreduce(MPI_IN_PLACE, other, 10, MPI_FLOAT, MPI_MAX, comm), note_all("MPI_Allreduce", 40);
    MPI_Scan(room, other, 3, MPI_DOUBLE, MPI_SUM, comm), note_all("MPI_Scan", 24);
    MPI_Gather(room, 5, MPI_INT, other, 5, MPI_INT, 0, comm), note_all("MPI_Gather", 20);
    MPI_Gather(rank ? room : MPI_IN_PLACE, 5, MPI_INT, other, 5, MPI_INT, 0, comm), note_all("MPI_Gather", 20);
    MPI_Gatherv(room, rank + 1, MPI_INT, other, counts, places, MPI_INT, 0, comm), note_all("MPI_Gatherv", 4 * (rank + 1));
    MPI_Scatter(room, 6, MPI_INT, other, 6, MPI_INT, 0, comm), note_all("MPI_Scatter", 24);
    MPI_Scatterv(room, counts, places, MPI_INT, other, rank + 1, MPI_INT, 0, comm), note_all("MPI_Scatterv", 4 * (rank + 1));
    MPI_Allgather(room, 7, MPI_DOUBLE, other, 7, MPI_DOUBLE, comm), note_all("MPI_Allgather", 56);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, 7, MPI_DOUBLE, comm), note_all("MPI_Allgather", 56);
    MPI_Allgatherv(room, rank + 1, MPI_INT, other, counts, places, MPI_INT, comm), note_all("MPI_Allgatherv", 4 * (rank + 1));
    MPI_Alltoall(room, 2, MPI_DOUBLE, other, 2, MPI_DOUBLE, comm), note_all("MPI_Alltoall", 16 * n);
    MPI_Alltoallv(room, counts, places, MPI_INT, other, (int[]){rank + 1, rank + 1, rank + 1, rank + 1, rank + 1, rank + 1, rank + 1, rank + 1}, places, MPI_INT, comm);
    note_all("MPI_Alltoallv", 4LL * n * (n + 1) / 2);
    MPI_Reduce_scatter_block(room, other, 4, MPI_INT, MPI_SUM, comm), note_all("MPI_Reduce_scatter_block", 16 * n);
    MPI_Ibarrier(comm, &r), note_all("MPI_Wait", 0);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Iallreduce(room, other, 12, MPI_DOUBLE, MPI_SUM, comm, &r), note_all("MPI_Wait", 96);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

#ifdef LARGE
/* More than 2 GiB, by the count and by the type, in a call that moves nothing. */
NOINLINE static void large(void)
{
    MPI_Datatype type;
    MPI_Bcast(room, 3000000000, MPI_BYTE, 0, MPI_COMM_SELF), note_all("MPI_Bcast", 3000000000);
    MPI_Type_contiguous_c(5000000000, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(room, 1, type, 0, MPI_COMM_SELF), note_all("MPI_Bcast", 5000000000);
    MPI_Type_free(&type);
}
#endif

NOINLINE static void communicators(void)
{
    MPI_Comm half, copy, again, none, across;
    const int right_in_half = (me / 2 + 1) % ((all + 1 - me % 2) / 2);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_dup(half, &again);
    MPI_Comm_split(MPI_COMM_WORLD, me ? MPI_UNDEFINED : 1, 0, &none);
    collectives(half);
    collectives(again); /* made last, used first */
    collectives(copy);
    MPI_Sendrecv(room, 3, MPI_INT, right_in_half, 6, other, 3, MPI_INT, MPI_ANY_SOURCE, 6, copy, MPI_STATUS_IGNORE);
    note(2 * right_in_half + me % 2, 12);
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, 7, &across); /* even and odd ranks: peers are the other half's */
    if (me < all / 2 * 2) {
        MPI_Sendrecv(room, 9, MPI_INT, me / 2, 8, other, 9, MPI_INT, me / 2, 8, across, MPI_STATUS_IGNORE);
        note(me % 2 ? me - 1 : me + 1, 36);
    }
    MPI_Bcast(room, 1, MPI_INT, me % 2 ? 0 : me == 0 ? MPI_ROOT
                                                     : MPI_PROC_NULL,
              across);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&again);
}

/* ---- who waits --------------------------------------------------------------------------------- */

static long long late_ns[LATE];

NOINLINE static void late(void)
{
    for (int i = 0; i < LATE; i++) {
        long long enter = 0, leave = 0, begin = 0;
        MPI_Barrier(MPI_COMM_WORLD), note_all("MPI_Barrier", 0);
        if (me == 0) {
            const long long until = now_ns() + LATE_MS * 1000000LL;
            while (now_ns() < until)
                ;
            begin = now_ns();
            MPI_Send(room, 8, MPI_INT, 1, 20, MPI_COMM_WORLD);
            note(1, 32);
            MPI_Send(&begin, 1, MPI_LONG_LONG, 1, 21, MPI_COMM_WORLD);
            note(1, 8);
        } else if (me == 1) {
            enter = now_ns();
            MPI_Recv(other, 8, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            leave = now_ns();
            MPI_Recv(&begin, 1, MPI_LONG_LONG, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            late_ns[i] = (begin < leave ? begin : leave) - enter;
        }
    }
}

/* ---- calls of the GPU's runtime within one of MPI's ---------------------------------------------- */

#ifdef WITH_OPENCL
static cl_command_queue queue;
static cl_mem buffer;

static void add_by_device(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, (size_t)*count * sizeof(int), in, 0, NULL, NULL);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

NOINLINE static void on_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    MPI_Op add;
    require(!clGetPlatformIDs(1, &platform, NULL) && !clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "a device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
    int from[16] = {1}, to[16];
    MPI_Op_create(add_by_device, 1, &add);
    MPI_Reduce(from, to, 16, MPI_INT, add, 0, MPI_COMM_WORLD), note_all("MPI_Reduce", 64);
    require(me || to[0] == all, "the sum");
    MPI_Op_free(&add);
}
#endif

/* An error is the library's own. */
NOINLINE static void errors(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int class = 0;
    const int failed = MPI_Send(room, 1, MPI_INT, all + 5, 1, MPI_COMM_WORLD);
    MPI_Error_class(failed, &class);
    require(class == MPI_ERR_RANK, "the error of a rank that is not there");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- what there was, to rank 0 by files of its own: no message that would have to be counted ---------- */

static void say(void)
{
    for (int to = 0; to < all; to++)
        if (sent[me][to][0])
            printf("pair %d %d %lld %lld\n", me, to, sent[me][to][0], sent[me][to][1]);
    for (int i = 0; *together[i].name; i++)
        printf("all %s %lld %lld\n", together[i].name, together[i].calls, together[i].bytes);
    for (int i = 0; i < LATE; i++)
        if (me == 1)
            printf("late %lld\n", late_ns[i]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    require(all <= MOST / 2, "too many ranks");
    ring();
    open_line();
    persistent();
    freed();
    cancelled();
    many();
    many_ways();
    collectives(MPI_COMM_WORLD);
    communicators();
#ifdef LARGE
    large();
#endif
    errors();
#ifdef WITH_OPENCL
    on_device();
#endif
    if (argc < 2)
        late();
    MPI_Finalize();
    say();
    return 0;
}
