/* abi.c - src/backends/nvtx/abi.h against NVIDIA's own headers. It fails to compile, not to run. */
#include <assert.h>
#include <nvtx3/nvToolsExt.h>

#include "backends/nvtx/abi.h"

#define SAME(a, b)                                                                                    \
    static_assert(offsetof(struct nvtx_attributes, a) == offsetof(nvtxEventAttributes_t, b), #a);     \
    static_assert(sizeof(((struct nvtx_attributes *)0)->a) == sizeof(((nvtxEventAttributes_t *)0)->b), #a)

static_assert(sizeof(struct nvtx_attributes) == NVTX_EVENT_ATTRIB_STRUCT_SIZE, "size");
SAME(version, version);
SAME(size, size);
SAME(category, category);
SAME(payload_type, payloadType);
SAME(payload, payload);
SAME(payload.f32, payload.fValue);
SAME(message_type, messageType);
SAME(message, message);

#define CONSTANT(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
CONSTANT(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
CONSTANT(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
CONSTANT(NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
CONSTANT(NVTX_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
CONSTANT(NVTX_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
CONSTANT(NVTX_PAYLOAD_FLOAT64, NVTX_PAYLOAD_TYPE_DOUBLE);
CONSTANT(NVTX_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
CONSTANT(NVTX_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
CONSTANT(NVTX_PAYLOAD_FLOAT32, NVTX_PAYLOAD_TYPE_FLOAT);
CONSTANT(NVTX_PUSH_POP_UNTRACKED, NVTX_NO_PUSH_POP_TRACKING);
CONSTANT(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
CONSTANT(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
CONSTANT(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
static_assert(sizeof(struct nvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "callbacks");

#define CORE(id, name) CONSTANT(id, NVTX_CBID_CORE_##name);
#define CORE2(id, name) CONSTANT(id, NVTX_CBID_CORE2_##name);
NVTX_CORE_MAP(CORE)
NVTX_CORE2_MAP(CORE2)

int main(void)
{
    return 0;
}
