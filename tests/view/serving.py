"""serving.py - starts `sonde view` for tests, and speaks to it over plain sockets, without a library that would mend what is sent."""
import os
import re
import select
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("cli", "serve"):
    sys.path.insert(0, os.path.join(HERE, "..", name))
import cli  # noqa: E402

ASK = os.path.join(cli.BUILD, "tests", "sonde-ask")
LIMIT = 300  # seconds until something counts as hung
ADDRESS = re.compile(r"\Ahttp://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32,})\n\Z")
NOT_BUILT = re.compile(r"^sonde: the viewer's page was not built: .+\n", re.M)


def environment(**more):
    full = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_") and k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return {**full, "TERM": "dumb", "LC_ALL": "C.UTF-8", **more}


def as_from_a_shell():
    """Whoever runs the tests may ignore or block signals; a terminal's shell does not."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def read_line(file):
    """A line of a pipe or a terminal; AssertionError when none comes."""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([file], [], [], LIMIT)[0]:
            raise AssertionError(f"sonde view says nothing more than {line!r}")
        piece = os.read(file, 1)
        if not piece:
            raise AssertionError(f"sonde view ended after {line!r}")
        line += piece
    return line.decode()


class Response:
    def __init__(self, data, head=False):
        """`data` is all that came over a connection that was closed then."""
        self.data = data
        top, separator, self.body = data.partition(b"\r\n\r\n")
        lines = top.decode("latin-1").split("\r\n")
        if not separator or not re.match(r"HTTP/1\.[01] \d{3} ", lines[0] + " "):
            raise AssertionError(f"this is no response: {data[:200]!r}")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() in self.headers:
                raise AssertionError(f"{name} is there twice")
            self.headers[name.lower()] = value.strip()
        self.type = self.headers.get("content-type")
        if not head and int(self.headers["content-length"]) != len(self.body):
            raise AssertionError(f"{len(self.body)} bytes came, of {self.headers['content-length']}")


class Server:
    """A `sonde view` that runs. `program`: another sonde than the built one."""

    def __init__(self, *args, cwd=None, env=None, program=cli.SONDE, **more):
        self.process = subprocess.Popen([program, "view", *map(str, args)], cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=more.pop("stderr", subprocess.PIPE), start_new_session=True,
                                        preexec_fn=as_from_a_shell, **more)
        try:
            self.line = read_line(self.process.stdout.fileno())
        except AssertionError as error:
            self.process.kill()
            _, said = self.process.communicate()
            raise AssertionError(f"{error}; {(said or b'').decode(errors='replace')}") from None
        match = ADDRESS.match(self.line)
        if not match:
            self.process.kill()
            raise AssertionError(f"this is no address: {self.line!r}")
        self.port, self.token = int(match[1]), match[2]
        self.said = None
        self.host = "127.0.0.1"

    def stop(self, number=signal.SIGTERM):
        """Its status. What it said, without that the page was not built, is in `said`; what else it printed in `printed`."""
        if self.said is None:
            if number:
                self.process.send_signal(number)
            printed, said = self.process.communicate(timeout=LIMIT)
            self.printed = printed.decode()
            self.all_said = (said or b"").decode("utf-8", "replace")
            self.said = NOT_BUILT.sub("", self.all_said)
        return self.process.returncode

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=LIMIT)

    def send(self, data, half_close=False):
        """All that comes back for these bytes, until the server closes the connection."""
        came = []
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError, OSError):
                pass  # it closed before all was sent: what it said is still to be read
            try:
                while piece := connection.recv(65536):
                    came.append(piece)
            except ConnectionResetError:
                pass
        return b"".join(came)

    def request(self, target, method="GET", headers=(), host=None, token=False, body=b""):
        """A response. `headers` are (name, value); `token` adds the right one; `host` "" leaves the header out."""
        lines = [f"{method} {target} HTTP/1.1"]
        if host != "":
            lines.append(f"Host: {host or '127.0.0.1:%d' % self.port}")
        lines += [f"{name}: {value}" for name, value in headers]
        if token:
            lines.append(f"X-Sonde-Token: {self.token}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        text = "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogateescape")
        return Response(self.send(text + body), head=method == "HEAD")

    def ask(self, request, **more):
        return self.request("/ask/" + request, token=True, **more)


def why_not():
    """Why `sonde view` cannot serve here; None when it can."""
    done = cli.run("view", "--port", "1", "/", env={"LC_ALL": "C.UTF-8"})
    return done.err if "libmicrohttpd" in done.err else None


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        missing = why_not()
        if missing:
            self.skipTest(missing)

    def serve(self, *args, **more):
        server = Server(*args, **more)
        self.addCleanup(server.stop, signal.SIGKILL)
        return server

    def ends_well(self, server, number=signal.SIGTERM):
        self.assertEqual((server.stop(number), server.said, server.printed), (0, "", ""))
