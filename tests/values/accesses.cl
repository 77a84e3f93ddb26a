/* accesses.cl - kernels whose accesses to global memory no compiler changes in number or value: accesses.py.
 *
 * Each has the same parameters: three buffers of random bytes, how many work-items there are, and local memory for each of a group.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define EACH(name, type) \
    kernel void name(global const type *in, global type *out, global type *more, int n, local type *group) \
    { \
        const size_t i = get_global_id(0); \
        out[i] = in[i]; \
        more[n - 1 - i] = (type)(in[n + i] / (type)3); \
    }
EACH(chars, char)
EACH(uchars, uchar)
EACH(shorts, short)
EACH(ushorts, ushort)
EACH(ints, int)
EACH(uints, uint)
EACH(longs, long)
EACH(ulongs, ulong)
EACH(floats, float)
EACH(doubles, double)
EACH(char4s, char4)
EACH(uchar16s, uchar16)
EACH(short8s, short8)
EACH(int2s, int2)
EACH(int4s, int4)
EACH(float2s, float2)
EACH(float4s, float4)
EACH(double2s, double2)

#define VECTOR(name, type, count) \
    kernel void name(global const type *in, global type *out, global type *more, int n, local type *group) \
    { \
        const size_t i = get_global_id(0); \
        vstore##count(vload##count(i, in), i, out); \
    }
VECTOR(vector_char2, char, 2)
VECTOR(vector_char3, char, 3)
VECTOR(vector_uchar4, uchar, 4)
VECTOR(vector_short4, short, 4)
VECTOR(vector_int3, int, 3)
VECTOR(vector_uint8, uint, 8)
VECTOR(vector_long2, long, 2)
VECTOR(vector_float2, float, 2)
VECTOR(vector_float3, float, 3)
VECTOR(vector_float4, float, 4)
VECTOR(vector_float8, float, 8)
VECTOR(vector_float16, float, 16)
VECTOR(vector_double2, double, 2)
VECTOR(vector_double4, double, 4)
VECTOR(vector_double8, double, 8)

kernel void branch(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    const int value = in[i];
    if (value & 1)
        out[i] = value;
    if (value % 3 == 0)
        more[i] = 7;
}

kernel void either(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    const int value = in[i];
    if (value & 1)
        out[i] = value + 1;
    else
        more[i] = value / 2;
}

kernel void choose(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    global int *p = in[i] & 1 ? out : more;
    p[i] = 3;
}

kernel void leave(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    if (i % 5 == 0)
        return;
    const int value = in[i];
    if (value < 0)
        return;
    out[i] = value;
}

kernel void turns(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < (int)(i % 9); k++)
        sum += in[i * 8 + k];
    out[i] = sum;
}

kernel void walk(global const float *in, global float *out, global float *more, int n, local float *group)
{
    const size_t i = get_global_id(0);
    float sum = 0;
    for (global const float *p = in + i; p < in + n; p += 37)
        sum += 1 / (1 + fabs(*p) * 0 == 1 ? 2.0f : 4.0f); /* a sum of NaNs has bits of its own everywhere */
    out[i] = sum;
}

kernel void until(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    size_t k = i;
    while (k < i + 64 && in[k] % 4 != 0) {
        more[k] = (int)k;
        k++;
    }
    out[i] = (int)(k - i);
}

kernel void several(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    switch (in[i] % 7) {
    case 0:
        out[i] = 0;
        break;
    case 1:
        out[i] = more[i];
        break;
    case 2:
        more[n + i] = 5;
        break;
    default:
        out[2 * n + i] = more[2 * n + i] * 3;
    }
}

kernel void reduce(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t l = get_local_id(0);
    group[l] = in[get_global_id(0)];
    for (size_t half_of = get_local_size(0) / 2; half_of; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_of)
            group[l] += group[l + half_of];
    }
    if (l == 0)
        out[get_group_id(0)] = group[0];
}

kernel void rounds(global const float *in, global float *out, global float *more, int n, local float *group)
{
    const size_t i = get_global_id(0), l = get_local_id(0);
    for (int k = 0; k < 5; k++) {
        group[l] = in[k * n + i];
        barrier(CLK_LOCAL_MEM_FENCE);
        out[k * n + i] = group[get_local_size(0) - 1 - l];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

void put(global int *to, size_t i, int value) __attribute__((noinline));
void put(global int *to, size_t i, int value)
{
    to[i] = value;
}

int twice(global const int *from, size_t i)
{
    return 2 * from[i];
}

kernel void helpers(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    put(out, i, twice(in, i));
    if (i % 2)
        put(more, i, 1);
}

constant int table[8] = {1, 2, 3, 5, 8, 13, 21, 34};

kernel void constants(constant const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i] = table[in[i] & 7];
}

kernel void locals(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    int own[8];
    for (int k = 0; k < 8; k++)
        own[k] = in[8 * i + k];
    out[i] = own[own[0] & 7] ^ own[own[1] & 7]; /* no sum: one that overflows is undefined, and may be as wide as the compiler likes */
}

struct particle {
    int id, count;
    double energy;
};

kernel void structures(global const struct particle *in, global struct particle *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i].energy = in[i].energy;
    more[i] = in[i].count;
    if (in[i].id > 0)
        out[i].id = 1;
}

kernel void casts(global const uint *in, global uint *out, global uint *more, int n, local uint *group)
{
    const size_t i = get_global_id(0);
    ((global float *)out)[i] = as_float(in[i]);
    ((global ulong *)more)[i] = 1;
}

kernel void counts(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    const int value = in[i];
    atomic_inc(&more[value & 7]);
    atomic_max(&more[8 + (value & 7)], value);
    out[i] = value;
}

kernel void nothing(global const int *in, global int *out, global int *more, int n, local int *group)
{
    if (get_global_id(0) > (size_t)n)
        out[0] = in[0];
}

kernel void zeros(global const float *in, global float *out, global double *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i] = 0;
    more[i] = (double)(float)i;
}

/* Half of them find what they compare with. */
kernel void swaps(global const int *in, global int *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i] = atomic_cmpxchg(&more[i], more[i] + (int)(i & 1), 5);
}

kernel void wide_counts(global const int *in, global int *out, global ulong *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    atom_add(&more[in[i] & 15], 3UL);
    out[i] = 1;
}

struct __attribute__((packed)) odd {
    char letter;
    int number;
};

kernel void packed_ints(global const int *in, global struct odd *out, global int *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i].number = in[i];
    more[3 * i] = 1;
}

/* Many write what is there. */
kernel void same(global const int *in, global int *out, global char *more, int n, local int *group)
{
    const size_t i = get_global_id(0);
    out[i] = in[i] & 1 ? out[i] : in[i];
    more[2 * i] = in[i] & 3 ? more[2 * i] : 0;
    if (i % 7)
        ((global short *)more)[n + i] = ((global short *)more)[n + i];
}
