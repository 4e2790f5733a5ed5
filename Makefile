# Every target creates its virtual environment and installs its dependencies.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
BENCH := $(VENV)-bench
DEMO ?= kgsync-demo
WORKERS ?= 2
RECORD := python -m tests.benchmarks.record

.PHONY: bench clean demo lint test torture

demo: $(VENV)/.installed
	$(BIN)/kgsync demo $(DEMO)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

torture: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m torture
	$(BIN)/python -m tests.torture

bench: $(VENV)/.installed-dev $(BENCH)/.installed
	$(BIN)/$(RECORD) Reading tests.benchmarks
	$(BIN)/$(RECORD) Procedure tests.benchmarks.procedure
	$(BIN)/$(RECORD) Endpoints tests.benchmarks.endpoints
	$(BIN)/$(RECORD) Literals tests.benchmarks.literals
	$(BIN)/$(RECORD) Compiling tests.benchmarks.compiling
	$(BIN)/$(RECORD) 'Updates against retraining, two versions' tests.benchmarks.updates --quick
	$(BENCH)/bin/$(RECORD) Training tests.benchmarks.training throughput fused --seconds 2
	$(BENCH)/bin/$(RECORD) 'Two threads' tests.benchmarks.training scaling --epochs 20 --seconds 8
	$(BENCH)/bin/$(RECORD) Ranking tests.benchmarks.training ranking --repeat 1 --seconds 2 --tested 500
	$(BENCH)/bin/$(RECORD) Quality tests.benchmarks.training quality --quality-epochs 10
	$(BENCH)/bin/$(RECORD) 'Quality, ten seeds' tests.benchmarks.training quality --quality-epochs 10 --seeds 10 --models analogy transh
	$(BENCH)/bin/$(RECORD) 'Equal quality' tests.benchmarks.training race retraining --scratch-epochs 500
	$(BENCH)/bin/$(RECORD) 'A change of 1 %, and PyKEEN' tests.benchmarks.training change --tested 200 --their-seconds 240
	$(BENCH)/bin/$(RECORD) 'A large update' tests.benchmarks.training update --steps pair
	$(BENCH)/bin/$(RECORD) Growth tests.benchmarks.training growth
	$(BIN)/$(RECORD) Alignment tests.benchmarks.alignment
	$(BIN)/$(RECORD) 'Scheduled sync' tests.benchmarks.soak
	$(BIN)/$(RECORD) 'Looks at a live graph' tests.benchmarks.live_reading
	$(BIN)/$(RECORD) 'A graph that moves' tests.benchmarks.moving
	$(BIN)/$(RECORD) 'Small steps' tests.benchmarks.small_steps
	$(BIN)/$(RECORD) 'A long history' tests.benchmarks.history --versions 1000 --window 100 --open

clean:
	rm -rf $(VENV) $(BENCH) $(DEMO) build dist *.egg-info

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(BENCH)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@
