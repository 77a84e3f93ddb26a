/* common.h - what the known-answer programs share.
 *
 * A program prints what it computed, the same in every run. What can differ
 * between machines or runs (a pitch, an occupancy, a time) and that the runner
 * needs as the truth goes into the file that SONDE_TEST_TRUTH names, one
 * "key value" per line.
 */
#ifndef SONDE_TESTS_GPU_COMMON_H
#define SONDE_TESTS_GPU_COMMON_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#define NOINLINE __attribute__((noinline))

#define CK(call)                                                                                          \
    do {                                                                                                  \
        cudaError_t ck_ = (call);                                                                         \
        if (ck_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(ck_));       \
            exit(2);                                                                                      \
        }                                                                                                 \
    } while (0)

#define CU(call)                                                                                          \
    do {                                                                                                  \
        CUresult cu_ = (call);                                                                            \
        if (cu_ != CUDA_SUCCESS) {                                                                        \
            const char *cu_text = "?";                                                                    \
            cuGetErrorString(cu_, &cu_text);                                                              \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cu_text);                       \
            exit(2);                                                                                      \
        }                                                                                                 \
    } while (0)

/* A result that is not what was computed by hand. */
#define MUST(condition)                                                                                   \
    do {                                                                                                  \
        if (!(condition)) {                                                                               \
            fprintf(stderr, "%s:%d: wrong result: %s\n", __FILE__, __LINE__, #condition);                 \
            exit(3);                                                                                      \
        }                                                                                                 \
    } while (0)

static inline void truth(const char *format, ...)
{
    const char *path = getenv("SONDE_TEST_TRUTH");
    FILE       *file = path ? fopen(path, "a") : nullptr;
    if (!file)
        return;
    va_list list;
    va_start(list, format);
    vfprintf(file, format, list);
    va_end(list);
    fputc('\n', file);
    fclose(file);
}

/* The host axis of a measurement. */
static inline uint64_t host_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

/* A file that is built into the folder of the programs. */
static inline std::string module_path(const char *self, const char *name = "module.cubin")
{
    std::string path(self);
    size_t      slash = path.rfind('/');
    return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + name;
}

#ifdef __CUDACC__
/* `n` of them on the device, as `of` says. */
template <typename T> static NOINLINE T *filled(int n, T (*of)(int))
{
    T *host = (T *)malloc(n * sizeof(T)), *device;
    for (int i = 0; i < n; i++)
        host[i] = of(i);
    CK(cudaMalloc(&device, n * sizeof(T)));
    CK(cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice));
    free(host);
    return device;
}

/* All bytes that a kernel left there, as one number. */
template <typename T> static void print(const char *name, const T *device, int n)
{
    unsigned char     *host = (unsigned char *)malloc(n * sizeof(T));
    unsigned long long sum = 14695981039346656037ull;
    CK(cudaMemcpy(host, device, n * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n * sizeof(T); i++)
        sum = (sum ^ host[i]) * 1099511628211ull;
    printf("%s %016llx\n", name, sum);
    free(host);
}

/* Waits on the device by its own clock. */
static __device__ inline void wait_ns(uint64_t ns)
{
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}
#endif

#endif
