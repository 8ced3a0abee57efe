# `make demo` and `make test` each do the whole job on a machine that has Python 3.11+ and make.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo serve test test-long bench reproduce lint clean

help:
	@echo "make demo       see it work: a real stream, four methods, one table"
	@echo "make serve      the decision service on 127.0.0.1:8470, kept in suffice.db; see docs/service"
	@echo "make test       ruff, mypy --strict, pytest with doctests"
	@echo "make test-long  the full-length variants of the tests"
	@echo "make bench      time per decision beside NumPy, River, MABWiser, Vowpal Wabbit, PyBandits and MAPIE"
	@echo "make reproduce  every figure, corollary and theorem of the paper, with verdicts (LEVEL=--quick, LEVEL=--deep)"
	@echo "make clean      remove .venv and caches"

demo: $(VENV)/cli.stamp
	@$(BIN)/suffice demo

serve: $(VENV)/service.stamp
	@$(BIN)/suffice serve

test: lint
	$(BIN)/python -m pytest -n auto -q

test-long: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto -q -m long

# Peers are installed one by one: one that cannot be is reported as such, and the others are measured.
PEERS := river mabwiser vowpalwabbit pybandits mapie

bench: $(VENV)/bench.stamp
	@for peer in $(PEERS); do $(PIP) $$peer >/dev/null 2>&1 || echo "could not install $$peer"; done
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/lab.stamp
	$(BIN)/suffice reproduce $(LEVEL)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One stamp per extra: installed again only when pyproject.toml changes.
$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing suffice[$*] into $(VENV) ..."
	@$(PIP) -e '.[$*]'
	@touch $@

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "suffice needs Python 3.11 or later; set PYTHON=/path/to/it"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "could not make a virtual environment (on Debian: apt install python3-venv)"; exit 1; }

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
