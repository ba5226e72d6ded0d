#!/usr/bin/env bash
# Builds the committed tree twice, in two clones in folders of different names, and compares all files byte by byte.
#
# Environment: TARGETS, as for scripts/dist.sh; default x86-64 alone.
set -euo pipefail

cd "$(dirname "$0")/.."
export TARGETS=${TARGETS:-$(uname -m)-unknown-linux-musl}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checkout=$(pwd)

# build FOLDER: a clone has nothing that is not committed; the tools are large and the same.
build() {
    git clone --quiet --no-hardlinks "$checkout" "$1"
    mkdir "$1/.tools"
    cp -r .tools/zig "$1/.tools"
    "$1/scripts/dist.sh" >"$scratch/log" 2>&1 || {
        tail -n 20 "$scratch/log" >&2
        exit 1
    }
    mv "$1/dist" "$scratch/dist-$(basename "$1")"
    rm -rf "$1"
}

scripts/install_prerequisites.sh dist
build "$scratch/a"
build "$scratch/another folder"
diff -r "$scratch/dist-a" "$scratch/dist-another folder"
echo "the same bytes in both: $(find "$scratch/dist-a" -type f | wc -l) files"
cat "$scratch/dist-a/SHA256SUMS"
