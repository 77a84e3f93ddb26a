"""tables_test.py - tables and views of `import sonde` against `sonde export` and `sonde report --json`: of measurements whose
contents are known, and of every odd one of tests/cli/zoo.py."""
import csv
import io
import math
import os
import shutil

from common import Case, cli, sonde
import live
import scenes
import zoo

TRACES = ("operations", "calls", "ranges", "waits", "samples", "switches", "sleeps", "messages")
NOT_AN_INSTANT = ("cpu_ns", "duration_ns")
# JSON has the object that an operation named, also where its row was lost; the CSV and these tables have not.
ONLY_IN_JSON = ("work", "payload_type", "object")


def same(case, have, want, where):
    """`want` is JSON: what is absent is unknown; "error" is no number."""
    if isinstance(want, dict) and isinstance(have, dict):
        for key in set(have) | set(want):
            same(case, have.get(key), want.get(key), f"{where}.{key}")
    elif isinstance(want, list) and isinstance(have, list):
        case.assertEqual(len(have), len(want), where)
        for i, (one, other) in enumerate(zip(have, want)):
            same(case, one, other, f"{where}[{i}]")
    elif isinstance(have, float) and math.isnan(have):
        case.assertEqual(want, "error", where)
    elif isinstance(have, float) and want is not None:
        case.assertTrue(math.isclose(have, want, rel_tol=1e-14), (where, have, want))
    else: # a column of keys is text where one of them is a word
        case.assertEqual(have, str(want) if isinstance(have, str) and isinstance(want, int) else want, where)


class Tables(Case):
    def compare_with_json(self, path):
        """Every row of every table with times, field by field; and the calling context tree."""
        export, m = self.export(path), sonde.open(path)
        origin = {row["process"]: row["origin_ns"] for row in m.processes().rows()}
        names = [p["name"] for p in export["processes"]]
        self.assertEqual([row["process"] for row in m.processes().rows()], names)
        for table in TRACES:
            rows = m.table(table).rows()
            self.assertEqual(len(rows), len(export[table]), table)
            for have, want in zip(rows, export[table]):
                self.assertEqual(have["process"], names[want["process"]])
                for key in want.keys() - {"process", *ONLY_IN_JSON}:
                    value = want[key]
                    if key.endswith("_ns") and key not in NOT_AN_INSTANT and value is not None:
                        value -= origin[have["process"]]
                    if isinstance(value, int) and isinstance(have[key], int):
                        value, have[key] = value % 2**64, have[key] % 2**64
                    same(self, have[key], value, f"{table}.{key}")
        contexts = m.contexts().rows()
        self.assertEqual(len(contexts), len(export["contexts"]))
        for have, want in zip(contexts, export["contexts"]):
            for key in ("parent", "kind", "name", "file", "line", "module"):
                self.assertEqual(have[key], want[key], key)
            for key in ("operations", "device_ns", "queue_ns", "bytes", "calls", "host_ns", "samples", "cpu_ns"):
                if key in want:
                    self.assertEqual(have[key], want[key], key)
        lanes = [(names[i], lane["id"], lane["kind"], lane["name"], lane["tid"]) for i, p in enumerate(export["processes"]) for lane in p["lanes"]]
        self.assertEqual([(r["process"], r["lane"], r["kind"], r["name"], r["tid"]) for r in m.lanes().rows()], lanes)
        objects = [(names[i], o["id"], o["kind"], min(o["bytes"] % 2**64, 2**63 - 1), o["uses"], o["context"]) for i, p in enumerate(export["processes"]) for o in p["objects"]]
        self.assertEqual([(r["process"], r["object"], r["kind"], r["bytes"], r["uses"], r["context"]) for r in m.objects().rows()], objects)
        m.close()

    def compare_with_csv(self, path):
        done = cli.run("export", path, "--to", "csv", "-o", "-", cwd=self.folder)
        if done.returncode:
            return
        wanted = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        with sonde.open(path) as m:
            columns = [column.name for column in sonde.columns("operations")]
            origin = {row["process"]: row["origin_ns"] for row in m.processes().rows()}
            rows = m.operations(columns).rows()
        self.assertEqual(len(rows), len(wanted))
        for have, want in zip(rows, wanted):
            for column in columns:
                value = have[column]
                if value is not None and column.endswith("_ns") and column not in NOT_AN_INSTANT:
                    value += origin[have["process"]]
                value = value % 2**64 if isinstance(value, int) else value # a column is signed, the CSV is not
                text = "" if value is None else "%g" % value if isinstance(value, float) else str(value)
                self.assertEqual(text, want[column], column)
            self.assertEqual(set(want) - {"pid"}, set(columns))

    def compare_views(self, path):
        with sonde.open(path) as m:
            for view in sonde.views():
                want = self.report(path, view.name)
                if want is None:
                    with self.assertRaises(sonde.SondeError) as caught:
                        m.view(view.name)
                    self.assertRegex(str(caught.exception), r"\A[^\n]+\Z")
                    continue
                table = m.view(view.name)
                same(self, table.row() if view.single else table.rows(), want, view.name)
                self.assertEqual(len(table.pandas()), len(table))
                arrow = table.arrow()
                arrow.validate(full=True)
                self.assertEqual(arrow.num_rows, len(table))

    def test_known_scenes(self):
        for scene in (scenes.demo, scenes.annotated, scenes.sampled, scenes.profile_only):
            path = scene(self.folder)[0]
            with self.subTest(scene.__name__):
                self.compare_with_json(path)
                self.compare_with_csv(path)
                self.compare_views(path)

    def test_options_of_views(self):
        path, _ = scenes.demo(self.folder)
        with sonde.open(path) as m:
            same(self, m.kernels(limit=1).rows(), self.report(path, "kernels", "--limit", "1"), "kernels")
            same(self, m.view("profile", bottom_up=True, metric="gpu,ops", min_percent=0).row(),
                 self.report(path, "profile", "--bottom-up", "--metric", "gpu,ops", "--min-percent", "0"), "profile")
            same(self, m.view("statistics", from_="10%", lane="queues").row(), self.report(path, "statistics", "--from", "10%", "--lane", "queues"), "statistics")

    def test_what_nests_is_a_table(self):
        path, _ = scenes.demo(self.folder)
        with sonde.open(path) as m:
            profile = m.view("profile")
            column = next(name for name, value in profile.row().items() if isinstance(value, list) and value and isinstance(value[0], dict))
            inner = profile.inner(column)
        same(self, inner.rows(), profile.row()[column], column)
        self.assertEqual(len(inner.pandas()), len(inner))
        self.assertEqual(inner.arrow().num_rows, len(inner))

    def test_odd_measurements(self):
        """What is asked is answered or refused with a sentence; the tables are those of the exports."""
        for animal in zoo.ZOO:
            path = animal(self.folder)
            with self.subTest(animal.__name__):
                try:
                    m = sonde.open(path)
                except sonde.SondeError as error:
                    self.assertRegex(str(error), r"\A[^\n]+\Z")
                    self.assertNotEqual(cli.run("report", path, cwd=self.folder).returncode, 0)
                    continue
                for view in sonde.views():
                    try:
                        m.view(view.name).rows()
                    except sonde.SondeError as error:
                        self.assertRegex(str(error), r"\A[^\n]+\Z")
                m.tree().text()
                m.close()
                self.compare_with_json(path)
                self.compare_with_csv(path)

    def test_notes_say_what_is_missing(self):
        path = zoo.killed(self.folder)
        with sonde.open(path) as m:
            notes = m.missing()
        said = " ".join(cli.run("report", path, cwd=self.folder).out.split())
        self.assertTrue(notes)
        for note in notes:
            self.assertIn(note, said)

    def test_a_measurement_that_grows(self):
        """What was there when it was opened; later ones have more."""
        path = self.path("growing.sonde")
        p = zoo.program()
        live.write_manifest(path, ["growing"])
        seen = []
        for turn in range(3):
            for _ in range(50):
                zoo.launch(p, p.start_ns + zoo.MS + 3000 * len(p.truth))
            shutil.rmtree(self.path("growing.sonde", p.name), ignore_errors=True)
            p.write(path)
            seen.append((sonde.open(path), 50 * (turn + 1)))
        for m, count in seen:
            self.assertEqual(len(m.operations()), count)
            self.assertEqual(m.operations()["correlation"].tolist(), [op["correlation"] for op in p.truth[:count]])

    def test_files_that_go(self):
        path = zoo.plain(self.folder)
        m = sonde.open(path)
        before = m.operations().rows()
        for folder, _, names in os.walk(path):
            for name in names:
                os.unlink(os.path.join(folder, name))
        self.assertEqual(m.operations().rows(), before)
        with self.assertRaisesRegex(sonde.SondeError, "plain.sonde"):
            sonde.open(path)


if __name__ == "__main__":
    cli.main()
