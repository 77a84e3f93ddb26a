#!/bin/sh
# fetch.sh - an interpreter for the tests where the system has none of that version.
#
# usage: fetch.sh 3.14 SUITE FOLDER
# Unpacks Debian's packages of that suite, with the C library they want, below
# FOLDER, and makes FOLDER/python3.14; installs nothing. Exits with 77 when the
# version is there already, or cannot be had.
version=$1 suite=$2 folder=$3
skip() { echo "skipped: $*"; exit 77; }
[ -x "$folder/python$version" ] && skip "python$version was fetched before"
for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python"$version" /usr/bin/python"$version"; do
    [ -x "$python" ] && skip "python$version is here already"
done
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "apt-get and dpkg-deb are needed"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f $keyring ] || skip "Debian's keyring (debian-archive-keyring) is needed"

root=$folder/$version
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/debs"
echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main" >"$root/apt/sources.list"
: >"$root/apt/status"
deadline=$(($(date +%s) + 600)) # a slow archive is no failure either
apt() {
    left=$((deadline - $(date +%s)))
    [ "$left" -gt 0 ] || return 1
    timeout "$left" apt-get -q -o Dir::Etc::sourcelist="$root/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$root/apt/lists" -o Dir::State::status="$root/apt/status" \
        -o Dir::Cache="$root/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}
apt update >"$root/log" 2>&1 || skip "Debian's archive is not reachable"
cd "$root/debs" || exit 1
for package in libpython$version-minimal python$version-minimal libpython$version-stdlib libpython$version \
    libpython$version-dev python$version libc6 libexpat1 zlib1g libffi8 libssl3t64 libzstd1 libbz2-1.0 liblzma5 libgcc-s1; do
    apt download "$package" >>"$root/log" 2>&1
done
for package in *.deb; do
    [ -f "$package" ] && dpkg-deb -x "$package" "$root/tree"
done
rm -rf "$root/apt" "$root/debs"
libraries=$root/tree/usr/lib/x86_64-linux-gnu
loader=$libraries/ld-linux-x86-64.so.2
[ -e "$loader" ] || loader=$root/tree/lib64/ld-linux-x86-64.so.2
[ -e "$root/tree/usr/bin/python$version" ] && [ -e "$loader" ] || skip "Debian $suite has no python$version"
cat >"$folder/python$version" <<END
#!/bin/sh
PYTHONHOME='$root/tree/usr' exec '$loader' --library-path '$libraries' '$root/tree/usr/bin/python$version' "\$@"
END
chmod +x "$folder/python$version"
"$folder/python$version" -c 'import sys, ctypes; print("fetched CPython", sys.version.split()[0])' || skip "it does not run here"
