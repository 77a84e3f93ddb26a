/* torch.c - PyTorch's backward pass: which operator, and which forward call it belongs to.
 *
 * Autograd runs its nodes on threads of its own, without Python frames. PyTorch
 * tells observers of each node that begins and ends (at::RecordFunction, scope
 * BACKWARD_FUNCTION), by name, and with the sequence number that the node got
 * when the forward pass made it on some thread. What that thread did then:
 * sequence numbers count up, and a node is made before its operator launches
 * anything, so at each device call at::sequence_number::peek() says which nodes
 * exist; the context of the first device call at or after a node's creation is
 * the node's. No observer runs in the forward pass: this costs a few
 * nanoseconds per device call there.
 *
 * Everything is found by name in libtorch_cpu.so when a stack first goes
 * through PyTorch, and called by its C++ ABI (Itanium, x86-64): that of
 * PyTorch 2.3 to 2.13. Where the two numbers lie in a RecordFunction differs
 * between versions and is not known beforehand: it is found by what stands
 * around them, in the first backward node; else by looking for numbers that the
 * forward pass has left, and proved when eight different nodes have had theirs
 * in one place: until then, and where no place is found, operators have names
 * only. docs/ranges.md is for users.
 */
#include <sonde/backend.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

#include "guest/lock.h"
#include "guest/pairs.h"
#include "guest/process.h"

#if defined __x86_64__

enum { SCOPE_BACKWARD = 1 }; /* at::RecordScope::BACKWARD_FUNCTION */
#define NODES   65536u       /* forward nodes remembered; later ones take the place of older ones */
#define GAP_MAX    64u       /* nodes that a device call stands for, at most */
#define NESTED_MAX  8u       /* backward within backward */

/* at::RecordFunctionCallback: passed by value, in memory. The rest says which
 * scopes, then what else is wanted; 10 scopes in every version so far. */
struct observer {
    void *(*start)(void **context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    uint8_t scopes[16];
};

static struct {
    uint64_t (*observe)(struct observer observer);
    uint64_t (*sequence)(void);
    uint64_t (*thread_number)(void);
    const char *(*name)(const void *function);
} torch;

/* ---- the forward pass -------------------------------------------------------- */

/* (thread, sequence number) -> context; not by a hash, so that the last ones are all there. */
static struct sonde_pair nodes[NODES];

static __thread struct {
    uint64_t process, seen; /* of this one: a forked child begins anew. Nodes below `seen` have their context */
    uint64_t thread;        /* as PyTorch counts threads; 0 not asked yet */
} forward_pass __attribute__((tls_model("initial-exec")));

static uint64_t key_of(uint64_t thread, uint64_t sequence)
{
    return (sequence * 0x9e3779b97f4a7c15ull ^ thread * 0xc2b2ae3d27d4eb4full) + sonde__process();
}

static struct sonde_pair *place_of(uint64_t thread, uint64_t sequence)
{
    return &nodes[(sequence + thread * 10007) % NODES];
}

static void remember(uint64_t thread, uint64_t sequence, uint32_t context)
{
    sonde__pair_write(place_of(thread, sequence), key_of(thread, sequence), context);
}

static uint32_t recall(uint64_t thread, uint64_t sequence)
{
    uint64_t context;
    return sonde__pair_read(place_of(thread, sequence), key_of(thread, sequence), &context) ? (uint32_t)context : 0;
}

/* At each device call, in its thread. */
static void device_call(uint32_t context)
{
    uint64_t next = torch.sequence(), process = sonde__process();
    if (next == forward_pass.seen && forward_pass.process == process)
        return; /* no node since the last call; also on threads that make none */
    if (forward_pass.process != process || !forward_pass.thread) {
        forward_pass.process = process;
        forward_pass.thread = torch.thread_number();
        forward_pass.seen = next ? next - 1 : 0;
    }
    if (next - forward_pass.seen > GAP_MAX)
        forward_pass.seen = next - GAP_MAX;
    for (; forward_pass.seen < next; forward_pass.seen++)
        remember(forward_pass.thread, forward_pass.seen, context);
}

/* ---- where the numbers lie ------------------------------------------------------ */

/* In words from the start of a RecordFunction. Between the two numbers lie the
 * inputs and outputs, since 2.8 or so also a map. */
enum {
    WORDS = 48,
    DISTANCES = 2,
    PROOF = 8,
    PATIENCE = 4096,
};
static const uint8_t distance[DISTANCES] = {6, 13};
static _Atomic uint32_t layout; /* word of the sequence number << 8 | word of the thread; 0 not known */

/* By what stands around them: the sequence number follows the name, which is a
 * std::string or a string_view within a std::variant, and the map is known by
 * its one bucket, which lies in itself while it is empty. The first node can
 * say it; 0 when nothing looks so. */
static uint32_t layout_by_name(const uint64_t *words, const char *name)
{
    uint64_t length = strlen(name);
    for (uint32_t w = 1; w + 6 + distance[1] < WORDS; w++) {
        if (words[w] != (uintptr_t)name)
            continue;
        uint32_t sequence = 0;
        if (words[w + 1] == length) { /* {pointer, length}: a string with its capacity or its text behind, or c10::string_view */
            bool owned = words[w] == (uintptr_t)&words[w + 2] || (words[w + 2] >= length && words[w + 2] <= 2 * length + 64);
            sequence = w + (owned ? 5 : 3);
        } else if (words[w - 1] == length) {
            sequence = w + 2; /* std::string_view */
        }
        if (sequence)
            return sequence << 8 | (sequence + distance[words[sequence + 3] == (uintptr_t)&words[sequence + 9]]);
    }
    return 0;
}

/* Where a version's name looks otherwise: by numbers that the forward pass has
 * left, proved when eight different nodes have had theirs in one place. */
static struct {
    struct sonde_lock lock; /* who finds it taken goes without */
    uint32_t tries;
    uint64_t last[WORDS][DISTANCES]; /* last sequence number seen there, and how many different ones */
    uint8_t hits[WORDS][DISTANCES];
} search;

static uint32_t layout_by_numbers(const uint64_t *words)
{
    for (uint32_t w = 0; w < WORDS; w++)
        for (uint32_t d = 0; d < DISTANCES && w + distance[d] < WORDS; d++) {
            if (search.last[w][d] == words[w] || !recall(words[w + distance[d]], words[w]))
                continue;
            search.last[w][d] = words[w];
            if (++search.hits[w][d] >= PROOF)
                return w << 8 | (w + distance[d]);
        }
    return 0;
}

/* The object lies in a frame of the caller's, with more of the stack above it. */
static uint32_t layout_or_look(const uint64_t *words, const char *name)
{
    uint32_t known = atomic_load_explicit(&layout, memory_order_acquire);
    if (known || !sonde__trylock(&search.lock))
        return known;
    known = layout_by_name(words, name);
    if (!known && (search.tries++ < PATIENCE || search.tries % 64 == 0))
        known = layout_by_numbers(words);
    atomic_store_explicit(&layout, known, memory_order_release);
    if (search.tries == PATIENCE)
        sonde_note("PyTorch: backward operators have no forward call path: not supported for this version");
    sonde__unlock(&search.lock);
    return known;
}

/* ---- the backward pass -------------------------------------------------------------- */

static __thread struct {
    uint32_t depth, thread_kind; /* 0 not asked yet, 1 autograd's own, 2 another */
    struct {
        const void *function;
        uint32_t context, name;
    } open[NESTED_MAX];
} backward __attribute__((tls_model("initial-exec")));

/* What one of autograd's own threads does between two nodes (adding up
 * gradients, hooks) it does for the node that has just ended. */
static bool is_device_thread(void)
{
    char name[17] = "";
    if (!backward.thread_kind) {
        prctl(PR_GET_NAME, name);
        backward.thread_kind = strncmp(name, "pt_autograd", 11) == 0 ? 1 : 2;
    }
    return backward.thread_kind == 1;
}

static void link_to_innermost(void)
{
    uint32_t i = backward.depth < NESTED_MAX ? backward.depth : NESTED_MAX;
    if (i)
        sonde_link(backward.open[i - 1].context, backward.open[i - 1].name, backward.open[i - 1].function);
    else if (is_device_thread())
        sonde_link(backward.open[0].context, backward.open[0].name, (const void *)UINTPTR_MAX); /* outermost */
    else
        sonde_link(0, 0, NULL);
}

static void node_begins(const void *function)
{
    const char *name = torch.name(function);
    const uint64_t *words = function;
    uint32_t place = name ? layout_or_look(words, name) : 0, i = backward.depth++;
    if (i >= NESTED_MAX || !name)
        return;
    backward.open[i].function = function;
    backward.open[i].name = sonde_range_name(name, strnlen(name, 200));
    backward.open[i].context = place ? recall(words[place & 255], words[place >> 8]) : 0;
    link_to_innermost();
}

/* std::unique_ptr<ObserverContext> start(const RecordFunction &): the caller
 * says where the pointer goes, as an argument before the first; ours is null. */
static void *node_starts(void **context, const void *function)
{
    int saved = errno;
    *context = NULL;
    if (sonde_recording())
        node_begins(function);
    errno = saved;
    return context;
}

static void node_ends(const void *function, void *context)
{
    uint32_t i = backward.depth < NESTED_MAX ? backward.depth : NESTED_MAX;
    (void)context;
    if (backward.depth > NESTED_MAX) {
        backward.depth--;
        return;
    }
    while (i > 0 && backward.open[i - 1].function != function)
        i--;
    if (!i)
        return; /* it began while nothing was recorded */
    backward.depth = i - 1;
    link_to_innermost();
}

/* ---- PyTorch turns up ------------------------------------------------------------------ */

static bool is_torch(const char *path)
{
    const char *base = strrchr(path, '/');
    return strncmp(base ? base + 1 : path, "libtorch", 8) == 0;
}

/* Within a device call of the program, so PyTorch is not being initialized. */
static void register_observer(void)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library)
        return;
    *(void **)&torch.observe = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    *(void **)&torch.sequence = dlsym(library, "_ZN2at15sequence_number4peekEv");
    *(void **)&torch.thread_number = dlsym(library, "_ZN2at14RecordFunction15currentThreadIdEv");
    *(void **)&torch.name = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
    if (!torch.observe || !torch.sequence || !torch.thread_number || !torch.name) {
        sonde_note("PyTorch: backward operators have no names: this version hides the required functions");
        return;
    }
    sonde_watch_calls(device_call);
    torch.observe((struct observer){.start = node_starts,
                                    .end = node_ends,
                                    .probability = 1.0,
                                    .scopes[SCOPE_BACKWARD] = 1});
}

static void module_seen(const char *path)
{
    static _Atomic bool done;
    if (!is_torch(path) || atomic_exchange(&done, true))
        return;
    register_observer();
    (void)dlerror(); /* the program's next dlerror is not about us */
}

static void forked(void)
{
    memset(&backward, 0, sizeof backward);
}

#else /* the observer's calling convention has been worked out for x86-64 only */

static void module_seen(const char *path)
{
    (void)path;
}

static void forked(void)
{
}

#endif

const struct sonde_backend sonde_backend_torch = {
    .size = sizeof(struct sonde_backend),
    .name = "torch",
    .module = module_seen,
    .forked = forked,
};
