/* cost.cu - plain kernels against their instrumented copies (src/instrument/rewrite.c), on a GPU: cost BLOCKS.txt PTX...
 *
 * BLOCKS.txt is what the rewriter printed. For each PTX: outputs must be equal byte by byte, the least and the most of what `add`
 * and `add4` stored those of the output, and the counts of these the number of their threads. Guesses of what `add` stored: what the
 * second launch counts must be what the output has. Prints the time of the instrumented kernel by that of the plain one: median of pairs,
 * in turns, with the 5th and 95th percentile; what the first launch takes, which has all to tell; and of how many elements it compared its guess.
 */
#include <algorithm>
#include <cmath>
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
struct narrow { int32_t least, most; float low, high; }; /* struct sonde_ptx_narrow */
struct found { uint64_t unchecked, equal, lined; };
struct access { unsigned block; std::string op; char type; unsigned bytes, elements; };
struct kernel { unsigned blocks; std::vector<access> accesses; std::vector<uint64_t> front; };
struct guess { uint64_t word, wide, samples[70], slope, offset, more[6]; }; /* struct sonde_ptx_guess */
enum input { ANY, SAME, LINE }; /* numbers; three of four are the same; on a line */
static const char *const inputs[] = {"", " same", " line"};
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
        } else if (word == "front") {
            for (uint64_t w; of >> std::hex >> w;)
                kernels[name].front.push_back(w);
        } else if (word == "plain") {
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

static float element_of(input kind, size_t i)
{
    if (kind == LINE)
        return .25f * (float)i;
    return kind == SAME && i % 4 ? 3.f : (float)((i * 2654435761u) >> 8 & 0xffff) / 65535.f - .25f;
}

/* What was stored, by the output itself. */
static values truth_of(const std::vector<uint32_t> &out)
{
    values v = {0, UINT64_MAX, INT64_MAX, INT64_MIN};
    for (uint32_t bits : out) {
        v.least = std::min(v.least, ordered((int32_t)bits));
        v.most = std::max(v.most, ordered((int32_t)bits));
    }
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

/* Where what was found is in an area. */
struct layout {
    bool counts, values, guesses;
    size_t front, counts_bytes, found_at, part, bytes;
    layout(const char *ptx, const kernel &k)
    {
        guesses = strstr(ptx, "guesses");
        counts = guesses || strstr(ptx, "counts") || strstr(ptx, "both");
        values = guesses || strstr(ptx, "values") || strstr(ptx, "both");
        front = guesses ? 8 * k.front.size() : 0;
        counts_bytes = counts ? (k.blocks + 1) / 2 * 16 : 0;
        found_at = counts_bytes + (values ? sizeof(::values) * k.accesses.size() : 0);
        part = (found_at + (guesses ? sizeof(found) * k.accesses.size() : 0) + 127) / 128 * 128;
        bytes = front + part * parts;
    }
};

static std::vector<unsigned char> area_start(const layout &at, const kernel &k)
{
    std::vector<unsigned char> start(at.bytes);
    const values none = {0, UINT64_MAX, INT64_MAX, INT64_MIN};
    const narrow narrow_none = {INT32_MAX, INT32_MIN, INFINITY, -INFINITY};
    if (at.guesses)
        memcpy(start.data(), k.front.data(), at.front);
    for (size_t p = 0; at.values && p < parts; p++)
        for (size_t i = 0; i < k.accesses.size(); i++)
            memcpy(&start[at.front + p * at.part + at.counts_bytes + sizeof(values) * i], k.accesses[i].bytes < 8 ? (const void *)&narrow_none : &none,
                   k.accesses[i].bytes < 8 ? sizeof narrow_none : sizeof none);
    return start;
}

static found found_in(const std::vector<unsigned char> &area, const layout &at, size_t access)
{
    found sum = {0, 0, 0}, one;
    for (size_t p = 0; p < parts; p++) {
        memcpy(&one, &area[at.front + p * at.part + at.found_at + sizeof one * access], sizeof one);
        sum = {sum.unchecked + one.unchecked, sum.equal + one.equal, sum.lined + one.lined};
    }
    return sum;
}

/* What is counted of `add`, whose last access is the store, in a launch that begins with a guess. */
static void check_guess(const char *ptx, const char *name, const layout &at, const kernel &k, input kind, const std::vector<unsigned char> before[2], const std::vector<uint32_t> &out)
{
    const size_t store = k.accesses.size() - 1;
    guess g;
    memcpy(&g, &before[0][sizeof g * store], sizeof g);
    const found first = found_in(before[0], at, store), second = found_in(before[1], at, store);
    const uint64_t hidden = 0x5bd1e995c2b2ae3dull, slope_bits = g.slope ^ hidden, offset_bits = g.offset ^ hidden;
    double slope, offset;
    float value, stored;
    memcpy(&slope, &slope_bits, 8);
    memcpy(&offset, &offset_bits, 8);
    memcpy(&value, &g.word, 4);
    uint64_t equal = 0, lined = 0;
    for (size_t i = 0; i < out.size(); i++) {
        memcpy(&stored, &out[i], 4);
        const double up = slope * (double)i;
        equal += out[i] == (uint32_t)g.word;
        lined += g.word >> 48 != 0 && (float)(up + offset) == stored;
    }
    require(g.word >> 32 != 0, ptx, name, "no guess stands");
    require(first.equal <= equal && first.lined <= lined, ptx, name, "the first launch counts too many");
    require(second.unchecked == first.unchecked, ptx, name, "a launch that has a guess does not compare all");
    require(second.equal - first.equal == equal && second.lined - first.lined == lined, ptx, name, "what is equal, or on the line, is miscounted");
    require(kind != SAME || 2 * equal > out.size(), ptx, name, "the frequent value was not guessed");
    require(kind != LINE || lined == out.size(), ptx, name, "the line was not guessed");
    printf("  guess %g, line %g * i + %g: %.1f %% compared in the first launch, then %.1f %% equal, %.1f %% lined\n", value, g.word >> 48 != 0 ? slope : 0.,
           g.word >> 48 != 0 ? offset : 0., 100. - 100. * first.unchecked / out.size(), 100. * equal / out.size(), 100. * lined / out.size());
}

static values values_at(const unsigned char *at, unsigned bytes)
{
    values v;
    narrow n;
    memcpy(&v, at, sizeof v);
    memcpy(&n, at, sizeof n);
    return bytes < 8 ? values{0, UINT64_MAX, n.least <= n.most ? n.least : INT64_MAX, n.least <= n.most ? n.most : INT64_MIN} : v;
}

static void check_area(const char *ptx, const char *name, const layout &at, const kernel &k, const std::vector<unsigned char> &area, unsigned n, const std::vector<uint32_t> &stored)
{
    const values none = {0, UINT64_MAX, INT64_MAX, INT64_MIN}, truth = truth_of(stored);
    for (size_t i = 0; i < k.accesses.size(); i++) {
        uint64_t count = 0, one;
        values v = none, w;
        for (size_t p = 0; p < parts; p++) {
            memcpy(&one, &area[at.front + p * at.part + (at.counts ? 8 * k.accesses[i].block : 0)], 8);
            w = at.values ? values_at(&area[at.front + p * at.part + at.counts_bytes + sizeof(values) * i], k.accesses[i].bytes) : none;
            count += one;
            v = {v.any | w.any, v.all & w.all, std::min(v.least, w.least), std::max(v.most, w.most)};
        }
        require(!at.counts || count == n, ptx, name, "not each thread is counted once");
        require(!at.values || k.accesses[i].op != "st" || !memcmp(&v, &truth, sizeof v), ptx, name, "the values stored are not those of the output");
    }
}

static void compare(const char *ptx, CUmodule module, const char *name, unsigned n, size_t element, input kind, int pairs, double *ratio_out)
{
    const kernel &k = kernels[name];
    const layout at(ptx, k);
    const size_t bytes = n * element;
    const std::vector<unsigned char> start = area_start(at, k);
    std::vector<unsigned char> areas[2] = {start, start}, out[2] = {std::vector<unsigned char>(bytes), std::vector<unsigned char>(bytes)};
    std::vector<uint32_t> in(bytes / 4), stored(bytes / 4);
    CUdeviceptr a, b, c, d, area;
    OK(cuMemAlloc(&a, bytes));
    OK(cuMemAlloc(&b, bytes));
    OK(cuMemAlloc(&c, bytes));
    OK(cuMemAlloc(&d, at.bytes + 8));
    area = d + at.front;
    for (size_t i = 0; i < in.size(); i++) {
        const float x = element_of(kind, i);
        memcpy(&in[i], &x, 4);
        if (!strcmp(name, "gather"))
            in[i] = (uint32_t)(i * 2654435761u >> 4);
    }
    OK(cuMemcpyHtoD(a, in.data(), bytes));
    OK(cuMemcpyHtoD(b, in.data(), bytes));
    launch l[2];
    int registers[2];
    float first = 0;
    for (int which = 0; which < 2; which++) {
        OK(cuModuleGetFunction(&l[which].f, module, (std::string(name) + (which ? "__sonde" : "")).c_str()));
        OK(cuFuncGetAttribute(&registers[which], CU_FUNC_ATTRIBUTE_NUM_REGS, l[which].f));
        l[which].arguments = {&a, &b, &c, &n, &area};
        OK(cuMemsetD8(c, 0, bytes));
        OK(cuMemcpyHtoD(d, start.data(), at.bytes));
        run(l[which], n); /* the driver loads it */
        OK(cuMemcpyHtoD(d, start.data(), at.bytes));
        first = run(l[which], n);
        OK(cuMemcpyDtoH(out[which].data(), c, bytes));
    }
    OK(cuMemcpyDtoH(areas[0].data(), d, at.bytes));
    require(out[0] == out[1], ptx, name, "the outputs differ");
    memcpy(stored.data(), out[0].data(), bytes);
    if (!strncmp(name, "add", 3))
        check_area(ptx, name, at, k, areas[0], n, stored);
    if (at.guesses && !strcmp(name, "add")) {
        run(l[1], n);
        OK(cuMemcpyDtoH(areas[1].data(), d, at.bytes));
        check_guess(ptx, name, at, k, kind, areas, stored);
    }
    std::vector<double> ratios;
    double plain = 0;
    for (int i = 0; i < pairs; i++) {
        const bool swapped = i & 1;
        const float one = run(l[swapped], n), other = run(l[!swapped], n);
        ratios.push_back(swapped ? one / other : other / one);
        plain += (swapped ? other : one) / pairs;
    }
    std::sort(ratios.begin(), ratios.end());
    *ratio_out = ratios[ratios.size() / 2];
    printf("%-14s %-12s %8.3f ms  x %.3f [%.3f, %.3f]  registers %d -> %d", ptx, (std::string(name) + inputs[kind]).c_str(), plain, *ratio_out, ratios[ratios.size() / 20],
           ratios[ratios.size() - 1 - ratios.size() / 20], registers[0], registers[1]);
    printf(", first launch x %.3f\n", first / plain);
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
        static const struct { const char *name; unsigned n; size_t element; input kind; } cases[] = {
            {"add", 1u << 26, 4, ANY}, {"add4", 1u << 24, 16, ANY}, {"stencil", 1u << 26, 4, ANY}, {"all", 1u << 15, 16, ANY}, {"gather", 1u << 24, 4, ANY},
            {"add", 1u << 26, 4, SAME}, {"add", 1u << 26, 4, LINE}, {"add4", 1u << 24, 16, SAME}, {"add4", 1u << 24, 16, LINE}};
        CUmodule module;
        double product = 1, ratio;
        int count = 0;
        const std::string text = read(argv[i]);
        OK(cuModuleLoadData(&module, text.c_str()));
        for (const auto &c : cases) {
            if (c.kind != ANY && !strstr(argv[i], "guesses") && (c.kind == SAME || !strstr(argv[i], "both")))
                continue;
            compare(argv[i], module, c.name, c.n, c.element, c.kind, 41, &ratio);
            product *= c.kind == ANY ? ratio : 1;
            count += c.kind == ANY;
        }
        printf("%-14s geometric mean x %.3f\n", argv[i], pow(product, 1. / count));
        OK(cuModuleUnload(module));
    }
    printf("%s\n", wrong ? "SOMETHING IS WRONG" : "all equal");
    return wrong != 0;
}
