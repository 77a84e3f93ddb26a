/* cupti.c - finds and opens CUPTI, or the library of the Compute Sanitizer API. See sonde_cuda.h.
 *
 * The program's own first: a second copy in one process could not subscribe.
 * Then the one beside the CUDA runtime that the program uses, and of the toolkit
 * that its environment names; then ours; then toolkits in known places, and
 * wherever the loader looks. Needs no toolkit on the machine when the program
 * brings its own (PyTorch's wheels do).
 */
#include "sonde_cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/metrics.h"

struct sonde_cupti sonde__cupti;
struct sonde_cudrv sonde__cudrv;

/* Where a library of NVIDIA's may lie. Lists end with NULL. */
struct sought {
    const char *variable;        /* names it */
    const char *const *names;    /* of its file */
    const char *const *beside;   /* folders, from that of the program's CUDA runtime */
    const char *const *named;    /* from those of CUDA_HOME and CUDA_PATH */
    const char *const *toolkits; /* patterns */
};

/* Beside the runtime: a wheel's, another wheel's, a toolkit's lib64, a toolkit's targets/ARCH/lib. */
#define LIST(...) (const char *const[]){__VA_ARGS__, NULL}
static const struct sought cupti = {
    "SONDE_CUPTI",
    LIST("libcupti.so.13", "libcupti.so.12", "libcupti.so"),
    LIST("", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64", "/../../../extras/CUPTI/lib64"),
    LIST("/extras/CUPTI/lib64", "/lib64"),
    LIST("/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda-*/extras/CUPTI/lib64", "/opt/cuda/extras/CUPTI/lib64"),
};
static const struct sought sanitizer = {
    "SONDE_SANITIZER",
    LIST("libsanitizer-public.so"),
    LIST("", "/../../cuda_sanitizer_api/lib", "/../compute-sanitizer", "/../../../compute-sanitizer"),
    LIST("/compute-sanitizer", "/extras/compute-sanitizer"),
    LIST("/usr/local/cuda/compute-sanitizer", "/usr/local/cuda-*/compute-sanitizer", "/opt/cuda/extras/compute-sanitizer"),
};

static void *open_in(const struct sought *l, const char *folder, const char *below)
{
    char path[PATH_MAX];
    for (const char *const *name = l->names; *name; name++) {
        if (snprintf(path, sizeof path, "%s%s/%s", folder, below, *name) >= (int)sizeof path)
            continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static void *open_loaded(const struct sought *l)
{
    for (const char *const *name = l->names; *name; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (library)
            return library;
    }
    return NULL;
}

/* A library of the program whose file name begins so: its folder. */
struct wanted {
    const char *name;
    char folder[PATH_MAX];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    struct wanted *w = user;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash + 1, w->name, strlen(w->name)) != 0)
        return 0;
    snprintf(w->folder, sizeof w->folder, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
    return 1;
}

bool sonde__cuda_loaded(const char *name)
{
    struct wanted library = {.name = name};
    return dl_iterate_phdr(look_at, &library) != 0;
}

static void *open_beside_runtime(const struct sought *l)
{
    struct wanted runtime = {.name = "libcudart.so"};
    void *library = NULL;
    if (dl_iterate_phdr(look_at, &runtime))
        for (const char *const *below = l->beside; *below && !library; below++)
            library = open_in(l, runtime.folder, *below);
    return library;
}

/* What the user names comes first, even where the program has another. */
static void *open_given(const struct sought *l)
{
    const char *given = getenv(l->variable);
    return given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_named(const struct sought *l)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    void *library = NULL;
    for (size_t i = 0; i < 2 && !library; i++) {
        const char *home = getenv(variables[i]);
        for (const char *const *below = l->named; home && *home && *below && !library; below++)
            library = open_in(l, home, *below);
    }
    return library;
}

static void *open_toolkit(const struct sought *l)
{
    void *library = NULL;
    for (const char *const *pattern = l->toolkits; *pattern && !library; pattern++) {
        glob_t found;
        if (glob(*pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; k-- > 0 && !library;) /* the newest sorts last */
            library = open_in(l, found.gl_pathv[k], "");
        globfree(&found);
    }
    return library;
}

bool sonde__cuda_own_folder(char *folder, size_t size)
{
    Dl_info self;
    if (!dladdr(&sonde__cupti, &self) || !self.dli_fname)
        return false;
    const char *slash = strrchr(self.dli_fname, '/');
    snprintf(folder, size, "%.*s", slash ? (int)(slash - self.dli_fname) : 1, slash ? self.dli_fname : ".");
    return true;
}

/* Beside ourselves. */
static void *open_ours(const struct sought *l)
{
    char folder[PATH_MAX];
    return sonde__cuda_own_folder(folder, sizeof folder) ? open_in(l, folder, "/private") : NULL;
}

static void *open_anywhere(const struct sought *l)
{
    void *library = NULL;
    for (const char *const *name = l->names; *name && !library; name++)
        library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* The driver is loaded: it is the one that calls us. */
const char *sonde__cudrv_open(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!driver)
        return "the CUDA driver's library (libcuda.so.1) is not loaded";
#define X(name)                                                                         \
    if (!(*(void **)&sonde__cudrv.name = dlsym(driver, #name)))                         \
        return "the CUDA driver's library lacks " #name;
    SONDE_CUDRV_MAP(X)
#undef X
#define X(name) *(void **)&sonde__cudrv.name = dlsym(driver, #name);
    SONDE_CUDRV_NEWER_MAP(X)
#undef X
    return NULL;
}

/* The version before the functions, of which an old one lacks some. */
static const char *bind(void *library, char *room, size_t size)
{
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(sonde__cupti.path, sizeof sonde__cupti.path, "%s", map->l_name);
    *(void **)&sonde__cupti.cuptiGetVersion = dlsym(library, "cuptiGetVersion");
    if (!sonde__cupti.cuptiGetVersion || sonde__cupti.cuptiGetVersion(&sonde__cupti.version) != CUPTI_SUCCESS) {
        snprintf(room, size, "%s does not report its version of CUPTI", sonde__cupti.path);
        return room;
    }
    if (sonde__cupti.version < SONDE_CUPTI_OLDEST) {
        snprintf(room, size, "CUPTI is too old: API version %u, CUDA 12.0 has %u; set SONDE_CUPTI to a newer one instead of %s",
                 sonde__cupti.version, SONDE_CUPTI_OLDEST, sonde__cupti.path);
        return room;
    }
#define X(name)                                                                         \
    if (!(*(void **)&sonde__cupti.name = dlsym(library, #name))) {                      \
        snprintf(room, size, "%s has no " #name, sonde__cupti.path);                    \
        return room;                                                                    \
    }
    SONDE_CUPTI_MAP(X)
#undef X
    *(void **)&sonde__cupti.cuptiActivityConfigureUnifiedMemoryCounter = dlsym(library, "cuptiActivityConfigureUnifiedMemoryCounter");
    return NULL;
}

/* What the user names, or the program has loaded, is used or refused; of the others, the first that can be. */
static const struct {
    void *(*open)(const struct sought *l);
    bool chosen;
} places[] = {
    {open_given, true},
    {open_loaded, true},
    {open_beside_runtime, false},
    {open_named, false},
    {open_ours, false},
    {open_toolkit, false},
    {open_anywhere, false},
};

const char *sonde__cupti_open(char *room, size_t size)
{
    const char *why = sonde__cudrv_open();
    bool over = why != NULL;
    if (!why)
        why = "no libcupti.so found; install CUDA's CUPTI, or set SONDE_CUPTI to its path";
    for (size_t i = 0; i < sizeof places / sizeof *places && !over; i++) {
        void *library = places[i].open(&cupti);
        if (!library)
            continue;
        why = bind(library, room, size);
        over = !why || places[i].chosen;
        if (why)
            dlclose(library);
    }
    (void)dlerror(); /* the program's next dlerror is not about us */
    return why;
}

const char *sonde__cupti_counters(void)
{
    const struct sonde_metrics_cupti in = {.library = dlopen(sonde__cupti.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), .path = sonde__cupti.path, .note = sonde_note};
    sonde__metrics_use(&in);
    return in.library ? NULL : "CUPTI is not loaded";
}

void *sonde__sanitizer_open(char *path, size_t size)
{
    struct link_map *map;
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++)
        library = places[i].open(&sanitizer);
    (void)dlerror();
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(path, size, "%s", map->l_name);
    return library;
}
