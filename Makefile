# Everything runs inside .venv, made from the lock file. A fresh machine needs Python 3.11+ with pip and venv, and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Where this is set, each of the many processes of the tests would compile all modules anew: three times the time to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help product setup demo check test servers lint bench docs lock clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

product: .venv/product  ## install what the product needs, from its lock file, into .venv

.venv/product: requirements/product.lock pyproject.toml
	@echo "Setting up .venv (half a minute, once)"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes -r requirements/product.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

setup: .venv/ready  ## install what the tests need, too

.venv/ready: .venv/product requirements/dev.lock requirements/torch.lock
	@echo "Installing what the tests need (two minutes, once)"
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@$(PIP) install --no-compile --require-hashes -r requirements/torch.lock 2> .venv/torch.log || \
	  echo "No CPU build of torch is offered here (.venv/torch.log), so its tests will be skipped. PIP_FIND_LINKS may name a place that has one."
	@touch $@

demo: product  ## a guided tour: see an attack work on exact counts and fail on private ones
	@$(BIN)/discreet demo demo-runs/$$(date +%Y%m%d-%H%M%S)

check: setup lint  ## lint, types, import rule, and the quick tests: no server, no Spark, no torch
	$(BIN)/pytest -m "not slow"

test: setup lint servers  ## lint, types, import rule, then all tests
	$(BIN)/pytest

servers:
	@tests/servers/install.sh

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/bench-ready: .venv/ready requirements/bench.lock
	@$(PIP) install --require-hashes -r requirements/bench.lock
	@touch $@

bench: .venv/bench-ready  ## speed side by side with the alternatives, as ratios
	$(BIN)/python bench/run.py

docs: setup  ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
EXTRAS := pyproject.toml $(addprefix --extra ,accounting fast learn mcp postgres server spark)

lock: setup  ## resolve the lock files anew from pyproject.toml
	@$(PIP) install uv
	$(COMPILE) $(EXTRAS) --group dev --output-file requirements/dev.lock
	$(COMPILE) pyproject.toml --group build --constraint requirements/dev.lock --output-file requirements/product.lock
	$(COMPILE) $(EXTRAS) --group bench --output-file requirements/bench.lock
	$(COMPILE) --group torch --constraint requirements/dev.lock $(addprefix --find-links ,$(PIP_FIND_LINKS)) --output-file requirements/torch.lock

clean:  ## remove everything that was built
	rm -rf .venv site dist demo-runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
