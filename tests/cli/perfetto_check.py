"""perfetto_check.py - reads a Perfetto trace with Google's own message definitions, by its documented rules.

Usage: perfetto_check.py TRACE   prints what is in it; status 1 when a rule is broken

Interned data, sequence state, track descriptors, slice nesting and flows are
followed as docs/reference/synthetic-track-event and the comments of
trace_packet.proto, track_event.proto and clock_snapshot.proto say. Shares
nothing with src/export.
"""
import collections
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

Slice = collections.namedtuple("Slice", "track name category start end args flows terminating instant")


class Broken(Exception):
    """The trace breaks a rule of the format."""


class Trace:
    def __init__(self, data):
        self.tracks, self.slices, self.clocks, self.primary = {}, [], {}, None
        self.interned = {"event_names": {}, "event_categories": {}, "debug_annotation_names": {},
                         "debug_annotation_string_values": {}}
        self.open = collections.defaultdict(list)
        self.around = {}  # (track, start, name) of a slice -> names of those it lies in, outermost first
        self.last = {}
        self.counters = collections.defaultdict(list)  # track -> [(time, value)]
        self.cleared = False
        trace = pb.Trace()
        trace.ParseFromString(data)
        self.unknown(trace)
        for packet in trace.packet:
            self.take(packet)
        for track, stack in self.open.items():
            if stack:
                raise Broken("track %x ends with %d open slices" % (track, len(stack)))

    def unknown(self, trace):
        """What we wrote is what Google's definitions know: nothing is lost in a round trip."""
        trace.DiscardUnknownFields()
        self.known_bytes = trace.ByteSize()

    def take(self, packet):
        if packet.trusted_packet_sequence_id == 0:
            raise Broken("a packet without sequence")
        if packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            self.cleared = True
            for space in self.interned.values():
                space.clear()
        if packet.sequence_flags & pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE and not self.cleared:
            raise Broken("state is needed before it was cleared")
        self.take_interned(packet.interned_data)
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            self.take_clock(packet.clock_snapshot)
        elif kind == "track_descriptor":
            self.take_track(packet.track_descriptor)
        elif kind == "track_event":
            self.take_event(packet)
        elif kind is not None:
            raise Broken("an unexpected packet: " + kind)

    def take_interned(self, data):
        for name, space in self.interned.items():
            for item in getattr(data, name):
                if item.iid == 0:
                    raise Broken("iid 0 in " + name)
                value = item.str.decode() if name == "debug_annotation_string_values" else item.name
                if space.setdefault(item.iid, value) != value:
                    raise Broken("iid %d of %s means two things" % (item.iid, name))

    def take_clock(self, snapshot):
        if self.slices:
            raise Broken("the clocks come after the first event")
        self.clocks = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
        self.primary = snapshot.primary_trace_clock
        if self.primary not in self.clocks:
            raise Broken("the primary clock is not in the snapshot")

    def take_track(self, track):
        if track.uuid in self.tracks:
            raise Broken("track %x is described twice" % track.uuid)
        if track.parent_uuid and track.parent_uuid not in self.tracks:
            raise Broken("the parent of track %x is not described" % track.uuid)
        self.tracks[track.uuid] = track

    def interning(self, space, iid):
        try:
            return self.interned[space][iid]
        except KeyError:
            raise Broken("iid %d of %s was never sent" % (iid, space)) from None

    def arguments(self, event):
        args = {}
        for note in event.debug_annotations:
            name = self.interning("debug_annotation_names", note.name_iid)
            kind = note.WhichOneof("value")
            value = getattr(note, kind)
            if kind == "string_value_iid":
                value = self.interning("debug_annotation_string_values", value)
            args.setdefault(name, value)
        return args

    def take_event(self, packet):
        event, at = packet.track_event, packet.timestamp
        track = event.track_uuid
        if track not in self.tracks:
            raise Broken("an event on track %x, which is not described" % track)
        if not packet.HasField("timestamp"):
            raise Broken("an event without time")
        if (event.type == pb.TrackEvent.TYPE_COUNTER) != self.tracks[track].HasField("counter"):
            raise Broken("track %x is a counter, or the event is one, but not both" % track)
        if event.type == pb.TrackEvent.TYPE_COUNTER:
            if not event.HasField("counter_value"):
                raise Broken("a counter without value")
            self.in_order(track, at)
            self.counters[track].append((at, event.counter_value))
            return
        if event.type == pb.TrackEvent.TYPE_SLICE_END:
            if not self.open[track]:
                raise Broken("an end without a beginning on track %x" % track)
            self.in_order(track, at)
            begun = self.open[track].pop()
            self.slices.append(begun._replace(end=at, terminating=begun.terminating + list(event.terminating_flow_ids)))
            return
        item = Slice(track, self.interning("event_names", event.name_iid),
                     self.interning("event_categories", event.category_iids[0]), at, at, self.arguments(event),
                     list(event.flow_ids), list(event.terminating_flow_ids),
                     event.type == pb.TrackEvent.TYPE_INSTANT)
        if item.instant:
            self.slices.append(item)
        elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            self.in_order(track, at)
            self.around[track, at, item.name] = tuple(s.name for s in self.open[track])
            self.open[track].append(item)
        else:
            raise Broken("an event of type %d" % event.type)

    def in_order(self, track, at):
        """Begins and ends of one track in the order of time: then the nesting is legal."""
        if at < self.last.get(track, 0):
            raise Broken("track %x goes back in time at %d" % (track, at))
        self.last[track] = at

    # ---- questions ---------------------------------------------------------

    def parents(self, uuid):
        while uuid:
            yield self.tracks[uuid]
            uuid = self.tracks[uuid].parent_uuid

    def process(self, uuid):
        """The process descriptor above a track."""
        for track in self.parents(uuid):
            if track.HasField("process"):
                return track.process
        raise Broken("track %x is of no process" % uuid)

    def name(self, uuid):
        track = self.tracks[uuid]
        return track.thread.thread_name if track.HasField("thread") else track.name

    def flows(self):
        """{flow id: (slices it leaves from, slices it ends at)}"""
        flows = collections.defaultdict(lambda: ([], []))
        for item in self.slices:
            for flow in item.flows:
                flows[flow][0].append(item)
            for flow in item.terminating:
                flows[flow][1].append(item)
        return flows

    def submissions(self):
        """Those that lead from a call to an operation of the same correlation id."""
        return {flow: (begin, end) for flow, (begin, end) in self.flows().items() if begin[0].category == "api" and end[0].category != "api" and
                begin[0].args.get("correlation") == end[0].args.get("correlation")}

    def of(self, *categories):
        return [s for s in self.slices if s.category in categories]


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    trace = Trace(data)
    if trace.known_bytes != len(data):
        raise Broken("%d bytes are of fields that Perfetto does not know" % (len(data) - trace.known_bytes))
    return trace


def main():
    try:
        trace = load(sys.argv[1])
    except Broken as broken:
        print("%s: %s" % (sys.argv[1], broken), file=sys.stderr)
        return 1
    counts = collections.Counter(s.category for s in trace.slices)
    print("%d tracks; %s" % (len(trace.tracks), ", ".join("%d %s" % (n, c) for c, n in sorted(counts.items()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
