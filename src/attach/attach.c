/* attach.c - see attach.h. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "format/attached.h"

#define TRIES         50     /* of finding a thread to borrow, or all threads out of the agent, */
#define TRY_NS  20000000     /* so far apart */
#define SCAN_MOST (8u << 20) /* bytes of one stack */

static int fail(struct sonde_diag *diag, int code, pid_t pid, const char *why)
{
    sonde_diag_set(diag, code, NULL, "cannot attach to process %d", pid);
    snprintf(diag->why, sizeof diag->why, "%s", why);
    return code;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
}

/* ---- the process's C library ----------------------------------------------------------- */

static uint64_t find(const struct sonde_attach *a, const struct sonde_remote_module *m, const char *name)
{
    return sonde__module_symbol(a, m, name);
}

/* How glibc describes a field to debuggers: bits, how many, bytes from the beginning. */
static bool read_field(const struct sonde_attach *a, const char *name, uint32_t *at)
{
    uint32_t field[3];
    const uint64_t symbol = find(a, &a->libc.libc, name);
    const bool known = symbol && sonde__remote_read(a, symbol, field, sizeof field);
    *at = known ? field[2] : 0;
    return known;
}

/* The instruction of libc's function syscall(). */
static uint64_t find_instruction(const struct sonde_attach *a)
{
    unsigned char code[64];
    const uint64_t at = find(a, &a->libc.libc, "syscall");
    if (at && sonde__remote_read(a, at, code, sizeof code))
        for (size_t i = 0; i + 1 < sizeof code; i++)
            if (code[i] == 0x0f && code[i + 1] == 0x05)
                return at + i;
    return 0;
}

static bool find_libc(struct sonde_attach *a, const struct sonde_mappings *maps)
{
    struct sonde_remote_libc *l = &a->libc;
    const struct sonde_mapping *libc = sonde__mapping_of(maps, "libc.so.6"), *loader = sonde__mapping_of(maps, "ld-linux-x86-64.so.2");
    uint64_t bytes;
    if (!libc || !loader || !sonde__module_open(a, libc->begin, &l->libc) || !sonde__module_open(a, loader->begin, &l->loader))
        return false;
    l->dlopen = find(a, &l->libc, "dlopen");
    l->dlerror = find(a, &l->libc, "dlerror");
    l->pause = find(a, &l->libc, "pause");
    l->ctype_init = find(a, &l->libc, "__ctype_init");
    l->single_threaded = find(a, &l->libc, "__libc_single_threaded");
    l->debug = find(a, &l->loader, "_r_debug");
    l->rseq_offset = find(a, &l->loader, "__rseq_offset");
    l->syscall = find_instruction(a);
    bytes = find(a, &l->libc, "_thread_db_sizeof_pthread");
    return l->dlopen && l->dlerror && l->pause && l->single_threaded && l->debug && l->syscall && bytes &&
           sonde__remote_read(a, bytes, &l->thread_bytes, sizeof l->thread_bytes) && l->thread_bytes < 65536 &&
           read_field(a, "_thread_db_pthread_tid", &l->tid_at) && read_field(a, "_thread_db_link_map_l_tls_offset", &l->tls_offset_at);
}

static int check_libraries(struct sonde_attach *a, struct sonde_diag *diag)
{
    struct sonde_mappings maps;
    char alone = 1;
    if (!sonde__mappings_read(a->pid, &maps))
        return sonde__look_refused(a->pid, errno, diag);
    const bool libc = find_libc(a, &maps), is_static = !sonde__mapping_of(&maps, "ld-"),
               runtime = sonde__mapping_of(&maps, "libOpenCL.so") || sonde__mapping_of(&maps, "libcuda.so");
    sonde__mappings_fini(&maps);
    if (is_static)
        return fail(diag, SONDE_EUNSUPPORTED, a->pid, "it is linked statically");
    if (!libc)
        return fail(diag, SONDE_EUNSUPPORTED, a->pid, "its C library is not glibc 2.34 or newer");
    if (!runtime)
        return fail(diag, SONDE_EUNSUPPORTED, a->pid, "it has loaded neither OpenCL nor CUDA");
    if (!sonde__remote_read(a, a->libc.single_threaded, &alone, 1) || alone) {
        fail(diag, SONDE_EBUSY, a->pid, "it has one thread, for which its C library takes no locks; no GPU runtime is at work in it yet");
        sonde_diag_hint(diag, "try again later");
        return SONDE_EBUSY;
    }
    return 0;
}

/* ---- opening ------------------------------------------------------------------------------ */

bool sonde_attach_shares(const struct sonde_attach *a, const char *path)
{
    char theirs[4200];
    struct stat here, there;
    return (size_t)snprintf(theirs, sizeof theirs, "/proc/%d/root%s", a->pid, path) < sizeof theirs && stat(path, &here) == 0 &&
           stat(theirs, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int open_memory(struct sonde_attach *a, struct sonde_diag *diag)
{
    char path[64];
    struct stat agent;
    snprintf(path, sizeof path, "/proc/%d/mem", a->pid);
    a->memory = open(path, O_RDWR | O_CLOEXEC);
    if (a->memory < 0)
        return sonde__look_refused(a->pid, errno, diag);
    const int error = check_libraries(a, diag);
    if (error)
        return error;
    if (stat(a->agent, &agent) != 0 || !sonde_attach_shares(a, a->agent)) {
        fail(diag, SONDE_EUNSUPPORTED, a->pid, "it cannot see Sonde's agent: it runs in a container, or in a root folder of its own");
        sonde_diag_hint(diag, "make %s visible there, at the same path", a->agent);
        return SONDE_EUNSUPPORTED;
    }
    a->agent_device = agent.st_dev;
    a->agent_inode = agent.st_ino;
    return 0;
}

int sonde_attach_open(pid_t pid, const char *agent, struct sonde_attach **out, struct sonde_diag *diag)
{
    int error = sonde__look(pid, diag);
    struct sonde_attach *a = error ? NULL : calloc(1, sizeof *a);
    if (!error && !a)
        error = sonde_diag_set(diag, SONDE_ENOMEM, NULL, "out of memory");
    if (!error) {
        a->pid = pid;
        a->memory = -1;
        snprintf(a->agent, sizeof a->agent, "%s", agent);
        error = open_memory(a, diag);
    }
    if (error)
        sonde_attach_close(a);
    *out = error ? NULL : a;
    return error;
}

void sonde_attach_close(struct sonde_attach *a)
{
    if (a && a->memory >= 0)
        close(a->memory);
    free(a);
}

/* ---- the agent in it --------------------------------------------------------------------- */

static bool is_agent(const struct sonde_attach *a, const struct sonde_mapping *m)
{
    return m->inode == a->agent_inode && makedev(m->device_major, m->device_minor) == a->agent_device;
}

/* Where it is, if it is loaded. */
static bool find_agent(struct sonde_attach *a)
{
    struct sonde_mappings maps;
    a->attached = 0;
    if (!sonde__mappings_read(a->pid, &maps))
        return false;
    for (size_t i = 0; i < maps.list.count && !a->attached; i++)
        if (is_agent(a, &maps.list.items[i]) && !maps.list.items[i].offset && sonde__module_open(a, maps.list.items[i].begin, &a->module))
            a->attached = sonde__module_symbol(a, &a->module, "sonde__attached");
    sonde__mappings_fini(&maps);
    return a->attached;
}

/* Is an agent of another installation at work in it? */
static bool another_records(const struct sonde_attach *a)
{
    struct sonde_mappings maps;
    struct sonde_remote_module module;
    struct sonde_attached word;
    bool records = false;
    if (!sonde__mappings_read(a->pid, &maps))
        return false;
    for (size_t i = 0; i < maps.list.count && !records; i++) {
        const struct sonde_mapping *m = &maps.list.items[i];
        const bool agent = !m->offset && !is_agent(a, m) && strncmp(sonde_path_base(m->path), "libsonde-agent.so", 17) == 0;
        const uint64_t at = agent && sonde__module_open(a, m->begin, &module) ? sonde__module_symbol(a, &module, "sonde__attached") : 0;
        records = at && sonde__remote_read(a, at, &word, sizeof word) && word.state == SONDE_ATTACHED_RECORDS;
    }
    sonde__mappings_fini(&maps);
    return records;
}

static bool read_attached(const struct sonde_attach *a, struct sonde_attached *out)
{
    return a->attached && sonde__remote_read(a, a->attached, out, sizeof *out) && out->version == SONDE_ATTACHED_VERSION;
}

bool sonde_attach_is_over(const struct sonde_attach *a)
{
    struct sonde_attached word;
    return !read_attached(a, &word) || word.state != SONDE_ATTACHED_RECORDS;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Made by the first thread that can be borrowed, which goes on at once. */
static int make_guest(const struct sonde_attach *a, struct sonde_guest *out, struct sonde_diag *diag)
{
    for (int n = 0; n < TRIES; n++, nap()) {
        struct sonde_stopped by;
        const enum sonde_stopping stopping = sonde__thread_borrow(a, &by);
        const int why = errno;
        if (stopping == SONDE_STOP_REFUSED || stopping == SONDE_STOP_GONE)
            return sonde__look_refused(a->pid, stopping == SONDE_STOP_GONE ? ESRCH : why, diag);
        if (stopping != SONDE_STOPPED)
            continue;
        const int error = sonde__guest_make(a, &by, out, diag);
        sonde__thread_go(&by);
        return error;
    }
    return fail(diag, SONDE_EBUSY, a->pid, sonde__look_state(a->pid) == 'T' ? "it was stopped meanwhile" : "none of its threads can be stopped");
}

static int crashed(const struct sonde_attach *a, struct sonde_diag *diag)
{
    const char state = sonde__look_state(a->pid);
    if (!state || state == 'Z' || state == 'X')
        return sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "process %d ended while Sonde attached to it", a->pid);
    return fail(diag, SONDE_EIO, a->pid, "Sonde's own thread in it did not come back");
}

/* What dlopen had against it. */
static int not_loaded(const struct sonde_attach *a, const struct sonde_guest *g, struct sonde_diag *diag)
{
    uint64_t text = 0;
    char why[sizeof diag->why] = "";
    if (!sonde__guest_call(a, g, a->libc.dlerror, (uint64_t[3]){0}, &text))
        return crashed(a, diag);
    for (size_t i = 0; text && i + 1 < sizeof why && sonde__remote_read(a, text + i, why + i, 1) && why[i]; i++)
        ;
    return fail(diag, SONDE_EUNSUPPORTED, a->pid, why[0] ? why : "the agent cannot be loaded");
}

static int load(struct sonde_attach *a, const struct sonde_guest *g, struct sonde_diag *diag)
{
    uint64_t handle = 0;
    if (find_agent(a))
        return 0; /* since it was attached before */
    if (!sonde__remote_write(a, g->scratch, a->agent, strlen(a->agent) + 1) ||
        (a->libc.ctype_init && !sonde__guest_call(a, g, a->libc.ctype_init, (uint64_t[3]){0}, &handle)) ||
        !sonde__guest_call(a, g, a->libc.dlopen, (uint64_t[]){g->scratch, RTLD_NOW | RTLD_LOCAL, 0}, &handle))
        return crashed(a, diag);
    if (!handle)
        return not_loaded(a, g, diag);
    return find_agent(a) ? 0 : fail(diag, SONDE_EUNSUPPORTED, a->pid, "the agent that it loaded is another one than ours");
}

static int call_agent(struct sonde_attach *a, const struct sonde_guest *g, const char *name, uint64_t argument, struct sonde_diag *diag)
{
    uint64_t function = sonde__module_symbol(a, &a->module, name), result = 0;
    struct sonde_attached word;
    if (!function)
        return fail(diag, SONDE_EUNSUPPORTED, a->pid, "the agent in it is of another version");
    if (!sonde__guest_call(a, g, function, (uint64_t[]){argument, 0, 0}, &result))
        return crashed(a, diag);
    if (result == SONDE_ATTACHED_DONE)
        return 0;
    return fail(diag, SONDE_EBUSY, a->pid, read_attached(a, &word) ? word.why : "");
}

static int begin(struct sonde_attach *a, const struct sonde_guest *g, const char *settings, size_t bytes, struct sonde_diag *diag)
{
    int error = load(a, g, diag);
    if (!error && (bytes > SONDE_GUEST_SCRATCH || !sonde__remote_write(a, g->scratch, settings, bytes)))
        error = fail(diag, SONDE_EINVALID, a->pid, "the settings are too long");
    return error ? error : call_agent(a, g, "sonde__attach_begin", g->scratch, diag);
}

/* It did not begin, and has nothing to wait for. */
static void give_up(struct sonde_attach *a)
{
    struct sonde_attached word;
    struct sonde_diag unused;
    for (int n = 0; n < TRIES && read_attached(a, &word) && word.state == SONDE_ATTACHED_RECORDS; n++)
        nap();
    if (read_attached(a, &word) && word.state == SONDE_ATTACHED_OVER)
        sonde_attach_forget(a, &unused);
}

int sonde_attach_begin(struct sonde_attach *a, const char *settings, size_t bytes, struct sonde_diag *diag)
{
    struct sonde_attached word;
    struct sonde_guest guest;
    const bool loaded = find_agent(a) && read_attached(a, &word);
    int error = 0;
    if ((loaded && word.state == SONDE_ATTACHED_RECORDS) || another_records(a))
        return fail(diag, SONDE_EBUSY, a->pid, "another sonde record --pid records it");
    if (loaded && word.state == SONDE_ATTACHED_OVER)
        error = sonde_attach_forget(a, diag);
    if (!error)
        error = make_guest(a, &guest, diag);
    if (error)
        return error;
    error = begin(a, &guest, settings, bytes, diag);
    sonde__guest_end(a, &guest);
    if (error)
        give_up(a);
    return error;
}

/* ---- forgetting -------------------------------------------------------------------------------- */

/* Does the thread's stack lead through the agent? Any word of it that looks like an address there counts. */
static bool is_in_agent(const struct sonde_attach *a, const struct sonde_mappings *maps, const struct sonde_stopped *t)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < maps->list.count; i++) {
        const struct sonde_mapping *m = &maps->list.items[i];
        if (m->executable && is_agent(a, m)) {
            low = m->begin < low ? m->begin : low;
            high = m->end > high ? m->end : high;
        }
    }
    const struct sonde_mapping *stack = sonde__mapping_at(maps, t->registers.rsp);
    const uint64_t from = (t->registers.rsp - 128) & ~7ull;
    if (low >= high || t->registers.rip - low < high - low)
        return low < high;
    if (!stack || from >= stack->end)
        return true; /* not known */
    const uint64_t bytes = stack->end - from < SCAN_MOST ? stack->end - from : SCAN_MOST;
    uint64_t *word = malloc(bytes);
    bool in = !word || !sonde__remote_read(a, from < stack->begin ? stack->begin : from, word, bytes - (from < stack->begin ? stack->begin - from : 0));
    for (uint64_t i = 0; !in && i < bytes / 8; i++)
        in = word[i] - low < high - low;
    free(word);
    return in;
}

static bool none_in_agent(const struct sonde_attach *a, const struct sonde_stopped_list *all)
{
    struct sonde_mappings maps;
    bool none = sonde__mappings_read(a->pid, &maps);
    for (size_t i = 0; none && i < all->list.count; i++)
        none = !is_in_agent(a, &maps, &all->list.items[i]);
    sonde__mappings_fini(&maps);
    return none;
}

/* The agent's thread-local variables of every thread become 0, which is how they are made. */
static bool clear_variables(const struct sonde_attach *a, const struct sonde_stopped_list *all, const struct sonde_attached *word)
{
    static const char zeros[8192];
    bool whole = word->tls_bytes <= sizeof zeros;
    for (size_t i = 0; whole && i < all->list.count; i++) {
        const struct sonde_stopped *t = &all->list.items[i];
        uint64_t self = 0;
        if (sonde__remote_read(a, t->registers.fs_base + 16, &self, sizeof self) && self == t->registers.fs_base)
            whole = sonde__remote_write(a, self + (uint64_t)word->tls_offset, zeros, word->tls_bytes);
    }
    return whole;
}

/* All threads stand, none in the agent. */
static int forget(struct sonde_attach *a, const struct sonde_stopped_list *all, struct sonde_diag *diag)
{
    struct sonde_attached word;
    struct sonde_guest guest;
    size_t i = 0;
    while (i < all->list.count && !sonde__thread_is_plain(a, &all->list.items[i]))
        i++;
    if (i == all->list.count || !read_attached(a, &word))
        return SONDE_EBUSY;
    if (!clear_variables(a, all, &word))
        return fail(diag, SONDE_EIO, a->pid, "the variables of its threads cannot be cleared");
    int error = sonde__guest_make(a, &all->list.items[i], &guest, diag);
    if (error)
        return error;
    error = call_agent(a, &guest, "sonde__attach_forget", 0, diag);
    sonde__guest_end(a, &guest);
    return error;
}

int sonde_attach_forget(struct sonde_attach *a, struct sonde_diag *diag)
{
    for (int n = 0; n < TRIES; n++, nap()) {
        struct sonde_stopped_list all;
        if (!sonde__threads_stop(a->pid, &all))
            continue;
        const int error = none_in_agent(a, &all) ? forget(a, &all, diag) : SONDE_EBUSY;
        sonde__threads_go(&all);
        if (error != SONDE_EBUSY)
            return error;
    }
    return fail(diag, SONDE_EBUSY, a->pid, "a thread of it is still in a call that the last recording looked at");
}
