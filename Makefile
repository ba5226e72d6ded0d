# Weir: build, try, check, measure. `make help` lists the targets.
SHELL := bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# rustup's folder is often missing from the PATH of the shell that installed it, and Debian keeps ip and ethtool
# out of the PATH of ordinary users.
# .tools/python has Debian's Python where another one is first.
export PATH := $(CURDIR)/.tools/python:$(PATH):$(HOME)/.cargo/bin:/usr/local/sbin:/usr/sbin:/sbin

SCRIPTS := .ci/run $(wildcard scripts/*.sh benches/e2e/*.sh packaging/deb/p*)

.PHONY: images testbed help demo test lint build dist check-dist soak fuzz bench diagnosis clean prepare-demo prepare-test prepare-bench prepare-dist prepare-check-dist test-crates-and-page test-analysis test-page page fuzz-smoke

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: prepare-demo ## survey a path between two hosts made on this machine
	@echo "==> cargo build --profile demo"
	@cargo build --profile demo -p weir-cli
	@scripts/demo.sh

test: prepare-test lint test-crates-and-page fuzz-smoke ## every check: lint, tests, the page in a browser, a short run of each fuzz target
	@echo "==> all checks passed"

lint: prepare-test ## format, clippy, syntax of the scripts, language
	@echo "==> cargo fmt --check"
	@cargo fmt --all --check
	@cargo fmt --manifest-path fuzz/Cargo.toml --check
	@echo "==> cargo clippy, warnings are errors"
	@cargo clippy --workspace --all-targets -- -D warnings
	@echo "==> bash -n $(SCRIPTS)"
	@for script in $(SCRIPTS); do bash -n "$$script" || exit 1; done
	@echo "==> actionlint"
	@.tools/bin/actionlint -shellcheck= -pyflakes=
	@echo "==> scripts/check_language.sh"
	@scripts/check_language.sh

build: ## the release binary, target/release/weir
	@echo "==> cargo build --release"
	@cargo build --release

dist: prepare-dist ## the files of a release for x86-64 and arm64, in dist/
	@scripts/dist.sh

check-dist: prepare-check-dist ## start, install and unpack what make dist has made
	@scripts/check_dist.sh

soak: prepare-test ## tests that bound real time or take long, on a machine that does nothing else
	@cargo test --workspace --no-fail-fast --test soak -- --test-threads=1
	@cd web && npm ci --no-audit --no-fund --loglevel=error && WEIR_SOAK=1 npm run --silent test:origin

fuzz: prepare-test ## each fuzz target for 200 s (FUZZ_SECONDS=n for another time)
	@FUZZ_SECONDS="$${FUZZ_SECONDS:-200}" scripts/fuzz_smoke.sh

bench: prepare-bench build ## kernels (criterion), then whole paths beside iperf3, irtt, tbf, SRT, RIST, nginx and wrk
	@echo "==> cargo bench"
	@cargo bench --workspace
	@echo "==> benches/e2e/rtt.sh"
	@benches/e2e/rtt.sh
	@echo "==> benches/e2e/flows.sh"
	@benches/e2e/flows.sh
	@echo "==> benches/e2e/link.sh"
	@benches/e2e/link.sh
	@echo "==> benches/e2e/carry.sh"
	@benches/e2e/carry.sh
	@echo "==> benches/e2e/carry_links.sh"
	@benches/e2e/carry_links.sh
	@echo "==> benches/e2e/origin.sh"
	@benches/e2e/origin.sh
	@echo "==> benches/e2e/load.sh"
	@benches/e2e/load.sh
	@echo "==> benches/e2e/pacing.sh"
	@benches/e2e/pacing.sh

diagnosis: ## the tables of docs/diagnosis.md, from 200 random networks of each kind (NETWORKS=n for others)
	@cargo run --release -p weir-simulate --example diagnosis_table -- --networks "$${NETWORKS:-200}" --seed "$${SEED:-2026}"

testbed: build ## the published experiment of an origin before storage, some 10 minutes (needs root, nginx and ffmpeg)
	@target/release/weir testbed run testbeds/{a,b,c,d,e,packaged}.toml --published testbeds/published/unified-streaming.toml \
		--db weir-testbed.db -o testbed.md

images: build ## the pictures of the README, from a run made now (needs chromium)
	@scripts/images.sh

clean: ## remove what the other targets made
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts .tools dist
	rm -rf web/node_modules web/tests/artefacts
	rm -f weir-demo.db weir-demo.db-wal weir-demo.db-shm weir-demo.html
	rm -f weir-testbed.db weir-testbed.db-wal weir-testbed.db-shm testbed.md

prepare-demo:
	@scripts/install_prerequisites.sh demo

prepare-test:
	@scripts/install_prerequisites.sh test

prepare-dist:
	@scripts/install_prerequisites.sh dist

prepare-check-dist:
	@scripts/install_prerequisites.sh check-dist

prepare-bench:
	@scripts/install_prerequisites.sh bench

test-crates-and-page:
	@scripts/test_crates_and_page.sh

# With the binary that cargo test builds.
test-analysis:
	@scripts/check_analysis.sh

# `npm run dist` fails if the page in the repository, which cargo embeds, is not the one that its sources give.
test-page: web/node_modules/.package-lock.json
	@cd web && npm run --silent check && npm run --silent dist && npm run --silent test:browser

page: web/node_modules/.package-lock.json ## build the page of reports (web/), which takes Node; without it cargo takes the page in the repository
	@cd web && npm run --silent build

# npm writes this file when all is installed.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@cd web && npm ci --no-audit --no-fund --loglevel=error

fuzz-smoke:
	@echo "==> each fuzz target for $${FUZZ_SECONDS:-2} s"
	@scripts/fuzz_smoke.sh
