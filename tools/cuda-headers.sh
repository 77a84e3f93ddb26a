#!/bin/sh
# cuda-headers.sh FOLDER - brings the headers of CUDA, CUPTI and the Compute Sanitizer API into FOLDER/include.
#
# They come from the wheels that NVIDIA publishes on PyPI, in the versions below;
# nothing is installed, and nothing of them is linked or shipped. Does nothing
# when FOLDER has them. The build runs it where no CUDA toolkit is (cmake/cuda.cmake).
set -eu
folder=${1:?usage: tools/cuda-headers.sh FOLDER}
wheels='nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-nvml-dev==13.0.87 nvidia-nvtx==13.0.85 nvidia-cuda-sanitizer-api==13.0.85'
stamp=$folder/.complete

[ "$(cat "$stamp" 2>/dev/null)" = "$wheels" ] && exit 0

python=$(command -v python3) || { echo "cuda-headers: python3 is missing" >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/wheels.XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! "$python" -m pip --version >/dev/null 2>&1; then
    # Debian's python3 has no pip, but can make an environment that has.
    "$python" -m venv "$work/venv" >&2 || { echo "cuda-headers: python3 has neither pip nor venv (Debian: python3-pip)" >&2; exit 1; }
    python=$work/venv/bin/python
fi
# shellcheck disable=SC2086 # a list of names
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: -d "$work" $wheels >&2 || {
    echo "cuda-headers: NVIDIA's wheels could not be had from PyPI" >&2
    exit 1
}
"$python" - "$work" "$folder" <<'PYTHON'
"""Unpacks what lies in an include folder of each wheel into FOLDER/include; of the Sanitizer's, which has older copies of others' headers, its own."""
import os, pathlib, sys, zipfile

work, folder = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(work.glob("*.whl")):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            parts = pathlib.PurePosixPath(name).parts
            if "include" not in parts or name.endswith("/") or ".." in parts:
                continue
            if "sanitizer" in wheel.name and not parts[-1].startswith("sanitizer"):
                continue
            target = folder.joinpath(*parts[parts.index("include"):])
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.{os.getpid()}")
            part.write_bytes(z.read(name))
            os.replace(part, target)
PYTHON
for header in cuda.h cupti.h generated_cuda_meta.h nvml.h nvtx3/nvToolsExt.h cuda_occupancy.h sanitizer_patching.h; do
    [ -f "$folder/include/$header" ] || { echo "cuda-headers: the wheels have no $header" >&2; exit 1; }
done
printf '%s' "$wheels" >"$stamp"
