/* standin.h - sizes of what standin.c hands out in place of shared objects. */
#ifndef STANDIN_H
#define STANDIN_H

enum {
    STANDIN_BYTES = 4096,
    STANDIN_SIDE = 16,
    STANDIN_IMAGE_BYTES = STANDIN_SIDE * STANDIN_SIDE * 4,
};

#endif
