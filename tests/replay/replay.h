/* replay.h - what the two stand-in libraries and the program that plays share. */
#ifndef SONDE_TESTS_REPLAY_H
#define SONDE_TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"

#pragma GCC visibility push(default)
/* Read a capture (.zst or not); what went wrong, or NULL. Before anything else. */
const char *replay_open(const char *path);
/* Tell all of it to whoever subscribed, each thread's part in a thread of its own, in the captured order. */
void replay_play(void);
/* The host's clock as it was captured: moved so that the capture begins when the replay did. */
uint64_t replay_now_ns(uint64_t real_ns);
/* A device of the machine that was captured, NULL: there is none. */
const struct device_entry *replay_device(unsigned ordinal);
/* Is this stream of the calling thread's being captured, after the call that is played now? */
bool replay_capturing(uint64_t stream);
/* Questions that the capture has no answer to: it was made with another Sonde. */
unsigned replay_unanswered(void);
#pragma GCC visibility pop

#endif
