/* python_care.c - may this memory be read? Asked where the interpreter's may be anything: before a walk was proved, and
 * in a signal handler (python.h). */
#include "python.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python_state.h"

__thread struct sonde__python_care *sonde__python_care;

bool sonde__python_readable(uintptr_t address)
{
    /* The kernel reads the signal set before it refuses the first argument. */
    int saved = errno;
    bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) != -1 || errno != EFAULT;
    errno = saved;
    return readable;
}

static bool page_readable(uintptr_t page)
{
    struct sonde__python_care *care = sonde__python_care;
    if (!care)
        return sonde__python_readable(page);
    uintptr_t *known = &care->page[page / 4096 % (sizeof care->page / sizeof *care->page)];
    if (*known == page)
        return true;
    if (!sonde__python_readable(page))
        return false;
    *known = page;
    return true;
}

bool sonde__python_spans(uintptr_t address, size_t size)
{
    uintptr_t last = (address + (size ? size - 1 : 0)) & ~(uintptr_t)4095;
    if (last >= UINT64_C(1) << 47 || last < (address & ~(uintptr_t)4095))
        return false;
    for (uintptr_t page = address & ~(uintptr_t)4095; page <= last; page += 4096)
        if (!page_readable(page))
            return false;
    return true;
}
