/* queues.c - C contexts with Q queues each, N kernels on every queue.
 *
 *     queues C Q N
 *
 * The experiment of hpctoolkit-gpu, figure 3: many streams, to see whether the
 * run time depends on how many lanes one tracing thread serves. Prints seconds.
 */
#include "opencl.h"

enum { CONTEXTS = 8 };
enum { QUEUES = 256 };

int main(int argc, char **argv)
{
    static cl_command_queue queue[CONTEXTS][QUEUES];
    static cl_kernel kernel[CONTEXTS];
    static cl_mem memory[CONTEXTS];
    const char *source = "kernel void spin(global int *x) { int i = get_global_id(0), v = x[i];"
                         "for (int k = 0; k < 200; k++) v = v * 1664525 + 1013904223; x[i] = v; }";
    int contexts = argc > 1 ? atoi(argv[1]) : 1, queues = argc > 2 ? atoi(argv[2]) : 20;
    int count = argc > 3 ? atoi(argv[3]) : 100;
    cl_int status;
    if (contexts > CONTEXTS || queues > QUEUES)
        return 2;
    cl_device_id device = first_device();
    for (int c = 0; c < contexts; c++) {
        cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        CHECK(status);
        cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
        CHECK(status);
        CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
        kernel[c] = clCreateKernel(program, "spin", &status);
        CHECK(status);
        memory[c] = clCreateBuffer(context, CL_MEM_READ_WRITE, 64 * sizeof(cl_int), NULL, &status);
        CHECK(status);
        CHECK(clSetKernelArg(kernel[c], 0, sizeof memory[c], &memory[c]));
        for (int q = 0; q < queues; q++) {
            queue[c][q] = clCreateCommandQueue(context, device, 0, &status);
            CHECK(status);
        }
    }
    const size_t global = 64, local = 64;
    double begin = now_ns();
    for (int n = 0; n < count; n++)
        for (int c = 0; c < contexts; c++)
            for (int q = 0; q < queues; q++)
                CHECK(clEnqueueNDRangeKernel(queue[c][q], kernel[c], 1, NULL, &global, &local, 0, NULL, NULL));
    for (int c = 0; c < contexts; c++)
        for (int q = 0; q < queues; q++)
            CHECK(clFinish(queue[c][q]));
    printf("%.6f\n", (now_ns() - begin) * 1e-9);
    return 0;
}
