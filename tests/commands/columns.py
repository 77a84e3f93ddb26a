"""What the columns of the views mean is said once, in src/views: help and docs/columns.md hold it, and docs/schema names the same.

UPDATE=1 writes docs/columns.md anew.
"""
import json
import os
import re
import unittest

from common import InFolder, SOURCE, main, run

PAGE = os.path.join(SOURCE, "docs", "columns.md")


def read_page(text):
    """view -> (whether JSON is one object, its first table, table -> [(title, name, what it is, meaning)])"""
    views = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        name, rest = part.split("\n", 1)
        tables = {}
        for piece in re.split(r"^### ", rest, flags=re.M)[1:]:
            head, rows = piece.split("\n", 1)
            cells = [[c.strip() for c in line.strip("|").split("|")] for line in rows.splitlines() if line.startswith("|")]
            tables[head.split(": ")[1]] = [(t, n.strip("`"), form, meaning) for t, n, form, meaning in cells[2:]]
        views[name] = ("JSON is one object." in rest, next(iter(tables)), tables)
    return views


class Columns(InFolder):
    def setUp(self):
        super().setUp()
        self.page = run("man", "--columns").stdout
        self.views = read_page(self.page)

    def test_page(self):
        if os.environ.get("UPDATE"):
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(self.page)
        with open(PAGE, encoding="utf-8") as file:
            self.assertEqual(file.read(), self.page, "docs/columns.md is not what `sonde man --columns` prints: UPDATE=1 writes it")

    def test_help(self):
        for view, (_, _, tables) in self.views.items():
            shown = run("report", "--help", view).stdout
            for line in shown.splitlines():
                self.assertLessEqual(len(line), 100)
            words = re.sub(r"\s+", " ", shown)
            for title, name, _, meaning in sum(tables.values(), []):
                self.assertIn(title, shown)
                self.assertIn(f"({name})" if name else title, shown)
                self.assertIn(meaning, words)
            self.assertEqual(run("report", view, "--help").stdout, shown)
            self.assertEqual(run("report", "heat", view, "-h").stdout, shown)
            self.assertEqual(run("help", "report", view).stdout, shown)
        self.assertEqual(run("help", "record", "kernels").returncode, 2)

    def check_schema(self, at, schema, root, tables, table):
        """The names of `table`, and what is in them, are those of the schema."""
        while "$ref" in schema:
            schema = root["$defs"][schema["$ref"].split("/")[-1]]
        if isinstance(schema.get("additionalProperties"), dict): # names that the user chooses
            return
        names = {name: form for _, name, form, _ in tables[table] if name}
        self.assertEqual(set(schema["properties"]), set(names), at)
        for name, form in names.items():
            inner = re.fullmatch(r"(object|list): `(\w+)`", form)
            if not inner:
                continue
            one = schema["properties"][name]
            for choice in one.get("anyOf", []):
                one = choice if "$ref" in choice or choice.get("type") in ("object", "array") else one
            one = one["items"] if inner[1] == "list" else one
            if at.count(".") < 6: # a tree holds itself
                self.check_schema(f"{at}.{name}", one, root, tables, inner[2])

    def test_schemas(self):
        for view, (single, first, tables) in self.views.items():
            with open(os.path.join(SOURCE, "docs", "schema", view + ".json"), encoding="utf-8") as file:
                schema = json.load(file)
            self.check_schema(view, schema if single else schema["items"], schema, tables, first)


if __name__ == "__main__":
    main()
