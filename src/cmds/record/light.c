/* light.c - `sonde record --light`: no measurement and no parent; the program is ours, announced to whoever looks. */
#include "record.h"

#include "cmds/command.h"
#include "monitor/announced.h"

int record_light(const struct record_options *options, struct record_paths *paths, char **argv)
{
    struct sonde_diag diag = {0};
    if (sonde_announced_folder(options->output, paths->output, &diag)) {
        sonde_say_diag(&diag);
        return RECORD_EXIT_FAILED;
    }
    sonde_announced_sweep(paths->output);
    char **environment = record_environment(options, paths);
    if (!environment) {
        sonde_say("out of memory");
        return RECORD_EXIT_FAILED;
    }
    const int status = record_exec_failed(paths->program, record_exec(paths->program, argv, environment), &diag);
    record_environment_free(environment);
    sonde_say_diag(&diag);
    return status;
}
