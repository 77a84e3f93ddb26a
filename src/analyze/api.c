/* api.c - see api.h. Sources of the names: the OpenCL 3.0 specification and the
 * CUDA 13.0 driver and runtime API references. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by name. */
static const struct named { const char *name; enum sonde_api_class class; } names[] = {
    {"clBuildProgram", SONDE_API_COMPILES},
    {"clCompileProgram", SONDE_API_COMPILES},
    {"clCreateBuffer", SONDE_API_ALLOCATES},
    {"clCreateBufferWithProperties", SONDE_API_ALLOCATES},
    {"clCreateImage", SONDE_API_ALLOCATES},
    {"clCreateImage2D", SONDE_API_ALLOCATES},
    {"clCreateImage3D", SONDE_API_ALLOCATES},
    {"clCreateImageWithProperties", SONDE_API_ALLOCATES},
    {"clCreatePipe", SONDE_API_ALLOCATES},
    {"clFinish", SONDE_API_WAITS},
    {"clLinkProgram", SONDE_API_COMPILES},
    {"clMemFreeINTEL", SONDE_API_FREES},
    {"clReleaseMemObject", SONDE_API_FREES},
    {"clSVMAlloc", SONDE_API_ALLOCATES},
    {"clSVMFree", SONDE_API_FREES},
    {"clWaitForEvents", SONDE_API_WAITS},
    {"cuArray3DCreate", SONDE_API_ALLOCATES},
    {"cuArrayCreate", SONDE_API_ALLOCATES},
    {"cuArrayDestroy", SONDE_API_FREES},
    {"cuCtxSynchronize", SONDE_API_WAITS},
    {"cuEventSynchronize", SONDE_API_WAITS},
    {"cuFuncLoad", SONDE_API_COMPILES},
    {"cuLibraryLoadData", SONDE_API_COMPILES},
    {"cuLibraryLoadFromFile", SONDE_API_COMPILES},
    {"cuLinkAddData", SONDE_API_COMPILES},
    {"cuLinkComplete", SONDE_API_COMPILES},
    {"cuMemAlloc", SONDE_API_ALLOCATES},
    {"cuMemAllocAsync", SONDE_API_ALLOCATES},
    {"cuMemAllocFromPoolAsync", SONDE_API_ALLOCATES},
    {"cuMemAllocHost", SONDE_API_ALLOCATES},
    {"cuMemAllocManaged", SONDE_API_ALLOCATES},
    {"cuMemAllocPitch", SONDE_API_ALLOCATES},
    {"cuMemCreate", SONDE_API_ALLOCATES},
    {"cuMemFree", SONDE_API_FREES},
    {"cuMemFreeAsync", SONDE_API_FREES},
    {"cuMemFreeHost", SONDE_API_FREES},
    {"cuMemHostAlloc", SONDE_API_ALLOCATES},
    {"cuMemHostRegister", SONDE_API_ALLOCATES},
    {"cuMemHostUnregister", SONDE_API_FREES},
    {"cuMemRelease", SONDE_API_FREES},
    {"cuModuleLoad", SONDE_API_COMPILES},
    {"cuModuleLoadData", SONDE_API_COMPILES},
    {"cuModuleLoadDataEx", SONDE_API_COMPILES},
    {"cuModuleLoadFatBinary", SONDE_API_COMPILES},
    {"cuStreamSynchronize", SONDE_API_WAITS},
    {"cudaDeviceSynchronize", SONDE_API_WAITS},
    {"cudaEventSynchronize", SONDE_API_WAITS},
    {"cudaFree", SONDE_API_FREES},
    {"cudaFreeAsync", SONDE_API_FREES},
    {"cudaFreeHost", SONDE_API_FREES},
    {"cudaMalloc", SONDE_API_ALLOCATES},
    {"cudaMallocAsync", SONDE_API_ALLOCATES},
    {"cudaMallocHost", SONDE_API_ALLOCATES},
    {"cudaMallocManaged", SONDE_API_ALLOCATES},
    {"cudaStreamSynchronize", SONDE_API_WAITS},
    {"cudaThreadSynchronize", SONDE_API_WAITS},
};

/* Without "_v2", "_ptsz" and the like. */
static size_t stem(const char *name)
{
    const char *end = strchr(name, '_');
    return end ? (size_t)(end - name) : strlen(name);
}

struct key { const char *name; size_t length; };

static int compare(const void *wanted, const void *item)
{
    const struct key *key = wanted;
    const struct named *named = item;
    int order = strncmp(key->name, named->name, key->length);
    return order ? order : -(named->name[key->length] != '\0');
}

enum sonde_api_class sonde_api_class(const char *name)
{
    const struct key key = {name, stem(name)};
    const struct named *found = bsearch(&key, names, sizeof names / sizeof *names, sizeof *names, compare);
    return found ? found->class : SONDE_API_OTHER;
}

bool sonde_api_sleeps(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    const struct sonde_row_frame *frame = row && row->frame < p->frame_count ? &p->frames[row->frame] : NULL;
    return frame && frame->kind == SONDE_FRAME_API && frame->offset >= SONDE_API_SLEEPS;
}

enum sonde_api_class sonde_api_class_of_node(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    if (!row || row->frame >= p->frame_count || p->frames[row->frame].kind != SONDE_FRAME_API)
        return SONDE_API_OTHER;
    return sonde_api_class(sonde_process_string(p, p->frames[row->frame].name));
}
