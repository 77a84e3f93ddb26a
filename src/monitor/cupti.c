/* cupti.c - see cupti.h. */
#ifdef SONDE_CUDA
#include "cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>

static void *open_toolkit(void)
{
    static const char *const patterns[] = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*", "/usr/local/cuda*/lib64/libcupti.so*",
                                           "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so*", "/opt/cuda/extras/CUPTI/lib64/libcupti.so*"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !library; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; k-- > 0 && !library;) /* the newest sorts last */
            library = dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    return library;
}

void *sonde_cupti_open(void)
{
    const char *given = getenv("SONDE_CUPTI");
    if (given && *given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library && !(library = open_toolkit()))
        library = dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
    return library;
}

void *sonde_cuda_driver_open(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*begin)(unsigned) = NULL;
    if (driver)
        *(void **)&begin = dlsym(driver, "cuInit");
    return begin && begin(0) == 0 ? driver : NULL;
}
#endif
