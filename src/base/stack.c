/* stack.c - threads whose stacks have a size of ours. See stack.h. */
#include "stack.h"

#include <stdbool.h>
#include <sys/resource.h>

struct call {
    int (*fn)(void *user);
    void *user;
    int result;
};

int sonde_stack_thread(pthread_t *thread, void *(*fn)(void *user), void *user)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    error = pthread_attr_setstacksize(&attributes, SONDE_STACK_BYTES);
    if (!error)
        error = pthread_create(thread, &attributes, fn, user);
    pthread_attr_destroy(&attributes);
    return error;
}

static void *make_call(void *argument)
{
    struct call *call = argument;
    call->result = call->fn(call->user);
    return NULL;
}

int sonde_stack_run(int (*fn)(void *user), void *user)
{
    struct call call = {.fn = fn, .user = user};
    struct rlimit limit;
    pthread_t thread;
    const bool small = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < SONDE_STACK_BYTES;
    if (small && !sonde_stack_thread(&thread, make_call, &call))
        pthread_join(thread, NULL);
    else
        make_call(&call);
    return call.result;
}
