/* rank.c - see rank.h. */
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launcher {
    const char *rank;
    const char *size[3], *local[2];
    const char *job[2]; /* the first, or the first and the second, name the job */
    int needs_size;     /* the name of the rank alone is too common to mean one */
};

static const struct launcher launchers[] = {
    /* innermost first */
    {"RANK", {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"TORCHELASTIC_RUN_ID"}, 1}, /* torchrun */
    {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_LOCAL_RANK"}, {"PMIX_NAMESPACE"}, 0},
    {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, {"MV2_COMM_WORLD_LOCAL_RANK"}, {"SLURM_JOB_ID", "SLURM_STEP_ID"}, 0},
    {"PMIX_RANK", {"PMIX_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, {"PMIX_LOCAL_RANK", "SLURM_LOCALID"}, {"PMIX_NAMESPACE"}, 0},
    {"PMI_RANK", {"PMI_SIZE", "SLURM_NTASKS"}, {"MPI_LOCALRANKID", "SLURM_LOCALID"}, {"SLURM_JOB_ID", "SLURM_STEP_ID"}, 0}, /* MPICH, Intel MPI */
    {"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_LOCALID"}, {"SLURM_JOB_ID", "SLURM_STEP_ID"}, 0},
};

/* The number plus one; 0 when there is none. */
static uint32_t number(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9')
        return 0;
    const unsigned long value = strtoul(text, &end, 10);
    return *end || value >= UINT32_MAX - 1 ? 0 : (uint32_t)value + 1;
}

static uint32_t first_number(const char *const *names, int count)
{
    uint32_t found = 0;
    for (int i = 0; i < count && !found; i++)
        found = number(names[i]);
    return found;
}

static const struct launcher *find(struct sonde_rank *out)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *l = &launchers[i];
        const uint32_t rank = number(l->rank), size = first_number(l->size, 3);
        const uint32_t count = size ? size - 1 : 0;
        if (!rank || (l->needs_size && !count))
            continue;
        *out = (struct sonde_rank){rank, first_number(l->local, 2), rank <= count ? count : 0};
        return l;
    }
    return NULL;
}

struct sonde_rank sonde_rank_read(void)
{
    struct sonde_rank rank = {0};
    find(&rank);
    return rank;
}

bool sonde_rank_job(char *out, size_t size)
{
    struct sonde_rank rank;
    const struct launcher *l = find(&rank);
    const char *name = l && l->job[0] ? getenv(l->job[0]) : NULL, *step = l && l->job[1] ? getenv(l->job[1]) : NULL;
    *out = 0;
    if (!name || !*name || strcmp(name, "none") == 0 || (l->job[1] && (!step || !*step))) /* "none": torchrun's, for all that nobody named */
        return false;
    const int n = snprintf(out, size, "%s%s%s", name, step ? "." : "", step ? step : "");
    return n > 0 && (size_t)n < size; /* what is cut would be told apart from nobody */
}
