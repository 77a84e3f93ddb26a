/* stack.h - a stack that is large enough, whatever the user's limit (ulimit -s).
 *
 * Reading debug information takes hundreds of kilobytes of stack within
 * libdw alone; a thread's size is ours to choose, also below a hard limit.
 */
#ifndef SONDE_BASE_STACK_H
#define SONDE_BASE_STACK_H

#include <pthread.h>
#include <stddef.h>

#define SONDE_STACK_BYTES ((size_t)8 << 20)

/* fn(user), in this thread when its limit is at least SONDE_STACK_BYTES, else in
 * one that has them. Signals are handled as before. Where no thread can be
 * started, this one must do. */
int sonde_stack_run(int (*fn)(void *user), void *user);

/* pthread_create with a stack of that size. */
int sonde_stack_thread(pthread_t *thread, void *(*fn)(void *user), void *user);

#endif
