# Needs Rust, Python 3.11 or newer and a C linker; everything else is installed below.

# Recipes share one release build: loadgen is measured and tested as it is used.
CARGO := cargo
CARGO_FLAGS := --release --locked
UV_VERSION := 0.13.8
# uv from the PATH, or one in a folder of its own, as loadgen itself does it.
UV := $(or $(shell command -v uv),.loadgen/uv/bin/uv)
PYTHON := .venv/bin/python

.PHONY: help run build test test-rust test-python lint fmt bench clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: ## Compare the four servers over Redis
	$(CARGO) run $(CARGO_FLAGS) -- --scenario redis3 --workers 4

build: ## Build loadgen
	$(CARGO) build $(CARGO_FLAGS)

test: test-rust test-python ## Run every test

test-rust: $(PYTHON)
	$(CARGO) test $(CARGO_FLAGS)

# The binary that the tests in Rust run, so that nothing is built twice.
test-python: $(PYTHON)
	$(CARGO) test $(CARGO_FLAGS) --no-run
	$(PYTHON) -m pytest

lint: $(PYTHON) ## Check format, lints and types
	$(CARGO) fmt --check
	$(CARGO) clippy $(CARGO_FLAGS) --all-targets -- --deny warnings
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy

fmt: $(PYTHON) ## Format everything
	$(CARGO) fmt
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

bench: ## Measure what loadgen's own parts cost
	$(CARGO) bench --locked

clean: ## Remove what was built, but no results
	$(CARGO) clean
	rm -rf .venv .loadgen

# The targets' packages and the tools for developers, as locked.
$(PYTHON): pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen
	touch $(PYTHON)

.loadgen/uv/bin/uv:
	python3 -m venv .loadgen/uv
	.loadgen/uv/bin/pip install --quiet uv==$(UV_VERSION)
