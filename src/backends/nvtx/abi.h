/* abi.h - what an NVTX tool must know of NVTX's binary interface, which has not
 * changed since version 2: from nvToolsExt.h and nvtxDetail/nvtxTypes.h of NVTX
 * 3.2 (github.com/NVIDIA/NVTX, release-v3). Declared here, so that NVTX works
 * in builds without NVIDIA's headers; tests/ranges/abi.c compares the two.
 */
#ifndef SONDE_NVTX_ABI_H
#define SONDE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_PUSH_POP_UNTRACKED = -2 }; /* what push and pop return without a tool */

enum {
    NVTX_MESSAGE_ASCII = 1,
    NVTX_MESSAGE_WIDE = 2,
    NVTX_MESSAGE_REGISTERED = 3,
};
enum {
    NVTX_PAYLOAD_UINT64 = 1,
    NVTX_PAYLOAD_INT64 = 2,
    NVTX_PAYLOAD_FLOAT64 = 3,
    NVTX_PAYLOAD_UINT32 = 4,
    NVTX_PAYLOAD_INT32 = 5,
    NVTX_PAYLOAD_FLOAT32 = 6,
};

struct nvtx_attributes { /* nvtxEventAttributes_t */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered;
    } message;
};

enum { NVTX_TABLE_CALLBACKS = 1 };          /* NvtxExportTableID */
enum {
    /* NvtxCallbackModule */
    NVTX_MODULE_CORE = 1,
    NVTX_MODULE_CORE2 = 5,
};

#define NVTX_CORE_MAP(X) \
    X(1, MarkEx) X(2, MarkA) X(3, MarkW) X(4, RangeStartEx) X(5, RangeStartA) X(6, RangeStartW) X(7, RangeEnd) \
    X(8, RangePushEx) X(9, RangePushA) X(10, RangePushW) X(11, RangePop) X(12, NameCategoryA) X(13, NameCategoryW)
#define NVTX_CORE2_MAP(X) \
    X(1, DomainMarkEx) X(2, DomainRangeStartEx) X(3, DomainRangeEnd) X(4, DomainRangePushEx) X(5, DomainRangePop) \
    X(8, DomainNameCategoryA) X(9, DomainNameCategoryW) X(10, DomainRegisterStringA) X(11, DomainRegisterStringW) \
    X(12, DomainCreateA) X(13, DomainCreateW)

typedef void (*nvtx_function)(void);
struct nvtx_callbacks { /* NvtxExportTableCallbacks */
    size_t size;
    /* *table: an array of pointers to where the functions of the module are kept. Not 0: done. */
    int (*module_table)(int module, nvtx_function ***table, unsigned *entries);
};
typedef const void *(*nvtx_export_table)(uint32_t id);

#endif
