/* test_limits.c - --max-size, --memory and ranges: the profile stays exact, losses are counted. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

enum { LAUNCHES = 400000 };

static int add_rows(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane;
    (void)rows;
    *(uint64_t *)user += count;
    return 0;
}

static uint64_t trace_count(const struct sonde_process *p)
{
    uint64_t n = 0;
    sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, add_rows, &n);
    return n;
}

/* Each API call is in the profile, and in the trace, or counted as missing there. */
static bool calls_add_up(const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t profile = 0, trace = 0;
    for (uint32_t i = 1; i < p->profile_count; i++)
        if (!p->profiles[i].lane)
            profile += p->profiles[i].count;
    sonde_process_trace(p, SONDE_TABLE_CALL, 0, 0, UINT64_MAX, add_rows, &trace);
    fprintf(stderr, "calls: %llu, %llu in the profile, %llu dropped; %llu traced, %llu not\n",
            (unsigned long long)l->api_calls, (unsigned long long)profile, (unsigned long long)l->calls_dropped,
            (unsigned long long)trace, (unsigned long long)l->call_rows_dropped);
    /* Late ones and those that found no channel are in neither; without a profile row a call may be traced. */
    return profile + l->calls_dropped == l->api_calls && trace + l->call_rows_dropped <= l->api_calls &&
           trace + l->call_rows_dropped >= profile;
}

static void launch_some(uint32_t queue, int n)
{
    for (int i = 0; i < n; i++) {
        harness_launch(queue, SONDE_OP_KERNEL, 0, true);
        if (i % 2000 == 0)
            usleep(500);
    }
}

static void max_size(void)
{
    const char *const extra[] = {"SONDE_MAX_SIZE=200000", NULL};
    harness_setup("max-size", extra);
    launch_some(harness_queue(0), LAUNCHES);
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t dropped = l->dropped[SONDE_DROP_MAX_SIZE];
    fprintf(stderr, "max-size: %llu in the trace, %llu dropped, %llu bytes\n", (unsigned long long)trace_count(p),
            (unsigned long long)dropped, (unsigned long long)p->disk_bytes);
    REQUIRE(l->seen == LAUNCHES && l->done == LAUNCHES && harness_profile_count(p) == LAUNCHES);
    REQUIRE(dropped > 0 && trace_count(p) + dropped == LAUNCHES);
    REQUIRE(l->call_rows_dropped > 0 && calls_add_up(p));
    REQUIRE(p->note_count >= 1);
    harness_remove();
}

/* Each range that ended is in the trace, or counted as missing there. */
static void ranges_add_up(void)
{
    enum { RANGES = 150000 };
    const char *const extra[] = {"SONDE_MAX_SIZE=100000", NULL};
    harness_setup("ranges-max-size", extra);
    harness_launch(harness_queue(0), SONDE_OP_KERNEL, 0, true);
    for (int i = 0; i < RANGES; i++) {
        struct sonde_range range = {.name = 1};
        sonde_range_push(&range);
        sonde_range_pop(0);
        if (i % 2000 == 0)
            usleep(500);
    }
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t traced = 0, lane_dropped = 0, others = l->call_rows_dropped; /* the one launch may come too late, too */
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        others += l->dropped[cause];
    sonde_process_trace(p, SONDE_TABLE_RANGE, 0, 0, UINT64_MAX, add_rows, &traced);
    for (uint32_t i = 1; i < p->lane_count; i++)
        for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
            lane_dropped += p->lanes[i].dropped[cause];
    fprintf(stderr, "ranges: %llu in the trace, %llu dropped\n", (unsigned long long)traced,
            (unsigned long long)l->range_rows_dropped);
    REQUIRE(l->range_rows_dropped > 0 && lane_dropped == l->range_rows_dropped + others);
    REQUIRE(traced + l->range_rows_dropped == RANGES);
    harness_remove();
}

static void small_memory(void)
{
    const char *const extra[] = {"SONDE_MEMORY=8388608", NULL};
    harness_setup("memory", extra);
    uint32_t queue = harness_queue(0);
    for (uint32_t name = 1; name < 60000; name++) { /* new contexts without end */
        struct sonde_call call;
        REQUIRE(sonde_call_begin(&call, API_LAUNCH));
        sonde_call_leave(&call);
        sonde_call_submit(&call, &(struct sonde_submit){.kind = SONDE_OP_KERNEL, .lane = queue, .name = name});
        sonde_call_end(&call);
        if (name % 500 == 0)
            usleep(2000);
    }
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    REQUIRE(l->seen == 59999 && l->done + l->dropped[SONDE_DROP_CHANNEL_FULL] == 59999);
    fprintf(stderr, "memory: %llu folded, %llu counted\n", (unsigned long long)l->contexts_folded,
            (unsigned long long)harness_profile_count(p));
    REQUIRE(l->contexts_folded > 0);
    REQUIRE(harness_profile_count(p) == l->done);
    REQUIRE(calls_add_up(p));
    harness_remove();
}

/* Room on disk is made by the monitor thread, which this fast thread may have to wait for. */
static uint32_t work_of(size_t size)
{
    uint32_t work = 0;
    for (int n = 0; !(work = sonde_work_add(1, &size, NULL)) && n < 60000; n++)
        usleep(1000);
    return work;
}

static uint32_t frame_of(uint32_t name)
{
    uint32_t frame = 0;
    for (int n = 0; !(frame = sonde__frame_of_op(SONDE_OP_KERNEL, name)) && n < 60000; n++)
        usleep(1000);
    return frame;
}

/* More launch sizes and kernel names than any cache holds: each is stored once. */
static void many_names(void)
{
    enum { MANY = 150000 };
    enum { ROUNDS = 3 };
    static uint32_t id[MANY];
    harness_setup("names", NULL);
    harness_queue(0);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < MANY; i++) {
            uint32_t work = work_of(i + 1);
            REQUIRE(work && (!round || work == id[i]));
            id[i] = work;
        }
    uint32_t frame = frame_of(1);
    for (uint32_t name = 2; name < MANY; name++)
        REQUIRE(frame_of(name));
    REQUIRE(frame_of(1) == frame);
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m && m->processes[0].work_count == MANY + 1 && m->processes[0].note_count == 0);
    harness_remove();
}

/* Beyond what the budget can tell apart there are no new rows, and a note says so. */
static void too_many_names(void)
{
    const char *const extra[] = {"SONDE_MEMORY=8388608", NULL};
    harness_setup("names-bound", extra);
    harness_queue(0);
    uint32_t most = 0, refused = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 40000; i++) {
            const size_t size = i + 1;
            uint32_t work = sonde_work_add(1, &size, NULL);
            most = work > most ? work : most;
            refused += !work;
        }
    REQUIRE(most > 1000 && refused == 2 * (40000 - most));
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m && m->processes[0].work_count == most + 1);
    REQUIRE(m->processes[0].note_count == 1 && strstr(m->processes[0].notes[0].text, "too many different"));
    harness_remove();
}

/* A frame found again after many module changes is the same frame, not one of an older round. */
static void many_generations(void)
{
    harness_setup("generations", NULL);
    harness_queue(0);
    uintptr_t pc = (uintptr_t)many_generations + 1;
    uint32_t first = sonde__frame_of_pc(pc);
    sonde__lock(&sonde__agent.monitor_lock); /* no turn now, which may change the generation too */
    for (int i = 0; i < 65536; i++)
        sonde__unwind_modules_changed();
    REQUIRE(sonde__frame_of_pc(pc) != first); /* asked anew: what was known of that address is void */
    sonde__unlock(&sonde__agent.monitor_lock);
    harness_remove();
}

static void ranges(void)
{
    const char *const extra[] = {"SONDE_START_OFF=1", NULL};
    harness_setup("ranges", extra);
    struct sonde_call call;
    REQUIRE(!sonde_call_begin(&call, API_WAIT)); /* starts the agent, but records nothing */
    uint32_t device = sonde_device_add(&(struct sonde_device_info){.name = "test device"});
    uint32_t queue = sonde_lane_add(device, 1, 0, "queue");
    REQUIRE(queue && !sonde_recording());
    REQUIRE(!harness_launch(queue, SONDE_OP_KERNEL, 0, true));
    sonde__agent_set_range(1);
    for (int i = 0; i < 100; i++)
        REQUIRE(harness_launch(queue, SONDE_OP_KERNEL, 0, true));
    sonde__agent_set_range(0);
    REQUIRE(!harness_launch(queue, SONDE_OP_KERNEL, 0, true));
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    REQUIRE(m->processes[0].header.ledger.seen == 100 && m->processes[0].header.ledger.done == 100);
    const struct sonde_process *p = &m->processes[0]; /* when recording was off: until it began, and from then on */
    REQUIRE(p->header.exec_ns && p->header.exec_ns <= p->header.start_ns);
    REQUIRE(p->pause_count == 3 && p->pauses[1].from_ns == p->header.start_ns && p->pauses[1].to_ns > p->header.start_ns);
    REQUIRE(p->pauses[2].from_ns > p->pauses[1].to_ns && p->pauses[2].to_ns == 0);
    harness_remove();
}

/* What is not stored is counted. */
static void many_pauses(void)
{
    const char *const none[] = {NULL};
    enum { MORE = 10 };
    harness_setup("pauses", none);
    harness_wait();
    for (uint32_t i = 0; i < SONDE_PAUSES_MAX + MORE; i++) {
        sonde__agent_set_range(0);
        sonde__agent_set_range(0);
        sonde__agent_set_range(1);
    }
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    REQUIRE(p->pause_count == SONDE_PAUSES_MAX + 1);
    REQUIRE(p->header.ledger.pauses_dropped == MORE);
    for (uint32_t i = 1; i < p->pause_count; i++) {
        REQUIRE(p->pauses[i].from_ns <= p->pauses[i].to_ns);
        REQUIRE(i == 1 || p->pauses[i - 1].to_ns <= p->pauses[i].from_ns);
    }
    harness_remove();
}

/* Launch until the hooks take part, or no longer do; the time when that was seen. */
static uint64_t launch_until(uint32_t queue, bool recorded)
{
    for (int n = 0; n < HARNESS_PATIENCE_S * 1000; n++) {
        if (harness_launch(queue, SONDE_OP_KERNEL, 0, true) == recorded)
            return sonde_now_ns();
        usleep(1000);
    }
    return 0;
}

static uint32_t queue_of_its_own(void)
{
    uint32_t device = sonde_device_add(&(struct sonde_device_info){.name = "test device"});
    return sonde_lane_add(device, 1, 0, "queue");
}

/* Not before its time; when after it is the machine's business. */
static void delay(void)
{
    const char *const extra[] = {"SONDE_DELAY_MS=300", NULL};
    harness_setup("delay", extra);
    uint64_t begin = sonde_now_ns();
    harness_wait(); /* starts the agent, and with it the delay */
    uint64_t on = launch_until(queue_of_its_own(), true);
    REQUIRE(on && on - begin >= 300000000u);
    harness_remove();
}

static void duration(void)
{
    const char *const extra[] = {"SONDE_DURATION_MS=300", NULL};
    harness_setup("duration", extra);
    uint64_t begin = sonde_now_ns();
    harness_wait(); /* starts the agent, and with it the duration */
    uint64_t off = launch_until(queue_of_its_own(), false);
    REQUIRE(off && off - begin >= 300000000u);
    harness_remove();
}

static int tasks(void)
{
    DIR *folder = opendir("/proc/self/task");
    int n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* A process that nothing asked to measure must not start anything. */
/* What the program's umask would allow or forbid is not asked. */
static void private_files(void)
{
    static const mode_t masks[] = {0, 0777};
    const char *directory = NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *const none[] = {NULL};
        umask(022);
        directory = harness_setup("private", none);
        pid_t pid = fork();
        if (pid == 0) {
            umask(masks[i]);
            harness_launch(harness_queue(0), SONDE_OP_KERNEL, 0, true);
            REQUIRE(sonde_blob("1.cubin", "code", 4) == 0);
            harness_flush();
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
        char command[5000];
        snprintf(command, sizeof command, "test \"$(find '%s' -mindepth 1 -type d ! -perm 700 -o -type f ! -perm 600; "
                                          "find '%s' -name 'live.sonde' -o -name '1.cubin.zst' | wc -l)\" = 2",
                 directory, directory);
        REQUIRE(system(command) == 0);
        harness_remove();
    }
}

static void no_output_directory(void)
{
    unsetenv("SONDE_OUT");
    struct sonde_call call;
    int before = tasks();
    REQUIRE(!sonde_call_begin(&call, API_WAIT));
    REQUIRE(!sonde_call_begin(&call, API_WAIT));
    REQUIRE(tasks() == before);
}

static void unwritable_directory(void)
{
    setenv("SONDE_OUT", "/proc/nowhere", 1);
    struct sonde_call call;
    REQUIRE(!sonde_call_begin(&call, API_WAIT));
    REQUIRE(!sonde_recording());
}

/* Each case in a process of its own: the agent starts once. */
#define CASE(name) \
    static void test_##name(void **state) { (void)state; assert_int_equal(harness_in_child(name), 0); }
CASE(max_size)
CASE(small_memory)
CASE(many_names)
CASE(too_many_names)
CASE(many_generations)
CASE(ranges)
CASE(many_pauses)
CASE(ranges_add_up)
CASE(delay)
CASE(duration)
CASE(private_files)
CASE(no_output_directory)
CASE(unwritable_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_max_size),
        cmocka_unit_test(test_small_memory),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_too_many_names),
        cmocka_unit_test(test_many_generations),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_many_pauses),
        cmocka_unit_test(test_ranges_add_up),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_private_files),
        cmocka_unit_test(test_no_output_directory),
        cmocka_unit_test(test_unwritable_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
