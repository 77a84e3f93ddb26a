"""figures_test.py - `sonde monitor` and `sonde top` of live mappings with known contents, of damaged ones, and of none."""
import gzip
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import live  # noqa: E402
import monitoring  # noqa: E402
import zoo  # noqa: E402
from monitoring import Monitor, of, samples, top, until  # noqa: E402

ODD = 'quote " backslash \\ line\nend \x01 \xe9'


def raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Figures(cli.Case):
    def setUp(self):
        super().setUp()
        if not monitoring.text_string_to_metric_families:
            self.skipTest(monitoring.WHY)
        self.announced = self.path("announced")
        os.mkdir(self.announced, 0o700)

    def program(self, name="host-7-1", pid=7, launches=3, **more):
        """A program of two kernels on two devices, and what it did: {(device, kind, kernel): [durations]}."""
        p = live.Process(name, pid, start_ns=raw_ns() - 10**9, **more)
        p.main = p.thread(pid)
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234))
        did, chance = {}, random.Random(pid)
        for device in range(2):
            queue = p.queue(p.device(f"Device {device}"))
            for i in range(launches):
                for kind, kernel in (("kernel", "_Z3addPi"), ("kernel", ODD), ("read", "")):
                    at, length = p.start_ns + 10**6 * (i + 1) + 1000 * device, chance.randrange(1, 10**5)
                    p.enqueue(p.main, queue, "clEnqueue", code, kind, at, at + 10, at + 400, at + 400 + length, name=kernel, size=64 if kind == "read" else 0)
                    did.setdefault((str(device), kind, kernel), []).append(length)
        p.stop_ns = raw_ns()
        return p, did

    def expected(self, did):
        names = {"_Z3addPi": "add(int*)", ODD: 'quote " backslash \\ line end   \xe9', "": ""}
        return {(device, kind, names[kernel]): lengths for (device, kind, kernel), lengths in did.items()}

    def test_figures_are_those_that_were_written(self):
        programs = {}
        for pid in (7, 8):
            p, did = self.program(f"host-{pid}-1", pid, launches=pid, state=1)
            p.write(self.announced)
            programs[p.name] = p, self.expected(did)
        held = [monitoring.lock(os.path.join(self.announced, name)) for name in programs]
        with Monitor(self.announced) as monitor:
            found = samples(monitor.looked())
        for file in held:
            file.close()
        for name, (p, did) in programs.items():
            want = {"process": name, "pid": str(p.pid), "program": "demo", "runtime": "opencl"}
            count = of(found, "sonde_agent_operations_total", "device", "kind", "kernel", **want)
            self.assertEqual(count, {key: len(lengths) for key, lengths in did.items()})
            seconds = of(found, "sonde_agent_operation_seconds_total", "device", "kind", "kernel", **want)
            self.assertEqual({key: round(value * 1e9) for key, value in seconds.items()}, {key: sum(lengths) for key, lengths in did.items()})
            size = of(found, "sonde_agent_operation_bytes_total", "device", "kind", "kernel", **want)
            self.assertEqual(size, {key: 64 * len(lengths) * (key[1] == "read") for key, lengths in did.items()})
            busy = of(found, "sonde_agent_device_busy_seconds_total", "device", **want)
            for device, value in busy.items():
                self.assertEqual(round(value * 1e9), p.busy(int(device) + 1)[0][1])
            self.assertEqual(of(found, "sonde_agent_running", process=name), {(): 1})
            self.assertEqual(of(found, "sonde_agent_enqueued_operations_total", process=name), {(): p.ledger["seen"]})

    def test_top_says_the_same(self):
        p, did = self.program()
        p.write(self.announced)
        said, names = top(self.announced), self.expected(did)
        self.assertEqual({(str(row["device"]), row["kind"], "" if row["kind"] == "read" else row["name"].replace("\n", " ").replace("\1", " ")):
                          (row["operations"], row["total_ns"]) for row in said["kernels"]},
                         {key: (len(lengths), sum(lengths)) for key, lengths in names.items()})
        self.assertEqual([row["name"] for row in said["kernels"] if row["kind"] == "read"], ["read"] * 2)
        self.assertEqual([d["busy_ns"] for d in said["devices"]], [p.busy(1)[0][1], p.busy(2)[0][1]])
        process, = said["processes"]
        self.assertEqual((process["process"], process["pid"], process["program"], process["state"]), ("host-7-1", 7, "demo", "exited"))
        text = self.ok("top", "--once", "--interval", "10ms", "--folder", self.announced).out
        self.assertIn("add(int*)", text)
        self.assertNotIn("\x01", text)

    def test_states(self):
        for pid, state, locked in ((1, 1, True), (2, 2, False), (3, 1, False)):
            self.program(f"host-{pid}-1", pid, state=state)[0].write(self.announced)
        with monitoring.lock(os.path.join(self.announced, "host-1-1")):
            self.assertEqual({p["pid"]: p["state"] for p in top(self.announced)["processes"]}, {1: "running", 2: "exited", 3: "killed"})

    def test_what_is_left_over_goes_away(self):
        p, _ = self.program("host-1-1", 1)
        p.stop_ns = raw_ns() - 11 * 10**9  # longer than it is kept
        p.write(self.announced)
        self.program("host-2-1", 2)[0].write(self.announced)
        old, _ = self.program("host-3-1", 3, state=1)
        old.stop_ns = raw_ns() - 11 * 10**9
        old.write(self.announced)
        os.mkdir(os.path.join(self.announced, "somebody-else"))
        with monitoring.lock(os.path.join(self.announced, "host-3-1")):  # it is stopped, perhaps
            with Monitor(self.announced) as monitor:
                found = samples(monitor.looked(3))
            self.assertEqual(set(of(found, "sonde_agent_running", "process")), {"host-1-1", "host-2-1", "host-3-1"})
            self.assertEqual(sorted(os.listdir(self.announced)), ["host-2-1", "host-3-1", "somebody-else"])

    def test_an_ended_program_keeps_its_last_figures(self):
        p, did = self.program()
        p.write(self.announced)
        with Monitor(self.announced) as monitor:
            monitor.looked()
            shutil.rmtree(os.path.join(self.announced, p.name))
            found = samples(monitor.looked())
        self.assertEqual(sum(of(found, "sonde_agent_operations_total", "device", "kind", "kernel").values()), sum(map(len, did.values())))
        self.assertEqual(of(found, "sonde_agent_running"), {(): 0})

    def test_another_program_of_the_same_name(self):
        """As in a container that starts again: whether it still runs or has ended, its figures count."""
        for state in (1, 2):
            first, _ = self.program(launches=2)
            first.write(self.announced)
            with Monitor(self.announced) as monitor:
                monitor.looked()
                shutil.rmtree(os.path.join(self.announced, first.name))
                monitor.looked()
                second, did = self.program(launches=5, state=state)
                second.write(self.announced)
                held = monitoring.lock(os.path.join(self.announced, second.name)) if state == 1 else None
                found = samples(monitor.looked())
            self.assertEqual(sum(of(found, "sonde_agent_operations_total", "device", "kind", "kernel").values()), sum(map(len, did.values())))
            shutil.rmtree(os.path.join(self.announced, second.name))
            if held:
                held.close()

    def test_what_cannot_be_read_is_counted_and_hides_nothing(self):
        good, did = self.program("host-1-1", 1)
        good.write(self.announced)
        newer, _ = self.program("host-2-1", 2)
        newer.version = live.VERSION + 1
        newer.write(self.announced)
        os.mkdir(os.path.join(self.announced, "host-3-1"))
        with open(os.path.join(self.announced, "host-3-1", "live.sonde"), "wb") as file:
            file.write(os.urandom(200000))
        os.mkdir(os.path.join(self.announced, "host-4-1"))
        os.symlink("/dev/zero", os.path.join(self.announced, "host-4-1", "live.sonde"))
        with Monitor(self.announced) as monitor:
            found = samples(monitor.looked())
            self.assertEqual(set(of(found, "sonde_agent_running", "process")), {"host-1-1"})
            self.assertGreaterEqual(of(found, "sonde_monitor_unread_programs_total")[()], 2)
            self.assertEqual(sum(of(found, "sonde_agent_operations_total", "device", "kind", "kernel").values()), sum(map(len, did.values())))
            self.assertEqual(monitor.stop(), 0)
            self.assertIn("host-", monitor.said)
            self.assertLess(monitor.said.count("\n"), 10)

    def test_damaged_mappings_do_no_harm(self):
        p, _ = self.program(launches=40)
        p.write(self.announced)
        path = os.path.join(self.announced, p.name, "live.sonde")
        with open(path, "rb") as file:
            whole = file.read()
        for seed in range(40 if not cli.SANITIZED else 12):
            chance, data = random.Random(seed), bytearray(whole)
            for _ in range(chance.choice((1, 10, 300))):
                data[chance.randrange(len(data))] = chance.randrange(256)
            os.makedirs(os.path.dirname(path), exist_ok=True)  # what is left over was taken away, perhaps
            with open(path, "wb") as file:
                file.write(data[:chance.choice((len(data), chance.randrange(len(data))))])
            top(self.announced)
            with self.subTest(seed=seed), Monitor(self.announced) as monitor:
                samples(monitor.looked(1))
                self.assertEqual(monitor.stop(), 0)

    def test_a_mapping_that_changes_meanwhile(self):
        """Figures never fall, whatever is written between two looks."""
        last, held, start_ns = {}, [], None
        with Monitor(self.announced) as monitor:
            for launches in range(1, 12):
                p, did = self.program(launches=launches, state=1)
                p.start_ns = start_ns = start_ns or p.start_ns
                p.ledger["hook_ns"] = 1000000 - launches  # an estimate gets better
                new = self.path("new%d" % launches)
                p.write(new)
                target = os.path.join(self.announced, p.name)
                os.makedirs(target, exist_ok=True)
                held.append(monitoring.lock(os.path.join(new, p.name)))
                os.replace(os.path.join(new, p.name, "live.sonde"), os.path.join(target, "live.sonde"))
                found = samples(monitor.looked())
                count = of(found, "sonde_agent_operations_total", "device", "kind", "kernel")
                self.assertTrue(all(count[key] >= value for key, value in last.items()), (count, last))
                self.assertEqual(sum(count.values()), sum(map(len, did.values())))
                self.assertEqual(of(found, "sonde_agent_overhead_seconds_total"), {(): 999999 / 1e9})
                last = count
        for file in held:
            file.close()

    # ---- the server and the command line ---------------------------------------------------------------------------------

    def test_requests(self):
        with Monitor(self.announced) as monitor:
            self.assertEqual(monitor.request("/")[0], 404)
            self.assertEqual(monitor.request("/metrics", "HEAD")[0], 200)
            self.assertEqual(monitor.request("/metrics", "HEAD")[2], b"")
            status, headers, _ = monitor.request("/metrics", "POST")
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
            port = int(monitor.url.rsplit(":", 1)[1].split("/")[0])
            for data in (b"\0" * 5000, b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 9999, b"GET " + b"/" * 99999, b"HTTP\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=monitoring.LIMIT) as connection:
                    try:
                        connection.sendall(data)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                    except OSError:
                        pass  # it closed before all was sent
            samples(monitor.text())
            self.assertEqual(monitor.stop(signal.SIGINT), 0)

    def test_packed(self):
        """For who takes gzip the same text, in fewer bytes, and never for who does not."""
        p, _ = self.program(state=1)
        p.write(self.announced)
        with monitoring.lock(os.path.join(self.announced, p.name)), Monitor(self.announced) as monitor:
            monitor.looked()
            figures = lambda text: {line for line in text.splitlines() if not line.startswith(("#", "sonde_monitor_")) and "seconds" not in line}
            plain = monitor.request()[2].decode()
            for accept, packed in (("gzip", True), ("deflate, gzip;q=0.5", True), ("GZIP", True), ("gzip;q=0", False), ("gzip ; q=0.0, br", False), ("identity", False), ("xgzip", False), ("", False)):
                _, headers, body = monitor.request(headers={"Accept-Encoding": accept})
                self.assertEqual(headers["Content-Encoding"], "gzip" if packed else None, accept)
                self.assertIn("Accept-Encoding", headers["Vary"])
                text = (gzip.decompress(body) if packed else body).decode()
                self.assertEqual(figures(text), figures(plain), accept)
                self.assertLess(len(body), 0.4 * len(text) if packed else len(text.encode()) + 1)
            self.assertEqual(monitor.request("/metrics", "HEAD", {"Accept-Encoding": "gzip"})[2], b"")

    def test_two_monitors(self):
        self.program()[0].write(self.announced)
        with Monitor(self.announced) as one, Monitor(self.announced) as other:
            a, b = samples(one.looked()), samples(other.looked())
        self.assertTrue(a["sonde_agent_operations_total"])
        self.assertEqual(a["sonde_agent_operations_total"], b["sonde_agent_operations_total"])

    def test_what_cannot_be(self):
        with Monitor(self.announced) as monitor:
            port = monitor.url.rsplit(":", 1)[1].split("/")[0]
            taken = cli.run("monitor", "--folder", self.announced, "--listen", f"127.0.0.1:{port}")
            self.assertEqual(taken.returncode, 1)
            self.assertRegex(taken.err, r"\Asonde: cannot listen on 127\.0\.0\.1:%s: Address already in use; choose another port with --listen" % port)
        for address in ("9469", "127.0.0.1:", ":9469", "127.0.0.1:no-such-port", "::1:9469", "[::1]", "a b:1", "127.0.0.1:99999999"):
            wrong = cli.run("monitor", "--folder", self.announced, "--listen", address)
            self.assertEqual(wrong.returncode, 1, address)
            self.assertRegex(wrong.err, r"\Asonde: cannot listen on [^\n]*\n\Z")
        for command in ("monitor", "top"):
            for folder, why in ((self.path("none", "deeper"), "No such file"), (cli.SONDE, "belongs to this user alone")):
                wrong = cli.run(command, "--folder", folder)
                self.assertEqual(wrong.returncode, 1)
                self.assertIn(why, wrong.err)
            os.chmod(self.announced, 0o755)
            wrong = cli.run(command, "--folder", self.announced)
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("mode 0700", wrong.err)
            os.chmod(self.announced, 0o700)

    def test_nothing_is_announced(self):
        self.assertEqual(top(self.announced), {"interval_ns": 100000000, "processes": [], "devices": [], "kernels": [],
                                               "gpus": [], "gpu_processes": []})
        self.assertIn("sonde record --light", self.ok("top", "--once", "--interval", "10ms", "--folder", self.announced).out)
        with Monitor(self.announced) as monitor:
            self.assertNotIn("sonde_agent_operations_total", samples(monitor.looked()))

    def test_the_folder_goes_and_comes(self):
        p, _ = self.program(state=1)
        p.write(self.announced)
        with monitoring.lock(os.path.join(self.announced, p.name)), Monitor(self.announced) as monitor:
            monitor.looked()
            os.rename(self.announced, self.path("away"))
            self.assertEqual(of(samples(monitor.looked()), "sonde_agent_running"), {(): 1})  # nobody says that it has ended
            os.rename(self.path("away"), self.announced)
            found = samples(monitor.looked())
            self.assertTrue(found["sonde_agent_operations_total"])
            self.assertEqual(of(found, "sonde_agent_running"), {(): 1})
            self.assertEqual(monitor.stop(), 0)
            self.assertLess(monitor.said.count("\n"), 4)


if __name__ == "__main__":
    cli.main()
