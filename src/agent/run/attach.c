/* attach.c - the agent comes into a program that runs, and leaves it (docs/attach.md; from outside: src/attach).
 *
 * It begins in a thread that was made from outside and is none of the C library's: that one only makes a real one,
 * and waits for it. It ends in the monitor, when whoever recorded lets go of the measurement's folder, or is gone: the folder is locked
 * by it for as long as it wants to record (flock), which the kernel ends however it ends. Then hooks and handlers are taken out, what is
 * under way is waited for within a bound, the files are complete, and our threads end.
 *
 * What is left is memory, and threads of the program that may still be within a hook or about to enter one. When all threads
 * stand still and none is in here, which only somebody outside can see to, the library becomes what it was when it had been loaded:
 * its memory is given back, its variables get their first values. So a second time needs no code of its own anywhere.
 */
#include "run.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sonde/error.h>

#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "format/attached.h"
#include "guest/memory.h"

#define EXPORT __attribute__((visibility("default")))
#define LOOK_NS         20000000u /* between two looks at the folder's lock */
#define CALLS_BOUND_NS 500000000u

EXPORT extern struct sonde_attached sonde__attached;
EXPORT int sonde__attach_begin(const char *settings);
EXPORT int sonde__attach_forget(void);

EXPORT struct sonde_attached sonde__attached = {.version = SONDE_ATTACHED_VERSION};

/* The library's variables as they were when it had been loaded. */
static struct first_values {
    unsigned char *data, *copy; /* with first values of their own, */
    size_t data_bytes;
    unsigned char *zeros;       /* and those that begin as 0 */
    size_t zeros_bytes;
} first;

static bool entangled; /* a backend could not take back all of its hooks */

static int refuse(const char *why)
{
    if (why != sonde__attached.why)
        snprintf(sonde__attached.why, sizeof sonde__attached.why, "%s", why);
    return SONDE_EBUSY;
}

/* ---- first values -------------------------------------------------------------------- */

static int look_at_self(struct dl_phdr_info *info, size_t size, void *unused)
{
    const ElfW(Phdr) *load = NULL, *relro = NULL, *tls = NULL;
    bool self = false;
    (void)size, (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + p->p_vaddr;
        self |= p->p_type == PT_LOAD && (uintptr_t)&sonde__attached - from < p->p_memsz;
        if (p->p_type == PT_LOAD && p->p_flags & PF_W)
            load = p;
        else if (p->p_type == PT_GNU_RELRO)
            relro = p;
        else if (p->p_type == PT_TLS)
            tls = p;
    }
    if (!self || !load || !tls || tls->p_filesz || !info->dlpi_tls_data)
        return 0;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = info->dlpi_addr + load->p_vaddr;
    const uintptr_t kept = relro ? (info->dlpi_addr + relro->p_vaddr + relro->p_memsz) & ~(page - 1) : begin;
    first.data = (unsigned char *)(kept > begin ? kept : begin);
    first.zeros = (unsigned char *)begin + load->p_filesz;
    first.data_bytes = (size_t)(first.zeros - first.data);
    first.zeros_bytes = load->p_memsz - load->p_filesz;
    sonde__attached.tls_bytes = tls->p_memsz;
    sonde__attached.tls_offset = (int64_t)((uintptr_t)info->dlpi_tls_data - (uintptr_t)__builtin_thread_pointer());
    return 1;
}

/* Once, before anything else, in a thread that has its thread-local variables. What memory there is by now stays. */
static bool keep_first_values(void)
{
    if (first.copy)
        return true;
    if (!dl_iterate_phdr(look_at_self, NULL))
        return false;
    first.copy = sonde__pages_get(first.data_bytes);
    sonde__pages_keep();
    if (first.copy)
        memcpy(first.copy, first.data, first.data_bytes);
    return first.copy;
}

/* Whole pages of zeros go back to the kernel. */
static void clear(unsigned char *from, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)from + bytes;
    const uintptr_t low = ((uintptr_t)from + page - 1) & ~(page - 1), high = end & ~(page - 1);
    if (low >= high || madvise((void *)low, high - low, MADV_DONTNEED) != 0) {
        memset(from, 0, bytes);
        return;
    }
    memset(from, 0, low - (uintptr_t)from);
    memset((void *)high, 0, end - high);
}

int sonde__attach_forget(void)
{
    struct sonde_agent *a = &sonde__agent;
    const struct first_values kept = first;
    const bool exits = sonde__agent_exits;
    if (entangled)
        return refuse("another tool has taken hold of its GPU runtime since");
    if (atomic_load(&sonde__attached.state) != SONDE_ATTACHED_OVER)
        return refuse("the agent in it is at work");
    sonde__thread_key_delete();
    if (a->pool.base)
        munmap(a->pool.base, a->mapped_bytes);
    sonde__heap_fini(&a->heap);
    sonde__pages_put_all();
    memcpy(kept.data, kept.copy, kept.data_bytes);
    clear(kept.zeros, kept.zeros_bytes);
    first = kept;
    sonde__agent_exits = exits;
    atomic_store(sonde__flag, SONDE_FLAG_LOOK);
    return SONDE_ATTACHED_DONE;
}

/* ---- the beginning ---------------------------------------------------------------------- */

static bool take_hold(void)
{
    bool held = false;
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        held |= sonde_backends[i]->attach && sonde_backends[i]->attach();
    return held;
}

/* They are the caller's memory. */
static bool keep_settings(const char *settings)
{
    size_t bytes = 1;
    for (const char *at = settings; *at; at += strlen(at) + 1)
        bytes += strlen(at) + 1;
    char *copy = sonde__pages_get(bytes);
    if (copy)
        sonde__settings = memcpy(copy, settings, bytes);
    return copy;
}

/* In a thread as the program's are, but none of them. */
static void *begin(void *settings)
{
    pthread_setname_np(pthread_self(), "sonde-attach");
    sonde__attached.why[0] = 0;
    if (!keep_first_values() || !keep_settings(settings)) {
        refuse("out of memory");
        return NULL;
    }
    atomic_store(&sonde__attached.state, SONDE_ATTACHED_RECORDS);
    sonde__agent_enter(); /* recording is off yet */
    if (atomic_load(&sonde__agent.state) != SONDE_ON) {
        refuse(sonde__agent.off ? sonde__agent.off : "the agent did not start");
        atomic_store(&sonde__attached.state, SONDE_ATTACHED_OVER);
        return NULL;
    }
    sonde__sample_mine();
    if (!take_hold()) {
        const char *why = sonde__note_last();
        refuse(why ? why : "no GPU runtime in it could be hooked");
        sonde__agent_off(sonde__attached.why); /* the monitor ends it */
        return NULL;
    }
    sonde__agent_set_range(1);
    return NULL;
}

int sonde__attach_begin(const char *settings)
{
    pthread_t thread;
    if (atomic_load(&sonde__attached.state) != SONDE_ATTACHED_FRESH || atomic_load(&sonde__agent.state) != SONDE_NEW ||
        atomic_load(sonde__flag) != SONDE_FLAG_LOOK)
        return refuse("it is recorded already");
    if (pthread_create(&thread, NULL, begin, (void *)(uintptr_t)settings) != 0)
        return refuse("it can have no more threads");
    pthread_join(thread, NULL);
    return sonde__attached.why[0] ? SONDE_EBUSY : SONDE_ATTACHED_DONE;
}

/* ---- the end, on the monitor thread -------------------------------------------------------- */

/* Nobody locks the folder any more. A file system without locks says so before (src/cmds/record/attach.c). */
bool sonde__attach_is_over(uint64_t now)
{
    static int folder;
    static uint64_t looked_ns;
    const int state = atomic_load(&sonde__agent.state);
    if (!sonde__settings || state == SONDE_NEW)
        return false; /* it starts just now */
    if (state == SONDE_DEAD)
        return true;
    if (now - looked_ns < LOOK_NS)
        return false;
    looked_ns = now;
    if (folder <= 0) /* 0 is not ours: files.c */
        folder = (int)syscall(SYS_openat, AT_FDCWD, sonde__agent.config.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 || syscall(SYS_flock, folder, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Calls that began before. A thread may be in one for as long as it likes; one that has seen that recording is on and lost the
 * processor before it says that it is in a call is missed: its operation is counted as dropped. */
static void wait_for_calls(void)
{
    sonde__nap(1000);
    const uint64_t until_ns = sonde_now_ns() + CALLS_BOUND_NS;
    const uint32_t threads = atomic_load(&sonde__agent.thread_count);
    for (uint32_t i = 1; i <= threads && sonde_now_ns() < until_ns; i++)
        while (atomic_load(&sonde__agent.threads[i])->busy && sonde_now_ns() < until_ns)
            sonde__nap(200);
}

void sonde__attach_end(void)
{
    sonde__agent.leaves = true;
    sonde__recording_end();
    wait_for_calls();
    sonde__settle(SONDE_FLUSH_CLOSE);
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->detach)
            entangled |= !sonde_backends[i]->detach();
    sonde__trace_end();
    atomic_store(&sonde__agent.state, SONDE_DEAD);
    atomic_store(&sonde__attached.state, SONDE_ATTACHED_OVER); /* the last word: the measurement may be sealed now */
}
