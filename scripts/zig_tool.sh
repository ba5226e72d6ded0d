#!/usr/bin/env bash
# Zig's C compiler and archiver, under the names zig-cc and zig-ar that scripts/dist_compile.sh links to this file. They come
# with musl's headers for each processor. Zig's names of targets have no vendor.
set -euo pipefail

checkout=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
zig=$(echo "$checkout"/.tools/zig/lib/python3*/site-packages/ziglang/zig)
arguments=()
for argument; do
    case $argument in
    --target=*) arguments+=("${argument/-unknown-/-}") ;;
    *) arguments+=("$argument") ;;
    esac
done
name=$(basename "$0")
exec "$zig" "${name#zig-}" "${arguments[@]}"
