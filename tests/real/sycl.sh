#!/bin/sh
# sycl.sh PIP DIR: SYCL for Python (dpctl) with its runtime into DIR, from their packages alone; once. Intel's OpenCL runtime is that of tests/values/intel.sh.
set -eu
pip=$1 dir=$2
[ ! -e "$dir/ready" ] || exit 0
rm -rf "$dir"
if [ "$(uname -m)" = x86_64 ] && [ -x "$pip" ] &&
    timeout 1200 "$pip" install --quiet --disable-pip-version-check --no-deps --ignore-installed --prefix "$dir" dpctl==0.21.1 numpy intel-sycl-rt==2025.3.3 \
        intel-cmplr-lib-rt==2025.3.3 intel-cmplr-lib-ur==2025.3.3 umf==1.0.3 tcmlib==1.6.0; then
    find "$dir/lib" -maxdepth 1 -type f \( -name '*.bc' -o -name '*.o' -o -name 'libonnxruntime*' -o -name 'libsycl-jit*' \) -delete # most of its size
    touch "$dir/ready"
    exit 0
fi
rm -rf "$dir"
echo "skipped: no x86-64, no virtual environment, or no package index"
exit 77
