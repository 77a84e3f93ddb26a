/* light.c - `sonde record --light`: no measurement and no parent; the program is ours, announced to whoever looks. */
#include "record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmds/command.h"
#include "monitor/announced.h"

/* The folder is there, and swept; what makes programs announce themselves in it. NULL after a message. */
static char **prepare(const struct record_options *options, struct record_paths *paths)
{
    struct sonde_diag diag = {0};
    if (sonde_announced_folder(options->output, paths->output, &diag)) {
        sonde_say_diag(&diag);
        return NULL;
    }
    sonde_announced_sweep(paths->output);
    char **environment = record_environment(options, paths);
    if (!environment)
        sonde_say("out of memory");
    return environment;
}

int record_light(const struct record_options *options, struct record_paths *paths, char **argv)
{
    struct sonde_diag diag = {0};
    char **environment = prepare(options, paths);
    if (!environment)
        return RECORD_EXIT_FAILED;
    const int status = record_exec_failed(paths->program, record_exec(paths->program, argv, environment), &diag);
    record_environment_free(environment);
    sonde_say_diag(&diag);
    return status;
}

/* Did we get it like this, and is it nothing to us? */
static bool is_others(const char *entry)
{
    bool same = false;
    for (char **own = environ; *own && !same; own++)
        same = strcmp(*own, entry) == 0;
    return same && !record_environment_is_ours(entry);
}

int record_light_print(const struct record_options *options, struct record_paths *paths)
{
    struct sonde_text text = {0};
    char **environment = prepare(options, paths);
    for (char **entry = environment; entry && *entry; entry++) {
        const int name = (int)strcspn(*entry, "=");
        if (is_others(*entry))
            continue;
        sonde_text_format(&text, "%.*s=", name, *entry);
        sonde_text_add_word(&text, *entry + name + 1);
        sonde_text_add(&text, "\n");
    }
    const bool failed = !environment || text.failed || fputs(sonde_text_get(&text), stdout) == EOF || fflush(stdout) != 0;
    if (environment && failed)
        sonde_say("cannot print the environment");
    record_environment_free(environment);
    sonde_text_fini(&text);
    return failed ? RECORD_EXIT_FAILED : SONDE_EXIT_OK;
}
