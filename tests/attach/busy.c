/* busy.c - a program that Sonde is attached to again and again while it runs; what it finds out of order it counts.
 *
 * Each worker has a queue, a kernel and a buffer of its own, made before anybody attaches. Its launches have 1, 2 .. SIZES items and
 * begin again, so that a gap in what was recorded of a queue shows; what is in the buffer is computed on the host as well, and
 * compared bit by bit. Meanwhile a thread loads and closes a library, others wait in system calls which must not end early, memory is
 * taken and given back, and signals come.
 *
 * usage: busy STATE     STATE: a file, see struct state
 */
#include "../programs/guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 3,
       ITEMS = 64,
       SIZES = 61 };

static struct state {
    _Atomic uint64_t stop;
    _Atomic uint64_t begun[WORKERS], made[WORKERS]; /* launches: calls that have begun, and have returned */
    _Atomic uint64_t wrong, interrupted, late, signals, loads, ready;
} *state;

static cl_context context;
static cl_device_id device;
static cl_program program;

static const char source[] = "kernel void advance(global uint *a) { a[get_global_id(0)] = a[get_global_id(0)] * 1664525u + 1013904223u; }\n";

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void compare(cl_command_queue queue, cl_mem buffer, const uint32_t *mirror)
{
    uint32_t found[ITEMS];
    CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    state->wrong += memcmp(found, mirror, sizeof found) != 0;
}

static void *work(void *number)
{
    const int w = (int)(intptr_t)number;
    cl_int error;
    uint32_t mirror[ITEMS] = {0};
    void *piece[16] = {0};
    cl_command_queue queue = clCreateCommandQueue(context, device, w == 0 ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof mirror, mirror, &error);
    cl_kernel kernel = clCreateKernel(program, "advance", &error);
    CL(error);
    CL(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    state->ready++;
    for (uint64_t n = 0; !state->stop; n++) {
        const size_t size = 1 + n % SIZES;
        void **one = &piece[(n * 7) % 16];
        free(*one);
        *one = malloc(1 + n * 7919 % 5000);
        state->begun[w]++;
        CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
        state->made[w]++;
        for (size_t i = 0; i < size; i++)
            mirror[i] = mirror[i] * 1664525u + 1013904223u;
        if (n % 8 == 7) {
            CL(clFinish(queue));
            usleep(1000);
        }
        if (n % 64 == 63)
            compare(queue, buffer, mirror);
    }
    compare(queue, buffer, mirror);
    for (int i = 0; i < 16; i++)
        free(piece[i]);
    CL(clReleaseKernel(kernel));
    CL(clReleaseMemObject(buffer));
    CL(clReleaseCommandQueue(queue));
    return NULL;
}

static void *load(void *unused)
{
    while (!state->stop) {
        void *library = dlopen("libz.so.1", RTLD_NOW);
        if (library)
            dlclose(library);
        state->loads++;
        usleep(300);
    }
    return unused;
}

static int live_briefly(void *unused)
{
    const struct timespec moment = {0, 500000};
    (void)unused;
    syscall(SYS_nanosleep, &moment, NULL);
    syscall(SYS_exit, 0);
    return 0;
}

/* Each child's end is a SIGCHLD, which nobody handles: no other thread may notice. They share the memory: copies of it would take the
 * time that a runtime needs to compile. */
static void *have_children(void *unused)
{
    static char stack[16384] __attribute__((aligned(16)));
    while (!state->stop) {
        const pid_t child = clone(live_briefly, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
        while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        usleep(300);
    }
    return unused;
}

/* A wait without a signal for its thread ends when its time is over, or the bytes come, and not before. */
static void *wait_in(void *which)
{
    const int epoll = epoll_create1(0);
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    sigaddset(&none, SIGUSR2);
    state->ready++;
    while (!state->stop) {
        const uint64_t begin = now_ns();
        const struct timespec wait = {0, 20000000};
        errno = 0;
        const int result = which ? sigtimedwait(&none, NULL, &wait) : epoll_wait(epoll, &event, 1, 20);
        state->interrupted += which ? result != -1 || errno != EAGAIN : result != 0;
        state->late += now_ns() - begin < 19000000; /* early, that is */
        errno = 0;
        state->interrupted += nanosleep(&wait, NULL) != 0;
    }
    close(epoll);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    state->signals++;
}

/* Of what a recording must leave as it is: who handles the samples' signal. */
static int handled(void)
{
    struct sigaction now;
    sigaction(SIGURG, NULL, &now);
    return now.sa_handler != SIG_DFL;
}

static void build(void)
{
    const char *text = source;
    cl_platform_id platform;
    cl_int error;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CL(error);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    CL(error);
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

int main(int argc, char **argv)
{
    pthread_t thread[WORKERS + 4];
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    sigset_t alarm;
    const int file = open(argc > 1 ? argv[1] : "state", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *state) != 0)
        return 1;
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    build();
    signal(SIGALRM, on_signal);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigaddset(&alarm, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* it is the first thread's */
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
    pthread_create(&thread[WORKERS], NULL, load, NULL);
    pthread_create(&thread[WORKERS + 1], NULL, have_children, NULL);
    pthread_create(&thread[WORKERS + 2], NULL, wait_in, NULL);
    pthread_create(&thread[WORKERS + 3], NULL, wait_in, thread);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!state->stop)
        pause();
    for (int i = 0; i < WORKERS + 4; i++)
        pthread_join(thread[i], NULL);
    CL(clReleaseProgram(program));
    CL(clReleaseContext(context));
    printf("wrong %d, interrupted %d, early %d, SIGURG handled %d\n", (int)state->wrong, (int)state->interrupted, (int)state->late, handled());
    return 0;
}
