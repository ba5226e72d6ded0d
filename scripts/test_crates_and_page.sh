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

# Tests measure, on real sockets and with the machine's clocks. When a neighbour holds the machine up, some may fail that are
# sound; they then run once more with nothing beside them, and both are told. More than so many are no accident.
most_once_more=8

# once_more LANE STEPS TESTS...: what failed in the steps of a lane, of the tests that `cargo test TESTS...` runs
once_more() {
    local lane=$1 steps=$2 tests
    shift 2
    grep -q "^$steps" "$printed/failed" 2>/dev/null || return
    mapfile -t tests < <(sed -n 's/^test \([^ ]*\) \.\.\. FAILED$/\1/p' "$printed/$lane" | sort -u)
    if [ ${#tests[@]} -eq 0 ] || [ ${#tests[@]} -gt $most_once_more ] || grep -q '(signal: ' "$printed/$lane"; then
        return
    fi
    echo "warning: failed among the others, and run once more alone: ${tests[*]}" >&2
    if cargo test --workspace "$@" -- --exact --test-threads=1 "${tests[@]}"; then
        sed -i "/^$steps/d" "$printed/failed"
    fi
}

page() {
    step "the page: types, lint, tests, build, browser" make --no-print-directory test-page
}

not_end_to_end=(--lib --bins --test '[!e]*' --test 'e[!2]*')

all_else() {
    step "cargo test --workspace, but for the end-to-end tests" \
        cargo test --workspace --no-fail-fast "${not_end_to_end[@]}"
    step "cargo test --workspace --doc" cargo test --workspace --no-fail-fast --doc
    step "analysis/: the scripts in Python and R against weir" make --no-print-directory test-analysis
}

echo "==> cargo test --workspace --no-run"
cargo test --workspace --no-run || exit 1

# The fuzz targets are built meanwhile, when nobody else has work; what goes wrong with that is said when they run.
chrt --idle 0 scripts/fuzz_smoke.sh --build >/dev/null 2>&1 &
lanes+=($!)
echo "==> the tests, in three lanes; what two of them print comes behind the first"
for lane in end_to_end page; do
    "$lane" >"$printed/$lane" 2>&1 &
    lanes+=($!)
done
all_else 2>&1 | tee "$printed/all_else"
wait
lanes=()
cat "$printed/end_to_end" "$printed/page"
once_more end_to_end "the end-to-end tests" --test e2e
once_more all_else "cargo test --workspace, but for the end-to-end tests" --no-fail-fast "${not_end_to_end[@]}"
if [ -s "$printed/failed" ]; then
    sed 's/^/error: failed: /' "$printed/failed" >&2
    exit 1
fi
