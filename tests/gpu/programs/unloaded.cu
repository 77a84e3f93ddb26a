/* unloaded.cu - code that is loaded, launched, and unloaded at once, one piece after the other: what ran has the name that it had then. Places of
 * names, functions and code come again. */
#include "common.h"

enum { PIECES = 200 };

static const char *const PTX =
    ".version 7.8\n.target sm_75\n.address_size 64\n"
    ".visible .entry piece_%03d()\n{\n .reg .b32 %%r<3>;\n mov.u32 %%r1, %d;\n ret;\n}\n";

/* As a module, or as a library, whose kernels are launched by handles of another kind. */
static void piece(int i)
{
    char text[1000], name[100];
    snprintf(text, sizeof text, PTX, i, i);
    snprintf(name, sizeof name, "piece_%03d", i);
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    CUfunction function;
    CUkernel kernel;
    if (i % 3) {
        CU(cuModuleLoadData(&module, text));
        CU(cuModuleGetFunction(&function, module, name));
    } else {
        CU(cuLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
        CU(cuLibraryGetKernel(&kernel, library, name));
        function = (CUfunction)kernel;
    }
    for (int k = 0; k <= i % 5; k++)
        CU(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    CU(cuCtxSynchronize());
    if (module)
        CU(cuModuleUnload(module));
    else
        CU(cuLibraryUnload(library));
}

int main()
{
    CK(cudaFree(nullptr));
    for (int i = 0; i < PIECES; i++)
        piece(i);
    printf("%d pieces\n", PIECES);
    return 0;
}
