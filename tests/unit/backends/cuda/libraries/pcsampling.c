/* pcsampling.c - CUPTI's PC sampling, made up. Sequences that CUPTI forbids end the test. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

#include "pcsampling.h"

enum { CONTEXTS = 16,
       REASONS = 40,
       WAITING = 5,
       IDLE = 2,
       ISSUED = 3 };

struct made_pcsampling made_pcsampling;
static CUpti_PCSamplingData *rest[CONTEXTS]; /* by context, as given; NULL: not enabled */
static bool enabled[CONTEXTS];

static size_t at(CUcontext context)
{
    const size_t n = (uintptr_t)context;
    if (n >= CONTEXTS)
        abort();
    return n;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
    if (made_pcsampling.enables_as)
        return (CUptiResult)made_pcsampling.enables_as;
    must(!enabled[at(p->ctx)]);
    enabled[at(p->ctx)] = true;
    made_pcsampling.enabled++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
    must(enabled[at(p->ctx)]);
    *p->numStallReasons = REASONS;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
    static const struct {
        uint32_t index;
        const char *name;
    } named[] = {
        {0, "smsp__pcsamp_sample_count"}, {1, "smsp__pcsamp_samples_data_dropped"}, {MADE_WAIT, "smsp__pcsamp_warps_issue_stalled_wait"}, {MADE_WAIT_IDLE, "smsp__pcsamp_warps_issue_stalled_wait_not_issued"}, {MADE_SELECTED, "smsp__pcsamp_warps_issue_stalled_selected"}};
    must(p->numStallReasons == REASONS);
    for (uint32_t i = 0; i < REASONS; i++) {
        p->stallReasonIndex[i] = REASONS - 1 - i; /* in no order */
        snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "smsp__pcsamp_warps_issue_stalled_other%u", p->stallReasonIndex[i]);
        for (size_t k = 0; k < sizeof named / sizeof *named; k++)
            if (named[k].index == p->stallReasonIndex[i])
                strcpy(p->stallReasons[i], named[k].name);
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    must(enabled[at(p->ctx)]);
    for (size_t i = 0; i < p->numAttributes; i++) {
        const CUpti_PCSamplingConfigurationInfo *info = &p->pPCSamplingConfigurationInfo[i];
        if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
            made_pcsampling.shift = info->attributeData.samplingPeriodData.samplingPeriod;
        else if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
            made_pcsampling.mode = info->attributeData.collectionModeData.collectionMode;
        else if (info->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
            rest[at(p->ctx)] = info->attributeData.samplingDataBufferData.samplingDataBuffer;
    }
    return CUPTI_SUCCESS;
}

static void hand_out(CUpti_PCSamplingData *d, _Atomic size_t *count)
{
    const size_t all = *count, now = all < d->collectNumPcs ? all : d->collectNumPcs;
    must(d->size == sizeof *d && d->pPcData);
    for (size_t i = 0; i < now; i++) {
        CUpti_PCSamplingPCData *pc = &d->pPcData[i];
        must(pc->size == sizeof *pc && pc->stallReason);
        pc->cubinCrc = 7;
        pc->pcOffset = 16 * (made_pcsampling.given % 100000);
        pc->functionName = (char *)(uintptr_t)(made_pcsampling.given % 2 ? "odd" : "even");
        pc->functionIndex = made_pcsampling.given++ % 2;
        pc->stallReasonCount = 3;
        pc->stallReason[0] = (CUpti_PCSamplingStallReason){MADE_WAIT, WAITING};
        pc->stallReason[1] = (CUpti_PCSamplingStallReason){MADE_WAIT_IDLE, IDLE};
        pc->stallReason[2] = (CUpti_PCSamplingStallReason){MADE_SELECTED, ISSUED};
    }
    d->totalNumPcs = now;
    d->remainingNumPcs = all - now;
    d->nonUsrKernelsTotalSamples = atomic_exchange(&made_pcsampling.elsewhere, 0);
    d->droppedSamples = atomic_exchange(&made_pcsampling.dropped, 0);
    d->totalSamples = now * (WAITING + ISSUED) + d->nonUsrKernelsTotalSamples + d->droppedSamples + atomic_exchange(&made_pcsampling.secret, 0);
    *count -= now;
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
    must(enabled[at(p->ctx)] && rest[at(p->ctx)] && p->pcSamplingData != rest[at(p->ctx)]);
    made_pcsampling.readings++;
    const unsigned ms = made_pcsampling.slow_ms;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l}, NULL);
    must(enabled[at(p->ctx)]); /* nobody has let go of it meanwhile */
    if (made_pcsampling.reads_as)
        return (CUptiResult)made_pcsampling.reads_as;
    hand_out(p->pcSamplingData, &made_pcsampling.waiting);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
    must(enabled[at(p->ctx)]);
    made_pcsampling.disabled++;
    if (made_pcsampling.disables_as)
        return (CUptiResult)made_pcsampling.disables_as;
    enabled[at(p->ctx)] = false;
    if (rest[at(p->ctx)])
        hand_out(rest[at(p->ctx)], &made_pcsampling.at_end);
    rest[at(p->ctx)] = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
    p->cubinCrc = 7;
    return CUPTI_SUCCESS;
}

/* The names are the caller's to free. */
CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *p)
{
    must(p->cubin && p->cubinSize && p->functionName);
    p->lineNumber = 1 + (uint32_t)(p->pcOffset / 16);
    p->fileName = strdup(strcmp(p->functionName, "odd") == 0 ? "kernels.cu" : "/else/even.cu");
    p->dirName = strdup("/src");
    return CUPTI_SUCCESS;
}
