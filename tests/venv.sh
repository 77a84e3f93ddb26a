#!/bin/sh
# venv.sh - the tests' Python packages, in a virtual environment of the build tree.
#
#   venv.sh --make DIR             make it, or bring it up to date with requirements.txt and the others
#   venv.sh --python DIR ARG...    run its python3, or the system's where it could not be made
#
# --make never fails the tests that depend on it: without a package index the
# tests that need a package skip themselves and say so.
set -u
here=$(cd "$(dirname "$0")" && pwd)
action=$1
dir=$2
shift 2

install() { # FILE [OPTION...]
    timeout 600 "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$here/$1" ${2:+"$2"}
}

wanted() {
    cat "$here/requirements.txt" "$here/requirements-readers.txt" "$here/requirements-alone.txt"
}

case $action in
--make)
    if wanted | cmp -s - "$dir/made-from"; then
        exit 0
    fi
    rm -rf "$dir"
    if python3 -m venv "$dir" && install requirements.txt; then
        install requirements-readers.txt || echo "requirements-readers.txt could not be installed: tests that need it skip themselves"
        install requirements-alone.txt --no-deps || echo "requirements-alone.txt could not be installed: tests that need it skip themselves"
        wanted >"$dir/made-from"
        exit 0
    fi
    rm -rf "$dir"
    echo "skipped: no virtual environment (python3-venv missing, or no package index)"
    exit 0
    ;;
--python)
    if [ -x "$dir/bin/python3" ]; then
        exec "$dir/bin/python3" "$@"
    fi
    exec python3 "$@"
    ;;
esac
echo "venv.sh: unknown action $action" >&2
exit 2
