/* thread.c - a thread of our own in another process, which calls functions there.
 *
 * Why a thread of our own: dlopen takes the locks of the loader and of malloc, and any thread of the program that we could
 * borrow may hold one of them, in the middle of what they protect, wherever it stands; whether it does, its stack does not tell for sure
 * (the program may have a malloc of its own). A thread of our own waits for those locks like any other, while the program's
 * threads go on and give them back. From a thread of the program it takes two system calls, mmap and clone, which touch
 * nothing that the program could be in the middle of.
 *
 * libc functions want a thread as pthread_create makes them: thread-local variables of all libraries with their first contents, and
 * a struct pthread. What they need of it is made here, by what glibc tells debuggers of its own structures (nptl_db: the
 * symbols _thread_db_*), with a table of dynamic thread-local variables that is empty, which makes __tls_get_addr fill it.
 * So little is done in this thread as can be: the agent makes a real one at once (src/agent/run/attach.c).
 *
 * While we look, a function that returns runs into a system call instruction, where we take its result. If we have been killed by
 * then, the result is the number of a system call: of our functions, exit's. dlopen's is none, and after it the thread sleeps for ever.
 */
#include "parts.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)
#define TLS_BYTES   (256u << 10) /* below the thread pointer */
#define TCB_BYTES   (64u << 10)  /* above it */
#define DTV_SLOTS   4096u        /* libraries with thread-local variables: with fewer slots than there are, glibc would free the table */
#define DTV_BYTES   ((DTV_SLOTS + 2) * 16)
#define MODULES_MAX 100000u

/* ---- its thread-local variables ---------------------------------------------------------- */

/* Where a library's thread-local variables lie in each thread, for those that have a fixed place; else 0. */
static uint64_t tls_offset(const struct sonde_attach *a, uint64_t map)
{
    uint64_t offset = 0;
    return sonde__remote_read(a, map + a->libc.tls_offset_at, &offset, sizeof offset) && offset <= TLS_BYTES ? offset : 0;
}

/* Its ELF header lies at the beginning of its first mapping. */
static bool open_module_around(const struct sonde_attach *a, const struct sonde_mappings *maps, uint64_t address, struct sonde_remote_module *out)
{
    const struct sonde_mapping *in = sonde__mapping_at(maps, address), *first = in;
    if (!in || !in->path[0])
        return false;
    while (first > maps->list.items && first[-1].inode == in->inode && strcmp(first[-1].path, in->path) == 0 && first->offset)
        first--;
    return sonde__module_open(a, first->begin, out);
}

static bool copy_image(const struct sonde_attach *a, const struct sonde_remote_module *m, uint64_t to)
{
    char piece[4096];
    for (uint64_t at = 0; at < m->tls_bytes; at += sizeof piece) {
        const size_t bytes = m->tls_bytes - at < sizeof piece ? m->tls_bytes - at : sizeof piece;
        if (!sonde__remote_read(a, m->tls_image + at, piece, bytes) || !sonde__remote_write(a, to + at, piece, bytes))
            return false;
    }
    return true;
}

/* The list may change while we walk it: what is torn is read again. */
static bool fill_tls(const struct sonde_attach *a, uint64_t pointer)
{
    struct r_debug debug;
    struct link_map map;
    struct sonde_mappings maps;
    bool whole = sonde__mappings_read(a->pid, &maps) && sonde__remote_read(a, a->libc.debug, &debug, sizeof debug);
    unsigned n = 0;
    for (uint64_t at = whole ? (uint64_t)(uintptr_t)debug.r_map : 0; whole && at; at = (uint64_t)(uintptr_t)map.l_next) {
        struct sonde_remote_module m;
        const uint64_t offset = tls_offset(a, at);
        whole = n++ < MODULES_MAX && sonde__remote_read(a, at, &map, sizeof map);
        if (whole && offset && open_module_around(a, &maps, (uint64_t)(uintptr_t)map.l_ld, &m))
            whole = copy_image(a, &m, pointer - offset);
    }
    sonde__mappings_fini(&maps);
    return whole;
}

/* ---- its struct pthread ------------------------------------------------------------------------ */

/* tcbhead_t of sysdeps/x86_64/nptl/tls.h: its beginning is known to compilers, and does not change. */
struct head {
    uint64_t tcb, dtv, self;
    uint32_t multiple_threads, gscope_flag;
    uint64_t sysinfo, stack_guard, pointer_guard;
};

/* dtv[-1] has the number of slots, dtv[0] the generation: 0, older than any. */
static bool fill_dtv(const struct sonde_attach *a, uint64_t at)
{
    static uint64_t table[DTV_BYTES / 8];
    for (size_t i = 2; i < DTV_SLOTS + 2; i++)
        table[2 * i] = UINT64_MAX; /* TLS_DTV_UNALLOCATED */
    table[0] = DTV_SLOTS;
    return sonde__remote_write(a, at, table, sizeof table);
}

static bool fill_head(const struct sonde_attach *a, const struct sonde_stopped *by, uint64_t pointer, uint64_t dtv)
{
    struct head head, own;
    int64_t rseq = 0;
    if (!sonde__remote_read(a, by->registers.fs_base, &head, sizeof head))
        return false;
    own = (struct head){
        .tcb = pointer,
        .dtv = dtv + 16,
        .self = pointer,
        .multiple_threads = 1,
        .stack_guard = head.stack_guard,
        .pointer_guard = head.pointer_guard,
    };
    bool whole = sonde__remote_write(a, pointer, &own, sizeof own) && fill_dtv(a, dtv);
    if (whole && a->libc.rseq_offset && sonde__remote_read(a, a->libc.rseq_offset, &rseq, sizeof rseq)) {
        const int32_t failed = -2; /* RSEQ_CPU_ID_REGISTRATION_FAILED: ask the kernel */
        whole = sonde__remote_write(a, pointer + (uint64_t)rseq + 4, &failed, sizeof failed);
    }
    return whole && fill_tls(a, pointer);
}

/* ---- making it ---------------------------------------------------------------------------------- */

static int fail(struct sonde_diag *diag, const char *what, int64_t result)
{
    sonde_diag_set(diag, SONDE_EIO, NULL, "%s", what);
    sonde_diag_errno(diag, (int)-result);
    if (result == -EPERM || result == -ENOSYS || result == -EACCES)
        sonde_diag_hint(diag, "its seccomp filter or security module forbids it; start it with: sonde record");
    return SONDE_EIO;
}

/* It has stopped before its first instruction. */
static bool meet(const struct sonde_attach *a, const struct sonde_guest *g, uint64_t pointer)
{
    int status;
    const uint64_t all = UINT64_MAX;
    const uint32_t tid = 0x3fff0000u | ((uint32_t)getpid() & 0xffff); /* for the locks that know their owner: no thread's, and of us alone */
    return sonde__thread_wait(g->tid, &status) &&
           syscall(SYS_ptrace, PTRACE_SETOPTIONS, g->tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) == 0 &&
           syscall(SYS_ptrace, PTRACE_SETSIGMASK, g->tid, sizeof all, &all) == 0 &&
           sonde__remote_write(a, pointer + a->libc.tid_at, &tid, sizeof tid);
}

/* Both system calls; the thread that makes them has its signals blocked. */
static int make(const struct sonde_attach *a, const struct sonde_stopped *by, struct sonde_guest *g, struct sonde_diag *diag)
{
    const uint64_t in = a->libc.syscall;
    g->bytes = SONDE_GUEST_SCRATCH + STACK_BYTES + TLS_BYTES + TCB_BYTES + DTV_BYTES;
    const int64_t memory = sonde__thread_syscall(by->tid, in, SYS_mmap,
                                                 (uint64_t[]){0, g->bytes, PROT_READ | PROT_WRITE,
                                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, UINT64_MAX, 0},
                                                 NULL);
    if (memory < 0 && memory > -4096)
        return fail(diag, "the process gets no memory for Sonde", memory);
    g->memory = g->scratch = (uint64_t)memory;
    g->stack = g->memory + SONDE_GUEST_SCRATCH + STACK_BYTES;
    const uint64_t pointer = g->stack + TLS_BYTES;
    if (!fill_head(a, by, pointer, pointer + TCB_BYTES))
        return fail(diag, "the process's libraries cannot be read", -EIO);
    const uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
    const int64_t made = sonde__thread_syscall(by->tid, in, SYS_clone, (uint64_t[]){flags, g->stack - 512, 0, 0, pointer, 0}, &g->tid);
    if (made < 0 || !g->tid)
        return fail(diag, "the process gets no thread for Sonde", made < 0 ? made : -EIO);
    return meet(a, g, pointer) ? 0 : fail(diag, "the process ended while Sonde attached to it", -ESRCH);
}

int sonde__guest_make(const struct sonde_attach *a, const struct sonde_stopped *by, struct sonde_guest *out, struct sonde_diag *diag)
{
    uint64_t mask, all = UINT64_MAX;
    *out = (struct sonde_guest){0};
    if (syscall(SYS_ptrace, PTRACE_GETSIGMASK, by->tid, sizeof mask, &mask) != 0 ||
        syscall(SYS_ptrace, PTRACE_SETSIGMASK, by->tid, sizeof all, &all) != 0 ||
        syscall(SYS_ptrace, PTRACE_SETOPTIONS, by->tid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) != 0)
        return fail(diag, "the process ended while Sonde attached to it", -ESRCH);
    const int error = make(a, by, out, diag);
    if (error && out->memory)
        sonde__thread_syscall(by->tid, a->libc.syscall, SYS_munmap, (uint64_t[]){out->memory, out->bytes, 0, 0, 0, 0}, NULL);
    syscall(SYS_ptrace, PTRACE_SETOPTIONS, by->tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
    syscall(SYS_ptrace, PTRACE_SETSIGMASK, by->tid, sizeof mask, &mask);
    syscall(SYS_ptrace, PTRACE_SETREGS, by->tid, NULL, &by->registers);
    return error;
}

/* ---- what it does -------------------------------------------------------------------------------- */

static bool begin_call(const struct sonde_attach *a, const struct sonde_guest *g, uint64_t function, const uint64_t argument[3], uint64_t at)
{
    struct user_regs_struct r;
    const uint64_t returns[3] = {a->libc.syscall, a->libc.pause, a->libc.pause};
    if (syscall(SYS_ptrace, PTRACE_GETREGS, g->tid, NULL, &r) != 0 || !sonde__remote_write(a, at, returns, sizeof returns))
        return false;
    r.rip = function;
    r.rsp = at;
    r.rbp = 0;
    r.rax = 0;
    r.orig_rax = UINT64_MAX;
    r.eflags &= ~(uint64_t)0x500; /* the direction and trap flags */
    r.rdi = argument[0], r.rsi = argument[1], r.rdx = argument[2];
    return syscall(SYS_ptrace, PTRACE_SETREGS, g->tid, NULL, &r) == 0;
}

bool sonde__guest_call(const struct sonde_attach *a, const struct sonde_guest *g, uint64_t function, const uint64_t argument[3], uint64_t *result)
{
    struct user_regs_struct r;
    int status;
    const uint64_t at = g->stack - 256 - 8; /* as after a call: 8 bytes off a multiple of 16 */
    if (!begin_call(a, g, function, argument, at))
        return false;
    for (;;) { /* from system call to system call */
        if (syscall(SYS_ptrace, PTRACE_SYSCALL, g->tid, NULL, NULL) != 0 || !sonde__thread_wait(g->tid, &status))
            return false;
        if (status >> 16 == PTRACE_EVENT_STOP)
            continue; /* somebody stops the process: this thread goes on, until it needs another one */
        if (WSTOPSIG(status) != (SIGTRAP | 0x80))
            return false; /* it crashed */
        if (syscall(SYS_ptrace, PTRACE_GETREGS, g->tid, NULL, &r) != 0)
            return false;
        if (r.rip == a->libc.syscall + 2 && r.rsp == at + 8)
            break;
    }
    *result = r.orig_rax;
    r.orig_rax = UINT64_MAX; /* this one is not made */
    return syscall(SYS_ptrace, PTRACE_SETREGS, g->tid, NULL, &r) == 0 &&
           syscall(SYS_ptrace, PTRACE_SYSCALL, g->tid, NULL, NULL) == 0 && sonde__thread_wait(g->tid, &status);
}

void sonde__guest_end(const struct sonde_attach *a, const struct sonde_guest *g)
{
    sonde__thread_syscall(g->tid, a->libc.syscall, SYS_munmap, (uint64_t[]){g->memory, g->bytes, 0, 0, 0, 0}, NULL);
    sonde__thread_syscall(g->tid, a->libc.syscall, SYS_exit, (uint64_t[6]){0}, NULL);
}
