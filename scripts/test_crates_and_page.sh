#!/usr/bin/env bash
# Runs the tests of the crates, of analysis/ and of the page. Many of them wait more than they compute, so four lanes run in
# parallel: the end-to-end tests; those of meshes, then analysis/; the page; everything else. No lane stops at the first failure.
set -uo pipefail

cd "$(dirname "$0")/.."
printed=$(mktemp -d)
lanes=()
building=
trap '[ ${#lanes[@]} -eq 0 ] || kill "${lanes[@]}" 2>/dev/null; end_building; rm -rf "$printed"' EXIT
# Whoever bounds the time of this script learns which test was still running.
trap 'echo "error: terminated; the last lines of each lane" >&2; tail -n 12 "$printed"/* >&2; exit 143' TERM

step() {
    local name=$1 begin=$SECONDS
    shift
    echo "==> $name"
    "$@" || echo "$name" >>"$printed/failed"
    echo "==> $name: $((SECONDS - begin)) s"
}

# With its compilers, which are in its session.
end_building() {
    [ -z "$building" ] || kill -- "-$building" 2>/dev/null
}

# Waiting takes no processor: run more tests at a time than there are processors. Those of meshes take turns, and would
# occupy the others' places.
end_to_end() {
    step "the end-to-end tests" cargo test --workspace --test e2e -- --skip mesh:: --test-threads=4
}

meshes() {
    step "the end-to-end tests of meshes" cargo test --workspace --test e2e -- mesh::
    step "analysis/: the scripts in Python and R against weir" make --no-print-directory test-analysis
}

page() {
    step "the page: types, lint, tests, build, browser" make --no-print-directory test-page
}

all_else() {
    step "cargo test --workspace, but for the end-to-end tests" \
        cargo test --workspace --no-fail-fast --lib --bins --test suite -- --test-threads=4
    step "cargo test --workspace --doc" cargo test --workspace --no-fail-fast --doc
}

echo "==> cargo test --workspace --no-run"
cargo test --workspace --lib --bins --test suite --test e2e --no-run || exit 1

# The fuzz targets are built meanwhile, when nobody else has work; what goes wrong with that is said when they run. What is not
# built when the lanes end is built then as well: beside somebody's busy loops nobody ever has no work.
setsid chrt --idle 0 scripts/fuzz_smoke.sh --build >/dev/null 2>&1 &
building=$!
echo "==> the tests, in four lanes; the output of three of them follows that of the first"
for lane in end_to_end meshes page; do
    "$lane" >"$printed/$lane" 2>&1 &
    lanes+=($!)
done
# Also in the background: a trap waits for what runs in the foreground.
all_else 2>&1 &
lanes+=($!)
wait "${lanes[@]}"
lanes=()
cat "$printed/end_to_end" "$printed/meshes" "$printed/page"
if [ -s "$printed/failed" ]; then
    sed 's/^/error: failed: /' "$printed/failed" >&2
    exit 1
fi
