/* stubs.c - what of the driver is asked for and not needed here: it fails. */
#include "backends/cuda/sonde_cuda.h"

#define X(name)                                                                        \
    __attribute__((visibility("default"), weak)) int stub_##name(void) __asm__(#name); \
    int stub_##name(void) { return 1; }
SONDE_CUDA_TWINS_MAP(X)
SONDE_CUDRV_MAP(X)
#undef X
