"""sqlite_test.py - `sonde export --to sqlite`, read by Python's sqlite3."""
import json
import os
import re
import sqlite3
import subprocess

import cli
import live
import scenes
import zoo

PAGE = os.path.join(cli.HERE, "../../docs/sqlite.md")


class Sqlite(cli.Case):
    def open(self, path, name="out.sqlite"):
        self.ok("export", path, "--to", "sqlite", "-q", "-f", "-o", self.path(name))
        db = sqlite3.connect(self.path(name))
        self.addCleanup(db.close)
        db.row_factory = sqlite3.Row
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        return db

    def rows(self, db, query, *values):
        return [dict(row) for row in db.execute(query, values)]

    def document(self, path):
        return json.loads(self.ok("export", path, "--to", "json", "-o", "-").stdout)

    def test_golden(self):
        dump = "\n".join(self.open(scenes.cuda(self.folder)[0]).iterdump()) + "\n"
        self.expect("export-sqlite", re.sub("'sonde','[0-9.]+'", "'sonde','VERSION'", dump))

    def test_every_operation_as_it_was_written(self):
        path, processes = scenes.demo(self.folder)
        db = self.open(path)
        truth = {(p.name, op["correlation"]): op for p in processes for op in p.truth}
        for row in self.rows(db, "SELECT o.*, process.name AS process_name FROM named_operation AS o JOIN process ON process.id = o.process"):
            op = truth.pop((row["process_name"], row["correlation"]))
            self.assertEqual(row["name"], op["name"] if isinstance(op["name"], str) else op["name"].decode("utf-8", "replace"))
            for key in ("kind", "lane", "enter_ns", "queued_ns", "submit_ns", "start_ns", "end_ns", "bytes", "failed", "bad_time"):
                self.assertEqual(row[key], op[key], key)
        self.assertEqual(truth, {})
        self.assertEqual(self.rows(db, "SELECT count(*) AS n FROM call")[0]["n"], sum(len(p.calls) for p in processes))

    def test_the_same_as_the_json(self):
        """Tables that both have, row by row."""
        names = {"waits": "wait", "samples": "sample", "switches": "switch", "sleeps": "sleep", "ranges": "range", "contexts": "context", "messages": "message",
                 "series": "series"}
        for make in (scenes.demo, scenes.annotated, scenes.sampled, scenes.profile_only, scenes.messages):
            path, _ = make(self.folder)
            doc, db = self.document(path), self.open(path)
            for key, table in names.items():
                rows = self.rows(db, 'SELECT * FROM "%s" ORDER BY rowid' % table)
                self.assertEqual(len(rows), len(doc[key]), table)
                for row, line in zip(rows, doc[key]):
                    for column in set(row) & set(line) - {"payload"}:
                        if table != "context" or column != "name" or row["kind"] not in ("operation", "api"):
                            self.assertEqual(row[column], line[column], (table, column))
            pauses = [dict(pause, process=p["id"]) for p in doc["processes"] for pause in p["pauses"]]
            self.assertEqual(self.rows(db, "SELECT * FROM pause ORDER BY rowid"), pauses)
            objects = [dict(o, process=p["id"]) for p in doc["processes"] for o in p["objects"]]
            for row, line in zip(self.rows(db, "SELECT * FROM object ORDER BY process, id"), objects, strict=True):
                for column in row:
                    self.assertEqual(row[column], line[column], column)

    def test_totals(self):
        for make in (scenes.demo, scenes.sampled, scenes.profile_only):
            path, _ = make(self.folder)
            db = self.open(path)
            truth = json.loads(cli.run("report", path, "profile", "--json", "--min-percent", "0").out)["rows"][0]["inclusive"]
            own = self.rows(db, "SELECT sum(device_ns) AS gpu, sum(operations) AS ops, sum(bytes) AS bytes, sum(queue_ns) AS queue, "
                                "sum(calls) AS calls, sum(host_ns) AS api, sum(samples) AS samples, sum(cpu_ns) AS cpu, "
                                "sum(slept_ns) AS slept, sum(timed) AS timed, sum(failed) AS failed FROM context")[0]
            self.assertEqual(own, {key: truth[key] for key in own})
            for view, kinds in (("kernels", "kind = 'kernel'"), ("copies", "kind IN ('read', 'write', 'fill')")):
                report = {(r["kind"], r["name"]): (r["count"], r["timed"], r["total_ns"], r["min_ns"], r["max_ns"], r["bytes"])
                          for r in json.loads(cli.run("report", path, view, "--json").out)}
                found = {(r["kind"], r["name"]): (r["count"], r["timed"], r["total_ns"], r["min_ns"], r["max_ns"], r["bytes"])
                         for r in self.rows(db, "SELECT * FROM operation_total WHERE " + kinds)}
                self.assertEqual(found, report)

    def test_the_page_describes_the_schema(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        described = {name: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", columns).split("; `dropped")[0].replace("`: `schema`", "`"))
                     for name, columns in re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", page, re.M)}
        described["meta"] = ["key", "value"]
        db = self.open(scenes.demo(self.folder)[0])
        tables = [row["name"] for row in self.rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.assertEqual({t: [c["name"] for c in self.rows(db, 'PRAGMA table_info("%s")' % t)] for t in tables}, described)
        self.assertEqual({r["name"] for r in self.rows(db, "SELECT name FROM sqlite_master WHERE type = 'view'")}, {"named_operation", "named_call"})

    def queries(self):
        with open(PAGE, encoding="utf-8") as file:
            return re.findall(r"```sql\n(.*?)```", file.read(), re.S)

    def test_the_queries_of_the_page(self):
        queries = self.queries()
        self.assertGreaterEqual(len(queries), 10)
        answered = set()
        for make in (scenes.demo, scenes.annotated, scenes.sampled, scenes.messages):
            db = self.open(make(self.folder)[0])
            for i, query in enumerate(queries):
                if self.rows(db, query):
                    answered.add(i)
        self.assertEqual(answered, set(range(len(queries))))
        # Answers that are known.
        db = self.open(scenes.sampled(self.folder, "again.sonde")[0])
        first = lambda i: tuple(self.rows(db, queries[i])[0].values())
        self.assertEqual(first(0)[:3], ("fold", 3, 12000000))
        self.assertEqual(first(1), ("fold", 3, 12000000))
        lines = {row["name"]: row["device_ns"] for row in self.rows(db, queries[2])}
        self.assertEqual(lines, {"<module>": 24000000, "tree": 23000000, "visit": 18000000, "leaf": 3000000})
        self.assertEqual(first(3)[:2], ("fold", 6000000))
        self.assertTrue(first(3)[2].endswith(";clEnqueueNDRangeKernel;fold;"), first(3))
        self.assertEqual(first(7)[0:2], ("clFinish", 7000000))
        db = self.open(scenes.messages(self.folder, "ranks.sonde")[0])
        pairs = {(r["from"], r["to"]): (r["count"], r["bytes"]) for r in json.loads(cli.run("report", self.path("ranks.sonde"), "messages", "--json").out)["pairs"]}
        self.assertEqual({(r["sender"], r["receiver"]): (r["messages"], r["bytes"]) for r in self.rows(db, queries[10])}, pairs)
        self.assertEqual(pairs, {(0, 1): (1, 100), (1, 2): (2, 200), (2, 0): (3, 300)})
        db = self.open(scenes.annotated(self.folder, "once_more.sonde")[0])
        report = json.loads(cli.run("report", self.path("once_more.sonde"), "kernels", "--json").out)
        self.assertEqual({r["name"]: r["device_ns"] for r in self.rows(db, queries[8])}["step"], report[0]["total_ns"])

    def test_plans_use_the_indices(self):
        db = self.open(scenes.demo(self.folder)[0])
        for query in ("SELECT * FROM operation WHERE start_ns > 5 AND start_ns < 9", "SELECT * FROM operation WHERE context = 3",
                      "SELECT * FROM named_operation WHERE process = 0 AND correlation = 7", "SELECT * FROM context WHERE parent = 2",
                      "SELECT * FROM call WHERE process = 0 AND correlation = 7"):
            self.assertIn("SEARCH", self.rows(db, "EXPLAIN QUERY PLAN " + query)[0]["detail"])

    def test_odd_names(self):
        path, p = scenes.odd_names(self.folder)
        clean = lambda s: s.decode("utf-8", "replace") if isinstance(s, bytes) else s
        names = {row["name"] for row in self.rows(self.open(path), "SELECT name FROM named_operation")}
        self.assertEqual(names, {clean(odd) for odd in scenes.ODD_NAMES})

    def test_the_zoo(self):
        for make in zoo.ZOO:
            self.open(make(self.folder))

    def test_numbers_beyond_sqlite(self):
        db = self.open(zoo.huge_objects(self.folder))
        self.assertEqual(self.rows(db, "SELECT max(bytes) AS most FROM object")[0]["most"], float(2**64 - 1))

    def test_where_it_cannot_be_written(self):
        path = scenes.long_run(self.folder, 30000)[0]
        os.mkdir(self.path("folder"))
        os.symlink("nowhere", self.path("link"))
        self.expect("export-sqlite-refused", "".join(
            self.fails("export", path, "--to", "sqlite", "-f", "-o", out).err
            for out in ("-", "/dev/full", self.path("folder"), self.path("link"), self.path("none", "a.sqlite"))))
        with open(self.path("old"), "w") as file:
            file.write("mine")
        for limit in (0, 5000, 200000):
            for force in ([], ["-f"]):
                said = self.fails("export", path, "--to", "sqlite", "-o", self.path("old" if force else "new"), *force, most=limit).err
                self.assertRegex(said, r"\Asonde: cannot write \S+(old|new): .+\n\Z")
        with open(self.path("old")) as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder", "link", "long.sonde", "old"])

    def test_it_replaces_with_force_only(self):
        path = scenes.demo(self.folder)[0]
        self.ok("export", path, "--to", "sqlite")
        self.assertIn("already exists", self.fails("export", path, "--to", "sqlite").err)
        self.ok("export", path, "--to", "sqlite", "--force")
        self.assertEqual(sorted(os.listdir(self.folder)), ["demo.sonde", "demo.sqlite"])

    def test_memory_does_not_grow_with_the_operations(self):
        def peak(count):
            path = scenes.long_run(self.folder, count, "%d.sonde" % count)[0]
            child = subprocess.Popen([cli.SONDE, "export", path, "--to", "sqlite", "-q", "-o", self.path("%d.sqlite" % count)])
            _, child.returncode, usage = os.wait4(child.pid, 0)
            self.assertEqual(child.returncode, 0)
            return usage.ru_maxrss
        if not cli.SANITIZED:
            self.assertLess(peak(200000) - peak(20000), 8 * 1024)


if __name__ == "__main__":
    cli.main()
