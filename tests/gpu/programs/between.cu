/* between.cu - 256 bytes from the first GPU to the second, once by each way of asking for it, each on a line of its own. */
#include "common.h"

enum { BYTES = 256, WIDTH = 32, HEIGHT = 8 };

static char        *a, *b; /* on the first device, on the second */
static cudaStream_t stream;

static cudaMemcpy3DPeerParms box(void)
{
    cudaMemcpy3DPeerParms p = {};
    p.srcPtr = make_cudaPitchedPtr(a, WIDTH, WIDTH, HEIGHT), p.srcDevice = 0;
    p.dstPtr = make_cudaPitchedPtr(b, WIDTH, WIDTH, HEIGHT), p.dstDevice = 1;
    p.extent = make_cudaExtent(WIDTH, HEIGHT, 1);
    return p;
}

static void graph(void)
{
    cudaGraph_t     made;
    cudaGraphExec_t exec;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CK(cudaMemcpyAsync(b, a, BYTES, cudaMemcpyDefault, stream)); // LINE graph
    CK(cudaStreamEndCapture(stream, &made));
    CK(cudaGraphInstantiate(&exec, made, 0));
    CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(made));
}

int main()
{
    int devices = 0, can = 0;
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        skip("one GPU only");
    CK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        skip("the GPUs cannot reach each other's memory");
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&b, BYTES));
    CK(cudaMemset(b, 0, BYTES));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(0));
    CK(cudaMalloc(&a, BYTES));
    CK(cudaMemset(a, 7, BYTES));
    CK(cudaDeviceEnablePeerAccess(1, 0));
    CK(cudaStreamCreate(&stream));
    CK(cudaDeviceSynchronize());
    const cudaMemcpy3DPeerParms whole = box();

    CK(cudaMemcpyPeer(b, 1, a, 0, BYTES));                                                // LINE peer
    CK(cudaMemcpyPeerAsync(b, 1, a, 0, BYTES, stream));                                   // LINE peer-async
    CK(cudaMemcpy(b, a, BYTES, cudaMemcpyDefault));                                       // LINE default
    CK(cudaMemcpy(b, a, BYTES, cudaMemcpyDeviceToDevice));                                // LINE device-to-device
    CK(cudaMemcpyAsync(b, a, BYTES, cudaMemcpyDefault, stream));                          // LINE async
    CK(cudaMemcpy2D(b, WIDTH, a, WIDTH, WIDTH, HEIGHT, cudaMemcpyDefault));               // LINE 2d
    CK(cudaMemcpy2DAsync(b, WIDTH, a, WIDTH, WIDTH, HEIGHT, cudaMemcpyDefault, stream));  // LINE 2d-async
    CK(cudaMemcpy3DPeer(&whole));                                                         // LINE 3d-peer
    CK(cudaMemcpy3DPeerAsync(&whole, stream));                                            // LINE 3d-peer-async
    CU(cuMemcpyDtoD((CUdeviceptr)b, (CUdeviceptr)a, BYTES));                              // LINE driver
    CU(cuMemcpy((CUdeviceptr)b, (CUdeviceptr)a, BYTES));                                  // LINE driver-unified
    CK(cudaStreamSynchronize(stream));
    graph();

    char host[BYTES];
    CK(cudaMemcpy(host, b, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        MUST(host[i] == 7);
    puts("between");
    return 0;
}
