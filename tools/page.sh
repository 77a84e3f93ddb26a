#!/bin/sh
# page.sh - builds the viewer's page (viewer/) in a folder of the build tree; nothing is written among the sources.
#
#   page.sh --packages DIR       brings Node (node.sh) and the packages of viewer/package-lock.json into DIR
#   page.sh --build DIR OUT      builds OUT/index.html, viewer.js, viewer.css, worker.js, and the licences of what is in them
#   page.sh --run DIR COMMAND... runs a command of the packages upon the sources as they were built last: tsc, vitest
#
# --packages does nothing when they are there. Where they cannot be had it says why in one line; DIR/packages.log has more.
set -eu
action=${1:?usage: tools/page.sh --packages|--build|--run DIR ...}
dir=$2
shift 2
sources=$(cd "$(dirname "$0")/../viewer" && pwd)
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
PATH=$dir/node/bin:$PATH

packages() {
    if ! "$tools/node.sh" "$dir/node" >"$dir/packages.log" 2>&1; then
        tail -n 1 "$dir/packages.log" >&2
        exit 1
    fi
    cmp -s "$sources/package-lock.json" "$dir/made-from" && exit 0
    rm -f "$dir/made-from"
    cp "$sources/package.json" "$sources/package-lock.json" "$sources/.npmrc" "$dir"
    [ -w "${HOME:-/nowhere}" ] || export HOME="$dir" npm_config_cache="$dir/npm-cache"
    # No package runs a script of its own; those that have one here do without.
    if ! (cd "$dir" && npm ci --include=dev --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 >>packages.log 2>&1); then
        echo "npm's packages could not be had ($dir/packages.log)" >&2
        exit 1
    fi
    cp "$sources/package-lock.json" "$dir/made-from"
}

# Vite says a lot about what goes well.
quietly() {
    "$@" >"$dir/build.log" 2>&1 || { cat "$dir/build.log" >&2; exit 1; }
}

# The licences ask to travel with the code.
licences() {
    node -e '
        const fs = require("fs");
        const { packages } = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
        for (const [path, about] of Object.entries(packages)) {
            if (!path || about.dev || about.optional || about.devOptional) continue;
            const text = fs.readdirSync(path).find((name) => /^licen[cs]e/i.test(name));
            if (!text) throw new Error(`${path} has no licence`);
            process.stdout.write(`${path.replace(/.*node_modules\//, "")} ${about.version}\n\n${fs.readFileSync(`${path}/${text}`, "utf8").trim()}\n\n\n`);
        }' >dist/LICENSES.txt
}

build() {
    out=$1
    rm -rf "$dir/src" "$dir/tests" "$dir/dist"
    cp -R "$sources/src" "$sources/index.html" "$sources/package.json" "$sources/tsconfig.json" "$sources"/*.ts "$dir"
    [ ! -d "$sources/tests" ] || cp -R "$sources/tests" "$dir"
    cd "$dir"
    export SONDE_VIEWER_OUT=dist
    quietly node_modules/.bin/vite build
    [ ! -f src/transport/worker.ts ] || quietly node_modules/.bin/vite build --config vite.worker.config.ts
    licences
    mkdir -p "$out"
    for file in dist/*; do
        cp "$file" "$out/.part"
        mv "$out/.part" "$out/$(basename "$file")"
    done
}

case $action in
--packages) packages ;;
--build) build "$1" ;;
--run)
    cd "$dir"
    command=$1
    shift
    exec "node_modules/.bin/$command" "$@"
    ;;
*) echo "page.sh: unknown action $action" >&2; exit 2 ;;
esac
