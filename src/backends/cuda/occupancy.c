/* occupancy.c - theoretical occupancy: how many of a kernel's blocks fit on one multiprocessor.
 *
 * The rules of NVIDIA's occupancy calculator (cuda_occupancy.h of the CUDA
 * runtime; tests/unit/backends/cuda compares with it): registers are given to whole
 * warps, 256 at a time, from four equal parts of the register file; shared
 * memory to whole blocks, in units, with what the driver reserves in each.
 * Block clusters and barriers are not counted. The limiter GRID says that the
 * launch has too few blocks for any multiprocessor to reach that number.
 */
#include "sonde_cuda.h"

#define WARP          32u
#define REGISTER_UNIT 256u

static uint64_t up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static uint32_t by_registers(const struct sonde_cuda_device *d, uint32_t warps, uint32_t registers)
{
    const uint32_t parts = d->major == 6 && d->minor == 0 ? 2 : 4;
    const uint32_t warp_registers = (uint32_t)up((uint64_t)registers * WARP, REGISTER_UNIT);
    return warp_registers ? (uint32_t)d->max_registers / parts / warp_registers * parts / warps : UINT32_MAX;
}

static uint32_t by_shared(const struct sonde_cuda_device *d, uint32_t shared)
{
    const uint64_t block = up((uint64_t)shared + (uint32_t)d->reserved_shared, d->major >= 8 ? 128 : 256);
    return block ? (uint32_t)((uint32_t)d->max_shared / block) : UINT32_MAX;
}

struct sonde_occupancy sonde__cuda_occupancy(const struct sonde_cuda_device *d, uint64_t threads, uint32_t registers,
                                             uint32_t shared, uint64_t grid_blocks)
{
    const uint32_t all_warps = (uint32_t)d->max_threads / WARP;
    const uint32_t warps = (uint32_t)(up(threads, WARP) / WARP);
    if (!warps || !all_warps || !d->max_blocks || !d->max_registers || !d->max_shared)
        return (struct sonde_occupancy){0};
    const struct {
        uint32_t blocks;
        uint16_t limiter;
    } limits[] = {
        {all_warps / warps, SONDE_LIMITER_THREADS},
        {(uint32_t)d->max_blocks, SONDE_LIMITER_BLOCKS},
        {by_registers(d, warps, registers), SONDE_LIMITER_REGISTERS},
        {by_shared(d, shared), SONDE_LIMITER_SHARED},
    };
    struct sonde_occupancy o = {.blocks = UINT32_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].blocks < o.blocks) {
            o.blocks = limits[i].blocks;
            o.limiter = limits[i].limiter;
        }
    o.thousandths = (uint16_t)((uint64_t)o.blocks * warps * 1000 / all_warps);
    if (o.thousandths == 1000)
        o.limiter = SONDE_LIMITER_NONE;
    if (o.blocks > 1 && grid_blocks && grid_blocks <= (uint64_t)(o.blocks - 1) * (uint32_t)d->multiprocessors)
        o.limiter = SONDE_LIMITER_GRID;
    return o;
}
