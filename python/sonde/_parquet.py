"""Tables as Parquet files, one for each process (a rank of a parallel job), by pyarrow."""
from __future__ import annotations

import os
import shutil
from typing import Any, Optional, Sequence, Union

from ._library import SondeError


def write(measurement: Any, folder: Union[str, os.PathLike], table: str, columns: Optional[Sequence[str]], force: bool, which: dict[str, Any]) -> list[str]:
    import pyarrow.parquet
    folder = os.fspath(folder)
    if os.path.lexists(folder) and not force:
        raise SondeError(f"{folder} already exists; write to another folder, or with force=True")
    part = f"{folder}.{os.getpid()}.part"
    names = measurement.processes()["process"].tolist() if table != "contexts" else ["contexts"]
    try:
        os.makedirs(part)
        for i, name in enumerate(names):
            process = {} if table == "contexts" else {"process": i}
            pyarrow.parquet.write_table(measurement.table(table, columns, **process, **which).arrow(), os.path.join(part, name + ".parquet"), compression="zstd")
        if os.path.lexists(folder):
            shutil.rmtree(folder)
        os.rename(part, folder)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError) and error.errno: # pyarrow's sentence says neither which file, nor anything plainly
            raise SondeError(f"cannot write {folder}: {os.strerror(error.errno)}") from error
        raise
    return [os.path.join(folder, name + ".parquet") for name in names]
