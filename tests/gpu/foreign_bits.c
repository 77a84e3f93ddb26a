/* foreign_bits.c - preloaded into a program with the shared CUDA runtime: each copy from the device to the host becomes a line of the file that
 * FOREIGN_BITS names, its bytes and their hash. foreign.py compares these files.
 *
 * A copy that returns early is waited for. What the host reads in managed or mapped memory, and copies of the driver's interface, are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_TO_HOST = 2 }; /* enum cudaMemcpyKind */

typedef int copy(void *, const void *, size_t, int);
typedef int copy_async(void *, const void *, size_t, int, void *);
typedef int copy_rows(void *, size_t, const void *, size_t, size_t, size_t, int);
typedef int copy_symbol(void *, const void *, size_t, size_t, int);

static void *next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        abort();
    return symbol;
}

static void tell(const void *data, size_t row, size_t bytes, size_t rows)
{
    const char *path = getenv("FOREIGN_BITS");
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    uint64_t sum = 14695981039346656037ull;
    char line[64];
    if (file < 0)
        return;
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < bytes; x++)
            sum = (sum ^ ((const unsigned char *)data)[y * row + x]) * 1099511628211ull;
    const int size = snprintf(line, sizeof line, "%zu %016llx\n", bytes * rows, (unsigned long long)sum);
    if (write(file, line, (size_t)size) != size)
        abort();
    close(file);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    const int result = ((copy *)next("cudaMemcpy"))(to, from, bytes, kind);
    if (!result && kind == DEVICE_TO_HOST)
        tell(to, bytes, bytes, 1);
    return result;
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    int captures = 0;
    const int result = ((copy_async *)next("cudaMemcpyAsync"))(to, from, bytes, kind, stream);
    if (result || kind != DEVICE_TO_HOST)
        return result;
    ((int (*)(void *, int *))next("cudaStreamIsCapturing"))(stream, &captures);
    if (!captures && !((int (*)(void *))next("cudaStreamSynchronize"))(stream))
        tell(to, bytes, bytes, 1);
    return result;
}

int cudaMemcpy2D(void *to, size_t to_row, const void *from, size_t from_row, size_t bytes, size_t rows, int kind)
{
    const int result = ((copy_rows *)next("cudaMemcpy2D"))(to, to_row, from, from_row, bytes, rows, kind);
    if (!result && kind == DEVICE_TO_HOST)
        tell(to, to_row, bytes, rows);
    return result;
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    const int result = ((copy_symbol *)next("cudaMemcpyFromSymbol"))(to, symbol, bytes, offset, kind);
    if (!result && kind == DEVICE_TO_HOST)
        tell(to, bytes, bytes, 1);
    return result;
}
