# Each target makes its own virtual environment and installs what it needs.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
DEMO ?= kgsync-demo

.PHONY: bench clean demo lint test

demo: $(VENV)/.installed
	$(BIN)/kgsync demo $(DEMO)

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks
	$(BIN)/python -m tests.benchmarks.procedure

clean:
	rm -rf $(VENV) $(DEMO) build dist *.egg-info

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
