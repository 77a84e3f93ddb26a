"""Tables as data frames of Dask: a partition for each process (a rank of a parallel job), read by whichever worker works on it."""
from __future__ import annotations

import functools
import os
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from ._measurement import Measurement

if TYPE_CHECKING:
    import dask.dataframe
    import pandas


class Part(NamedTuple):
    path: str               #: absolute: a worker has a working directory of its own
    process: Optional[int]  #: None: the table is of all of them
    label: Optional[str]    #: of the column `measurement`


def plain(table: Any, label: Optional[str]) -> pandas.DataFrame:
    """Texts are texts here, not categories, which differ from one part to the next."""
    frame = table.pandas()
    for column in frame.columns[frame.dtypes == "category"]:
        frame[column] = frame[column].astype(object)
    if label is not None:
        frame.insert(0, "measurement", label)
    return frame


@functools.lru_cache(maxsize=1)
def _opened(path: str, frame: str) -> Measurement:
    """Parts of one measurement come one after the other: each worker opens it, and merges its call paths, once for a data frame."""
    return Measurement(path)


def _read(part: Part, name: str, which: dict[str, Any], frame: str) -> pandas.DataFrame:
    process = {} if part.process is None else {"process": part.process}
    return plain(_opened(part.path, frame).table(name, **{**which, **process}), part.label)


def _parts(measurement: Measurement, name: str, which: dict[str, Any], label: Optional[str]) -> list[Part]:
    path = os.path.abspath(measurement.path)
    if name == "contexts" or which.get("process") is not None:
        return [Part(path, which.get("process"), label)]
    return [Part(path, process, label) for process in range(len(measurement.processes()))]


def _columns(measurement: Measurement, name: str, which: dict[str, Any], label: Optional[str]) -> pandas.DataFrame:
    """Without rows: of a trace none is read."""
    timed = next((table.timed for table in measurement.tables() if table.name == name), False)
    if timed:
        which = {**which, "begin": -2**63, "end": -2**63 + 1}
    return plain(measurement.table(name, **which), label).iloc[:0]


def frame(paths: Sequence[str], name: str, which: dict[str, Any], labelled: bool) -> dask.dataframe.DataFrame:
    import dask.dataframe
    parts: list[Part] = []
    meta = None
    for path in paths:
        label = path if labelled else None
        with Measurement(path) as measurement:
            parts += _parts(measurement, name, which, label)
            meta = _columns(measurement, name, which, label) if meta is None else meta
    return dask.dataframe.from_map(_read, parts, name=name, which=which, frame=uuid.uuid4().hex, meta=meta, enforce_metadata=False)
