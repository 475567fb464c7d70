PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCHMARKS := $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))

.PHONY: setup test test-slow check bench demo docs clean

setup: $(READY)

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

test: setup
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: setup
	$(BIN)/python -m pytest -m slow

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/house/test_arrows.py
	$(BIN)/python docs/build.py --check

bench: setup
	set -e; for benchmark in $(BENCHMARKS); do $(BIN)/python $$benchmark; done

demo: setup
	$(BIN)/spokeshave demo

docs: setup
	$(BIN)/python docs/build.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
