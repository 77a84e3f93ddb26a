"""frames_test.py - what becomes of columns: types in NumPy, pandas and Arrow, memory that is shared and outlives the measurement,
unknown values, windows, threads, errors, many measurements."""
import gc
import importlib
import inspect
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import typing

import numpy
import pandas
import pyarrow

from common import Case, cli, sonde
import scenes
import zoo


def address(array):
    return array.__array_interface__["data"][0]


class Frames(Case):
    def test_types(self):
        path, _ = scenes.demo(self.folder)
        table = sonde.open(path).operations()
        kinds = {column.name: column for column in sonde.columns("operations") if not column.asked_for}
        self.assertEqual(table.columns, list(kinds))
        arrow, frame = table.arrow(), table.pandas()
        arrow.validate(full=True)
        expected = {"l": (pyarrow.int64(), "int64", "Int64"), "L": (pyarrow.uint64(), "uint64", "UInt64"), "I": (pyarrow.uint32(), "uint32", "UInt32"),
                    "b": (pyarrow.bool_(), "bool", "boolean"), "i": (pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string()), "category", "category")}
        for name, column in kinds.items():
            as_arrow, plain, nullable = expected[column.format]
            self.assertEqual(arrow.schema.field(name).type, as_arrow, name)
            self.assertEqual(arrow.schema.field(name).nullable, column.nullable, name)
            self.assertEqual(str(frame[name].dtype), nullable if column.nullable else plain, name)
            self.assertEqual(table.definition(name), column.definition)

    def test_all_forms_say_the_same(self):
        path, _ = scenes.demo(self.folder)
        m = sonde.open(path)
        for name in [table.name for table in m.tables()]:
            table = m.table(name, [column.name for column in sonde.columns(name)])
            rows, arrow, frame = table.rows(), table.arrow(), table.pandas()
            arrow.validate(full=True)
            self.assertEqual(arrow.to_pylist(), rows, name)
            self.assertEqual(len(frame), len(rows))
            for column in table.columns:
                want = [row[column] for row in rows]
                self.assertEqual([None if value is pandas.NA or value is None or value != value else value for value in frame[column].tolist()], want, column)
                array = table[column]
                self.assertEqual([None if value is numpy.ma.masked else value for value in array.tolist()] if not numpy.ma.is_masked(array)
                                 else array.tolist(), want, column)

    def test_memory_is_shared(self):
        path, _ = scenes.long_run(self.folder, 5000)
        table = sonde.open(path).operations()
        array = table["start_ns"]
        self.assertFalse(array.flags.writeable)
        self.assertEqual(address(table["start_ns"]), address(array))
        column = table.arrow()["start_ns"].chunk(0)
        self.assertEqual(column.buffers()[1].address, address(array))
        self.assertEqual(address(table.pandas()["enter_ns"].to_numpy()), address(table["enter_ns"]))
        self.assertEqual(address(table.pandas()["start_ns"].array._data), address(array))

    def test_arrays_outlive_the_measurement(self):
        path, _ = scenes.long_run(self.folder, 5000)
        m = sonde.open(path)
        table = m.operations()
        want = table["start_ns"].tolist()
        kept = [table["start_ns"][100:], table.pandas()["start_ns"], table.arrow()["start_ns"], pyarrow.record_batch(table).column("start_ns")]
        m.close()
        del m, table
        gc.collect()
        noise = [numpy.full(5000, 7, dtype=numpy.int64) for _ in range(50)]  # would take the place of memory that was given back
        self.assertEqual(kept[0].tolist(), want[100:])
        for column in kept[1:]:
            self.assertEqual(column.tolist() if hasattr(column, "tolist") else column.to_pylist(), want)
        del kept
        gc.collect()
        self.assertEqual(len(noise), 50)

    def test_nothing_leaks(self):
        """Answers that nobody has any more are given back: many times their size fits."""
        import resource
        path, _ = scenes.long_run(self.folder, 20000)
        m = sonde.open(path)
        m.operations().pandas()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(60):
            table = m.operations()
            table.arrow()
            table.pandas()
            del table
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 40 * 1024)

    def test_unknown_is_not_zero(self):
        table = sonde.open(zoo.no_times(self.folder)).operations()
        self.assertTrue(numpy.ma.getmaskarray(table["start_ns"]).all())
        self.assertTrue(table.pandas()["start_ns"].isna().all())
        self.assertEqual(set(table.arrow()["start_ns"].to_pylist()), {None})
        self.assertEqual(table.pandas()["duration_ns"].sum(), 0)

    def test_windows(self):
        m = sonde.open(zoo.plain(self.folder))
        table = m.operations()
        start, end, number = table["start_ns"], table["end_ns"], table["correlation"]
        for begin, until in ((0, int(start[50])), (int(start[50]), None), (int(end[10]), int(start[12]) + 1), (-5, 1), (None, 2**62), (None, int(end[30])), (-2**70, 2**70)):
            low, high = -2**63 if begin is None else begin, 2**63 - 1 if until is None else until
            inside = (start < high) & ((end > low) | (start >= low))
            self.assertEqual(m.operations(["correlation"], begin=begin, end=until)["correlation"].tolist(), number[inside].tolist())

    def test_lanes_and_processes(self):
        path, processes = scenes.demo(self.folder)
        m = sonde.open(path)
        for i, name in enumerate(m.processes()["process"]):
            p = next(p for p in processes if p.name == name)
            self.assertEqual(len(m.operations(process=i)), len(p.truth))
            for lane in {op["lane"] for op in p.truth}:
                self.assertEqual(sorted(m.operations(process=i, lane=lane)["correlation"].tolist()),
                                 sorted(op["correlation"] for op in p.truth if op["lane"] == lane))

    def test_threads_at_once(self):
        path, _ = scenes.demo(self.folder)
        m = sonde.open(path)
        want = sonde.open(path).operations().rows()
        wrong = []

        def ask(turn):
            for _ in range(20):
                if m.operations().rows() != want or (turn % 2 and len(m.kernels()) < 1):
                    wrong.append(turn)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_closing_waits_for_readers(self):
        path, _ = scenes.long_run(self.folder, 20000)
        m = sonde.open(path)
        lengths, errors = [], []

        def ask():
            try:
                for _ in range(200):
                    lengths.append(len(m.operations()))
            except sonde.SondeError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        while not lengths:
            pass
        m.close()
        for thread in threads:
            thread.join()
        self.assertEqual(set(lengths), {20000})
        self.assertEqual(errors, [f"the measurement {m.path} is closed"] * 3)
        m.close()

    def test_errors_are_sentences(self):
        path, _ = scenes.demo(self.folder)
        m = sonde.open(path)
        for call, sentence in ((lambda: sonde.open(self.path("none.sonde")), "none.sonde"),
                               (lambda: m.table("operation"), "there is no table 'operation'; did you mean 'operations'\\?"),
                               (lambda: m.operations(["strat_ns"]), "has no column 'strat_ns'; did you mean 'start_ns'\\?"),
                               (lambda: m.operations(begin=5, end=5), "the time window is empty"),
                               (lambda: m.operations(begin=0, end=0), "the time window is empty"),
                               (lambda: m.operations(process=-2), "there is no process -2"),
                               (lambda: m.operations(lane=2**40), "there is no lane 1099511627776"),
                               (lambda: m.operations(process=7), "there is no process 7"),
                               (lambda: m.view("kernel"), "did you mean 'kernels'\\?"),
                               (lambda: m.kernels(limit="many"), "limit"),
                               (lambda: m.kernels(lane="1"), "lane is for the view statistics, not for kernels"),
                               (lambda: sonde.columns("nothing"), "there is no table 'nothing'"),
                               (lambda: sonde.open_many(self.path("*.none")), "there is no measurement")):
            with self.assertRaisesRegex(sonde.SondeError, sentence) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(KeyError, "operations has no column 'x'; it has process, lane"):
            m.operations()["x"]
        with self.assertRaises(TypeError):
            m.operations("name")
        self.assertLess(caught.exception.code, 1)

    def test_tree(self):
        path, processes = scenes.demo(self.folder)
        tree = sonde.open(path).tree()
        self.assertEqual([node.row for node in tree.nodes], list(range(len(tree))))
        self.assertEqual(len(list(tree.root.walk())), len(tree))
        for node in tree.nodes:
            inclusive = node["device_ns"] + sum(child["inclusive_device_ns"] for child in node.children)
            self.assertEqual(node["inclusive_device_ns"], inclusive, node)
        leaf = tree.find(lambda node: node["name"] == "vadd")[0]
        self.assertEqual([node.label for node in leaf.path()][-1], leaf.label)
        self.assertEqual(leaf["operations"], sum(op["name"] == "vadd" for p in processes for op in p.truth))
        self.assertIn("vadd", tree.text())
        literal = tree.literal()
        self.assertEqual(literal[0]["metrics"]["time (inc)"], tree.root["inclusive_device_ns"])

    def test_many(self):
        scenes.long_run(self.folder, 300, "a.sonde")
        scenes.long_run(self.folder, 500, "b.sonde")
        many = sonde.open_many(self.path("*.sonde"))
        self.assertEqual(len(many), 2)
        frame = many.pandas("operations", columns=["name", "duration_ns"])
        self.assertEqual(len(frame), 800)
        self.assertEqual(sorted(set(frame["measurement"])), [self.path("a.sonde"), self.path("b.sonde")])
        lazy = many.dask("operations", columns=["name", "duration_ns"])
        self.assertEqual(lazy.npartitions, 2)
        sums = lazy.groupby("name")["duration_ns"].sum().compute(scheduler="threads").sort_index()
        self.assertEqual(sums.to_dict(), frame.groupby("name")["duration_ns"].sum().sort_index().to_dict())


    def job(self, ranks):
        """A job of so many ranks, by sonde-synth, which says what it wrote."""
        path = self.path(f"job{ranks}.sonde")
        done = subprocess.run([os.path.join(cli.BUILD, "tests", "sonde-synth"), "--operations", "6000", "--processes", str(ranks), "--ranks", path],
                              capture_output=True, check=True)
        return path, json.loads(done.stdout)

    def test_dask_shares_the_ranks_of_a_job(self):
        path, truth = self.job(5)
        m = sonde.open(path)
        lazy = m.dask("operations", ["process", "name", "kind", "duration_ns", "bytes"])
        self.assertEqual(lazy.npartitions, 5)
        for i, process in enumerate(m.processes()["process"]):
            self.assertEqual(set(lazy.partitions[i]["process"].compute(scheduler="sync")), {process})
        for scheduler in ("threads", "processes"):
            kernels = lazy[lazy["kind"] == "kernel"].groupby("name")["duration_ns"].agg(["count", "sum"]).compute(scheduler=scheduler)
            self.assertEqual({name: (row["count"], row["sum"]) for name, row in kernels.iterrows()},
                             {row["name"]: (row["count"], row["total_ns"]) for row in self.report(path, "kernels")})
        self.assertEqual(len(lazy), sum(truth["operations"].values()))
        self.assertEqual(lazy["bytes"].sum().compute(scheduler="threads"), sum(truth["bytes"].values()))
        frame = m.operations(["process", "name", "kind", "duration_ns", "bytes"]).pandas().astype({"process": object, "name": object, "kind": object})
        pandas.testing.assert_frame_equal(lazy.compute(scheduler="threads").reset_index(drop=True).astype(frame.dtypes), frame)

    def test_dask_reads_what_is_asked_for(self):
        path, _ = self.job(3)
        m = sonde.open(path)
        middle = int(numpy.median(m.operations()["start_ns"]))
        for which in ({"begin": middle}, {"end": middle}, {"process": 1}, {"lane": 2}, {"process": 2, "lane": 2, "end": middle}):
            lazy = m.dask("operations", ["correlation", "start_ns"], **which)
            self.assertEqual(lazy.npartitions, 1 if "process" in which else 3)
            self.assertEqual(lazy.compute(scheduler="threads")["correlation"].tolist(), m.operations(["correlation"], **which)["correlation"].tolist(), which)
        for table in m.tables():
            lazy = m.dask(table.name)
            self.assertEqual((lazy.npartitions, list(lazy.columns)), (1 if table.name == "contexts" else 3, m.table(table.name).columns), table)
            self.assertEqual(len(lazy.compute(scheduler="threads")), len(m.table(table.name)), table)
        with self.assertRaisesRegex(sonde.SondeError, "there is no table 'nothing'"):
            m.dask("nothing")

    def test_dask_opens_it_when_it_works(self):
        """Nothing of the trace is read before, and by another working directory than that where it was asked for."""
        path, _ = self.job(3)
        many = sonde.open_many([path, self.job(2)[0]])
        lazy, want = many.dask("operations", columns=["duration_ns"]), many.pandas("operations", columns=["duration_ns"])
        self.assertEqual(lazy.npartitions, 5)
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        relative = sonde.open(os.path.basename(path)).dask("operations", ["duration_ns"])
        os.chdir("/")
        here = want["measurement"] == path
        self.assertEqual(relative["duration_ns"].sum().compute(scheduler="threads"), want[here]["duration_ns"].sum())
        self.assertEqual(lazy.groupby("measurement")["duration_ns"].sum().compute(scheduler="threads").to_dict(), want.groupby("measurement")["duration_ns"].sum().to_dict())
        shutil.rmtree(path)
        with self.assertRaisesRegex(sonde.SondeError, "job3.sonde"):
            many.dask("operations", columns=["duration_ns"]).compute(scheduler="threads")
        with self.assertRaisesRegex(sonde.SondeError, "job3.sonde"):
            lazy.partitions[0].compute(scheduler="processes")


class Package(Case):
    """What is public says what it is, what it takes and what it gives: to help(), and to type checkers (the package has py.typed)."""

    def public(self):
        """(name, what it is) of the package's names and of what their classes have; and of those the functions, with those of classes that Python calls."""
        for name in sonde.__all__:
            thing = getattr(sonde, name)
            yield name, thing
            for inner, value in vars(thing).items() if inspect.isclass(thing) else ():
                value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if inspect.isfunction(value) and value.__module__.startswith("sonde.") and (inner[0] != "_" or inner.startswith("__")):
                    yield f"{name}.{inner}", value

    def test_everything_is_described(self):
        names = [name for name, _ in self.public()]
        self.assertTrue({"open", "Table.pandas", "Many.dask", "Tree.find", "TableInfo", "range.__enter__"} < set(names), names)
        for name, thing in self.public():
            said = inspect.getdoc(thing) if "._" not in name else "Python's"
            self.assertTrue(said and not said.startswith(name + "("), f"{name} has no docstring: {said}")

    def test_everything_is_typed(self):
        """By types that there are: names that only type checkers import are resolved, too."""
        import dask.dataframe
        import numpy.typing
        there = {"DataFrame": pandas.DataFrame, "DaskFrame": dask.dataframe.DataFrame, "ArrowTable": pyarrow.Table, "NDArray": numpy.typing.NDArray}
        for name, thing in self.public():
            if inspect.isfunction(thing):
                hints = typing.get_type_hints(thing, localns=there)
                untyped = {"return", *inspect.signature(thing).parameters} - {"self"} - set(hints)
                self.assertEqual(untyped, set(), name)
        path, _ = scenes.demo(self.folder)
        m = sonde.open(path)
        many, table = sonde.open_many([path]), m.operations()
        for function, value in ((m.dask, m.dask()), (many.dask, many.dask()), (many.pandas, many.pandas()), (table.pandas, table.pandas()),
                                (table.arrow, table.arrow()), (m.tree().pandas, m.tree().pandas())):
            self.assertIsInstance(value, typing.get_type_hints(function, localns=there)["return"])


class Others(Case):
    """Libraries that read Arrow's memory and Parquet agree with the rows."""

    def setUp(self):
        super().setUp()
        self.measurement, _ = scenes.demo(self.folder)
        self.m = sonde.open(self.measurement)
        self.want = {}
        for row in self.m.operations(["name", "duration_ns"]).rows():
            self.want[row["name"]] = self.want.get(row["name"], 0) + (row["duration_ns"] or 0)

    def test_polars_takes_the_memory(self):
        polars = self.need("polars")
        frame = polars.DataFrame(self.m.operations(["name", "duration_ns", "failed"]))
        sums = frame.with_columns(polars.col("name").cast(polars.String)).group_by("name").agg(polars.col("duration_ns").sum())
        self.assertEqual(dict(sums.iter_rows()), self.want)
        self.m.close()
        self.assertEqual(frame["duration_ns"].sum(), sum(self.want.values()))

    def test_duckdb_takes_the_memory(self):
        duckdb = self.need("duckdb")
        table = self.m.operations(["name", "duration_ns"]).arrow()
        found = duckdb.from_arrow(table).aggregate("name::varchar as name, coalesce(sum(duration_ns), 0)::bigint", "name")
        self.assertEqual(dict(found.fetchall()), self.want)

    def export(self, *more, start=None, **environment):
        """By the build's command, which has no package beside it."""
        build = os.environ["SONDE_BUILD"]
        variables = {**os.environ, "SONDE_EXPORT_PYTHON": sys.executable, "SONDE_PREFIX": build, "PYTHONPATH": os.path.dirname(os.path.dirname(sonde.__file__)), **environment}
        return subprocess.run([os.path.join(build, "bin", "sonde"), "export", "-q", self.measurement, "--to", "parquet", *more], capture_output=True, text=True, check=False,
                              env=variables, preexec_fn=start)

    def test_the_command_writes_parquet(self):
        duckdb = self.need("duckdb")
        done = self.export("-o", self.path("c.parquet"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.path("c.parquet"))), ["_sonde", "alpha-4711-0.parquet", "beta-4711-0.parquet"])
        pattern = self.path("c.parquet", "*.parquet")
        self.assertEqual(dict(duckdb.sql(f"select name::varchar, coalesce(sum(duration_ns), 0)::bigint from '{pattern}' group by 1").fetchall()), self.want)
        self.assertEqual(set(duckdb.sql(f"describe select * from '{pattern}'").fetchnumpy()["column_name"]), set(self.m.operations().columns))
        import dask.dataframe
        self.assertEqual(dask.dataframe.read_parquet(self.path("c.parquet")).npartitions, 2)
        self.assertIn("already exists", self.export("-o", self.path("c.parquet")).stderr)
        self.assertEqual(self.export("-f", "-o", self.path("c.parquet")).returncode, 0)

    def test_the_command_says_what_it_lacks(self):
        for more, said in (({"PYTHONPATH": "/nonexistent"}, "No module named 'sonde'"), ({"SONDE_EXPORT_PYTHON": "/nonexistent/python"}, "cannot run /nonexistent/python: No such file or directory"),
                           ({"SONDE_EXPORT_PYTHON": "false"}, "Python ended without a word"), ({"SONDE_PREFIX": "/nonexistent", "PATH": "/usr/bin:/bin"}, "libsonde.so.1 was not found")):
            done = self.export("-o", self.path("d.parquet"), **more)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse([name for name in os.listdir(self.folder) if "parquet" in name])

    def test_a_job_has_a_partition_for_each_rank(self):
        """With the totals of each rank, and where all ranks are one those of the report."""
        duckdb, polars = self.need("duckdb"), self.need("polars")
        import dask.dataframe
        import pyarrow.dataset
        self.measurement, truth = self.job()
        folder = self.path("job.parquet")
        self.assertEqual(self.export("-o", folder).returncode, 0)
        self.assertEqual(sorted(os.listdir(folder)), ["_sonde", "no-rank.parquet", "rank-0.parquet", "rank-1.parquet", "rank-2.parquet"])
        by_duckdb = duckdb.sql(f"select rank, name::varchar, sum(duration_ns)::bigint from '{folder}/*.parquet' group by all").fetchall()
        self.assertEqual({(rank, name): ns for rank, name, ns in by_duckdb}, truth)
        lazy = polars.scan_parquet(folder + "/*.parquet").with_columns(polars.col("name").cast(polars.String))
        by_polars = lazy.group_by("rank", "name").agg(polars.col("duration_ns").sum()).collect().iter_rows()
        self.assertEqual({(rank, name): ns for rank, name, ns in by_polars}, truth)
        rows = pyarrow.dataset.dataset(folder).to_table(columns=["rank", "name", "duration_ns"], filter=pyarrow.dataset.field("rank") == 1)
        self.assertEqual((set(rows["rank"].to_pylist()), sum(rows["duration_ns"].to_pylist())), ({1}, sum(ns for (rank, _), ns in truth.items() if rank == 1)))
        parts = dask.dataframe.read_parquet(folder)
        self.assertEqual(parts.npartitions, 4)
        by_dask = parts.assign(name=parts["name"].astype(object)).groupby(["rank", "name"], dropna=False)["duration_ns"].sum().compute(scheduler="threads")
        self.assertEqual({(None if rank != rank else int(rank), name): ns for (rank, name), ns in by_dask.items()}, truth)
        kernels = {}
        for (_, name), ns in truth.items():
            kernels[name] = kernels.get(name, 0) + ns
        self.assertEqual({row["name"]: row["total_ns"] for row in self.report(self.measurement, "kernels")}, kernels)

    def test_a_full_disk(self):
        """The same line as of every other format, and nothing is left: neither where no file may become large, nor in a small file system."""
        before = os.listdir(self.folder)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = self.export("-o", self.path("e.parquet"), start=limit)
        self.assertEqual((done.returncode, done.stderr), (1, f"sonde: cannot write {self.path('e.parquet')}: File too large\n"))
        self.assertEqual(os.listdir(self.folder), before)
        small = self.path("small")
        os.mkdir(small)
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("mounting a file system is not allowed here")
        try:
            with open(os.path.join(small, "fill"), "wb", buffering=0) as file, self.assertRaises(OSError):
                while file.write(bytes(4096)):
                    pass
            out = os.path.join(small, "e.parquet")
            for more in ((), ("-f",)):
                done = self.export("-o", out, *more)
                self.assertEqual((done.returncode, done.stderr), (1, f"sonde: cannot write {out}: No space left on device\n"))
            with self.assertRaisesRegex(sonde.SondeError, f"cannot write {out}: No space left on device"):
                self.m.parquet(out)
            self.assertEqual(os.listdir(small), ["fill"])
        finally:
            subprocess.run(["umount", small], check=False)

    def test_parquet(self):
        files = self.m.parquet(self.path("out.parquet"), columns=["process", "name", "duration_ns", "start_ns", "failed"])
        self.assertEqual(sorted(os.listdir(self.path("out.parquet"))), ["alpha-4711-0.parquet", "beta-4711-0.parquet"])
        self.assertEqual(len(files), 2)
        pattern = self.path("out.parquet", "*.parquet")
        duckdb, polars = self.need("duckdb"), self.need("polars")
        by_duckdb = duckdb.sql(f"select name::varchar, coalesce(sum(duration_ns), 0)::bigint from '{pattern}' group by 1").fetchall()
        lazy = polars.scan_parquet(pattern).with_columns(polars.col("name").cast(polars.String)).group_by("name").agg(polars.col("duration_ns").sum())
        import dask.dataframe
        parts = dask.dataframe.read_parquet(pattern)
        by_dask = parts.assign(name=parts["name"].astype(object)).groupby("name")["duration_ns"].sum().compute(scheduler="threads")
        self.assertEqual(dict(by_duckdb), self.want)
        self.assertEqual(dict(lazy.collect().iter_rows()), self.want)
        self.assertEqual(parts.npartitions, 2)
        self.assertEqual({str(key): int(value) for key, value in by_dask.items()}, self.want)
        with self.assertRaisesRegex(sonde.SondeError, "already exists"):
            self.m.parquet(self.path("out.parquet"))
        self.m.parquet(self.path("out.parquet"), "contexts", force=True)
        self.assertEqual(os.listdir(self.path("out.parquet")), ["contexts.parquet"])
        with self.assertRaises(sonde.SondeError):
            self.m.parquet(self.path("none.parquet"), "nothing")
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("none")])

    def need(self, name):
        try:
            return importlib.import_module(name)
        except ImportError as error:
            self.skipTest(str(error))


if __name__ == "__main__":
    cli.main()
