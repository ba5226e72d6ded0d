#!/usr/bin/env bash
# Builds the static weir for one target, so that the same commit and the same compiler give the same bytes in any folder.
#
#   scripts/dist_compile.sh x86_64-unknown-linux-musl|aarch64-unknown-linux-musl
#
# The binary is target/TARGET/dist/weir, with its symbols.
set -euo pipefail

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
target=$1
checkout=$(pwd)
cargo_home=${CARGO_HOME:-${HOME:-/root}/.cargo}

# Sets remapped to pairs FROM=TO. Paths stand in panic messages and in debug information.
find_paths() {
    local sysroot commit folder
    sysroot=$(rustc --print sysroot)
    commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
    remapped=("$checkout=/weir" "$sysroot/lib/rustlib/src/rust=/rustc/$commit")
    # A mirror of crates.io has a folder with another name.
    for folder in "$cargo_home"/registry/src/*; do
        remapped+=("$folder=/cargo")
    done
}

# Cargo splits these at the unit separator, so that paths may have spaces.
rust_flags() {
    local pair flags=(-Clinker=rust-lld)
    for pair in "${remapped[@]}"; do
        flags+=("--remap-path-prefix=$pair")
    done
    local IFS=$'\x1f'
    echo "${flags[*]}"
}

c_flags() {
    local pair
    for pair in "${remapped[@]}"; do
        printf '%q ' "-ffile-prefix-map=$pair"
    done
}

link_compiler() {
    local tool
    mkdir -p .tools/bin
    for tool in cc ar; do
        ln -sf ../../scripts/zig_tool.sh ".tools/bin/zig-$tool"
    done
}

link_compiler
cargo fetch --quiet --locked --target "$target"
find_paths
underscored=${target//-/_}
export "CC_$underscored=$checkout/.tools/bin/zig-cc" "AR_$underscored=$checkout/.tools/bin/zig-ar"
export "CFLAGS_$underscored=$(c_flags)" CC_SHELL_ESCAPED_FLAGS=1
export ZIG_GLOBAL_CACHE_DIR=$checkout/.tools/zig-cache ZIG_LOCAL_CACHE_DIR=$checkout/.tools/zig-cache
CARGO_ENCODED_RUSTFLAGS=$(rust_flags) CARGO_INCREMENTAL=0 \
    cargo build --profile dist --locked --target "$target" --target-dir target -p weir-cli --bin weir
