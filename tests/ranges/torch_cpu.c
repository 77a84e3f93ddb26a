/* torch_cpu.c - stands in for PyTorch's library of this name: the four functions
 * that Sonde asks for, and operators whose RecordFunction has a layout that the
 * program chooses. Built without PyTorch, so that its versions can be tried.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "torch_cpu.h"

struct observer { /* at::RecordFunctionCallback */
    void *(*start)(void **context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    _Bool scopes[10], inputs, outputs, ids;
};
_Static_assert(sizeof(struct observer) == 40, "as in PyTorch 2");

static struct observer observer;
static __thread uint64_t sequence, thread;
static uint64_t threads;
unsigned fake_word = 25, fake_distance = 13;
char fake_text;

/* NOLINTBEGIN: the names are PyTorch's */
uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o);
uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o)
{
    observer = o;
    return 1;
}

uint64_t _ZN2at15sequence_number4peekEv(void);
uint64_t _ZN2at15sequence_number4peekEv(void)
{
    return sequence;
}

uint64_t _ZN2at14RecordFunction15currentThreadIdEv(void);
uint64_t _ZN2at14RecordFunction15currentThreadIdEv(void)
{
    if (!thread)
        thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return thread;
}

const char *_ZNK2at14RecordFunction4nameEv(const void *function);
const char *_ZNK2at14RecordFunction4nameEv(const void *function)
{
    return *(const char *const *)function;
}
/* NOLINTEND */

struct fake_node fake_forward(void (*work)(void))
{
    struct fake_node node = {_ZN2at14RecordFunction15currentThreadIdEv(), sequence++};
    if (work)
        work();
    return node;
}

void fake_backward(struct fake_node node, const char *name, void (*work)(void))
{
    uint64_t words[64];
    void *context = (void *)(uintptr_t)1;
    for (unsigned i = 0; i < 64; i++)
        words[i] = 0xabcd00000000 + i * 8; /* as pointers look */
    memcpy(words, &name, sizeof name);
    if (fake_text == 's') { /* a std::string outside of itself, then which of the variant's two it is */
        words[fake_word - 5] = (uintptr_t)name;
        words[fake_word - 4] = words[fake_word - 3] = strlen(name);
        words[fake_word - 1] = 0xabcdef00;
    } else if (fake_text) {
        words[fake_word - (fake_text == 'c' ? 3 : 2)] = (uintptr_t)name;
        words[fake_word - (fake_text == 'c' ? 2 : 3)] = strlen(name);
        words[fake_word - 1] = 0xabcdef00;
    }
    if (fake_text && fake_distance == 13) /* an empty std::unordered_map */
        words[fake_word + 3] = (uintptr_t)&words[fake_word + 9];
    words[fake_word] = node.sequence;
    words[fake_word + fake_distance] = node.thread;
    if (observer.start && observer.scopes[1] && !observer.scopes[0])
        observer.start(&context, words);
    if (observer.start && context)
        puts("the observer gave a context");
    if (work)
        work();
    if (observer.end)
        observer.end(words, context);
    __asm__ volatile("" : : "r"(words) : "memory");
}
