/* oclgrind.cc - a plugin of oclgrind that writes what work-items do in global memory: accesses.py.
 *
 *     buffer ADDRESS BYTES        one was made
 *     load|store ADDRESS DATA     in hexadecimal, as it lies in memory
 *     atomic ADDRESS BYTES
 *     end                         of a kernel
 *
 * To the file that ACCESSES names. C++, because oclgrind's plugins are.
 */
#include <oclgrind/Context.h>
#include <oclgrind/Memory.h>
#include <oclgrind/Plugin.h>

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
        if (memory->getAddressSpace() == GLOBAL)
            std::fprintf(out, "buffer %zx %zu\n", address, size);
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
        if (memory->getAddressSpace() == GLOBAL)
            std::fprintf(out, "atomic %zx %zu\n", address, size);
    }
    void kernelEnd(const oclgrind::KernelInvocation *) override
    {
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

    std::FILE *out;
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
