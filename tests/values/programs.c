/* programs.c - kernels of programs that were made in different ways, with lines, with other options, and what it takes to look at them: cases of values.c. */
#include "values.h"
#include "texts.h"

#include <assert.h>
#include <signal.h>

/* One kernel, in programs that were made in different ways; then its copy, and one whose program is gone. */
void programs(void)
{
    static const char *const options[] = {"", "-g", "-cl-opt-disable", "-cl-std=CL1.2 -cl-fast-relaxed-math -DUNUSED=1"};
    static const char main_text[] = "int twice(global const int *p, int i); kernel void work(global const int *a, global int *b) "
                                    "{ int i = get_global_id(0); int x = twice(a, i); for (int k = 0; k < 2; k++) b[2 * i + k] = x + k; }\n",
                      other_text[] = "int twice(global const int *p, int i) { return 2 * p[i]; }\n";
    const char *both[] = {other_text, main_text};
    cl_mem a = buffer(4 * N), b = buffer(8 * N);
    cl_program made[8];
    int count = 0, numbers[N];
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    put(a, 0, numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        CLP(made[count] = clCreateProgramWithSource(context, 2, both, NULL, &status));
        CL(clBuildProgram(made[count++], 1, &device, options[i], NULL, NULL));
    }
    cl_program part[2];
    for (int i = 0; i < 2; i++) {
        CLP(part[i] = clCreateProgramWithSource(context, 1, &both[i], NULL, &status));
        CL(clCompileProgram(part[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    }
    CLP(made[count++] = clLinkProgram(context, 1, &device, "", 2, part, NULL, NULL, &status));
    size_t bytes;
    CL(clGetProgramInfo(made[0], CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    unsigned char *binary = malloc(bytes);
    CL(clGetProgramInfo(made[0], CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    CLP(made[count] = clCreateProgramWithBinary(context, 1, &device, &bytes, (const unsigned char **)&binary, NULL, &status));
    CL(clBuildProgram(made[count++], 1, &device, "", NULL, NULL));
    free(binary);
    for (int i = 0; i < count; i++) {
        cl_kernel work;
        CLP(work = clCreateKernel(made[i], "work", &status));
        CL(clReleaseProgram(made[i])); /* the kernel holds it */
        launch_on(work, a, b);
        take(b, 8 * N);
        CL(clReleaseKernel(work));
    }
    printf("%d programs\n", count);
}

/* Kernels that access no global memory, in a program of their own and beside one that does. */
void untouched(void)
{
    static const char *const programs[] = {"nothing", "both"};
    cl_mem a = buffer(4 * N);
    for (int i = 0; i < 2; i++) {
        cl_program apart = text_program(context, programs[i]);
        cl_kernel local_alone, idle;
        const cl_int n = 3;
        CL(clBuildProgram(apart, 1, &device, "", NULL, NULL));
        CLP(local_alone = clCreateKernel(apart, "local_alone", &status));
        CLP(idle = clCreateKernel(apart, "nothing", &status));
        CL(clSetKernelArg(local_alone, 0, 4 * N, NULL));
        CL(clSetKernelArg(local_alone, 1, sizeof n, &n));
        launch(local_alone, N);
        CL(clSetKernelArg(idle, 0, sizeof a, &a));
        launch(idle, N);
        if (i) {
            cl_kernel sevens;
            CLP(sevens = clCreateKernel(apart, "sevens", &status));
            CL(clSetKernelArg(sevens, 0, sizeof a, &a));
            launch(sevens, N);
        }
    }
    take(a, 4 * N);
}

/* Programs with lines, two of which have a file of their own. Each writes zeros over zeros; the last one has two lines on which it may write. */
void lines(void)
{
    static const char *const names[] = {"near", "far", "apart"};
    int threes[N];
    for (int i = 0; i < N; i++)
        threes[i] = 3;
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    put(a, 0, threes, sizeof threes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cl_program with_lines;
        cl_kernel k;
        with_lines = text_program(context, names[i]);
        CL(clBuildProgram(with_lines, 1, &device, "-g", NULL, NULL));
        CLP(k = clCreateKernel(with_lines, names[i], &status));
        launch_on(k, a, b);
        take(b, 4 * N);
    }
}

/* Kernels that end, and when Sonde has had the time to read what they wrote one that does not; then the program is killed. */
void endless(void)
{
    cl_kernel set = kernel("set"), forever;
    cl_mem a = buffer(4 * N);
    cl_program apart = text_program(context, "endless");
    CL(clBuildProgram(apart, 1, &device, "", NULL, NULL));
    CLP(forever = clCreateKernel(apart, "endless", &status));
    for (int i = 0; i < 20; i++)
        set_to(set, a, 7, 600);
    sleep(2);
    CL(clSetKernelArg(forever, 0, sizeof a, &a));
    launch(forever, 1);
    CL(clFlush(queue));
    sleep(1);
    raise(SIGKILL);
}

/* What compilers may round in another way, by options. */
void mathematics(void)
{
    static const char *const options[] = {"", "-cl-mad-enable -DTWO=2.0f", "-cl-std=CL1.2 -cl-denorms-are-zero -cl-no-signed-zeros", "-cl-finite-math-only",
                                          "-cl-single-precision-constant -D TWO=(1.5+1)", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"};
    static const char *const of_il[] = {"", "-cl-mad-enable", "-cl-denorms-are-zero -cl-no-signed-zeros", "-cl-finite-math-only",
                                        "-cl-single-precision-constant", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"};
    static_assert(sizeof of_il == sizeof options, "the same number of programs");
    const char *const *const how = text_folder() ? of_il : options;
    static float small[N];
    static double wide[N];
    for (int i = 0; i < N; i++)
        wide[i] = small[i] = (float)(i + 1) * 0.0123f;
    cl_mem a = buffer(sizeof small), b = buffer(8 * sizeof small), c = buffer(sizeof wide), d = buffer(4 * sizeof wide);
    put(a, 0, small, sizeof small);
    put(c, 0, wide, sizeof wide);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        cl_program compiled;
        cl_kernel compute;
        const size_t n = N;
        compiled = text_program(context, "mathematics");
        CL(clBuildProgram(compiled, 1, &device, how[i], NULL, NULL));
        CLP(compute = clCreateKernel(compiled, "compute", &status));
        cl_mem all[] = {a, b, c, d};
        for (cl_uint k = 0; k < 4; k++)
            CL(clSetKernelArg(compute, k, sizeof(cl_mem), &all[k]));
        CL(clEnqueueNDRangeKernel(queue, compute, 1, NULL, &n, NULL, 0, NULL, NULL));
        take(b, 8 * sizeof small);
        take(d, 4 * sizeof wide);
        printf("%s: %016llx\n", how[i], (unsigned long long)checksum);
    }
}

/* What runtimes make of a barrier in a branch differs with what else is there: the results tell. */
void barriers(void)
{
    enum { ITEMS = 512 };
    static const char *const names[] = {"guarded", "returns", "loops", "stays", "behind"};
    const size_t items = ITEMS, group = 64;
    const int n = ITEMS;
    int from[ITEMS];
    for (int i = 0; i < ITEMS; i++)
        from[i] = (int)((uint32_t)i * 2654435761u >> 8);
    cl_mem a = buffer(sizeof from);
    put(a, 0, from, sizeof from);
    cl_program compiled = text_program(context, "barriers");
    CL(clBuildProgram(compiled, 1, &device, "", NULL, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cl_kernel k;
        cl_mem b = buffer(sizeof from);
        CLP(k = clCreateKernel(compiled, names[i], &status));
        CL(clSetKernelArg(k, 0, sizeof a, &a));
        CL(clSetKernelArg(k, 1, sizeof b, &b));
        CL(clSetKernelArg(k, 2, sizeof n, &n));
        CL(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, &group, 0, NULL, NULL));
        take(b, sizeof from);
        printf("%s: %016llx\n", names[i], (unsigned long long)checksum);
    }
}

static volatile sig_atomic_t deaths;

static void count_death(int number)
{
    (void)number;
    deaths = deaths + 1;
}

/* The program has no children, whatever it takes to look at its kernels. */
void childless(void)
{
    struct sigaction action = {.sa_handler = count_death};
    sigaction(SIGCHLD, &action, NULL);
    kernels();
    const pid_t waited = waitpid(-1, NULL, WNOHANG);
    printf("%d deaths, %s\n", (int)deaths, waited < 0 && errno == ECHILD ? "no children" : "children");
}
