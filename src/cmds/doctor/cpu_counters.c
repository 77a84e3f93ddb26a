/* cpu_counters.c - which counters of record --cpu-counters this machine has, and why it lacks the others. */
#include "doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmds/record/record.h"

static bool is_virtual(void)
{
    char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
    if (file)
        fclose(file);
    return found;
}

static const char *reason(int why)
{
    switch (why) {
    case EACCES:
    case EPERM:
    case ENOSYS:
        return "perf events are refused, see CPU sampling";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return is_virtual() ? "this virtual machine gives its guests no counters of the processor" : "this processor, or its kernel, has none";
    default:
        return strerror(why);
    }
}

void doctor_check_cpu_counters(struct doctor *d)
{
    struct sonde_text there = {0}, missing = {0};
    int why = 0;
    for (const struct record_cpu_counter *c = record_cpu_counters; c->name; c++) {
        const int failed = record_cpu_counter_try(c);
        struct sonde_text *list = failed ? &missing : &there;
        why = failed ? failed : why;
        sonde_text_format(list, "%s%s", list->length ? ", " : "", c->name);
    }
    if (!missing.length)
        doctor_put(d, "CPU counters", DOCTOR_FINE, "%s", sonde_text_get(&there));
    else if (there.length)
        doctor_put(d, "CPU counters", DOCTOR_NOTE, "%s; not %s: %s", sonde_text_get(&there), sonde_text_get(&missing), reason(why));
    else
        doctor_put(d, "CPU counters", DOCTOR_NOTE, "none: %s", reason(why));
    sonde_text_fini(&there);
    sonde_text_fini(&missing);
}
