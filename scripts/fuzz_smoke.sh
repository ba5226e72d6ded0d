#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (default 5) each, from the committed seeds and whatever earlier runs found, as many
# at a time as there are processors.
#
#   scripts/fuzz_smoke.sh [TARGET...]      default: every file in fuzz/fuzz_targets
#   scripts/fuzz_smoke.sh --build          builds them all, and runs none
set -euo pipefail

cd "$(dirname "$0")/.."
PATH="$PWD/.tools/bin:$PATH:${HOME:-/root}/.cargo/bin"
seconds=${FUZZ_SECONDS:-5}
cargo=(cargo)

# Sanitizers and coverage need flags that only a nightly compiler takes. RUSTC_BOOTSTRAP makes a stable one take them
# too, which serves for a short run where no nightly is installed.
choose_toolchain() {
    if cargo +nightly --version >/dev/null 2>&1; then
        cargo=(cargo +nightly)
    else
        echo "no nightly toolchain: using $(rustc --version) with RUSTC_BOOTSTRAP=1"
        export RUSTC_BOOTSTRAP=1
    fi
}

ensure_cargo_fuzz() {
    if cargo fuzz --version >/dev/null 2>&1; then
        return
    fi
    echo "installing cargo-fuzz into .tools"
    # Not with RUSTC_BOOTSTRAP: build scripts that probe for nightly features would then find them.
    env -u RUSTC_BOOTSTRAP cargo install --quiet --locked --root .tools cargo-fuzz@0.13.2
}

targets() {
    local file
    for file in fuzz/fuzz_targets/*.rs; do
        basename "$file" .rs
    done
}

# New inputs go to the first folder that libFuzzer is given, so the committed seeds come second and stay as they are.
run_target() {
    local target=$1 corpus=fuzz/corpus/$1 seeds=fuzz/seeds/$1 log=$logs/$1
    local folders=("$corpus")
    mkdir -p "$corpus"
    [ ! -d "$seeds" ] || folders+=("$seeds")
    if ! "${cargo[@]}" fuzz run "$target" "${folders[@]}" -- \
        -max_total_time="$seconds" -timeout=10 >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        echo "error: fuzz target $target failed; the input is under fuzz/artifacts/$target" >&2
        return 1
    fi
    printf '%-16s %s\n' "$target" "$(grep '^Done ' "$log")"
}

# A short run is mostly compiling, so it compiles faster code that runs slower; a long one gets the compiler's best.
if [ "$seconds" -lt 60 ]; then
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
fi
choose_toolchain
ensure_cargo_fuzz
if [ "${1:-}" = --build ]; then
    exec "${cargo[@]}" fuzz build
fi
list=("$@")
if [ ${#list[@]} -eq 0 ]; then
    mapfile -t list < <(targets)
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
"${cargo[@]}" fuzz build
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
