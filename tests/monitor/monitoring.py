"""monitoring.py - starts `sonde monitor`, and reads what it serves with Prometheus's own parser."""
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None
try:
    import jsonschema
except ImportError:
    jsonschema = None
WHY = "prometheus-client is missing: no package index was there when the tests' virtual environment was made"
LIMIT = 300  # seconds until something counts as hung
NO_GPUS = re.compile(r"sonde: no NVIDIA device is watched: [^\n]*\n")  # on most machines that test
ADDRESS = re.compile(r"\Ahttp://[^/]+:\d+/metrics\n\Z")


def environment(**more):
    full = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    return {**full, "LC_ALL": "C.UTF-8", "TERM": "dumb", **more}


def until(holds, what):
    """What it returns, as soon as that is true."""
    end = time.monotonic() + LIMIT
    while not (answer := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"it never came: {what}")
        time.sleep(.02)
    return answer


class Monitor:
    """A `sonde monitor` that runs; with `with`, to its end."""

    def __init__(self, folder, *args, listen="127.0.0.1:0", interval="50ms", env={}):
        self.process = subprocess.Popen([cli.SONDE, "monitor", "--listen", listen, "--interval", interval, "--folder", folder, *args],
                                        env=environment(**env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready = select.select([self.process.stdout], [], [], LIMIT)[0]
        self.line = self.process.stdout.readline() if ready else ""
        if not ADDRESS.match(self.line):
            self.process.kill()
            raise AssertionError(f"sonde monitor printed {self.line!r}: {self.process.communicate()[1]}")
        self.url = self.line.strip()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self, number=signal.SIGTERM):
        """Its status; what it said is in `said`."""
        if self.process.returncode is None:
            self.process.send_signal(number)
            self.said = self.process.communicate(timeout=LIMIT)[1]
        return self.process.returncode

    def request(self, path="/metrics", method="GET", headers={}):
        request = urllib.request.Request(self.url.rsplit("/", 1)[0] + path, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def text(self):
        status, headers, body = self.request()
        assert status == 200 and headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"), headers
        return body.decode()

    def looks(self):
        return int(re.search(r"^sonde_monitor_looks_total (\d+)$", self.text(), re.M)[1])

    def looked(self, times=2):
        """The text after so many more looks."""
        wanted = self.looks() + times
        until(lambda: self.looks() >= wanted, f"{times} looks")
        return self.text()


def samples(text):
    """{name: {labels that tell it apart, sorted: value}}; the parser checks all of OpenMetrics."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            series = found.setdefault(sample.name, {})
            key = tuple(sorted(sample.labels.items()))
            assert key not in series, (sample.name, key)
            series[key] = sample.value
    return found


def of(found, name, *labels, **wanted):
    """{values of `labels`: value} of the samples with the wanted labels."""
    answer = {}
    for key, value in found.get(name, {}).items():
        own = dict(key)
        if all(own.get(k) == v for k, v in wanted.items()):
            words = tuple(own.get(label) for label in labels)
            assert words not in answer, (name, words)
            answer[words if len(words) > 1 else words[0] if words else ()] = value
    return answer


def top(folder, *args, **more):
    done = cli.run("top", "--once", "--json", "--interval", "100ms", "--folder", folder, *args, **more)
    assert done.returncode == 0, done.err
    said = json.loads(done.out)
    if jsonschema:
        with open(os.path.join(HERE, "../../docs/schema/top.json"), encoding="utf-8") as file:
            jsonschema.validate(said, json.load(file))
    return said


def lock(path):
    """As a program does that lives: until the file is closed."""
    file = open(os.path.join(path, "live.sonde"), "r+b")
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return file
