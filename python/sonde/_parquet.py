"""Tables as Parquet, by pyarrow: of a parallel job a file for each rank, else one for each process.

The rank is a column, whose statistics let readers leave files out, and not a folder `rank=3`: Dask cannot read the one that Hive has for those
without a rank."""
from __future__ import annotations

import os
import shutil
from typing import Any, NamedTuple, Optional, Sequence, Union

from ._library import SondeError

class _File(NamedTuple):
    processes: list[Optional[int]]  #: whose rows it has; None: all of them
    job: bool                       #: with a column `rank`
    rank: Optional[int]


def _files(measurement: Any, table: str) -> dict[str, _File]:
    if table == "contexts":
        return {"contexts.parquet": _File([None], False, None)}
    processes = measurement.processes().rows()
    if all(process["rank"] is None for process in processes):
        return {process["process"] + ".parquet": _File([i], False, None) for i, process in enumerate(processes)}
    files: dict[str, _File] = {}
    for i, process in enumerate(processes):
        rank = process["rank"]
        files.setdefault("no-rank.parquet" if rank is None else f"rank-{rank}.parquet", _File([], True, rank)).processes.append(i)
    return files


def _write_file(path: str, file: _File, measurement: Any, table: str, columns: Optional[Sequence[str]], which: dict[str, Any]) -> None:
    """Process after process: the rows of one are in memory at a time."""
    import pyarrow
    import pyarrow.parquet
    writer = None
    try:
        for process in file.processes:
            rows = measurement.table(table, columns, process=process, **which).arrow()
            if file.job and "rank" not in rows.column_names:
                field = pyarrow.field("rank", pyarrow.int32(), metadata={"definition": "rank in the parallel job; null: the process has none"})
                rows = rows.add_column(0, field, pyarrow.repeat(pyarrow.scalar(file.rank, pyarrow.int32()), len(rows)))
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, rows.schema, compression="zstd")
            writer.write_table(rows)
    finally:
        if writer is not None:
            writer.close()


def write(measurement: Any, folder: Union[str, os.PathLike], table: str, columns: Optional[Sequence[str]], force: bool, which: dict[str, Any]) -> list[str]:
    """As Measurement.parquet() says it."""
    import pyarrow.parquet  # noqa: F401 (before anything is made)
    folder = os.fspath(folder)
    if os.path.lexists(folder) and not force:
        raise SondeError(f"{folder} already exists; write to another folder, or with force=True")
    part = f"{folder}.{os.getpid()}.part"
    files = _files(measurement, table)
    try:
        os.makedirs(part)
        for name, file in files.items():
            _write_file(os.path.join(part, name), file, measurement, table, columns, which)
        if os.path.lexists(folder):
            shutil.rmtree(folder)
        os.rename(part, folder)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError) and error.errno: # pyarrow's sentence says neither which file, nor anything plainly
            raise SondeError(f"cannot write {folder}: {os.strerror(error.errno)}") from error
        raise
    return [os.path.join(folder, name) for name in files]
