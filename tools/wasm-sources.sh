#!/bin/sh
# wasm-sources.sh FOLDER - brings the sources of the libraries that are within sonde.wasm into FOLDER: jansson, zstd, libiberty.
#
# apt knows from where it would take the package of a library; the library's source lies beside it. Nothing is installed, and
# apt's lists and settings stay as they are. A checksum pins each. Does nothing when FOLDER has them. The build runs it where
# it can compile for WebAssembly (cmake/wasm.cmake).
set -eu
folder=${1:?usage: tools/wasm-sources.sh FOLDER}
# name, a package that is made of it, the file, its SHA-256, what is needed of it
sources='jansson libjansson-dev jansson_2.14.orig.tar.gz c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b src LICENSE
zstd libzstd-dev libzstd_1.5.4+dfsg2.orig.tar.xz 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953 lib LICENSE
iberty libiberty-dev libiberty_20230104.orig.tar.xz f0c873589b983a2e82287d1beea3b230959803121ede290154d44008984013ef include libiberty'
stamp=$folder/.complete
helper=/usr/lib/apt/apt-helper

[ "$(cat "$stamp" 2>/dev/null)" = "$sources" ] && exit 0

[ -x "$helper" ] || { echo "wasm-sources: this system has no apt" >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/part.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '%s\n' "$sources" | while read -r name package file sum folders; do
    place=$(apt-get download --print-uris "$package" 2>/dev/null | sed -n "1s/^'\(.*\)\/[^\/]*' .*/\1/p")
    [ -n "$place" ] || { echo "wasm-sources: apt does not know $package (apt-get update?)" >&2; exit 1; }
    "$helper" download-file "$place/$file" "$work/$file" "SHA256:$sum" >/dev/null 2>"$work/said" || {
        echo "wasm-sources: cannot get $file: $(grep '^E:' "$work/said" | tail -1)" >&2
        exit 1
    }
    mkdir "$name"
    set --
    for needed in $folders; do
        set -- "$@" "*/$needed"
    done
    tar -xf "$file" --strip-components=1 -C "$name" --no-same-owner --no-wildcards-match-slash --wildcards --exclude='*/*/testsuite' "$@"
    rm -rf "../$name"
    mv "$name" "../$name"
done
# Its headers are installed in a folder of this name.
mkdir -p ../include
ln -sfn ../iberty/include ../include/libiberty
printf '%s' "$sources" >"../.complete"
