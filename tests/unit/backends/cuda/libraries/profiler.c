/* profiler.c - CUPTI's range profiler and PM sampling, made up: each kernel that runs between a start and a stop is a range, whose value of the n-th metric
 * is the kernel's own plus n. It knows the metrics whose names begin with "known". Sequences that CUPTI forbids end the test.
 *
 * In a process that no test is in (tests/monitor/gpus_test.py) it is the driver, too: SONDE_TEST_SAMPLES says how many samples there are at each reading, of 10 ms, with the
 * value 100; SONDE_TEST_REFUSES what Enable answers. */
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "profiler.h"

struct made_profiler made_profiler;
static struct host {
    size_t metrics, additions;
    bool samples;
} hosts[64];
static size_t host_count;

static struct host *host_of(CUpti_Profiler_Host_Object *object)
{
    return (struct host *)(void *)object;
}

void made_profiler_runs(double value)
{
    if (made_profiler.running)
        made_profiler.value[made_profiler.ranges++] = value;
}

static bool initialized;
static size_t decoded, decoded_from; /* what the image holds */

static void must(bool holds)
{
    if (!holds)
        abort();
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    (void)result;
    *text = "made up";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    must(p->structSize == CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    initialized = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    p->pChipName = "MADE";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    const bool samples = p->profilerType == CUPTI_PROFILER_TYPE_PM_SAMPLING;
    must(strcmp(p->pChipName, "MADE") == 0 && (!samples || (p->pCounterAvailabilityImage && p->pCounterAvailabilityImage[49] == 3)));
    struct host *host = &hosts[host_count++ % 64];
    *host = (struct host){.samples = samples};
    p->pHostObject = (CUpti_Profiler_Host_Object *)host;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    must(p->pHostObject != NULL);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    for (size_t i = 0; i < p->numMetrics; i++)
        if (strncmp(p->ppMetricNames[i], "known", 5) != 0 && strncmp(p->ppMetricNames[i], "smknown", 7) != 0)
            return CUPTI_ERROR_INVALID_PARAMETER;
    host_of(p->pHostObject)->metrics += p->numMetrics;
    host_of(p->pHostObject)->additions++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    p->pDimUnit = "byte";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    p->configImageSize = 100;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    must(p->configImageSize == 100);
    memset(p->pConfigImage, 7, 100);
    p->pConfigImage[98] = (uint8_t)host_of(p->pHostObject)->additions;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    must(p->pConfigImage[99] == 7);
    p->numOfPasses = made_profiler.passes * p->pConfigImage[98]; /* what is added by itself is measured by itself, as CUPTI 13.0 has it */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    const struct host *host = host_of(p->pHostObject);
    must(p->numMetrics == host->metrics);
    must(host->samples ? p->rangeIndex < decoded : !made_profiler.running && p->rangeIndex < made_profiler.ranges);
    const double value = host->samples ? made_profiler.sample[decoded_from + p->rangeIndex].value : made_profiler.value[p->rangeIndex];
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] = value + (double)i;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
    must(p->ctx != NULL);
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&made_profiler;
    return (CUptiResult)made_profiler.refuses;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
    must(p->pRangeProfilerObject && !made_profiler.running);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    made_profiler.most = p->maxNumOfRanges;
    p->counterDataSize = 1000;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    must(p->counterDataSize == 1000 && !made_profiler.running);
    made_profiler.ranges = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
    must(p->configSize == 100 && p->range == CUPTI_AutoRange && p->maxRangesPerPass == made_profiler.most);
    made_profiler.configs++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
    must(p->pRangeProfilerObject && !made_profiler.running && made_profiler.configs);
    made_profiler.running = true;
    made_profiler.starts++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
    must(made_profiler.running && made_profiler.ranges <= made_profiler.most);
    made_profiler.running = false;
    p->isAllPassSubmitted = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
    must(!made_profiler.running);
    p->numOfRangeDropped = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    p->numTotalRanges = made_profiler.ranges - made_profiler.lost;
    return CUPTI_SUCCESS;
}

/* ---- PM sampling: an image holds ten samples; one that was not emptied is full ------------------------ */

CUptiResult cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *p)
{
    if (!initialized)
        return CUPTI_ERROR_INVALID_PARAMETER; /* as an H100 with CUDA 13.0 does */
    if (p->pCounterAvailabilityImage)
        memset(p->pCounterAvailabilityImage, 3, 50);
    p->counterAvailabilityImageSize = 50;
    return CUPTI_SUCCESS;
}

static size_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? (size_t)atol(text) : 0;
}

CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
    if (number_of("SONDE_TEST_REFUSES"))
        return (CUptiResult)number_of("SONDE_TEST_REFUSES");
    must(made_profiler.enabled == made_profiler.disabled);
    if (made_profiler.refuses)
        return (CUptiResult)made_profiler.refuses;
    made_profiler.enabled++;
    p->pPmSamplingObject = (CUpti_PmSampling_Object *)&made_profiler;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
    must(p->pPmSamplingObject && !made_profiler.running);
    made_profiler.disabled++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
    must(p->configSize == 100 && p->pConfig[99] == 7 && p->hardwareBufferSize && p->samplingInterval);
    made_profiler.interval = p->samplingInterval;
    made_profiler.trigger = p->triggerMode;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
    must(p->maxSamples >= 10);
    p->counterDataSize = 500;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
    must(p->counterDataSize == 500);
    decoded = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
    must(p->pPmSamplingObject && !made_profiler.running && made_profiler.interval);
    made_profiler.running = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
    must(p->pPmSamplingObject && made_profiler.running);
    made_profiler.running = false;
    return CUPTI_SUCCESS;
}

static void note_more(void)
{
    static uint64_t ended;
    const size_t more = number_of("SONDE_TEST_SAMPLES");
    if (!more || made_profiler.taken < made_profiler.samples)
        return;
    made_profiler.taken = 0;
    made_profiler.samples = more;
    for (size_t i = 0; i < more; i++, ended += 10000000)
        made_profiler.sample[i] = (struct made_sample){ended, ended + 10000000, 100};
}

CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
    must(decoded == 0 && p->counterDataImageSize == 500);
    note_more();
    const size_t there = made_profiler.samples - made_profiler.taken;
    decoded_from = made_profiler.taken;
    decoded = there < 10 ? there : 10;
    made_profiler.taken += decoded;
    p->decodeStopReason = there > 10 ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    p->overflow = made_profiler.overflows;
    made_profiler.overflows = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
    p->numCompletedSamples = p->numPopulatedSamples = decoded;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
    must(p->sampleIndex < decoded);
    p->startTimestamp = made_profiler.sample[decoded_from + p->sampleIndex].from;
    p->endTimestamp = made_profiler.sample[decoded_from + p->sampleIndex].to;
    return CUPTI_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context)
{
    must(context != NULL);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = NULL;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

/* One device: that which is asked for first. */
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *address)
{
    static char only[64];
    if (!*only)
        strncpy(only, address, sizeof only - 1);
    *device = 0;
    return strcmp(only, address) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
