#!/bin/sh
# dpnp.sh PIP DIR: NumPy's functions on SYCL (dpnp) with MKL and its runtime into DIR, from their packages alone; once. 600 MB to load, 1.3 GB then. Intel's OpenCL
# runtime is that of tests/values/intel.sh.
set -eu
pip=$1 dir=$2
[ ! -e "$dir/ready" ] || exit 0
rm -rf "$dir"
if [ "$(uname -m)" = x86_64 ] && [ -x "$pip" ] &&
    timeout 1200 "$pip" install --quiet --disable-pip-version-check --no-deps --no-compile --ignore-installed --prefix "$dir" dpnp==0.20.0 dpctl==0.22.1 numpy \
        intel-sycl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 intel-cmplr-lib-ur==2026.2.0 umf==1.2.0 tcmlib==1.6.0 tbb==2023.2.0 mkl==2026.2.0 \
        onemkl-sycl-blas==2026.2.0 onemkl-sycl-dft==2026.2.0 onemkl-sycl-lapack==2026.2.0 onemkl-sycl-rng==2026.2.0 onemkl-sycl-vm==2026.2.0; then
    find "$dir/lib" -maxdepth 1 -type f \( -name '*.bc' -o -name '*.o' -o -name 'libonnxruntime*' -o -name 'libsycl-jit*' -o -name 'libomptarget*' -o -name 'icx-lto*' \
        -o -name 'libur_sanitizer*' -o -name 'libmkl_*_thread.so*' ! -name 'libmkl_tbb_thread.so*' -o -name 'libmkl_mc3*' -o -name 'libmkl_blacs*' \
        -o -name 'libmkl_scalapack*' -o -name 'libmkl_*lp64*' ! -name 'libmkl_intel_ilp64*' \) -delete # what nothing of it loads
    touch "$dir/ready"
    exit 0
fi
rm -rf "$dir"
echo "skipped: no x86-64, no virtual environment, or no package index"
exit 77
