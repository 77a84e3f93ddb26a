/* patch.cu - the functions that Compute Sanitizer has called before each access to global memory. See patch.h.
 *
 * All threads of a warp that execute an access come at once. One of them speaks for those whose address lies in the same object. What
 * it would not change it does not write: but for the count, that is nearly always so.
 *
 * Shuffles, ballots and atomics are all that is used of warps: newer instructions are refused in patches.
 *
 * A guess is voted for by the lanes of one warp: each has a sample, and the line through it and the one before, and looks how many of
 * the samples agree; what most agree with wins. Slots say when a guess stands: from then on it is read through the multiprocessor's cache,
 * in which all threads would otherwise find that there was none, and ask for the same line again and again.
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

__device__ double reciprocal_near(double x)
{
    double near;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(near) : "d"(x));
    return near;
}
#endif

struct span { /* what lies around an address: an object, or what is between two */
    uint64_t first, end;
    uint32_t object, cells;
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
        return {r[low - 1].first, r[low - 1].end, r[low - 1].object, r[low - 1].cells};
    return {low ? r[low - 1].end : 0, low < l->range_count ? r[low].first : ~0ull, 0, 0};
}

/* The finalizer of MurmurHash3. */
__device__ uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

typedef unsigned long long word;

/* What is at the place of a tag: 0: nothing was, now it is ours. */
__device__ word claim(uint64_t *place, uint64_t tag)
{
    __builtin_assume(__isGlobal(place)); /* or atomics first ask what memory it is */
    const word found = *reinterpret_cast<volatile word *>(place);
    return found ? found : atomicCAS(reinterpret_cast<word *>(place), 0ull, static_cast<word>(tag));
}

__device__ uint32_t now(const uint32_t *of)
{
    return *reinterpret_cast<const volatile uint32_t *>(of);
}

/* Null: the table is full there. And what the slot has of its guess. */
__device__ sonde_patch_slot *slot_of(sonde_patch_table *t, uint64_t tag, uint64_t code, uint64_t who, uint32_t *guess)
{
    __builtin_assume(__isGlobal(t));
    sonde_patch_slot *part = t->slots + multiprocessor_here() % SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS;
#pragma unroll 1
    for (uint32_t k = 0; k < SONDE_PATCH_PROBES; k++) {
        sonde_patch_slot *s = &part[((tag >> 1) + k) % SONDE_PATCH_SLOTS];
        __builtin_assume(__isGlobal(s));
        *guess = now(&s->guess); /* at the same time as the tag: one does not wait for the other */
        const word found = claim(&s->tag, tag);
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
    enum { PIECES = 1, COUNT_BITS = 1 }; /* of an element what is compared with guesses; of how many of a thread's */
    uint32_t any, gone;
    extent<uint32_t> part;
};
struct large {
    enum { PIECES = 3, COUNT_BITS = 4 };
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

/* The sum of numbers of so many bits of all threads. */
__device__ word sum(unsigned active, uint32_t number, int bits)
{
    word all = 0;
#pragma unroll
    for (int bit = 0; bit < bits; bit++)
        all += static_cast<word>(__popc(__ballot_sync(active, number >> bit & 1))) << bit;
    return all;
}

/* ---- into the table ------------------------------------------------------------------------------------------ */

__device__ word now(const uint64_t *of)
{
    return *reinterpret_cast<const volatile word *>(of);
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

/* ---- guesses -------------------------------------------------------------------------------------------------- */

/* What is published once: from the multiprocessor's cache, unless it is not in there. Not to be asked before it is there: the cache would
 * keep that there was nothing. */
__device__ word published(const uint64_t *at)
{
    __builtin_assume(__isGlobal(at));
    const word cached = *reinterpret_cast<const word *>(at);
    return cached ? cached : now(at);
}

/* What the slot has of its guess, which is not SONDE_PATCH_READY, or is it by now? */
__device__ uint32_t guess_of(sonde_patch_table *t, sonde_patch_slot *s, uint64_t tag, uint32_t known)
{
    uint32_t number = known;
#pragma unroll 1
    for (uint32_t k = 0; k < SONDE_PATCH_PROBES && !number; k++) {
        const word found = claim(&t->guesses[SONDE_PATCH_GUESS_AT(tag, k)].tag, tag);
        if (!found || found == tag)
            number = SONDE_PATCH_GUESS_AT(tag, k) + 1;
    }
    if (!number) {
        __builtin_assume(__isGlobal(&t->unguessed));
        atomicAdd(reinterpret_cast<word *>(&t->unguessed), 1ull);
        number = SONDE_PATCH_UNGUESSED;
    }
    if (number != SONDE_PATCH_UNGUESSED && now(&t->guesses[number - 1].flags))
        number |= SONDE_PATCH_READY;
    __builtin_assume(__isGlobal(s));
    if (number != known)
        *reinterpret_cast<volatile uint32_t *>(&s->guess) = number;
    return number;
}

__device__ void publish(uint64_t *to, word bits)
{
    __builtin_assume(__isGlobal(to));
    *reinterpret_cast<volatile word *>(to) = bits ^ SONDE_PATCH_HIDDEN;
}

__device__ bool has_line(word flags, uint32_t half, uint32_t line)
{
    return flags >> (2 * half + line) & SONDE_PATCH_HAS_LINE;
}

/* Its flags, once all that they promise is there. */
__device__ word flags_of(const sonde_patch_guess *g, uint32_t halves)
{
    const word flags = published(&g->flags);
    bool is = flags && published(&g->value[0]) && (!halves || published(&g->value[1]));
#pragma unroll 1
    for (uint32_t k = 0; k < 4 && flags > SONDE_PATCH_STANDS; k++)
        if (is && has_line(flags, 0, k))
            is = published(&g->line[k / 2][k % 2].slope) && published(&g->line[k / 2][k % 2].offset);
    return is ? flags : 0;
}

/* The arithmetic is that of sonde__plan_lined. */
__device__ bool is_lined(word slope, word offset, bool real, word bits, uint32_t bytes, word index)
{
    if (!real)
        return ((slope * index + offset) ^ bits) << (64 - 8 * bytes) == 0;
    const double at = __ll2double_rn(static_cast<long long>(index));
    const double value = __dadd_rn(__dmul_rn(__longlong_as_double(static_cast<long long>(slope)), at), __longlong_as_double(static_cast<long long>(offset)));
    return bytes == 8 ? value == __longlong_as_double(static_cast<long long>(bits)) : __double2float_rn(value) == __uint_as_float(static_cast<uint32_t>(bits));
}

#define COUNT 4u /* bits of what is counted of a thread's elements: each way in which they may be as guessed, those of halves above */

/* One for each way in which it is. */
__device__ uint32_t matches(const sonde_patch_guess *g, word flags, uint32_t half, word bits, uint32_t bytes, word index)
{
    uint32_t is = bits == (published(&g->value[half]) ^ SONDE_PATCH_HIDDEN);
#pragma unroll 1
    for (uint32_t line = 0; line < SONDE_PATCH_WAYS - 1 && flags > SONDE_PATCH_STANDS; line++)
        if (has_line(flags, half, line)) {
            const word slope = published(&g->line[half][line].slope) ^ SONDE_PATCH_HIDDEN, offset = published(&g->line[half][line].offset) ^ SONDE_PATCH_HIDDEN;
            is |= static_cast<uint32_t>(is_lined(slope, offset, line, bits, bytes, index)) << COUNT * (line + 1);
        }
    return is << COUNT * SONDE_PATCH_WAYS * half;
}

/* ---- the vote: of all lanes in `active` ------------------------------------------------------------------------- */

struct piece { /* a sample, or a half of one */
    word bits, index;
    bool is;
};

__device__ piece piece_of(const sonde_patch_guess *g, uint32_t half, uint32_t k)
{
    const word bits = published(&g->sample[k >> half].bits), index = published(&g->sample[k >> half].index), own = index ^ SONDE_PATCH_HIDDEN;
    if (!half)
        return {bits, own, index != 0};
    return {bits >> 32 * (k & 1) & 0xffffffff, 2 * own + (k & 1), index != 0};
}

/* Newton's method, which needs no subroutine, as in rewrite_guess.c. */
__device__ double quotient(double y, double x)
{
    double r = reciprocal_near(x);
    r = __fma_rn(r, __fma_rn(-x, r, 1.0), r);
    r = __fma_rn(r, __fma_rn(-x, r, 1.0), r);
    const double q = __dmul_rn(y, r);
    return __fma_rn(__fma_rn(-x, q, y), r, q);
}

struct candidate {
    word value, offset; /* of a line `value` is its slope */
    word first, second; /* indices that it goes through */
    bool is;
};

__device__ double real_of(word bits, uint32_t bytes)
{
    return bytes == 8 ? __longlong_as_double(static_cast<long long>(bits)) : static_cast<double>(__uint_as_float(static_cast<uint32_t>(bits)));
}

__device__ candidate real_line(const piece &from, const piece &to, uint32_t bytes)
{
    const double y = real_of(to.bits, bytes), gap = __dadd_rn(y, -real_of(from.bits, bytes));
    const double slope = quotient(gap, __ll2double_rn(static_cast<long long>(to.index - from.index)));
    const double offset = __dadd_rn(y, -__dmul_rn(slope, __ll2double_rn(static_cast<long long>(to.index))));
    return {static_cast<word>(__double_as_longlong(slope)), static_cast<word>(__double_as_longlong(offset)), from.index, to.index, slope < 0 || slope > 0};
}

/* Numbers without a sign are taken for such with one: their differences are the same, but for those across the half. */
__device__ candidate integer_line(const piece &from, const piece &to, uint32_t bytes)
{
    const int unused = static_cast<int>(64 - 8 * bytes);
    const long long a = static_cast<long long>(from.bits << unused) >> unused, b = static_cast<long long>(to.bits << unused) >> unused;
    const word away = to.index - from.index, gap = static_cast<word>(b) - static_cast<word>(a);
    const word slope = static_cast<word>(__double2ll_rn(quotient(__ll2double_rn(static_cast<long long>(gap)), __ll2double_rn(static_cast<long long>(away)))));
    return {slope, static_cast<word>(b) - slope * to.index, from.index, to.index, slope && slope * away == gap};
}

/* By piece k, and the one before; `way` is one of SONDE_PATCH_EQUAL and so on. */
__device__ candidate candidate_of(const sonde_patch_guess *g, uint32_t half, uint32_t way, uint32_t bytes, uint32_t k)
{
    const piece own = piece_of(g, half, k);
    if (way == SONDE_PATCH_EQUAL)
        return {own.bits, 0, 0, 0, own.is};
    const uint32_t pieces = SONDE_PATCH_SAMPLES << half;
    const piece before = piece_of(g, half, (k - (1u << half)) & (pieces - 1));
    if (!own.is || !before.is || own.index == before.index)
        return {};
    return way == SONDE_PATCH_ON_REALS ? real_line(before, own, bytes) : integer_line(before, own, bytes);
}

/* How many pieces agree; of a line one must, too, that it was not made of. */
__device__ uint32_t votes_for(const sonde_patch_guess *g, uint32_t half, uint32_t way, uint32_t bytes, const candidate &c)
{
    uint32_t votes = 0;
    bool another = way == SONDE_PATCH_EQUAL;
#pragma unroll 1
    for (uint32_t k = 0; c.is && k < SONDE_PATCH_SAMPLES << half; k++) {
        const piece p = piece_of(g, half, k);
        const bool agrees = p.is && (way == SONDE_PATCH_EQUAL ? p.bits == c.value : is_lined(c.value, c.offset, way == SONDE_PATCH_ON_REALS, p.bits, bytes, p.index));
        votes += agrees;
        another |= agrees && p.index != c.first && p.index != c.second;
    }
    return another ? votes : 0;
}

/* Publishes what wins; false: nothing does. */
__device__ bool elect(sonde_patch_guess *g, unsigned active, uint32_t half, uint32_t way, uint32_t bytes)
{
    const uint32_t lane = lane_here(), lanes = static_cast<uint32_t>(__popc(active));
    const uint32_t least = way == SONDE_PATCH_EQUAL ? 1 : SONDE_PATCH_LINED << half;
    candidate best = {};
    uint32_t votes = 0;
#pragma unroll 1
    for (uint32_t k = static_cast<uint32_t>(__popc(active & ((1u << lane) - 1))); k < SONDE_PATCH_SAMPLES << half; k += lanes) {
        const candidate c = candidate_of(g, half, way, bytes, k);
        const uint32_t its = votes_for(g, half, way, bytes, c);
        if (its > votes) {
            best = c;
            votes = its;
        }
    }
    bool wins = votes >= least;
#pragma unroll 1
    for (unsigned left = active; left; left &= left - 1) {
        const uint32_t from = static_cast<uint32_t>(__ffs(left) - 1), other = __shfl_sync(active, votes, static_cast<int>(from));
        wins &= other < votes || (other == votes && from >= lane);
    }
    if (wins && way == SONDE_PATCH_EQUAL)
        publish(&g->value[half], best.value);
    if (wins && way != SONDE_PATCH_EQUAL) {
        publish(&g->line[half][way - 1].slope, best.value);
        publish(&g->line[half][way - 1].offset, best.offset);
    }
    return __ballot_sync(active, wins) != 0;
}

__device__ void vote(sonde_patch_guess *g, unsigned active, uint32_t bytes)
{
    word flags = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < (bytes == 8 ? 2u : 1u) * SONDE_PATCH_WAYS; k++) {
        const uint32_t half = k / SONDE_PATCH_WAYS, way = k % SONDE_PATCH_WAYS, own = half ? 4 : bytes;
        if ((way != SONDE_PATCH_ON_REALS || own >= 4) && elect(g, active, half, way, own))
            flags |= way == SONDE_PATCH_EQUAL ? SONDE_PATCH_STANDS : SONDE_PATCH_HAS_LINE << (2 * half + way - 1);
    }
    if (flags & SONDE_PATCH_STANDS && lane_here() == static_cast<unsigned>(__ffs(active) - 1))
        *reinterpret_cast<volatile word *>(&g->flags) = flags;
}

/* Some of the lanes in `mine` leave a sample; each eighth, and those of eight warps are of other lanes. True: it was the last one. */
__device__ bool sample(sonde_patch_guess *g, unsigned active, unsigned mine, int speaker, const unsigned char *at, uint32_t bytes, word index)
{
    const unsigned lane = lane_here();
    const bool speaks = lane == static_cast<unsigned>(speaker);
    __builtin_assume(__isGlobal(g));
    uint32_t place = speaks ? now(&g->taken) : 0;
    place = __shfl_sync(active, place, speaker);
    if (place >= SONDE_PATCH_SAMPLES)
        return false;
    unsigned chosen = mine & 0x01010101u << place / 4 % 8;
    if (!chosen)
        chosen = mine & (0 - mine); /* one of them */
    const uint32_t wanted = static_cast<uint32_t>(__popc(chosen));
    place = speaks ? atomicAdd(&g->taken, wanted) : 0;
    place = __shfl_sync(active, place, speaker);
    const uint32_t left = place < SONDE_PATCH_SAMPLES ? SONDE_PATCH_SAMPLES - place : 0, own = place + static_cast<uint32_t>(__popc(chosen & ((1u << lane) - 1)));
    if (chosen >> lane & 1 && own < SONDE_PATCH_SAMPLES) {
        const uint32_t element = bytes < 8 ? 0 : own & (bytes / 8 - 1);
        *reinterpret_cast<volatile word *>(&g->sample[own].bits) = bytes < 8 ? bytes_at(at, bytes) : word_at(at + 8 * element);
        publish(&g->sample[own].index, index ? index - 1 + element : 0);
    }
    __ballot_sync(active, true); /* all have left theirs */
    const uint32_t more = wanted < left ? wanted : left;
    uint32_t written = speaks && more ? atomicAdd(&g->written, more) + more : 0;
    written = __shfl_sync(active, written, speaker);
    return written == SONDE_PATCH_SAMPLES;
}

/* ---- an access ----------------------------------------------------------------------------------------------- */

struct seen {
    bool news;
    uint32_t matching; /* COUNT bits each */
};

/* What a thread's elements bring, and whether they are as guessed. All is read once. */
__device__ seen look(const sonde_patch_slot *s, const small &, const sonde_patch_guess *g, word flags, const unsigned char *at, uint32_t bytes, word index)
{
    const uint32_t bits = bytes_at(at, bytes), complement = ~bits;
    const bool news = is_news(s, bits, complement) | is_beyond(&s->part[bits >> (8 * bytes - 1) & 1], bits);
    return {news, flags ? matches(g, flags, 0, bits, bytes, index) : 0};
}

__device__ seen look(const sonde_patch_slot *s, const large &, const sonde_patch_guess *g, word flags, const unsigned char *at, uint32_t bytes, word index)
{
    seen all = {};
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i += 8, index++) {
        const word bits = word_at(at + i);
        const uint32_t low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
        all.news |= is_news(s, bits, ~bits) | is_beyond(&s->whole[high >> 31], bits) | is_beyond(&s->part[low >> 31], low) | is_beyond(&s->part[high >> 31], high);
#pragma unroll 1
        for (uint32_t k = 0; flags && k < large::PIECES; k++)
            all.matching += k ? matches(g, flags, 1, k == 1 ? low : high, 4, 2 * index + k - 1) : matches(g, flags, 0, bits, 8, index);
    }
    return all;
}

template <typename K> __device__ void count(sonde_patch_slot *s, unsigned active, uint32_t matching, bool speaks)
{
#pragma unroll 1
    for (uint32_t k = 0; k < (K::PIECES == 1 ? 1u : 2u) * SONDE_PATCH_WAYS; k++, matching >>= COUNT) {
        const uint32_t own = matching & ((1u << COUNT) - 1);
        if (!__ballot_sync(active, own != 0))
            continue;
        const word all = sum(active, own, K::COUNT_BITS);
        uint64_t *to = &s->matching[k / SONDE_PATCH_WAYS][k % SONDE_PATCH_WAYS];
        __builtin_assume(__isGlobal(to));
        if (speaks)
            atomicAdd(reinterpret_cast<word *>(to), all);
    }
}

/* The whole warp: each thread with what it accesses at its address, which is so many bytes at `at`. Those who bring nothing new are
 * but counted: nearly all. A guess whose last sample the warp has left, for which it is to vote; or null. */
template <typename K>
__device__ sonde_patch_guess *found(const sonde_patch_launch *l, unsigned active, uint64_t code, uint64_t address, const unsigned char *at, uint32_t bytes)
{
    const unsigned lane = lane_here();
    const uint32_t element = bytes < 8 ? bytes : 8, each = bytes < 8 ? 1 : bytes / 8;
    sonde_patch_guess *ready = nullptr;
#pragma unroll 1
    for (unsigned left = active; left;) {
        const int speaker = __ffs(left) - 1;
        const bool speaks = lane == static_cast<unsigned>(speaker);
        const span s = span_of(l, __shfl_sync(active, static_cast<word>(address), speaker));
        const unsigned mine = __ballot_sync(active, address >= s.first && address < s.end), own = mine >> lane & 1;
        sonde_patch_table *t = reinterpret_cast<sonde_patch_table *>(l->table);
        const uint64_t who = static_cast<uint64_t>(l->operation) << 32 | s.object, tag = mixed(mixed(who) + code) | 1;
        uint32_t number = 0;
        sonde_patch_slot *slot = speaks ? slot_of(t, tag, code, who, &number) : nullptr;
        if (slot && !(number & SONDE_PATCH_READY))
            number = guess_of(t, slot, tag, number);
        number = __shfl_sync(active, slot ? number : 0, speaker);
        slot = reinterpret_cast<sonde_patch_slot *>(__shfl_sync(active, reinterpret_cast<word>(slot), speaker));
        sonde_patch_guess *g = number && number != SONDE_PATCH_UNGUESSED ? &t->guesses[number % SONDE_PATCH_READY - 1] : nullptr;
        const word flags = number & SONDE_PATCH_READY ? flags_of(g, K::PIECES > 1) : 0, index = s.object ? (address - s.first) >> (__ffs(element) - 1) : 0;
        K k = {};
        const seen its = slot && own ? look(slot, k, g, flags, at, bytes, index) : seen{};
        const unsigned news = __ballot_sync(active, its.news);
        if (news) {
            gather(k, at, bytes);
            k = of_warp(k, news, active);
            if (speaks)
                add(slot, k);
        }
        if (speaks && slot) {
            __builtin_assume(__isGlobal(slot));
            atomicAdd(reinterpret_cast<word *>(&slot->elements), static_cast<word>(each) * static_cast<word>(__popc(mine)));
        }
        const unsigned compared = __ballot_sync(active, own && flags);
        if (__ballot_sync(active, its.matching != 0)) /* few have any */
            count<K>(slot, active, its.matching, speaks);
        if (g && mine & ~compared) {
            uint64_t *to = &slot->unchecked;
            __builtin_assume(__isGlobal(to));
            if (speaks)
                atomicAdd(reinterpret_cast<word *>(to), static_cast<word>(each) * static_cast<word>(__popc(mine & ~compared)));
            if (!ready && !compared && sample(g, active, mine, speaker, at, bytes, s.object ? index + 1 : 0))
                ready = g;
        }
        left &= ~(mine | 1u << speaker);
    }
    return ready;
}

__device__ uint64_t code_of(uint64_t pc, uint32_t what, uint32_t bytes)
{
    return pc | static_cast<uint64_t>(what) << SONDE_PATCH_STORE | static_cast<uint64_t>(bytes) << SONDE_PATCH_BYTES;
}

__device__ void access(const sonde_patch_launch *l, uint64_t pc, uint64_t address, uint32_t bytes, const void *from, bool store)
{
    const unsigned char *at = static_cast<const unsigned char *>(from);
    const uint32_t element = bytes < 8 ? bytes : 8;
    const uint64_t code = code_of(pc, store, element);
    const unsigned active = __activemask();
    sonde_patch_guess *ready = element < 8 ? found<small>(l, active, code, address, at, bytes) : found<large>(l, active, code, address, at, bytes);
    if (ready)
        vote(ready, active, element);
}

/* ---- accesses to other memory --------------------------------------------------------------------------- */

__device__ void count_one(sonde_patch_counts *t, uint64_t code, uint64_t who, uint32_t accesses)
{
    __builtin_assume(__isGlobal(t));
    const uint64_t tag = mixed(mixed(who) + code) | 1;
    sonde_patch_count *part = t->slots + multiprocessor_here() % SONDE_PATCH_PARTS * SONDE_PATCH_COUNTS;
#pragma unroll 1
    for (uint32_t k = 0; k < SONDE_PATCH_PROBES; k++) {
        sonde_patch_count *s = &part[((tag >> 1) + k) % SONDE_PATCH_COUNTS];
        __builtin_assume(__isGlobal(s));
        const word found = claim(&s->tag, tag);
        if (!found) { /* as in slot_of */
            s->who = who;
            s->code = code;
        }
        if (!found || found == tag) {
            atomicAdd(reinterpret_cast<word *>(&s->accesses), static_cast<word>(accesses));
            return;
        }
    }
    atomicAdd(reinterpret_cast<word *>(&t->lost), 1ull);
}

/* The bytes that so many at the address have in each cell of its range. */
__device__ void count_cells(const sonde_patch_launch *l, const span &s, uint32_t what, uint64_t address, uint32_t bytes)
{
    const uint32_t shift = s.cells % SONDE_PATCH_CELL_STEP, kind = what == SONDE_PATCH_STORES ? SONDE_PATCH_CELL_STORES : (what == SONDE_PATCH_ATOMICS ? SONDE_PATCH_CELL_ATOMICS : SONDE_PATCH_CELL_LOADS);
    word *cell = reinterpret_cast<word *>(l->cells) + static_cast<uint64_t>(s.cells - shift) * SONDE_PATCH_CELL_KINDS + kind;
    const uint64_t end = address + bytes < s.end ? address + bytes : s.end;
    __builtin_assume(__isGlobal(cell));
#pragma unroll 1
    for (uint64_t at = address, next; at < end; at = next) {
        const uint64_t number = (at - s.first) >> shift;
        next = s.first + ((number + 1) << shift);
        next = next < end ? next : end;
        atomicAdd(cell + number * SONDE_PATCH_CELL_KINDS, static_cast<word>(next - at));
    }
}

/* The whole warp: each thread with its address, which most often is the device's own. In bulk, `pieces` of so many bytes are copied by the one instruction of all
 * threads; else, 0, each accesses its own. */
__device__ void count_remote(const sonde_patch_launch *l, uint64_t pc, uint32_t what, uint64_t address, uint32_t bytes, uint32_t pieces)
{
    const unsigned active = __activemask(), lane = lane_here();
#pragma unroll 1
    for (unsigned left = __ballot_sync(active, address - l->home >= l->home_bytes); left;) {
        const int speaker = __ffs(left) - 1;
        const bool speaks = lane == static_cast<unsigned>(speaker);
        const span s = span_of(l, __shfl_sync(active, static_cast<word>(address), speaker));
        const unsigned mine = __ballot_sync(active, address >= s.first && address < s.end);
        if (s.object && speaks)
            count_one(reinterpret_cast<sonde_patch_counts *>(l->table), code_of(pc, what, bytes), static_cast<uint64_t>(l->operation) << 32 | l->group << SONDE_PATCH_GROUP | s.object,
                      pieces ? pieces : static_cast<uint32_t>(__popc(mine)));
        if (s.cells && (pieces ? speaks : mine >> lane & 1))
            count_cells(l, s, what, address, pieces ? bytes * pieces : bytes);
        left &= ~(mine | 1u << speaker);
    }
}

/* Null: nothing, or what is not Sonde's, which is not touched. */
__device__ const sonde_patch_launch *given(void *user)
{
    const uint64_t bits = reinterpret_cast<uint64_t>(user), address = bits & ((1ull << SONDE_PATCH_MARKED) - 1);
    const bool is_ours = bits >> SONDE_PATCH_MARKED == SONDE_PATCH_MARK && address % sizeof(uint64_t) == 0;
    return is_ours ? reinterpret_cast<const sonde_patch_launch *>(address) : nullptr;
}

__device__ SanitizerPatchResult count_bulk(void *user, uint64_t pc, uint32_t what, uint64_t address, uint32_t pieces)
{
    const sonde_patch_launch *l = given(user);
    if (l && pieces)
        count_remote(l, pc, what, address, 16, pieces);
    return SANITIZER_PATCH_SUCCESS;
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

/* An atomic has no data. */
extern "C" __device__ __noinline__ SanitizerPatchResult SondeRemote(void *user, uint64_t pc, void *address, uint32_t bytes, uint32_t flags, const void *data)
{
    const sonde_patch_launch *l = given(user);
    const bool writes = flags & SANITIZER_MEMORY_DEVICE_FLAG_WRITE, atomic = writes && (flags & SANITIZER_MEMORY_DEVICE_FLAG_READ || !data);
    if (l && !(flags & SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH))
        count_remote(l, pc, atomic ? SONDE_PATCH_ATOMICS : (writes ? SONDE_PATCH_STORES : SONDE_PATCH_LOADS), reinterpret_cast<uint64_t>(address), bytes, 0);
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeRemoteAsync(void *user, uint64_t pc, void *source, uint32_t target, uint32_t bytes)
{
    (void)target;
    const sonde_patch_launch *l = given(user);
    const uint64_t address = reinterpret_cast<uint64_t>(source);
    if (l && bytes && address - l->home >= l->home_bytes && span_of(l, address).object)
        count_remote(l, pc, SONDE_PATCH_COPIES, address, bytes, 0);
    return SANITIZER_PATCH_SUCCESS;
}

/* In pieces of 16 bytes; the threads of a warp have one such copy, which need not end in the object in which it begins. */
extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkLoad(void *user, uint64_t pc, uint64_t source, uint32_t target, uint32_t barrier, uint32_t data,
                                                                      uint32_t multicast)
{
    (void)target, (void)barrier, (void)multicast;
    return count_bulk(user, pc, SONDE_PATCH_COPIES, source, data & 0xffff);
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkStore(void *user, uint64_t pc, uint64_t target, uint32_t source, uint32_t pieces)
{
    (void)source;
    return count_bulk(user, pc, SONDE_PATCH_STORES, target, pieces);
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkAtomic(void *user, uint64_t pc, uint64_t target, uint32_t source, uint32_t pieces)
{
    (void)source;
    return count_bulk(user, pc, SONDE_PATCH_ATOMICS, target, pieces);
}
