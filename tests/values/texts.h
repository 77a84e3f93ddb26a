/* texts.h - what the kernels of values.c and its neighbours are made of: OpenCL C, or the SPIR-V that il.py has made of that in the folder VALUES_IL. */
#ifndef VALUES_TEXTS_H
#define VALUES_TEXTS_H

#include "../programs/guest.h"

static const struct {
    const char *name, *text;
} texts[] = {
    {"kernels",
     "kernel void set(global int *a, int value, int n) { int i = get_global_id(0); if (i < n) a[i] = value; }\n"
     "kernel void count(global int *a) { a[get_global_id(0)] = get_global_id(0); }\n"
     "kernel void sum(global const int *a, global long *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
     "kernel void look(global int *a, global int *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
     "kernel void bytes(global uchar *a) { a[get_global_id(0)] = 7; }\n"
     "kernel void read_zeros(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] + i * 65537; }\n"
     "kernel void read_same(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (1.0f / (i + 3)); }\n"
     "kernel void read_small(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 19088743 + i; }\n"
     "kernel void read_wide(global const double *a, global double *b) { int i = get_global_id(0); b[i] = a[i] / 3.0; }\n"
     "kernel void read_near(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (i * 0.123f); }\n"
     "kernel void read_ints(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 40503 + i * i; }\n"
     "kernel void read_floats(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (i * i + 0.1f); }\n"
     "kernel void read_two(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i & 1] + i * i; }\n"
     "kernel void read_all(global const int *a, global int *b) { int i = get_global_id(0), s = 0; for (int k = 0; k < 1000; k++) s += a[k] * k; b[i] = s * i * i; }\n"
     "kernel void some_items(global int *a) { int i = get_global_id(0); if (i % 10 == 0) a[i] = 7; }\n"
     "kernel void copies(global const int *a, global int *b, local int *t) { event_t e = async_work_group_copy(t, a, 100, 0); "
     "wait_group_events(1, &e); b[get_global_id(0)] = t[get_local_id(0)]; }\n"
     "kernel void either(global int *a, global int *b) { int i = get_global_id(0); global int *p = i % 4 ? a : b; if (i % 2 == 0) p[i / 2] = i % 8 ? 0 : 1; }\n"
     "kernel void spread(global uchar *a, global const int *from, global const int *to) { int i = get_global_id(0); for (int k = from[i]; k < to[i]; k++) a[k] = k & 1; }\n"
     "kernel void paint(write_only image2d_t a) { write_imageui(a, (int2)(get_global_id(0), 0), (uint4)(1)); }\n"
     "kernel void stamp(read_only image2d_t a, write_only image2d_t b) { int2 at = (int2)(get_global_id(0), 1); write_imageui(b, at, read_imageui(a, at)); }\n"},
    {"several",
     "kernel void several(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 40503 + i * i; }\n"
     "kernel void one(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 40503 + i * i; }\n"
     "kernel void none(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 40503 + i * i; }\n"},
    {"blocks",
     "#define AT (get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2)))\n"
     "#define GROUP (get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2)))\n"
     "#define IN_GROUP (get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)))\n"
     "constant int added[4] = {3, 1, 4, 1};\n"
     "kernel void some_groups(global const int *a, global int *b) { int i = 16 * GROUP + IN_GROUP; b[i] = a[i] * 40503 + i * i; }\n"
     "kernel void all_groups(global const int *a, global int *b) { int i = AT; b[i] = a[i] * 40503 + i * i; }\n"
     "kernel void zeros(global const int *a, global int *b) { int i = AT; b[i] = a[i] + i * i * 3; }\n"
     "kernel void but_one(global const int *a, global int *b) { int i = AT; b[i] = a[i] + i * i * 5; }\n"
     "kernel void reversed(global const int *a, global int *b) { local int kept[16]; int l = get_local_id(0), i = AT;\n"
     "    for (int turn = 0; turn < 3; turn++) { kept[l] = a[i] + turn; barrier(CLK_LOCAL_MEM_FENCE);\n"
     "        b[i] = kept[15 - l] * (i + turn); barrier(CLK_LOCAL_MEM_FENCE); } }\n"
     "kernel void table(global const int *a, global int *b) { int i = AT, v = a[i], own[4]; for (int k = 0; k < 4; k++) own[(k + i) % 4] = v * added[k];\n"
     "    b[i] = own[i % 3] ^ own[3]; }\n"
     "kernel void as_it_likes(global const int *a, global int *b) { int i = AT; b[i] = a[i] + i * i * 7; }\n"},
    {"barriers", /* in a branch, which all work-items of a group take or none */
     "#define BEGIN(name) kernel void name(global const int *a, global int *b, int n) { int i = get_global_id(0); \n"
     "BEGIN(guarded) if (i < n) { barrier(CLK_LOCAL_MEM_FENCE); if (a[i] % 3) b[i] = a[i]; } }\n"
     "BEGIN(returns) if (i >= n) return; barrier(CLK_LOCAL_MEM_FENCE); if (a[i] % 3 == 0) return; b[i] = 5; }\n"
     "BEGIN(loops) for (int k = 0; k < n - 511; k++) { barrier(CLK_LOCAL_MEM_FENCE); if (a[i] % 3) b[i] += a[i]; } b[i] ^= 1; }\n"
     "BEGIN(stays) if (i < n) { barrier(CLK_LOCAL_MEM_FENCE); b[i] = a[i] % 3; barrier(CLK_LOCAL_MEM_FENCE); } b[i] += a[i]; }\n"
     "BEGIN(behind) if (n > 5) { barrier(CLK_LOCAL_MEM_FENCE); if (a[i] % 3) b[i] = a[i]; } b[i] ^= a[i] + 1; }\n"},
    {"mathematics",
     "#ifndef TWO\n#define TWO 2\n#endif\n"
     "kernel void compute(global const float *a, global float *b, global const double *c, global double *d) {\n"
     "    int i = get_global_id(0);\n    float x = a[i], y = a[i ^ 1], sum = 0;\n    double z = c[i], w = c[i ^ 1];\n"
     "    for (int k = 0; k < 10; k++) sum += x * k + log(y + k);\n"
     "    b[8 * i] = x * y + x; b[8 * i + 1] = exp(x); b[8 * i + 2] = sin(x * y); b[8 * i + 3] = pow(y, x);\n"
     "    b[8 * i + 4] = sqrt(y) / x; b[8 * i + 5] = native_exp(x) * TWO; b[8 * i + 6] = x / y * 3.1 + rsqrt(y); b[8 * i + 7] = sum;\n"
     "    d[4 * i] = z * w + z; d[4 * i + 1] = exp(z) / w; d[4 * i + 2] = cos(z) - tan(w); d[4 * i + 3] = fma(z, w, -z) + cbrt(w); }\n"},
    {"near",
     "int twice(global const int *p, int i)\n{\n    return 2 * p[i];\n}\nkernel void near(global const int *a, global int *b)\n{\n"
     "    int i = get_global_id(0);\n    b[i] = twice(a, i) / 7;\n}\n"},
    {"far", "#line 100 \"far.cl\"\nkernel void far(global const int *a, global int *b)\n{\n    int i = get_global_id(0);\n    int x = a[i];\n    b[i] = x / 7;\n}\n"},
    {"apart", "#line 200 \"apart.cl\"\nkernel void apart(global const int *a, global int *b)\n{\n    int i = get_global_id(0);\n    b[i] = a[i] / 7;\n"
              "    if (a[i] > 5)\n        b[0] = 1;\n}\n"},
    {"nothing", "kernel void local_alone(local int *a, int n) { a[get_local_id(0)] = n; barrier(CLK_LOCAL_MEM_FENCE); }\n"
                "kernel void nothing(global int *a) {}\n"},
    {"both", "kernel void local_alone(local int *a, int n) { a[get_local_id(0)] = n; barrier(CLK_LOCAL_MEM_FENCE); }\n"
             "kernel void nothing(global int *a) {}\nkernel void sevens(global int *a) { a[get_global_id(0)] = 7; }\n"},
    {"endless", "kernel void endless(global volatile int *a)\n{\n    while (a[get_global_id(0)] != 12345)\n        ;\n    a[get_global_id(0)] = 1;\n}\n"},
    {"special", /* for SPIR-V alone: constants that have numbers, and the values that they have unless others are set */
     "__attribute__((overloadable)) int __spirv_SpecConstant(int number, int otherwise);\n"
     "__attribute__((overloadable)) float __spirv_SpecConstant(int number, float otherwise);\n"
     "__attribute__((overloadable)) long __spirv_SpecConstant(int number, long otherwise);\n"
     "__attribute__((overloadable)) bool __spirv_SpecConstant(int number, bool otherwise);\n"
     "kernel void special(global long *a) { long i = 4 * get_global_id(0); a[i] = __spirv_SpecConstant(7, 3);\n"
     "    a[i + 1] = as_int(__spirv_SpecConstant(8, 1.5f)); a[i + 2] = __spirv_SpecConstant(9, 5L); a[i + 3] = __spirv_SpecConstant(10, (bool)0) ? 17 : 18; }\n"},
};

/* NULL: they are made of their source. */
static inline const char *text_folder(void)
{
    return getenv("VALUES_IL");
}

/* FOLDER/NAME.cl of each. The exit status. */
static inline int text_write(const char *folder)
{
    char path[4096];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(path, sizeof path, "%s/%s.cl", folder, texts[i].name);
        FILE *file = fopen(path, "w");
        if (!file || fputs(texts[i].text, file) < 0 || fclose(file) != 0)
            return 1;
    }
    return 0;
}

/* All of FOLDER/NAME.spv. */
static inline void *text_il(const char *name, size_t *bytes)
{
    enum { MOST = 1 << 20 };
    char path[4096];
    void *all = malloc(MOST);
    snprintf(path, sizeof path, "%s/%s.spv", text_folder(), name);
    FILE *file = fopen(path, "r");
    *bytes = file && all ? fread(all, 1, MOST, file) : 0;
    if (!*bytes) {
        printf("no %s\n", path);
        exit(1);
    }
    fclose(file);
    return all;
}

/* Not built yet. */
static inline cl_program text_program(cl_context in, const char *name)
{
    cl_program made = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !text_folder(); i++) {
        const char *text = texts[i].text;
        if (strcmp(texts[i].name, name) == 0)
            CLP(made = clCreateProgramWithSource(in, 1, &text, NULL, &status));
    }
    if (text_folder()) {
        size_t bytes;
        void *il = text_il(name, &bytes);
        CLP(made = clCreateProgramWithIL(in, il, bytes, &status));
        free(il);
    }
    return made;
}

#endif
