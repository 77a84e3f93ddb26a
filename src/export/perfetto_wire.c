/* perfetto_wire.c - see perfetto_wire.h. */
#include "perfetto_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define SEQUENCE 1u

typedef Sonde__Perfetto__Trace Trace;
typedef Sonde__Perfetto__TracePacket Packet;
typedef Sonde__Perfetto__TrackEvent Event;
typedef Sonde__Perfetto__DebugAnnotation Annotation;
typedef Sonde__Perfetto__InternedData InternedData;
typedef Sonde__Perfetto__InternedName InternedName;
typedef Sonde__Perfetto__InternedString InternedString;

/* An event has no texts, only their numbers: a bound for its size saves counting it. */
enum {
    MOST_ARGUMENTS = sizeof((struct pf_event *)NULL)->arguments / sizeof(struct pf_argument),
    EVENT_BYTES = 128 + 32 * MOST_ARGUMENTS,
    FLOW_BYTES = 16,
};

/* `most`: its size is no more; 0: not known. */
static void send_within(struct pf_wire *wire, Packet *packet, size_t most)
{
    Trace trace = SONDE__PERFETTO__TRACE__INIT;
    Packet *packets[] = {packet};
    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id = SEQUENCE;
    trace.n_packet = 1;
    trace.packet = packets;
    const size_t room = most ? most : sonde__perfetto__trace__get_packed_size(&trace);
    if (room > wire->packed_bytes) {
        uint8_t *larger = realloc(wire->packed, 2 * room);
        if (!larger) {
            wire->nomem = true;
            return;
        }
        wire->packed = larger;
        wire->packed_bytes = 2 * room;
    }
    sonde_out_bytes(wire->out, wire->packed, sonde__perfetto__trace__pack(&trace, wire->packed));
}

static void send(struct pf_wire *wire, Packet *packet)
{
    send_within(wire, packet, 0);
}

static void send_interned(struct pf_wire *wire, InternedData *data, uint32_t flags)
{
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    packet.interned_data = data;
    packet.has_sequence_flags = 1;
    packet.sequence_flags = flags;
    packet.has_first_packet_on_sequence = packet.first_packet_on_sequence =
        (flags & SONDE__PERFETTO__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED) != 0;
    send(wire, &packet);
}

/* The fixed names: arguments and categories. */
static void send_vocabulary(struct pf_wire *wire)
{
    /* clang-format off */
    static const char *const keys[] = {
#define X(name) #name,
        PF_KEY_MAP(X)
    };
    /* clang-format on */
    static const char *const categories[] = {
        PF_CATEGORY_MAP(X)
#undef X
    };
    enum {
        KEYS = PF_KEY_COUNT - 1,
        CATEGORIES = PF_CATEGORY_COUNT - 1,
    };
    InternedName names[KEYS + CATEGORIES];
    InternedName *pointers[KEYS + CATEGORIES];
    for (size_t i = 0; i < KEYS + CATEGORIES; i++) {
        sonde__perfetto__interned_name__init(&names[i]);
        names[i].has_iid = 1;
        names[i].iid = i < KEYS ? i + 1 : i - KEYS + 1;
        names[i].name = (char *)(i < KEYS ? keys[i] : categories[i - KEYS]);
        pointers[i] = &names[i];
    }
    InternedData data = SONDE__PERFETTO__INTERNED_DATA__INIT;
    data.n_debug_annotation_names = KEYS;
    data.debug_annotation_names = pointers;
    data.n_event_categories = CATEGORIES;
    data.event_categories = pointers + KEYS;
    send_interned(wire, &data, SONDE__PERFETTO__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED);
}

static void send_clock(struct pf_wire *wire, uint64_t raw_ns, uint64_t real_ns)
{
    Sonde__Perfetto__ClockSnapshot__Clock clocks[2];
    Sonde__Perfetto__ClockSnapshot__Clock *pointers[] = {&clocks[0], &clocks[1]};
    Sonde__Perfetto__ClockSnapshot snapshot = SONDE__PERFETTO__CLOCK_SNAPSHOT__INIT;
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    for (int i = 0; i < 2; i++) {
        sonde__perfetto__clock_snapshot__clock__init(&clocks[i]);
        clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
    }
    clocks[0].clock_id = SONDE__PERFETTO__BUILTIN_CLOCK__CLOCK_MONOTONIC_RAW;
    clocks[0].timestamp = raw_ns;
    clocks[1].clock_id = SONDE__PERFETTO__BUILTIN_CLOCK__CLOCK_REALTIME;
    clocks[1].timestamp = real_ns;
    snapshot.n_clocks = 2;
    snapshot.clocks = pointers;
    snapshot.has_primary_trace_clock = 1;
    snapshot.primary_trace_clock = SONDE__PERFETTO__BUILTIN_CLOCK__CLOCK_MONOTONIC_RAW;
    packet.data_case = SONDE__PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
    packet.clock_snapshot = &snapshot;
    send(wire, &packet);
}

void pf_begin(struct pf_wire *wire, struct sonde_out *out, uint64_t raw_ns, uint64_t real_ns)
{
    memset(wire, 0, sizeof *wire);
    wire->out = out;
    send_clock(wire, raw_ns, real_ns);
    send_vocabulary(wire);
}

void pf_fini(struct pf_wire *wire)
{
    free(wire->packed);
    sonde_intern_fini(&wire->names);
    sonde_text_fini(&wire->clean);
}

uint64_t pf_name(struct pf_wire *wire, const char *name)
{
    uint32_t before = wire->names.count;
    name = sonde_utf8_clean(name, &wire->clean);
    uint32_t id = sonde_intern_bytes(&wire->names, name, strlen(name));
    if (!id)
        wire->nomem = true;
    if (wire->names.count == before)
        return id;
    InternedName interned = SONDE__PERFETTO__INTERNED_NAME__INIT;
    InternedName *pointers[] = {&interned};
    InternedData data = SONDE__PERFETTO__INTERNED_DATA__INIT;
    interned.has_iid = 1;
    interned.iid = id;
    interned.name = (char *)name;
    data.n_event_names = 1;
    data.event_names = pointers;
    send_interned(wire, &data, SONDE__PERFETTO__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE);
    return id;
}

uint64_t pf_text(struct pf_wire *wire, const char *text)
{
    if (!*text)
        return 0;
    text = sonde_utf8_clean(text, &wire->clean);
    InternedString interned = SONDE__PERFETTO__INTERNED_STRING__INIT;
    InternedString *pointers[] = {&interned};
    InternedData data = SONDE__PERFETTO__INTERNED_DATA__INIT;
    interned.has_iid = interned.has_str = 1;
    interned.iid = ++wire->texts;
    interned.str.data = (uint8_t *)text;
    interned.str.len = strlen(text);
    data.n_debug_annotation_string_values = 1;
    data.debug_annotation_string_values = pointers;
    send_interned(wire, &data, SONDE__PERFETTO__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE);
    return wire->texts;
}

static void add(struct pf_event *event, struct pf_argument argument)
{
    if (event->count < sizeof event->arguments / sizeof *event->arguments)
        event->arguments[event->count++] = argument;
}

void pf_add_number(struct pf_event *event, enum pf_key key, uint64_t number)
{
    add(event, (struct pf_argument){key, PF_NUMBER, number});
}

void pf_add_signed(struct pf_event *event, enum pf_key key, int64_t number)
{
    add(event, (struct pf_argument){key, PF_SIGNED, (uint64_t)number});
}

void pf_add_real(struct pf_event *event, enum pf_key key, double number)
{
    struct pf_argument argument = {key, PF_REAL, 0};
    memcpy(&argument.value, &number, sizeof number);
    add(event, argument);
}

void pf_add_text(struct pf_event *event, enum pf_key key, uint64_t iid)
{
    if (iid)
        add(event, (struct pf_argument){key, PF_TEXT, iid});
}

void pf_end_flow(struct pf_event *event, uint64_t flow)
{
    if (flow)
        event->ended[event->ended_count++] = flow;
}

void pf_send_track(struct pf_wire *wire, Sonde__Perfetto__TrackDescriptor *track)
{
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    packet.data_case = SONDE__PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
    packet.track_descriptor = track;
    send(wire, &packet);
}

static void set_value(Annotation *annotation, const struct pf_argument *argument)
{
    annotation->has_name_iid = 1;
    annotation->name_iid = argument->key;
    switch (argument->type) {
    case PF_NUMBER:
        annotation->value_case = SONDE__PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
        annotation->uint_value = argument->value;
        break;
    case PF_SIGNED:
        annotation->value_case = SONDE__PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
        annotation->int_value = (int64_t)argument->value;
        break;
    case PF_REAL:
        annotation->value_case = SONDE__PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
        memcpy(&annotation->double_value, &argument->value, sizeof annotation->double_value);
        break;
    case PF_TEXT:
        annotation->value_case = SONDE__PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
        annotation->string_value_iid = argument->value;
        break;
    }
}

static void send_event(struct pf_wire *wire, const struct pf_event *event, Sonde__Perfetto__TrackEvent__Type type)
{
    Annotation annotations[MOST_ARGUMENTS];
    Annotation *pointers[MOST_ARGUMENTS];
    uint64_t category = event->category;
    Event sent = SONDE__PERFETTO__TRACK_EVENT__INIT;
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    for (uint32_t i = 0; i < event->count; i++) {
        const struct pf_argument *argument = &event->arguments[i];
        sonde__perfetto__debug_annotation__init(&annotations[i]);
        set_value(&annotations[i], argument);
        pointers[i] = &annotations[i];
    }
    sent.n_debug_annotations = event->count;
    sent.debug_annotations = pointers;
    sent.has_type = sent.has_track_uuid = sent.has_name_iid = 1;
    sent.type = type;
    sent.track_uuid = event->track;
    sent.name_iid = event->name;
    sent.n_category_iids = 1;
    sent.category_iids = &category;
    sent.n_flow_ids = event->flow_count;
    sent.flow_ids = (uint64_t *)(uintptr_t)event->flows;
    sent.n_terminating_flow_ids = event->ended_count;
    sent.terminating_flow_ids = (uint64_t *)(uintptr_t)event->ended;
    packet.has_timestamp = packet.has_sequence_flags = 1;
    packet.timestamp = event->at_ns;
    packet.sequence_flags = SONDE__PERFETTO__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
    packet.data_case = SONDE__PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
    packet.track_event = &sent;
    send_within(wire, &packet, EVENT_BYTES + FLOW_BYTES * (event->flow_count + event->ended_count));
}

void pf_send_instant(struct pf_wire *wire, const struct pf_event *event)
{
    send_event(wire, event, SONDE__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT);
}

void pf_send_begin(struct pf_wire *wire, const struct pf_event *event)
{
    send_event(wire, event, SONDE__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
}

void pf_send_end(struct pf_wire *wire, uint64_t track, uint64_t end_ns, const uint64_t *flows, size_t flow_count)
{
    Event sent = SONDE__PERFETTO__TRACK_EVENT__INIT;
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    sent.has_type = sent.has_track_uuid = 1;
    sent.type = SONDE__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    sent.track_uuid = track;
    sent.n_terminating_flow_ids = flow_count;
    sent.terminating_flow_ids = (uint64_t *)(uintptr_t)flows;
    packet.has_timestamp = 1;
    packet.timestamp = end_ns;
    packet.data_case = SONDE__PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
    packet.track_event = &sent;
    send_within(wire, &packet, EVENT_BYTES + FLOW_BYTES * flow_count);
}

void pf_send_slice(struct pf_wire *wire, const struct pf_event *event, uint64_t end_ns)
{
    pf_send_begin(wire, event);
    pf_send_end(wire, event->track, end_ns, NULL, 0);
}

void pf_send_counter_track(struct pf_wire *wire, uint64_t uuid, uint64_t parent, const char *name, bool bytes)
{
    Sonde__Perfetto__TrackDescriptor track = SONDE__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Sonde__Perfetto__CounterDescriptor counter = SONDE__PERFETTO__COUNTER_DESCRIPTOR__INIT;
    counter.has_unit = track.has_uuid = track.has_parent_uuid = 1;
    counter.unit = bytes ? SONDE__PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES
                         : SONDE__PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT;
    track.uuid = uuid;
    track.parent_uuid = parent;
    track.name = (char *)name;
    track.counter = &counter;
    pf_send_track(wire, &track);
}

void pf_send_counter(struct pf_wire *wire, uint64_t track, uint64_t at_ns, int64_t value)
{
    Event sent = SONDE__PERFETTO__TRACK_EVENT__INIT;
    Packet packet = SONDE__PERFETTO__TRACE_PACKET__INIT;
    sent.has_type = sent.has_track_uuid = sent.has_counter_value = 1;
    sent.type = SONDE__PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
    sent.track_uuid = track;
    sent.counter_value = value;
    packet.has_timestamp = 1;
    packet.timestamp = at_ns;
    packet.data_case = SONDE__PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
    packet.track_event = &sent;
    send_within(wire, &packet, EVENT_BYTES);
}
