/* calibrate.c - how much slower is the program under Sonde? Paired runs with and without.
 *
 * After one run that warms caches up and is not counted, each pair runs the
 * program once without and once with Sonde; the order alternates, so that a
 * drift of the machine hits both alike. Per pair the logarithm of the ratio of
 * run times is taken; the estimate is their mean, its interval Student's t at
 * 95 % on pairs - 1 degrees of freedom.
 */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/student.h"
#include "cmds/command.h"
#include "format/folder.h"

static double run_ns(const struct record_result *r)
{
    return (double)(r->end.monotonic_raw_ns - r->start.monotonic_raw_ns);
}

static bool went_well(const struct record_result *r)
{
    return WIFEXITED(r->wait_status) && WEXITSTATUS(r->wait_status) == 0;
}

struct calibration {
    struct record_options options; /* of the recorded runs: quiet */
    struct record_paths *paths;
    int argc;
    char **argv;
    bool have_measurement;
};

/* One run; 0, or the exit status after which calibration ends. */
static int one_run(struct calibration *c, bool recorded, struct record_result *result)
{
    struct sonde_diag diag = {0};
    if (!recorded) {
        if (record_run(c->paths->program, c->argv, NULL, NULL, result, &diag) != SONDE_OK) {
            sonde_say_diag(&diag);
            return RECORD_EXIT_NOT_EXECUTABLE;
        }
    } else {
        if (c->have_measurement && record_output_remove(c->paths->output, &diag) != SONDE_OK) {
            sonde_say_diag(&diag);
            return RECORD_EXIT_FAILED;
        }
        int status = record_once(&c->options, c->paths, c->argc, c->argv, result);
        if (status)
            return status;
        c->have_measurement = c->paths->output[0] != 0;
    }
    if (went_well(result))
        return 0;
    sonde_say("calibration stopped: the program failed %s Sonde", recorded ? "under" : "without");
    return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status)
                                            : WEXITSTATUS(result->wait_status);
}

static void store(const struct calibration *c, double ratio, double low, double high, int64_t pairs)
{
    struct sonde_diag diag = {0};
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/" SONDE_MANIFEST_FILE, c->paths->output);
    json_t *manifest = json_load_file(path, 0, NULL);
    json_t *result = json_pack("{s:f, s:f, s:f, s:I}", "ratio", ratio, "low", low, "high", high,
                               "pairs", (json_int_t)pairs);
    if (manifest && result) {
        json_object_set(manifest, "calibration", result);
        if (record_manifest_write(manifest, c->paths->output, &diag) != SONDE_OK)
            sonde_say_diag(&diag);
    }
    json_decref(result);
    json_decref(manifest);
}

int record_calibrate(const struct record_options *options, struct record_paths *paths, int argc, char **argv)
{
    struct calibration c = {.options = *options, .paths = paths, .argc = argc, .argv = argv};
    c.options.quiet = 1;
    struct record_result without, with;
    int status = one_run(&c, false, &without);
    double sum = 0, squares = 0;
    for (int64_t pair = 0; pair < options->pairs && !status; pair++) {
        bool recorded_first = pair % 2;
        status = one_run(&c, recorded_first, recorded_first ? &with : &without);
        if (!status)
            status = one_run(&c, !recorded_first, recorded_first ? &without : &with);
        double ratio = status ? 0 : log(run_ns(&with) / run_ns(&without));
        sum += ratio;
        squares += ratio * ratio;
    }
    if (status)
        return status;

    double n = (double)options->pairs, mean = sum / n;
    double deviation = sqrt(fmax(0, squares - n * mean * mean) / (n - 1));
    double half = sonde_student_limit(n - 1, .95) * deviation / sqrt(n);
    double ratio = exp(mean), low = exp(mean - half), high = exp(mean + half);
    sonde_say("the program takes %.3f times as long under Sonde (95 %% confidence: %.3f to %.3f, %lld pairs)%s%s",
              ratio, low, high, (long long)options->pairs, c.have_measurement ? "; " : "",
              c.have_measurement ? paths->shown : "");
    if (c.have_measurement)
        store(&c, ratio, low, high, options->pairs);
    return 0;
}
