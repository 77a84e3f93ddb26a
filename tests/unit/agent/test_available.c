/* test_available.c - how much memory a program could still have, in folders made up like /proc and /sys/fs/cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "agent/state/state.h"
#include "agent/store/store.h"

#define KIB 1024ull

static char root[] = "/tmp/sonde-available-XXXXXX";

/* A file below it, with the folders that it lies in. */
static void file(const char *name, const char *text)
{
    char path[256];
    const size_t length = (size_t)snprintf(path, sizeof path, "%s%s", root, name);
    for (size_t i = sizeof root; i < length; i++)
        if (path[i] == '/') {
            path[i] = 0;
            mkdir(path, 0700);
            path[i] = '/';
        }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root + sizeof root - 7, "XXXXXX");
    assert_non_null(mkdtemp(root));
    return 0;
}

static int end(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void machine(void)
{
    file("/proc/meminfo", "MemTotal:       16000 kB\nMemFree:          100 kB\nMemAvailable:    8000 kB\nBuffers:           10 kB\n");
}

static void a_machine_has_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(sonde__memory_available(root), 0);
    file("/proc/meminfo", "MemTotal:       16000 kB\nMemFree:          100 kB\n"); /* as Linux said before 3.14 */
    assert_int_equal(sonde__memory_available(root), 0);
    machine();
    assert_int_equal(sonde__memory_available(root), 8000 * KIB);
    file("/proc/self/cgroup", "0::/a/b\n"); /* whose files cannot be seen */
    assert_int_equal(sonde__memory_available(root), 8000 * KIB);
}

static void a_group_has_what_is_left_of_its_limit(void **state)
{
    (void)state;
    machine();
    file("/proc/self/cgroup", "0::/a/b\n");
    file("/sys/fs/cgroup/a/b/memory.max", "4096000\n");
    file("/sys/fs/cgroup/a/b/memory.current", "3072000\n");
    assert_int_equal(sonde__memory_available(root), 1024000);
    file("/sys/fs/cgroup/a/b/memory.stat", "anon 5\nfile 2048000\nactive_file 1048000\ninactive_file 1000000\n"); /* these it would give back */
    assert_int_equal(sonde__memory_available(root), 2024000);
    file("/sys/fs/cgroup/a/memory.max", "2048000\n"); /* with all groups in it */
    file("/sys/fs/cgroup/a/memory.current", "2000000\n");
    assert_int_equal(sonde__memory_available(root), 48000);
    file("/sys/fs/cgroup/a/memory.current", "3000000\n"); /* above it, as happens */
    assert_int_equal(sonde__memory_available(root), 0);
    file("/sys/fs/cgroup/a/memory.max", "max\n");
    file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(sonde__memory_available(root), 8000 * KIB);
}

/* In a container the group's own files are at the top, whatever its name outside. */
static void a_container_has_its_limit(void **state)
{
    (void)state;
    machine();
    file("/proc/self/cgroup", "0::/\n");
    file("/sys/fs/cgroup/memory.max", "4096000\n");
    file("/sys/fs/cgroup/memory.current", "4000000\n");
    assert_int_equal(sonde__memory_available(root), 96000);
    file("/proc/self/cgroup", "0::/docker/0123\n");
    assert_int_equal(sonde__memory_available(root), 96000);
}

static void a_group_of_the_first_version_has_its_limit(void **state)
{
    (void)state;
    machine();
    file("/proc/self/cgroup", "12:cpu,cpuacct:/x\n5:hugetlb,memory:/a\n1:name=systemd:/memory\n0::/a\n");
    file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096000\n");
    file("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "3096000\n");
    assert_int_equal(sonde__memory_available(root), 1000000);
    file("/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 96000\n");
    assert_int_equal(sonde__memory_available(root), 1096000);
    file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"); /* as it says that there is none */
    assert_int_equal(sonde__memory_available(root), 8000 * KIB);
}

/* Of the budget (values.c). */
static void no_more_is_taken_than_is_asked_for(void **state)
{
    (void)state;
    sonde__values_init();
    sonde__agent.config.values_host_bytes = 1000;
    assert_true(sonde_values_host_take(600));
    assert_false(sonde_values_host_take(600));
    assert_true(sonde_values_host_take(400));
    assert_false(sonde_values_host_take(1));
    sonde_values_host_give(600);
    assert_false(sonde_values_host_take(UINT64_MAX));
    assert_true(sonde_values_host_take(600));
    sonde__values_init(); /* as in a forked child */
    assert_true(sonde_values_host_take(1000));
    sonde__values_init();
    sonde__agent.config.values_host_bytes = 0;
    assert_false(sonde_values_host_take(1));
    sonde__values_init();
    sonde__agent.config.values_host_bytes = SONDE_VALUES_HOST_QUARTER;
    assert_false(sonde_values_host_take(sonde__memory_available("") / 2));
    assert_true(sonde_values_host_take(4096));
}

static void this_machine_has_some(void **state)
{
    char text[4096] = "", *at;
    (void)state;
    FILE *in = fopen("/proc/meminfo", "r");
    assert_non_null(in);
    assert_true(fread(text, 1, sizeof text - 1, in) > 0);
    fclose(in);
    assert_non_null(at = strstr(text, "MemTotal:"));
    assert_in_range(sonde__memory_available(""), 1, KIB * strtoull(at + strlen("MemTotal:"), NULL, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_has_what_it_says, begin, end),
        cmocka_unit_test_setup_teardown(a_group_has_what_is_left_of_its_limit, begin, end),
        cmocka_unit_test_setup_teardown(a_container_has_its_limit, begin, end),
        cmocka_unit_test_setup_teardown(a_group_of_the_first_version_has_its_limit, begin, end),
        cmocka_unit_test(this_machine_has_some),
        cmocka_unit_test(no_more_is_taken_than_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
