"""asking.py - what tests ask of sonde-ask (ask.c), and whether a view that is requested is what `sonde report --json` prints."""
import json
import os
import subprocess
import urllib.parse

# Ways to ask a view for more: lists of (option, value), None where it takes none.
ALWAYS = [[], [("limit", "3")]]
ASKED = {
    "profile": [[("bottom-up", None)], [("bottom-up", None), ("min-percent", "5"), ("depth", "3")], [("by", "kernel")], [("by", "object")],
                [("top-down", None), ("by", "function")], [("metric", "sync,blame,ops")], [("depth", "2")], [("ids", None)],
                [("derive", "each=gpu/ops; twice = (each + each) * 1"), ("sort", "each:excl")], [("root", "#1")],
                [("root", "no such function")]],
    "statistics": [[("from", "10%"), ("to", "90%")], [("depth", "1")], [("lane", "queues")], [("lane", "no such lane")],
                   [("from", "1h"), ("to", "2h")]],
    "values": [[("threshold", "10")], [("mantissa", "3")], [("frequent", "10")], [("graph", None)], [("object", "a")], [("important", "bytes=1")], [("vertex", "1000000")]],
    "contexts": [[("min-percent", "5")]],
    "ranks": [[("metric", "gpu,blame")], [("metric", "api"), ("by", "function"), ("depth", "2"), ("limit", "3")], [("metric", "cpu_error")]],
    "blame": [[("min-percent", "10")], [("from", "10%"), ("to", "60%")], [("from", "60%")], [("to", "1ns")], [("from", "0ns"), ("to", "100%")],
              [("depth", "1")], [("depth", "2"), ("from", "25%"), ("to", "75%"), ("limit", "2")], [("from", "1h"), ("to", "2h")],
              [("from", "50%"), ("to", "50%")], [("to", "soon")]],
}


class Answer:
    def __init__(self, status, kind, data):
        self.status, self.type, self.bytes = status, kind, data

    def json(self):
        """It is JSON in well-formed UTF-8, without numbers that JSON has not."""
        def none(word):
            raise ValueError(word)
        return json.loads(self.bytes.decode("utf-8"), parse_constant=none)


def ask(program, path, requests, threads=None, before=()):
    """The answers, in the order of the requests, which are text or bytes. `program`: sonde-ask, or words that begin a command like it.
    `before`: measurements that it is compared with."""
    command = [program] if isinstance(program, str) else program
    encoded = [request if isinstance(request, bytes) else request.encode() for request in requests]
    text = b"".join(b"%d\n%s" % (len(request), request) for request in encoded)
    done = subprocess.run([*command, *(["-t", str(threads)] if threads else []), path, *before], input=text, capture_output=True, timeout=900, check=False)
    if done.returncode or done.stderr:
        raise AssertionError(f"sonde-ask: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    answers, at = [], 0
    while at < len(done.stdout):
        end = done.stdout.index(b"\n", at)
        status, kind, length = done.stdout[at:end].split()
        at = end + 1 + int(length)
        answers.append(Answer(int(status), kind.decode(), done.stdout[end + 1:at]))
    if len(answers) != len(requests):
        raise AssertionError(f"{len(requests)} requests, {len(answers)} answers")
    return answers


def request(view, options):
    pairs = [urllib.parse.quote(name) + ("" if value is None else "=" + urllib.parse.quote(value, safe="")) for name, value in options]
    return f"view/{view}" + ("?" + "&".join(pairs) if pairs else "")


def arguments(view, options):
    return [view, "--json", *(word for name, value in options for word in (["--" + name] if value is None else ["--" + name, value]))]


def differences(sonde, program, path, views=None, more=True, env=None):
    """A sentence for each view, and way to ask for it, that is answered in another way than `sonde report` does."""
    if views is None:
        views = [view["name"] for view in ask(program, path, ["views"])[0].json()]
    cases = [(view, options) for view in views for options in ALWAYS + (ASKED.get(view, []) if more else [])]
    answers = ask(program, path, [request(*case) for case in cases])
    for case, answer in zip(cases, answers):
        done = subprocess.run([sonde, "report", path, *arguments(*case)], capture_output=True, stdin=subprocess.DEVNULL, env=env, timeout=900, check=False)
        said = done.stderr.decode("utf-8", "replace")
        if done.stdout:
            if answer.status != 200 or answer.type != "application/json" or answer.bytes != done.stdout:
                yield f"{request(*case)}: {answer.status}, {first_difference(answer.bytes, done.stdout)}"
            continue
        error = answer.json().get("error", {})
        if answer.status not in (400, 404) or error["what"] not in said or (error["where"] or "") not in said or (error["why"] or "") not in said:
            yield f"{request(*case)}: {answer.status} {error}, where sonde report says: {said}"


def first_difference(a, b):
    at = len(os.path.commonprefix([a, b]))
    return f"differs at byte {at} of {len(b)}: {a[max(0, at - 40):at + 40]!r}, not {b[max(0, at - 40):at + 40]!r}"
