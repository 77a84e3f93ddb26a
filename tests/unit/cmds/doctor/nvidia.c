/* nvidia.c - what NVIDIA's kernel driver says of itself, in its own words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmds/doctor/doctor.h"

/* The list of findings is not looked at here. */
void doctor_put(struct doctor *d, const char *name, enum doctor_finding finding, const char *format, ...)
{
    (void)d, (void)name, (void)finding, (void)format;
}
void doctor_fix(struct doctor *d, const char *format, ...)
{
    (void)d, (void)format;
}
void doctor_try(struct doctor *d, const char *format, ...)
{
    (void)d, (void)format;
}
void doctor_package(struct doctor *d, const char *debian, const char *fedora)
{
    (void)d, (void)debian, (void)fedora;
}
const char *doctor_text(const json_t *object, const char *key)
{
    (void)object, (void)key;
    return "?";
}

/* As a driver of version 535 prints it. */
#define BEFORE                                                                                              \
    "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\nModifyDeviceFiles: 0\nDeviceFileUID: 0\nDeviceFileGID: 0\n" \
    "DeviceFileMode: 438\nInitializeSystemMemoryAllocations: 1\nUsePageAttributeTable: 4294967295\n"         \
    "EnableMSI: 1\nEnablePCIeGen3: 0\nMemoryPoolSize: 0\nKMallocHeapMaxSize: 0\nVMallocHeapMaxSize: 0\n"     \
    "IgnoreMMIOCheck: 0\nTCEBypassMode: 0\nEnableStreamMemOPs: 0\nEnableUserNUMAManagement: 1\nNvLinkDisable: 0\n"
#define AFTER "PreserveVideoMemoryAllocations: 0\nDynamicPowerManagement: 3\nEnableGpuFirmware: 18\nDmaRemapPeerMmio: 1\n"

static void test_counters(void **state)
{
    (void)state;
    assert_int_equal(doctor_counters_admin_only(BEFORE "RmProfilingAdminOnly: 1\n" AFTER), 1);
    assert_int_equal(doctor_counters_admin_only(BEFORE "RmProfilingAdminOnly: 0\n" AFTER), 0);
    assert_int_equal(doctor_counters_admin_only(BEFORE AFTER), -1);
    assert_int_equal(doctor_counters_admin_only("NotRmProfilingAdminOnly: 1\n"), -1);
    assert_int_equal(doctor_counters_admin_only("RmProfilingAdminOnly:"), -1);
    assert_int_equal(doctor_counters_admin_only(""), -1);
}

static void test_version(void **state)
{
    (void)state;
    static const struct { const char *text, *version; } known[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.135  Fri Jan 10 20:00:00 UTC 2025\nGCC version:  12.3.0\n", "550.135"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-B17-02-5)  "
         "Tue Sep 23 09:55:41 UTC 2025\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04.2) \n",
         "580.95.05"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  590.44.01  Release Build\n", "590.44.01"},
    };
    char version[64];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(doctor_module_version(known[i].text, version, sizeof version));
        assert_string_equal(version, known[i].version);
    }
    assert_false(doctor_module_version("", version, sizeof version));
    assert_false(doctor_module_version("NVRM version: NVIDIA UNIX Open Kernel Module\nGCC version:  11.4.0\n", version, sizeof version));
}

static void test_tools(void **state)
{
    (void)state;
    assert_string_equal(doctor_tool_of("nv-hostengine")->tool, "NVIDIA's DCGM");
    assert_string_equal(doctor_tool_of("nv-nsight-cu-cl")->tool, "Nsight Compute"); /* nv-nsight-cu-cli, as the kernel cuts it */
    assert_null(doctor_tool_of("nsysd"));
    assert_null(doctor_tool_of(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counters), cmocka_unit_test(test_version),
                                       cmocka_unit_test(test_tools)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
