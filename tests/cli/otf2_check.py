"""otf2_check.py FILE - what OTF2's own Python reader finds in an archive, as JSON.

`locations`: name, type, group, creator of the group, number of events; `slices`: [location, region, begin, end, correlation,
path], path the calling context's frames, outermost first; `copies`: [location, "get" or "put", remote, bytes, begin, end];
`metrics`: [location, name, value, time]; `messages`: ["send" or "receive", from rank, to rank, communicator, tag, bytes, time]; `collectives`:
[function in capitals, rank, communicator, root or None, bytes, begin, end], where ranks are numbers among the locations that are ranks, and all of them
must be members of the communicator; `clock`. Fails where slices do not nest or times go back.
"""
import json
import sys

import otf2
from otf2 import events as ev

out = {"locations": [], "slices": [], "copies": [], "metrics": [], "messages": [], "collectives": []}
NOBODY = 2**32 - 1  # OTF2_UNDEFINED_UINT32


def path_of(context):
    frames = []
    while context is not None:
        place = context.source_code_location
        frames.append([context.region.name, place.file if place else None, place.line_number if place else None])
        context = context.parent
    return frames[::-1]


def ranks_of(definitions):
    """{location: its number among the ranks}."""
    ranks = [group for group in definitions.groups if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI]
    assert len(ranks) < 2, "several groups of all ranks"
    return {location: i for group in ranks for i, location in enumerate(group.members)}


def message(event, rank, ranks):
    members = list(event.communicator.group.members)
    sends = isinstance(event, ev.MpiSend)
    mine, other = ranks[rank], ranks[members[event.receiver if sends else event.sender]]
    assert rank in members, "a rank that is no member"
    return ["send" if sends else "receive", *((mine, other) if sends else (other, mine)), event.communicator.name, event.msg_tag, event.msg_length, event.time]


with otf2.reader.open(sys.argv[1]) as trace:
    clock = trace.definitions.clock_properties
    out["clock"] = [clock.timer_resolution, clock.global_offset, clock.trace_length, clock.realtime_timestamp]
    numbers = {location: i for i, location in enumerate(trace.definitions.locations)}
    ranks = ranks_of(trace.definitions)
    for location in trace.definitions.locations:
        out["locations"].append({"name": location.name, "type": str(location.type).rsplit(".", 1)[-1], "group": location.group.name,
                                 "creator": location.group.creating_location_group.name if location.group.creating_location_group else None,
                                 "host": location.group.system_tree_parent.name, "events": location.number_of_events})
    open_slices, open_copies, open_collectives, last, counted = {}, {}, {}, {}, {}
    for location, event in trace.events:
        at = numbers[location]
        assert event.time >= last.get(at, 0), "times go back"
        last[at] = event.time
        counted[at] = counted.get(at, 0) + 1
        stack = open_slices.setdefault(at, [])
        if isinstance(event, ev.Enter):
            more = {a.name: v for a, v in (event.attributes or {}).items()}
            stack.append([at, event.region.name, event.time, None, more.get("correlation"), path_of(more.get("context"))])
        elif isinstance(event, ev.Leave):
            slice = stack.pop()
            assert slice[1] == event.region.name, "slices do not nest"
            slice[3] = event.time
            out["slices"].append(slice)
        elif isinstance(event, (ev.RmaGet, ev.RmaPut)):
            open_copies[at, event.matching_id] = [at, "get" if isinstance(event, ev.RmaGet) else "put", event.remote, event.bytes, event.time, None]
        elif isinstance(event, ev.RmaOpCompleteBlocking):
            copy = open_copies.pop((at, event.matching_id))
            copy[5] = event.time
            out["copies"].append(copy)
        elif isinstance(event, ev.Metric):
            out["metrics"] += [[at, member.name, value, event.time] for member, value in zip(event.metric.metric_class.members if hasattr(event.metric, "metric_class") else event.metric.members, event.values)]
        elif isinstance(event, (ev.MpiSend, ev.MpiRecv)):
            assert stack, "a message outside all calls"
            out["messages"].append(message(event, location, ranks))
        elif isinstance(event, ev.MpiCollectiveBegin):
            assert stack and at not in open_collectives, "a collective outside all calls, or within another"
            open_collectives[at] = event.time
        elif isinstance(event, ev.MpiCollectiveEnd):
            members = list(event.communicator.group.members)
            assert location in members, "a rank that is no member"
            root = None if event.root == NOBODY else ranks[members[event.root]]
            out["collectives"].append([str(event.collective_op).rsplit(".", 1)[-1], ranks[location], event.communicator.name, root, event.size_sent,
                                       open_collectives.pop(at), event.time])
        else:
            raise SystemExit("an unknown event %r" % event)
    assert not any(open_slices.values()) and not open_copies and not open_collectives, "something did not end"
    assert all(counted.get(i, 0) == location["events"] for i, location in enumerate(out["locations"]))
print(json.dumps(out))
