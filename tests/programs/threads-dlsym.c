/* threads-dlsym.c - pthread_create found by dlsym, dlvsym and in libc itself.
 *
 * A tool that wraps pthread_create by name sees none of these.
 *
 * case: dlsym => kernel=60 read=1
 */
#include "guest.h"

#include <dlfcn.h>
#include <pthread.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static struct guest g;

static void *enqueue(void *arg)
{
    guest_add(&g, 20);
    return arg;
}

static void with(void *found, const char *how)
{
    create_fn *create = NULL;
    pthread_t thread;
    void     *back = NULL;
    *(void **)&create = found;
    if (!create || create(&thread, NULL, enqueue, &g) != 0) {
        printf("%s: no thread\n", how);
        return;
    }
    pthread_join(thread, &back);
    printf("%s: %s\n", how, back == &g ? "joined" : "lost its result");
}

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
    guest_open(&g);
    with(dlsym(RTLD_DEFAULT, "pthread_create"), "dlsym default");
    with(dlsym(libc, "pthread_create"), "dlsym libc");
    with(dlvsym(RTLD_DEFAULT, "pthread_create", "GLIBC_2.34"), "dlvsym");
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
