#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (default 2) each, from the committed seeds and whatever earlier runs found, as many
# at a time as there are processors.
#
#   scripts/fuzz_smoke.sh [TARGET...]      default: every file in fuzz/fuzz_targets
#   scripts/fuzz_smoke.sh --build          builds the one binary that has them all, and runs none
#
# A failing input is run again with FUZZ_TARGET=TARGET, the binary that --build names, and the file as its argument.
set -euo pipefail

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
seconds=${FUZZ_SECONDS:-2}

# Coverage as libFuzzer wants it; what fuzzing finds besides panics, overflows and its own limits on time and memory takes
# the address sanitizer, which a long run has and a short one, mostly compiling, has not.
choose_flags() {
    local level=-sanitizer-coverage
    RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module -Cllvm-args=$level-level=4"
    RUSTFLAGS+=" -Cllvm-args=$level-inline-8bit-counters -Cllvm-args=$level-pc-table -Cllvm-args=$level-trace-compares"
    if [ "$seconds" -lt 60 ]; then
        export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
    else
        # A flag of nightly compilers, which RUSTC_BOOTSTRAP makes a stable one take.
        export RUSTC_BOOTSTRAP=1
        RUSTFLAGS+=" -Zsanitizer=address"
    fi
    export RUSTFLAGS
}

# With --target, so that build scripts and macros are compiled without these flags.
build() {
    cargo build --release --quiet --manifest-path fuzz/Cargo.toml --target "$host"
}

targets() {
    local file
    for file in fuzz/fuzz_targets/*.rs; do
        basename "$file" .rs
    done
}

# Before the build, which takes minutes; the binary refuses unknown names as well.
check_names() {
    local name
    for name in "$@"; do
        if [ ! -f "fuzz/fuzz_targets/$name.rs" ]; then
            echo "error: '$name' is no fuzz target; use one of: $(targets | paste -sd ' ')" >&2
            exit 2
        fi
    done
}

# New inputs go to the first folder that libFuzzer is given, so the committed seeds come second and stay as they are.
run_target() {
    local target=$1 corpus=fuzz/corpus/$1 seeds=fuzz/seeds/$1 artifacts=fuzz/artifacts/$1 log=$logs/$1
    local folders=("$corpus")
    mkdir -p "$corpus" "$artifacts"
    [ ! -d "$seeds" ] || folders+=("$seeds")
    if ! FUZZ_TARGET=$target ASAN_OPTIONS=$sanitizer "$binary" -artifact_prefix="$artifacts/" \
        -max_total_time="$seconds" -timeout=10 "${folders[@]}" >"$log" 2>&1; then
        # The stacks that follow the message are long.
        grep -A 1 -m 1 'panicked at' "$log" >&2 || true
        tail -n 60 "$log" >&2
        echo "error: fuzz target $target failed; the input is under $artifacts" >&2
        return 1
    fi
    printf '%-16s %s\n' "$target" "$(grep '^Done ' "$log")"
}

if [ "${1:-}" != --build ]; then
    check_names "$@"
fi
choose_flags
host=$(rustc -vV | sed -n 's/^host: //p')
binary=${CARGO_TARGET_DIR:-fuzz/target}/$host/release/weir-fuzz
if [ "${1:-}" = --build ]; then
    build
    echo "built $binary"
    exit
fi
list=("$@")
if [ ${#list[@]} -eq 0 ]; then
    mapfile -t list < <(targets)
fi
# Crates may have symbols of the same name.
sanitizer=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
build
running=0
failed=0
for target in "${list[@]}"; do
    if [ "$running" -eq "$(nproc)" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    run_target "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
[ "$failed" -eq 0 ] || exit 1
echo "fuzz targets without a failure: ${list[*]}"
