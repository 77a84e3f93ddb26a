/* engines.cu - the kernels of tests/values/patterns.c (patterns, guesses) with the same numbers: what is found of them is in
 * tests/values/known_patterns.py. It is compiled with PTX, and again as machine code only (engines-machine).
 *
 * More of it is known here: loads of 16 bytes, a NaN, elements that are read twice, halves of accesses.
 */
#include "common.h"

#include <cmath>

enum { N = 1000, BLOCK = 250,
       TIMES = 6 /* of each: what the first launch guesses the others count */ };

static __device__ __forceinline__ int place() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }

extern "C" __global__ void read_zeros(const int *a, int *b) { int i = place(); b[i] = a[i] + i * 65537; }
extern "C" __global__ void read_same(const float *a, float *b) { int i = place(); b[i] = a[i] * (1.0f / (i + 3)); }
extern "C" __global__ void read_small(const int *a, int *b) { int i = place(); b[i] = a[i] * 19088743 + i; }
extern "C" __global__ void read_wide(const double *a, double *b) { int i = place(); b[i] = a[i] / 3.0; }
extern "C" __global__ void read_near(const float *a, float *b) { int i = place(); b[i] = a[i] * (i * 0.123f); }
extern "C" __global__ void read_ints(const int *a, int *b) { int i = place(); b[i] = a[i] * 40503 + i * i; }
extern "C" __global__ void read_floats(const float *a, float *b) { int i = place(); b[i] = a[i] * (i * i + 0.1f); }
extern "C" __global__ void some_items(int *a)
{
    int i = place();
    if (i % 10 == 0)
        a[i] = 7;
}

/* ---- more ------------------------------------------------------------------------------------------ */

extern "C" __global__ void read_fours(const float4 *a, float *b)
{
    int    i = place();
    float4 v = a[i];
    b[i] = v.x * (i + 1) + v.y * (i + 2) + v.z * (i + 3) + v.w * (i * i + 5);
}

/* A NaN among what else is 1.5: nothing is common to them. */
extern "C" __global__ void read_nan(const float *a, float *b)
{
    int i = place();
    b[i] = a[i] * (1.0f / (i * i + 7));
}

/* One access is of zeros, the other is not of one value. */
extern "C" __global__ void read_half(const int *a, const int *c, int *b)
{
    int i = place();
    b[i] = a[i] * 7919 + c[i] + i * i * 40503;
}

/* What nothing is common to, neither here nor there. */
extern "C" __global__ void read_mixed(const int *a, int *b)
{
    int i = place();
    b[i] = a[i] ^ a[i] >> 3;
}

static int mixed(int i) { return (int)(((uint32_t)i * 2654435761u ^ (uint32_t)i * 40503u >> 3) * 2246822519u); }

/* As often as it takes, and what has come of it. */
template <typename K, typename... A> static void run(const char *name, const void *to, K kernel, A... arguments)
{
    for (int k = 0; k < TIMES; k++)
        kernel<<<N / BLOCK, BLOCK>>>(arguments...);
    print(name, (const int *)to, N);
}

int main()
{
    double *to = filled<double>(N, [](int) { return 0.; });
    int    *whole = (int *)to;
    float  *real = (float *)to;
    int    *zeros = filled<int>(N, [](int) { return 0; });
    int    *numbers = filled<int>(N, mixed);
    run("zeros", to, read_zeros, zeros, whole);
    run("same", to, read_same, filled<float>(N, [](int) { return 2.5f; }), real);
    run("small", to, read_small, filled<int>(N, [](int i) { return i % 121 - 3; }), whole);
    run("wide", to, read_wide, filled<double>(N, [](int i) { return 1 + i * 1.25; }), to);
    run("near", to, read_near, filled<float>(N, [](int i) { return 1 + (float)i * 0x1p-21f; }), real);
    run("ints", to, read_ints, filled<int>(N, [](int i) { return i % 4 ? 7 : i * 7919 + (1 << 30); }), whole);
    run("floats", to, read_floats, filled<float>(N, [](int i) { return 100 - (float)i; }), real);
    run("some", to, some_items, whole);
    run("fours", to, read_fours, filled<float4>(N, [](int) { return make_float4(2.5f, 2.5f, 2.5f, 2.5f); }), real);
    run("nan", to, read_nan, filled<float>(N, [](int i) { return i == 17 ? NAN : 1.5f; }), real);
    run("half", to, read_half, filled<int>(N, [](int) { return 0; }), numbers, whole);
    run("mixed", to, read_mixed, numbers, whole);
    return 0;
}
