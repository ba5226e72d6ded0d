#!/usr/bin/env bash
# `weir origin` beside static nginx on one core, without TLS and with it; then with remote storage: OUT/IN, the delay of the
# first byte, the cost of many simultaneous first requests, and configurations A to E side by side. The storage is nginx, or
# s3s-fs with nginx before it, which counts what is read; a proxy puts it 20 ms away. Server on the first core; clients,
# storage and proxy on the second.
#
# Environment:
#   DURATION=8          seconds of one measurement, of each server where two take turns; 30 for figures to quote
#   MINUTES=80          length of the title in the remote storage; 2.4 GB for 80
#   RTT_MS=20           round trip to the storage
#   CLIENTS=50          connections at once
#   STORAGE=http        kind of storage: http, or s3 with signed requests
#   PARTS="local threads remote configurations"
#   FILMS               a folder to keep the titles in, for the next run
#   WEIR                the binary; target/release/weir
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"
. "$here/weir.sh"
namespaces_enter "$here/origin.sh" "$@"

weir=${WEIR:-$here/../../target/release/weir}
duration=${DURATION:-8}
minutes=${MINUTES:-80}
rtt=${RTT_MS:-20}
clients=${CLIENTS:-50}
storage=${STORAGE:-http}
parts=${PARTS:-local threads remote configurations}
ticks=$(getconf CLK_TCK)
figures=$here/origin_figures.py
# As in the published measurements and those of nginx-vod-module.
video_rate=3894k
audio_rate=132k
static_port=8001 origin_port=8002 storage_port=8003 distant_port=8004 s3_port=8005
STARTED=()

wants() {
    [[ " $parts " == *" $1 "* ]]
}

# CPU time of a process with all its threads, in milliseconds.
cpu_of() {
    sed 's/.*) //' "/proc/$1/stat" | awk -v ticks="$ticks" '{ printf "%d", ($12 + $13) * 1000 / ticks }'
}

on_first() {
    taskset -c 0 "$@"
}

second=$(($(nproc) > 1))
on_second() {
    taskset -c "$second" "$@"
}

# start CORE COMMAND...: in the background, until this script ends; its process is in $PID, its output in $scratch/log.
start() {
    taskset -c "$1" setpriv --pdeathsig KILL -- "${@:2}" >>"$scratch/log" 2>&1 &
    PID=$!
    STARTED+=("$PID")
}

# wait_for PORT: until a server listens there.
wait_for() {
    local tries
    for tries in {1..100}; do
        [ -z "$(ss -Hltn "sport = :$1")" ] || return 0
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.1
    done
    fail "nothing listens on port $1: $(tail -n 3 "$scratch/log" | tr '\n' ' ')"
}

clean_up() {
    local pid
    for pid in "${STARTED[@]}"; do
        stop "$pid"
    done
    rm -rf "$scratch"
}

# nginx_serves CORE PORT LOG DIRECTIVE [ssl]: one process, no limit on requests of a connection.
nginx_serves() {
    cat >"$scratch/nginx-$2.conf" <<CONFIGURATION
daemon off;
master_process off;
pid $scratch/nginx-$2.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
    log_format reads '\$request_method \$uri \$status \$body_bytes_sent \$http_range';
    access_log $3;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=10000;
    types { video/mp4 mp4; }
    client_body_temp_path $scratch/nginx-$2;
    proxy_temp_path $scratch/nginx-$2;
    fastcgi_temp_path $scratch/nginx-$2;
    uwsgi_temp_path $scratch/nginx-$2;
    scgi_temp_path $scratch/nginx-$2;
    server { listen 127.0.0.1:$2 backlog=4096 ${5:-}; $4 }
}
CONFIGURATION
    start "$1" nginx -p "$scratch" -c "$scratch/nginx-$2.conf"
    wait_for "$2"
}

# weir_serves PLACE OPTION...: on the first core, with one thread, or on the first $threads; its process is in $ORIGIN.
weir_serves() {
    local threads=${threads:-1}
    start "0-$((threads - 1))" "$weir" origin "$@" --listen "127.0.0.1:$origin_port" --threads "$threads" --segment 2s --quiet
    ORIGIN=$PID
    wait_for "$origin_port"
}

# make_film FOLDER SECONDS: video with x264's default number of B-frames, at a constant rate, and audio, in separate files.
make_film() {
    local folder=$1 seconds=$2 clip=$1/clip
    [ ! -e "$folder/done" ] || return 0
    echo "making a title of $seconds s in $folder" >&2
    mkdir -p "$folder"
    local quietly=(ffmpeg -nostdin -loglevel error -y)
    "${quietly[@]}" -f lavfi -i "testsrc2=size=320x180:rate=30:duration=60,noise=alls=60:allf=t" -c:v libx264 -preset ultrafast \
        -bf 3 -g 60 -keyint_min 60 -sc_threshold 0 -pix_fmt yuv420p -b:v $video_rate -minrate $video_rate -maxrate $video_rate \
        -bufsize $video_rate -x264-params nal-hrd=cbr:b-pyramid=normal "$clip-video.mp4"
    "${quietly[@]}" -f lavfi -i "anoisesrc=sample_rate=48000:amplitude=0.5:duration=60" -ac 2 -c:a aac -b:a $audio_rate \
        "$clip-audio.mp4"
    local kind
    for kind in video audio; do
        "${quietly[@]}" -stream_loop -1 -i "$clip-$kind.mp4" -t "$seconds" -c copy -movflags +faststart "$folder/$kind.mp4"
    done
    rm -f "$clip"-*.mp4
    touch "$folder/done"
}

# keep FILE FIELD...: one row for the tables.
keep() {
    local IFS=$'\t'
    echo "${*:2}" >>"$scratch/$1"
}

# ask NAME PID PORT FILE SECONDS [https]: wrk, on the cores $on, asks the process for the addresses in FILE; sets ${each[@]}.
ask() {
    local before url=${6:-http}://127.0.0.1:$3/
    local wrk=(taskset -c "$on" wrk -t "$(taskset -c "$on" nproc)" -c "$clients" -s "$here/addresses.lua")
    before=$(cpu_of "$2")
    ADDRESSES=$4 "${wrk[@]}" -d "$5s" "$url" >"$scratch/wrk"
    read -r -a each <<<"$("$figures" row "$scratch/wrk" "$(($(cpu_of "$2") - before))")"
    [ "${#each[@]}" -ge 4 ] || fail "wrk, $1: $(tail -n 3 "$scratch/wrk" | tr '\n' ' ')"
}

# compare CASE FILE NGINX [https]: rows for the table, of both servers by turns of a second, so that what else the machine does
# strikes both.
compare() {
    local each=() on=$second turn
    # The first fills the caches.
    for ((turn = 0; turn <= duration; turn++)); do
        ask "nginx, $1" "$3" "$static_port" "$2" 1 "${@:4}"
        [ "$turn" -eq 0 ] || keep local nginx "$1" "${each[@]:0:3}"
        ask "weir, $1" "$ORIGIN" "$origin_port" "$2" 1 "${@:4}"
        [ "$turn" -eq 0 ] || keep local weir "$1" "${each[@]:0:3}"
    done
}

try_local() {
    local static=$scratch/static url=http://127.0.0.1:$origin_port/ case
    make_film "$films/short/film" 60
    weir_serves "$films/short"
    "$figures" segments "$url" film/video/v1/playlist.m3u8 >"$scratch/video"
    "$figures" segments "$url" film/audio/a1/playlist.m3u8 >"$scratch/audio"
    "$figures" segments "$url" film/video/v1/playlist.m3u8 film/audio/a1/playlist.m3u8 >"$scratch/both"
    echo /film/manifest.mpd >"$scratch/MPD"
    # So that both send the same bytes.
    cat "$scratch/both" "$scratch/MPD" | "$figures" save "$url" "$static"
    nginx_serves 0 "$static_port" off "root $static;"
    local nginx=$PID
    for case in video audio both MPD; do
        compare "$case" "$scratch/$case" "$nginx"
    done
    stop "$nginx"
    stop "$ORIGIN"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" 2>>"$scratch/log"
    nginx_serves 0 "$static_port" off \
        "root $static; ssl_protocols TLSv1.3; ssl_certificate $scratch/certificate.pem; ssl_certificate_key $scratch/key.pem;" ssl
    nginx=$PID
    weir_serves "$films/short" --tls-cert "$scratch/certificate.pem" --tls-key "$scratch/key.pem"
    for case in video audio; do
        compare "$case over TLS" "$scratch/$case" "$nginx" https
    done
    stop "$nginx"
    stop "$ORIGIN"
    printf '\non this host, one core, %s connections, segments of 2 s; medians of %s turns of a second each\n' "$clients" "$duration"
    "$figures" local "$scratch/local"
}

# Where there is no third core, the clients share the second one with a second thread, so that requests/s cannot double; what a
# second of the server's CPU time answers shows then what the threads cost each other.
try_threads() {
    local threads on each=() cores
    cores=$(nproc)
    make_film "$films/short/film" 60
    for threads in 1 2; do
        on=$((threads < cores ? threads : second))-$((cores - 1))
        weir_serves "$films/short"
        "$figures" segments "http://127.0.0.1:$origin_port/" film/audio/a1/playlist.m3u8 >"$scratch/audio"
        # The first fills the caches.
        ask "$threads threads" "$ORIGIN" "$origin_port" "$scratch/audio" 1
        ask "$threads threads" "$ORIGIN" "$origin_port" "$scratch/audio" "$duration"
        keep threads "$threads" "${each[0]}" "${each[2]}"
        stop "$ORIGIN"
    done
    printf '\naudio by threads, %s cores\nthreads  requests/s  CPU, us\n' "$cores"
    awk -v cores="$cores" '{ printf "%7d  %10.0f  %7.1f\n", $1, $2, $3; rate[$1] = $2; cpu[$1] = $3 }
        END {
            scale = cores > 2 ? rate[2] / rate[1] : 2 * cpu[1] / cpu[2]
            printf "2 threads over 1, by %s: %.2f (goal 1.7: %s)\n", (cores > 2 ? "requests/s" : "CPU time"), scale,
                (scale >= 1.7 ? "met" : "missed") }' "$scratch/threads"
}

# It knows the ETag of an uploaded object; of a file copied there it would read everything for every request.
upload_film() {
    local file
    [ ! -e "$films/s3/done" ] || return 0
    for file in video.mp4 audio.mp4; do
        curl -sSf --aws-sigv4 aws:amz:us-east-1:s3 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
            -H "x-amz-content-sha256: UNSIGNED-PAYLOAD" -T "$films/long/film/$file" "http://127.0.0.1:$s3_port/long/film/$file" || fail "$file could not be uploaded"
    done
    touch "$films/s3/done"
}

start_storage() {
    make_film "$films/long/film" "$((minutes * 60))"
    # So that the disk is not measured.
    cat "$films"/long/film/*.mp4 >/dev/null
    if [ "$storage" = s3 ]; then
        mkdir -p "$films/s3/long"
        start "$second" "$s3s_fs" --host 127.0.0.1 --port "$s3_port" --access-key "$AWS_ACCESS_KEY_ID" \
            --secret-key "$AWS_SECRET_ACCESS_KEY" "$films/s3"
        wait_for "$s3_port"
        upload_film
        # Signatures cover the host's name, too.
        nginx_serves "$second" "$storage_port" "$scratch/reads reads" \
            "location / { proxy_pass http://127.0.0.1:$s3_port; proxy_set_header Host \$http_host; proxy_buffering off; }"
        distant=(s3://long --s3-endpoint "http://127.0.0.1:$distant_port" --s3-style path)
    else
        nginx_serves "$second" "$storage_port" "$scratch/reads reads" "root $films/long;"
        distant=("http://127.0.0.1:$distant_port/")
    fi
    start "$second" python3 "$here/distance.py" "$distant_port" "$storage_port" "$rtt"
    wait_for "$distant_port"
    [ -s "$scratch/wanted" ] || {
        weir_serves "${distant[@]}"
        "$figures" segments "http://127.0.0.1:$origin_port/" film/video.mp4/video/v1/playlist.m3u8 \
            film/audio.mp4/audio/a1/playlist.m3u8 >"$scratch/wanted"
        stop "$ORIGIN"
    }
}

# drive: the clients ask for segments, video and audio alternately; sets $requests, $bytes, $gets, $read and ${row[@]}.
drive() {
    local cpu from
    from=$(wc -l <"$scratch/reads")
    cpu=$(cpu_of "$ORIGIN")
    on_second "$figures" drive "http://127.0.0.1:$origin_port" "$scratch/wanted" "$duration" "$clients" >"$scratch/drive"
    cpu=$(($(cpu_of "$ORIGIN") - cpu))
    read -r -a row <<<"$("$figures" row "$scratch/drive" "$cpu")"
    [ "${#row[@]}" -eq 6 ] || fail "configuration: $(tail -n 3 "$scratch/log" | tr '\n' ' ')"
    requests=${row[4]} bytes=${row[5]}
    read -r gets _ read <<<"$("$figures" storage "$scratch/reads" "$from")"
}

# cold_reads CLIENTS: GETs at the storage when this number of clients at once request a manifest from a fresh origin.
cold_reads() {
    local from answered
    weir_serves "${distant[@]}"
    from=$(wc -l <"$scratch/reads")
    answered=$(on_second "$figures" herd "http://127.0.0.1:$origin_port" /film/video.mp4/manifest.mpd "$1")
    [ "$answered" -eq "$1" ] || fail "$answered of $1 first requests were answered"
    "$figures" storage "$scratch/reads" "$from" | cut -d ' ' -f 1
    stop "$ORIGIN"
}

try_remote() {
    local url=http://127.0.0.1:$origin_port/ raw ours one herd
    printf '\n%s ms from the storage, configuration E, %s min, %s clients\n' "$rtt" "$minutes" "$clients"
    weir_serves "${distant[@]}"
    # So that the index is cached.
    curl -sfo /dev/null "${url}film/video.mp4/manifest.mpd" "${url}film/audio.mp4/manifest.mpd" -o /dev/null
    drive
    awk -v requests="$requests" -v sent="$bytes" -v gets="$gets" -v read="$read" 'BEGIN {
        printf "storage reads per request       %.3f (goal 1.00: %s)\n", gets / requests, (gets / requests <= 1.005 ? "met" : "missed")
        printf "OUT/IN                          %.4f (goal >= 0.99: %s)\n", sent / read, (sent / read >= 0.99 ? "met" : "missed") }'
    # Raw range requests are not signed.
    if [ "$storage" = http ]; then
        read -r raw ours <<<"$(on_second "$figures" first-byte "http://127.0.0.1:$distant_port/film/video.mp4" "$url" film/video.mp4/video/v1/playlist.m3u8)"
        awk -v raw="$raw" -v ours="$ours" 'BEGIN {
            printf "first byte                      %.2f ms after a raw range read of %.2f ms (goal < 2: %s)\n", ours - raw, raw,
                (ours - raw < 2 ? "met" : "missed") }'
    fi
    stop "$ORIGIN"
    one=$(cold_reads 1)
    herd=$(cold_reads 200)
    echo "first requests, GETs of the index  $one for one, $herd for 200 at once (goal the same: $([ "$one" -eq "$herd" ] && echo met || echo missed))"
}

try_configurations() {
    local name
    for name in A B C D E; do
        echo "measuring: configuration $name" >&2
        weir_serves "${distant[@]}" --configuration "$name"
        curl -sfo /dev/null "http://127.0.0.1:$origin_port/film/video.mp4/manifest.mpd"
        drive
        keep configurations "$name" $(awk -v sent="$bytes" -v read="$read" -v took="${row[0]}" -v requests="$requests" -v mean="${row[3]}" 'BEGIN {
            seconds = requests / took
            print read * 8 / 1e9 / seconds "\t" sent * 8 / 1e9 / seconds "\t" sent / read "\t" mean "\t" took }')
        stop "$ORIGIN"
    done
    printf '\n%s ms from the storage, %s min with B-frames, %s clients, video and audio alternately\n' "$rtt" "$minutes" "$clients"
    "$figures" configurations "$scratch/configurations"
}

check_weir
s3s_fs=$here/../../.tools/bin/s3s-fs
export AWS_ACCESS_KEY_ID=reader AWS_SECRET_ACCESS_KEY=for-this-bench
case $storage in
    http) ;;
    s3) [ -x "$s3s_fs" ] || fail "there is no s3s-fs: run 'scripts/install_prerequisites.sh bench' first" ;;
    *) fail "STORAGE is http or s3" ;;
esac
for tool in nginx wrk ffmpeg curl; do
    command -v "$tool" >/dev/null || fail "there is no $tool: run 'scripts/install_prerequisites.sh bench' first"
done
scratch=$(mktemp -d)
films=${FILMS:-$scratch/films}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ip link set lo up
export WEIR_DB=$scratch/weir.db
ulimit -n 8192 2>/dev/null || true
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(uname -sr), $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
"$weir" --version
echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
! wants local || try_local
! wants threads || try_threads
if wants remote || wants configurations; then
    start_storage
fi
! wants remote || try_remote
! wants configurations || try_configurations
