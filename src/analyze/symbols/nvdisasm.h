/* nvdisasm.h - NVIDIA's disassembler: where it is, and a process of it that prints the code of some kernels. */
#ifndef SONDE_ANALYZE_SYMBOLS_NVDISASM_H
#define SONDE_ANALYZE_SYMBOLS_NVDISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SONDE_NVDISASM_GET "pip install nvidia-cuda-nvdisasm, or SONDE_NVDISASM=PATH"

/* SONDE_NVDISASM; PATH; `bin` of CUDA_HOME, CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*; NVIDIA's package in the Python environment
 * (VIRTUAL_ENV, CONDA_PREFIX), that of the user or that of the machine. False: none. */
bool sonde_nvdisasm_find(char *path, size_t size);

struct sonde__nvdisasm {
    FILE *text; /* what it prints */
    pid_t pid;
    int file;   /* the code, in memory */
};
/* The functions of these symbols (their index in the symbol table) of a cubin, with their lines in the source or without. 0, or SONDE_EIO, SONDE_ENOMEM. One thread at a time. */
int sonde__nvdisasm_start(const char *path, bool lines, const void *cubin, size_t size, const uint32_t *symbols, size_t count, struct sonde__nvdisasm *out);
/* Reads what is left, and waits for it. False: it failed. */
bool sonde__nvdisasm_end(struct sonde__nvdisasm *d);

#endif
