"""Recording a program from outside, and running other commands of sonde."""
from __future__ import annotations

import os
import subprocess
from typing import Any, Optional, Sequence, Union

from . import _library as c
from ._measurement import Measurement


def run(*words: str) -> str:
    """What a command of sonde prints; SondeError with what it says when it fails."""
    done = subprocess.run([c.command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        said = lines[-1] if lines else f"status {done.returncode}"
        raise c.SondeError(said[len("sonde: "):] if said.startswith("sonde: ") else said)
    return done.stdout


def record(command: Sequence[Union[str, os.PathLike]], output: Optional[Union[str, os.PathLike]] = None, *, check: bool = True,
           env: Optional[dict[str, str]] = None, cwd: Optional[Union[str, os.PathLike]] = None, **options: Any) -> Measurement:
    """Run a program under `sonde record` and open what was measured.

    output: the measurement's folder; else that of the command's name. options: those of `sonde record`, an underscore for each
    dash: `cpu=100`, `values=True`, `force=True`. check: CalledProcessError when the program fails, after it was recorded; without
    it, what was recorded is opened all the same.
    """
    words = [os.fspath(word) for word in command]
    if isinstance(command, (str, bytes)) or not words:
        raise TypeError("command is a sequence: the program, then its arguments")
    folder = os.fspath(output) if output is not None else os.path.basename(words[0]) + ".sonde"
    line = [c.command(), "record", "--quiet", "--output", os.path.abspath(folder)]
    for key, value in options.items():
        option = "--" + key.rstrip("_").replace("_", "-")
        line += [] if value is None or value is False else [option] if value is True else [f"{option}={value}"]
    done = subprocess.run([*line, "--", *words], env=env, cwd=cwd, check=False)
    if done.returncode and not os.path.isdir(folder):
        raise c.SondeError(f"nothing was recorded: sonde record ended with status {done.returncode} after the message that it printed")
    if done.returncode and check:
        raise subprocess.CalledProcessError(done.returncode, words)
    return Measurement(folder)
