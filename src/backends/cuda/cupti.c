/* cupti.c - finds and opens CUPTI. See sonde_cuda.h.
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

struct sonde_cupti sonde__cupti;
struct sonde_cudrv sonde__cudrv;

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
#define SONAMES (sizeof sonames / sizeof *sonames)

static void *open_in(const char *folder, const char *below)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < SONAMES; i++) {
        if (snprintf(path, sizeof path, "%s%s/%s", folder, below, sonames[i]) >= (int)sizeof path)
            continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static void *open_loaded(void)
{
    for (size_t i = 0; i < SONAMES; i++) {
        void *library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
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

static void *open_beside_runtime(void)
{
    /* A wheel's, another wheel's, a toolkit's lib64, a toolkit's targets/ARCH/lib. */
    static const char *const below[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64",
                                        "/../../../extras/CUPTI/lib64"};
    struct wanted runtime = {.name = "libcudart.so"};
    void *library = NULL;
    if (dl_iterate_phdr(look_at, &runtime))
        for (size_t i = 0; i < sizeof below / sizeof *below && !library; i++)
            library = open_in(runtime.folder, below[i]);
    return library;
}

/* What the user names comes first, even where the program has another. */
static void *open_given(void)
{
    const char *given = getenv("SONDE_CUPTI");
    return given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_named(void)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    void *library = NULL;
    for (size_t i = 0; i < 2 && !library; i++) {
        const char *home = getenv(variables[i]);
        if (home && *home && !(library = open_in(home, "/extras/CUPTI/lib64")))
            library = open_in(home, "/lib64");
    }
    return library;
}

static void *open_toolkit(void)
{
    static const char *const patterns[] = {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda-*/extras/CUPTI/lib64",
                                           "/opt/cuda/extras/CUPTI/lib64"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !library; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; k-- > 0 && !library;) /* the newest sorts last */
            library = open_in(found.gl_pathv[k], "");
        globfree(&found);
    }
    return library;
}

/* Beside ourselves. */
static void *open_ours(void)
{
    Dl_info self;
    char folder[PATH_MAX];
    if (!dladdr(&sonde__cupti, &self) || !self.dli_fname)
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - self.dli_fname) : 1, slash ? self.dli_fname : ".");
    return open_in(folder, "/private");
}

static void *open_anywhere(void)
{
    void *library = NULL;
    for (size_t i = 0; i < SONAMES && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* The driver is loaded: it is the one that calls us. */
static const char *bind_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!driver)
        return "the CUDA driver's library (libcuda.so.1) is not loaded";
#define X(name)                                                                         \
    if (!(*(void **)&sonde__cudrv.name = dlsym(driver, #name)))                         \
        return "the CUDA driver's library lacks " #name;
    SONDE_CUDRV_MAP(X)
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
    return NULL;
}

/* What the user names, or the program has loaded, is used or refused; of the others, the first that can be. */
static const struct {
    void *(*open)(void);
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
    const char *why = bind_driver();
    bool over = why != NULL;
    if (!why)
        why = "no libcupti.so found; install CUDA's CUPTI, or set SONDE_CUPTI to its path";
    for (size_t i = 0; i < sizeof places / sizeof *places && !over; i++) {
        void *library = places[i].open();
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
