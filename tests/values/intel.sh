#!/bin/sh
# intel.sh PIP DIR: Intel's OpenCL runtime for CPUs into DIR, from its packages alone; once.
set -eu
pip=$1 dir=$2
[ ! -e "$dir/lib/libintelocl.so" ] || exit 0
rm -rf "$dir"
if [ "$(uname -m)" = x86_64 ] && [ -x "$pip" ] &&
    timeout 1200 "$pip" install --quiet --disable-pip-version-check --no-deps --ignore-installed --prefix "$dir" intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 \
        tbb==2023.2.0 tcmlib==1.6.0; then
    exit 0
fi
rm -rf "$dir"
echo "skipped: no x86-64, no virtual environment, or no package index"
exit 77
