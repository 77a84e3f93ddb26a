/* kernels.cu - kernels whose memory traffic follows from their source, for cost.cu. Compiled to PTX. */
extern "C" {
__global__ void add(const float *a, const float *b, float *c, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void add4(const float4 *a, const float4 *b, float4 *c, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}

/* n is a square; the edges stay. */
__global__ void stencil(const float *in, const float *, float *out, unsigned n)
{
    const unsigned side = (unsigned)sqrt((double)n), i = blockIdx.x * blockDim.x + threadIdx.x, x = i % side, y = i / side;
    if (x > 0 && y > 0 && x < side - 1 && y < side - 1)
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - side] + in[i + side]);
}

/* Each thread reads a long row of others': cache-resident, so that each access costs. */
__global__ void all(const float4 *p, const float *, float4 *f, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 me = p[i];
    float x = 0, y = 0, z = 0;
#pragma unroll 4
    for (unsigned j = 0; j < n; j++) {
        const float4 o = p[j];
        const float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f), s = o.w * r * r * r;
        x += dx * s;
        y += dy * s;
        z += dz * s;
    }
    f[i] = make_float4(x, y, z, 0);
}

/* Indirect, of unequal length. */
__global__ void gather(const unsigned *index, const float *value, float *out, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (i >= n)
        return;
    for (unsigned k = 0; k < (index[i] & 15); k++)
        sum += value[index[(i + k) % n] % n];
    out[i] = sum;
}
}
