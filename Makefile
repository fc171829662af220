# The commands of the README. Each builds its own environment in .venv first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce playground test test-slow test-browser fuzz bench clean

reproduce: $(VENV)/.installed
	$(BIN)/lupi reproduce

playground: $(VENV)/.installed
	$(BIN)/lupi serve

# A worker has one core: left alone, threads of OpenBLAS wait for each other on cores that others
# use, and small factorisations take many times as long.
test test-slow test-browser fuzz: export OPENBLAS_NUM_THREADS = 1

# SlipCover counts lines by changed bytecode. A tracer, as coverage.py's before Python 3.12, stops at
# every line of JAX as well: that took a third of the time.
test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/python -m slipcover --json --out .coverage.json -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" -W "ignore:Module already imported so cannot be rewritten; slipcover"
	$(BIN)/python -m slipcover --merge .coverage.json --out .coverage.json --skip-covered --fail-under 95

test-slow: $(VENV)/.installed
	$(BIN)/pytest -n 2 -m slow

# The playground in a real browser; what it has of these `make test` runs a small part of.
test-browser: $(VENV)/.installed
	@command -v chromium || command -v chromium-browser || command -v chrome || { echo "Chromium is needed: on Debian, apt-get install chromium"; exit 2; }
	$(BIN)/pytest tests/browser

# An attack on the program, as long as you like: make fuzz MINUTES=30 SEED=0
MINUTES ?= 30
SEED ?= 0
fuzz: $(VENV)/.installed
	$(BIN)/python tests/fuzz --minutes $(MINUTES) --seed $(SEED)

# All parts, or some: make bench PARTS="speed latency"
bench: $(VENV)-bench/.installed
	$(VENV)-bench/bin/python -m benchmarks $(PARTS)

# PyTorch and torchdiffeq are the rival, and nothing that lupi itself needs: an environment apart.
$(VENV)-bench/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --constraint constraints.txt --editable ".[serve]" torch==2.13.0 torchdiffeq playwright
	touch $@

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-bench .coverage.json .pytest_cache .ruff_cache .hypothesis
