/* attached.cu - launches kernels on two threads until it is told to end; Sonde is attached to it meanwhile (tests/gpu/tool_cases.py).
 *
 * usage: attached STATE    a file of words: [0] end now; [1 + 2 t], [2 + 2 t]: launches of thread t that have begun, and that have returned
 *
 * Each launch adds one on the device, so that it is known afterwards that every one ran. Contexts, streams and memory are there before.
 */
#include "common.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

static volatile uint64_t *words;

extern "C" __global__ void add_one(unsigned *at, int thread)
{
    atomicAdd(at + thread, 1u);
}

static void work(int thread, unsigned *counts)
{
    cudaStream_t stream;
    CK(cudaStreamCreate(&stream));
    for (uint64_t n = 1; !words[0]; n++) {
        words[1 + 2 * thread]++;
        add_one<<<1, 1, 0, stream>>>(counts, thread);
        words[2 + 2 * thread]++;
        if (n % 100 == 0) {
            CK(cudaStreamSynchronize(stream));
            usleep(500);
        }
    }
    CK(cudaStreamSynchronize(stream));
    CK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    unsigned *counts, ran[2];
    const int file = open(argc > 1 ? argv[1] : "state", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 1;
    words = (volatile uint64_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CK(cudaMalloc(&counts, sizeof ran));
    CK(cudaMemset(counts, 0, sizeof ran));
    std::thread other(work, 1, counts);
    work(0, counts);
    other.join();
    CK(cudaMemcpy(ran, counts, sizeof ran, cudaMemcpyDeviceToHost));
    printf("launched %llu, ran %u\n", (unsigned long long)(words[2] + words[4]), ran[0] + ran[1]);
    return 0;
}
