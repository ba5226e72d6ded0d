#!/usr/bin/env bash
# Draws the pictures of the README from a run made now: a survey across the emulated network of the demo, its report, and
# the top of that page in a headless Chromium. Needs target/release/weir, or another binary in WEIR, and chromium.
set -euo pipefail

cd "$(dirname "$0")/.."
weir=$(realpath "${WEIR:-target/release/weir}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rate=$("$weir" lab calibrate oracle)
"$weir" lab run oracle --set route.1.loss=0.02% --allow-late --db "$scratch/weir.db" -- \
    "$weir" survey far --rate "$rate" --db "$scratch/weir.db" ${SURVEY:-}
"$weir" report last --db "$scratch/weir.db" -o "$scratch/report.html" --quiet
mkdir -p docs/images
"${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$scratch/profile" \
    --window-size=1200,900 --virtual-time-budget=5000 --screenshot=docs/images/report.png "file://$scratch/report.html"
echo "docs/images/report.png"
