/* version.c - what a libcupti.so says of itself. An old one, which has no more than this, is made of it alone. */
#include <stdint.h>

__attribute__((visibility("default"))) int cuptiGetVersion(uint32_t *version);

int cuptiGetVersion(uint32_t *version)
{
    *version = MADE_VERSION;
    return 0;
}

#ifdef MADE_HELD
/* Another tool was here first. */
__attribute__((visibility("default"))) int cuptiSubscribe(void *subscriber, void *callback, void *user);

int cuptiSubscribe(void *subscriber, void *callback, void *user)
{
    (void)subscriber, (void)callback, (void)user;
    return MADE_HELD;
}
#endif
