/* stalls.c - where warps of kernels are, and why they do not go on (--pc), by CUPTI's PC sampling in its continuous mode: each multiprocessor
 * notes an instruction of a warp and a reason every so many cycles, beside kernels that run as they do. docs/stalls.md.
 *
 * It is begun for a context when that is made, before any code is loaded: samples of code that CUPTI has not seen being loaded it counts as
 * nobody's. Of each device one context is sampled at a time: with a second one CUPTI can read neither, and no records of kernels either. Threads of
 * CUPTI's read the device and add up; a thread of ours (aside.h) takes that from time to time, since a call may last a quarter of a second. What is left
 * comes when a context is let go of, in the buffer that CUPTI was given for it; code that is unloaded meanwhile keeps its samples.
 *
 * Every sample is accounted for: what CUPTI counts in all is what it says of instructions, elsewhere and dropped, and the rest is lost.
 *
 * Of two processes that sample one device the second would lose its records and perhaps fail: claim.h keeps it from that.
 *
 * What was found on an H100 (driver 580, CUDA 13.0): nothing that can be measured in the kernels' times; a sample takes up to 56 ns of a processor, most of
 * it in CUPTI's threads; 21 bytes of the buffer each; to begin takes 80 ms, to end as much. With a kernel at a time (the other mode) each launch takes 0.7 ms.
 */
#include "sonde_cuda.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_pcsampling.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "aside.h"
#include "claim.h"
#include "counters/metrics.h"

#define STALLS_MAP(X)                              \
    X(cuptiPCSamplingEnable)                       \
    X(cuptiPCSamplingDisable)                      \
    X(cuptiPCSamplingSetConfigurationAttribute)    \
    X(cuptiPCSamplingGetNumStallReasons)           \
    X(cuptiPCSamplingGetStallReasons)              \
    X(cuptiPCSamplingGetData)                      \
    X(cuptiGetCubinCrc)                            \
    X(cuptiGetSassToSourceCorrelation)

#define PLACES_MAX   16u
#define REASONS_MAX  128u
#define PCS          8192u             /* instructions that are taken at once */
#define BUFFER_BYTES ((size_t)64 << 20) /* the device's: a second and more at the shortest default interval */
#define CODE_MAX     ((size_t)256 << 20) /* kept for their lines */
#define TURN_NS      100000000         /* between two looks: as often as CUPTI's threads read the device */
#define GONE_MS      3000              /* a context goes: for as long the thread may still be busy with it */
#define DYING_NS     300000000u        /* at the end, whatever it is: a look at the device takes that long at worst */

struct pcs { /* room for what CUPTI tells, in pages */
    CUpti_PCSamplingData data;
    CUpti_PCSamplingPCData pc[PCS];
    CUpti_PCSamplingStallReason reasons[PCS * REASONS_MAX];
};

enum { /* the context is being destroyed, */
       GOES = 1, /* who does that waits for the place; */
       GONE,     /* does not wait any more */
};

struct place { /* a context of CUDA's */
    struct sonde_lock lock;      /* of what follows, but `used` */
    bool used;                   /* under the lock over all */
    _Atomic int gone;            /* GOES, GONE */
    bool on, full;
    CUcontext context;
    uint32_t uid, ordinal;       /* ordinal, of its device: under the lock over all */
    uint32_t pci[3];             /* domain, bus, device */
    size_t reasons;
    uint32_t reason[REASONS_MAX]; /* by CUPTI's index: a string, 0 none */
    bool idle[REASONS_MAX];      /* counts those again in whose cycle nothing was issued */
    struct pcs *taken, *rest;    /* that we ask for; that CUPTI fills by itself, at the end at least */
    uint64_t all, known;         /* samples that CUPTI counts, and those that were told of */
};

struct names { /* of reasons, while they are asked for */
    uint32_t index[REASONS_MAX];
    char *text[REASONS_MAX], room[REASONS_MAX][CUPTI_STALL_REASON_STRING_SIZE];
};

struct code { /* with lines, for as long as the program runs */
    struct code *next;
    uint64_t crc;
    size_t bytes;
    uint8_t cubin[];
};

bool sonde__cuda_stalling;

static struct {
    uint32_t shift;               /* 2^shift cycles between two samples */
    struct sonde_lock lock;       /* of `used` and `codes` */
    struct place places[PLACES_MAX];
    struct code *codes;
    size_t code_bytes;
    struct sonde_shared_map lines; /* hash of code, function and offset -> file's string << 32 | line */
#define X(name) __typeof__(&name) name;
    STALLS_MAP(X)
#undef X
} s;

static void work(bool last);
static struct sonde_cuda_aside aside = {.name = "sonde-stalls", .what = "pc", .work = work};

const char *sonde__cuda_stalls_begin(uint64_t cycles, char *room, size_t size)
{
    const char *why = sonde__cupti_counters();
    if (why)
        return why;
#define X(name)                                                                  \
    if (!(*(void **)&s.name = sonde__metrics_function(#name, room, size)))       \
        return room;
    STALLS_MAP(X)
#undef X
    for (s.shift = 5; s.shift < 31 && (uint64_t)1 << s.shift < cycles;)
        s.shift++;
    memset(s.places, 0, sizeof s.places);
    sonde__cuda_aside_again(&aside);
    sonde__cuda_stalling = true;
    return NULL;
}

static bool worked(CUptiResult result, const char *what)
{
    const char *why = "";
    if (result == CUPTI_SUCCESS)
        return true;
    sonde__cupti.cuptiGetResultString(result, &why);
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        sonde_note("pc: this user may not sample the device; run as root, or let the administrator load the driver with "
                   "NVreg_RestrictProfilingToAdminUsers=0");
    else
        sonde_note("pc: %s: %s (%d)", what, why, (int)result);
    return false;
}

/* ---- code, for its lines --------------------------------------------------------------------------- */

/* Does it have lines? Code of libraries has none, and need not be kept. */
static bool has_lines(const uint8_t *cubin, size_t bytes)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, cubin, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof section || head.e_shoff > bytes ||
        (bytes - head.e_shoff) / sizeof section < head.e_shnum || head.e_shstrndx >= head.e_shnum)
        return false;
    memcpy(&names, cubin + head.e_shoff + head.e_shstrndx * sizeof names, sizeof names);
    for (uint32_t i = 0; i < head.e_shnum; i++) {
        static const char wanted[] = ".debug_line";
        memcpy(&section, cubin + head.e_shoff + i * sizeof section, sizeof section);
        const uint64_t at = names.sh_offset + section.sh_name;
        if (at >= names.sh_offset && at <= bytes - sizeof wanted && memcmp(cubin + at, wanted, sizeof wanted) == 0)
            return true;
    }
    return false;
}

void sonde__cuda_stalls_module(const CUpti_ModuleResourceData *module)
{
    const size_t bytes = module ? module->cubinSize : 0;
    if (!sonde__cuda_stalling || !bytes || !module->pCubin || !has_lines((const uint8_t *)module->pCubin, bytes))
        return;
    CUpti_GetCubinCrcParams crc = {.size = CUpti_GetCubinCrcParamsSize, .cubinSize = bytes, .cubin = module->pCubin};
    if (s.cuptiGetCubinCrc(&crc) != CUPTI_SUCCESS)
        return;
    sonde__lock(&s.lock);
    bool wanted = true;
    for (const struct code *c = s.codes; c && wanted; c = c->next)
        wanted = c->crc != crc.cubinCrc;
    const bool fits = s.code_bytes + bytes <= CODE_MAX;
    struct code *c = wanted && fits ? sonde__pages_get(sizeof *c + bytes) : NULL;
    if (c) {
        *c = (struct code){.next = s.codes, .crc = crc.cubinCrc, .bytes = bytes};
        memcpy(c->cubin, module->pCubin, bytes);
        s.codes = c;
        s.code_bytes += bytes;
    }
    sonde__unlock(&s.lock);
    if (wanted && !c)
        sonde_note("pc: no room for all code, so that some of it has no lines");
}

static const struct code *code_of(uint64_t crc)
{
    sonde__lock(&s.lock);
    const struct code *c = s.codes; /* what is in the list stays */
    sonde__unlock(&s.lock);
    while (c && c->crc != crc)
        c = c->next;
    return c;
}

/* A string, 0 unknown. */
static uint32_t path_of(const char *folder, const char *file)
{
    char path[4096];
    const bool relative = folder && *folder && file && *file != '/';
    const int length = snprintf(path, sizeof path, "%s%s%s", relative ? folder : "", relative ? "/" : "", file ? file : "");
    return length > 0 && (size_t)length < sizeof path ? sonde_string(path, (size_t)length) : 0;
}

static uint64_t ask_line(const CUpti_PCSamplingPCData *pc)
{
    const struct code *c = code_of(pc->cubinCrc);
    CUpti_GetSassToSourceCorrelationParams p = {.size = CUpti_GetSassToSourceCorrelationParamsSize, .functionName = pc->functionName, .pcOffset = pc->pcOffset};
    uint64_t line = 0;
    if (!c)
        return 0;
    p.cubin = c->cubin;
    p.cubinSize = c->bytes;
    if (s.cuptiGetSassToSourceCorrelation(&p) == CUPTI_SUCCESS && p.lineNumber)
        line = (uint64_t)path_of(p.dirName, p.fileName) << 32 | p.lineNumber;
    free(p.fileName); /* ours to free, as CUPTI says */
    free(p.dirName);
    return line;
}

static uint64_t line_of(const CUpti_PCSamplingPCData *pc)
{
    const uint64_t said[] = {pc->cubinCrc, (uint64_t)pc->functionIndex << 32 | pc->pcOffset}, key = XXH3_64bits(said, sizeof said) | 1;
    uint64_t line = 0;
    if (!sonde__shared_map_get(&s.lines, key, &line)) {
        line = ask_line(pc);
        sonde__shared_map_put(&s.lines, key, line);
    }
    return line;
}

/* ---- what CUPTI tells --------------------------------------------------------------------------------- */

static void keep_pc(struct place *p, struct sonde_stall *where, const CUpti_PCSamplingPCData *pc)
{
    const char *name = pc->functionName ? pc->functionName : "";
    const uint64_t line = line_of(pc);
    where->function = sonde_string(name, strlen(name));
    where->code = pc->cubinCrc;
    where->offset = pc->pcOffset;
    where->file = (uint32_t)(line >> 32);
    where->line = (uint32_t)line;
    for (size_t i = 0; i < pc->stallReasonCount && i < p->reasons; i++) {
        const uint32_t index = pc->stallReason[i].pcSamplingStallReasonIndex, count = pc->stallReason[i].samples;
        where->reason = index < REASONS_MAX ? p->reason[index] : 0;
        if (!where->reason || !count)
            continue;
        const bool kept = sonde_stalled(where, p->idle[index] ? 0 : count, p->idle[index] ? count : 0);
        p->known += kept && !p->idle[index] ? count : 0;
    }
}

static void keep_sum(struct place *p, struct sonde_stall *where, enum sonde_stall_kind kind, uint64_t samples)
{
    where->kind = kind;
    if (samples && sonde_stalled(where, samples, 0))
        p->known += samples;
}

/* Rows of what is not of an instruction, before those take all the room. */
static void make_rows(const struct place *p)
{
    struct sonde_stall where = {.device = sonde__cuda_context_device(p->uid), .cycles = 1u << s.shift};
    for (where.kind = SONDE_STALL_KIND_ELSEWHERE; where.kind < SONDE_STALL_KIND_COUNT; where.kind++)
        sonde_stalled(&where, 0, 0);
}

static void keep(struct place *p, CUpti_PCSamplingData *data)
{
    struct sonde_stall where = {.device = sonde__cuda_context_device(p->uid), .cycles = 1u << s.shift};
    if (!p->all && data->totalSamples)
        make_rows(p);
    for (size_t i = 0; i < data->totalNumPcs && i < PCS; i++)
        keep_pc(p, &where, &data->pPcData[i]);
    where = (struct sonde_stall){.device = where.device, .cycles = where.cycles};
    keep_sum(p, &where, SONDE_STALL_KIND_ELSEWHERE, data->nonUsrKernelsTotalSamples);
    keep_sum(p, &where, SONDE_STALL_KIND_DROPPED, data->droppedSamples);
    p->all += data->totalSamples;
    data->totalSamples = data->droppedSamples = data->nonUsrKernelsTotalSamples = data->totalNumPcs = 0;
}

static CUptiResult let_go(struct place *p)
{
    CUpti_PCSamplingDisableParams off = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = p->context};
    return s.cuptiPCSamplingDisable(&off);
}

/* What is left comes into `rest`, and what never came is lost. Where CUPTI does not let go it may write to `rest` later: that stays with it, as the
 * device does. */
static void disable(struct place *p)
{
    struct sonde_stall where = {.device = sonde__cuda_context_device(p->uid), .cycles = 1u << s.shift};
    p->on = false;
    if (worked(let_go(p), "cannot stop")) {
        keep(p, &p->rest->data);
        sonde__claim_release(p->pci[0], p->pci[1], p->pci[2]);
    } else {
        p->rest = NULL;
    }
    if (p->all > p->known)
        keep_sum(p, &where, SONDE_STALL_KIND_LOST, p->all - p->known);
}

static void say_full(struct place *p)
{
    const uint32_t shift = s.shift + 2 < 30 ? s.shift + 2 : 30;
    p->full = true;
    sonde_note("pc: the device's buffer of samples was full, and the rest of this run's are missing: ask for fewer (--pc=%u)", 1u << shift);
}

/* All that is there. Under the place's lock. */
static void take(struct place *p)
{
    CUpti_PCSamplingGetDataParams get = {.size = CUpti_PCSamplingGetDataParamsSize, .ctx = p->context, .pcSamplingData = p->on ? &p->taken->data : NULL};
    for (size_t left = 1; left && p->on && !atomic_load(&p->gone);) {
        const CUptiResult result = s.cuptiPCSamplingGetData(&get);
        if (result == CUPTI_SUCCESS) {
            left = p->taken->data.remainingNumPcs;
            keep(p, &p->taken->data);
        } else if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
            left = 0;
            if (!p->full)
                say_full(p);
        } else {
            worked(result, "cannot read samples");
            disable(p);
        }
    }
}

/* ---- a context ---------------------------------------------------------------------------------------- */

static struct pcs *make_room(size_t reasons)
{
    struct pcs *r = sonde__pages_get(sizeof *r);
    if (!r)
        return NULL;
    r->data = (CUpti_PCSamplingData){.size = sizeof r->data, .collectNumPcs = PCS, .pPcData = r->pc};
    for (size_t i = 0; i < PCS; i++) {
        r->pc[i].size = sizeof r->pc[i];
        r->pc[i].stallReason = &r->reasons[i * reasons];
    }
    return r;
}

static void name_reason(struct place *p, uint32_t index, const char *text)
{
    static const char before[] = "stalled_", after[] = "_not_issued";
    const char *name = strstr(text, before);
    if (!name || index >= REASONS_MAX)
        return; /* how many samples there were, and how many were dropped */
    name += sizeof before - 1;
    size_t length = strlen(name);
    p->idle[index] = length > sizeof after - 1 && strcmp(name + length - (sizeof after - 1), after) == 0;
    length -= p->idle[index] ? sizeof after - 1 : 0;
    p->reason[index] = sonde_string(name, length);
}

static bool ask_names(struct place *p, struct names *n)
{
    CUpti_PCSamplingGetStallReasonsParams names = {
        .size = CUpti_PCSamplingGetStallReasonsParamsSize, .ctx = p->context, .numStallReasons = p->reasons, .stallReasonIndex = n->index, .stallReasons = n->text};
    for (size_t i = 0; i < p->reasons; i++)
        n->text[i] = n->room[i];
    if (!worked(s.cuptiPCSamplingGetStallReasons(&names), "cannot tell for which reasons warps of this device wait"))
        return false;
    for (size_t i = 0; i < p->reasons; i++)
        name_reason(p, n->index[i], n->room[i]);
    return true;
}

static bool name_reasons(struct place *p)
{
    CUpti_PCSamplingGetNumStallReasonsParams count = {.size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = p->context, .numStallReasons = &p->reasons};
    if (!worked(s.cuptiPCSamplingGetNumStallReasons(&count), "cannot tell for which reasons warps of this device wait"))
        return false;
    if (p->reasons > REASONS_MAX) {
        sonde_note("pc: warps of this device wait for more reasons than Sonde knows: %zu", p->reasons);
        return false;
    }
    struct names *n = sonde__pages_get(sizeof *n);
    const bool named = n && ask_names(p, n);
    sonde__pages_put(n, sizeof *n);
    return named;
}

static bool configure(struct place *p)
{
    CUpti_PCSamplingConfigurationInfo info[] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE, .attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, .attributeData.samplingPeriodData.samplingPeriod = s.shift},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE, .attributeData.hardwareBufferSizeData.hardwareBufferSize = BUFFER_BYTES},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER, .attributeData.samplingDataBufferData.samplingDataBuffer = &p->rest->data},
    };
    CUpti_PCSamplingConfigurationInfoParams config = {
        .size = CUpti_PCSamplingConfigurationInfoParamsSize, .ctx = p->context, .numAttributes = sizeof info / sizeof *info, .pPCSamplingConfigurationInfo = info};
    return worked(s.cuptiPCSamplingSetConfigurationAttribute(&config), "the device does not take this interval");
}

/* No other process samples the device. */
static bool claim(struct place *p)
{
    static const CUdevice_attribute parts[] = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
    CUdevice device = 0;
    int by = 0, value = 0;
    bool known = sonde__cudrv.cuDeviceGet(&device, (int)p->ordinal) == CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && known; i++) {
        known = sonde__cudrv.cuDeviceGetAttribute(&value, parts[i], device) == CUDA_SUCCESS;
        p->pci[i] = (uint32_t)value;
    }
    if (!known) {
        sonde_note("pc: the driver does not say where device %u is, so it is not sampled", p->ordinal);
        return false;
    }
    if (sonde__claim(p->pci[0], p->pci[1], p->pci[2], &by))
        return true;
    sonde_note("pc: process %d samples this device, and one at a time can: kernels of this process have no samples", by);
    return false;
}

static void give_back(struct place *p)
{
    sonde__lock(&s.lock);
    p->used = false;
    sonde__unlock(&s.lock);
}

static bool make_rooms(struct place *p)
{
    p->taken = make_room(p->reasons);
    p->rest = make_room(p->reasons);
    if (!p->taken || !p->rest)
        sonde_note("pc: no memory for samples");
    return p->taken && p->rest;
}

static void put_rooms(struct place *p)
{
    sonde__pages_put(p->taken, sizeof *p->taken);
    sonde__pages_put(p->rest, sizeof *p->rest);
    p->taken = p->rest = NULL;
}

/* CUPTI begins threads: none of the program's signals are for them. */
static void enable(struct place *p)
{
    CUpti_PCSamplingEnableParams on = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = p->context};
    sigset_t all, before;
    if (!claim(p))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (worked(s.cuptiPCSamplingEnable(&on), "cannot sample in this context (another tool may do that)")) {
        p->on = name_reasons(p) && make_rooms(p) && configure(p);
        if (!p->on && let_go(p) == CUPTI_SUCCESS)
            put_rooms(p);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!p->on)
        sonde__claim_release(p->pci[0], p->pci[1], p->pci[2]);
}

/* For this context, if none of its device has one; NULL with a note. */
static struct place *place_for(uint32_t ordinal)
{
    struct place *p = NULL;
    bool another = false;
    sonde__lock(&s.lock);
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        another |= s.places[i].used && s.places[i].ordinal == ordinal;
        p = p || s.places[i].used ? p : &s.places[i];
    }
    p = another ? NULL : p;
    if (p) {
        p->used = true;
        p->ordinal = ordinal;
    }
    sonde__unlock(&s.lock);
    if (another)
        sonde_note("pc: of several contexts of a device at once only the first is sampled: kernels in the others have no samples");
    else if (!p)
        sonde_note("pc: on no more than %u devices", PLACES_MAX);
    return p;
}

void sonde__cuda_stalls_context(CUcontext context)
{
    uint32_t uid = 0, ordinal = 0;
    if (!sonde__cuda_stalling || sonde__cupti.cuptiGetContextId(context, &uid) != CUPTI_SUCCESS ||
        sonde__cupti.cuptiGetDeviceId(context, &ordinal) != CUPTI_SUCCESS)
        return;
    struct place *p = place_for(ordinal);
    if (!p)
        return;
    sonde__cuda_quiet(true);
    sonde__lock(&p->lock);
    p->context = context;
    p->uid = uid;
    p->full = false;
    atomic_store(&p->gone, 0);
    p->all = p->known = 0;
    enable(p);
    const bool on = p->on;
    if (!on)
        p->context = NULL;
    sonde__unlock(&p->lock);
    sonde__cuda_quiet(false);
    if (on)
        sonde__cuda_aside_start(&aside);
    else
        give_back(p); /* the next context may do better */
}

/* Under the place's lock: the context is nobody's any more. */
static void leave(struct place *p)
{
    if (p->on)
        disable(p);
    put_rooms(p);
    p->context = NULL;
}

void sonde__cuda_stalls_context_gone(CUcontext context)
{
    if (!sonde__cuda_stalling)
        return;
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        struct place *p = &s.places[i];
        if (p->context != context)
            continue;
        atomic_store(&p->gone, GOES); /* our thread comes back at its next look at the device */
        if (!sonde__lock_within(&p->lock, GONE_MS)) {
            atomic_store(&p->gone, GONE);
            continue;
        }
        atomic_store(&p->gone, 0);
        sonde__cuda_quiet(true);
        take(p);
        leave(p);
        sonde__cuda_quiet(false);
        sonde__unlock(&p->lock);
        give_back(p);
    }
}

/* The context was destroyed meanwhile: nothing can be asked of it, and `rest` is whosever it is. */
static void abandon(struct place *p)
{
    struct sonde_stall where = {.device = sonde__cuda_context_device(p->uid), .cycles = 1u << s.shift};
    if (p->all > p->known)
        keep_sum(p, &where, SONDE_STALL_KIND_LOST, p->all - p->known);
    sonde_note("pc: a context was destroyed while its samples were read: the last of them are missing");
    sonde__claim_release(p->pci[0], p->pci[1], p->pci[2]);
    p->on = false;
    p->rest = NULL;
    put_rooms(p);
    p->context = NULL;
    atomic_store(&p->gone, 0);
}

/* ---- our thread ------------------------------------------------------------------------------------------ */

static void work(bool last)
{
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        struct place *p = &s.places[i];
        sonde__lock(&p->lock);
        if (p->context)
            take(p);
        if (p->on && last && !atomic_load(&p->gone))
            disable(p);
        const bool gone = p->context && atomic_load(&p->gone) == GONE;
        if (gone)
            abandon(p);
        sonde__unlock(&p->lock);
        if (gone)
            give_back(p);
    }
}

void sonde__cuda_stalls_turn(void)
{
    if (sonde__cuda_stalling)
        sonde__cuda_aside_turn(&aside, TURN_NS);
}

void sonde__cuda_stalls_last(uint64_t patience_ns)
{
    if (sonde__cuda_stalling)
        sonde__cuda_aside_last(&aside, patience_ns > DYING_NS ? patience_ns : DYING_NS, NULL);
}

void sonde__cuda_stalls_forget(void)
{
    sonde__cuda_stalling = false; /* CUDA does not work there */
}
