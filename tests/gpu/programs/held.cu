/* held.cu - a program that is a CUPTI user itself, before CUDA starts. */
#include "common.h"

#include <cupti.h>
#include <dlfcn.h>

extern "C" __global__ void watched(int *p) { atomicAdd(p, 1); }

static void CUPTIAPI ignore(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *) {}

int main()
{
    void                 *cupti = dlopen(CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CUpti_SubscriberHandle subscriber;
    int                  *p, host = 0;
    if (!cupti)
        skip("the toolkit's CUPTI cannot be opened");
    auto subscribe = (decltype(&cuptiSubscribe))dlsym(cupti, "cuptiSubscribe");
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
