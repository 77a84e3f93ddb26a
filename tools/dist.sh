#!/bin/sh
# dist.sh [BUILD] - a tree that runs from any folder: BUILD/dist/sonde-VERSION-linux-x86_64.tar.gz.
#
# The libraries that `sonde` and libsonde need beyond the C library's own travel in
# lib/sonde/private, where their search paths ($ORIGIN/../lib/sonde/private) find
# them. The agent and the preload library need nothing but the C library.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
version=$("$build/bin/sonde" --version | awk '{print $2}')
name=sonde-$version-linux-$(uname -m)
stage=$build/dist/$name
rm -rf "$stage" "$stage.tar.gz"
cmake --install "$build" --prefix "$(cd "$build" && pwd)/dist/$name" >/dev/null
private=$stage/lib/sonde/private
mkdir -p "$private"

# `sonde view` loads this one, where it is there (src/cmds/view/http.h).
http=$(PATH=$PATH:/sbin ldconfig -p | awk '$1 == "libmicrohttpd.so.12" {print $NF; exit}')
if [ -n "$http" ]; then
    cp -L "$http" "$private/"
else
    echo "dist: libmicrohttpd is missing here: \`sonde view\` of this tree will need it installed" >&2
fi

# What belongs to the C library must come from the machine it runs on.
ldd "$stage/bin/sonde" "$stage/lib/libsonde.so.1" ${http:+"$http"} | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
    while read -r soname path; do
        case $soname in
        libc.so.*|libm.so.*|libdl.so.*|librt.so.*|libpthread.so.*|libresolv.so.*) ;;
        *) cp -L "$path" "$private/$soname" ;;
        esac
    done
for file in "$stage"/lib/sonde/*.so; do
    foreign=$(ldd "$file" | awk '$2 == "=>" {print $1}' | grep -Ev '^lib(c|m|dl|rt|pthread)\.so' || true)
    if [ -n "$foreign" ]; then
        echo "dist: $(basename "$file") needs $foreign, which the measured program may not have" >&2
        exit 1
    fi
done
find "$stage/bin" "$stage/lib" -type f \( -name '*.so*' -o -name sonde \) -exec strip --strip-debug {} +

needs=$(find "$stage/bin" "$stage/lib" -type f -exec objdump -T {} + 2>/dev/null |
    grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -1)
case $needs in
GLIBC_2.[0-9]|GLIBC_2.[12][0-9]|GLIBC_2.3[0-6]) ;;
*) echo "dist: this tree needs $needs; build on Debian 12 for glibc 2.36" >&2 ;;
esac
tar -C "$build/dist" --sort=name --owner=0 --group=0 --numeric-owner -czf "$stage.tar.gz" "$name"
echo "$stage.tar.gz ($(du -h "$stage.tar.gz" | cut -f1), needs $needs)"
