/* captures.c - is a stream being captured into a graph?
 *
 * A launch, copy or set that is captured makes a node, and CUPTI says so while the
 * call runs (graphs.c). An event that is recorded or waited for there makes none:
 * it only orders nodes, and the stream that waits joins the capture. The driver
 * must be asked about those, which is done while some capture is under way only.
 */
#include "sonde_cuda.h"

static struct sonde_shared_map captures; /* stream -> context << 32 | 1 */
static _Atomic uint32_t under_way;

/* Each thread's own default stream has one handle. */
static uint64_t key_of(CUstream stream, bool own)
{
    static __thread char mine;
    return (own && !stream) || stream == CU_STREAM_PER_THREAD ? (uintptr_t)&mine : (uintptr_t)stream;
}

static bool is_capturing(CUstream stream, bool own)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    sonde__cuda_quiet(true);
    const CUresult result =
        sonde__cudrv.cuStreamIsCapturing(own && !stream ? CU_STREAM_PER_THREAD : stream, &status);
    sonde__cuda_quiet(false);
    return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE; /* an invalidated one does no work either */
}

bool sonde__cuda_captures(CUstream stream, bool own)
{
    return atomic_load_explicit(&under_way, memory_order_relaxed) && is_capturing(stream, own);
}

bool sonde__cuda_capturing(void)
{
    return atomic_load_explicit(&under_way, memory_order_relaxed) != 0;
}

void sonde__cuda_capture_begun(uint32_t context, CUstream stream, bool own)
{
    uint64_t known;
    const uint64_t key = key_of(stream, own);
    if (!sonde__shared_map_get(&captures, key, &known) && sonde__shared_map_put(&captures, key, (uint64_t)context << 32 | 1))
        atomic_fetch_add(&under_way, 1);
}

static void forget(uint64_t key)
{
    if (sonde__shared_map_take(&captures, key, NULL))
        atomic_fetch_sub(&under_way, 1);
}

/* Some of the call's errors end the capture and some do not. */
void sonde__cuda_capture_ended(CUstream stream, bool own)
{
    if (atomic_load(&under_way) && !is_capturing(stream, own))
        forget(key_of(stream, own));
}

void sonde__cuda_capture_stream_gone(CUstream stream)
{
    if (atomic_load_explicit(&under_way, memory_order_relaxed))
        forget((uintptr_t)stream);
}

static bool of_context(const struct sonde_map_entry *entry, void *user)
{
    if (entry->value >> 32 != *(const uint32_t *)user)
        return false;
    atomic_fetch_sub(&under_way, 1);
    return true;
}

void sonde__cuda_capture_context_gone(uint32_t context)
{
    if (atomic_load(&under_way))
        sonde__shared_map_sweep(&captures, of_context, &context);
}
