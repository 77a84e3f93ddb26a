/* mpi.c - two ranks that do nothing but send each other small messages: what a call costs. Prints "WAY NS" for each way, by rank 0.
 *
 *     mpirun -n 2 bench-mpi [COUNT]
 *
 * pingpong: MPI_Send and MPI_Recv of 8 bytes, half a round; window: MPI_Irecv, MPI_Isend and MPI_Waitall of 16 each, per message; allreduce: of 8 bytes;
 * test: MPI_Test of a receive that has not come.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 16,
       BLOCKS = 5 };

static int me, other;
static double value[2 * WINDOW];

static void pingpong(int count)
{
    for (int i = 0; i < count / 2; i++) {
        if (!me)
            MPI_Send(value, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
        MPI_Recv(value, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me)
            MPI_Send(value, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
    }
}

static void window(int count)
{
    MPI_Request r[2 * WINDOW];
    for (int i = 0; i < count / (2 * WINDOW); i++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(&value[k], 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &r[k]);
        for (int k = WINDOW; k < 2 * WINDOW; k++)
            MPI_Isend(&value[k], 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &r[k]);
        MPI_Waitall(2 * WINDOW, r, MPI_STATUSES_IGNORE);
    }
}

static void allreduce(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void test(int count)
{
    MPI_Request r;
    int flag;
    MPI_Irecv(value, 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &r);
    for (int i = 0; i < count; i++)
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(value, 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int count);
    } ways[] = {{"pingpong", pingpong}, {"window", window}, {"allreduce", allreduce}, {"test", test}};
    const int count = argc > 1 ? atoi(argv[1]) : 40000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other = 1 - me;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        double best = 0;
        for (int block = 0; block <= BLOCKS; block++) { /* the first warms up */
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            ways[way].run(count);
            const double ns = (MPI_Wtime() - begin) * 1e9 / count;
            best = block == 1 || (block && ns < best) ? ns : best;
        }
        if (!me)
            printf("%s %.1f\n", ways[way].name, best);
    }
    MPI_Finalize();
    return 0;
}
