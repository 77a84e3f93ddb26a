/* warp.h - a warp made of threads of the CPU, for instrument/patch.cu: what it uses of CUDA C++.
 *
 * Each thread of the warp that is active is one of the CPU; what they exchange goes through an array, between two barriers.
 */
#ifndef SONDE_TEST_WARP_H
#define SONDE_TEST_WARP_H

#include <pthread.h>
#include <stdint.h>

#define __device__
#define __noinline__                __attribute__((noinline))
#define __isGlobal(pointer)         true
#define __builtin_assume(condition) (void)(condition)

struct warp {
    unsigned mask, multiprocessor;
    unsigned long long exchanged[32];
    pthread_barrier_t barrier;
};
extern thread_local struct warp *warp_here;
extern thread_local unsigned warp_lane;

static inline unsigned lane_here()
{
    return warp_lane;
}
static inline unsigned multiprocessor_here()
{
    return warp_here->multiprocessor;
}
static inline unsigned __activemask()
{
    return warp_here->mask;
}
static inline int __ffs(unsigned bits)
{
    return __builtin_ffs(static_cast<int>(bits));
}

static inline double reciprocal_near(double x)
{
    return 1 / x;
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline double __fma_rn(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
static inline double __ll2double_rn(long long number)
{
    return static_cast<double>(number);
}
static inline long long __double2ll_rn(double number)
{
    return __builtin_fabs(number) < 0x1p62 ? __builtin_llrint(number) : 0;
}
static inline float __double2float_rn(double number)
{
    return static_cast<float>(number);
}
template <typename To, typename From>
To bits_as(From from)
{
    To to;
    static_assert(sizeof to == sizeof from, "bits");
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
static inline double __longlong_as_double(long long bits)
{
    return bits_as<double>(bits);
}
static inline long long __double_as_longlong(double number)
{
    return bits_as<long long>(number);
}
static inline float __uint_as_float(unsigned bits)
{
    return bits_as<float>(bits);
}

template <typename T>
T __shfl_sync(unsigned, T value, int from)
{
    warp_here->exchanged[warp_lane] = value;
    pthread_barrier_wait(&warp_here->barrier);
    const T other = static_cast<T>(warp_here->exchanged[from]);
    pthread_barrier_wait(&warp_here->barrier);
    return other;
}

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance)
{
    return __shfl_sync(mask, value, static_cast<int>(warp_lane) ^ distance);
}

static inline unsigned __ballot_sync(unsigned mask, bool is)
{
    unsigned all = 0;
    warp_here->exchanged[warp_lane] = is;
    pthread_barrier_wait(&warp_here->barrier);
    for (unsigned left = mask; left; left &= left - 1)
        all |= static_cast<unsigned>(warp_here->exchanged[__ffs(left) - 1]) << (__ffs(left) - 1);
    pthread_barrier_wait(&warp_here->barrier);
    return all;
}

typedef unsigned long long word_here;
static inline word_here atomicCAS(word_here *at, word_here expected, word_here wanted)
{
    __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <typename N>
N atomicAdd(N *at, N value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
static inline void atomicOr(word_here *at, word_here value)
{
    __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
template <typename N>
void atomicMax(N *at, N value)
{
    N now = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (now < value && !__atomic_compare_exchange_n(at, &now, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

#endif
