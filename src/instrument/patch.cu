/* patch.cu - the functions that Compute Sanitizer has called before each access to global memory. See patch.h.
 *
 * All threads of a warp that execute an access come at once. One of them speaks for those whose address lies in the same object. What
 * it would not change it does not write: but for the count, that is nearly always so.
 *
 * Shuffles, ballots and atomics are all that is used of warps: newer instructions are refused in patches.
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

/* By the first bit of elements: the most, and the most of their complements. */
template <typename N> struct extent {
    N most[2], least[2];
};

/* What a thread's elements are, or several threads': all of it only grows. The first of one to four bytes, the second of eight. */
struct small {
    uint32_t any, gone;
    extent<uint32_t> part;
};
struct large {
    word any, gone;
    extent<uint32_t> part; /* their halves */
    extent<word> whole;
};

template <typename N> __device__ N larger(N a, N b)
{
    return a > b ? a : b;
}

template <typename N> __device__ void join(extent<N> &e, const extent<N> &other)
{
    e.most[0] = larger(e.most[0], other.most[0]);
    e.most[1] = larger(e.most[1], other.most[1]);
    e.least[0] = larger(e.least[0], other.least[0]);
    e.least[1] = larger(e.least[1], other.least[1]);
}

__device__ void join(small &k, const small &other)
{
    k.any |= other.any;
    k.gone |= other.gone;
    join(k.part, other.part);
}

__device__ void join(large &k, const large &other)
{
    k.any |= other.any;
    k.gone |= other.gone;
    join(k.part, other.part);
    join(k.whole, other.whole);
}

template <typename N> __device__ extent<N> extent_of(N bits, bool set)
{
    const N none = 0, most = bits, least = ~bits;
    return {{set ? none : most, set ? most : none}, {set ? none : least, set ? least : none}};
}

__device__ void gather(small &k, const unsigned char *at, uint32_t bytes)
{
    const uint32_t bits = bytes_at(at, bytes);
    k = {bits, ~bits, extent_of(bits, bits >> (8 * bytes - 1) & 1)};
}

__device__ void gather(large &k, const unsigned char *at, uint32_t bytes)
{
    k = {};
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += 8) {
        const word bits = word_at(at + i);
        const uint32_t low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
        join(k, {bits, ~bits, extent_of(low, low >> 31), extent_of(bits, high >> 31)});
        join(k.part, extent_of(high, high >> 31));
    }
}

/* ---- within a warp ----------------------------------------------------------------------------------------- */

/* What lane `from` has, or the lane that is so far away. */
template <bool away, typename N> __device__ N number_of(unsigned mask, N number, int from)
{
    return away ? __shfl_xor_sync(mask, number, from) : __shfl_sync(mask, number, from);
}

template <bool away, typename N> __device__ extent<N> extent_of_lane(unsigned mask, const extent<N> &e, int from)
{
    return {{number_of<away>(mask, e.most[0], from), number_of<away>(mask, e.most[1], from)},
            {number_of<away>(mask, e.least[0], from), number_of<away>(mask, e.least[1], from)}};
}

template <bool away> __device__ small of_lane(unsigned mask, const small &k, int from)
{
    return {number_of<away>(mask, k.any, from), number_of<away>(mask, k.gone, from), extent_of_lane<away>(mask, k.part, from)};
}

template <bool away> __device__ large of_lane(unsigned mask, const large &k, int from)
{
    return {number_of<away>(mask, k.any, from), number_of<away>(mask, k.gone, from), extent_of_lane<away>(mask, k.part, from),
            extent_of_lane<away>(mask, k.whole, from)};
}

/* Of the threads in `of`, in each of `active`. */
template <typename K> __device__ K of_warp(const K &own, unsigned of, unsigned active)
{
    K all = {};
    if (of == 0xffffffffu) {
        all = own;
#pragma unroll 1
        for (int d = 16; d; d /= 2)
            join(all, of_lane<true>(active, all, d));
        return all;
    }
#pragma unroll 1
    for (unsigned left = of; left; left &= left - 1)
        join(all, of_lane<false>(active, own, __ffs(left) - 1));
    return all;
}

/* The sum of numbers below 8 of all threads. */
__device__ word sum(unsigned active, uint32_t number)
{
    word all = 0;
#pragma unroll
    for (int bit = 0; bit < 3; bit++)
        all += static_cast<word>(__popc(__ballot_sync(active, number >> bit & 1))) << bit;
    return all;
}

/* ---- into the table ------------------------------------------------------------------------------------------ */

__device__ word now(const uint64_t *of)
{
    return *reinterpret_cast<const volatile word *>(of);
}

__device__ uint32_t now(const uint32_t *of)
{
    return *reinterpret_cast<const volatile uint32_t *>(of);
}

__device__ void raise(uint64_t *to, word number)
{
    __builtin_assume(__isGlobal(to));
    if (number > now(to))
        atomicMax(reinterpret_cast<word *>(to), number);
}

__device__ void raise(uint32_t *to, uint32_t number)
{
    __builtin_assume(__isGlobal(to));
    if (number > now(to))
        atomicMax(to, number);
}

__device__ void set_bits(uint64_t *to, word bits)
{
    __builtin_assume(__isGlobal(to));
    if (bits & ~now(to))
        atomicOr(reinterpret_cast<word *>(to), bits);
}

/* All is read before anything is compared: one read does not wait for another. */
template <typename S, typename N> __device__ bool is_beyond(const S *there, N bits)
{
    const N least = ~bits;
    return (bits > now(&there->most)) | (least > now(&there->least));
}

__device__ bool is_news(const sonde_patch_slot *s, word bits, word complement)
{
    return ((bits & ~now(&s->any)) != 0) | ((complement & ~now(&s->gone)) != 0);
}

__device__ bool brings(const sonde_patch_slot *s, const small &, const unsigned char *at, uint32_t bytes)
{
    const uint32_t bits = bytes_at(at, bytes), complement = ~bits;
    return is_news(s, bits, complement) | is_beyond(&s->part[bits >> (8 * bytes - 1) & 1], bits);
}

__device__ bool brings(const sonde_patch_slot *s, const large &, const unsigned char *at, uint32_t bytes)
{
    bool is = false;
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += 8) {
        const word bits = word_at(at + i);
        const uint32_t low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
        is |= is_news(s, bits, ~bits) | is_beyond(&s->whole[high >> 31], bits) | is_beyond(&s->part[low >> 31], low) | is_beyond(&s->part[high >> 31], high);
    }
    return is;
}

template <typename S, typename N> __device__ void add(S (&to)[2], const extent<N> &e)
{
    raise(&to[0].most, e.most[0]);
    raise(&to[1].most, e.most[1]);
    raise(&to[0].least, e.least[0]);
    raise(&to[1].least, e.least[1]);
}

__device__ void add(sonde_patch_slot *s, const small &k)
{
    set_bits(&s->any, k.any);
    set_bits(&s->gone, k.gone);
    add(s->part, k.part);
}

__device__ void add(sonde_patch_slot *s, const large &k)
{
    set_bits(&s->any, k.any);
    set_bits(&s->gone, k.gone);
    add(s->part, k.part);
    add(s->whole, k.whole);
}

/* The whole warp: each thread with what it accesses at its address, which is so many bytes at `at`. Those who bring nothing new are
 * but counted: nearly all. */
template <typename K> __device__ void found(const sonde_patch_launch *l, uint64_t code, uint64_t address, const unsigned char *at, uint32_t bytes)
{
    const unsigned active = __activemask(), lane = lane_here();
#pragma unroll 1
    for (unsigned left = active; left;) {
        const int speaker = __ffs(left) - 1;
        const bool speaks = lane == static_cast<unsigned>(speaker);
        const span s = span_of(l, __shfl_sync(active, static_cast<word>(address), speaker));
        const bool mine = address >= s.first && address < s.end;
        sonde_patch_slot *slot = speaks ? slot_of(reinterpret_cast<sonde_patch_table *>(l->table), code, static_cast<uint64_t>(l->operation) << 32 | s.object) : nullptr;
        slot = reinterpret_cast<sonde_patch_slot *>(__shfl_sync(active, reinterpret_cast<word>(slot), speaker));
        K k = {};
        const unsigned news = __ballot_sync(active, slot && mine && brings(slot, k, at, bytes));
        if (news) {
            gather(k, at, bytes);
            k = of_warp(k, news, active);
            if (speaks)
                add(slot, k);
        }
        const word elements = sum(active, mine ? (bytes < 8 ? 1 : bytes / 8) : 0);
        if (speaks && slot) {
            __builtin_assume(__isGlobal(slot));
            atomicAdd(reinterpret_cast<word *>(&slot->elements), elements);
        }
        left &= ~(__ballot_sync(active, mine) | 1u << speaker);
    }
}

__device__ void access(const sonde_patch_launch *l, uint64_t pc, uint64_t address, uint32_t bytes, const void *from, bool store)
{
    const unsigned char *at = static_cast<const unsigned char *>(from);
    const uint32_t element = bytes < 8 ? bytes : 8;
    const uint64_t code = pc | static_cast<uint64_t>(store) << SONDE_PATCH_STORE | static_cast<uint64_t>(element) << SONDE_PATCH_BYTES;
    if (element < 8)
        found<small>(l, code, address, at, bytes);
    else
        found<large>(l, code, address, at, bytes);
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
