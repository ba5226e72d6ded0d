#!/usr/bin/env bash
# Packs one static binary as .tar.gz, .deb and .rpm. The same input gives the same bytes.
#
#   scripts/dist_packages.sh TARGET BINARY DOCUMENTS OUT
#
# DOCUMENTS is a folder with man/, completions/ and THIRD-PARTY.txt, which scripts/dist.sh makes. SOURCE_DATE_EPOCH sets all
# times.
set -euo pipefail

cd "$(dirname "$0")/.."
target=$1
binary=$2
documents=$3
out=$(realpath "$4")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=${target%%-*}
umask 022
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# same_times FOLDER: what packers record.
same_times() {
    find "$1" -print0 | xargs -0 touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
}

make_archive() {
    local name=weir-$version-$target
    local root=$scratch/archive/$name
    mkdir -p "$root"
    install -m 755 "$binary" "$root/weir"
    install -m 644 LICENSE README.md CHANGELOG.md packaging/weir-agent.service "$documents/THIRD-PARTY.txt" "$root"
    install -m 644 packaging/sysctl.conf "$root/10-weir.conf"
    cp -r "$documents/man" "$documents/completions" "$root"
    tar -C "$scratch/archive" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
}

# stage ROOT ZSH: the files of a package. Where zsh looks for completions differs.
stage() {
    local root=$1 page
    install -D -m 755 "$binary" "$root/usr/bin/weir"
    install -D -m 644 packaging/weir-agent.service -t "$root/usr/lib/systemd/system"
    install -D -m 644 packaging/sysctl.conf "$root/usr/lib/sysctl.d/10-weir.conf"
    install -D -m 644 packaging/agent.conf -t "$root/etc/weir"
    install -D -m 644 "$documents/completions/weir.bash" "$root/usr/share/bash-completion/completions/weir"
    install -D -m 644 "$documents/completions/weir.fish" -t "$root/usr/share/fish/vendor_completions.d"
    install -D -m 644 "$documents/completions/_weir" -t "$root/usr/share/zsh/$2"
    install -D -m 644 "$documents/THIRD-PARTY.txt" -t "$root/usr/share/doc/weir"
    mkdir -p "$root/usr/share/man/man1"
    for page in "$documents"/man/*.1; do
        gzip -9n <"$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
    done
}

make_deb() {
    local root=$scratch/deb architecture=amd64
    [ "$machine" != aarch64 ] || architecture=arm64
    stage "$root" vendor-completions
    install -m 644 packaging/deb/copyright -t "$root/usr/share/doc/weir"
    gzip -9n <CHANGELOG.md >"$root/usr/share/doc/weir/changelog.gz"
    install -D -m 755 packaging/deb/{postinst,prerm,postrm} -t "$root/DEBIAN"
    echo /etc/weir/agent.conf >"$root/DEBIAN/conffiles"
    (cd "$root" && find usr etc -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: weir
Version: $version
Architecture: $architecture
Maintainer: The authors of Weir <weir@localhost>
Section: net
Priority: optional
Depends: passwd
Installed-Size: $(du -k --apparent-size -s "$root" | cut -f 1)
Description: measures, carries and paces media over networks
 Weir measures what a network path does to media (RTT, loss, flows, path MTU,
 TCP), carries uncompressed video with FEC and ARQ, serves and paces VOD, and
 emulates networks on one machine. The agent that answers measurements runs as
 a systemd service once /etc/weir/token exists.
CONTROL
    same_times "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/weir_${version}_$architecture.deb" >/dev/null
}

make_rpm() {
    local root=$scratch/rpm
    stage "$root" site-functions
    install -m 644 LICENSE -t "$root/usr/share/doc/weir"
    same_times "$root"
    rpmbuild -bb --quiet --target "$machine-linux" --define "_topdir $scratch/rpmbuild" --define "_rpmdir $scratch" \
        --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "stage $root" \
        --define "weir_version $version" packaging/rpm/weir.spec
    mv "$scratch"/weir-*.rpm "$out"
}

make_archive
make_deb
make_rpm
