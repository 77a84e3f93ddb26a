/* nvtx.c - an OpenCL program that names its phases with NVTX, every call of it once.
 *
 *   nvtx MODE [LIBRARY]     MODE is one of the functions in main(); LIBRARY is
 *                           an older NVTX, whose functions are called instead
 *
 * It prints what NVTX returned where that does not depend on the tool. run.py
 * knows how many operations belong into which range.
 */
#include "../programs/guest.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#define NOINLINE __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory") /* no tail call */

static struct guest g;

NOINLINE static void compute(int times)
{
    guest_add(&g, times);
    STAY();
}

NOINLINE static void forward(int times)
{
    nvtxRangePushA("forward");
    compute(times);
    nvtxRangePop();
    STAY();
}

NOINLINE static void train(void)
{
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("iteration");
        forward(3);
        compute(2);
        nvtxRangePop();
    }
    compute(1);
    STAY();
}

static void nested(void)
{
    nvtxRangePushA("everything"); /* before the first device call */
    guest_open(&g);
    train();
    nvtxRangePop();
    compute(4);
}

static nvtxEventAttributes_t attributes(const char *message)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = message;
    return a;
}

static void domains(void)
{
    nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"zw\u00f6lf");
    nvtxStringHandle_t text = nvtxDomainRegisterStringA(one, "registered");
    nvtxStringHandle_t wide = nvtxDomainRegisterStringW(two, L"r\u00e9gistr\u00e9");
    nvtxEventAttributes_t a = attributes("plain"), b = attributes(NULL), c = attributes(NULL);
    nvtxDomainNameCategoryA(one, 7, "seven");
    nvtxNameCategoryW(8, L"acht");
    a.category = 7;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 2.5;
    b.messageType = c.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    b.message.registered = text;
    c.message.registered = wide;
    c.category = 9; /* without a name */
    c.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    c.payload.iValue = -3;
    guest_open(&g);
    nvtxDomainRangePushEx(one, &a);
    compute(1);
    nvtxDomainRangePushEx(two, &c);
    compute(2);
    nvtxDomainRangePop(one); /* not the innermost */
    compute(3);
    nvtxDomainRangePop(two);
    nvtxDomainRangePushEx(one, &b);
    compute(4);
    nvtxDomainRangePop(one);
    nvtxEventAttributes_t d = attributes("typed");
    d.category = 8;
    d.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    d.payload.ullValue = 1ull << 63;
    nvtxRangePushEx(&d);
    compute(5);
    nvtxRangePop();
    nvtxRangePushW(L"\u03b2\U0001f600");
    compute(6);
    nvtxRangePop();
    nvtxDomainMarkEx(one, &a);
    d.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    d.payload.fValue = -0.5f;
    nvtxMarkEx(&d);
    nvtxMarkA("mark");
    nvtxMarkW(L"M\u00e4rz");
    nvtxRangeId_t started = nvtxRangeStartA("started"), across = nvtxDomainRangeStartEx(one, &b);
    nvtxRangeId_t typed = nvtxRangeStartEx(&d), last = nvtxRangeStartW(L"last");
    compute(7); /* these are no frames */
    nvtxRangeEnd(started);
    nvtxRangeEnd(started); /* again: nothing */
    nvtxDomainRangeEnd(one, across);
    nvtxRangeEnd(typed);
    nvtxRangeEnd(12345);
    (void)last; /* never ended */
    nvtxDomainDestroy(two);
}

static void unbalanced(void)
{
    nvtxRangePop();
    guest_open(&g);
    nvtxRangePop();
    for (int i = 0; i < 100; i++)
        nvtxRangePushA("deep");
    compute(1);
    for (int i = 0; i < 1000; i++)
        nvtxRangePop();
    compute(2);
    forward(3);
    nvtxRangePushA("left open");
    compute(4);
}

static void names(void)
{
    char name[40];
    guest_open(&g);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "step %d", i);
        nvtxRangePushA(name);
        if (i % 1000 == 999)
            compute(1);
        nvtxRangePop();
    }
}

static void *thread(void *name)
{
    nvtxRangePushA(name);
    for (int i = 0; i < 50; i++)
        forward(1);
    nvtxRangePop();
    return NULL;
}

static void threads(void)
{
    static const char *const name[4] = {"thread a", "thread b", "thread c", "thread d"};
    pthread_t all[4];
    guest_open(&g);
    struct guest first = g;
    for (int i = 0; i < 4; i++) /* one after the other: a kernel's arguments are shared */
        if (pthread_create(&all[i], NULL, thread, (void *)(uintptr_t)name[i]) == 0)
            pthread_join(all[i], NULL);
    g = first;
}

static void captured(void)
{
    guest_open(&g);
    nvtxRangePushA("outside");
    compute(5);
    nvtxRangePushA("wanted");
    forward(2);
    nvtxRangePop();
    compute(7);
    nvtxRangePushA("wanted");
    compute(1);
    nvtxRangePop();
    nvtxRangePop();
    compute(9);
}

/* A child has ranges of its own: those that its parent had open are not open in it. */
static void forked(void)
{
    nvtxRangePushA("parent");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        nvtxRangePop();
    nvtxRangePushA(child == 0 ? "child" : "after");
    if (child > 0)
        guest_wait(child, "child");
    guest_open(&g);
    compute(child == 0 ? 2 : 1);
    nvtxRangePop();
    compute(3);
}

/* NVTX 1 and 2 were a library. */
static void library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    int (*range_push)(const char *) = NULL;
    int (*range_pop)(void) = NULL;
    if (handle) {
        *(void **)&range_push = dlsym(handle, "nvtxRangePushA");
        *(void **)&range_pop = dlsym(handle, "nvtxRangePop");
    }
    if (!range_push || !range_pop)
        exit(77);
    guest_open(&g);
    printf("push gave %d\n", range_push("old"));
    compute(3);
    printf("pop gave %d\n", range_pop());
    compute(1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"nested", nested},
        {"domains", domains},
        {"unbalanced", unbalanced},
        {"names", names},
        {"threads", threads},
        {"captured", captured},
        {"forked", forked},
    };
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "library") == 0 && argc > 2)
        library(argv[2]);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i].name) == 0)
            modes[i].run();
    printf("push gives %d\n", nvtxRangePushA("push"));
    printf("pop gives %d\n", nvtxRangePop());
    if (g.context) {
        printf("ran %d\n", guest_read(&g));
        guest_close(&g);
    }
    return 0;
}
