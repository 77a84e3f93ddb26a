#!/bin/sh
# run.sh - every Python test, for one version: against every interpreter of it that is found.
#
# usage: run.sh 3.12 BUILD_FOLDER SOURCE_FOLDER
# Looks in $SONDE_TEST_PYTHONS (paths, separated by spaces), BUILD_FOLDER/pythons
# (fetch.sh), pyenv's folder and PATH. Exits with 77 when there is none.
version=$1 build=$2 source=$3
here=$source/tests/unit/agent/stack/python
found=0 wrong=0 seen=
export PYTHONDONTWRITEBYTECODE=1

headers() { # compare the table of offsets with an interpreter's own headers
    include=$1
    [ -d "$include/internal" ] || { echo "note: no internal headers, so offsets are not compared"; return 0; }
    command -v cc >/dev/null || { echo "note: no compiler, so offsets are not compared"; return 0; }
    variants=plain
    case $version in 3.9|3.1[0-2]) ;; *) variants="plain free-threaded" ;; esac
    for variant in $variants; do
        flag=; [ $variant = plain ] || flag=-DPy_GIL_DISABLED
        scratch=$(mktemp)
        cc -w $flag -I"$source/src" -I"$include" -I"$include/internal" -I"${include%/*}" \
            "$here/offsets.c" "$source/src/agent/stack/python_layout.c" -o "$scratch" && "$scratch" || wrong=1
        rm -f "$scratch"
    done
}

try() {
    python=$1
    [ -x "$python" ] || return 0
    real=$("$python" -c 'import sys; print("%d.%d %s %s" % (sys.version_info[0], sys.version_info[1], sys.version.split()[0], sys.prefix))' 2>/dev/null)
    case $real in "$version "*) ;; *) return 0 ;; esac
    case "$seen" in *"|$real|"*) return 0 ;; esac
    seen="$seen|$real|" found=1
    echo "== $python"
    LD_PRELOAD="$build/libpython-counting.so" "$python" "$here/walk.py" "$build/libpython-walker.so" || wrong=1
    "$python" -W ignore "$here/lines.py" "$build/libpython-walker.so" $SONDE_TEST_LINES || wrong=1
    headers "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')"
    library=$("$python" -c 'import os, sysconfig as s; print(os.path.join(s.get_config_var("LIBDIR") or "", s.get_config_var("INSTSONAME") or ""))')
    home=$("$python" -c 'import sys; print(sys.base_prefix)')
    if [ -f "$library" ] && [ "${library%.a}" = "$library" ]; then
        PYTHONHOME=$home "$build/python-embed" "$library"
        case $? in 0|77) ;; *) wrong=1 ;; esac
    fi
}

for python in $SONDE_TEST_PYTHONS "$build/pythons/python$version" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python"$version"; do
    try "$python"
done
IFS=:
for folder in $PATH; do
    unset IFS
    try "$folder/python$version"
done
unset IFS
if [ $found = 0 ]; then
    echo "CPython $version: untested here, no interpreter was found"
    exit 77
fi
exit $wrong
