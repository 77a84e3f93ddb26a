#!/bin/sh
# demo.sh - records a real OpenCL program, prints its report, writes a Perfetto trace next to it.
set -eu
cd "$(dirname "$0")/.."
sonde=$PWD/build/bin/sonde
mkdir -p build/demo
cd build/demo

if command -v clpeak >/dev/null; then
    set -- clpeak --kernel-latency
else
    set -- ../bin/examples/heat 512 100
fi
name=$(basename "$1").sonde
say() { printf '\n$ %s\n' "$*"; }

say "sonde record --force -- $*"
"$sonde" record --force -- "$@"
say "sonde report $name"
"$sonde" report "$name"
say "sonde export $name --to perfetto -o ${name%.sonde}.perfetto-trace"
"$sonde" export "$name" --to perfetto -o "${name%.sonde}.perfetto-trace"
echo
echo "Here: build/demo/$name, and build/demo/${name%.sonde}.perfetto-trace for https://ui.perfetto.dev"
