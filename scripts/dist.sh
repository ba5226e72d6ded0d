#!/usr/bin/env bash
# Makes the files of a release in dist/: for x86-64 and arm64 a static binary, its debug information, .tar.gz, .deb and
# .rpm; an OCI image of both; SBOM and SHA256SUMS. docs/install.md describes them.
#
# Environment:
#   TARGETS             default "x86_64-unknown-linux-musl aarch64-unknown-linux-musl"
#   SOURCE_DATE_EPOCH   time of all files, Unix seconds; default that of the commit
#   WEIR_COMMIT         what `weir --version` names; default the commit, with -dirty where files differ from it
set -euo pipefail

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
targets=${TARGETS:-x86_64-unknown-linux-musl aarch64-unknown-linux-musl}
out=dist
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export WEIR_COMMIT=${WEIR_COMMIT:-$(git describe --always --abbrev=9 --dirty --exclude '*')}
export LC_ALL=C TZ=UTC
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The documents are made by the binary that this machine can run.
own=$(uname -m)-unknown-linux-musl
[[ " $targets " == *" $own "* ]] || {
    echo "error: TARGETS has to contain $own, which makes the manual pages" >&2
    exit 3
}

# split TARGET: the binary without symbols, and a file of its own with them, which debuggers find by its name.
split() {
    local built=target/$1/dist/weir name=weir-$1 sysroot
    sysroot=$(rustc --print sysroot)
    local objcopy=$sysroot/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-objcopy
    # It looks for LLVM in a folder of its own, which not every version of the toolchain fills.
    local -x LD_LIBRARY_PATH=$sysroot/lib
    "$objcopy" --only-keep-debug --compress-debug-sections=zlib "$built" "$out/$name.debug"
    "$objcopy" --strip-all --add-gnu-debuglink="$out/$name.debug" "$built" "$out/$name"
    chmod 755 "$out/$name"
    chmod 644 "$out/$name.debug"
}

make_documents() {
    local weir=$out/weir-$own
    mkdir -p "$scratch/documents/completions"
    "$weir" man --out "$scratch/documents/man"
    "$weir" completions bash >"$scratch/documents/completions/weir.bash"
    "$weir" completions fish >"$scratch/documents/completions/weir.fish"
    "$weir" completions zsh >"$scratch/documents/completions/_weir"
    scripts/dist_dependencies.py licences >"$scratch/documents/THIRD-PARTY.txt"
}

make_image() {
    local target architecture folders=()
    for target in $targets; do
        architecture=amd64
        [ "${target%%-*}" != aarch64 ] || architecture=arm64
        mkdir "$scratch/$architecture"
        install -m 755 "$out/weir-$target" "$scratch/$architecture/weir"
        install -m 644 LICENSE "$scratch/documents/THIRD-PARTY.txt" "$scratch/$architecture"
        folders+=("$architecture=$scratch/$architecture")
    done
    scripts/dist_image.py "$out/weir-$version-oci.tar" "$version" "$WEIR_COMMIT" "${folders[@]}"
}

rm -rf "$out"
mkdir -p "$out"
for target in $targets; do
    echo "==> weir for $target"
    scripts/dist_compile.sh "$target"
    split "$target"
done
echo "==> manual pages, completions, licences"
make_documents
for target in $targets; do
    echo "==> packages for $target"
    scripts/dist_packages.sh "$target" "$out/weir-$target" "$scratch/documents" "$out"
done
echo "==> image, SBOM, checksums"
make_image
scripts/dist_dependencies.py sbom "$WEIR_COMMIT" >"$out/weir-$version.cdx.json"
(cd "$out" && sha256sum -- * >"$scratch/SHA256SUMS")
mv "$scratch/SHA256SUMS" "$out"
ls -l "$out"
