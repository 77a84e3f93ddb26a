"""The calling context tree: nodes with metrics, as in Hatchet."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from ._table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


class Node:
    """A frame: `label` as reports call it, its columns of the table contexts as items (`node["inclusive_device_ns"]`)."""

    __slots__ = ("tree", "row", "parent", "children")

    def __init__(self, tree: Tree, row: int, parent: Optional[Node]) -> None:
        self.tree, self.row, self.parent = tree, row, parent
        self.children: list[Node] = []

    def __getitem__(self, column: str) -> Any:
        return self.tree._values(column)[self.row]

    @property
    def label(self) -> str:
        """What reports call it; the root is "all"."""
        return self["label"] or "all"

    def path(self) -> list[Node]:
        """From the outermost frame to this one, without the root."""
        nodes: list[Node] = []
        at: Optional[Node] = self
        while at is not None and at.parent is not None:
            nodes.append(at)
            at = at.parent
        return nodes[::-1]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, a caller before its callees."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def __repr__(self) -> str:
        return f"<sonde.Node {self.row} {self.label}>"


class Tree:
    """All call paths of a measurement. `root` is above all of them; `nodes[i]` is row i of `table`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._lists: dict[str, list[Any]] = {}
        self.nodes: list[Node] = []
        for row, parent in enumerate(self._values("parent")):
            above = self.nodes[parent] if row else None
            self.nodes.append(Node(self, row, above))
            if above is not None:
                above.children.append(self.nodes[-1])
        self.root = self.nodes[0]

    def _values(self, column: str) -> list[Any]:
        if column not in self._lists:
            self._lists[column] = self.table._column(column).python()
        return self._lists[column]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<sonde.Tree: {len(self.nodes):,} nodes>"

    def find(self, what: Callable[[Node], bool]) -> list[Node]:
        """Nodes for which it is true."""
        return [node for node in self.root.walk() if what(node)]

    def pandas(self) -> DataFrame:
        """The nodes as a data frame."""
        return self.table.pandas()

    def text(self, metric: str = "inclusive_device_ns", depth: Optional[int] = None, least: float = 0.01) -> str:
        """The tree, with each node's share of a metric; those below `least` of the whole are left out."""
        whole, lines = self.root[metric] or 0, []
        stack = [(self.root, 0)]
        while stack:
            node, level = stack.pop()
            share = (node[metric] or 0) / whole if whole else 0.0
            if share < least or (depth is not None and level > depth):
                continue
            lines.append(f"{100 * share:5.1f} %  {'  ' * level}{node.label}")
            stack.extend((child, level + 1) for child in sorted(node.children, key=lambda n: n[metric] or 0))
        return "\n".join(lines)

    def literal(self) -> list[dict[str, Any]]:
        """What hatchet.GraphFrame.from_literal takes: frames with `time` (device time) and `time (inc)`, in nanoseconds."""
        made: list[dict[str, Any]] = []
        for node in self.nodes:
            made.append({"frame": {"name": node.label, "type": node["kind"]},
                         "metrics": {"time": float(node["device_ns"]), "time (inc)": float(node["inclusive_device_ns"])}, "children": []})
            if node.parent is not None:
                made[node.parent.row]["children"].append(made[-1])
        return [made[0]]
