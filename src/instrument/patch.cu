/* patch.cu - the functions that Compute Sanitizer has called before each access to global memory. See patch.h.
 *
 * All threads of a warp that execute an access come at once. One of them speaks for those whose address lies in the same object. What
 * it would not change it does not write: but for the count, that is nearly always so.
 *
 * Shuffles, ballots and 64-bit atomics are all that is used of warps: newer instructions are refused in patches.
 */
#include <sanitizer_patching.h>

#include "patch.h"

namespace {

#ifdef __CUDACC__
__device__ unsigned lane_here()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ unsigned multiprocessor_here()
{
    unsigned multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    return multiprocessor;
}
#endif

struct span { /* what lies around an address: an object, or what is between two */
    uint64_t first, end;
    uint32_t object;
};

__device__ span span_of(const sonde_patch_launch *l, uint64_t address)
{
    const sonde_patch_range *r = reinterpret_cast<const sonde_patch_range *>(l->ranges);
    uint32_t low = 0, high = l->range_count; /* the ranges before `low` begin at the address or below it, those from `high` on above */
#pragma unroll 1
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (r[middle].first <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && address < r[low - 1].end)
        return {r[low - 1].first, r[low - 1].end, r[low - 1].object};
    return {low ? r[low - 1].end : 0, low < l->range_count ? r[low].first : ~0ull, 0};
}

/* The finalizer of MurmurHash3. */
__device__ uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

typedef unsigned long long word;

/* Null: the table is full there. */
__device__ sonde_patch_slot *slot_of(sonde_patch_table *t, uint64_t code, uint64_t who)
{
    const uint64_t tag = mixed(mixed(who) + code) | 1;
    __builtin_assume(__isGlobal(t)); /* or atomics first ask what memory it is */
    sonde_patch_slot *part = t->slots + multiprocessor_here() % SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS;
#pragma unroll 1
    for (uint32_t k = 0; k < SONDE_PATCH_PROBES; k++) {
        sonde_patch_slot *s = &part[((tag >> 1) + k) % SONDE_PATCH_SLOTS];
        __builtin_assume(__isGlobal(s));
        word found = *reinterpret_cast<volatile word *>(&s->tag);
        if (!found)
            found = atomicCAS(reinterpret_cast<word *>(&s->tag), 0ull, static_cast<word>(tag));
        if (!found) { /* ours: who else comes knows it by its tag */
            s->who = who;
            s->code = code;
        }
        if (!found || found == tag)
            return s;
    }
    atomicAdd(reinterpret_cast<word *>(&t->lost), 1ull);
    return nullptr;
}

/* What a thread's elements are, or several threads': numbers of N without a sign, all of which only grow. */
template <typename N> struct kept {
    N any, gone, most, least;
    uint32_t elements;
};

template <typename N> __device__ void join(kept<N> &k, const kept<N> &other)
{
    k.any |= other.any;
    k.gone |= other.gone;
    k.most = other.most > k.most ? other.most : k.most;
    k.least = other.least > k.least ? other.least : k.least;
    k.elements += other.elements;
}

/* Bits, and the same as a number whose sign is turned. */
template <typename N> __device__ void keep(kept<N> &k, N bits, N number)
{
    join(k, {bits, static_cast<N>(~bits), number, static_cast<N>(~number), 1});
}

/* Of all threads in the mask, in each of them. */
template <typename N> __device__ kept<N> of_warp(const kept<N> &own, unsigned mask)
{
    kept<N> all = own;
    if (mask == 0xffffffffu) {
#pragma unroll 1
        for (int d = 16; d; d /= 2)
            join(all, {__shfl_xor_sync(mask, all.any, d), __shfl_xor_sync(mask, all.gone, d), __shfl_xor_sync(mask, all.most, d),
                       __shfl_xor_sync(mask, all.least, d), __shfl_xor_sync(mask, all.elements, d)});
        return all;
    }
    all = {};
#pragma unroll 1
    for (unsigned left = mask; left; left &= left - 1) {
        const int from = __ffs(left) - 1;
        join(all, {__shfl_sync(mask, own.any, from), __shfl_sync(mask, own.gone, from), __shfl_sync(mask, own.most, from),
                   __shfl_sync(mask, own.least, from), __shfl_sync(mask, own.elements, from)});
    }
    return all;
}

__device__ word wide(word number)
{
    return number;
}

__device__ word wide(uint32_t number)
{
    return static_cast<word>(static_cast<long long>(static_cast<int32_t>(number ^ 0x80000000u))) ^ 1ull << 63;
}

__device__ word now(const uint64_t *of)
{
    return *reinterpret_cast<const volatile word *>(of);
}

template <typename N> __device__ void add(sonde_patch_slot *s, const kept<N> &k)
{
    __builtin_assume(__isGlobal(s));
    const word any = k.any, gone = k.gone, most = wide(k.most), least = ~wide(static_cast<N>(~k.least));
    atomicAdd(reinterpret_cast<word *>(&s->elements), static_cast<word>(k.elements));
    if (any & ~now(&s->any))
        atomicOr(reinterpret_cast<word *>(&s->any), any);
    if (gone & ~now(&s->gone))
        atomicOr(reinterpret_cast<word *>(&s->gone), gone);
    if (most > now(&s->most))
        atomicMax(reinterpret_cast<word *>(&s->most), most);
    if (least > now(&s->least))
        atomicMax(reinterpret_cast<word *>(&s->least), least);
}

/* The whole warp: each thread with what it accesses at its address. */
template <typename N> __device__ void found(const sonde_patch_launch *l, uint64_t code, uint64_t address, const kept<N> &own)
{
    const unsigned active = __activemask(), lane = lane_here();
#pragma unroll 1
    for (unsigned left = active; left;) {
        const int speaker = __ffs(left) - 1;
        const span s = span_of(l, __shfl_sync(active, static_cast<word>(address), speaker));
        const bool mine = address >= s.first && address < s.end;
        const unsigned group = __ballot_sync(active, mine);
        const kept<N> all = of_warp(mine ? own : kept<N>{}, active);
        if (lane == static_cast<unsigned>(speaker)) {
            sonde_patch_slot *slot = slot_of(reinterpret_cast<sonde_patch_table *>(l->table), code, static_cast<uint64_t>(l->operation) << 32 | s.object);
            if (slot)
                add(slot, all);
        }
        left &= ~(group | 1u << speaker);
    }
}

/* Of one to four bytes of an element, in a register or in memory of the thread's own, whose alignment is not known. */
__device__ uint32_t bytes_at(const unsigned char *at, uint32_t bytes)
{
    if (bytes == 4)
        return *reinterpret_cast<const volatile uint32_t *>(at);
    return bytes == 2 ? *reinterpret_cast<const volatile uint16_t *>(at) : *at;
}

__device__ word word_at(const unsigned char *at)
{
    return bytes_at(at, 4) | static_cast<word>(bytes_at(at + 4, 4)) << 32;
}

__device__ void access(const sonde_patch_launch *l, uint64_t pc, uint64_t address, uint32_t bytes, const void *from, bool store)
{
    const unsigned char *at = static_cast<const unsigned char *>(from);
    const uint32_t element = bytes < 8 ? bytes : 8;
    const uint64_t code = pc | static_cast<uint64_t>(store) << SONDE_PATCH_STORE | static_cast<uint64_t>(element) << SONDE_PATCH_BYTES;
    if (element < 8) {
        const uint32_t bits = bytes_at(at, bytes), unused = 32 - 8 * bytes;
        kept<uint32_t> k = {};
        keep(k, bits, static_cast<uint32_t>(static_cast<int32_t>(bits << unused) >> unused) ^ 0x80000000u);
        found(l, code, address, k);
        return;
    }
    kept<word> k = {};
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += 8) {
        const word bits = word_at(at + i);
        keep(k, bits, bits ^ 1ull << 63);
    }
    found(l, code, address, k);
}

/* Null: nothing, or what is not Sonde's, which is not touched. */
__device__ const sonde_patch_launch *given(void *user)
{
    const uint64_t bits = reinterpret_cast<uint64_t>(user), address = bits & ((1ull << SONDE_PATCH_MARKED) - 1);
    const bool is_ours = bits >> SONDE_PATCH_MARKED == SONDE_PATCH_MARK && address % sizeof(uint64_t) == 0;
    return is_ours ? reinterpret_cast<const sonde_patch_launch *>(address) : nullptr;
}

} // namespace

/* What an atomic writes is not told, and a prefetch has no value. */
extern "C" __device__ __noinline__ SanitizerPatchResult SondeAccess(void *user, uint64_t pc, void *address, uint32_t bytes, uint32_t flags, const void *data)
{
    const sonde_patch_launch *l = given(user);
    const bool store = flags & SANITIZER_MEMORY_DEVICE_FLAG_WRITE;
    if (!l || flags & SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH || (store && (flags & SANITIZER_MEMORY_DEVICE_FLAG_READ || !data)))
        return SANITIZER_PATCH_SUCCESS;
    access(l, pc, reinterpret_cast<uint64_t>(address), bytes, store ? data : address, store);
    return SANITIZER_PATCH_SUCCESS;
}

/* A copy may only fill shared memory with zeros (PTX's src-size 0), whatever its address is then: only what is known to be memory is read. */
extern "C" __device__ __noinline__ SanitizerPatchResult SondeAsync(void *user, uint64_t pc, void *source, uint32_t target, uint32_t bytes)
{
    (void)target;
    const sonde_patch_launch *l = given(user);
    if (l && bytes && span_of(l, reinterpret_cast<uint64_t>(source)).object)
        access(l, pc, reinterpret_cast<uint64_t>(source), bytes, source, false);
    return SANITIZER_PATCH_SUCCESS;
}
