/* counters.c - `sonde doctor --counters`: the sets and metrics of record --counters that a kind of device has, from CUPTI's tables. Needs no
 * device where --chip names one, only CUPTI. */
#include "doctor.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/kinds.h>

#include "base/text.h"
#include "cmds/command.h"
#include "monitor/cupti.h"

#ifdef SONDE_CUDA
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

enum { METRICS_MAX = 32 };

#define COUNTERS_MAP(X)                    \
    X(cuptiProfilerInitialize)             \
    X(cuptiDeviceGetChipName)              \
    X(cuptiProfilerHostInitialize)         \
    X(cuptiProfilerHostDeinitialize)       \
    X(cuptiProfilerHostGetSupportedChips)  \
    X(cuptiProfilerHostGetBaseMetrics)     \
    X(cuptiProfilerHostGetMetricProperties) \
    X(cuptiProfilerHostConfigAddMetrics)   \
    X(cuptiProfilerHostGetConfigImageSize) \
    X(cuptiProfilerHostGetConfigImage)     \
    X(cuptiProfilerHostGetNumOfPasses)

static struct {
#define X(name) __typeof__(&name) name;
    COUNTERS_MAP(X)
#undef X
} cupti;

/* ---- CUPTI ----------------------------------------------------------------------------------- */

static bool open_cupti(void)
{
    void *library = sonde_cupti_open();
    const char *lacks = NULL;
    if (!library) {
        sonde_say(SONDE_CUPTI_MISSING);
        return false;
    }
#define X(name)                                                  \
    if (!(*(void **)&cupti.name = dlsym(library, #name)) && !lacks) \
        lacks = #name;
    COUNTERS_MAP(X)
#undef X
    if (lacks)
        sonde_say("this libcupti.so has no %s: CUDA 12.6 and later have it", lacks);
    return !lacks;
}

/* Of the first device. NULL: there is none. The profiler begins behind the driver: where it could not, asking it for a chip is a crash. */
static const char *chip_here(void)
{
    static CUpti_Device_GetChipName_Params chip = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE};
    CUpti_Profiler_Initialize_Params profiler = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    const bool begun = sonde_cuda_driver_open() && cupti.cuptiProfilerInitialize(&profiler) == CUPTI_SUCCESS;
    return begun && cupti.cuptiDeviceGetChipName(&chip) == CUPTI_SUCCESS ? chip.pChipName : NULL;
}

static CUpti_Profiler_Host_Object *open_chip(const char *chip)
{
    CUpti_Profiler_Host_Initialize_Params host = {.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
                                                  .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                                                  .pChipName = chip};
    return cupti.cuptiProfilerHostInitialize(&host) == CUPTI_SUCCESS ? host.pHostObject : NULL;
}

static void close_chip(CUpti_Profiler_Host_Object *host)
{
    CUpti_Profiler_Host_Deinitialize_Params end = {.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE, .pHostObject = host};
    cupti.cuptiProfilerHostDeinitialize(&end);
}

static void say_chips(const char *chip)
{
    CUpti_Profiler_Host_GetSupportedChips_Params all = {.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
    struct sonde_text names = {0};
    if (cupti.cuptiProfilerHostGetSupportedChips(&all) == CUPTI_SUCCESS)
        for (size_t i = 0; i < all.numChips; i++)
            sonde_text_format(&names, "%s%s", i ? ", " : "", all.ppChipNames[i]);
    if (chip)
        sonde_say("CUPTI does not know the chip %s; it knows %s", chip, sonde_text_get(&names));
    else
        sonde_say("no CUDA device is here; name a chip with --chip: %s", sonde_text_get(&names));
    sonde_text_fini(&names);
}

/* ---- sets and metrics -------------------------------------------------------------------------- */

/* How often a kernel must run for all of these; 0: the chip does not have them. */
static size_t passes_of(const char *chip, const char *metrics)
{
    CUpti_Profiler_Host_Object *host = open_chip(chip);
    const char *names[METRICS_MAX];
    size_t count = 0;
    char *list = strdup(metrics), *rest = NULL;
    if (!host || !list) {
        free(list);
        return 0;
    }
    for (char *name = strtok_r(list, ",", &rest); name && count < METRICS_MAX; name = strtok_r(NULL, ",", &rest))
        names[count++] = name;
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE, .pHostObject = host, .ppMetricNames = names, .numMetrics = count};
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = host};
    CUpti_Profiler_Host_GetConfigImage_Params image = {.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE, .pHostObject = host};
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    if (cupti.cuptiProfilerHostConfigAddMetrics(&add) == CUPTI_SUCCESS && cupti.cuptiProfilerHostGetConfigImageSize(&size) == CUPTI_SUCCESS &&
        (image.pConfigImage = passes.pConfigImage = malloc(size.configImageSize + 1))) {
        image.configImageSize = passes.configImageSize = size.configImageSize;
        if (cupti.cuptiProfilerHostGetConfigImage(&image) != CUPTI_SUCCESS || cupti.cuptiProfilerHostGetNumOfPasses(&passes) != CUPTI_SUCCESS)
            passes.numOfPasses = 0;
    }
    free(image.pConfigImage);
    free(list);
    close_chip(host);
    return passes.numOfPasses;
}

static json_t *sets_of(const char *chip)
{
    static const struct {
        const char *name, *metrics;
    } sets[] = {
#define X(name, metrics) {name, metrics},
        SONDE_COUNTER_SET_MAP(X)
#undef X
    };
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:I}", "name", sets[i].name, "metrics", sets[i].metrics, "passes",
                                             (json_int_t)passes_of(chip, sets[i].metrics)));
    return all;
}

static json_t *metrics_of(CUpti_Profiler_Host_Object *host)
{
    static const char *const kinds[] = {"counter", "ratio", "throughput"};
    json_t *all = json_array();
    for (int kind = 0; kind < 3; kind++) {
        CUpti_Profiler_Host_GetBaseMetrics_Params base = {
            .structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE, .pHostObject = host, .metricType = (CUpti_MetricType)kind};
        if (cupti.cuptiProfilerHostGetBaseMetrics(&base) != CUPTI_SUCCESS)
            continue;
        for (size_t i = 0; i < base.numMetrics; i++) {
            CUpti_Profiler_Host_GetMetricProperties_Params about = {
                .structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE, .pHostObject = host, .pMetricName = base.ppMetricNames[i]};
            const bool known = cupti.cuptiProfilerHostGetMetricProperties(&about) == CUPTI_SUCCESS;
            json_array_append_new(all, json_pack("{s:s, s:s, s:s?, s:s?}", "name", base.ppMetricNames[i], "kind", kinds[kind], "unit",
                                                 known && about.pDimUnit && *about.pDimUnit ? about.pDimUnit : NULL, "description",
                                                 known ? about.pDescription : NULL));
        }
    }
    return all;
}

static void print(const json_t *answer)
{
    size_t index;
    const json_t *row;
    printf("%s\n\nSets of sonde record --counters\n", doctor_text(answer, "chip"));
    json_array_foreach (json_object_get(answer, "sets"), index, row) {
        const json_int_t passes = json_integer_value(json_object_get(row, "passes"));
        printf("  %-9s ", doctor_text(row, "name"));
        if (passes)
            printf("%lld pass%s  ", (long long)passes, passes == 1 ? " " : "es");
        else
            printf("not here  ");
        printf("%s\n", doctor_text(row, "metrics"));
    }
    printf("\nMetrics: a counter's name needs an end, .sum, .avg, .min or .max, and may have .pct_of_peak_sustained_elapsed, .per_second and others "
           "behind it; a ratio's .pct or .ratio\n");
    json_array_foreach (json_object_get(answer, "metrics"), index, row)
        printf("  %-72s %-11s %-12s %s\n", doctor_text(row, "name"), doctor_text(row, "kind"),
               json_is_string(json_object_get(row, "unit")) ? doctor_text(row, "unit") : "", doctor_text(row, "description"));
}

int doctor_counters(const char *chip, bool json)
{
    CUpti_Profiler_Initialize_Params begin = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    if (!open_cupti())
        return SONDE_EXIT_FAILED;
    const char *here = chip ? chip : chip_here();
    cupti.cuptiProfilerInitialize(&begin); /* fails without a driver, and the tables are there nevertheless */
    CUpti_Profiler_Host_Object *host = here ? open_chip(here) : NULL;
    if (!host) {
        say_chips(here);
        return SONDE_EXIT_FAILED;
    }
    json_t *answer = json_pack("{s:s, s:o, s:o}", "chip", here, "sets", sets_of(here), "metrics", metrics_of(host));
    close_chip(host);
    if (!answer) {
        sonde_say("out of memory");
        return SONDE_EXIT_FAILED;
    }
    if (json)
        json_dumpf(answer, stdout, JSON_INDENT(1)), putchar('\n');
    else
        print(answer);
    json_decref(answer);
    return SONDE_EXIT_OK;
}

#else

int doctor_counters(const char *chip, bool json)
{
    (void)chip, (void)json;
    sonde_say("this sonde was built without CUDA");
    return SONDE_EXIT_FAILED;
}
#endif
