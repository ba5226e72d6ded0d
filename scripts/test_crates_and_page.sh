#!/usr/bin/env bash
# Runs the tests of the crates, of analysis/ and of the page. Many of them wait more than they compute, so there are three lanes
# beside each other: the end-to-end tests; those of meshes, then the page; everything else. Nothing stops at the first failure.
set -uo pipefail

cd "$(dirname "$0")/.."
printed=$(mktemp -d)
lanes=()
trap '[ ${#lanes[@]} -eq 0 ] || kill "${lanes[@]}" 2>/dev/null; rm -rf "$printed"' EXIT

step() {
    local name=$1
    shift
    echo "==> $name"
    "$@" || echo "$name" >>"$printed/failed"
}

end_to_end() {
    # What waits takes no processor: more tests at a time than there are.
    step "the end-to-end tests" cargo test --workspace --test e2e -- --skip mesh:: --test-threads=4
}

meshes_and_page() {
    step "the end-to-end tests of meshes" cargo test --workspace --test e2e -- mesh::
    step "the page: types, lint, tests, build, browser" make --no-print-directory test-page
}

all_else() {
    step "cargo test --workspace, but for the end-to-end tests" \
        cargo test --workspace --no-fail-fast --lib --bins --test '[!e]*' --test 'e[!2]*'
    step "cargo test --workspace --doc" cargo test --workspace --no-fail-fast --doc
    step "analysis/: the scripts in Python and R against weir" make --no-print-directory test-analysis
}

echo "==> cargo test --workspace --no-run"
cargo test --workspace --no-run || exit 1

# The fuzz targets are built meanwhile, with the lowest priority; what goes wrong with that is said when they run.
nice -n 19 scripts/fuzz_smoke.sh --build >/dev/null 2>&1 &
lanes+=($!)
echo "==> the tests, in three lanes; what two of them print comes behind the first"
for lane in end_to_end meshes_and_page; do
    "$lane" >"$printed/$lane" 2>&1 &
    lanes+=($!)
done
all_else
wait
lanes=()
cat "$printed/end_to_end" "$printed/meshes_and_page"
if [ -e "$printed/failed" ]; then
    sed 's/^/error: failed: /' "$printed/failed" >&2
    exit 1
fi
