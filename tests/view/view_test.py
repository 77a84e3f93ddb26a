"""view_test.py - the server of `sonde view`: whom it answers, with what, and when it ends (docs/viewer.md)."""
import concurrent.futures
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import serving
from serving import ASK, LIMIT, environment
import asking
import cli
import scenes
import zoo

SYNTH = os.path.join(cli.BUILD, "tests", "sonde-synth")
SEAL = os.path.join(cli.BUILD, "tests", "sonde-test-seal")
MARKUP = "<script>alert(1)</script>"
ERROR = {"what", "where", "why", "hint", "option", "at", "more"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
ASSETS = {
    "index.html": ("text/html; charset=utf-8", b"<!doctype html><title>made</title>\n"),
    "viewer.js": ("text/javascript; charset=utf-8", b"export {};\n" * 20000),
    "viewer.css": ("text/css; charset=utf-8", b""),
    "worker.js": ("text/javascript; charset=utf-8", b"'\xc3\xa4';\n"),
    "sonde.wasm": ("application/wasm", b"\0asm\1\0\0\0" + bytes(range(256))),
}
NOBODY = 65534


def wait_until(condition):
    """Until it holds; AssertionError when it does not come to that."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("this takes too long")
        time.sleep(0.01)


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
    except ConnectionError:
        return True
    return False


class View(serving.Case):
    def demo(self):
        path = self.path("demo.sonde")
        return path if os.path.exists(path) else scenes.demo(self.folder)[0]

    def served(self, *args, **more):
        return self.serve(self.demo(), *args, **more)

    def tree(self, page=True):
        """A sonde of its own, with a page that was made up; beside the page lies what is nobody's business."""
        tree = self.path("tree")
        os.makedirs(os.path.join(tree, "bin"))
        program = shutil.copy(cli.SONDE, os.path.join(tree, "bin", "sonde"))
        if page:
            folder = os.path.join(tree, "share", "sonde", "viewer")
            os.makedirs(folder)
            for name, (_, data) in ASSETS.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(data)
            for path in (os.path.join(folder, "private.txt"), os.path.join(tree, "share", "sonde", "private.txt")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("PRIVATE")
        return program

    def refused(self, response, status=403):
        """A request about the measurement was refused, as docs/developers/requests.md has errors."""
        self.assertEqual((response.status, response.type), (status, "application/json"))
        value = json.loads(response.body)
        self.assertEqual((set(value), set(value["error"])), ({"error"}, ERROR))
        self.assertTrue(value["error"]["what"])

    # ---- what is printed ---------------------------------------------------------------------------------------------------

    def test_one_line_with_the_address(self):
        path = self.demo()
        first, second = self.serve(path), self.serve(path)
        self.assertNotEqual(first.token, second.token)
        for server in (first, second):
            self.assertEqual(server.ask("view/summary").status, 200)
            self.ends_well(server)

    def test_the_newest_measurement(self):
        self.demo()
        server = self.serve(cwd=self.folder)
        self.assertEqual(json.loads(server.ask("run").body)["path"], "demo.sonde")
        self.assertEqual((server.stop(), server.said), (0, "sonde: demo.sonde is the newest measurement here\n"))
        done = self.fails("view", "nothing-there")
        self.assertEqual(done.err, self.fails("report", "nothing-there").err)

    def test_what_cannot_be_opened(self):
        os.mkdir(self.path("empty.sonde"))
        self.assertEqual(serving.NOT_BUILT.sub("", cli.run("view", "empty.sonde", cwd=self.folder).err), self.fails("report", "empty.sonde").err)
        for words in (["--port", "0"], ["--port", "65536"], ["--port", "x"], ["--port"], ["--browser"], ["a", "b"]):
            self.fails("view", *words, status=2)

    def test_with_measurements_before(self):
        after, one, other = (os.path.join("runs", name) for name in ("after.sonde", "one.sonde", "other.sonde"))
        os.mkdir(self.path("runs"))
        shutil.copytree(self.demo(), self.path(after))
        for path in (one, other):
            shutil.copytree(self.path(after), self.path(path))
        server = self.serve(after, "--before", f"{one},{other}", cwd=self.folder)
        answer = server.ask("diff")
        self.assertEqual((answer.status, answer.body), (200, self.ok("diff", f"{one},{other}", after, "--json").out.encode()))
        self.ends_well(server)
        for before, said in ((f"{one},{one}", "twice"), (f"{one},", "empty name"), ("nothing-there", "nothing-there")):
            self.assertEqual(self.fails("view", after, "--before", before, "--no-browser").err, self.fails("diff", before, after).err)
            self.assertIn(said, self.fails("diff", before, after).err)
        self.assertIn("do not go together", self.fails("view", after, "--before", one, "--html", "x.html", status=2).err)
        self.assertFalse(os.path.exists(self.path("x.html")))

    # ---- who is answered ---------------------------------------------------------------------------------------------------

    def test_the_token(self):
        server = self.served()
        token, request = server.token, "/ask/view/summary"
        wrong = ["0" * len(token), token[:-1], token + "0", "", token[:-1] + ("0" if token[-1] != "0" else "1"), token.upper() + "A", "é" * 16]
        self.refused(server.request(request))
        for given in wrong:
            self.refused(server.request(request, headers=[("X-Sonde-Token", given)]))
        for pair in ([token, token], [token, wrong[0]], [wrong[0], token]):
            self.refused(server.request(request, headers=[("X-Sonde-Token", given) for given in pair]))
        for target in (f"{request}?token={token}", "/ask/", "/ask/run", "/ask/%"):
            self.refused(server.request(target))
        self.refused(server.request(request, headers=[("Cookie", f"X-Sonde-Token={token}"), ("Authorization", f"Bearer {token}")]))
        right = server.request(request, headers=[("x-sonde-TOKEN", token)])
        self.assertEqual(right.status, 200)
        self.ends_well(server)

    def test_the_name_of_the_server(self):
        server = self.served()
        port = server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}"):
            self.assertEqual(server.ask("run", host=host).status, 200, host)
        wrong = [f"evil.example:{port}", "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}0", f"127.0.0.1.evil.example:{port}",
                 f"0.0.0.0:{port}", f"[::1]:{port}", f"127.1:{port}", f"user@127.0.0.1:{port}", f"127.0.0.1:{port}/", f"localhost.:{port}", f":{port}", "x"]
        for host in wrong:
            self.refused(server.ask("run", host=host))
            self.assertEqual(server.request("/", host=host).status, 403, host)
        self.refused(server.ask("run", host=""))
        for host in ("evil.example", f"127.0.0.1:{port}"):
            self.refused(server.ask("run", headers=[("Host", host)]))  # a second one

    def test_the_page_that_asks(self):
        server = self.served()
        port = server.port
        for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            self.assertEqual(server.ask("run", headers=[("Origin", origin)]).status, 200, origin)
        for origin in ("null", "", "http://evil.example", f"http://evil.example:{port}", f"https://127.0.0.1:{port}", "http://127.0.0.1",
                       f"http://127.0.0.1:{port}.evil.example", f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"):
            answer = server.ask("run", headers=[("Origin", origin)])
            self.refused(answer)
            self.assertNotIn("access-control-allow-origin", answer.headers)
            self.assertEqual(server.request("/", headers=[("Origin", origin)]).status, 403, origin)
        self.refused(server.ask("run", headers=[("Origin", f"http://127.0.0.1:{port}"), ("Origin", "http://evil.example")]))

    def test_methods(self):
        server = self.served()
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "GETT", "G", "X" * 1000):
            for target in ("/", "/ask/run", "/nothing"):
                answer = server.request(target, method=method, token=True)
                self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD"), method)
        self.assertEqual(server.request("/ask/run", method="POST", token=True, body=b"x" * 1000).status, 405)
        whole = server.ask("view/summary")
        head = server.ask("view/summary", method="HEAD")
        self.assertEqual((head.status, head.type, head.body), (200, whole.type, b""))
        self.assertEqual(head.headers["content-length"], str(len(whole.body)))
        self.refused(server.request("/ask/run", headers=[], host="evil.example", method="GET"))
        self.assertEqual(server.send(f"GET /ask/run HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Sonde-Token: {server.token}\r\n"
                                     "Content-Length: 5\r\n\r\nhello".encode()), b"")  # a request has no body
        self.ends_well(server)

    def test_on_this_machine_only(self):
        server = self.served()
        sockets = set()
        for fd in os.scandir(f"/proc/{server.process.pid}/fd"):
            match = re.match(r"socket:\[(\d+)\]", os.readlink(fd.path))
            if match:
                sockets.add(match[1])
        listening = []
        for table in ("tcp", "tcp6", "udp", "udp6"):
            with open(f"/proc/{server.process.pid}/net/{table}", encoding="ascii") as file:
                listening += [(table, line.split()[1], line.split()[3]) for line in file.readlines()[1:] if line.split()[9] in sockets]
        self.assertEqual(listening, [("tcp", f"0100007F:{server.port:04X}", "0A")])  # 127.0.0.1, LISTEN

    # ---- what is answered --------------------------------------------------------------------------------------------------

    def same(self, server, requests):
        """The answers are those of a session without a server, byte for byte."""
        for request, alone in zip(requests, asking.ask(ASK, self.asked, requests)):
            answer = server.ask(request)
            self.assertEqual((answer.status, answer.type), (alone.status, alone.type), request)
            self.assertEqual(answer.body, alone.bytes, request)

    def all_requests(self, path):
        views = [view["name"] for view in asking.ask(ASK, path, ["views"])[0].json()]
        requests = ["views", "run", "run?x=1", "view/none", "view/kernels?limit=%", "", "/", "%00", "none", "view/%3Cscript%3E", "view//kernels",
                    "operation?lane=3&number=1", "operation?lane=3&number=100000", "find?text=s", "find?text=scale%3Cfloat%2C%204%3E", "find?text=caf%C3%A9",
                    "find?text=a+b", "find?text=a%2Bb", "timeline?lanes=0:1,0:2,0:3&pixels=50", "timeline?lanes=0:9999", "overview?pixels=20&exact",
                    "../../etc/passwd", "view/../run", "%2e%2e/run", "view/kernels#fragment", "view/kernels;x", "view/kernels?limit=3&limit=2"]
        for view in views:
            requests += [asking.request(view, options) for options in asking.ALWAYS + asking.ASKED.get(view, [])] + [f"text/{view}"]
        self.asked = path
        return requests

    def test_answers_are_the_sessions(self):
        for path in (self.demo(), scenes.annotated(self.folder)[0], scenes.sampled(self.folder)[0]):
            server = self.serve(path)
            self.same(server, self.all_requests(path))
            self.ends_well(server)

    def test_of_nothing(self):
        for animal in (zoo.no_process, zoo.nothing_in_it, zoo.calls_only, zoo.killed, zoo.bad_times):
            with self.subTest(animal=animal.__name__):
                path = animal(self.folder)
                server = self.serve(path)
                self.same(server, self.all_requests(path))
                self.ends_well(server)

    def test_the_longest_request(self):
        path = self.asked = self.demo()
        server = self.serve(path)
        self.same(server, ["find?text=" + "a" * (size - 10) for size in (100, 4096, 30000, 65535, 65536, 65537, 66000)])
        came = server.send(b"GET /ask/find?text=" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n")  # cut off, with or without a word
        self.assertTrue(came == b"" or came.startswith(b"HTTP/1.1 4"), came[:100])
        self.assertEqual(server.ask("run").status, 200)

    def test_a_connection_is_kept(self):
        server = self.served()
        request = f"GET /ask/run HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Sonde-Token: {server.token}\r\n"
        whole = server.ask("run").body
        data = server.send((request + "\r\n" + request + "\r\n" + request + "Connection: close\r\n\r\n").encode())
        self.assertEqual((data.count(b"HTTP/1.1 200 "), data.count(whole)), (3, 3))

    def test_names_are_text(self):
        p = zoo.program()
        at = p.start_ns + zoo.MS
        p.enqueue(p.main, p.queue_lane, "clEnqueueNDRangeKernel", p.code, "kernel", at, at + 500, at + 1000, at + 2000, name=MARKUP)
        server = self.serve(zoo.written(self.folder, "markup", p))
        answer = server.ask("view/kernels")
        self.assertEqual((answer.status, answer.type, answer.headers["x-content-type-options"]), (200, "application/json", "nosniff"))
        self.assertEqual([row["name"] for row in json.loads(answer.body)], [MARKUP])
        for request in ("view/%3Cscript%3Ealert(1)%3C/script%3E", "%3Cscript%3E", "<script>", "find?text=<script>"):
            answer = server.ask(request)
            self.assertEqual(answer.type, "application/json")
            json.loads(answer.body)
        for target in ("/<script>", "/%3Cscript%3E", "/?<script>"):
            self.assertNotIn(b"<script>", server.request(target).body)

    def test_headers_of_all_answers(self):
        server = self.serve(self.demo(), program=self.tree())
        answers = [server.request("/"), server.request("/viewer.js"), server.request("/nothing"), server.request("/ask/run"), server.ask("run"),
                   server.ask("none"), server.ask("view/kernels?x"), server.ask("overview"), server.request("/", method="POST"), server.request("/open/x"),
                   server.request("/", host="evil.example"), server.ask("run", method="HEAD")]
        self.assertEqual([answer.status for answer in answers], [200, 200, 404, 403, 200, 404, 400, 200, 405, 403, 403, 200])
        for answer in answers:
            self.assertEqual({name: answer.headers.get(name) for name in HEADERS}, HEADERS)
            self.assertTrue(answer.type)
            self.assertFalse({"access-control-allow-origin", "set-cookie", "server"} & set(answer.headers))

    # ---- the page ----------------------------------------------------------------------------------------------------------

    def test_the_files_of_the_page(self):
        server = self.serve(self.demo(), program=self.tree())
        for name, (kind, data) in ASSETS.items():
            for target in ["/" + name, f"/{name}?x=1"] + (["/", "/?x=1"] if name == "index.html" else []):
                answer = server.request(target)
                self.assertEqual((answer.status, answer.type, answer.body), (200, kind, data), target)
            head = server.request("/" + name, method="HEAD")
            self.assertEqual((head.status, head.headers["content-length"], head.body), (200, str(len(data)), b""))
        self.ends_well(server)
        self.assertEqual(server.all_said, "")

    def test_nothing_else(self):
        server = self.serve(self.demo(), program=self.tree())
        ups = ["..", "%2e%2e", "%2E%2E", ".%2e", "%252e%252e", "..%00", "..;", "....", "%c0%ae%c0%ae"]
        targets = [f"{start}{up}{slash}{name}" for up in ups for start, slash in (("/", "/"), ("/", "%2f"), ("/", "\\"), ("", "/"), ("//", "//"), ("/viewer.js/", "/"))
                   for name in ("private.txt", "viewer/index.html", "../../../../../../etc/passwd", "../bin/sonde")]
        targets += ["/private.txt", "/viewer%2ejs", "/viewer.js/", "/viewer.js%00", "/viewer.js%20", "/VIEWER.JS", "//viewer.js", "/./viewer.js", "/viewer.j", "/viewer.jss",
                    "/etc/passwd", "viewer.js", "*", "http://127.0.0.1/private.txt", "file:///etc/passwd", "/ask", "/ask%2frun", "/Ask/run", "/manifest.json", "/open", "/#", "/%"]
        for target in targets:
            answer = server.request(target)
            self.assertEqual((answer.status, answer.type), (404, "text/plain; charset=utf-8"), target)
            self.assertNotIn(b"PRIVATE", answer.body)
            self.assertLess(len(answer.body), 200)
        self.ends_well(server)

    def test_without_the_page(self):
        path = self.asked = self.demo()
        server = self.serve(path, program=self.tree(page=False))
        answer = server.request("/")
        self.assertEqual((answer.status, answer.type), (404, "text/plain; charset=utf-8"))
        self.assertIn(b"The viewer's page was not built; install Node.js", answer.body)
        self.same(server, ["run", "view/summary"])
        self.ends_well(server)
        self.assertRegex(server.all_said, serving.NOT_BUILT)

    def test_without_the_library(self):
        os.mkdir(self.path("libraries"))
        with open(self.path("libraries", "libmicrohttpd.so.12"), "w", encoding="ascii") as file:
            file.write("no library\n")
        done = self.fails("view", self.demo(), env={"LD_LIBRARY_PATH": self.path("libraries")})
        self.assertRegex(done.err, r"\Asonde: 'sonde view' needs libmicrohttpd: .+; install libmicrohttpd12\n\Z")

    # ---- the browser -------------------------------------------------------------------------------------------------------

    def browser(self, script):
        """An xdg-open of ours; what it was told is in the file `told`."""
        os.makedirs(self.path("programs"), exist_ok=True)
        with open(self.path("programs", "xdg-open"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" >{self.path('telling')}; mv {self.path('telling')} {self.path('told')}\n{script}\n")
        os.chmod(file.name, stat.S_IRWXU)
        return environment(PATH=self.path("programs") + ":" + os.environ["PATH"], DISPLAY=":0")

    def on_terminal(self, *args, env):
        """Its messages go to a terminal, which is not the one that controls it: the server, and the terminal's other end."""
        ours, its = os.openpty()
        self.addCleanup(os.close, ours)
        server = self.serve(self.demo(), *args, env=env, stderr=its)
        os.close(its)
        return server, ours

    def test_the_browser_gets_the_token_once(self):
        server, _ = self.on_terminal(env=self.browser("exit 0"))
        wait_until(lambda: os.path.exists(self.path("told")))
        with open(self.path("told"), encoding="utf-8") as file:
            count, url = file.read().splitlines()
        match = re.match(rf"\Ahttp://127\.0\.0\.1:{server.port}(/open/[0-9a-f]{{32,}})\Z", url)
        self.assertEqual(count, "1")
        self.assertTrue(match, url)
        self.assertNotIn(server.token, url)  # a command line is for everybody to read
        target = match[1]
        for other in (target[:-1], target + "0", target[:-1] + ("1" if target[-1] == "0" else "0"), "/open/", "/open/" + server.token):
            self.assertEqual(server.request(other).status, 403)
        self.assertEqual(server.request(target, method="HEAD").status, 404)
        self.assertEqual(server.request(target, host="evil.example").status, 403)
        if os.geteuid() == 0:
            self.assertEqual(self.as_nobody(server, target), 403)
        if self.has_ipv6():
            server.host = "::ffff:127.0.0.1"  # the same connection, made by a socket of IPv6
        answer = server.request(target)
        server.host = "127.0.0.1"
        self.assertEqual((answer.status, answer.headers["location"], answer.body), (303, f"/#token={server.token}", b""))
        self.assertEqual(server.request(target).status, 403)
        self.assertEqual(server.stop(), 0)

    @staticmethod
    def has_ipv6():
        try:
            socket.socket(socket.AF_INET6).close()
        except OSError:
            return False
        return True

    def as_nobody(self, server, target):
        """The status of a request that another user makes."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.write(writer, b"%d" % server.request(target).status)
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(pid, 0)
        with os.fdopen(reader, "rb") as file:
            return int(file.read() or 0)

    def test_no_browser(self):
        env = self.browser("exit 0")
        quiet = [self.on_terminal("--no-browser", env=env)[0], self.on_terminal(env={k: v for k, v in env.items() if k != "DISPLAY"})[0],
                 self.on_terminal(env={**env, "DISPLAY": ""})[0], self.serve(self.demo(), env=env)]
        for server in quiet:
            self.assertEqual(server.ask("run").status, 200)
            self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(self.path("told")))

    def test_a_browser_that_does_not_start_is_said(self):
        env = self.browser("exit 3")
        os.mkdir(self.path("nothing"))
        for more in (env, {**env, "PATH": self.path("nothing")}):
            server, terminal = self.on_terminal(env=more)
            line = serving.read_line(terminal)
            while "page was not built" in line:
                line = serving.read_line(terminal)
            self.assertRegex(line, r"\Asonde: no browser was opened: xdg-open.+; open the address in yours\r\n\Z")
            self.assertEqual(server.ask("run").status, 200)
            self.assertEqual(server.stop(), 0)

    # ---- ports, threads, connections ---------------------------------------------------------------------------------------

    def test_a_port_that_is_taken(self):
        path = self.demo()
        with socket.socket() as other:
            port = cli.free_port()
            other.bind(("127.0.0.1", port))
            other.listen()
            done = self.fails("view", path, "--port", port)
            self.assertEqual(done.err, f"sonde: cannot listen on 127.0.0.1:{port}: Address already in use; "
                                       "choose another --port, or leave it out for a free one\n")
        server = self.serve(path, "--port", port)
        self.assertEqual(server.port, port)
        self.assertEqual(server.ask("run").status, 200)
        self.ends_well(server)
        self.ends_well(self.serve(path, "--port", port))  # at once again

    def test_many_at_once(self):
        path = self.asked = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "20000", "--lanes", "40", "--threads", "8", "--processes", "2", "--cpu", "100", path], check=True,
                       stdout=subprocess.DEVNULL)
        server = self.serve(path)
        requests = ["view/summary", "text/lanes", "run", "view/statistics?depth=2", "timeline?lanes=0:1,0:2,1:3&pixels=300", "overview", "find?text=k", "none"]
        alone = {request: answer.bytes for request, answer in zip(requests, asking.ask(ASK, path, requests))}
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            for request, answer in zip(requests * 12, pool.map(server.ask, requests * 12)):
                self.assertEqual(self.without_header(answer.body), self.without_header(alone[request]), request)
        self.ends_well(server)

    @staticmethod
    def without_header(data):
        """Columns alone: the header of a time line says how much had to be read for it, too."""
        return data[16 + int.from_bytes(data[8:12], "little"):].lstrip(b" ") if data.startswith(b"SNDCOLS1") else data

    def test_many_connections(self):
        server = self.served()
        held = []
        for _ in range(100):  # which say nothing, or not all
            held.append(server.connect())
            if len(held) % 2:
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        self.assertEqual(server.ask("run").status, 200)
        for _ in range(180):  # more than it takes
            held.append(server.connect())
        for connection in held:
            connection.close()
        self.assertEqual(server.ask("run").status, 200)
        for _ in range(500):  # and go at once
            server.connect().close()
        self.assertEqual(server.ask("run").status, 200)
        self.ends_well(server)

    @staticmethod
    def answer_on(connection):
        """The next response on a connection that stays open."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        left = int(re.search(rb"(?i)^content-length: *(\d+)", data, re.M)[1]) - len(data.partition(b"\r\n\r\n")[2])
        while left > 0:
            left -= len(connection.recv(65536))
        return data

    def test_an_answer_that_takes_long_keeps_no_other_waiting(self):
        path = self.asked = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "300000", "--lanes", "40", "--threads", "8", path], check=True, stdout=subprocess.DEVNULL)
        server = self.serve(path)

        def ask_on(connection, request):
            connection.sendall(f"GET {request} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Sonde-Token: {server.token}\r\n\r\n".encode())

        for _ in range(5):  # others may use the machine: then the long one may be there first
            held = [server.connect() for _ in range(40)]
            for connection in held:  # each was taken by a thread
                ask_on(connection, "/")
                self.answer_on(connection)
            ask_on(held[0], "/ask/view/critical")
            time.sleep(0.1)
            for connection in held[1:]:
                ask_on(connection, "/ask/run")
            for connection in held[1:]:
                self.assertTrue(self.answer_on(connection).startswith(b"HTTP/1.1 200 "))
            came_later = not select.select([held[0]], [], [], 0)[0]
            self.assertTrue(self.answer_on(held[0]).startswith(b"HTTP/1.1 200 "))
            for connection in held:
                connection.close()
            if came_later:
                break
        else:
            self.fail("connections waited for the answer on another one")
        self.ends_well(server)

    # ---- damage ------------------------------------------------------------------------------------------------------------

    def test_a_damaged_measurement(self):
        path, processes = scenes.demo(self.folder)
        subprocess.run([SEAL] + [os.path.join(path, p.name) for p in processes], check=True)
        data = os.path.join(path, processes[0].name, "data.sonde")
        with open(data, "r+b") as file:
            file.truncate(os.path.getsize(data) // 2)
        self.asked = path
        server = self.serve(path)
        self.same(server, ["view/summary", "text/ledger", "run", "view/kernels"])
        self.assertGreater(json.loads(server.ask("view/ledger").body)["damaged_chunks"], 0)
        self.assertEqual(server.stop(), 0)
        self.assertRegex(server.said, r"\Asonde: \d+ damaged chunks? of \S+ (was|were) skipped; the rest is shown\n\Z")
        with open(os.path.join(path, "manifest.json"), "w", encoding="utf-8") as file:
            file.write("{")
        server = self.serve(path)
        self.same(server, ["view/summary", "run"])
        self.assertEqual(server.stop(), 0)
        self.assertRegex(server.said, r"\Asonde: \S+manifest\.json .+; command and settings are unknown, the rest is read\nsonde: \d+ damaged chunk.+\n\Z")

    # ---- the end -----------------------------------------------------------------------------------------------------------

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.served()
            with server.connect(), server.connect() as busy:
                busy.sendall(b"GET / HTTP/1.1\r\n")
                self.assertEqual(server.ask("run").status, 200)
                self.ends_well(server, number)
            self.assertTrue(refuses(server.port))

    def test_a_signal_while_it_answers(self):
        path = self.path("synth.sonde")
        subprocess.run([SYNTH, "--operations", "200000", "--lanes", "40", "--threads", "8", path], check=True, stdout=subprocess.DEVNULL)
        # An answer that takes longer is not waited for, and neither are its threads: to ThreadSanitizer they are leaks.
        env = environment(TSAN_OPTIONS="report_thread_leaks=0")
        for _ in range(3):
            server = self.serve(path, env=env)

            def keep_asking(server=server):
                try:
                    while server.ask("timeline?lanes=0:1,0:2,0:3,0:4,0:5&pixels=4000").status in (200, 503):
                        pass
                except (OSError, AssertionError, KeyError):
                    pass  # it has ended

            threads = [threading.Thread(target=keep_asking) for _ in range(8)]
            for thread in threads:
                thread.start()
            self.assertEqual(server.ask("run").status, 200)
            self.ends_well(server)
            for thread in threads:
                thread.join()

    def test_what_is_ignored_stays_ignored(self):
        def ignoring():
            serving.as_from_a_shell()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process = subprocess.Popen([cli.SONDE, "view", self.demo()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env=environment(), start_new_session=True, preexec_fn=ignoring)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = int(serving.ADDRESS.match(serving.read_line(process.stdout.fileno()))[1])
        process.send_signal(signal.SIGHUP)
        for _ in range(10):
            self.assertFalse(refuses(port))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT), 0)
        process.stdout.close()

    def in_terminal(self, argv):
        """(process, other end of its terminal, port of the sonde view that runs there)."""
        pid, fd = pty.fork()
        if pid == 0:
            serving.as_from_a_shell()
            os.execve(argv[0], argv, environment())
        line = serving.read_line(fd)
        while not line.startswith("http:"):
            line = serving.read_line(fd)
        match = re.match(r"http://127\.0\.0\.1:(\d+)/#token=[0-9a-f]{32,}   until Ctrl-C\r\n\Z", line)
        self.assertTrue(match, line)
        return pid, fd, int(match[1])

    def test_ctrl_c(self):
        pid, fd, _ = self.in_terminal([cli.SONDE, "view", self.demo()])
        os.write(fd, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(fd)

    def test_the_terminal_goes(self):
        pid, fd, _ = self.in_terminal([cli.SONDE, "view", self.demo()])
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_the_terminal_goes_and_nobody_says_so(self):
        """A job in the background: of a shell that ends without a word to it."""
        pid, fd, port = self.in_terminal(["/bin/sh", "-c", "set -m; \"$0\" view \"$1\" & wait", cli.SONDE, self.demo()])
        self.assertFalse(refuses(port))
        os.close(fd)
        os.waitpid(pid, 0)
        wait_until(lambda: refuses(port))


if __name__ == "__main__":
    cli.main()
