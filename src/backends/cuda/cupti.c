/* cupti.c - finds and opens CUPTI. See sonde_cuda.h.
 *
 * The program's own first: a second copy in one process could not subscribe.
 * Then the one beside the CUDA runtime that the program uses, then those of
 * toolkits in known places, then the loader's. Needs no toolkit on the machine
 * when the program brings its own (PyTorch's wheels do).
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
struct wanted { const char *name; char folder[PATH_MAX]; };

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

/* Beside ourselves, then wherever the loader looks. */
static void *open_ours(void)
{
    Dl_info self;
    void *library = NULL;
    if (dladdr(&sonde__cupti, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - self.dli_fname) : 1, slash ? self.dli_fname : ".");
        library = open_in(folder, "/private");
    }
    for (size_t i = 0; i < SONAMES && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static const char *bind(void *library, char *room, size_t size)
{
#define X(name)                                                                         \
    if (!(*(void **)&sonde__cupti.name = dlsym(library, #name))) {                      \
        snprintf(room, size, "%s has no " #name, sonde__cupti.path);                    \
        return room;                                                                    \
    }
    SONDE_CUPTI_MAP(X)
#undef X
    return NULL;
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

const char *sonde__cupti_open(char *room, size_t size)
{
    void *library = NULL;
    void *(*const places[])(void) = {open_given, open_loaded, open_named, open_beside_runtime, open_toolkit, open_ours};
    const char *why = bind_driver();
    for (size_t i = 0; i < sizeof places / sizeof *places && !library && !why; i++)
        library = places[i]();
    if (why)
        return why;
    if (!library)
        return "no libcupti.so was found; install CUDA's CUPTI, or name its file in SONDE_CUPTI";
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(sonde__cupti.path, sizeof sonde__cupti.path, "%s", map->l_name);
    why = bind(library, room, size);
    if (!why && sonde__cupti.cuptiGetVersion(&sonde__cupti.version) != CUPTI_SUCCESS)
        why = "CUPTI does not say its version";
    if (!why && sonde__cupti.version < SONDE_CUPTI_OLDEST) {
        snprintf(room, size, "%s is of API version %u; CUDA 12.0 and later (%u) are read", sonde__cupti.path,
                 sonde__cupti.version, SONDE_CUPTI_OLDEST);
        why = room;
    }
    (void)dlerror(); /* the program's next dlerror is not about us */
    return why;
}
