/* managed.c - what the driver moves of managed memory by itself, and the page faults for which it does.
 *
 * CUPTI's records of unified memory name an address and two processors, and no call. They make page faults dearer (docs/performance.md), so they are asked
 * for with --comm alone, at the program's first allocation of such memory. Which object an address is in is asked later than it was moved, so stretches are kept after they are freed.
 */
#include "sonde_cuda.h"

#include <string.h>

#include "guest/lock.h"

#define STRETCHES 1024u
#define DEVICES    64u

struct stretch {
    uint64_t first, end;       /* addresses */
    uint64_t from_ns, to_ns;   /* when it was there; to_ns 0: still */
    uint32_t object;
};

static struct {
    struct sonde_lock lock;        /* of the stretches; never while CUPTI is called, whose callbacks free objects */
    struct sonde_lock asking;      /* of `there` and `reports` */
    struct stretch all[STRETCHES]; /* those made last */
    _Atomic uint32_t made;
    uint32_t last;                 /* where the last record was */
    bool there, reports;           /* CUPTI was told of the counters; recording is on */
} managed;

static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- asking ------------------------------------------------------------------------------- */

/* What the first device has. Those behind the last one are refused. */
static CUptiResult configure(void)
{
    CUptiResult result = CUPTI_SUCCESS, first = CUPTI_SUCCESS;
    for (uint32_t device = 0; device < DEVICES && result == CUPTI_SUCCESS; device++) {
        CUpti_ActivityUnifiedMemoryCounterConfig config[KINDS];
        for (size_t i = 0; i < KINDS; i++)
            config[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
                .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
                .kind = kinds[i],
                .deviceId = device,
                .enable = 1,
            };
        result = sonde__cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, KINDS);
        first = device ? first : result;
    }
    return first;
}

static bool ask(void)
{
    sonde__cuda_quiet(true);
    const CUptiResult result = sonde__cupti.cuptiActivityConfigureUnifiedMemoryCounter ? configure() : CUPTI_ERROR_NOT_SUPPORTED;
    sonde__cuda_quiet(false);
    if (result != CUPTI_SUCCESS)
        sonde_note("CUPTI cannot report what is moved of managed memory: error %d", (int)result);
    return result == CUPTI_SUCCESS;
}

static void switch_records(bool on)
{
    sonde__cuda_quiet(true);
    on ? sonde__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
       : sonde__cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    sonde__cuda_quiet(false);
}

void sonde__cuda_managed_report(bool on)
{
    sonde__lock(&managed.asking);
    managed.reports = on;
    if (managed.there)
        switch_records(on);
    sonde__unlock(&managed.asking);
}

static void begin(void)
{
    sonde__lock(&managed.asking);
    managed.there = ask();
    if (managed.there && managed.reports)
        switch_records(true);
    sonde__unlock(&managed.asking);
}

void sonde__cuda_managed_allocated(uint64_t address, uint64_t bytes, uint32_t object)
{
    if (!sonde_values_wanted(SONDE_VALUES_REMOTE))
        return;
    sonde__lock(&managed.lock);
    const uint32_t made = atomic_fetch_add(&managed.made, 1);
    managed.all[made % STRETCHES] = (struct stretch){address, address + bytes, sonde_now_ns(), 0, object};
    sonde__unlock(&managed.lock);
    if (!made)
        begin();
}

void sonde__cuda_managed_freed(uint32_t object)
{
    const uint32_t made = atomic_load_explicit(&managed.made, memory_order_relaxed);
    if (!made)
        return;
    sonde__lock(&managed.lock);
    for (uint32_t i = 0; i < STRETCHES && i < made; i++)
        if (managed.all[i].object == object && !managed.all[i].to_ns)
            managed.all[i].to_ns = sonde_now_ns();
    sonde__unlock(&managed.lock);
}

/* ---- records, on the monitor thread --------------------------------------------------------- */

static bool is_in(const struct stretch *s, uint64_t address, uint64_t at_ns)
{
    return address - s->first < s->end - s->first && s->from_ns <= at_ns && (!s->to_ns || at_ns <= s->to_ns);
}

static uint32_t object_at(uint64_t address, uint64_t at_ns)
{
    uint32_t object = 0;
    sonde__lock(&managed.lock);
    const uint32_t made = atomic_load(&managed.made), count = made < STRETCHES ? made : STRETCHES;
    for (uint32_t i = 0; i < count && !object; i++) {
        const uint32_t k = (managed.last + i) % count;
        if (is_in(&managed.all[k], address, at_ns)) {
            managed.last = k;
            object = managed.all[k].object;
        }
    }
    sonde__unlock(&managed.lock);
    return object;
}

static uint32_t device_id(uint32_t ordinal)
{
    const struct sonde_cuda_device *device = sonde__cuda_device(ordinal);
    return device ? device->id : 0;
}

void sonde__cuda_managed_record(const CUpti_ActivityUnifiedMemoryCounter2 *r)
{
    struct sonde_migration m = {.count = 1, .object = object_at(r->address, sonde__cuda_clock_host(r->start))};
    m.faults = r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT ||
               r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
    switch (r->counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD: m.to = device_id(r->dstId); break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH: m.from = device_id(r->srcId); break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD: m.from = device_id(r->srcId), m.to = device_id(r->dstId); break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT: break; /* of one: the value is where the instruction is */
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
        m.to = device_id(r->srcId);
        m.count = r->value;
        break;
    default: return; /* nobody asked */
    }
    if (!m.faults) {
        m.bytes = r->value;
        m.ns = r->end > r->start ? r->end - r->start : 0;
    }
    sonde_migrated(&m);
}
