/* play.c - a program that "uses CUDA": what it does is what a capture says. play CAPTURE
 *
 * It does what the driver does when it is initialized, loads the library that
 * CUDA_INJECTION64_PATH names, and lets the stand-in CUPTI tell the rest. Its
 * clock_gettime is found before the C library's, so Sonde gets the captured time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    if (status == 0 && clock == CLOCK_MONOTONIC_RAW) {
        uint64_t ns = replay_now_ns((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
        time->tv_sec = (time_t)(ns / 1000000000u);
        time->tv_nsec = (long)(ns % 1000000000u);
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *path = getenv("CUDA_INJECTION64_PATH"), *why = argc == 2 ? replay_open(argv[1]) : "no capture is named";
    int (*inject)(void) = NULL;
    CUdevice device;
    if (why) {
        fprintf(stderr, "play: %s: %s\n", argc == 2 ? argv[1] : "", why);
        return 1;
    }
    if (cuDeviceGet(&device, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "play: %s: tells of no device\n", argv[1]);
        return 1;
    }
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        *(void **)&inject = dlsym(library, "InitializeInjection");
    if (inject)
        inject();
    replay_play();
    if (replay_unanswered()) {
        fprintf(stderr, "play: %u questions that the capture does not answer: capture it again\n", replay_unanswered());
        return 3;
    }
    puts("played");
    return 0;
}
