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
    for (unsigned left = mask; left; left &= left - 1)
        all |= static_cast<unsigned>(__shfl_sync(mask, static_cast<unsigned>(is), __ffs(left) - 1)) << (__ffs(left) - 1);
    return all;
}

typedef unsigned long long word_here;
static inline word_here atomicCAS(word_here *at, word_here expected, word_here wanted)
{
    __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
static inline void atomicAdd(word_here *at, word_here value)
{
    __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
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
