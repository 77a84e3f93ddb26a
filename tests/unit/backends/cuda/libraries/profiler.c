/* profiler.c - CUPTI's range profiler, made up: each kernel that runs between a start and a stop is a range, whose value of the n-th metric
 * is the kernel's own plus n. It knows the metrics whose names begin with "known". Sequences that CUPTI forbids end the test. */
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "profiler.h"

struct made_profiler made_profiler;
static size_t metrics;
static size_t additions;

void made_profiler_runs(double value)
{
    if (made_profiler.running)
        made_profiler.value[made_profiler.ranges++] = value;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    must(p->structSize == CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    metrics = additions = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    p->pChipName = "MADE";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    must(strcmp(p->pChipName, "MADE") == 0 && p->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    p->pHostObject = (CUpti_Profiler_Host_Object *)&metrics;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    for (size_t i = 0; i < p->numMetrics; i++)
        if (strncmp(p->ppMetricNames[i], "known", 5) != 0)
            return CUPTI_ERROR_INVALID_PARAMETER;
    metrics += p->numMetrics;
    additions++;
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
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    must(p->pConfigImage[99] == 7);
    p->numOfPasses = made_profiler.passes * additions; /* what is added by itself is measured by itself, as CUPTI 13.0 has it */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    must(!made_profiler.running && p->rangeIndex < made_profiler.ranges && p->numMetrics == metrics);
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] = made_profiler.value[p->rangeIndex] + (double)i;
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
    must(p->numMetrics == metrics);
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
