/* backends.c - the table of backends: a new one is a folder and a line here. */
#include <sonde/backend.h>

const struct sonde_backend *const sonde_backends[SONDE_BACKENDS_MAX] = {
    &sonde_backend_opencl,
#ifdef SONDE_CUDA
    &sonde_backend_cuda,
#endif
    &sonde_backend_torch,
    &sonde_backend_nccl,
    &sonde_backend_mpi,
};
