#!/bin/sh
# check.sh - every test: the release build's, then those labelled `sanitize` under
# AddressSanitizer and ThreadSanitizer, and those labelled `address`, which start no threads, under the first
# alone. The last line sums up, in ctest's words.
#
#   tools/check.sh          what `make check` runs
#   tools/check.sh -C all   also the long tests
#
# JOBS sets how many compilers run at once; of tests, most of which wait now and then, three times as many do.
set -u
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
at_once=$((3 * jobs))
logs=build/check
mkdir -p "$logs" || exit 1
total=0 failed=0 broken=0

# run NAME FOLDER [ctest option...]
run() {
    name=$1 folder=$2
    shift 2
    echo "== $name"
    ctest --test-dir "$folder" --output-on-failure --no-tests=ignore -j "$at_once" "$@" 2>&1 | tee "$logs/$name.log"
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$logs/$name.log" | tail -1)
    if [ -n "$line" ]; then
        failed=$((failed + $(printf '%s' "$line" | sed 's/.*, \([0-9]*\) tests\{0,1\} failed.*/\1/')))
        total=$((total + ${line##*out of }))
    elif ! grep -q 'No tests were found' "$logs/$name.log"; then
        echo "check: ctest did not finish in $folder" >&2
        broken=$((broken + 1))
    fi
}

# build PRESET: one failed build counts as one failed test.
build() {
    if cmake --preset "$1" -DBUILD_TESTING=ON >"$logs/$1-configure.log" 2>&1 && cmake --build --preset "$1" -j "$jobs" >"$logs/$1-build.log" 2>&1; then
        return 0
    fi
    cat "$logs/$1-configure.log" "$logs/$1-build.log" 2>/dev/null | tail -40
    echo "check: the $1 build failed" >&2
    broken=$((broken + 1))
    return 1
}

build release && run release build "$@"
build asan && run asan build-asan -L "sanitize|address" "$@"
build tsan && run tsan build-tsan -L sanitize "$@"

total=$((total + broken))
failed=$((failed + broken))
[ "$total" -gt 0 ] || { echo "check: no test was found" >&2; exit 1; }
skipped=$(cat "$logs"/release.log "$logs"/asan.log "$logs"/tsan.log 2>/dev/null | grep -c '\*\*\*Skipped')
echo
if [ "$skipped" != 0 ]; then
    echo "$skipped skipped; the reasons are in Testing/Temporary/LastTest.log of each build:"
    cat "$logs"/release.log "$logs"/asan.log "$logs"/tsan.log 2>/dev/null | sed -n 's/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/  \1/p'
fi
echo "$(((total - failed) * 100 / total))% tests passed, $failed tests failed out of $total"
[ "$failed" = 0 ]
