"""page.py - the HTML file of a measurement, and sonde.wasm asked through the page's own code, in Node.js: is each answer that of sonde-ask, byte for byte?"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
import asking  # noqa: E402

BUNDLE = ("require('esbuild').buildSync({entryPoints: [process.argv[1]], outfile: process.argv[2], bundle: true, platform: 'node', "
          "format: 'esm', target: 'node18'})")


INDEX = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<script type="module" crossorigin src="./viewer.js"></script>
<link rel="stylesheet" crossorigin href="./viewer.css">
</head>
<body><div id="page"></div>
</body>
</html>
"""


class Missing(Exception):
    """Why it cannot be asked here."""


def decode(text):
    """The bytes of a text (docs/developers/viewer.md, "Bytes as text"): 16 digits are 13 of them."""
    digits, data = [ord(c) - ord("#") for c in text.replace("!", "<")], bytearray()
    for part in (digits[i:i + 16] for i in range(0, len(digits), 16)):
        whole, bits = 0, 0
        for low, high in zip(part[::2], part[1::2]):
            whole, bits = whole | (low + 91 * high) << bits, bits + 13
        if len(part) % 2:
            whole, bits = whole | part[-1] << bits, bits + 6
        data += (whole & ((1 << (bits // 8 * 8)) - 1)).to_bytes(bits // 8, "little")
    return bytes(data)


def node(build):
    """Node.js, and a folder in which it finds the viewer's packages: those that the page was built with, else from viewer/ upwards."""
    built = os.path.join(build, "viewer")
    runs = os.path.join(built, "node", "bin", "node")
    place = built if os.path.isdir(os.path.join(built, "node_modules")) else os.path.join(ROOT, "viewer")
    return (runs if os.path.exists(runs) else "node"), place


def program(build):
    """The words that begin the command, as sonde-ask takes them (tests/wasm/ask.ts)."""
    wasm = os.path.join(build, "share", "sonde", "viewer", "sonde.wasm")
    bundle = os.path.join(build, "tests", "wasm-ask.mjs")
    if not os.path.exists(wasm):
        raise Missing("there is no sonde.wasm: this build lacks clang, lld or wasi-libc, or could not get the sources of its libraries")
    runs, place = node(build)
    part = f"{bundle}.{os.getpid()}"
    try:
        done = subprocess.run([runs, "-e", BUNDLE, os.path.join(HERE, "ask.ts"), part], cwd=place, capture_output=True, text=True, timeout=300, check=False)
    except FileNotFoundError as error:
        raise Missing("there is no Node.js") from error
    if "Cannot find module 'esbuild'" in done.stderr:
        raise Missing("there is no esbuild: npm ci in viewer/")
    if done.returncode:
        raise AssertionError(done.stderr)
    os.replace(part, bundle)
    return [runs, bundle, wasm]


def made(folder, script="", style="", wasm=b""):
    """A folder of the page's files, as the viewer's build makes them."""
    os.makedirs(folder, exist_ok=True)
    for name, data in (("index.html", INDEX), ("viewer.js", script), ("viewer.css", style), ("worker.js", script), ("sonde.wasm.gz", wasm)):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
    return folder


def requests(ask, path):
    """Every request, with options, about each view, lane and some operations of a measurement."""
    views, run = (json.loads(answer.bytes) for answer in asking.ask(ask, path, ["views", "run"]))
    lanes = [(process["process"], lane["lane"]) for process in run["processes"] for lane in process["lanes"]]
    names = [view["name"] for view in views]
    yield from ["views", "run", "nothing", "view/none", "find?text=e", "find?text=%3C", "missing", "overview", "overview?pixels=100&exact", "series", "series?pixels=50&exact",
                "next?text=k", "next?text=cl&back&at=1000000000000"]
    yield from (kind + name for name in names for kind in ("view/", "text/"))
    yield from (asking.request(name, options) for name in names for options in asking.ALWAYS + asking.ASKED.get(name, []))
    for part in (lanes[i:i + 64] for i in range(0, min(len(lanes), 256), 64)):
        listed = ",".join("%d:%d" % lane for lane in part)
        yield from (f"timeline?lanes={listed}" + more for more in ("&pixels=300", "&pixels=2000&depth=2", "&from=1000&to=900000000&exact"))
    yield from (f"{name}?process={process}&lane={lane}&number={number}" for name in ("operation", "dependencies") for process, lane in lanes[:64] for number in (0, 5))


def differences(build, page, path):
    """A sentence for each request that the measurement's HTML file answers in another way."""
    ask = os.path.join(build, "tests", "sonde-ask")
    asked = list(requests(ask, path))
    with tempfile.TemporaryDirectory() as folder:
        html = os.path.join(folder, "m.html")
        subprocess.run([os.path.join(build, "tests", "sonde-html"), made(os.path.join(folder, "page")), path, html], check=True, stdout=subprocess.DEVNULL)
        answers = asking.ask(page, html, asked)
    for request, native, answer in zip(asked, asking.ask(ask, path, asked), answers):
        if (native.status, native.type, native.bytes) != (answer.status, answer.type, answer.bytes):
            yield f"{request}: {answer.status} {answer.type}, {asking.first_difference(answer.bytes, native.bytes)}"
