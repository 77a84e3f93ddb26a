"""Magic for notebooks: `%load_ext sonde`, then `%sonde run.sonde [VIEW] [OPTION...]` shows a report."""
from __future__ import annotations

import shlex
from typing import Any

from ._record import run


class Report:
    """Text of a report, which a notebook shows with a fixed pitch."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def sonde(line: str) -> Report:
    """%sonde MEASUREMENT [VIEW] [OPTION...]: what `sonde report` prints."""
    return Report(run("report", *shlex.split(line)))


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext sonde` calls: the magic `%sonde` is there from here on."""
    shell.register_magic_function(sonde, "line", "sonde")
