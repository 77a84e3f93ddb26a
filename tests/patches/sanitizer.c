/* sanitizer.c - a libsanitizer-public.so that is made up. */
#include <stdlib.h>
#include <string.h>

#include <sanitizer_callbacks.h>
#include <sanitizer_patching.h>

#include "made.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int made_patched, made_remote;
PUBLIC unsigned made_switches;
static Sanitizer_CallbackFunc callback;
PUBLIC const Sanitizer_LaunchHandle made_node = (void *)(uintptr_t)0x5000;
static int said; /* which instructions are to be patched; with the patches it is taken out */
static const void *data;
static char enabled[16][1024];

PUBLIC void made_callback(int domain, uint32_t id, const void *of)
{
    if (callback && id < 1024 && (enabled[domain][id] || enabled[domain][0]))
        callback(NULL, (Sanitizer_CallbackDomain)domain, id, of);
}

PUBLIC void *made_data(void)
{
    void *now = made_patched ? (void *)(uintptr_t)data : NULL;
    data = NULL;
    return now;
}

PUBLIC void made_node_begins(void)
{
    data = (const void *)MADE_STALE;
}

PUBLIC SanitizerResult sanitizerSubscribe(Sanitizer_SubscriberHandle *subscriber, Sanitizer_CallbackFunc function, void *user)
{
    (void)user;
    if (getenv("MADE_HELD"))
        return SANITIZER_ERROR_MAX_LIMIT_REACHED;
    *subscriber = (void *)&callback;
    callback = function;
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerEnableCallback(uint32_t on, Sanitizer_SubscriberHandle subscriber, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id)
{
    (void)subscriber;
    enabled[domain][id] = (char)on;
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerEnableDomain(uint32_t on, Sanitizer_SubscriberHandle subscriber, Sanitizer_CallbackDomain domain)
{
    return sanitizerEnableCallback(on, subscriber, domain, 0);
}

PUBLIC SanitizerResult sanitizerGetResultString(SanitizerResult result, const char **text)
{
    *text = result == SANITIZER_ERROR_MAX_LIMIT_REACHED ? "the maximum limit is reached" : "refused";
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerAddPatchesFromFile(const char *file, CUcontext context)
{
    (void)context;
    return strstr(file, "sonde-patches.fatbin") && !getenv("MADE_REFUSED") ? SANITIZER_SUCCESS : SANITIZER_ERROR_INVALID_PARAMETER;
}

PUBLIC SanitizerResult sanitizerPatchInstructions(const Sanitizer_InstructionId instruction, CUmodule module, const char *name)
{
    (void)module;
    static const struct {
        Sanitizer_InstructionId instruction;
        const char *name;
    } known[] = {{SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "SondeAccess"},
                 {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "SondeAsync"},
                 {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "SondeRemote"},
                 {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "SondeRemoteAsync"},
                 {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "SondeBulkLoad"},
                 {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, "SondeBulkStore"},
                 {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, "SondeBulkAtomic"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].instruction == instruction && strcmp(name, known[i].name) == 0) {
            said = 1;
            made_remote |= strcmp(name, "SondeRemote") == 0;
            return SANITIZER_SUCCESS;
        }
    return SANITIZER_ERROR_INVALID_PARAMETER;
}

PUBLIC SanitizerResult sanitizerPatchModule(CUmodule module)
{
    (void)module;
    made_patched = said;
    made_switches++;
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerUnpatchModule(CUmodule module)
{
    (void)module;
    made_patched = said = 0;
    made_switches++;
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerSetLaunchCallbackData(Sanitizer_LaunchHandle launch, CUfunction function, Sanitizer_StreamHandle stream, const void *user)
{
    (void)function, (void)stream;
    if (launch == made_node && getenv("MADE_DEAF"))
        return SANITIZER_ERROR_INVALID_PARAMETER;
    data = user;
    return SANITIZER_SUCCESS;
}

PUBLIC SanitizerResult sanitizerGetFunctionPcAndSize(CUmodule module, const char *name, uint64_t *pc, uint64_t *size)
{
    (void)module;
    *pc = name[0] == '?' ? 0 : (strcmp(name, "added") == 0 ? 0x7f0000001000 : 0x7f0000000000);
    *size = 0x1000;
    return name[0] == '?' ? SANITIZER_ERROR_INVALID_PARAMETER : SANITIZER_SUCCESS;
}
