/* perfetto_wire.h - packets of a Perfetto trace, one after the other.
 *
 * A Trace is nothing but a repeated field of packets, so each packet is packed
 * as a Trace of its own and appended. Texts are sent once and named by number
 * (iid) afterwards: interned data of the one packet sequence that we write.
 */
#ifndef SONDE_EXPORT_PERFETTO_WIRE_H
#define SONDE_EXPORT_PERFETTO_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "out.h"
#include "perfetto.pb-c.h"

/* Names of arguments and categories are sent with the first packet; iid = position from 1. */
#define PF_KEY_MAP(X)                                                                    \
    X(correlation) X(bytes) X(global_size) X(local_size) X(object) X(object_bytes)       \
    X(call_to_queued_ns) X(queued_to_submit_ns) X(submit_to_start_ns) X(status)          \
    X(called_from) X(stack) X(queue) X(seen) X(done) X(failed) X(no_times) X(unmatched)  \
    X(bad_time) X(early_in_bound) X(api_calls) X(unwinds) X(unwind_failed)               \
    X(unwind_mismatched) X(contexts_folded) X(hook_ns) X(thread_cpu_ns) X(clock_bound_ns) \
    X(damaged_chunks) X(dropped) X(note) X(busy_clipped_ns) X(busy_left_out)             \
    X(calls_dropped) X(call_rows_dropped) X(range_rows_dropped)                          \
    X(registers) X(static_shared_bytes) X(dynamic_shared_bytes) X(local_bytes)           \
    X(cluster) X(occupancy) X(occupancy_limiter)                                         \
    X(source) X(target) X(source_device) X(target_device) X(domain) X(category) X(payload) X(cpu_ns) X(waits_for) \
    X(communicator) X(peer)
#define PF_CATEGORY_MAP(X) X(kernel) X(copy) X(set) X(order) X(api) X(range) X(mark) X(sonde) X(sample) X(wait) X(message)

/* clang-format off */
enum pf_key {
    PF_KEY_NONE,
#define X(name) PF_KEY_##name,
    PF_KEY_MAP(X)
#undef X
    PF_KEY_COUNT
};
/* clang-format on */
/* clang-format off */
enum pf_category {
    PF_CATEGORY_NONE,
#define X(name) PF_CATEGORY_##name,
    PF_CATEGORY_MAP(X)
#undef X
    PF_CATEGORY_COUNT
};
/* clang-format on */

struct pf_wire {
    struct sonde_out *out;
    uint8_t *packed; /* of the last packet */
    size_t packed_bytes;
    struct sonde_intern names;
    struct sonde_text clean; /* room for a text that was not UTF-8 */
    uint64_t texts;
    bool nomem;
};

/* One slice or instant. */
struct pf_event {
    uint64_t at_ns, track, name;
    const uint64_t *flows; /* that begin here */
    size_t flow_count;
    uint64_t ended[2];     /* flows that end here, the first ended_count */
    uint32_t ended_count;
    enum pf_category category;
    uint32_t count;
    struct pf_argument {
        enum pf_key key;
        enum {
            PF_NUMBER,
            PF_SIGNED,
            PF_REAL,
            PF_TEXT,
        } type;
        uint64_t value; /* its bits; the iid of a text */
    } arguments[PF_KEY_COUNT + 16];
};

/* Begin the trace: the clock of all times is CLOCK_MONOTONIC_RAW, which read
 * raw_ns when CLOCK_REALTIME read real_ns. */
void pf_begin(struct pf_wire *wire, struct sonde_out *out, uint64_t raw_ns, uint64_t real_ns);
void pf_fini(struct pf_wire *wire);

/* iid of an event's name; sent when new. */
uint64_t pf_name(struct pf_wire *wire, const char *name);
/* Send a text for arguments; its iid. Nothing is remembered: ask once per text. */
uint64_t pf_text(struct pf_wire *wire, const char *text);

void pf_add_number(struct pf_event *event, enum pf_key key, uint64_t number);
void pf_add_signed(struct pf_event *event, enum pf_key key, int64_t number);
void pf_add_real(struct pf_event *event, enum pf_key key, double number);
/* A flow that ends at the event's beginning; 0 is left out. */
void pf_end_flow(struct pf_event *event, uint64_t flow);
/* iid 0 is left out. */
void pf_add_text(struct pf_event *event, enum pf_key key, uint64_t iid);

void pf_send_track(struct pf_wire *wire, Sonde__Perfetto__TrackDescriptor *track);
/* Begins and ends of one track go in the order of time. */
void pf_send_begin(struct pf_wire *wire, const struct pf_event *event);
/* `flows` end here. */
void pf_send_end(struct pf_wire *wire, uint64_t track, uint64_t end_ns, const uint64_t *flows, size_t flow_count);
void pf_send_slice(struct pf_wire *wire, const struct pf_event *event, uint64_t end_ns);
/* A counter, of bytes or of things, and its value from `at_ns` on. */
void pf_send_counter_track(struct pf_wire *wire, uint64_t uuid, uint64_t parent, const char *name, bool bytes);
void pf_send_counter(struct pf_wire *wire, uint64_t track, uint64_t at_ns, int64_t value);
void pf_send_instant(struct pf_wire *wire, const struct pf_event *event);

#endif
