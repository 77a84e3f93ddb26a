"""malformed_test.py - bytes that are no requests, or odd ones: `sonde view` lives on, and tells nothing of the measurement to who has no token."""
import random

import serving
import cli
import scenes

SEED = 20260412
WORDS = [b"GET", b"HEAD", b"POST", b" ", b"  ", b"\t", b"/", b"//", b"/ask/", b"/ask/view/summary", b"/viewer.js", b"/open/", b"?", b"&", b"=", b"%", b"%2", b"%00", b"%ff", b"#",
         b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b"\xff\xfe", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2", b"HTTP/9.9", b"HTTP/", b":", b"Host", b"Host: ", b"Origin: ",
         b"X-Sonde-Token: ", b"Content-Length: ", b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked",
         b"Transfer-Encoding: gzip, chunked", b"Expect: 100-continue", b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade", b"Upgrade: websocket",
         b"Cookie: a=b; c", b"Range: bytes=0-", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"5\r\nhello\r\n", b"..", b"*", b"http://evil.example/", b"a" * 300, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
         b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]


class Malformed(serving.Case):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.server = self.serve(scenes.demo(self.folder)[0])
        self.answers = {}

    def tearDown(self):
        """It still answers, and ends as ever."""
        if hasattr(self, "server"):
            self.alive()
            self.ends_well(self.server)
            print(self.id().rpartition(".")[2], dict(sorted(self.answers.items())))
        super().tearDown()

    def alive(self):
        answer = self.server.ask("view/summary")
        self.assertEqual(answer.status, 200)
        self.assertIn(b"alpha-4711-0", answer.body + self.server.ask("run").body)

    def feed(self, data):
        """Whatever comes back, it is responses of HTTP or nothing, and has nothing of the measurement."""
        came = self.server.send(data, half_close=True)
        if came:
            self.assertRegex(came[:20], rb"\AHTTP/1\.[01] \d{3} ")
        status = int(came[9:12]) if came else 0
        self.answers[status] = self.answers.get(status, 0) + 1
        if self.server.token.encode() not in data:
            for secret in (b"alpha-4711", b"vadd", b"Test GPU", self.server.token.encode()):
                self.assertNotIn(secret, came)

    def good(self, token=False):
        target = self.chance.choice(["/", "/viewer.js", "/ask/view/summary", "/ask/run", "/ask/find?text=a&limit=3", "/open/00", "/nothing"])
        lines = [f"{self.chance.choice(['GET', 'HEAD'])} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}", "Accept: */*"]
        if self.chance.random() < .5:
            lines.append(f"Origin: http://127.0.0.1:{self.server.port}")
        if token:
            lines.append(f"X-Sonde-Token: {self.server.token}")
        return "\r\n".join([*lines, "", ""]).encode()

    def changed(self, data):
        data, chance = bytearray(data), self.chance
        for _ in range(chance.randrange(1, 5)):
            at, how = chance.randrange(len(data) + 1), chance.randrange(5)
            if how == 0 and at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            elif how == 1:
                del data[at:at + chance.randrange(1, 20)]
            elif how == 2:
                data[at:at] = chance.choice(WORDS)
            elif how == 3:
                data[at:at] = data[at:at + chance.randrange(1, 60)]
            else:
                data[at:at] = chance.randbytes(chance.randrange(1, 10))
        return bytes(data)

    def test_random_bytes(self):
        for _ in range(1000):
            self.feed(self.chance.randbytes(self.chance.choice([1, 5, 50, 500, 5000])))

    def test_words_of_requests(self):
        for _ in range(2000):
            self.feed(b"".join(self.chance.choice(WORDS) for _ in range(self.chance.randrange(1, 25))) + self.chance.choice([b"", b"\r\n", b"\r\n\r\n"]))

    def test_requests_that_were_changed(self):
        for i in range(2000):
            self.feed(self.changed(self.good(token=i % 4 == 0)))
        self.assertLessEqual({200, 403, 404}, set(self.answers))  # not all were turned away at the door

    def test_several_in_one_connection(self):
        for _ in range(300):
            self.feed(b"".join(self.changed(self.good()) if self.chance.random() < .3 else self.good() for _ in range(self.chance.randrange(2, 8))))

    def test_huge_ones(self):
        host = b"Host: 127.0.0.1:%d\r\n" % self.server.port
        for size in (1000, 8000, 16000, 32767, 32768, 65536, 131072, 262143, 262144, 262145, 300000, 1 << 20, 5 << 20):
            long = b"a" * size
            for data in (long, b"GET /" + long, b"GET /" + long + b" HTTP/1.1\r\n" + host + b"\r\n", long + b" / HTTP/1.1\r\n" + host + b"\r\n",
                         b"GET / " + long + b"\r\n" + host + b"\r\n", b"GET / HTTP/1.1\r\n" + host + b"X: " + long + b"\r\n\r\n",
                         b"GET / HTTP/1.1\r\n" + host + long + b": x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: " + long + b"\r\n\r\n",
                         b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * (size // 6) + b"\r\n", b"GET / HTTP/1.1\r\n" + host + b"Host: x\r\n" * (size // 9) + b"\r\n",
                         b"GET /?" + b"a&" * (size // 2) + b" HTTP/1.1\r\n" + host + b"\r\n", b"GET /" + b"%41" * (size // 3) + b" HTTP/1.1\r\n" + host + b"\r\n",
                         b"GET / HTTP/1.1\r\n" + host + b" folded\r\n" * (size // 9) + b"\r\n", b"\r\n" * (size // 2) + b"GET / HTTP/1.1\r\n" + host + b"\r\n",
                         b"POST / HTTP/1.1\r\n" + host + b"Content-Length: %d\r\n\r\n" % size + long,
                         b"GET / HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % size + long + b"\r\n0\r\n\r\n"):
                self.feed(data)
        self.alive()

    def test_byte_by_byte(self):
        for _ in range(20):
            data = self.good(token=True)
            with self.server.connect() as connection:
                for i in range(len(data)):
                    connection.sendall(data[i:i + 1])
                self.assertRegex(connection.recv(20), rb"\AHTTP/1\.1 \d{3} ")


if __name__ == "__main__":
    cli.main()
