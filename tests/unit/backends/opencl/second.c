/* second.c - a second OpenCL platform for tests: Oclgrind, as Debian packages it.
 *
 * Debian's package brings no .icd file, and its library calls its own cl*
 * functions through the dynamic linker, which would find the loader's instead.
 * So this is the library that the tests' .icd file names: it opens Oclgrind
 * with its own symbols first (RTLD_DEEPBIND), and hands out its three entry
 * points of cl_khr_icd. Without Oclgrind there is no such platform.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    cl_api_clGetExtensionFunctionAddress address;
    cl_api_clGetPlatformInfo info;
    clIcdGetPlatformIDsKHR_fn platforms;
} oclgrind;

static void open_oclgrind(void)
{
    static const char *const places[] = {"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
                                         "liboclgrind-rt-icd.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        return;
    *(void **)&oclgrind.info = dlsym(library, "clGetPlatformInfo");
    *(void **)&oclgrind.address = dlsym(library, "clGetExtensionFunctionAddress");
    if (oclgrind.address)
        *(void **)&oclgrind.platforms = oclgrind.address("clIcdGetPlatformIDsKHR");
}

static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_oclgrind);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    begin();
    return oclgrind.address ? oclgrind.address(name) : NULL;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info info,
                                            size_t size, void *value, size_t *size_ret)
{
    begin();
    return oclgrind.info ? oclgrind.info(platform, info, size, value, size_ret)
                         : CL_INVALID_PLATFORM;
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms,
                                                 cl_uint *count)
{
    begin();
    return oclgrind.platforms ? oclgrind.platforms(room, platforms, count)
                              : CL_PLATFORM_NOT_FOUND_KHR;
}
