"""The command `sonde`: python3 -m sonde, and the script of that name."""
import os
import sys

from ._library import SondeError, command


def main() -> None:
    try:
        path = command()
    except SondeError as error:
        sys.exit(f"sonde: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
