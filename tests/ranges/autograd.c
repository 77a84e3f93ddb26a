/* autograd.c - forward and backward operators of a library that looks like PyTorch's.
 *
 *   autograd WORD DISTANCE [s|c|v]     where a RecordFunction keeps its two numbers, and how its name (torch_cpu.h)
 *
 * 40 steps of three operators. The second launches nothing in the forward pass;
 * the backward pass runs on a thread that is named as autograd's own are.
 */
#include "../programs/guest.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "torch_cpu.h"

#define NOINLINE __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory") /* no tail call */

enum { STEPS = 40 };

static struct guest g;
static struct fake_node nodes[STEPS][3];

static void compute(void)
{
    guest_add(&g, 1);
    STAY();
}

/* A link is shown by the function that called OpenCL. */
#define LAUNCHER(name)                                                                                   \
    static void name(void)                                                                               \
    {                                                                                                    \
        size_t items = GUEST_ITEMS, group = GUEST_ITEMS;                                                 \
        CL(clEnqueueNDRangeKernel(g.queue, g.add, 1, NULL, &items, &group, 0, NULL, NULL));              \
    }
LAUNCHER(launch_first)
LAUNCHER(launch_third)

NOINLINE static void first(int step)
{
    nodes[step][0] = fake_forward(launch_first);
    STAY();
}

NOINLINE static void second(int step)
{
    nodes[step][1] = fake_forward(NULL);
    STAY();
}

NOINLINE static void third(int step)
{
    nodes[step][2] = fake_forward(launch_third);
    STAY();
}

static void *backward(void *step)
{
    const struct fake_node *node = nodes[(intptr_t)step];
    const struct fake_node none = {0, UINT64_MAX};
    prctl(PR_SET_NAME, "pt_autograd_0");
    fake_backward(node[2], "ThirdBackward0", compute);
    fake_backward(node[1], "SecondBackward0", compute);
    compute(); /* between two nodes */
    fake_backward(node[0], "FirstBackward0", compute);
    fake_backward(none, "torch::autograd::AccumulateGrad", compute);
    for (int i = 0; i < 120; i++)
        fake_backward(node[i % 3], "Nothing", NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    fake_word = argc > 1 ? (unsigned)atoi(argv[1]) : fake_word;
    fake_distance = argc > 2 ? (unsigned)atoi(argv[2]) : fake_distance;
    fake_text = argc > 3 ? argv[3][0] : 0;
    guest_open(&g);
    for (intptr_t step = 0; step < STEPS; step++) {
        first((int)step);
        second((int)step);
        third((int)step);
        if (pthread_create(&thread, NULL, backward, (void *)step) == 0)
            pthread_join(thread, NULL);
    }
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
