/* callbacks.cu - functions of the host in a stream, one of which makes another thread launch kernels. */
#include "common.h"

#include <condition_variable>
#include <mutex>
#include <thread>

enum { FUNCTIONS = 100, CALLBACKS = 50 };

static std::mutex              lock;
static std::condition_variable wake;
static int                     asked, called;

extern "C" __global__ void driven(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void answer(int *p) { atomicAdd(p, 1); }

static void ask(void *)
{
    std::lock_guard<std::mutex> hold(lock);
    asked++;
    wake.notify_one();
}

static void seen(cudaStream_t, cudaError_t status, void *)
{
    called += status == cudaSuccess;
}

/* No CUDA call may be made inside such a function; whoever must launch does it from a thread. */
static void launcher(cudaStream_t stream, int *p)
{
    for (int done = 0; done < FUNCTIONS; done++) {
        std::unique_lock<std::mutex> hold(lock);
        wake.wait(hold, [&] { return asked > done; });
        hold.unlock();
        answer<<<1, 1, 0, stream>>>(p);
    }
    CK(cudaStreamSynchronize(stream));
}

int main()
{
    cudaStream_t a, b;
    int         *p, host[2];
    CK(cudaMalloc(&p, 8));
    CK(cudaMemset(p, 0, 8));
    CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CK(cudaDeviceSynchronize());
    std::thread thread(launcher, b, p + 1);
    for (int i = 0; i < FUNCTIONS; i++) {
        driven<<<1, 1, 0, a>>>(p);
        CK(cudaLaunchHostFunc(a, ask, nullptr));
    }
    for (int i = 0; i < CALLBACKS; i++) {
        driven<<<1, 1, 0, a>>>(p);
        CK(cudaStreamAddCallback(a, seen, nullptr, 0));
    }
    CK(cudaStreamSynchronize(a));
    thread.join();
    CK(cudaMemcpy(host, p, 8, cudaMemcpyDeviceToHost));
    MUST(host[0] == FUNCTIONS + CALLBACKS && host[1] == FUNCTIONS && called == CALLBACKS);
    puts("called");
    return 0;
}
