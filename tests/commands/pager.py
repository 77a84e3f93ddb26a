"""A report on a terminal goes through the user's pager; colours as --color, NO_COLOR and the terminal say."""
import os
import pty
import select
import shutil
import sys
import time

from common import InFolder, SONDE, SOURCE, main, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import scenes  # noqa: E402

LIMIT = 120  # seconds until a command counts as hung


class Pager(InFolder):
    def setUp(self):
        super().setUp()
        scenes.demo(self.folder)

    def terminal(self, *args, keys="", **env):
        """What a terminal shows of `sonde ARGS`, and its status; `keys` are typed when something is shown."""
        pid, fd = pty.fork()
        if pid == 0:
            for name in ("NO_COLOR", "PAGER", "SONDE_PAGER", "LESS", "COLUMNS"):
                os.environ.pop(name, None)
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
            os.execv(SONDE, ["sonde", *args])
        text, deadline = "", time.monotonic() + LIMIT
        while True:
            if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
                os.kill(pid, 9)
                self.fail(f"it hangs: {text!r}")
            try:
                part = os.read(fd, 65536).decode("utf-8", "replace")
            except OSError:
                break
            if not part:
                break
            text += part
            if keys and "Kernel" in text:
                os.write(fd, keys.encode())
                keys = ""
        os.close(fd)
        return text.replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_the_users_pager(self):
        text, status = self.terminal("report", "demo", "kernels", PAGER="sed s/^/P:/", NO_COLOR="1")
        plain = self.terminal("report", "demo", "kernels", "--no-pager", NO_COLOR="1")[0]
        self.assertEqual((text, status), ("".join("P:" + line + "\n" for line in plain.splitlines()), 0))
        self.assertIn("vadd", plain)
        text, _ = self.terminal("report", "demo", "kernels", PAGER="false", SONDE_PAGER="sed s/^/S:/")
        self.assertTrue(text.startswith("S:"))
        self.assertEqual(self.terminal("report", "demo", "kernels", PAGER="cat", NO_COLOR="1")[0], plain)
        self.assertEqual(self.terminal("report", "demo", "kernels", PAGER="", NO_COLOR="1")[0], plain)
        self.assertEqual(self.terminal("report", "demo", "kernels", PAGER="sed s/^/P:/", TERM="dumb")[0], plain)

    def test_none_where_nobody_looks(self):
        plain = run("report", "demo", "kernels", env=dict(os.environ, PAGER="sed s/^/P:/"))
        self.assertNotIn("P:", plain.stdout)

    def test_a_pager_that_is_not_there(self):
        plain = self.terminal("report", "demo", "kernels", "--no-pager", NO_COLOR="1")[0]
        text, status = self.terminal("report", "demo", "kernels", PAGER="/no/such/pager", NO_COLOR="1")
        self.assertTrue(text.endswith(plain), text)
        self.assertEqual(status, 0)

    def test_the_status_stays(self):
        self.assertEqual(self.terminal("report", "demo", "kernels", PAGER="false")[1], 0)
        text, status = self.terminal("report", "nothing-there", PAGER="sed s/^/P:/")
        self.assertEqual((status, text.startswith("sonde: cannot read")), (1, True))

    def test_less_by_default(self):
        if not shutil.which("less"):
            self.skipTest("less is not installed")
        text, status = self.terminal("report", "demo", "kernels", LINES="100")
        self.assertEqual(status, 0)
        self.assertIn("vadd", text)
        self.assertIn("\033[1m", text)  # colours pass

    def test_colours(self):
        bold = "\033[1m"
        for args, env, wanted in (((), {}, True), ((), {"NO_COLOR": "1"}, False), ((), {"TERM": "dumb"}, False),
                                  (("--color", "never"), {}, False), (("--color=always",), {"NO_COLOR": "1", "TERM": "dumb"}, True)):
            text = self.terminal("report", "demo", "--no-pager", *args, **env)[0]
            self.assertEqual(bold in text, wanted, (args, env))
        self.assertNotIn(bold, run("report", "demo").stdout)
        self.assertIn(bold, run("report", "demo", "--color=always").stdout)
        self.assertNotIn(bold, run("report", "demo", "--json", "--color=always").stdout)
        self.assertIn("\033[", run("doctor", "--color=always").stdout)
        self.assertNotIn("\033[", run("doctor").stdout)


if __name__ == "__main__":
    main()
