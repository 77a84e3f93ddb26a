"""sums_test.py - what sums.py asks of every measurement holds for programs of many queues, contexts, threads and
processes, recorded here on PoCL; and it does not hold for answers that are wrong.
"""
import copy
import json
import os

import views  # first: it knows where the next are
import cli
import sums
from views import PROGRAMS

RUNS = [("queues", "contexts", "2"), ("queues", "sub"), ("queues", "threads", "8"), ("queues", "churn", "500"),
        ("queues", "reopen", "20"), ("events",), ("callbacks",), ("parts",), ("pipes",), ("calls",), ("fork",), ("directions",)]
# One number of each view that is wrong.
WRONG = [("profile", "rows", 0, "inclusive", "api"), ("profile", "rows", -1, "exclusive", "gpu"),
         ("memory", "spaces", 0, "peak_bytes"), ("memory", "spaces", 0, "sites", 0, "unused"),
         ("memory", "spaces", 0, "sites", 0, "idle_before_byte_s"), ("memory", "spaces", 0, "series", "other", -1),
         ("overlap", "devices", 0, "compute_ns"), ("overlap", "devices", 0, "copies", "hidden_ns"),
         ("blame", "scopes", 1, "idle_ns"), ("blame", "scopes", 0, "routines", 0, "computing_ns"),
         (sums.PIECES[0], "scopes", 1, "idle_ns"), (sums.PIECES[1], "scopes", 1, "routines", 0, "computing_ns"), (sums.PIECES[1], "from_ns"),
         ("critical", 0, "composition", "kernel", "ns"), ("critical", 0, "end_ns"), ("statistics", "rows", 0, "queue_ns"),
         ("summary", "verdict", "parts", 0, "ns"), ("summary", "devices", 0, "idle_for", 0, "ns"),
         ("profile --by object", "rows", 0, "inclusive", "gpu"),
         ("comm", "pairs", 0, "bytes"), ("comm", "lines", 0, "operations"), ("comm", "objects", 0, "bytes"), ("comm", "bytes"),
         ("comm", "unknown_bytes")]


def changed(value, path):
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = (at[path[-1]] or 0) + 12345
    return value


class Sums(views.Case):
    def test_of_programs(self):
        for program, *args in RUNS:
            with self.subTest(program=program, args=args):
                self.record(os.path.join(PROGRAMS, program), *args)

    def test_what_is_wrong_is_noticed(self):
        path = self.record(os.path.join(PROGRAMS, "memory"))
        with open(self.path("adds-up.json")) as file:
            export = json.load(file)
        answers = {view: self.json(path, *view.split()) for view in {wrong[0] for wrong in WRONG} | {"advice", "summary", "copies"}}
        for view, *where in WRONG:
            with self.subTest(view=view, where=where):
                told = {**answers, view: changed(answers[view], where)}
                self.assertTrue([what for what, holds, _ in sums.verdicts(told.get, export) if not holds])


cli.main()
