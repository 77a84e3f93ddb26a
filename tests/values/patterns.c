/* patterns.c - what kernels read and write has in common; objects that are alike; the figure of the paper: cases of values.c. */
#include "values.h"

/* What kernels read has a pattern each; the kernel `read_zeros` is launched four times, on two pairs of buffers. */
void patterns(void)
{
    const size_t group = 100, all = N;
    int small[N];
    float same[N], near[N];
    double wide[N];
    for (int i = 0; i < N; i++) {
        small[i] = i % 121 - 3;
        same[i] = 2.5f;
        near[i] = 1 + (float)i * 0x1p-21f;
        wide[i] = 1 + i * 1.25;
    }
    cl_mem zeros = buffer(4 * N), others = buffer(4 * N), a = buffer(4 * N), b = buffer(4 * N), c = buffer(4 * N), d = buffer(8 * N);
    cl_mem to = buffer(8 * N);
    put(a, 0, small, sizeof small);
    put(b, 0, same, sizeof same);
    put(c, 0, near, sizeof near);
    put(d, 0, wide, sizeof wide);
    cl_kernel zero = kernel("read_zeros");
    for (int i = 0; i < 4; i++)
        launch_on(zero, i % 2 ? others : zeros, to);
    CL(clReleaseKernel(zero));
    launch_on(kernel("read_same"), b, to);
    take(to, 8 * N);
    launch_on(kernel("read_small"), a, to);
    take(to, 8 * N);
    launch_on(kernel("read_wide"), d, to);
    take(to, 8 * N);
    launch_on(kernel("read_near"), c, to);
    take(to, 8 * N);
    cl_kernel some = kernel("some_items"), copy = kernel("copies");
    CL(clSetKernelArg(some, 0, sizeof to, &to));
    launch(some, N);
    CL(clSetKernelArg(copy, 0, sizeof a, &a));
    CL(clSetKernelArg(copy, 1, sizeof to, &to));
    CL(clSetKernelArg(copy, 2, 4 * group, NULL));
    CL(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &all, &group, 0, NULL, NULL));
    take(to, 8 * N);
}

/* Three of four are 7; floats on a line that falls; four values; two, in turn; all in a loop; and many launches whose values have
 * nothing in common. */
void guesses(void)
{
    int often[N], four[4] = {0, 0, 0, 1}, two[2] = {5, 1 << 30}, mixed[N];
    float falling[N];
    for (int i = 0; i < N; i++) {
        often[i] = i % 4 ? 7 : i * 7919 + (1 << 30);
        falling[i] = 100 - (float)i;
        mixed[i] = (int)(((uint32_t)i * 2654435761u ^ (uint32_t)i * 40503u >> 3) * 2246822519u);
    }
    cl_mem to = buffer(4 * N);
    cl_mem a = buffer(4 * N), b = buffer(4 * N), c = buffer(sizeof four), d = buffer(sizeof two), e = buffer(4 * N);
    put(a, 0, often, sizeof often);
    put(b, 0, falling, sizeof falling);
    put(c, 0, four, sizeof four);
    put(d, 0, two, sizeof two);
    put(e, 0, mixed, sizeof mixed);
    cl_kernel ints = kernel("read_ints");
    launch_on(ints, a, to);
    take(to, 4 * N);
    launch_on(kernel("read_floats"), b, to);
    take(to, 4 * N);
    CL(clSetKernelArg(ints, 0, sizeof c, &c));
    launch(ints, 4);
    take(to, 4 * N);
    launch_on(kernel("read_two"), d, to);
    take(to, 4 * N);
    launch_on(kernel("read_all"), a, to);
    take(to, 4 * N);
    for (int i = 0; i < 20; i++) {
        launch_on(ints, e, to);
        CL(clFinish(queue));
    }
    take(to, 4 * N);
}

/* Two objects each become equal by a kernel and a write, by a fill and a kernel, by kernels that write a part; one differs from the
 * first two in its last byte. Then one is written as another is, again and again, and some live for one write. */
void duplicates(void)
{
    int numbers[N], seven = 7, eight = 8;
    cl_mem a = buffer(4 * N);
    cl_mem b = buffer(4 * N);
    cl_mem c = buffer(4 * N);
    cl_mem d = buffer(4 * N);
    cl_mem e = buffer(4 * N);
    cl_mem f = buffer(4 * N);
    cl_kernel count = kernel("count"), set = kernel("set");
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    CL(clSetKernelArg(count, 0, sizeof a, &a));
    launch(count, N);
    CL(clFinish(queue));
    put(b, 0, numbers, sizeof numbers);
    CL(clFinish(queue));
    numbers[N - 1]++;
    put(f, 0, numbers, sizeof numbers);
    CL(clFinish(queue));
    CL(clEnqueueFillBuffer(queue, c, &seven, sizeof seven, 0, 4 * N, 0, NULL, NULL));
    CL(clFinish(queue));
    set_to(set, a, 7, N);
    cl_mem both[] = {d, e};
    for (int i = 0; i < 2; i++) {
        CL(clEnqueueFillBuffer(queue, both[i], &eight, sizeof eight, 0, 4 * N, 0, NULL, NULL));
        set_to(set, both[i], 9, N / 2);
    }
    take(e, 4 * N);
    numbers[0] = -1;
    put(b, 0, numbers, sizeof numbers);
    for (int i = 0; i < 32; i++)
        CL(clEnqueueWriteBuffer(queue, f, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL, NULL));
    CL(clFinish(queue));
    for (int i = 0; i < 40; i++) {
        cl_mem brief = buffer(4 * N);
        CL(clEnqueueWriteBuffer(queue, brief, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL, NULL));
        CL(clReleaseMemObject(brief));
    }
    take(f, 4 * N);
}

/* Figure 3 of the paper: two objects, each set, written by a kernel, and then one made of the other. */
void figure(void)
{
    const int zero = 0, one = 1;
    cl_mem a, b;
    CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CLP(b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    cl_kernel set = kernel("set"), look = kernel("look");
    CL(clEnqueueFillBuffer(queue, a, &zero, sizeof zero, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, b, &one, sizeof one, 0, 2 * N, 0, NULL, NULL));
    set_to(set, a, 0, N);
    set_to(set, b, 0, N);
    launch_on(look, a, b);
    take(b, 4 * N);
}
