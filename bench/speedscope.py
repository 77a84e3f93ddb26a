#!/usr/bin/env python3
"""speedscope.py IN.json OUT.json [--flat]: a JSON export of Sonde as a file of speedscope, evented: one profile for each lane.

Of a queue its operations. Of a thread the call paths of its API calls: what two calls that follow each other share
stays open between them; with --flat the calls alone. Prints how many profiles and events there are.
https://github.com/jlfwong/speedscope/wiki has the format.
"""
import json, sys


class Lane:
    def __init__(self, name):
        self.name, self.events, self.open, self.last = name, [], [], 0

    def step(self, stack, begin, end):
        """`stack`, outermost first, from begin to end; its last frame ends there."""
        begin = max(begin, self.last)  # rows of one lane that overlap cannot be shown
        end = max(begin, end)
        shared = 0
        while shared < min(len(stack), len(self.open)) and stack[shared] == self.open[shared]:
            shared += 1
        self.close(shared, begin)
        for frame in stack[shared:]:
            self.events.append(("O", frame, begin))
        self.open = list(stack)
        self.last = end
        self.close(len(stack) - 1, end)

    def close(self, depth, at):
        while len(self.open) > depth:
            self.events.append(("C", self.open.pop(), at))


def items(lines):
    """The rest of a list of which each line is an object."""
    for line in lines:
        line = line.strip()
        if line.startswith("]"):
            return
        yield json.loads(line.rstrip(","))


def stack_of(contexts, stacks, at):
    if at not in stacks:
        stack, node = [], at
        while node is not None and contexts[node]["parent"] is not None:
            stack.append(contexts[node]["name"] or contexts[node]["kind"])
            node = contexts[node]["parent"]
        stacks[at] = stack[::-1]
    return stacks[at]


def convert(source, target, flat):
    lanes, frames, stacks, contexts = {}, {}, {}, []

    def frame(name):
        return frames.setdefault(name, len(frames))

    with open(source) as lines:
        for line in lines:
            kind = line.split('"')[1] if line.startswith('"') else ""
            if line.strip().endswith("[],"):
                continue
            if kind == "processes":
                for process in items(lines):
                    for lane in process["lanes"]:
                        lanes[process["id"], lane["id"]] = Lane(f"{lane.get('name') or lane['kind']} {lane['id']}")
            elif kind == "contexts":
                contexts = list(items(lines))
            elif kind == "operations":
                for op in items(lines):
                    if op["start_ns"] and not op["bad_time"]:
                        lanes[op["process"], op["lane"]].step([frame(op["name"])], op["start_ns"], op["end_ns"])
            elif kind == "calls":
                for call in items(lines):
                    path = [call["name"]] if flat or call["context"] is None else stack_of(contexts, stacks, call["context"])
                    lanes[call["process"], call["lane"]].step([frame(name) for name in path], call["enter_ns"], call["leave_ns"])
    profiles = []
    for lane in lanes.values():
        lane.close(0, lane.last)
        if lane.events:
            profiles.append({"type": "evented", "name": lane.name, "unit": "nanoseconds", "startValue": lane.events[0][2], "endValue": lane.last,
                             "events": [{"type": kind, "frame": number, "at": at} for kind, number, at in lane.events]})
    with open(target, "w") as out:
        json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": name} for name in frames]},
                   "profiles": profiles}, out, separators=(",", ":"))
    print(json.dumps({"profiles": len(profiles), "events": sum(len(profile["events"]) for profile in profiles),
                      "most": max(len(profile["events"]) for profile in profiles)}))


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], "--flat" in sys.argv[3:])
