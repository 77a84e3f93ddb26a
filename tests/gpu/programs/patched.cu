/* patched.cu - a program that is a user of Compute Sanitizer itself, before CUDA starts. */
#include "common.h"

#include <dlfcn.h>

extern "C" __global__ void watched(int *p) { atomicAdd(p, 1); }

static void ignore(void *, int, unsigned, const void *) {}

int main()
{
    void *sanitizer = dlopen(SANITIZER_LIBRARY, RTLD_NOW | RTLD_LOCAL), *subscriber = nullptr;
    int  *p, host = 0;
    if (!sanitizer)
        skip("the toolkit's Compute Sanitizer cannot be opened");
    auto subscribe = (int (*)(void **, void (*)(void *, int, unsigned, const void *), void *))dlsym(sanitizer, "sanitizerSubscribe");
    MUST(subscribe != nullptr);
    subscribe(&subscriber, ignore, nullptr); /* whoever comes first holds it; the program goes on either way */
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < 10; i++)
        watched<<<1, 1>>>(p);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    MUST(host == 10);
    printf("%d\n", host);
    return 0;
}
