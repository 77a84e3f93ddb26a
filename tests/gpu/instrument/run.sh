#!/bin/sh
# run.sh REWRITE FOLDER: what the instrumented copies of kernels cost, on a machine with a GPU and nvcc; FOLDER is made anew.
# REWRITE: test-ptx-rewrite of the build (build/tests/).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rewrite=$(realpath "$1")
rm -rf "$2" && mkdir -p "$2" && cd "$2"
nvcc -ptx -arch=compute_90 -lineinfo -O3 "$here/kernels.cu" -o plain.ptx
"$rewrite" plain.ptx counts.ptx 1 > blocks.txt
"$rewrite" plain.ptx values.ptx 2 > blocks.txt
"$rewrite" plain.ptx both.ptx 3 > blocks.txt
"$rewrite" plain.ptx guesses.ptx 19 > blocks.txt
nvcc -O2 -std=c++17 "$here/cost.cu" -o cost -L"$(dirname "$(dirname "$(command -v nvcc)")")/lib64/stubs" -lcuda
./cost blocks.txt counts.ptx values.ptx both.ptx guesses.ptx
