#!/usr/bin/env bash
# Runs the tests of the crates, of analysis/ and of the page. The end-to-end tests wait more than they compute, so they run
# beside the others, those of meshes beside the rest of them; what they print comes at the end. Nothing stops at the first
# failure.
set -uo pipefail

cd "$(dirname "$0")/.."
printed=$(mktemp -d)
pids=()
trap '[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$printed"' EXIT
failed=()

step() {
    local name=$1
    shift
    echo "==> $name"
    "$@" || failed+=("$name")
}

echo "==> cargo test --workspace --no-run"
cargo test --workspace --no-run || exit 1

# The fuzz targets are built meanwhile, with the lowest priority; what goes wrong with that is said when they run.
nice -n 19 scripts/fuzz_smoke.sh --build >/dev/null 2>&1 &
fuzz=$!
# What waits takes no processor: more tests at a time than there are.
cargo test --workspace --test e2e -- --skip mesh:: --test-threads=4 >"$printed/e2e" 2>&1 &
end_to_end=$!
cargo test --workspace --test e2e -- mesh:: >"$printed/mesh" 2>&1 &
mesh=$!
pids=("$fuzz" "$end_to_end" "$mesh")

step "cargo test --workspace, all but the end-to-end tests" \
    cargo test --workspace --no-fail-fast --lib --bins --test '[!e]*' --test 'e[!2]*'
step "cargo test --workspace --doc" cargo test --workspace --no-fail-fast --doc
step "analysis/: the scripts in Python and R against weir" make --no-print-directory test-analysis
step "the page: types, lint, tests, build, browser" make --no-print-directory test-page

echo "==> the end-to-end tests, which ran meanwhile"
wait "$end_to_end" || failed+=("the end-to-end tests")
wait "$mesh" || failed+=("the end-to-end tests of meshes")
cat "$printed/e2e" "$printed/mesh"
wait "$fuzz"
pids=()
if [ ${#failed[@]} -gt 0 ]; then
    printf 'error: failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
