/* forks.cu - `forks before`: a fork before CUDA is used, then both processes use it.
 * `forks after`: a fork afterwards; the child, which must not use it, does not. */
#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

extern "C" __global__ void parent(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void child(int *p) { atomicAdd(p, 1); }

static int work(bool in_child, int launches)
{
    int *p, host = 0;
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < launches; i++)
        if (in_child)
            child<<<1, 32>>>(p);
        else
            parent<<<1, 32>>>(p);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    CK(cudaFree(p));
    return host / 32;
}

static void await(pid_t pid)
{
    int status = 0;
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    bool before = argc > 1 && !strcmp(argv[1], "before");
    int  first = before ? 0 : work(false, 30);
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        if (before)
            MUST(work(true, 60) == 60);
        exit(0);
    }
    await(pid);
    int second = work(false, before ? 40 : 20);
    printf("%d\n", first + second);
    return 0;
}
