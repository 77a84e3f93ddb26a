/* rank.c - the variables of each launcher, as its documentation names them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rank.h"

enum { PAIRS_MAX = 8 };

struct example {
    const char *set[PAIRS_MAX][2];
    int rank, local, size; /* -1: not known */
};

static const struct example examples[] = {
    {{{"HOME", "/"}}, -1, -1, 0},
    {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"PMIX_RANK", "3"}}, 3, 1, 8},
    {{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}}, 0, 0, 2},
    {{{"PMIX_RANK", "5"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "2"}}, 5, 2, 6},
    {{{"PMIX_RANK", "5"}}, 5, -1, 0},
    {{{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "3"}}, 7, 3, 16},
    {{{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "4"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}}, 1, 1, 4},
    {{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}}, 2, 2, 4},
    /* torchrun, started once per node by srun: its own ranks are those of the processes */
    {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}, {"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}}, 9, 1, 16},
    /* RANK alone means anything */
    {{{"RANK", "2"}}, -1, -1, 0},
    {{{"RANK", "general"}, {"WORLD_SIZE", "4"}}, -1, -1, 0},
    {{{"OMPI_COMM_WORLD_RANK", ""}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, 1, -1, 2},
    {{{"PMI_RANK", "-1"}}, -1, -1, 0},
    {{{"PMI_RANK", "99999999999999999999"}}, -1, -1, 0},
    /* a size that cannot be: it belongs to something else */
    {{{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}, 4, -1, 0},
};

static void test_launchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        clearenv();
        for (int k = 0; k < PAIRS_MAX && examples[i].set[k][0]; k++)
            setenv(examples[i].set[k][0], examples[i].set[k][1], 1);
        const struct sonde_rank r = sonde_rank_read();
        print_message("example %zu\n", i);
        assert_int_equal((int)r.rank - 1, examples[i].rank);
        assert_int_equal((int)r.local_rank - 1, examples[i].local);
        assert_int_equal((int)r.size, examples[i].size);
    }
}

/* By the launcher whose rank it is. */
static void test_jobs(void **state)
{
    static const struct {
        const char *set[PAIRS_MAX][2], *job; /* NULL: none */
    } jobs[] = {
        {{{"PMIX_NAMESPACE", "17"}}, NULL},
        {{{"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_NAMESPACE", "prterun-a-1@1"}, {"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "0"}}, "prterun-a-1@1"},
        {{{"SLURM_PROCID", "3"}, {"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "0"}}, "5.0"},
        {{{"SLURM_PROCID", "3"}, {"SLURM_JOB_ID", "5"}}, NULL},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "mine"}, {"PMIX_NAMESPACE", "17"}}, "mine"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}}, NULL},
        {{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, NULL},
        {{{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "a name that is longer than its room"}}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        char job[20];
        clearenv();
        for (int k = 0; k < PAIRS_MAX && jobs[i].set[k][0]; k++)
            setenv(jobs[i].set[k][0], jobs[i].set[k][1], 1);
        print_message("job %zu\n", i);
        assert_int_equal(sonde_rank_job(job, sizeof job), jobs[i].job != NULL);
        if (jobs[i].job)
            assert_string_equal(job, jobs[i].job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launchers), cmocka_unit_test(test_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
