/* ring.cu - ranks in a ring pass blocks on, each into the memory of the next one's GPU, and one of them has a wrong neighbour.
 *
 *     nvcc -O2 -lineinfo -g -o ring examples/ring.cu
 *     sonde record --comm -o ring.sonde ./ring          or ./ring right
 *     sonde report ring.sonde comm                      or sonde view ring.sonde, page Communication
 *
 * Each GPU has a rank, or, where there are fewer than four, several, so that there are four. In each of 100 steps every rank stores its block
 * of 1 MiB into the inbox of the next one. `right`: without the fault. What must be seen of four ranks on two GPUs: with the fault 209.7 MB
 * from 0 to 1 and 104.9 MB back, without it 104.9 MB each way; on four or more GPUs a pair of the matrix that is no neighbour.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { BLOCK = 1 << 18, STEPS = 100, RANKS_LEAST = 4 };

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(2);                                                                             \
        }                                                                                        \
    } while (0)

struct rank {
    int    device, next;
    float *block, *inbox;
};

__global__ void send(float *inbox, const float *block, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        inbox[i] = block[i]; // LINE send
}

__global__ void receive(float *block, const float *inbox, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        block[i] = inbox[i] + 1;
}

static std::vector<rank> make_ring(int devices, bool right)
{
    const int         count = devices > RANKS_LEAST ? devices : RANKS_LEAST;
    std::vector<rank> ranks(count);
    for (int i = 0; i < count; i++) {
        ranks[i].device = i * devices / count;
        ranks[i].next = (i + 1) % count;
        CHECK(cudaSetDevice(ranks[i].device));
        CHECK(cudaMalloc(&ranks[i].block, BLOCK * sizeof(float)));
        CHECK(cudaMalloc(&ranks[i].inbox, BLOCK * sizeof(float)));
        CHECK(cudaMemset(ranks[i].block, 0, BLOCK * sizeof(float)));
        CHECK(cudaMemset(ranks[i].inbox, 0, BLOCK * sizeof(float)));
    }
    if (!right)
        ranks[0].next = 2; // the fault: it skips one
    return ranks;
}

static void connect(int devices)
{
    for (int i = 0; i < devices; i++) {
        CHECK(cudaSetDevice(i));
        for (int k = 0; k < devices; k++) {
            int can = 0;
            if (i != k)
                CHECK(cudaDeviceCanAccessPeer(&can, i, k));
            if (i != k && !can) {
                printf("GPU %d cannot reach the memory of GPU %d\n", i, k);
                exit(0);
            }
            if (i != k)
                CHECK(cudaDeviceEnablePeerAccess(k, 0));
        }
    }
}

static void wait_for_all(int devices)
{
    for (int i = 0; i < devices; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaDeviceSynchronize());
    }
}

int main(int argc, char **argv)
{
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    connect(devices);
    std::vector<rank> ranks = make_ring(devices, argc > 1 && strcmp(argv[1], "right") == 0);
    for (int step = 0; step < STEPS; step++) {
        for (const rank &r : ranks) {
            CHECK(cudaSetDevice(r.device));
            send<<<BLOCK / 256, 256>>>(ranks[r.next].inbox, r.block, BLOCK); // LINE launch
        }
        wait_for_all(devices);
        for (const rank &r : ranks) {
            CHECK(cudaSetDevice(r.device));
            receive<<<BLOCK / 256, 256>>>(r.block, r.inbox, BLOCK);
        }
        wait_for_all(devices);
    }
    float first = 0;
    CHECK(cudaMemcpy(&first, ranks[1].block, sizeof first, cudaMemcpyDeviceToHost));
    printf("%zu ranks; what rank 1 holds went %.0f of %d steps\n", ranks.size(), first, STEPS);
    return 0;
}
