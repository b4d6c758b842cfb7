# Two commands: `make demo` and `make test`. Both make .venv on first use and never reinstall needlessly.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: demo tutorial test bench clean

demo: $(VENV)/.installed
	$(BIN)/python examples/tour.py

tutorial: $(VENV)/.installed
	rm -rf out/tutorial
	$(BIN)/python tools/tutorial.py --folder out/tutorial

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/bench.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache
