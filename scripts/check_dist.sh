#!/usr/bin/env bash
# Starts, installs and unpacks what `make dist` has made, as root on Debian or Ubuntu, x86-64. Everything happens in mount and
# network namespaces of its own: the machine is left as it was. `make check-dist` installs what this needs.
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$(pwd)
dist=$checkout/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
x86=$dist/weir-x86_64-unknown-linux-musl
arm=$dist/weir-aarch64-unknown-linux-musl
# Bytes.
most=25000000

if [ -z "${CHECK_DIST_INSIDE:-}" ]; then
    [ "$(id -u)" -eq 0 ] || { echo "error: only root can change roots and install packages: run it with sudo" >&2; exit 3; }
    [ -e "$dist/SHA256SUMS" ] || { echo "error: there is no dist/SHA256SUMS: run 'make dist' first" >&2; exit 3; }
    # The namespace of processes ends what is still running.
    CHECK_DIST_INSIDE=1 exec unshare --mount --net --pid --fork --mount-proc "$0" "$@"
fi

scratch=$(mktemp -d)
trap 'umount -q "$scratch"; rmdir "$scratch"' EXIT
# An overlay must not lie in the file system that it covers.
mount -t tmpfs tmpfs "$scratch"
ip link set lo up
umask 022

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

passed() {
    printf '  %s\n' "$*"
}

# wait_for PORT
wait_for() {
    local tries
    for tries in {1..300}; do
        [ -z "$(ss -Hltn "sport = :$1")" ] || return 0
        sleep 0.1
    done
    fail "nothing listens on port $1: $(tail -n 3 "$scratch/agent.log")"
}

# answered FILE: what `weir rtt --json` printed has replies to all packets but one in ten, which a busy machine may lose.
answered() {
    python3 - "$1" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
if not 0 < result["sent"] <= result["received"] / 0.9:
    sys.exit(f"error: {result['received']} of {result['sent']} packets were answered")
print(f"{result['received']} of {result['sent']} packets, RTT P50 {result['rtt']['p50'] / 1000:.0f} us")
PYTHON
}

# loopback_rtt WHAT COMMAND...: an agent and a client of the same binary on loopback.
loopback_rtt() {
    local what=$1 agent
    shift
    "$@" agent --quiet >"$scratch/agent.log" 2>&1 &
    agent=$!
    wait_for 4747
    "$@" rtt 127.0.0.1 --for 1s --interval 20ms --json --quiet --db "${DATABASE:-/weir.db}" >"$scratch/rtt" 2>"$scratch/rtt.log" ||
        fail "$what: $(cat "$scratch/rtt.log")"
    kill "$agent"
    wait "$agent" || true
    passed "$what: $(answered "$scratch/rtt")"
}

check_binaries() {
    local file
    echo "==> checksums, sizes, symbols"
    (cd "$dist" && sha256sum --check --quiet SHA256SUMS)
    for file in "$x86" "$arm"; do
        ! readelf -lW "$file" | grep -q INTERP || fail "$file is dynamic"
        ! readelf -dW "$file" | grep -q NEEDED || fail "$file needs libraries"
        ! readelf -SW "$file" | grep -q '\.symtab' || fail "$file has symbols"
        readelf -SW "$file" | grep -q '\.gnu_debuglink' || fail "$file names no debug file"
        readelf -SW "$file.debug" | grep -q '\.debug_line' || fail "$file.debug has no lines"
        [ "$(stat -c %s "$file")" -le $most ] || fail "$file has $(stat -c %s "$file") bytes, more than $most"
        passed "$(basename "$file"): static, $(stat -c %s "$file") bytes"
    done
    passed "$("$x86" --version)"
}

check_empty_root() {
    echo "==> in an empty root"
    mkdir "$scratch/empty"
    cp "$x86" "$scratch/empty/weir"
    loopback_rtt "x86-64, agent and client" chroot "$scratch/empty" /weir
    [ "$(ls "$scratch/empty")" = "$(printf 'weir\nweir.db')" ] || fail "more than its database: $(ls "$scratch/empty")"
    mkdir "$scratch/empty-arm"
    cp "$arm" "$scratch/empty-arm/weir"
    cp "$(command -v qemu-aarch64-static)" "$scratch/empty-arm/qemu"
    passed "$(chroot "$scratch/empty-arm" /qemu /weir --version)"
    loopback_rtt "arm64 under qemu-user, agent and client" chroot "$scratch/empty-arm" /qemu /weir
}

check_archive() {
    local target folder pages
    echo "==> .tar.gz"
    for target in x86_64 aarch64; do
        tar -C "$scratch" -xzf "$dist/weir-$version-$target-unknown-linux-musl.tar.gz"
        folder=$scratch/weir-$version-$target-unknown-linux-musl
        cmp "$folder/weir" "$dist/weir-$target-unknown-linux-musl"
        pages=$(find "$folder/man" -name '*.1' | wc -l)
        [ "$pages" -ge 50 ] || fail "$pages manual pages"
        bash -n "$folder/completions/weir.bash"
        grep -q 'Apache License' "$folder/LICENSE"
        grep -q '^musl ' "$folder/THIRD-PARTY.txt"
    done
    passed "binary, $pages manual pages, completions, licences of $(grep -cE '^[^ ]+ [0-9][^ ]* \(' "$folder/THIRD-PARTY.txt") packages"
}

# The package is installed on a copy of this system that is forgotten afterwards.
check_deb() {
    local root=$scratch/overlay
    echo "==> .deb"
    dpkg-deb --info "$dist/weir_${version}_arm64.deb" | grep -q 'Architecture: arm64'
    mkdir "$scratch/upper" "$scratch/work" "$root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/run"
    mount -t tmpfs tmpfs "$root/tmp"
    cp "$dist/weir_${version}_amd64.deb" "$root/tmp/weir.deb"
    cp scripts/check_dist_deb.sh "$root/tmp"
    chroot "$root" /tmp/check_dist_deb.sh
    umount -R "$root"
}

check_rpm() {
    local root=$scratch/rpm-root file
    echo "==> .rpm"
    for file in "$dist"/weir-"$version"-1.{x86_64,aarch64}.rpm; do
        rpm --checksig --nosignature "$file" >/dev/null
    done
    mkdir -p "$root"
    rpm --root "$root" --dbpath /rpmdb --initdb
    rpm --root "$root" --dbpath /rpmdb --noscripts --nodeps --ignoreos -i "$dist/weir-$version-1.x86_64.rpm" 2>"$scratch/rpm.log" ||
        fail "$(cat "$scratch/rpm.log")"
    passed "$(chroot "$root" /usr/bin/weir --version)"
    rpm --root "$root" --dbpath /rpmdb --noscripts --nodeps -e weir
    [ -z "$(find "$root" -path "$root/rpmdb" -prune -o -type f -print)" ] || fail "files are left: $(find "$root" -type f)"
    passed "installs and erases"
}

check_image() {
    local layout=$scratch/layout root=$scratch/bundle/rootfs found
    echo "==> image"
    for found in amd64 arm64; do
        skopeo --override-arch "$found" inspect "oci-archive:$dist/weir-$version-oci.tar" | grep -q "\"Architecture\": \"$found\"" ||
            fail "the image has no $found"
    done
    skopeo --override-arch amd64 copy --quiet "oci-archive:$dist/weir-$version-oci.tar" "oci:$layout:weir"
    umoci unpack --image "$layout:weir" "$scratch/bundle" 2>"$scratch/umoci.log" || fail "$(cat "$scratch/umoci.log")"
    found=$(cd "$root" && find . -mindepth 1 -printf '%P ' | LC_ALL=C sort)
    [ "$(cd "$root" && echo *)" = "LICENSE THIRD-PARTY.txt tmp weir" ] || fail "the image has $found"
    grep -q '"/weir"' "$scratch/bundle/config.json" || fail "the image does not start weir"
    DATABASE=/tmp/weir.db loopback_rtt "as user 10001" chroot --userspec=10001:10001 "$root" /weir
}

check_sbom() {
    echo "==> SBOM"
    .tools/cyclonedx/bin/python - "$dist/weir-$version.cdx.json" <<'PYTHON'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1]).read()
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
if error:
    sys.exit(f"error: {error}")
bom = json.loads(text)
refs = {part["bom-ref"] for part in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
named = {ref for line in bom["dependencies"] for ref in [line["ref"], *line["dependsOn"]]}
if refs != named:
    sys.exit(f"error: not the same packages: {refs ^ named}")
print(f"  valid CycloneDX 1.6, {len(bom['components'])} components")
PYTHON
}

check_binaries
check_empty_root
check_archive
check_deb
check_rpm
check_image
check_sbom
echo "all checks of dist/ passed"
