/* nvtx.c - NVTX ranges and marks, by NVTX's own way of loading a tool.
 *
 * NVTX is a header: each library that uses it looks at its first call for a
 * tool in NVTX_INJECTION64_PATH and gives it a table of its functions, which
 * are empty without one. We are asked once per library. docs/ranges.md says
 * what becomes of each call.
 */
#include <sonde/backend.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "names.h"

#define NAME_MAX_BYTES 1000u /* of a message; the rest is cut */

/* The range that is to be recorded, and only it: --capture-range nvtx:NAME. */
static const char *capture;
static _Atomic uint32_t capture_open; /* how many of that name are open, in all threads */

/* ---- what a call says ----------------------------------------------------------------- */

struct message {
    const char *bytes;
    size_t length;
    char narrow[NAME_MAX_BYTES + 24];
};

static void message_ascii(struct message *m, const char *text)
{
    m->bytes = text ? text : "";
    m->length = strnlen(m->bytes, NAME_MAX_BYTES);
}

static void message_wide(struct message *m, const wchar_t *text)
{
    m->bytes = m->narrow;
    m->length = text ? sonde__nvtx_narrow(text, m->narrow, NAME_MAX_BYTES) : 0;
}

static void message_of(struct message *m, const struct nvtx_attributes *a)
{
    const struct sonde_nvtx_name *registered = NULL;
    message_ascii(m, NULL);
    if (!a || a->size < sizeof *a)
        return;
    if (a->message_type == NVTX_MESSAGE_ASCII)
        message_ascii(m, a->message.ascii);
    else if (a->message_type == NVTX_MESSAGE_WIDE)
        message_wide(m, a->message.wide);
    else if (a->message_type == NVTX_MESSAGE_REGISTERED)
        registered = a->message.registered;
    if (registered) {
        m->bytes = registered->bytes;
        m->length = registered->length;
    }
}

static void payload_of(struct sonde_range *range, const struct nvtx_attributes *a)
{
    double number;
    switch (a->payload_type) {
    case NVTX_PAYLOAD_UINT64:
        range->payload_type = 1;
        range->payload = a->payload.u64;
        break;
    case NVTX_PAYLOAD_UINT32:
        range->payload_type = 1;
        range->payload = a->payload.u32;
        break;
    case NVTX_PAYLOAD_INT64:
        range->payload_type = 2;
        range->payload = a->payload.u64;
        break;
    case NVTX_PAYLOAD_INT32:
        range->payload_type = 2;
        range->payload = (uint64_t)(int64_t)a->payload.i32;
        break;
    case NVTX_PAYLOAD_FLOAT64:
    case NVTX_PAYLOAD_FLOAT32:
        number = a->payload_type == NVTX_PAYLOAD_FLOAT64 ? a->payload.f64 : (double)a->payload.f32;
        range->payload_type = 3;
        memcpy(&range->payload, &number, sizeof number);
        break;
    default: break; /* none, or a structure described elsewhere */
    }
}

static uint32_t name_id(const struct sonde_nvtx_name *name)
{
    return name ? sonde_string(name->bytes, name->length) : 0;
}

static uint32_t category_id(const void *domain, uint32_t number)
{
    const struct sonde_nvtx_name *name = number ? sonde__nvtx_category(domain, number) : NULL;
    char text[16], *at = text + sizeof text;
    if (!number || name)
        return name_id(name);
    for (uint32_t n = number; n; n /= 10) /* a category without a name is its number */
        *--at = (char)('0' + n % 10);
    return sonde_string(at, (size_t)(text + sizeof text - at));
}

/* ---- --capture-range ----------------------------------------------------------------------- */

static bool is_captured(const struct message *m)
{
    return capture && strlen(capture) == m->length && memcmp(capture, m->bytes, m->length) == 0;
}

static void capture_begins(const struct message *m)
{
    if (is_captured(m) && atomic_fetch_add(&capture_open, 1) == 0)
        sonde_recording_set(true);
}

/* Ends come without a name: the agent knows which range it was. */
static void capture_ends(uint32_t name)
{
    if (!capture || !name || name != sonde_string(capture, strlen(capture)))
        return;
    uint32_t open = atomic_load(&capture_open);
    while (open && !atomic_compare_exchange_weak(&capture_open, &open, open - 1))
        ;
    if (open == 1)
        sonde_recording_set(false);
}

/* ---- the calls --------------------------------------------------------------------------------- */

static bool range_of(struct sonde_range *range, const struct message *m, const void *domain,
                     const struct nvtx_attributes *a)
{
    if (!sonde_enter())
        return false;
    *range = (struct sonde_range){.name = sonde_range_name(m->bytes, m->length), .domain = name_id(domain)};
    if (a && a->size >= sizeof *a) {
        range->category = category_id(domain, a->category);
        payload_of(range, a);
    }
    return true;
}

static int push(const struct message *m, const void *domain, const struct nvtx_attributes *a)
{
    struct sonde_range range;
    if (range_of(&range, m, domain, a)) {
        capture_begins(m);
        sonde_range_push(&range);
    }
    return NVTX_PUSH_POP_UNTRACKED;
}

static int pop(const void *domain)
{
    capture_ends(sonde_range_pop(name_id(domain)));
    return NVTX_PUSH_POP_UNTRACKED;
}

static uint64_t begin(const struct message *m, const void *domain, const struct nvtx_attributes *a)
{
    struct sonde_range range;
    if (!range_of(&range, m, domain, a))
        return 0;
    capture_begins(m);
    return sonde_range_start(&range);
}

static void mark(const struct message *m, const void *domain, const struct nvtx_attributes *a)
{
    struct sonde_range range;
    if (sonde_recording() && range_of(&range, m, domain, a))
        sonde_mark(&range);
}

#define WITH(read, text) struct message m; read(&m, text)

/* clang-format off */
static void MarkEx(const struct nvtx_attributes *a) { WITH(message_of, a); mark(&m, NULL, a); }
static void MarkA(const char *text) { WITH(message_ascii, text); mark(&m, NULL, NULL); }
static void MarkW(const wchar_t *text) { WITH(message_wide, text); mark(&m, NULL, NULL); }
static uint64_t RangeStartEx(const struct nvtx_attributes *a) { WITH(message_of, a); return begin(&m, NULL, a); }
static uint64_t RangeStartA(const char *text) { WITH(message_ascii, text); return begin(&m, NULL, NULL); }
static uint64_t RangeStartW(const wchar_t *text) { WITH(message_wide, text); return begin(&m, NULL, NULL); }
static void RangeEnd(uint64_t id) { capture_ends(sonde_range_end(id)); }
static int RangePushEx(const struct nvtx_attributes *a) { WITH(message_of, a); return push(&m, NULL, a); }
static int RangePushA(const char *text) { WITH(message_ascii, text); return push(&m, NULL, NULL); }
static int RangePushW(const wchar_t *text) { WITH(message_wide, text); return push(&m, NULL, NULL); }
static int RangePop(void) { return pop(NULL); }
/* clang-format on */

static void DomainMarkEx(const void *domain, const struct nvtx_attributes *a)
{
    WITH(message_of, a);
    mark(&m, domain, a);
}
static uint64_t DomainRangeStartEx(const void *domain, const struct nvtx_attributes *a)
{
    WITH(message_of, a);
    return begin(&m, domain, a);
}
static void DomainRangeEnd(const void *domain, uint64_t id)
{
    (void)domain;
    RangeEnd(id);
}
static int DomainRangePushEx(const void *domain, const struct nvtx_attributes *a)
{
    WITH(message_of, a);
    return push(&m, domain, a);
}
static int DomainRangePop(const void *domain)
{
    return pop(domain);
}

static const void *name(enum sonde_nvtx_kind kind, const void *domain, uint32_t number, const struct message *m)
{
    return sonde__nvtx_name(kind, domain, number, m->bytes, m->length);
}

static void DomainNameCategoryA(const void *domain, uint32_t category, const char *text)
{
    WITH(message_ascii, text);
    name(SONDE_NVTX_CATEGORY, domain, category, &m);
}
static void DomainNameCategoryW(const void *domain, uint32_t category, const wchar_t *text)
{
    WITH(message_wide, text);
    name(SONDE_NVTX_CATEGORY, domain, category, &m);
}
static void NameCategoryA(uint32_t category, const char *text)
{
    DomainNameCategoryA(NULL, category, text);
}
static void NameCategoryW(uint32_t category, const wchar_t *text)
{
    DomainNameCategoryW(NULL, category, text);
}

/* Strings of all domains are one set: a string is the same in each. */
static const void *DomainRegisterStringA(const void *domain, const char *text)
{
    (void)domain;
    WITH(message_ascii, text);
    return name(SONDE_NVTX_STRING, NULL, 0, &m);
}
static const void *DomainRegisterStringW(const void *domain, const wchar_t *text)
{
    (void)domain;
    WITH(message_wide, text);
    return name(SONDE_NVTX_STRING, NULL, 0, &m);
}
static const void *DomainCreateA(const char *text)
{
    WITH(message_ascii, text);
    return name(SONDE_NVTX_DOMAIN, NULL, 0, &m);
}
static const void *DomainCreateW(const wchar_t *text)
{
    WITH(message_wide, text);
    return name(SONDE_NVTX_DOMAIN, NULL, 0, &m);
}

/* ---- loading ------------------------------------------------------------------------------------- */

struct entry {
    unsigned id;
    nvtx_function function;
};
#define ENTRY(id, name) {id, (nvtx_function)(void (*)(void))name},
static const struct entry core[] = {NVTX_CORE_MAP(ENTRY)}, core2[] = {NVTX_CORE2_MAP(ENTRY)};

static bool fill(const struct nvtx_callbacks *callbacks, int module, const struct entry *entries, size_t count)
{
    nvtx_function **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].id < size && table[entries[i].id])
            *table[entries[i].id] = entries[i].function;
    return true;
}

/* What NVIDIA's tool libraries say is about themselves; and they say it within calls of ours. */
static bool is_tool(nvtx_export_table get_table)
{
    Dl_info library;
    union {
        nvtx_export_table function;
        const void *address;
    } in = {get_table};
    if (!dladdr(in.address, &library) || !library.dli_fname)
        return false;
    const char *slash = strrchr(library.dli_fname, '/'), *name = slash ? slash + 1 : library.dli_fname;
    return strncmp(name, "libsanitizer-public.so", 22) == 0 || strncmp(name, "libcupti.so", 11) == 0;
}

/* NVTX calls this in each library that uses it. 1: the functions are set; 0: NVTX stays empty. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_table get_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_table get_table)
{
    const struct nvtx_callbacks *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
    const char *range = getenv("SONDE_CAPTURE"), *out = getenv("SONDE_OUT");
    if (!out || !*out || !callbacks || callbacks->size < sizeof *callbacks || !callbacks->module_table || is_tool(get_table))
        return 0;
    if (range && strncmp(range, "nvtx:", 5) == 0)
        capture = range + 5;
    fill(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2); /* from NVTX 2 on */
    return fill(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
}
