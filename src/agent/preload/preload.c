/* preload.c - the library that `sonde record` preloads into every process.
 *
 * It is in programs that never touch a GPU, so it does next to nothing: no
 * thread, no file, no dependency but libc, and nothing is ever printed. It
 *  - gives loaders without layers the agent: after the program's first
 *    clGetPlatformIDs (or another of the calls that come first) the agent is
 *    opened and told of the platforms (src/backends/opencl/layer.c);
 *  - tells the agent of what it cannot see itself: exits without destructors,
 *    libraries that were closed;
 *  - remembers OPENCL_LAYERS before the loader cuts it up, and repairs it;
 *  - notes when the program began.
 *
 * A program that opens libOpenCL with dlopen finds functions with dlsym, so
 * dlsym is interposed too. It must look as if it were not there: lookups by
 * RTLD_NEXT and by caller are resolved from the return address, so ours hands
 * over with a jump, not a call, for every name but the four it is after.
 *
 * Threads: everything from any thread.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

/* As sonde.h, libc's headers and CL/cl.h declare them; opaque where we only pass on. */
EXPORT extern struct sonde_shared sonde__shared;
EXPORT void sonde__set_range(int on);
EXPORT void sonde__name_memory(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes);
EXPORT void sonde__layers_repair(void);

EXPORT struct sonde_shared sonde__shared = {.size = sizeof(struct sonde_shared)};

/* The process whose agent `at_exit` stands for. A vfork child shares our memory
 * but not this number; a fork child gets its own from pthread_atfork. */
static _Atomic pid_t owner;

HIDDEN int sonde__preload_owner(void);
int sonde__preload_owner(void)
{
    return atomic_load(&owner);
}

/* As `record` gave it; the program may empty its environment. */
static const char *agent_path;

/* ---- the environment --------------------------------------------------------- */

/* The loader will find the variable as it is now: where it is, and how long. */
static void layers_remember(void)
{
    char *layers = getenv("OPENCL_LAYERS");
    if (layers == atomic_load(&sonde__shared.layers))
        return;
    atomic_store(&sonde__shared.layers_length, layers ? (uint32_t)strlen(layers) : 0);
    atomic_store(&sonde__shared.layers, layers);
}

/* The OpenCL backend calls it once the loader has read the variable. */
void sonde__layers_repair(void)
{
    char *layers = atomic_load(&sonde__shared.layers);
    if (!layers || layers != getenv("OPENCL_LAYERS"))
        return;
    const uint32_t length = atomic_load(&sonde__shared.layers_length);
    for (uint32_t i = 0; i < length; i++)
        if (layers[i] == '\0')
            layers[i] = ':';
}

/* ---- the end of the process ----------------------------------------------------- */

/* Tell the agent, once, if it is in this process. */
static void agent_call(void (*_Atomic *function)(void))
{
    if (atomic_load(&owner) != getpid())
        return;
    void (*call)(void) = atomic_exchange(function, NULL);
    if (call)
        call();
}

HIDDEN const char *sonde__preload_agent(void);
const char *sonde__preload_agent(void)
{
    return agent_path;
}

/* An exec that fails may be tried again, so this is not told once only. */
HIDDEN void sonde__preload_before_exec(void);
void sonde__preload_before_exec(void)
{
    void (*call)(void) = atomic_load(&sonde__shared.before_exec);
    if (call && atomic_load(&owner) == getpid())
        call();
}

static void agent_at_exit(void)
{
    agent_call(&sonde__shared.at_exit);
}

static _Noreturn void leave(int status)
{
    agent_at_exit();
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}

static uint64_t time_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

static void note_start(void)
{
    sonde__shared.start_ns = time_of(CLOCK_MONOTONIC_RAW);
    sonde__shared.start_cpu_ns = time_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void forked(void)
{
    const int error = errno;
    atomic_store(&owner, getpid());
    note_start();
    errno = error;
}

__attribute__((constructor)) static void begin(void)
{
    const int error = errno;
    note_start();
    atomic_store(&owner, getpid());
    agent_path = getenv("SONDE_AGENT");
    layers_remember();
    pthread_atfork(NULL, NULL, forked);
    at_quick_exit(agent_at_exit); /* registered first, so it runs last */
    errno = error;
}

/* ---- what the program says (sonde/sonde.h) ------------------------------------------ */

void sonde__set_range(int on)
{
    atomic_store(&sonde__shared.range, on ? 1 : 2);
    void (*set_range)(int) = atomic_load(&sonde__shared.set_range);
    if (set_range)
        set_range(on);
}

/* What is named before there is an agent lies in no data object that it will know. */
void sonde__name_memory(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes)
{
    void (*name_memory)(const void *, size_t, const char *, size_t, size_t, size_t) = atomic_load(&sonde__shared.name_memory);
    if (name_memory)
        name_memory(address, bytes, name, rows, columns, element_bytes);
}

/* ---- the functions of libc behind ours ----------------------------------------------- */

typedef void *(*dlsym_function)(void *, const char *);

/* The real dlsym; also what the jump in dlsym() goes to. */
HIDDEN dlsym_function sonde__preload_dlsym;

static dlsym_function real_dlsym(void)
{
    dlsym_function real = __atomic_load_n(&sonde__preload_dlsym, __ATOMIC_ACQUIRE);
    if (!real) { /* by version, of which it has two: libdl moved into libc with 2.34 */
        real = (dlsym_function)(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!real) {
            (void)dlerror(); /* the program's next dlerror is not about us */
            real = (dlsym_function)(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        }
        __atomic_store_n(&sonde__preload_dlsym, real, __ATOMIC_RELEASE);
    }
    return real;
}

/* The newest of a name's versions, as the linker would take. */
static void *libc_function(const char *name)
{
    return real_dlsym()(RTLD_NEXT, name);
}

HIDDEN void *sonde__preload_libc(const char *name);
void *sonde__preload_libc(const char *name)
{
    const int error = errno;
    void *found = libc_function(name);
    errno = error;
    return found;
}

/* ---- the end, before exit handlers ------------------------------------------------------- */

EXPORT _Noreturn void exit(int status)
{
    agent_call(&sonde__shared.before_exit);
    void (*real)(int) = (void (*)(int))(uintptr_t)libc_function("exit");
    real(status);
    leave(status); /* never; `real` does not return */
}

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void (*)(void), void (*)(void),
                              void (*)(void), void *);
EXPORT int __libc_start_main(main_function program, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static main_function program_main;

/* libc calls its own exit with what main returns, past ours. */
static int sonde_main(int argc, char **argv, char **environment)
{
    const int status = program_main(argc, argv, environment);
    agent_call(&sonde__shared.before_exit);
    return status;
}

int __libc_start_main(main_function program, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_function real = (start_function)(uintptr_t)libc_function("__libc_start_main");
    program_main = program;
    return real(sonde_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- the agent, for loaders without layers --------------------------------------------- */

/* Types of CL/cl.h that we only pass on. */
typedef int32_t status_t;
typedef uint32_t count_t;
typedef void *handle_t;

/* The functions that a program calls first, and their types. */
#define FIRST_MAP(X)                                                                             \
    X(clGetPlatformIDs, status_t, (count_t room, handle_t *platforms, count_t *count),           \
      (room, platforms, count), PLATFORM_NOT_FOUND)                                              \
    X(clGetDeviceIDs, status_t,                                                                  \
      (handle_t platform, uint64_t type, count_t room, handle_t *devices, count_t *count),       \
      (platform, type, room, devices, count), PLATFORM_NOT_FOUND)                                \
    X(clCreateContext, handle_t,                                                                 \
      (const intptr_t *properties, count_t count, const handle_t *devices, void *callback,       \
       void *data, status_t *error),                                                             \
      (properties, count, devices, callback, data, error), NULL)                                 \
    X(clCreateContextFromType, handle_t,                                                         \
      (const intptr_t *properties, uint64_t type, void *callback, void *data, status_t *error),  \
      (properties, type, callback, data, error), NULL)

#define PLATFORM_NOT_FOUND (-1001) /* CL_PLATFORM_NOT_FOUND_KHR */
enum {
    LOADERS = 4,
    LINKED = LOADERS - 1,
    PLATFORMS = 16,
};

/* clang-format off */
enum first {
#define X(name, ...) FIRST_##name,
    FIRST_MAP(X)
#undef X
    FIRST_COUNT
};
/* clang-format on */

static const char *const first_names[] = {
#define X(name, ...) #name,
    FIRST_MAP(X)
#undef X
};

/* A loader of OpenCL in this process; the last is the one that callers are linked with. */
static struct loader {
    void *_Atomic functions[FIRST_COUNT]; /* the loader's own */
    _Atomic bool attached;
} loaders[LOADERS];

#define X(name, type, parameters, ...) typedef type(*name##_function) parameters;
FIRST_MAP(X)
#undef X

#define LOADED(loader, name) \
    ((name##_function)(uintptr_t)atomic_load(&(loader)->functions[FIRST_##name]))

/* The agent hooks what the loader found, unless the loader itself has set it
 * up as a layer; the agent knows which. */
static void agent_attach(const handle_t *platforms, count_t count)
{
    void (*attach_dispatch)(const handle_t *, count_t) = NULL;
    void *agent = agent_path ? dlopen(agent_path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (agent)
        *(void **)&attach_dispatch = real_dlsym()(agent, "sonde__attach_dispatch");
    else
        (void)dlerror(); /* the program's next dlerror is not about us */
    if (attach_dispatch)
        attach_dispatch(platforms, count < PLATFORMS ? count : PLATFORMS);
}

/* Before the program's first call goes on: let the loader start, and attach. */
static void ready(struct loader *loader)
{
    handle_t platforms[PLATFORMS];
    count_t count = 0;
    if (atomic_load_explicit(&loader->attached, memory_order_acquire))
        return;
    const int error = errno;
    layers_remember();
    const clGetPlatformIDs_function get_platforms = LOADED(loader, clGetPlatformIDs);
    if (get_platforms && get_platforms(PLATFORMS, platforms, &count) == 0 &&
        !atomic_exchange(&loader->attached, true))
        agent_attach(platforms, count);
    errno = error;
}

EXPORT int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))(uintptr_t)libc_function("dlclose");
    const int status = real(handle);
    for (int i = 0; i < LOADERS; i++) /* it may have been one; another may come in its place */
        atomic_store(&loaders[i].attached, false);
    void (*modules_changed)(void) = atomic_load(&sonde__shared.modules_changed);
    if (modules_changed) {
        const int error = errno;
        modules_changed();
        errno = error;
    }
    return status;
}

/* ---- programs that are linked with the loader -------------------------------------------- */

/* The function that the caller would have got without us. The caller may be a
 * plug-in whose libOpenCL is in no scope but its own. */
static void *linked_function(const char *name, const void *caller)
{
    void *found = real_dlsym()(RTLD_NEXT, name);
    struct link_map *module = NULL;
    Dl_info info;
    if (!found && dladdr1(caller, &info, (void **)&module, RTLD_DL_LINKMAP) && module &&
        module->l_name[0]) {
        void *handle = dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            found = real_dlsym()(handle, name);
            dlclose(handle);
        }
    }
    return found;
}

static struct loader *linked_loader(const void *caller)
{
    struct loader *loader = &loaders[LINKED];
    if (!atomic_load_explicit(&loader->functions[0], memory_order_acquire))
        for (int i = FIRST_COUNT - 1; i >= 0; i--)
            atomic_store_explicit(&loader->functions[i], linked_function(first_names[i], caller),
                                  memory_order_release);
    ready(loader);
    return loader;
}

#define X(name, type, parameters, arguments, missing)                                  \
    EXPORT type name parameters;                                                       \
    type name parameters                                                               \
    {                                                                                  \
        const struct loader *loader = linked_loader(__builtin_return_address(0));      \
        return LOADED(loader, name) ? LOADED(loader, name) arguments : (missing);      \
    }
FIRST_MAP(X)
#undef X

/* ---- programs that open the loader ----------------------------------------------------------- */

/* One set of functions per loader, because a function has no room for which one it is. */
#define WRAPPER(index, name, type, parameters, arguments)       \
    static type name##_of_##index parameters                    \
    {                                                           \
        ready(&loaders[index]);                                 \
        return LOADED(&loaders[index], name) arguments;         \
    }
#define X(name, type, parameters, arguments, missing)           \
    WRAPPER(0, name, type, parameters, arguments)               \
    WRAPPER(1, name, type, parameters, arguments)               \
    WRAPPER(2, name, type, parameters, arguments)
FIRST_MAP(X)
#undef X

typedef void (*any_function)(void);

static const any_function wrappers[FIRST_COUNT][LINKED] = {
#define X(name, ...) \
    { (any_function)name##_of_0, (any_function)name##_of_1, (any_function)name##_of_2 },
    FIRST_MAP(X)
#undef X
};

static const any_function exported[FIRST_COUNT] = {
#define X(name, ...) (any_function) name,
    FIRST_MAP(X)
#undef X
};

/* What the program gets for the function `which` that it found by `handle`. A
 * loader is known by its clGetPlatformIDs; with too many, the program gets what it found. */
static void *wrapper_of(void *handle, int which, void *found)
{
    void *platforms = real_dlsym()(handle, first_names[FIRST_clGetPlatformIDs]);
    if (!found || !platforms)
        return found;
    for (int i = 0; i < LINKED; i++) {
        void *known = NULL;
        if (!atomic_compare_exchange_strong(&loaders[i].functions[FIRST_clGetPlatformIDs], &known, platforms) &&
            known != platforms)
            continue;
        atomic_store(&loaders[i].functions[which], found);
        return (void *)(uintptr_t)wrappers[which][i];
    }
    return found;
}

static void *first_function(void *handle, int which)
{
    void *found = real_dlsym()(handle, first_names[which]);
    if (found != (void *)(uintptr_t)exported[which])
        return wrapper_of(handle, which, found);
    /* Ours is in the program's scope whether there is an OpenCL behind it or not. */
    return real_dlsym()(RTLD_NEXT, first_names[which]) ? found : NULL;
}

/* Called by dlsym below. True: `*answer` is the answer. */
HIDDEN bool sonde__preload_choose(void *handle, const char *name, void **answer);
HIDDEN bool sonde__preload_choose(void *handle, const char *name, void **answer)
{
    (void)real_dlsym(); /* it is there for the jump */
    if (!name || name[0] != 'c' || name[1] != 'l' || handle == RTLD_NEXT)
        return false;
    for (int i = 0; i < FIRST_COUNT; i++)
        if (strcmp(name, first_names[i]) == 0) {
            *answer = first_function(handle, i);
            return true;
        }
    return false;
}

/* void *dlsym(void *handle, const char *name) */
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n" /* the answer; the stack is aligned now */
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq %rsp, %rdx\n"
        "    call sonde__preload_choose\n"
        "    popq %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testb %al, %al\n"
        "    je 1f\n"
        "    movq %rdx, %rax\n"
        "    ret\n"
        "1:  jmp *sonde__preload_dlsym(%rip)\n" /* the caller's return address is on top */
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
