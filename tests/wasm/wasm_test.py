"""wasm_test.py - what a page answers by itself (docs/developers/viewer.md) is what `sonde view` answers; what is in a page's file, and
what is not when it is full."""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "serve")]
import asking  # noqa: E402
import cli  # noqa: E402
import live  # noqa: E402
import page  # noqa: E402
import scenes  # noqa: E402
import zoo  # noqa: E402

ASK, HTML, SYNTH = (os.path.join(cli.BUILD, "tests", name) for name in ("sonde-ask", "sonde-html", "sonde-synth"))
MARKUP = "</script><script>alert(1)</script>"
SCRIPT = 'const a = "</script>", b = "<!-- <script>", c = 1 < 2;'
STYLE = "a::after { content: '</style>' }"
PLAIN_JS = r'const a = "<\/script>", b = "\x3c!-- <script>", c = 1 < 2;'


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return bytes.fromhex(found.group(1)) if found else b""


class Wasm(cli.Case):
    def setUp(self):
        super().setUp()
        try:
            self.page = page.program(cli.BUILD)
        except page.Missing as missing:
            self.skipTest(str(missing))

    def same(self, path):
        self.assertEqual(list(page.differences(cli.BUILD, self.page, path)), [])

    def synth(self, *options):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, *map(str, options), path], check=True, stdout=subprocess.DEVNULL)
        return path

    def test_of_ranges_links_and_samples(self):
        for scene in (scenes.demo, scenes.annotated, scenes.sampled, scenes.profile_only):
            with self.subTest(scene=scene.__name__):
                self.same(scene(self.folder)[0])

    def test_of_odd_ones(self):
        for animal in zoo.ZOO:
            with self.subTest(animal=animal.__name__):
                self.same(animal(self.folder))

    def test_of_many_lanes_and_samples(self):
        self.same(self.synth("--operations", 20000, "--lanes", 40, "--threads", 8, "--processes", 2, "--cpu", 100, "--waits", 5))

    def test_of_names_that_are_no_text(self):
        p = zoo.program()
        for i, name in enumerate([MARKUP, b"caf\xe9 \xff\xfe", "a\x01\x1b[31m\x7fb\n", "k" * 5000, "_Z5scaleIfLi4EEvPT_PKc", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"]):
            at = p.start_ns + zoo.MS + 10000 * i
            p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at, at + 500, at + 1000, at + 2000, name=name)
        self.same(zoo.written(self.folder, "names", p))

    def test_paths_are_those_that_were_given(self):
        """In whatever way: the measurement from above, from within, a process alone."""
        path = scenes.demo(self.folder)[0]
        os.mkdir(self.path("other"))
        process = next(name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        for folder, given in ((self.folder, "demo.sonde"), (self.folder, "./demo.sonde//"), (path, "."), (self.path("other"), "../demo.sonde"),
                              (path, process), (self.folder, os.path.join("demo.sonde", process))):
            os.chdir(folder)
            with self.subTest(path=given):
                self.same(given)

    def test_files_without_symbols(self):
        """Of this machine: one that is stripped, one that has symbols for others of its frames, one that is not there."""
        p = zoo.program()
        for i, path in enumerate(map(os.path.realpath, ("/bin/sh", cli.SONDE, "/none/there"))):
            frame = p.frame(live.NATIVE, p.module(path, build_id(path)), 3 + i)
            at = p.start_ns + zoo.MS + 10000 * i
            p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.node(0, frame), "kernel", at, at + 500, at + 1000, at + 2000)
        path = zoo.written(self.folder, "stripped", p)
        said = asking.ask(ASK, path, ["view/summary"])[0].bytes
        for reason in (b"stripped", b"no symbol covers them", b"no such file"):
            self.assertIn(reason, said)
        self.same(path)

    def test_damaged_ones(self):
        whole = self.synth("--operations", 20000, "--lanes", 10)
        for offset in (100, 5000, 60000):
            path = self.path("damaged%d.sonde" % offset)
            shutil.copytree(whole, path)
            for process in (entry.path for entry in os.scandir(path) if entry.is_dir()):
                with open(os.path.join(process, "data.sonde"), "r+b") as file:
                    file.seek(offset)
                    file.write(b"\xaa" * 9)
            self.same(path)

    # ---- the HTML file -------------------------------------------------------------------------------------------------

    def write(self, path, *more, status=0, name="run.html"):
        done = subprocess.run([HTML, page.made(self.path("page"), SCRIPT, STYLE, b"not read"), path, self.path(name), *map(str, more)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return self.path(name) if status == 0 else done.stderr

    def text_of(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_the_page_is_one_text(self):
        p = zoo.program()
        p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", *(p.start_ns + zoo.MS + t for t in (0, 500, 1000, 2000)), name=MARKUP)
        text = self.text_of(self.write(zoo.written(self.folder, "markup", p)))
        self.assertNotIn("alert(1)", text)
        nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})' 'wasm-unsafe-eval'; style-src 'nonce-\1'", text).group(1)
        self.assertLess(text.index("Content-Security-Policy"), text.index("<script"))
        self.assertIn(f'<script type="module" nonce="{nonce}">{PLAIN_JS}</script>', text)
        self.assertIn(f'<script type="text/plain" id="sonde-worker">{PLAIN_JS}</script>', text)
        self.assertIn(f'<style nonce="{nonce}">{STYLE.replace("</", "<" + chr(92) + "/")}</style>', text)
        self.assertEqual(re.findall(r'(?:src|href)="[^"]*"', text), [])
        self.assertEqual(text.count("</body>"), 1)
        wasm = re.search(r'id="sonde-wasm">([!#-;=-}]*)</script>', text).group(1)
        self.assertEqual(page.decode(wasm), b"not read")

    def test_a_browser_opens_it_and_asks_nobody(self):
        built = os.path.join(cli.BUILD, "share", "sonde", "viewer")
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser or not os.path.exists(os.path.join(built, "index.html")):
            self.skipTest("the viewer's page was not built" if browser else "there is no Chromium")
        p = zoo.program()
        p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", *(p.start_ns + zoo.MS + t for t in (0, 500, 1000, 2000)), name=MARKUP)
        path, html = zoo.written(self.folder, "markup", p), self.path("markup.html")
        subprocess.run([HTML, built, path, html], check=True, stdout=subprocess.DEVNULL)
        node, place = page.node(cli.BUILD)
        done = subprocess.run([node, os.path.join(HERE, "browser.cjs"), browser, html], cwd=place, capture_output=True, text=True, timeout=300, check=False)
        if "Cannot find module 'playwright-core'" in done.stderr:
            self.skipTest("there is no playwright-core: npm ci in viewer/")
        seen = json.loads(done.stdout)
        self.assertEqual((seen["errors"], seen["dialogs"], seen["left"]), ([], [], 0))
        self.assertEqual({url.split(":")[0] for url in seen["requests"]}, {"file", "blob"})
        self.assertEqual([url for url in seen["requests"] if url.startswith("file")], ["file://" + html])
        self.assertIn("zoo", seen["title"])

    def test_the_container_is_as_the_page_says(self):
        path = scenes.demo(self.folder)[0]
        text = self.text_of(self.write(path))
        data = gzip.decompress(page.decode(re.search(r'id="sonde-measurement">([^<]*)<', text).group(1)))
        self.assertEqual(data[:8], b"SNDPACK1")
        count, length = struct.unpack_from("<II", data, 8)
        self.assertEqual(data[16:16 + length].decode(), path)
        at, files = 16 + (length + 7) // 8 * 8, {}
        for _ in range(count):
            length, size, stored, _disk = struct.unpack_from("<4Q", data, at)
            name = data[at + 32:at + 32 + length].decode()
            at += 32 + (length + 7) // 8 * 8
            files[name] = data[at:at + stored] + bytes(size - stored)
            at += (stored + 7) // 8 * 8
        self.assertEqual(at, len(data))
        there = {}
        for folder, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    there[os.path.relpath(os.path.join(folder, name), path)] = file.read()
        self.assertEqual(files.pop(".symbols").split(b"\n")[0].decode(), os.uname().nodename)
        self.assertEqual(files, there)

    def test_a_page_that_is_full_says_what_it_lacks(self):
        path = self.synth("--operations", 200000, "--lanes", 8)
        whole = os.path.getsize(self.write(path))
        data = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
        html = self.write(path, data // 2, name="half.html")
        self.assertLess(os.path.getsize(html), whole - data // 4)
        native, = asking.ask(ASK, path, ["view/ledger"])
        all_there, = asking.ask(ASK, path, ["view/kernels"])
        ledger, kernels, text, run = asking.ask(self.page, html, ["view/ledger", "view/kernels", "text/summary", "run"])
        self.assertEqual(kernels.bytes, all_there.bytes) # the profile has all of it
        before, after = native.json(), ledger.json()
        lacks = after["dropped_by_cause"]["page"]
        self.assertGreater(lacks, 0)
        self.assertEqual(after["trace_dropped"], before["trace_dropped"] + lacks)
        self.assertEqual(before["dropped_by_cause"]["page"], 0)
        self.assertEqual(after["damaged_chunks"], 0)
        rows = sum(lane["traces"].get("operations", {"rows": 0})["rows"] for process in run.json()["processes"] for lane in process["lanes"])
        self.assertEqual(rows + lacks, 200000)
        said = json.dumps(text.json())
        self.assertIn("missing from the trace: this page holds the beginning", said)

    def test_what_stays_is_the_beginning(self):
        path = self.synth("--operations", 200000, "--lanes", 8)
        data = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
        html = self.write(path, data // 2)
        lanes = [lane for process in asking.ask(self.page, html, ["run"])[0].json()["processes"] for lane in process["lanes"] if "operations" in lane["traces"]]
        asked = [f"operation?lane={lane['lane']}&number={number}" for lane in lanes for number in (0, lane["traces"]["operations"]["rows"] - 1)]
        for request, native, answer in zip(asked, asking.ask(ASK, path, asked), asking.ask(self.page, html, asked)):
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json()["start_ns"], native.json()["start_ns"], request)

    def test_files_are_not_overwritten(self):
        path = scenes.demo(self.folder)[0]
        self.write(path)
        self.assertIn("will not overwrite", self.write(path, status=1))
        self.write(path, "--force")
        self.assertIn("more than the limit", self.write(path, 1000, status=1, name="small.html"))
        self.assertEqual([name for name in os.listdir(self.folder) if "small" in name or "part" in name], [])
        os.remove(self.path("page", "viewer.js"))
        done = subprocess.run([HTML, self.path("page"), path, self.path("none.html")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("without the viewer", done.stderr)


if __name__ == "__main__":
    cli.main()
