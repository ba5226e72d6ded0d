#!/usr/bin/env bash
# How much memory titles take: an origin that serves COUNT titles of 80 minutes, each a video track with B-frames and two
# audio tracks in files of their own, keeps them all. Prints what the process grew by, and the time to index them. Fails if
# a thousand would take more than 1 GiB, or if titles were examined twice.
#
# Environment: COUNT=1000; WEIR, the binary, target/release/weir
set -euo pipefail

weir=$(realpath "${WEIR:-$(dirname "$0")/../../target/release/weir}")
count=${COUNT:-1000}
work=$(mktemp -d)
origin=
trap '[ -z "$origin" ] || kill "$origin" 2>/dev/null; rm -rf "$work"' EXIT

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 3
}

resident_kib() {
    awk '/^VmRSS:/ { print $2 }' "/proc/$origin/status"
}

# Samples of any size take the same memory: pictures are tiny, so that ffmpeg takes a minute or two.
mkdir -p "$work/titles/0"
encode=(ffmpeg -nostdin -loglevel error -t 4800)
"${encode[@]}" -f lavfi -i testsrc2=size=32x32:rate=25 -c:v libx264 -preset ultrafast -bf 3 -b_strategy 0 -g 50 \
    -pix_fmt yuv420p "$work/titles/0/video.mp4"
"${encode[@]}" -f lavfi -i sine=sample_rate=48000 -c:a aac -b:a 32k -metadata:s:a language=eng "$work/titles/0/en.mp4"
"${encode[@]}" -i "$work/titles/0/en.mp4" -c copy -metadata:s:a language=deu "$work/titles/0/de.mp4"
# What is kept of a file is kept for each path.
for number in $(seq "$count"); do
    mkdir "$work/titles/$number"
    ln -s ../0/{video,en,de}.mp4 "$work/titles/$number"
done

"$weir" origin "$work/titles" --listen 127.0.0.1:0 --memory-cache 2GiB --fresh 1h --json >"$work/said" 2>&1 &
origin=$!
sleep 0.1
for _ in {1..100}; do
    address=$(sed -n 's/.*"address":"\([^"]*\)".*/\1/p' "$work/said")
    [ -z "$address" ] || break
    sleep 0.1
done
[ -n "$address" ] || fail "the origin did not start: $(cat "$work/said")"

seq -f "url = \"http://$address/%g/manifest.mpd\"" "$count" >"$work/urls"
ask() {
    curl --silent --fail --config "$work/urls" >/dev/null || fail "a manifest was not served"
}
before=$(resident_kib)
began=$SECONDS
ask
took=$((SECONDS - began))
ask
grown=$(($(resident_kib) - before))
printf '%s titles of 80 minutes: %s MiB, %s KiB each; indexed in %s s\n' "$count" $((grown / 1024)) $((grown / count)) "$took"
kept=$(curl --silent "http://$address/metrics" | sed -n 's/.*lookups_total{kind="index",tier="memory"} //p')
[ "$kept" -ge "$count" ] || fail "only $kept of $count titles were kept"
[ $((grown * 1000 / count)) -le $((1 << 20)) ] || fail "1000 titles would take more than 1 GiB"
