"""The command `sonde`: python3 -m sonde, and the script of that name."""
import os
import sys

from ._library import SondeError, command


def main() -> None:
    try:
        path = command()
    except SondeError as error:
        sys.exit(f"sonde: {error}")
    if sys.argv[1:2] == ["export"]:
        os.environ.setdefault("SONDE_EXPORT_PYTHON", sys.executable)  # which has this package
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
