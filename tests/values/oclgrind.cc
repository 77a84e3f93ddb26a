/* oclgrind.cc - a plugin of oclgrind that writes what work-items do in global memory: accesses.py.
 *
 *     buffer ADDRESS BYTES        one was made
 *     before ADDRESS DATA         what is in it at the beginning of a kernel, in hexadecimal, as it lies in memory
 *     load|store ADDRESS DATA
 *     atomic ADDRESS BYTES        wrote
 *     final ADDRESS DATA          what is there at the end of the kernel, of each atomic that wrote
 *     end                         of a kernel
 *
 * To the file that ACCESSES names. C++, because oclgrind's plugins are.
 */
#include <oclgrind/Context.h>
#include <oclgrind/Memory.h>
#include <oclgrind/Plugin.h>

#include <map>

namespace
{

enum { GLOBAL = 1 };

class Accesses : public oclgrind::Plugin
{
  public:
    explicit Accesses(const oclgrind::Context *context) : Plugin(context), out(std::fopen(std::getenv("ACCESSES"), "w")) {}
    ~Accesses() override
    {
        std::fclose(out);
    }
    bool isThreadSafe() const override
    {
        return false;
    }

    void memoryAllocated(const oclgrind::Memory *memory, size_t address, size_t size, cl_mem_flags, const uint8_t *) override
    {
        if (memory->getAddressSpace() != GLOBAL)
            return;
        std::fprintf(out, "buffer %zx %zu\n", address, size);
        buffers[address] = {memory, size};
    }
    void memoryDeallocated(const oclgrind::Memory *memory, size_t address) override
    {
        if (memory->getAddressSpace() == GLOBAL)
            buffers.erase(address);
    }
    void kernelBegin(const oclgrind::KernelInvocation *) override
    {
        contents("before", buffers);
    }
    void memoryLoad(const oclgrind::Memory *memory, const oclgrind::WorkItem *, size_t address, size_t size) override
    {
        if (memory->getAddressSpace() == GLOBAL && memory->isAddressValid(address, size))
            write("load", address, size, static_cast<const uint8_t *>(memory->getPointer(address)));
    }
    void memoryStore(const oclgrind::Memory *memory, const oclgrind::WorkItem *, size_t address, size_t size, const uint8_t *data) override
    {
        if (memory->getAddressSpace() == GLOBAL)
            write("store", address, size, data);
    }
    void memoryAtomicStore(const oclgrind::Memory *memory, const oclgrind::WorkItem *, oclgrind::AtomicOp, size_t address, size_t size) override
    {
        if (memory->getAddressSpace() != GLOBAL)
            return;
        atomics[address] = {memory, size};
        std::fprintf(out, "atomic %zx %zu\n", address, size);
    }
    void kernelEnd(const oclgrind::KernelInvocation *) override
    {
        contents("final", atomics);
        atomics.clear();
        std::fprintf(out, "end\n");
        std::fflush(out);
    }

  private:
    void write(const char *what, size_t address, size_t size, const uint8_t *data)
    {
        std::fprintf(out, "%s %zx ", what, address);
        for (size_t i = 0; i < size; i++)
            std::fprintf(out, "%02x", data[i]);
        std::fputc('\n', out);
    }

    using Places = std::map<size_t, std::pair<const oclgrind::Memory *, size_t>>;
    void contents(const char *what, const Places &places)
    {
        for (const auto &one : places)
            write(what, one.first, one.second.second, static_cast<const uint8_t *>(one.second.first->getPointer(one.first)));
    }

    std::FILE *out;
    Places buffers, atomics;
};

Accesses *plugin;

} // namespace

extern "C" void initializePlugins(oclgrind::Context *context)
{
    plugin = new Accesses(context);
    context->registerPlugin(plugin);
}

extern "C" void releasePlugins(oclgrind::Context *context)
{
    context->unregisterPlugin(plugin);
    delete plugin;
}
