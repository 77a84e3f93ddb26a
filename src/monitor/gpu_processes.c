/* gpu_processes.c - who uses a device, of all users, announced or not. See nvml.h. */
#ifdef SONDE_CUDA
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml.h"

enum {
    MOST = 1024,          /* processes of one kind on a device: more are not asked for */
    SAMPLES_US = 2000000,
};

/* ---- who ----------------------------------------------------------------------------------- */

static void name_program(struct sonde_gpu_process *p)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/comm", p->pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(p->program, sizeof p->program, file))
        p->program[strcspn(p->program, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void add(struct sonde__gpu_state *s, const nvmlProcessInfo_t *from, const char *kind)
{
    struct sonde_gpu_process *p = &s->gpu.processes[s->gpu.process_count++];
    *p = (struct sonde_gpu_process){.pid = from->pid, .kind = kind, .use = NAN};
    p->memory_bytes = from->usedGpuMemory == (unsigned long long)NVML_VALUE_NOT_AVAILABLE ? NAN : (double)from->usedGpuMemory;
    name_program(p);
}

/* Asked with the room there is: a process that came since is one more, and there is room for twice as many. */
static nvmlReturn_t list(const struct sonde__nvml *nvml, nvmlDevice_t device, int kind, unsigned *count, nvmlProcessInfo_t *out)
{
    switch (kind) {
    case 0:
        return SONDE_NVML(nvml, nvmlDeviceGetComputeRunningProcesses_v3, device, count, out);
    case 1:
        return SONDE_NVML(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v3, device, count, out);
    default:
        return SONDE_NVML(nvml, nvmlDeviceGetGraphicsRunningProcesses_v3, device, count, out);
    }
}

static void read_kind(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, int kind)
{
    static const char *const names[] = {"compute", "mps", "graphics"};
    nvmlProcessInfo_t few[64], *all = few, *more = NULL;
    unsigned count = sizeof few / sizeof *few;
    nvmlReturn_t answer = list(&r->nvml, s->handle, kind, &count, few);
    if (answer == NVML_ERROR_INSUFFICIENT_SIZE) {
        count = MOST;
        all = more = calloc(count, sizeof *all);
        answer = more ? list(&r->nvml, s->handle, kind, &count, more) : NVML_ERROR_MEMORY;
    }
    if (sonde__gpu_answered(r, s, answer, "the list of processes", &s->without_processes[kind])) {
        struct sonde_gpu_process *room = realloc(s->gpu.processes, (s->gpu.process_count + count + 1) * sizeof *room);
        if (room)
            s->gpu.processes = room;
        for (unsigned i = 0; room && i < count; i++)
            add(s, &all[i], names[kind]);
    }
    free(more);
}

/* ---- how much ------------------------------------------------------------------------------- */

/* The driver has one sample for each second and process, of those that did something, and tells the mean of those after a moment: of the last
 * two seconds, then, of which one is there whenever somebody asks. Who is in none did nothing. */
static void read_use(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    nvmlProcessUtilizationSample_t samples[256];
    unsigned count = sizeof samples / sizeof *samples;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const unsigned long long since_us = (unsigned long long)now.tv_sec * 1000000u + (unsigned long long)now.tv_nsec / 1000u - SAMPLES_US;
    nvmlReturn_t answer = SONDE_NVML(&r->nvml, nvmlDeviceGetProcessUtilization, s->handle, samples, &count, since_us);
    if (answer == NVML_ERROR_NOT_FOUND) {
        count = 0;
        answer = NVML_SUCCESS;
    }
    if (!sonde__gpu_answered(r, s, answer, "the utilization by process", &s->without_processes[3]))
        return;
    for (size_t k = 0; k < s->gpu.process_count; k++) {
        struct sonde_gpu_process *p = &s->gpu.processes[k];
        p->use = 0;
        for (unsigned i = 0; i < count; i++)
            if (samples[i].pid == p->pid && samples[i].smUtil <= 100)
                p->use = samples[i].smUtil / 100.;
    }
}

static const struct sonde_gpu_process *find(const struct sonde_gpu_process *of, size_t count, unsigned pid)
{
    for (size_t i = 0; i < count; i++)
        if (of[i].pid == pid)
            return &of[i];
    return NULL;
}

/* Who is new has not been asked about. */
static bool read_list(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    struct sonde_gpu_process *before = s->gpu.processes;
    const size_t count = s->gpu.process_count;
    bool all_known = true;
    s->gpu.processes = NULL;
    s->gpu.process_count = 0;
    for (int kind = 0; kind < 3 && s->gpu.up; kind++)
        if (!s->without_processes[kind])
            read_kind(r, s, kind);
    for (size_t i = 0; i < s->gpu.process_count; i++) {
        const struct sonde_gpu_process *known = find(before, count, s->gpu.processes[i].pid);
        s->gpu.processes[i].use = known ? known->use : NAN;
        all_known &= known != NULL;
    }
    free(before);
    return all_known;
}

void sonde__gpu_processes(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, enum sonde__gpu_pace pace)
{
    const bool all_known = pace != SONDE_GPU_SECOND || read_list(r, s);
    if ((pace == SONDE_GPU_COSTLY || !all_known) && s->gpu.up && s->gpu.process_count && !s->without_processes[3])
        read_use(r, s);
}
#endif
