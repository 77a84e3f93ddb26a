/* config.c - see config.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/backend.h>

#define SONDE_CPU_HZ_MAX 10000u

const char *sonde__settings;

const char *sonde_setting(const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = sonde__settings; at && *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return sonde__settings ? NULL : getenv(name);
}

bool sonde_is_attached(void)
{
    return sonde__settings;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = sonde_setting(name);
    char *end;
    if (!text || !*text)
        return otherwise;
    uint64_t value = strtoull(text, &end, 10);
    return *end ? otherwise : value;
}

bool sonde__config_read(struct sonde_config *config)
{
    const char *out = sonde_setting("SONDE_OUT");
    memset(config, 0, sizeof *config);
    if (!out || out[0] != '/' || strlen(out) >= sizeof config->out)
        return false;
    strcpy(config->out, out);
    config->light = number("SONDE_LIGHT", 0);
    config->trace = !config->light && number("SONDE_TRACE", 1);
    config->check = number("SONDE_CHECK", 0);
    config->no_python = number("SONDE_PYTHON", 1) == 0;
    config->start_off = sonde_is_attached() || number("SONDE_START_OFF", 0); /* until all backends have taken hold */
    config->memory_bytes = number("SONDE_MEMORY", 256u << 20);
    config->values = (unsigned)number("SONDE_VALUES", 0);
    config->values_bytes = number("SONDE_VALUES_MEMORY", 0);
    config->values_host_bytes = number("SONDE_VALUES_HOST_MEMORY", SONDE_VALUES_HOST_QUARTER);
    config->values_first = number("SONDE_VALUES_FIRST", 0);
    config->values_blocks = number("SONDE_VALUES_BLOCKS", 0);
    config->values_of = number("SONDE_VALUES_OF", 0);
    config->comm_cells = number("SONDE_COMM_CELLS", 0);
    const char *kernel = sonde_setting("SONDE_VALUES_KERNEL");
    if (kernel && strlen(kernel) < sizeof config->values_kernel)
        strcpy(config->values_kernel, kernel);
    config->max_bytes = number("SONDE_MAX_SIZE", 0);
    config->last_ns = config->trace ? number("SONDE_LAST", 0) : 0;
    config->delay_ms = number("SONDE_DELAY_MS", 0);
    config->duration_ms = number("SONDE_DURATION_MS", 0);
    const uint64_t cpu_hz = number("SONDE_CPU", 0);
    config->cpu_hz = cpu_hz < SONDE_CPU_HZ_MAX ? (uint32_t)cpu_hz : SONDE_CPU_HZ_MAX;
    const char *counters = sonde_setting("SONDE_CPU_COUNTERS");
    if (counters && strlen(counters) < sizeof config->cpu_counters)
        strcpy(config->cpu_counters, counters);
    config->streams_per_thread = (uint32_t)number("SONDE_STREAMS_PER_THREAD", 256);
    config->rank = sonde_rank_read();
    if (!sonde_rank_job(config->job, sizeof config->job))
        config->job[0] = 0;
    if (config->streams_per_thread == 0)
        config->streams_per_thread = 1;
    if (config->memory_bytes < 8u << 20)
        config->memory_bytes = 8u << 20;
    return true;
}
