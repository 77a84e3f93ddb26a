"""What the runners of tests/guest, tests/real, tests/piglit and tests/kill share."""
import json
import os
import re
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "counting"))
import counts  # noqa: E402

SKIP = 77
PATIENCE = 600  # seconds until a run counts as hung: far more than a loaded machine needs


class Failure(Exception):
    """A test did not hold; the text says what was expected and what came."""


class Missing(Exception):
    """Something the test needs is not on this machine; the text says what."""


class Outcome:
    """How one run ended: status (negative: the signal), what it printed, what it left in its folder."""

    def __init__(self, status, out, err, files=None):
        self.status, self.out, self.err, self.files = status, out, err, files or {}


def add_arguments(parser):
    parser.add_argument("--sonde", default="", help="the command under test; without it only the programs are tried")
    parser.add_argument("--counting", required=True, help="the counting layer, libcounting.so")
    parser.add_argument("--work", required=True, help="folder to work in; made and emptied")
    parser.add_argument("--cache", required=True, help="PoCL's cache, shared by all tests")
    parser.add_argument("--runtime", help="an OpenCL runtime's library, in place of PoCL")


def environment(options, **more):
    """The environment of every run: the caller's, without what would disturb, with a warm PoCL cache."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "OPENCL_LAYERS", "LD_PRELOAD"))}
    os.makedirs(options.cache, exist_ok=True)
    env["POCL_CACHE_DIR"] = options.cache
    env["XDG_CACHE_HOME"] = os.path.join(options.cache, "xdg")
    env["LC_ALL"] = "C.UTF-8"
    env.pop("_", None)
    if options.runtime:
        env["OCL_ICD_VENDORS"] = named = os.path.join(os.path.abspath(options.work), "runtime.icd")
        os.makedirs(options.work, exist_ok=True)
        with open(f"{named}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.write(os.path.abspath(options.runtime) + "\n")
        os.replace(file.name, named)  # tests run at the same time
    env.update(more)
    return env


def describe(status):
    return f"signal {-status}" if status < 0 else f"status {status}"


def run(command, env, cwd=None, stdin=None, timeout=PATIENCE, closed=(), descendants=False):
    """Run to its end; `closed` names streams that are pipes nobody reads. With
    `descendants`, to the end of every process that came of it: an open pipe says so."""
    pipes, alive, token = {}, None, None
    if descendants:
        alive, token = os.pipe()
    for name in ("stdout", "stderr"):
        if name in closed:
            reader, writer = os.pipe()
            os.close(reader)
            pipes[name] = writer
        else:
            pipes[name] = subprocess.PIPE
    child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.PIPE, start_new_session=True,
                             restore_signals=True, pass_fds=(token,) if descendants else (), **pipes)
    for name in closed:
        os.close(pipes[name])
    if descendants:
        os.close(token)
    try:
        out, err = child.communicate((stdin or "").encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        raise Failure(f"did not end within {timeout} s: {' '.join(command)}\n{tail(out)}{tail(err)}") from None
    if descendants:
        ended = select.select([alive], [], [], timeout)[0]
        os.close(alive)
        if not ended:
            raise Failure(f"what {' '.join(command)} started did not end within {timeout} s")
    return Outcome(child.returncode, out or b"", without_compiler(err or b""))


def without_compiler(err):
    """PoCL's compiler counts its warnings there, where the processor lacks AVX-512; what is in the cache is not compiled again."""
    return re.sub(rb"(?m)^\d+ warnings? generated\.\n", b"", err)


def tail(data, lines=15):
    return "\n".join("    " + line for line in data.decode(errors="replace").splitlines()[-lines:]) + "\n"


def differing(name, plain, other):
    """A Failure that shows the first lines that differ, or None."""
    if plain == other:
        return None
    left, right = plain.decode(errors="replace").splitlines(), other.decode(errors="replace").splitlines()
    for number in range(max(len(left), len(right))):
        a = left[number] if number < len(left) else "(nothing)"
        b = right[number] if number < len(right) else "(nothing)"
        if a != b:
            return Failure(f"{name} differs at line {number + 1}:\n    without: {a[:300]}\n    with:    {b[:300]}")
    return Failure(f"{name} differs in line ends: {plain[-40:]!r} and {other[-40:]!r}")


def ledger(options, measurement, env):
    result = run([options.sonde, "report", measurement, "ledger", "--json"], env)
    if result.status != 0:
        raise Failure(f"report ledger gave {describe(result.status)}\n{tail(result.err)}")
    try:
        return json.loads(result.out)
    except ValueError as error:
        raise Failure(f"report ledger --json is no JSON: {error}\n{tail(result.out)}") from None


def number(value):
    """A count, or the sum of counts by cause."""
    return sum(number(v) for v in value.values()) if isinstance(value, dict) else int(value or 0)


def operations(book):
    """Operations by kind, zeros left out."""
    return {kind: number(value) for kind, value in book.get("operations", {}).items() if number(value)}


def check_counts(book, expected, unmatched_ok=False):
    """The ledger against an independent count: nothing more, nothing less, nothing lost."""
    found = operations(book)
    if found != expected:
        raise Failure(f"operations differ:\n    counted: {expected}\n    sonde:   {found}\n    ledger: {json.dumps(book)[:600]}")
    for key in ("dropped", "unmatched"):
        if number(book.get(key)) and not (key == "unmatched" and unmatched_ok):
            raise Failure(f"{key} is {book[key]}, not 0")
    if number(book.get("seen")) != sum(expected.values()):
        raise Failure(f"seen is {book.get('seen')}, not {sum(expected.values())}")


def check_late(book, expected):
    """As above, but what came after the final flush may be counted as lost instead."""
    lost = number(book.get("dropped_by_cause", {}).get("after_exit"))
    found = operations(book)
    if sum(found.values()) + lost != sum(expected.values()):
        raise Failure(f"{sum(expected.values())} operations; sonde has {found} and {lost} after the end")


def check_killed(book, expected):
    """As check_counts, but what was still in flight when the program was killed may lack its end."""
    found, flying = operations(book), number(book.get("in_flight"))
    if sum(found.values()) + flying != sum(expected.values()) or number(book.get("seen")) != sum(expected.values()):
        raise Failure(f"{sum(expected.values())} operations; sonde has {found}, {flying} in flight, {book.get('seen')} seen")
    for key in ("dropped", "unmatched"):
        if number(book.get(key)):
            raise Failure(f"{key} is {book[key]}, not 0")


def process_folders(measurement):
    """Folders of measured processes in a measurement."""
    if not os.path.isdir(measurement):
        return []
    return [entry for entry in sorted(os.listdir(measurement)) if os.path.isdir(os.path.join(measurement, entry))]


def device_or_skip(runtime=None):
    """Every one of these tests needs an OpenCL device."""
    if runtime and not os.path.exists(runtime):
        print(f"skipped: {runtime} is not there (tests/values/intel.sh)")
        sys.exit(SKIP)
    code = ("import ctypes,sys\nn=ctypes.c_uint(0)\n"
            "try: ctypes.CDLL('libOpenCL.so.1').clGetPlatformIDs(0,None,ctypes.byref(n))\n"
            "except OSError: pass\nsys.exit(0 if n.value else 1)")
    if subprocess.run([sys.executable, "-c", code], check=False).returncode:
        print("skipped: no OpenCL platform on this machine (package pocl-opencl-icd)")
        sys.exit(SKIP)
