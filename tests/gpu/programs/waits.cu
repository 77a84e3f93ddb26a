/* waits.cu - every way to wait: events between streams, synchronizations, copies that return when they are done and
 * copies that do not, events in a capture. What must be known of it is written down in cases.py, row by row. */
#include "common.h"

enum { BYTES = 4096 };
#define LONG_NS 200000000ull

extern "C" __global__ void first(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void second(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void captured(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void legacy(int *p)
{
    wait_ns(LONG_NS);
    atomicAdd(p, 1);
}

static cudaStream_t apart, plain; /* apart does not wait for the legacy default stream */
static cudaEvent_t  made, done;
static int         *x, *y;
static char         pageable[BYTES], *pinned;

static void events_and_synchronizations()
{
    first<<<1, 1, 0, apart>>>(x);
    CK(cudaEventRecord(made, apart));         /* event_record 1 */
    CK(cudaStreamWaitEvent(plain, made));     /* event_wait 1 */
    second<<<1, 1, 0, plain>>>(x);
    CK(cudaEventRecord(done, plain));         /* event_record 2 */
    CK(cudaEventSynchronize(done));
    CK(cudaStreamSynchronize(apart));
    CK(cudaDeviceSynchronize());
}

static void copies()
{
    CK(cudaMemcpy(y, pageable, BYTES, cudaMemcpyHostToDevice));                /* write 1 */
    CK(cudaMemcpy(y, pinned, BYTES, cudaMemcpyHostToDevice));                  /* write 2 */
    CK(cudaMemcpy(pageable, y, BYTES, cudaMemcpyDeviceToHost));                /* read 1 */
    CK(cudaMemcpyAsync(pageable, y, BYTES, cudaMemcpyDeviceToHost, apart));    /* read 2: it waits all the same */
    CK(cudaMemcpyAsync(pinned, y, BYTES, cudaMemcpyDeviceToHost, apart));      /* read 3 */
    CK(cudaStreamSynchronize(apart));
}

/* Behind a kernel that takes long: these calls return before. */
static void copies_that_do_not_wait()
{
    legacy<<<1, 1>>>(x);
    CK(cudaMemcpy(y + 512, y, BYTES / 4, cudaMemcpyDeviceToDevice));           /* copy 1 */
    CK(cudaMemset(y, 0, BYTES));                                               /* fill 1 */
    CK(cudaStreamSynchronize(0));
}

/* The streams meet in a capture; none of it is an operation, and the events stand for nothing afterwards. */
static void capture()
{
    cudaGraph_t     graph;
    cudaGraphExec_t exec;
    CK(cudaStreamBeginCapture(apart, cudaStreamCaptureModeThreadLocal));
    captured<<<1, 1, 0, apart>>>(x);
    CK(cudaEventRecord(made, apart));
    CK(cudaStreamWaitEvent(plain, made));
    captured<<<1, 1, 0, plain>>>(x);
    CK(cudaEventRecord(done, plain));
    CK(cudaStreamWaitEvent(apart, done));
    CK(cudaStreamEndCapture(apart, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    CK(cudaGraphLaunch(exec, apart));
    CK(cudaGraphLaunch(exec, apart));
    CK(cudaStreamSynchronize(apart));
    CK(cudaEventRecord(made, apart));         /* event_record 3 */
    CK(cudaStreamWaitEvent(plain, made));     /* event_wait 2 */
    second<<<1, 1, 0, plain>>>(x);
    CK(cudaStreamSynchronize(plain));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
}

int main()
{
    CK(cudaMalloc(&x, BYTES));
    CK(cudaMalloc(&y, BYTES));
    CK(cudaMallocHost(&pinned, BYTES));
    CK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    CK(cudaStreamCreate(&plain));
    CK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    events_and_synchronizations();
    copies();
    copies_that_do_not_wait();
    capture();
    puts("waited");
    return 0;
}
