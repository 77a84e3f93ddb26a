/* exact.c - frames of samples are places where a thread was, not where it will
 * return to: they are looked up as they are (frame flag 1, rows.h).
 *
 * The program looks itself up. A function's first byte, as a return address, is
 * the end of whatever lies before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>
#include <link.h>

#include <cmocka.h>

#include "analyze/profile/profile.h"
#include "analyze/symbols/symbols.h"

/* One after the other, without padding: only the exact address tells them apart. */
__asm__(".text\n"
        ".globl exact_before\n.type exact_before, @function\nexact_before:\n nop\n nop\n ret\n.size exact_before, .-exact_before\n"
        ".globl exact_after\n.type exact_after, @function\nexact_after:\n nop\n nop\n ret\n.size exact_after, .-exact_after\n");
void exact_before(void);
void exact_after(void);

struct self {
    uintptr_t bias;
    const char *build_id;
    uint32_t build_id_bytes;
};

static void find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *notes, struct self *self)
{
    const char *at = (const char *)(info->dlpi_addr + notes->p_vaddr), *end = at + notes->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const char *name = at + sizeof note, *bytes = name + ((note.n_namesz + 3) & ~3u);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            self->build_id = bytes;
            self->build_id_bytes = note.n_descsz;
        }
        at = bytes + ((note.n_descsz + 3) & ~3u);
    }
}

static int find_self(struct dl_phdr_info *info, size_t size, void *user)
{
    struct self *self = user;
    (void)size;
    self->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && info->dlpi_phdr[i].p_align == 4)
            find_build_id(info, &info->dlpi_phdr[i], self);
    return 1; /* the program is the first */
}

struct made {
    struct sonde_process process;
    struct sonde_string strings[3];
    struct sonde_row_frame frames[5];
    struct sonde_row_module modules[2];
    struct sonde_row_node nodes[4];
    struct sonde_row_profile profiles[5];
    struct sonde_row_lane lanes[2];
    struct sonde_node_block block;
    char path[4096];
};

static void make(struct made *h)
{
    struct self self = {0};
    memset(h, 0, sizeof *h);
    dl_iterate_phdr(find_self, &self);
    ssize_t length = readlink("/proc/self/exe", h->path, sizeof h->path - 1);
    assert_true(length > 0);
    h->strings[1] = (struct sonde_string){h->path, (uint32_t)length};
    h->strings[2] = (struct sonde_string){self.build_id, self.build_id_bytes};
    h->modules[1] = (struct sonde_row_module){.path = 1, .build_id = self.build_id ? 2 : 0, .base = self.bias};
    const uint64_t after = (uint64_t)((uintptr_t)exact_after - self.bias);
    const struct {
        uint64_t offset;
        uint32_t flags;
    } frames[] = {{after, 1}, {after, 0}, {after + 1, 1}, {after + 2, 0}};
    for (uint32_t i = 0; i < 4; i++) {
        h->frames[i + 1] = (struct sonde_row_frame){
            .kind = SONDE_FRAME_NATIVE,
            .module = 1,
            .offset = frames[i].offset,
            .flags = frames[i].flags,
        };
        h->nodes[i] = (struct sonde_row_node){.frame = i + 1};
        h->profiles[i + 1] = (struct sonde_row_profile){.node = (1 << SONDE_NODE_SHIFT) + i, .lane = 1, .count = 1, .sum_ns = 10};
    }
    h->lanes[1].kind = SONDE_LANE_KIND_THREAD;
    h->block = (struct sonde_node_block){1 << SONDE_NODE_SHIFT, 4, 1, h->nodes};
    h->process = (struct sonde_process){
        .name = "exact-1-0",
        .strings = h->strings,
        .string_count = 3,
        .frames = h->frames,
        .frame_count = 5,
        .modules = h->modules,
        .module_count = 2,
        .profiles = h->profiles,
        .profile_count = 5,
        .lanes = h->lanes,
        .lane_count = 2,
        .node_blocks = &h->block,
        .node_block_count = 1,
    };
}

static void test_symbols(void **state)
{
    static const char *const expected[] = {"exact_after", "exact_before", "exact_after", "exact_after"};
    struct made h;
    struct sonde_symbols symbols = {0};
    (void)state;
    make(&h);
    assert_int_equal(sonde_symbols_find(&h.process, NULL, &symbols), 0);
    assert_int_equal(symbols.rows.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(symbols.rows.items[i].frame, i + 1);
        assert_string_equal(sonde_intern_get(&symbols.strings, symbols.rows.items[i].function), expected[i]);
    }
    sonde_symbols_fini(&symbols);
}

/* The C library's functions are named by its symbols; its debug information, which takes long to unpack, is left
 * alone. This test's own file has both. */
static void test_c_library(void **state)
{
    char folder[] = "/tmp/sonde-exact-XXXXXX", path[64];
    struct made h;
    struct sonde_symbols whole = {0}, names = {0};
    (void)state;
    make(&h);
    h.process.frame_count = 2;
    h.frames[1].offset += (uintptr_t)test_symbols - (uintptr_t)exact_after;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libc.so.6", folder);
    assert_int_equal(symlink(h.path, path), 0);
    assert_int_equal(sonde_symbols_find(&h.process, NULL, &whole), 0);
    h.strings[1] = (struct sonde_string){path, (uint32_t)strlen(path)};
    assert_int_equal(sonde_symbols_find(&h.process, NULL, &names), 0);
    assert_int_equal(names.rows.count, 1);
    const struct sonde_row_symbol *a = whole.rows.items, *b = names.rows.items;
    assert_string_equal(sonde_intern_get(&names.strings, b->function), "test_symbols");
    assert_string_equal(sonde_intern_get(&whole.strings, a->function), "test_symbols");
    assert_true(a->line && a->file && !b->line && !b->file);
    sonde_symbols_fini(&whole);
    sonde_symbols_fini(&names);
    unlink(path);
    rmdir(folder);
}

static int find_vdso(struct dl_phdr_info *info, size_t size, void *user)
{
    return strncmp(info->dlpi_name, "linux-vdso", 10) ? 0 : find_self(info, size, user);
}

/* The kernel's library in every process has no file; it is this process's own if the build ids say so. */
static void test_vdso(void **state)
{
    static char path[] = "linux-vdso.so.1";
    void *vdso = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    const uintptr_t function = vdso ? (uintptr_t)dlsym(vdso, "__vdso_clock_gettime") : 0;
    struct made h;
    struct self self = {0};
    struct sonde_symbols symbols = {0}, others = {0};
    (void)state;
    make(&h);
    if (!function || !dl_iterate_phdr(find_vdso, &self) || !self.build_id)
        skip();
    h.strings[1] = (struct sonde_string){path, sizeof path - 1};
    h.strings[2] = (struct sonde_string){self.build_id, self.build_id_bytes};
    h.process.frame_count = 2;
    h.frames[1].offset = function - self.bias;
    assert_int_equal(sonde_symbols_find(&h.process, NULL, &symbols), 0);
    assert_int_equal(symbols.rows.count, 1);
    assert_string_equal(sonde_intern_get(&symbols.strings, symbols.rows.items[0].function), "__vdso_clock_gettime");
    h.strings[2] = (struct sonde_string){"another kernel's", 16};
    assert_int_equal(sonde_symbols_find(&h.process, NULL, &others), 0);
    assert_int_equal(others.rows.count, 1);
    assert_int_equal(others.rows.items[0].function, 0);
    assert_int_equal(others.notes.count, 0);
    sonde_symbols_fini(&symbols);
    sonde_symbols_fini(&others);
    dlclose(vdso);
}

/* In the tree, samples of one place and calls from it are one node; they are leaves there. */
static void test_tree(void **state)
{
    struct made h;
    struct sonde_profile *profile;
    uint64_t after = 0, before = 0;
    (void)state;
    make(&h);
    struct sonde_measurement m = {.path = "exact", .processes = &h.process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&m, &profile, NULL), 0);
    for (size_t i = 1; i < profile->nodes.count; i++) {
        const struct sonde_cct_node *n = &profile->nodes.items[i];
        assert_int_equal(n->first_child, 0);
        after += strcmp(n->name, "exact_after") == 0 ? n->self.cpu_ns : 0;
        before += strcmp(n->name, "exact_before") == 0 ? n->self.cpu_ns : 0;
    }
    assert_int_equal(after, 30);
    assert_int_equal(before, 10);
    assert_int_equal(profile->nodes.items[0].total.samples, 4);
    sonde_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_symbols),
                                       cmocka_unit_test(test_c_library), cmocka_unit_test(test_vdso), cmocka_unit_test(test_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
