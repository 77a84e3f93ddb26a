#!/usr/bin/env python3
"""What 1,000 nodes with `sonde monitor` cost the Prometheus that scrapes them (docs/performance.md, "1,000 nodes").

    bench/nodes.py [--build DIR] [--nodes N] [--minutes M] [--interval SECONDS] [--out FILE]

A real monitor serves one node: eight programs with twenty kernels each, and NVML's and GPM's answers as they were recorded on a machine with two
H100s, told four times over for eight devices. Of what it served later ones are made, in which counters have grown and gauges changed,
and a server gives each of the N nodes the next one at each scrape. Prometheus is Debian's. Every node must be up, and what Prometheus has of a
program must be what that node served last, or before; then the queries of the dashboard are asked for the last minutes of all nodes.
"""
import argparse, asyncio, json, os, random, re, shutil, statistics, subprocess, sys, tempfile, threading, time, urllib.parse, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "tests")
KERNELS, PROGRAMS, DEVICES = 20, 8, 8
lines = []


def say(text=""):
    print(text, flush=True)
    lines.append(text)


def served_by_a_node(build, work):
    """What one monitor serves, in OpenMetrics."""
    os.environ["SONDE_BUILD"] = build
    sys.path[:0] = [os.path.join(TESTS, folder) for folder in ("cli", "monitor")]
    import gpus_test, live, monitoring
    announced, data, now = (os.path.join(work, name) for name in ("announced", "data", "now"))
    os.mkdir(announced, 0o700)
    held = []
    for number in range(PROGRAMS):
        p = live.Process(f"node-{1000 + number}-1", 1000 + number, start_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - 10**9, state=1)
        thread, queue = p.thread(p.pid), p.queue(p.device("NVIDIA H100 80GB HBM3"))
        code = p.node(0, p.frame(live.NATIVE, p.module("/opt/demo/bin/demo"), 0x1234))
        for i, name in enumerate(["read", "write"] + [f"_Z{len(f'kernel_{k}')}kernel_{k}PfS_i" for k in range(KERNELS)]):
            at, kernel = p.start_ns + 10**6 * (i + 1), name.startswith("_Z")
            p.enqueue(thread, queue, "clEnqueue", code, "kernel" if kernel else name, at, at + 10, at + 400, at + 90_000, name=name if kernel else "", size=0 if kernel else 4096)
        p.stop_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        p.write(announced)
        held.append(monitoring.lock(os.path.join(announced, p.name)))
    with open(data, "wb") as file:
        subprocess.run(["zstd", "-dc", gpus_test.DATA], check=True, stdout=file)
    with open(now, "w", encoding="utf-8"):
        pass
    env = {"SONDE_TEST_NVML": data, "SONDE_TEST_NVML_NOW": now, "LD_LIBRARY_PATH": gpus_test.STAND_IN}
    with monitoring.Monitor(announced, interval="1s", env=env) as monitor:
        text = monitoring.until(lambda: "sonde_gpm_sm_active_seconds_total{" in (now := monitor.looked()) and now, "values of devices")
    for file in held:
        file.close()
    return text


def eight_devices(text):
    """Of two devices of NVML more; samples of one family stay together."""
    out = []
    for line in text.splitlines():
        out.append(line)
        told = re.match(r'(sonde_(?:nvml|gpm)_\w+\{.*?device=")([01])(".*)', line)
        if told:
            out += [re.sub(r'uuid="[^"]*"', f'uuid="GPU-{device}"', f"{told[1]}{device}{told[3]}") for device in range(int(told[2]) + 2, DEVICES, 2)]
    return out


def generations(served, count, chance):
    """The same as it would be later: counters grow, by whole numbers where they are whole; gauges that are no words change by up to 2 %."""
    now = [(line, None) if line.startswith("#") else (line.rpartition(" ")[0], line.rpartition(" ")[2]) for line in served]
    values = [None if value is None else float(value) for _, value in now]
    made = []
    for _ in range(count):
        for i, (name, value) in enumerate(now):
            if value is None or re.match(r"\w+_(info|running|up)\b|\w+_created\b", name) or values[i] == 0:
                continue
            if re.match(r"\w+_total\b", name):
                grown = values[i] * chance.uniform(.001, .01)
                values[i] += grown if "." in value or "e" in value else max(1, round(grown))
            elif "." in value:
                values[i] *= chance.uniform(.98, 1.02)
        made.append("\n".join(name if value is None else f"{name} {value if values[i] == float(value) else repr(values[i]) if '.' in value or 'e' in value else int(values[i])}"
                              for i, (name, value) in enumerate(now)) + "\n")
    return made


class Nodes:
    """Answers /NUMBER/metrics with that node's next generation; `last` is what it answered."""

    def __init__(self, texts, nodes):
        self.bodies, self.last, self.answers = [text.encode() for text in texts], [-1] * nodes, 0
        self.loop, self.port = asyncio.new_event_loop(), 0
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready,), daemon=True).start()
        ready.wait()

    def run(self, ready):
        async def start():
            server = await asyncio.start_server(self.client, "127.0.0.1", 0, backlog=4096)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(start())
        self.loop.run_forever()

    async def client(self, reader, writer):
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                node = int(request.split(b"/")[1])
                self.last[node] = min(self.last[node] + 1, len(self.bodies) - 1)
                self.answers += 1
                body = self.bodies[self.last[node]]
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class Prometheus:
    def __init__(self, programs, work, port, nodes, interval):
        import prometheus_test
        self.at = f"127.0.0.1:{prometheus_test.free_port()}"
        targets = [{"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": f"/{node}/metrics", "instance": f"node{node}"}} for node in range(nodes)]
        configuration = {"global": {"scrape_interval": f"{interval}s"}, "scrape_configs": [
            {"job_name": "sonde", "static_configs": targets}, {"job_name": "itself", "static_configs": [{"targets": [self.at]}]}]}
        path = os.path.join(work, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(configuration, file)  # JSON is YAML
        self.log = open(os.path.join(work, "log"), "wb")
        self.process = subprocess.Popen([os.path.join(programs, "prometheus"), "--config.file", path, "--storage.tsdb.path", os.path.join(work, "tsdb"), "--web.listen-address", self.at],
                                        stdout=self.log, stderr=self.log)

    def ask(self, query, start=None, end=None, step=15):
        words = {"query": query} if start is None else {"query": query, "start": start, "end": end, "step": step}
        url = f"http://{self.at}/api/v1/query{'' if start is None else '_range'}?" + urllib.parse.urlencode(words)
        with urllib.request.urlopen(url, timeout=120) as answer:
            return json.load(answer)["data"]["result"]

    def own(self):
        """Its own figures: {name: value}, of series without labels."""
        with urllib.request.urlopen(f"http://{self.at}/metrics", timeout=60) as answer:
            return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", answer.read().decode(), re.M)}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def sums(text):
    """Operations of all programs of one node."""
    return sum(int(value) for value in re.findall(r"^sonde_agent_operations_total\{.*\} (\d+)$", text, re.M))


def measure(build, nodes, minutes, interval):
    work = tempfile.mkdtemp(prefix="bench-", dir=build)
    prometheus = None
    try:
        one = eight_devices(served_by_a_node(build, work))
        import installed_test, prometheus_test
        programs = prometheus_test.found()
        if not programs:
            sys.exit("bench/nodes.py: prometheus is missing, and apt-get cannot fetch it")
        texts = generations(one, int(minutes * 60 / interval) + 12, random.Random(1))
        series = sum(not line.startswith("#") for line in one)
        server = Nodes(texts, nodes)
        prometheus = Prometheus(programs, work, server.port, nodes, interval)
        deadline = time.monotonic() + 120
        while min(server.last) < 1:
            if time.monotonic() > deadline:
                sys.exit(f"bench/nodes.py: {server.last.count(-1)} nodes were not scraped in two minutes")
            time.sleep(1)
        before, begin, answers = prometheus.own(), time.monotonic(), server.answers
        time.sleep(minutes * 60)
        after, took = prometheus.own(), time.monotonic() - begin
        answered = server.answers - answers
        up = prometheus.ask('count(up{job="sonde"} == 1)')[0]["value"][1]
        totals = {row["metric"]["instance"]: int(float(row["value"][1])) for row in prometheus.ask("sum by (instance) (sonde_agent_operations_total)")}
        served = [sums(text) for text in texts]
        wrong = [node for node in range(nodes) if totals.get(f"node{node}") not in served[max(0, server.last[node] - 1):server.last[node] + 1]]
        cpu = after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]
        say(f"{nodes:,} nodes, {DEVICES} devices and {PROGRAMS} programs of {KERNELS} kernels each: {series:,} series and {len(texts[0]) / 1e3:.0f} kB a node, {series * nodes:,} series; each {interval} s, for {minutes:g} minutes")
        say(f"  up: {up} of {nodes:,}; operations of programs are those served: {nodes - len(wrong):,} of {nodes:,} nodes")
        say(f"  {answered / took:.1f} scrapes and {answered * series / took:,.0f} samples a second: {cpu / took:.2f} processors, "
            f"{cpu / answered * 1e3:.1f} ms a scrape; {after['process_resident_memory_bytes'] / 1e9:.2f} GB, {after['process_resident_memory_bytes'] / 1e6 / nodes:.2f} MB a node")
        queries = [query.replace("$__rate_interval", f"{4 * interval}s") for some in installed_test.queries().values() for query in some]
        for whose, instance in (("all nodes at once", ".+"), ("one node", "node7")):
            now, times = time.time(), []
            for query in queries:
                query, began = query.replace("$instance", instance), time.monotonic()
                prometheus.ask(query, now - 60 * minutes, now, interval)
                times.append((time.monotonic() - began, query))
            say(f"  {len(times)} queries of the dashboard for {whose}, one after the other: median {statistics.median(took for took, _ in times) * 1e3:.0f} ms, "
                f"slowest {max(times)[0] * 1e3:.0f} ms ({max(times)[1]})")
        return not wrong and int(up) == nodes
    finally:
        if prometheus:
            prometheus.stop()
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--interval", type=int, default=15)
    parser.add_argument("--out", help="also write the table to this file")
    args = parser.parse_args()
    good = measure(os.path.abspath(args.build), args.nodes, args.minutes, args.interval)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
