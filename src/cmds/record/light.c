/* light.c - `sonde record --light`: no measurement and no parent; the program is ours, announced to whoever looks. */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    const int why = record_exec(paths->program, argv, environment);
    record_environment_free(environment);
    sonde_diag_set(&diag, SONDE_EINVALID, paths->program, "cannot run");
    sonde_diag_errno(&diag, why);
    if (why == ENOENT)
        sonde_diag_hint(&diag, "its interpreter does not exist");
    sonde_say_diag(&diag);
    return why == ENOENT ? RECORD_EXIT_NOT_FOUND : RECORD_EXIT_NOT_EXECUTABLE;
}
