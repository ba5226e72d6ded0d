#!/usr/bin/env bash
# Runs the tests of the crates, of analysis/ and of the page. Many of them wait more than they compute, so there are three lanes
# beside each other: the end-to-end tests; the page; everything else. Nothing stops at the first failure.
set -uo pipefail

cd "$(dirname "$0")/.."
printed=$(mktemp -d)
lanes=()
trap '[ ${#lanes[@]} -eq 0 ] || kill "${lanes[@]}" 2>/dev/null; rm -rf "$printed"' EXIT

step() {
    local name=$1 begin=$SECONDS
    shift
    echo "==> $name"
    "$@" || echo "$name" >>"$printed/failed"
    echo "==> $name: $((SECONDS - begin)) s"
}

end_to_end() {
    # What waits takes no processor: more tests at a time than there are. Those of meshes take turns, and would hold the
    # others' places.
    step "the end-to-end tests" cargo test --workspace --test e2e -- --skip mesh:: --test-threads=4
    step "the end-to-end tests of meshes" cargo test --workspace --test e2e -- mesh::
}

# These tests measure, on real sockets and with the machine's clocks. When a neighbour holds the machine up, one of them may fail
# that is sound; it then runs once more with nothing beside it, and both are told. Three are no accident.
once_more() {
    local tests
    mapfile -t tests < <(sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$printed/end_to_end" | sort -u)
    if [ ${#tests[@]} -eq 0 ] || [ ${#tests[@]} -gt 2 ] || grep -q '(signal: ' "$printed/end_to_end"; then
        return 1
    fi
    echo "warning: failed among the others, and run once more alone: ${tests[*]}" >&2
    cargo test --workspace --test e2e -- --exact "${tests[@]}"
}

page() {
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
for lane in end_to_end page; do
    "$lane" >"$printed/$lane" 2>&1 &
    lanes+=($!)
done
all_else
wait
lanes=()
cat "$printed/end_to_end" "$printed/page"
if grep -q '^the end-to-end tests' "$printed/failed" 2>/dev/null && once_more; then
    sed -i '/^the end-to-end tests/d' "$printed/failed"
fi
if [ -s "$printed/failed" ]; then
    sed 's/^/error: failed: /' "$printed/failed" >&2
    exit 1
fi
