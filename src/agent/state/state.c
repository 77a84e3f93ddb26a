/* state.c - see state.h. */
#include "state.h"

#include <dlfcn.h>
#include <unistd.h>

#include "agent/state/clock.h"
#include "guest/hot.h"

struct sonde_agent sonde__agent;
SONDE__HOT_DATA _Atomic uint32_t *sonde__flag;
_Atomic int sonde__starting;
__thread bool sonde__on_monitor __attribute__((tls_model("initial-exec")));

static struct sonde_shared *shared; /* the preload library's, if it is there */

/* A child by a bare clone, before its first hooked call, has its parent's
 * mapping and locks: the flag that the kernel wiped tells. */
bool sonde__agent_here(void)
{
    return sonde__agent.header && sonde__flag &&
           (atomic_load_explicit(sonde__flag, memory_order_acquire) != SONDE_FLAG_LOOK ||
            atomic_load(&sonde__starting) == getpid());
}

void sonde__count_held(uint64_t begin_ns)
{
    struct sonde_live_header *h = sonde__agent.header;
    if (h)
        __atomic_fetch_add(&h->held_us, (uint32_t)((sonde_now_ns() - begin_ns + 999) / 1000), __ATOMIC_RELAXED);
}

void sonde__agent_shared_find(void)
{
    shared = dlsym(RTLD_DEFAULT, "sonde__shared");
    if (!shared)
        (void)dlerror(); /* the program's next dlerror is not about us */
}

struct sonde_shared *sonde__agent_shared(void)
{
    return shared;
}
