#!/bin/sh
# setup.sh - installs what is missing of the packages in tools/packages.txt (Debian, Ubuntu).
#
#   tools/setup.sh build demo test     install what these groups lack
#   tools/setup.sh --check build       only say what is missing; status 1 when something is
#
# Does nothing, and is fast, when nothing is missing. Uses sudo when not root.
# A package of the groups `viewer` and `test` that cannot be had is only a warning: sonde
# is built without what needs it, and the tests that need it skip and say so.
set -eu
cd "$(dirname "$0")/.."

check=false
if [ "${1:-}" = --check ]; then
    check=true
    shift
fi
groups=${*:-build}

if ! command -v dpkg-query >/dev/null; then
    $check && exit 0 # another system: the build itself says what it lacks
    echo "setup: this is neither Debian nor Ubuntu; install by hand what tools/packages.txt lists" >&2
    exit 0
fi

# Lines of the wanted groups whose alternatives are all missing.
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii *//p')
missing=$(printf '%s\n' "$installed" | awk -v groups="$groups" '
    BEGIN { count = split(groups, list, " "); for (i = 1; i <= count; i++) wanted[list[i]] = 1 }
    FILENAME == "-" { have[$1] = 1; next }
    /^[ \t]*(#|$)/ { next }
    $1 in wanted {
        count = split($2, names, "|")
        for (i = 1; i <= count; i++) if (names[i] in have) next
        if (!seen[$2]++) print $1 " " $2
    }' - tools/packages.txt)
[ -n "$missing" ] || exit 0

if $check; then
    echo "setup: missing packages: $(printf '%s\n' "$missing" | awk '{printf "%s ", $2}')" >&2
    echo "setup: install them with: tools/setup.sh $groups" >&2
    exit 1
fi

root=
if [ "$(id -u)" != 0 ]; then
    root=sudo
    if ! command -v sudo >/dev/null; then
        echo "setup: packages are missing, and this is neither root nor is there sudo; as root run: tools/setup.sh $groups" >&2
        exit 1
    fi
fi

available() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# The first alternative that this system offers.
choose() {
    for name in $(printf '%s' "$1" | tr '|' ' '); do
        if available "$name"; then
            printf '%s\n' "$name"
            return 0
        fi
    done
    return 1
}

updated=false
update() {
    $updated && return 0
    updated=true
    echo "setup: apt-get update" >&2
    $root apt-get update -qq </dev/null >&2 || echo "setup: apt-get update failed; going on with the lists at hand" >&2
}

chosen=
status=0
while read -r group alternatives; do
    name=$(choose "$alternatives") || { update; name=$(choose "$alternatives") || name=; }
    if [ -n "$name" ]; then
        chosen="$chosen $name"
    elif [ "$group" = test ] || [ "$group" = viewer ]; then
        echo "setup: no package for '$alternatives' here; tests that need it will skip" >&2
    else
        echo "setup: no package for '$alternatives' here" >&2
        status=1
    fi
done <<LIST
$missing
LIST

install() {
    # shellcheck disable=SC2086 # a list of names
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

if [ -n "$chosen" ]; then
    echo "setup: installing$chosen" >&2
    # shellcheck disable=SC2086
    if ! install $chosen; then
        update
        # One that fails must not keep the others away.
        # shellcheck disable=SC2086
        install $chosen || for name in $chosen; do
            install "$name" || { echo "setup: cannot install $name" >&2; grep -Eq "^(viewer|test) .*$name" tools/packages.txt || status=1; }
        done
    fi
fi
exit $status
