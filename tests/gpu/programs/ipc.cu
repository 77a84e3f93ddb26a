/* ipc.cu - a kernel that stores into memory of another process, on the other GPU: through its parameter, and through a pointer in a table. The parent
 * allocates and ends last. */
#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

enum { LANES = 32,
       TIMES = 3 };

extern "C" __global__ void to_parameter(unsigned *to)
{
    to[threadIdx.x] = threadIdx.x; // LINE to_parameter
}

extern "C" __global__ void to_table(unsigned *const *table)
{
    table[threadIdx.x % 2][threadIdx.x] = threadIdx.x; // LINE to_table
}

static int child(int from)
{
    cudaIpcMemHandle_t handle;
    unsigned          *theirs, *own, **table;
    if (read(from, &handle, sizeof handle) != sizeof handle)
        return 77;
    CK(cudaSetDevice(0));
    CK(cudaMalloc(&own, LANES * sizeof *own));
    CK(cudaIpcOpenMemHandle((void **)&theirs, handle, cudaIpcMemLazyEnablePeerAccess));
    unsigned *both[] = {own, theirs};
    CK(cudaMalloc(&table, sizeof both));
    CK(cudaMemcpy(table, both, sizeof both, cudaMemcpyHostToDevice));
    for (int i = 0; i < TIMES; i++) {
        to_parameter<<<1, LANES>>>(theirs);
        to_table<<<1, LANES>>>(table);
    }
    CK(cudaDeviceSynchronize());
    CK(cudaIpcCloseMemHandle(theirs));
    CK(cudaDeviceSynchronize());
    return 0;
}

int main()
{
    int to[2], back[2], status = 0, devices = 0;
    char done;
    MUST(!pipe(to) && !pipe(back));
    const pid_t pid = fork(); /* before anybody uses CUDA */
    MUST(pid >= 0);
    if (pid == 0) {
        close(to[1]);
        const int result = child(to[0]);
        MUST(write(back[1], "", 1) == 1);
        exit(result);
    }
    close(to[0]);
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        close(to[1]);
        waitpid(pid, &status, 0);
        skip("one GPU only");
    }
    unsigned           *mine;
    cudaIpcMemHandle_t  handle;
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&mine, LANES * sizeof *mine));
    CK(cudaMemset(mine, 0, LANES * sizeof *mine));
    CK(cudaDeviceSynchronize());
    CK(cudaIpcGetMemHandle(&handle, mine));
    MUST(write(to[1], &handle, sizeof handle) == sizeof handle);
    MUST(read(back[0], &done, 1) == 1);
    waitpid(pid, &status, 0);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    print("mine", mine, LANES);
    return 0;
}
