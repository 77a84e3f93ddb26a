#!/bin/sh
# ptxas.sh PIP DIR: NVIDIA's assembler of PTX and the disassembler of machine code into DIR, from their packages alone (without the compiler
# that the first would bring); once.
set -eu
pip=$1 dir=$2
[ ! -x "$dir/nvidia/cu13/bin/ptxas" ] || [ ! -x "$dir/nvidia/cu13/bin/nvdisasm" ] || exit 0
rm -rf "$dir"
if [ -x "$pip" ] && timeout 600 "$pip" install --quiet --disable-pip-version-check --no-deps --target "$dir" nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37; then
    exit 0
fi
rm -rf "$dir"
echo "skipped: no virtual environment, or no package index"
exit 77
