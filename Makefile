# `make demo`; `make check`, the inner loop, in a minute; `make test`, everything; `make docs`, the
# site. All make .venv on first use and never reinstall needlessly.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: demo tutorial tasks docs lint check test test-pages attack release-check bench clean

demo: $(VENV)/.installed
	$(BIN)/python examples/tour.py

tutorial: $(VENV)/.installed
	rm -rf out/tutorial
	$(BIN)/python tools/tutorial.py --folder out/tutorial

# what the task pages print, again
tasks: $(VENV)/.installed-dev
	$(BIN)/python tools/task_pages.py --write

# docs/_build/html, with every example run, warnings as errors, and every page opened in a browser
docs: $(VENV)/.installed-docs
	rm -rf docs/_build docs/api docs/gallery docs/concepts
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q docs docs/_build/html
	$(BIN)/python tools/site_check.py --write

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow and not network"

# two processes share two cores: with two threads each, they wait for one another
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not long"

# whole pages run as their readers would: the tutorial, the task pages; and every candidate at once
test-pages: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m long

# hostile input, kills, faults and sanitizers: half an hour; writes the tables of docs/hardening
attack: $(VENV)/.installed-dev
	$(BIN)/python tools/attack_tables.py --write || failed=tables; \
	for attack in grids store native kills; do \
	  $(BIN)/python tools/attack_$$attack.py || failed="$$failed $$attack"; done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

# wheel and sdist in an empty environment without this folder; `make release-check PYTHONS="3.12 3.13"`
PYTHONS  := 3.11
VERSIONS := newest
release-check: $(VENV)/.installed-dev
	$(BIN)/python tools/release_check.py --python $(PYTHONS) --versions $(VERSIONS)

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/bench.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[study]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build docs/api docs/gallery docs/concepts build dist out .mypy_cache .ruff_cache .pytest_cache
