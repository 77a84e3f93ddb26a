/* when.c - conditions of `sonde monitor`: what is one, when it holds, and who gets a signal: recorders are processes of this test. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmds/command.h"
#include "cmds/monitor/monitor.h"
#include "monitor/recorders.h"

#define GPU  "sonde_nvml_power_watts"
#define WORK "sonde_agent_enqueued_operations_total"

static char said[2048]; /* since it was emptied */

void sonde_say(const char *format, ...)
{
    const size_t length = strlen(said);
    va_list args;
    va_start(args, format);
    vsnprintf(said + length, sizeof said - length, format, args);
    va_end(args);
}

/* ---- what is one ---------------------------------------------------------------------------------- */

/* `wrong` NULL: it is one. `meant`: what may have been. */
static void reads(const char *text, const char *wrong, const char *meant)
{
    struct sonde_text why = {0};
    struct sonde_nearest nearest;
    struct monitor_when *when;
    const int code = monitor_when_read(text, &when, &why, &nearest);
    assert_string_equal(sonde_text_get(&why), wrong ? wrong : "");
    assert_int_equal(code, wrong ? SONDE_EINVALID : 0);
    assert_true(!when == (wrong != NULL));
    assert_string_equal(nearest.known, meant);
    monitor_when_free(when);
    sonde_text_fini(&why);
}

static void conditions(void **state)
{
    (void)state;
    reads(GPU " > 300", NULL, "");
    reads("  " GPU ">300for 10s", "write-last-when expects a number at '300for 10s'", "");
    reads(GPU ">=3e2\tfor  500ms ", NULL, "");
    reads(GPU " { device = \"0\" , uuid=\"a,b\\\"}\\\\\" , } != -1.5", "write-last-when expects LABEL=\"VALUE\" at '} != -1.5'", "");
    reads(GPU " { device = \"0\" , uuid=\"a,b\\\"}\\\\\" } != -1.5", NULL, "");
    reads("rate( " WORK "{program=\"\"} ) == 0 for 0s", NULL, "");
    reads("sonde_agent_enqueued_operations > 5", NULL, "");
    reads(GPU " > 1, " WORK " > 2 for 1m,rate(" WORK ") < 3", NULL, "");
    reads("rate(" WORK ") <= 0", NULL, "");
    reads("sonde_agent_operations{kind=\"write\",kernel=\"x\",rank=\"3\"} > 0", NULL, "");
    reads("sonde_monitor_lost_rows{store=\"sqlite\"} > 0", NULL, "");
    reads("sonde_nvml_process_memory_bytes{kind=\"mps\"} > 0", NULL, "");
}

static void mistakes(void **state)
{
    char name[200] = "";
    (void)state;
    reads("", "write-last-when expects a metric's name, or rate(NAME), at the end", "");
    reads("  ", "write-last-when expects a metric's name, or rate(NAME), at the end", "");
    reads(GPU, "write-last-when expects <, <=, >, >=, == or != at the end", "");
    reads(GPU " = 3", "write-last-when expects <, <=, >, >=, == or != at '= 3'", "");
    reads(GPU " => 3", "write-last-when expects <, <=, >, >=, == or != at '=> 3'", "");
    reads(GPU " >", "write-last-when expects a number at the end", "");
    reads(GPU " > nan", "write-last-when expects a number at 'nan'", "");
    reads(GPU " > inf", "write-last-when expects a number at 'inf'", "");
    reads(GPU " > 1e999", "write-last-when expects a number at '1e999'", "");
    reads(GPU " > 0x10", "write-last-when expects a number at '0x10'", "");
    reads(GPU " > 1.2.3", "write-last-when expects a number at '1.2.3'", "");
    reads(GPU " > 1 2", "write-last-when expects 'for TIME', a comma or the end at '2'", "");
    reads(GPU " > 1 for", "write-last-when expects a time such as 500ms, 10s or 2m at the end", "");
    reads(GPU " > 1 for ten", "write-last-when expects a time such as 500ms, 10s or 2m at 'ten'", "");
    reads(GPU " > 1 for -1s", "write-last-when expects a time such as 500ms, 10s or 2m at '-1s'", "");
    reads(GPU " > 1 for 10s now", "write-last-when expects a comma or the end at 'now'", "");
    reads(GPU " > 1 forever", "write-last-when expects 'for TIME', a comma or the end at 'forever'", "");
    reads(GPU " > 1,", "write-last-when expects a metric's name, or rate(NAME), at the end", "");
    reads(GPU " > 1,," GPU " > 1", "write-last-when expects a metric's name, or rate(NAME), at '," GPU " > 1'", "");
    reads(GPU "{device} > 1", "write-last-when expects LABEL=\"VALUE\" at '} > 1'", "");
    reads(GPU "{device=0} > 1", "write-last-when expects LABEL=\"VALUE\" at '0} > 1'", "");
    reads(GPU "{device=\"0} > 1", "write-last-when expects \\\", \\\\ or the \" that ends the label's value at the end", "");
    reads(GPU "{uuid=\"a\\n\"} > 1", "write-last-when expects \\\", \\\\ or the \" that ends the label's value at '\\n\"} > 1'", "");
    reads(GPU "{device=\"0\" > 1", "write-last-when expects a comma, or the } behind the labels, at '> 1'", "");
    reads(GPU "{device=\"0\",device=\"0\"} > 1", "the label 'device' stands there twice", "");
    reads("rate(" WORK " > 1", "write-last-when expects the ) of rate( at '> 1'", "");
    reads("sum(" WORK ") > 1", "write-last-when expects <, <=, >, >=, == or != at '(" WORK ") > 1'", "");
    reads("sonde_nvml_powr_watts > 1", "there is no metric 'sonde_nvml_powr_watts'", GPU);
    reads("up > 1", "there is no metric 'up'", "");
    reads(GPU "{devic=\"0\"} > 1", GPU " has no label 'devic'", "device");
    reads(GPU "{process=\"a\"} > 1", GPU " has no label 'process'", "");
    reads(GPU "{device=\"first\"} > 1", "the label 'device' of " GPU " is a number, not 'first'", "");
    reads(GPU "{device=\"\"} > 1", "the label 'device' of " GPU " is a number, not ''", "");
    reads("sonde_agent_operations{kind=\"kernl\"} > 1", "there is no sonde_agent_operations_total with kind=\"kernl\"", "kernel");
    reads("sonde_agent_operations{kind=\"none\"} > 1", "there is no sonde_agent_operations_total with kind=\"none\"", "");
    reads("sonde_nvml_temperature_celsius{sensor=\"mem\"} > 1", "there is no sonde_nvml_temperature_celsius with sensor=\"mem\"", "memory");
    reads("rate(" GPU ") > 1", "rate() is of counters, and " GPU " is a gauge", "");
    reads("rate(" WORK ") < 0", "< 0 cannot hold: what a counter tells is never below 0", "");
    reads(WORK " == -1", "== -1 cannot hold: what a counter tells is never below 0", "");
    reads(WORK " <= -0.5", "<= -0.5 cannot hold: what a counter tells is never below 0", "");
    memset(name, 'a', sizeof name - 1);
    monitor_when_free(NULL);
    struct sonde_text why = {0};
    struct sonde_nearest nearest;
    struct monitor_when *when;
    assert_int_equal(monitor_when_read(name, &when, &why, &nearest), SONDE_EINVALID);
    sonde_text_fini(&why);
}

/* ---- recorders, and looks ------------------------------------------------------------------------- */

struct recorder {
    pid_t pid;
    int told[2]; /* a byte when it is there, and for each signal */
};

static char folder[] = "/tmp/sonde-when-XXXXXX";
static struct sonde_watch_process programs[2] = {{.name = NULL, .state = SONDE_WATCH_RUNNING}, {.name = NULL, .state = SONDE_WATCH_RUNNING}};
static char one[] = "h-1-1", two[] = "h-2-1";
static struct sonde_watch watch = {.processes = programs, .process_count = 2, .folder = folder};

static void path_of(char path[PATH_MAX], const char *output, const char *program)
{
    snprintf(path, PATH_MAX, "%s/%s%s%s", folder, output, *program ? "/" : "", program);
}

static void await(const struct recorder *r)
{
    char byte;
    struct pollfd told = {.fd = r->told[0], .events = POLLIN};
    assert_int_equal(poll(&told, 1, 60000), 1); /* else it hangs */
    assert_int_equal(read(r->told[0], &byte, 1), 1);
}

static void be_recorder(const char *output, int told)
{
    struct sonde_recorder own;
    struct sonde_diag diag;
    sigset_t asked;
    int fd, number = SIGUSR1;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    sigaddset(&asked, SIGUSR2); /* comes after it, where both wait */
    sigprocmask(SIG_BLOCK, &asked, NULL);
    if (sonde_recorder_begin(folder, output, &own, &fd, &diag) != 0)
        _exit(1);
    do
        if (write(told, "", 1) != 1)
            _exit(1);
    while (sigwait(&asked, &number) == 0 && number == SIGUSR1);
    _exit(0); /* as if it were killed: its file stays */
}

static struct recorder record(const char *output, const char *program)
{
    struct recorder r;
    char path[PATH_MAX];
    path_of(path, output, "");
    mkdir(path, 0700);
    path_of(path, output, program);
    mkdir(path, 0700);
    path_of(path, output, "");
    assert_int_equal(pipe(r.told), 0);
    r.pid = fork();
    if (r.pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        be_recorder(path, r.told[1]);
    await(&r);
    return r;
}

/* How often it was asked beyond what was awaited. */
static int end(struct recorder *r)
{
    int left = -1, status;
    kill(r->pid, SIGUSR2);
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    assert_int_equal(status, 0);
    assert_int_equal(ioctl(r->told[0], FIONREAD, &left), 0);
    close(r->told[0]);
    close(r->told[1]);
    return left;
}

static struct monitor_when *begin(const char *text)
{
    struct sonde_text why = {0};
    struct sonde_nearest nearest;
    struct monitor_when *when;
    programs[0].name = one;
    programs[1].name = two;
    programs[0].state = programs[1].state = SONDE_WATCH_RUNNING;
    *said = '\0';
    assert_int_equal(monitor_when_read(text, &when, &why, &nearest), 0);
    return when;
}

/* How often all conditions have asked after a look at `s`. */
static unsigned look(struct monitor_when *when, double s, const char *text)
{
    size_t count;
    unsigned asked = 0;
    monitor_when_look(when, &watch, text, 1000000000u + (uint64_t)(s * 1e9));
    const struct sonde_asked_count *counts = monitor_when_counts(when, &count);
    for (size_t i = 0; i < count; i++)
        asked += (unsigned)counts[i].asked;
    return asked;
}

#define HOT  GPU "{device=\"0\",device_name=\"H\",uuid=\"u\"} 301\n"
#define COOL GPU "{device=\"0\",device_name=\"H\",uuid=\"u\"} 300\n"

static void it_holds_for_a_time(void **state)
{
    struct recorder r = record("a.sonde", one), other = record("b.sonde", two);
    char expected[PATH_MAX + 256];
    (void)state;
    struct monitor_when *when = begin(GPU " > 300 for 10s");
    for (int s = 0; s < 10; s++)
        assert_int_equal(look(when, s, HOT), 0);
    assert_int_equal(look(when, 10, HOT), 2); /* of no program: all of them */
    await(&r);
    await(&other);
    snprintf(expected, sizeof expected, GPU " > 300 for 10s: it is 301; asked 'sonde record', process %d, to write what it has for %s/a.sonde", r.pid, folder);
    assert_non_null(strstr(said, expected));
    assert_int_equal(look(when, 11, HOT), 2);
    assert_int_equal(look(when, 40, HOT), 2);
    assert_int_equal(look(when, 41, COOL), 2);
    assert_int_equal(look(when, 42, HOT), 2);
    assert_int_equal(look(when, 51.9, HOT), 2);
    assert_int_equal(look(when, 52, HOT), 4);
    await(&r);
    await(&other);
    assert_int_equal(look(when, 53, ""), 4); /* a series that is gone does not hold */
    assert_int_equal(look(when, 54, HOT), 4);
    assert_int_equal(look(when, 64, HOT), 6);
    await(&r);
    await(&other);
    monitor_when_free(when);
    assert_int_equal(end(&r), 0);
    assert_int_equal(end(&other), 0);
}

static void it_holds_at_once(void **state)
{
    struct recorder r = record("a.sonde", one);
    (void)state;
    struct monitor_when *when = begin(GPU "{device=\"1\"} > 300, " GPU "{uuid=\"u\"} >= 301, " GPU " != 5");
    assert_int_equal(look(when, 0, COOL), 1); /* the last one */
    await(&r);
    assert_int_equal(look(when, 1, HOT), 2);
    await(&r);
    monitor_when_free(when);
    when = begin(GPU " > 300, " GPU " > 200"); /* at one look it is asked once */
    assert_int_equal(look(when, 0, HOT), 1);
    await(&r);
    monitor_when_free(when);
    assert_int_equal(end(&r), 0);
}

/* What a program enqueued. */
static const char *work(const char *process, int count)
{
    static char text[256];
    snprintf(text, sizeof text, WORK "{process=\"%s\",pid=\"1\",program=\"p\"} %d\n", process, count);
    return text;
}

static void rates(void **state)
{
    struct recorder r = record("a.sonde", one), other = record("b.sonde", two);
    (void)state;
    struct monitor_when *when = begin("rate(" WORK ") < 10 for 2s");
    assert_int_equal(look(when, 0, work(one, 0)), 0); /* not known yet */
    assert_int_equal(look(when, 1, work(one, 10)), 0);
    assert_int_equal(look(when, 2, work(one, 15)), 0);
    assert_int_equal(look(when, 2.5, work(one, 15)), 0); /* over a second: the rate is 5 still */
    assert_int_equal(look(when, 3.9, work(one, 15)), 0);
    assert_int_equal(look(when, 4, work(one, 15)), 1);
    await(&r); /* and not the other */
    assert_int_equal(look(when, 5, work(one, 35)), 1);
    assert_int_equal(look(when, 5.5, work(one, 35)), 1); /* 20 each second */
    assert_int_equal(look(when, 6, work(one, 3)), 1);    /* another one: it fell */
    assert_int_equal(look(when, 7, work(one, 4)), 1);
    assert_int_equal(look(when, 9, work(one, 4)), 2);
    await(&r);
    monitor_when_free(when);
    assert_int_equal(end(&r), 0);
    assert_int_equal(end(&other), 0);
}

/* Two series of a program, of which one holds at each look: it is written once. One of a program that has ended, or of another label, never. */
static void programs_and_series(void **state)
{
    struct recorder r = record("a.sonde", one), other = record("b.sonde", two);
    static const char both[] = "sonde_agent_device_waiting_operations{process=\"h-1-1\",device=\"0\"} 5\nsonde_agent_device_waiting_operations{process=\"h-1-1\",device=\"1\"} 5\n",
                      last[] = "sonde_agent_device_waiting_operations{process=\"h-1-1\",device=\"0\"} 0\nsonde_agent_device_waiting_operations{process=\"h-1-1\",device=\"1\"} 5\n",
                      of_two[] = "sonde_agent_device_waiting_operations{process=\"h-2-1\",device=\"0\"} 5\n";
    (void)state;
    struct monitor_when *when = begin("sonde_agent_device_waiting_operations > 4");
    assert_int_equal(look(when, 0, both), 1);
    await(&r);
    assert_int_equal(look(when, 1, last), 1);
    assert_int_equal(look(when, 2, both), 1);
    programs[1].state = SONDE_WATCH_EXITED;
    assert_int_equal(look(when, 3, of_two), 1);
    programs[1].state = SONDE_WATCH_RUNNING;
    assert_int_equal(look(when, 4, of_two), 2);
    await(&other);
    monitor_when_free(when);
    when = begin("sonde_agent_device_waiting_operations{process=\"h-1-1\"} > 4");
    assert_int_equal(look(when, 0, of_two), 0);
    assert_string_equal(said, "");
    monitor_when_free(when);
    assert_int_equal(end(&r), 0);
    assert_int_equal(end(&other), 0);
}

/* A process that no signal was meant for, whose number a file has that a recorder left. */
static pid_t stand_by(void)
{
    const pid_t pid = fork();
    if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        for (;;)
            pause();
    return pid;
}

static int rename_recorder(void *user, const struct sonde_recorder *recorder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/recorder-%d-1", folder, *(const pid_t *)user);
    return rename(recorder->file, path) == 0;
}

/* Ranks of a job write one measurement: one of them is asked. One that ended is not, whatever its file is called, and the file goes. */
static void who_is_asked(void **state)
{
    struct recorder r = record("a.sonde", one), rank = record("a.sonde", one);
    pid_t bystander = stand_by();
    char path[PATH_MAX];
    int status;
    (void)state;
    struct monitor_when *when = begin(GPU " > 300");
    assert_int_equal(look(when, 0, HOT), 1);
    monitor_when_free(when);
    assert_int_equal(sonde_recorders_each(folder, rename_recorder, &bystander), 1);
    assert_int_equal(end(&r) + end(&rank), 1);
    when = begin(GPU " > 300");
    assert_int_equal(look(when, 0, HOT), 0);
    assert_string_equal(said, GPU " > 300: it is 301; there is no 'sonde record --last' of it that could be asked");
    assert_int_equal(look(when, 1, HOT), 0); /* said once */
    assert_null(strstr(strstr(said, "asked") + 1, "asked"));
    kill(bystander, SIGTERM);
    assert_int_equal(waitpid(bystander, &status, 0), bystander);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    sonde_recorders_sweep(folder);
    path_of(path, "a.sonde", one);
    rmdir(path);
    path_of(path, "a.sonde", "");
    rmdir(path);
    path_of(path, "b.sonde", two);
    rmdir(path);
    path_of(path, "b.sonde", "");
    rmdir(path);
    assert_int_equal(rmdir(folder), 0); /* nothing is left */
    monitor_when_free(when);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(it_holds_for_a_time),
        cmocka_unit_test(it_holds_at_once),
        cmocka_unit_test(rates),
        cmocka_unit_test(programs_and_series),
        cmocka_unit_test(who_is_asked),
    };
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
