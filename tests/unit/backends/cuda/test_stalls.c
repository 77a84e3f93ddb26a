/* test_stalls.c - samples of where warps are (--pc): each is handed on once or counted as missing, whatever CUPTI answers; one context of a device at a time,
 * and nothing is asked of one that is gone. */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/cuda/claim.h"
#include "libraries/pcsampling.h"
#include "played.h"

enum { WAITING = 5,
       IDLE = 2,
       ISSUED = 3 }; /* samples of each instruction (libraries/pcsampling.c) */

static struct made_pcsampling *made;
static char folder[] = "/tmp/sonde-stalls-XXXXXX";

static CUresult CUDAAPI pci(int *value, CUdevice_attribute which, CUdevice device)
{
    *value = which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? 10 + device : 0;
    return CUDA_SUCCESS;
}

static CUptiResult CUPTIAPI result_string(CUptiResult result, const char **text)
{
    (void)result;
    *text = "made up";
    return CUPTI_SUCCESS;
}

static bool was_said(const char *what)
{
    for (uint32_t i = 0; i < noted.notes; i++)
        if (strstr(noted.note[i], what))
            return true;
    return false;
}

static CUcontext context(uintptr_t n)
{
    return (CUcontext)n;
}

static void create(uintptr_t n)
{
    sonde__cuda_context_created(context(n));
    sonde__cuda_stalls_context(context(n));
}

static void begin(uint64_t cycles)
{
    static char room[400];
    void *library = dlopen(PCSAMPLING, RTLD_NOW);
    assert_non_null(library);
    made = dlsym(library, "made_pcsampling");
    memset(made, 0, sizeof *made);
    memset(noted.stall_sum, 0, sizeof noted.stall_sum);
    noted.stall_idle = 0;
    noted.stalls = 0;
    sonde__cudrv.cuDeviceGetAttribute = pci;
    sonde__cupti.cuptiGetResultString = result_string;
    snprintf(sonde__cupti.path, sizeof sonde__cupti.path, "%s", PCSAMPLING);
    assert_null(sonde__cuda_stalls_begin(cycles, room, sizeof room));
}

enum { PATIENCE = 60000 }; /* milliseconds, at the least: the thread that reads may have to wait for a processor */

static void turn(void)
{
    noted.now_ns += 200000000;
    sonde__cuda_stalls_turn();
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* The monitor's turns, until the thread has read so often. */
static void turns(size_t readings)
{
    const size_t from = made->readings;
    for (int i = 0; i < PATIENCE && made->readings < from + readings; i++)
        turn();
}

static void end(void)
{
    sonde__cuda_stalls_last(UINT64_MAX / 2);
}

static bool has_it(uint32_t bus)
{
    char path[200], text[8] = "";
    snprintf(path, sizeof path, "%s/sonde-samples-0000-%02x-00", folder, bus);
    FILE *file = fopen(path, "r");
    const bool has = file && fgets(text, sizeof text, file) && atoi(text) > 0;
    if (file)
        fclose(file);
    return has;
}

static void each_sample_once(void **state)
{
    (void)state;
    begin(65536);
    create(1);
    assert_int_equal(made->enabled, 1);
    assert_int_equal(made->shift, 16);
    assert_int_equal(made->mode, 1); /* continuous */
    assert_true(has_it(10));
    made->elsewhere = 40;
    made->dropped = 7;
    made->waiting = 20000; /* more than are taken at once */
    turns(4);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 20000 * (WAITING + ISSUED));
    made->waiting = 3;
    turns(1);
    made->at_end = 100;
    end();
    assert_int_equal(made->disabled, 1);
    assert_false(has_it(10));
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 20103 * (WAITING + ISSUED));
    assert_int_equal(noted.stall_idle, 20103 * IDLE);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_ELSEWHERE], 40);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_DROPPED], 7);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_LOST], 0);
    const struct noted_stall *last = &noted.stall[(noted.stalls - 1) % NOTED_MAX];
    assert_int_equal(last->where.cycles, 65536);
    assert_int_equal(noted.notes, 0);
    end(); /* once more: nothing */
    for (int i = 0; i < 50; i++)
        turn();
    assert_int_equal(made->disabled, 1);
}

static void what_is_missing_is_counted(void **state)
{
    (void)state;
    begin(1000); /* not a power of two: the next */
    create(1);
    assert_int_equal(made->shift, 10);
    made->waiting = 10;
    made->secret = 11; /* that CUPTI counts and does not show */
    turns(2);
    noted.stalls_full = true; /* and what there is no room for */
    made->waiting = 4;
    turns(2);
    noted.stalls_full = false;
    end();
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 10 * (WAITING + ISSUED));
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_LOST], 11 + 4 * (WAITING + ISSUED));
}

static void a_full_buffer_is_said_once(void **state)
{
    (void)state;
    begin(262144);
    create(1);
    made->reads_as = CUPTI_ERROR_OUT_OF_MEMORY;
    turns(3);
    made->reads_as = 0;
    made->waiting = 5;
    turns(1);
    end();
    assert_int_equal(noted.notes, 1);
    assert_true(was_said("--pc=1048576"));
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 5 * (WAITING + ISSUED));
}

static void after_an_error_the_device_is_free(void **state)
{
    (void)state;
    begin(65536);
    create(1);
    made->at_end = 6;
    made->reads_as = CUPTI_ERROR_UNKNOWN;
    turns(1);
    for (int i = 0; i < PATIENCE && has_it(10); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_false(has_it(10));
    end();
    assert_int_equal(made->disabled, 1);
    assert_true(was_said("cannot read samples"));
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 6 * (WAITING + ISSUED));
    sonde__cuda_stalls_context_gone(context(1));
    assert_int_equal(made->disabled, 1);
}

/* It may write to its buffer later, and samples on: the device is not another's. */
static void what_does_not_let_go_keeps_it(void **state)
{
    (void)state;
    begin(65536);
    create(5); /* for good */
    made->disables_as = CUPTI_ERROR_UNKNOWN;
    turns(1);
    sonde__cuda_stalls_context_gone(context(5));
    assert_true(was_said("cannot stop"));
    assert_true(has_it(14));
    end();
    made->disables_as = 0;
    sonde__claim_release(0, 14, 0);
}

static void one_context_of_a_device(void **state)
{
    (void)state;
    begin(65536);
    create(2); /* device 1 */
    sonde__cuda_stalls_context(context(2)); /* as if another of the same device: CUPTI's numbers are the handles */
    assert_int_equal(made->enabled, 1);
    assert_true(was_said("only the first is sampled"));
    create(3); /* another device */
    assert_int_equal(made->enabled, 2);
    assert_true(has_it(11) && has_it(12));
    sonde__cuda_stalls_context_gone(context(2));
    assert_false(has_it(11));
    create(2); /* and again */
    assert_int_equal(made->enabled, 3);
    end();
    assert_int_equal(made->disabled, 3);
}

static void what_cannot_begin_leaves_the_place(void **state)
{
    (void)state;
    begin(65536);
    made->enables_as = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    create(1);
    assert_true(was_said("NVreg_RestrictProfilingToAdminUsers"));
    assert_false(has_it(10));
    made->enables_as = 0;
    create(1);
    assert_int_equal(made->enabled, 1);
    end();
}

/* A reading is under way when the context goes, or when the program ends within a moment. */
static void slow_readings(void **state)
{
    (void)state;
    begin(65536);
    create(1);
    made->slow_ms = 200;
    made->waiting = 9;
    noted.now_ns += 200000000;
    sonde__cuda_stalls_turn();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    sonde__cuda_stalls_context_gone(context(1)); /* waits for it */
    assert_int_equal(made->disabled, 1);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 9 * (WAITING + ISSUED));
    create(1);
    made->at_end = 8;
    noted.now_ns += 200000000;
    sonde__cuda_stalls_turn();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    for (int i = 0; i < PATIENCE && made->disabled < 2; i++) { /* the end comes in pieces */
        noted.now_ns += 400000000;
        sonde__cuda_stalls_last(0);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    assert_int_equal(made->disabled, 2);
    for (int i = 0; i < PATIENCE && has_it(10); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(noted.stall_sum[SONDE_STALL_KIND_SAMPLED], 17 * (WAITING + ISSUED));
}

/* An ELF file with one named section. */
static size_t cubin(uint8_t *bytes, const char *section)
{
    const Elf64_Ehdr head = {.e_ident = ELFMAG, .e_shoff = sizeof head, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 2, .e_shstrndx = 1};
    const Elf64_Shdr sections[2] = {{.sh_name = 0}, {.sh_name = 0, .sh_offset = sizeof head + sizeof sections, .sh_size = 100}};
    memset(bytes, 0, 1000);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, sections, sizeof sections);
    strcpy((char *)bytes + sizeof head + sizeof sections, section);
    return 1000;
}

static void lines_are_those_of_the_code(void **state)
{
    _Alignas(16) uint8_t bytes[1000];
    CUpti_ModuleResourceData module = {.cubinSize = 0, .pCubin = (const char *)bytes};
    (void)state;
    for (int with = 0; with < 2; with++) {
        noted_reset();
        begin(65536);
        module.cubinSize = cubin(bytes, with ? ".debug_line" : ".text");
        sonde__cuda_stalls_module(&module);
        create(1);
        made->waiting = 2;
        made->given = 50000 + 100 * (uint64_t)with; /* instructions that were not asked for yet: that is done once */
        turns(1);
        end();
        bool odd = false, even = false;
        for (uint32_t i = 0; i < noted.stalls; i++) {
            const struct sonde_stall *w = &noted.stall[i].where;
            if (w->kind != SONDE_STALL_KIND_SAMPLED)
                continue;
            assert_int_equal(w->line, with ? 1 + w->offset / 16 : 0);
            assert_int_equal(w->file != 0, with);
            odd |= with && strcmp(noted.string[w->file - 1], "/src/kernels.cu") == 0 && strcmp(noted.string[w->function - 1], "odd") == 0;
            even |= with && strcmp(noted.string[w->file - 1], "/else/even.cu") == 0;
        }
        assert_int_equal(odd && even, with);
    }
    /* Damaged code has none, and is not read beyond its end. */
    for (size_t size = 0; size < 200; size++) {
        cubin(bytes, ".debug_line");
        module.cubinSize = size;
        sonde__cuda_stalls_module(&module);
    }
}

static int before(void **state)
{
    (void)state;
    sonde__claim_folder = mkdtemp(folder);
    return sonde__claim_folder ? 0 : -1;
}

static int after(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(each_sample_once), TEST(what_is_missing_is_counted), TEST(a_full_buffer_is_said_once), TEST(after_an_error_the_device_is_free),
                                       TEST(what_does_not_let_go_keeps_it), TEST(one_context_of_a_device), TEST(what_cannot_begin_leaves_the_place),
                                       TEST(slow_readings), TEST(lines_are_those_of_the_code)};
    return cmocka_run_group_tests(tests, before, after);
}
