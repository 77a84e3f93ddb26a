/* cost.cu - plain kernels against their instrumented copies (src/instrument/rewrite.c), on a GPU: cost BLOCKS.txt PTX...
 *
 * BLOCKS.txt is what the rewriter printed. For each PTX: outputs must be equal byte by byte, OR, AND, least and most of what `add`
 * and `add4` stored those of the output, and the counts of these the number of their threads. Prints the time of the instrumented
 * kernel by that of the plain one: median of pairs, in turns, with the 5th and 95th percentile.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <cuda.h>

#define OK(call)                                                              \
    do {                                                                      \
        const CUresult gave = (call);                                         \
        if (gave) {                                                           \
            const char *text = "";                                            \
            cuGetErrorString(gave, &text);                                    \
            printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, text);        \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

struct values { uint64_t any, all; int64_t least, most; };
struct access { unsigned block; std::string op; char type; unsigned bytes, elements; };
struct kernel { unsigned blocks; std::vector<access> accesses; };
static std::map<std::string, kernel> kernels;
static int wrong;
static size_t parts; /* multiprocessors */

static std::string read(const char *path)
{
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

static void read_kernels(const char *path)
{
    std::stringstream lines(read(path));
    std::string line, word, name;
    while (std::getline(lines, line)) {
        std::stringstream of(line);
        unsigned statement;
        access a;
        of >> word;
        if (word == "kernel") {
            of >> name;
            of >> kernels[name].blocks;
        } else if (word == "access") {
            of >> statement >> a.block >> a.op >> a.type >> a.bytes >> a.elements;
            kernels[name].accesses.push_back(a);
        } else {
            printf("not instrumented: %s\n", line.c_str());
        }
    }
}

static void require(bool holds, const char *ptx, const char *name, const char *what)
{
    wrong += !holds;
    if (!holds)
        printf("WRONG %s %s: %s\n", ptx, name, what);
}

static int64_t ordered(int32_t bits)
{
    return bits ^ ((bits >> 31) & INT32_MAX);
}

/* What was stored, by the output itself. */
static values truth_of(const std::vector<uint32_t> &out)
{
    values v = {0, UINT64_MAX, INT64_MAX, INT64_MIN};
    uint32_t all = UINT32_MAX;
    for (uint32_t bits : out) {
        v.any |= bits;
        all &= bits;
        v.least = std::min(v.least, ordered((int32_t)bits));
        v.most = std::max(v.most, ordered((int32_t)bits));
    }
    v.all = all;
    return v;
}

struct launch { CUfunction f; std::vector<void *> arguments; };

static float run(const launch &l, unsigned n)
{
    static CUevent begin, end;
    float ms;
    if (!begin) {
        OK(cuEventCreate(&begin, 0));
        OK(cuEventCreate(&end, 0));
    }
    OK(cuEventRecord(begin, 0));
    OK(cuLaunchKernel(l.f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, 0, const_cast<void **>(l.arguments.data()), 0));
    OK(cuEventRecord(end, 0));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    return ms;
}

static void compare(const char *ptx, CUmodule module, const char *name, unsigned n, size_t element, int pairs, double *ratio_out)
{
    const kernel &k = kernels[name];
    const bool has_counts = strstr(ptx, "counts") || strstr(ptx, "both"), has_values = strstr(ptx, "values") || strstr(ptx, "both");
    const size_t counts_bytes = has_counts ? (k.blocks + 1) / 2 * 16 : 0, bytes = n * element;
    const size_t part_bytes = (counts_bytes + (has_values ? sizeof(values) * k.accesses.size() : 0) + 127) / 128 * 128, area_bytes = part_bytes * parts;
    std::vector<unsigned char> start(area_bytes), area(area_bytes), out[2] = {std::vector<unsigned char>(bytes), std::vector<unsigned char>(bytes)};
    std::vector<uint32_t> in(bytes / 4);
    CUdeviceptr a, b, c, d;
    OK(cuMemAlloc(&a, bytes));
    OK(cuMemAlloc(&b, bytes));
    OK(cuMemAlloc(&c, bytes));
    OK(cuMemAlloc(&d, area_bytes + 8));
    for (size_t i = 0; i < in.size(); i++) {
        const float x = (float)((i * 2654435761u) >> 8 & 0xffff) / 65535.f - .25f;
        memcpy(&in[i], &x, 4);
        if (!strcmp(name, "gather"))
            in[i] = (uint32_t)(i * 2654435761u >> 4);
    }
    OK(cuMemcpyHtoD(a, in.data(), bytes));
    OK(cuMemcpyHtoD(b, in.data(), bytes));
    const values none = {0, UINT64_MAX, INT64_MAX, INT64_MIN};
    for (size_t p = 0; has_values && p < parts; p++)
        for (size_t i = 0; i < k.accesses.size(); i++)
            memcpy(&start[p * part_bytes + counts_bytes + sizeof(values) * i], &none, sizeof none);
    launch l[2];
    int registers[2];
    for (int which = 0; which < 2; which++) {
        OK(cuModuleGetFunction(&l[which].f, module, (std::string(name) + (which ? "__sonde" : "")).c_str()));
        OK(cuFuncGetAttribute(&registers[which], CU_FUNC_ATTRIBUTE_NUM_REGS, l[which].f));
        l[which].arguments = {&a, &b, &c, &n, &d};
        OK(cuMemsetD8(c, 0, bytes));
        OK(cuMemcpyHtoD(d, start.data(), area_bytes));
        run(l[which], n);
        OK(cuMemcpyDtoH(out[which].data(), c, bytes));
    }
    OK(cuMemcpyDtoH(area.data(), d, area_bytes));
    require(out[0] == out[1], ptx, name, "the outputs differ");
    if (!strncmp(name, "add", 3)) {
        std::vector<uint32_t> stored(bytes / 4);
        memcpy(stored.data(), out[0].data(), bytes);
        const values truth = truth_of(stored);
        for (size_t i = 0; i < k.accesses.size(); i++) {
            uint64_t count = 0, one;
            values v = none, w;
            for (size_t p = 0; p < parts; p++) {
                memcpy(&one, &area[p * part_bytes + (has_counts ? 8 * k.accesses[i].block : 0)], 8);
                memcpy(&w, has_values ? &area[p * part_bytes + counts_bytes + sizeof(values) * i] : (const void *)&none, sizeof w);
                count += one;
                v = {v.any | w.any, v.all & w.all, std::min(v.least, w.least), std::max(v.most, w.most)};
            }
            require(!has_counts || count == n, ptx, name, "not each thread is counted once");
            require(!has_values || k.accesses[i].op != "st" || !memcmp(&v, &truth, sizeof v), ptx, name, "the values stored are not those of the output");
        }
    }
    std::vector<double> ratios;
    double plain = 0;
    for (int i = 0; i < pairs; i++) {
        const bool swapped = i & 1;
        const float first = run(l[swapped], n), second = run(l[!swapped], n);
        ratios.push_back(swapped ? first / second : second / first);
        plain += (swapped ? second : first) / pairs;
    }
    std::sort(ratios.begin(), ratios.end());
    *ratio_out = ratios[ratios.size() / 2];
    printf("%-14s %-8s %8.3f ms  x %.3f [%.3f, %.3f]  registers %d -> %d\n", ptx, name, plain, *ratio_out, ratios[ratios.size() / 20],
           ratios[ratios.size() - 1 - ratios.size() / 20], registers[0], registers[1]);
    for (CUdeviceptr p : {a, b, c, d})
        OK(cuMemFree(p));
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    char name[128];
    int version;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuDeviceGetName(name, sizeof name, device));
    OK(cuDriverGetVersion(&version));
    int processors;
    OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    parts = processors;
    printf("%s, CUDA %d.%d\n", name, version / 1000, version % 1000 / 10);
    read_kernels(argv[1]);
    for (int i = 2; i < argc; i++) {
        static const struct { const char *name; unsigned n; size_t element; } cases[] = {
            {"add", 1u << 26, 4}, {"add4", 1u << 24, 16}, {"stencil", 1u << 26, 4}, {"all", 1u << 15, 16}, {"gather", 1u << 24, 4}};
        CUmodule module;
        double product = 1, ratio;
        int count = 0;
        const std::string text = read(argv[i]);
        OK(cuModuleLoadData(&module, text.c_str()));
        for (const auto &c : cases) {
            compare(argv[i], module, c.name, c.n, c.element, 41, &ratio);
            product *= ratio;
            count++;
        }
        printf("%-14s geometric mean x %.3f\n", argv[i], pow(product, 1. / count));
        OK(cuModuleUnload(module));
    }
    printf("%s\n", wrong ? "SOMETHING IS WRONG" : "all equal");
    return wrong != 0;
}
