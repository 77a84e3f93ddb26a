/* environment.c - OPENCL_LAYERS before the first OpenCL call, after it, and in a child. */
#include <sys/wait.h>
#include <unistd.h>

#include "cl_test.h"

int main(void)
{
    cl_uint count = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("before %s\n", getenv("OPENCL_LAYERS"));
    clGetPlatformIDs(0, NULL, &count);
    printf("after %s\n", getenv("OPENCL_LAYERS"));
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo \"child $OPENCL_LAYERS\"", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    return 0;
}
