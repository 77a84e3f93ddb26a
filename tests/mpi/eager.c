/* eager.c - rank 0 sends messages of given sizes, five of each, to a receiver that comes late every time: it looks for other messages for
 * DELAY_MS before, so that the library can work. Rank 0 prints "sent BYTES NS": how long MPI_Send took. With names of the library's
 * variables it uses MPI_T itself, from before MPI_Init until MPI_Finalize, and prints "variable NAME VALUE", as MPI_T says.
 *
 *     mpirun -n 2 eager [BYTES | NAME] ...
 */
#include <mpi.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DELAY_MS = 60,
       TIMES = 5,
       MOST = 1 << 20 };
static char room[MOST];

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void late(int me, int bytes)
{
    int flag;
    MPI_Barrier(MPI_COMM_WORLD);
    const long long begin = now_ns();
    if (me == 0) {
        MPI_Send(room, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        printf("sent %d %lld\n", bytes, now_ns() - begin);
        return;
    }
    while (now_ns() < begin + DELAY_MS * 1000000LL) {
        const struct timespec little = {0, 100000};
        nanosleep(&little, NULL);
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(room, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void say(const char *name)
{
    int index, count, bytes = 0;
    union {
        int narrow;
        long long wide;
    } value = {.wide = 0};
    int level, binding, scope, name_bytes = 0, text_bytes = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) || MPI_T_cvar_get_info(index, NULL, &name_bytes, &level, &type, &enumeration, NULL, &text_bytes, &binding, &scope))
        return;
    MPI_Type_size(type, &bytes);
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) || count != 1 || MPI_T_cvar_read(handle, &value))
        return;
    printf("variable %s %lld\n", name, bytes == sizeof value.narrow ? value.narrow : value.wide);
    MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char **argv)
{
    int me, level, tool = 0;
    for (int i = 1; i < argc; i++)
        tool |= !isdigit((unsigned char)*argv[i]);
    if (tool)
        MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 1; i < argc; i++)
        for (int k = 0; k < TIMES && isdigit((unsigned char)*argv[i]); k++)
            late(me, atoi(argv[i]));
    for (int i = 1; i < argc && me == 0; i++)
        if (!isdigit((unsigned char)*argv[i]))
            say(argv[i]);
    if (tool)
        MPI_T_finalize(); /* Open MPI 4.1 ends in a segmentation fault where this comes after MPI_Finalize */
    MPI_Finalize();
    return 0;
}
