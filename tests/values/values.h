/* values.h - what the cases of values.c share. */
#ifndef VALUES_VALUES_H
#define VALUES_VALUES_H

#include "../programs/guest.h"

#include <stdbool.h>
#include <stdint.h>

enum { N = 1000 };
extern cl_context context;
extern cl_device_id device;
extern cl_command_queue queue;
extern cl_program program;
extern uint64_t checksum; /* of all that was taken */

#define VALUES_CASES(X) \
    X(writes) \
    X(fills) \
    X(copies) \
    X(kernels) \
    X(looks) \
    X(sets) \
    X(overlap) \
    X(missed) \
    X(images) \
    X(fresh_images) \
    X(natives) \
    X(places) \
    X(rectangles) \
    X(maps) \
    X(any_order) \
    X(no_order) \
    X(tangle) \
    X(any_tangle) \
    X(behind) \
    X(many) \
    X(svm) \
    X(svm_maps) \
    X(svm_parts) \
    X(threads) \
    X(any_threads) \
    X(contexts) \
    X(large) \
    X(loop) \
    X(fresh) \
    X(patterns) \
    X(guesses) \
    X(duplicates) \
    X(figure) \
    X(programs) \
    X(wide) \
    X(untouched) \
    X(lines) \
    X(endless) \
    X(mathematics) \
    X(barriers) \
    X(childless)

#define X(name) void name(void);
VALUES_CASES(X)
#undef X

cl_mem buffer(size_t bytes);
void put(cl_mem to, size_t at, const void *from, size_t bytes);
void take(cl_mem from, size_t bytes);
cl_kernel kernel(const char *name);
void launch(cl_kernel k, size_t items);
void launch_on(cl_kernel k, cl_mem from, cl_mem to);
void set_to(cl_kernel set, cl_mem a, int value, int n);
cl_command_queue out_of_order(void);
cl_event gate(void);
void open_gate(cl_event event);
/* Of elements of 1, 2, 4 and 8 bytes how many are written, all of whose bytes are marked, and how many of these are the same. */
void count_marked(const unsigned char *there, const unsigned char *other, const unsigned char *marks, size_t bytes, const char *name);

#endif
