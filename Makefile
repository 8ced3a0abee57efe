# `make demo` and `make test` each do the whole job on a machine that has Python 3.11+ and make.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo live serve test quick browser compiled test-long golden bench reproduce docs docs-links figures lint clean

help:
	@echo "make demo       see it work: a real stream, four methods, one table"
	@echo "make live       the same in a browser: the service with three real streams running"
	@echo "make serve      the decision service on 127.0.0.1:8470, kept in suffice.db; see docs/service"
	@echo "make test       ruff, mypy --strict, import-linter, pytest with doctests"
	@echo "make quick      while you work, under a minute: the checks of the text, and the tests of the core and of the service in"
	@echo "            plain Python; not compiled code, browser, PostgreSQL, server processes, mutants, lab, client or docs"
	@echo "make test-long  the full-length variants of the tests"
	@echo "make golden     what is decided and certified in some 280 configurations is as recorded, plain and compiled"
	@echo "make bench      time per decision beside NumPy, River, MABWiser, Vowpal Wabbit, PyBandits and MAPIE;"
	@echo "            AGAINST=COMMIT: beside that version of suffice, in one run, as ratios with intervals"
	@echo "make reproduce  every figure, corollary and theorem of the paper, with verdicts (LEVEL=--quick, LEVEL=--deep)"
	@echo "make docs       the documentation as a site, in build/docs; links inside it are checked"
	@echo "make figures    every picture of README and the documentation, and the outputs of the gallery"
	@echo "make docs-links the links to other sites, where there is a network"
	@echo "make clean      remove .venv and caches"

demo: $(VENV)/cli.stamp
	@$(BIN)/suffice demo

live: $(VENV)/live.stamp
	@$(BIN)/suffice demo --live

serve: $(VENV)/service.stamp
	@$(BIN)/suffice serve

test: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory -j2 lint browser compiled
	$(BIN)/python -m pytest -n auto -q

# The core, and the service and the client in one process, in plain Python: what a change touches would first have to be compiled.
QUICK := README.md docs/start.md tests/test_house.py tests/promise tests/menu tests/selector $(wildcard \
	tests/service/test_selectors.py tests/service/test_plans.py tests/service/test_shards.py tests/service/http/test_api.py)

quick: lint
	SUFFICE_NO_COMPILE=1 $(BIN)/python -m pytest -n auto -q -m "not browser and not postgres and not compiled" \
		--ignore=tests/promise/test_mutations.py $(QUICK)

# Beside the checks of the text: compiled once here, not by each process of the tests.
compiled: $(VENV)/dev.stamp
	@$(BIN)/python -c "from suffice.precompile import warmup; warmup()"

# A Chromium for the tests of the page: found, or installed where this machine allows. Without one they are skipped, and say so.
browser: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.support.browser --install || true

test-long: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto -q -m long

# For changes that are to alter nothing; those that are to alter something record it: see tests/golden.
golden: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.golden

# Peers are installed one by one: one that cannot be is reported as such, and the others are measured.
PEERS := river mabwiser vowpalwabbit pybandits mapie

# AGAINST=COMMIT: instead of the peers, that version of suffice; MORE="--quick", "--only service", "--cold" and the like go along.
bench: $(VENV)/bench.stamp
ifdef AGAINST
	$(BIN)/python -m benchmarks.against $(AGAINST) $(MORE)
else
	@for peer in $(PEERS); do $(PIP) $$peer >/dev/null 2>&1 || echo "could not install $$peer"; done
	$(BIN)/python -m benchmarks
endif

reproduce: $(VENV)/lab.stamp
	$(BIN)/suffice reproduce $(LEVEL)

# The warnings of Sphinx are errors, links into nowhere among them; links.py looks at what came out.
docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -q -W -n --keep-going -b html docs build/docs
	@$(BIN)/python docs/_ext/links.py build/docs
	@echo "open build/docs/index.html"

# The picture of README, those of docs/pictures.md, and what the gallery shows: figures and outputs.
figures: $(VENV)/docs.stamp
	$(BIN)/python -m docs._figures
	$(BIN)/python examples/render.py

docs-links: $(VENV)/docs.stamp
	@$(BIN)/python -c "import socket; socket.create_connection(('www.rfc-editor.org', 443), 10)" 2>/dev/null \
	|| { echo "there is no network here: links to other sites were NOT checked"; exit 1; }
	$(BIN)/sphinx-build -q -b linkcheck docs build/links

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

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
