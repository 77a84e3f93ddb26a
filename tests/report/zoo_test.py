"""zoo_test.py - every view of `sonde report` on every odd measurement of tests/cli/zoo.py: it ends with 0 or 1,
never by a signal or a sanitizer, says one sentence where it fails, and prints JSON that is JSON.

The views are those that the summary names, so that a new one is looked at, too.
"""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli  # noqa: E402
import zoo  # noqa: E402

# Ways to ask a view for more, where it has options.
ASKED = {"profile": [["--bottom-up", "--limit", "3"], ["--by", "object"], ["-m", "sync,blame"]],
         "statistics": [["--depth", "1", "--from", "10%"]]}


def views():
    """What the last line of a summary names."""
    with tempfile.TemporaryDirectory() as folder:
        out = cli.run("report", zoo.plain(folder)).out
    return ["summary"] + re.sub(r"\s+", "", out[out.index("more:"):].split("plain.sonde")[1].split("note:")[0]).split("|")


VIEWS = views()


class Zoo(cli.Case):
    def look(self, path, view, *more):
        done = cli.run("report", path, view, *more, cwd=self.folder, timeout=300)
        said = done.out + done.err
        self.assertIn(done.returncode, (0, 1), said)
        self.assertNotIn("Sanitizer", said)
        self.assertNotIn("runtime error", said)
        none = re.search(r"(?m)(^|\s)(-?(nan|inf)|-\d\S*)(?!\w)", done.out)
        self.assertFalse(none, "no time, count or size: %s" % (none and none[0]))
        self.assertRegex(done.err, r"\A(sonde: .+\n)?\Z")
        self.assertEqual(bool(done.err), bool(done.returncode), said)
        return done

    def check_numbers(self, value, at):
        if isinstance(value, (dict, list)):
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                self.check_numbers(part, "%s.%s" % (at, key))
        elif isinstance(value, (int, float)):
            self.assertGreaterEqual(value, 0, at)

    def test_views_are_found(self):
        self.assertLessEqual({"summary", "profile", "lanes", "memory", "ledger"}, set(VIEWS))

    def each(self, animal):
        path = animal(self.folder)
        for view in VIEWS:
            with self.subTest(animal=animal.__name__, view=view):
                text = self.look(path, view)
                self.assertTrue(text.out or text.returncode, "nothing was said")
                if cli.SANITIZED == "thread":  # what is computed is the same below, by the same threads
                    continue
                value = self.look(path, view, "--json")
                self.assertEqual(text.returncode, value.returncode)
                if value.out:
                    self.check_numbers(json.loads(value.out, parse_constant=self.fail), view)
                for more in ASKED.get(view, []):
                    self.look(path, view, *more)


def one(animal):
    return lambda self: self.each(animal)


for each in zoo.ZOO:
    setattr(Zoo, "test_" + each.__name__, one(each))

cli.main()
