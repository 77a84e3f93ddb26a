/* stubs.c - all functions that the backend looks for in CUPTI and in the driver, which fail when they are called. */
#include "backends/cuda/sonde_cuda.h"

#define X(name)                                                                                     \
    __attribute__((visibility("default"), weak)) int stub_##name(void) __asm__(#name);              \
    int stub_##name(void) { return 1; }
SONDE_CUPTI_MAP(X)
SONDE_CUDRV_MAP(X)
#undef X
