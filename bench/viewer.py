#!/usr/bin/env python3
"""How fast the viewer is, behind its server and as one file, and speedscope and the Firefox Profiler on the same data: docs/performance.md, "The viewer".

    bench/viewer.py [--build DIR] [--rounds N] [--large] [--firefox-profiler DIR] [--out FILE]

Measurements are made up by tests/synth as bench/analyze.py makes them: kernels, copies, API calls, call paths 24 deep, samples, waits. Chromium
opens each in a window of its own (bench/viewer.mjs), and moves in it as somebody would. --large adds 100 million operations on 1,000 queues
(two minutes to make, 1 GB of disk). Speedscope's page comes from npm's package, into BUILD/bench/peers. --firefox-profiler: the sources of
https://github.com/firefox-devtools/profiler, built there (`yarn install; yarn build-prod`).
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import analyze

SPEEDSCOPE = "speedscope@1.25.0"
SIZES = (10_000, 100_000, 1_000_000)
LARGE = 100_000_000
LANES = ["--lanes", "1000", "--threads", "16", "--devices", "8"]
FLAT_FROM = 1_000_000  # speedscope's files have no call paths from here on: with them they have 1.7 GB
lines = []


def say(text=""):
    print(text, flush=True)
    lines.append(text)


def spread(values, unit="ms"):
    """Median [least, most]; "-" where a page did not come to rest."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return "-"
    return f"{statistics.median(known):,.0f} [{min(known):,.0f}, {max(known):,.0f}] {unit}"


def frames(found):
    """95th percentiles, of CPU time with the tracing that tells it."""
    if not found["cpu"].get("count"):
        return "-"
    return f"CPU {found['cpu']['p95']:.1f}, main thread {found['main']['p95']:.1f}, interval {found['interval']['p95']:.1f} ms ({found['cpu']['count']:,} frames)"


class Viewer:
    def __init__(self, build, rounds, large, firefox=None):
        self.build, self.rounds, self.large, self.firefox = build, rounds, large, firefox
        self.node = f"{build}/viewer/node/bin/node"
        self.work = tempfile.mkdtemp(prefix="bench-", dir=build)

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def command(self, *command):
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"bench: {' '.join(map(str, command))} failed with status {done.returncode}: {done.stderr[-800:]}")
        return done.stdout

    def make(self, operations):
        path = f"{self.work}/{operations}.sonde"
        self.command(f"{self.build}/tests/sonde-synth", "--operations", operations, *LANES, *analyze.LIKE_A_PROGRAM, path)
        return path

    # ---- Sonde ---------------------------------------------------------------------

    def sonde(self, operations, path, *way):
        found = json.loads(self.command(self.node, f"{HERE}/viewer.mjs", "--build", self.build, "--rounds", self.rounds, *way, path))
        first, timeline = found["first"], found["timeline"]
        say(f"  {operations:>11,} operations, " + (f"one file, {found['bytes'] / 1e6:.1f} MB, written in {spread(first['started'])}" if way else
                                                   f"sonde view, which listens after {spread(first['started'] + timeline['started'])}"))
        say(f"      first page: first table {spread(first['drawn'])}, at rest {spread(first['opened'])}")
        say(f"      time line: lanes {spread(timeline['drawn'])}, at rest {spread(timeline['opened'])}")
        tiles = found["tiles"]
        say(f"      frames, 95 %: {frames(found)}" + (f"; a tile's answer {tiles['median']:.0f}, 95 % {tiles['p95']:.0f} ms" if tiles["count"] else ""))

    # ---- other viewers ----------------------------------------------------------------

    def other(self, viewer, page, file):
        found = json.loads(self.command(self.node, f"{HERE}/otherviewer.mjs", "--build", self.build, "--viewer", viewer, "--page", page, "--rounds", self.rounds, file))
        os.remove(file)
        return found

    def speedscope_page(self):
        """The folder of its built page; None, with the reason said, where it cannot be had."""
        place = f"{self.build}/bench/peers"
        page = f"{place}/node_modules/speedscope/dist/release"
        if not os.path.exists(f"{page}/index.html"):
            os.makedirs(place, exist_ok=True)
            done = subprocess.run([f"{self.build}/viewer/node/bin/npm", "install", "--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund", SPEEDSCOPE],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "PATH": f"{self.build}/viewer/node/bin:{os.environ['PATH']}"})
            if done.returncode:
                say(f"  speedscope: left out, npm has it not ({done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.returncode})")
                return None
        return page

    def speedscope(self, operations, path, page):
        flat = ["--flat"] if operations >= FLAT_FROM else []
        everything, file = f"{self.work}/export.json", f"{self.work}/{operations}.speedscope.json"
        self.command(f"{self.build}/bin/sonde", "export", "-q", "--force", path, "--to", "json", "-o", everything)
        about = json.loads(self.command(sys.executable, f"{HERE}/speedscope.py", everything, file, *flat))
        os.remove(everything)
        found = self.other("speedscope", page, file)
        say(f"  {operations:>11,} operations, speedscope {found['version']}, {found['bytes'] / 1e6:.1f} MB, {about['events']:,} events in {about['profiles']:,} profiles"
            f"{', calls without call paths' if flat else ''}: at rest {spread(found['opened'])}")
        say(f"      frames of one lane, 95 %: {frames(found)}" + (f"; {'; '.join(found['failed'])[:200]}" if found["failed"] else ""))

    def firefox_profiler(self, operations, path):
        """Of the trace events that the export `chrome` writes."""
        file = f"{self.work}/{operations}.chrome.json"
        self.command(f"{self.build}/bin/sonde", "export", "-q", "--force", path, "--to", "chrome", "-o", file)
        found = self.other("firefox", f"{self.firefox}/dist", file)
        say(f"  {operations:>11,} operations, Firefox Profiler, {found['bytes'] / 1e6:.1f} MB: at rest {spread(found['opened'])}")
        say(f"      frames of one thread's markers, 95 %: {frames(found)}" + (f"; {'; '.join(found['failed'])[:200]}" if found["failed"] else ""))

    # ---- all of it ------------------------------------------------------------------------

    def run(self):
        say(f"The viewer in Chromium, 1280 × 800, 1,000 queues and 16 threads: medians of {self.rounds} rounds [least, most]")
        page = self.speedscope_page()
        for operations in (*SIZES, *([LARGE] if self.large else [])):
            path = self.make(operations)
            self.sonde(operations, path)
            if operations <= max(SIZES):
                self.sonde(operations, path, "--html")
                if page:
                    self.speedscope(operations, path, page)
                if self.firefox:
                    self.firefox_profiler(operations, path)
            shutil.rmtree(path)
        if not self.large:
            say(f"  {LARGE:>11,} operations: left out, --large makes them")
        if not self.firefox:
            say("  Firefox Profiler: not measured, --firefox-profiler says where its built sources are")


def main():
    parser = argparse.ArgumentParser(description="how fast the viewer is")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="with 100 million operations")
    parser.add_argument("--firefox-profiler", metavar="DIR", help="also measure it: the folder of its built sources")
    parser.add_argument("--out", help="also write the table to this file")
    args = parser.parse_args()
    viewer = Viewer(os.path.abspath(args.build), args.rounds, args.large, args.firefox_profiler and os.path.abspath(args.firefox_profiler))
    try:
        viewer.run()
    finally:
        viewer.close()
    if args.out:
        with open(args.out, "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
