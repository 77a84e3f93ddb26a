/* streams.cu - three streams; the second waits for an event of the first. Each kernel takes a known time,
 * and the device itself keeps the order in which they ran. */
#include "common.h"

enum { EACH = 20, WAIT_NS = 200000 };

extern "C" __global__ void produce(int *order, int *count)
{
    wait_ns(WAIT_NS);
    order[atomicAdd(count, 1)] = 1;
}

extern "C" __global__ void consume(int *order, int *count)
{
    wait_ns(WAIT_NS);
    order[atomicAdd(count, 1)] = 2;
}

extern "C" __global__ void aside(int *sum)
{
    wait_ns(WAIT_NS);
    atomicAdd(sum, 1);
}

int main()
{
    int          *order, *count, *sum;
    cudaStream_t  a, b, c;
    cudaEvent_t   made;
    CK(cudaMalloc(&order, 2 * EACH * sizeof(int)));
    CK(cudaMalloc(&count, sizeof(int)));
    CK(cudaMalloc(&sum, sizeof(int)));
    CK(cudaMemset(count, 0, sizeof(int)));
    CK(cudaMemset(sum, 0, sizeof(int)));
    CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    CK(cudaDeviceSynchronize());

    truth("before_ns %llu", (unsigned long long)host_ns());
    for (int i = 0; i < EACH; i++)
        produce<<<1, 1, 0, a>>>(order, count);
    CK(cudaEventRecord(made, a));
    CK(cudaStreamWaitEvent(b, made));
    for (int i = 0; i < EACH; i++)
        consume<<<1, 1, 0, b>>>(order, count);
    for (int i = 0; i < EACH; i++)
        aside<<<1, 1, 0, c>>>(sum);
    CK(cudaDeviceSynchronize());
    truth("after_ns %llu", (unsigned long long)host_ns());

    int host[2 * EACH], total = 0;
    CK(cudaMemcpy(host, order, sizeof host, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * EACH; i++)
        MUST(host[i] == (i < EACH ? 1 : 2));
    MUST(total == EACH);
    puts("in order");
    return 0;
}
