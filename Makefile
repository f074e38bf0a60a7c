# Every target sets up what it needs: a virtual environment, the packages, the model. Repeated runs skip what is done.
#
#   make demo       set-up, then: a 135M-parameter model learns to book flights, with a report at the end
#   make test       set-up, then: all tests
#   make check      set-up, then: lint, format, types (what CI runs beside the tests)
#   make docs       set-up, then: docs/environments from the environments, docs/results.md from docs/results
#   make results    set-up, then: the numbers of docs/results.md for Booking (resumable; takes hours)
#   make bench-envs set-up, then: environment steps a second, beside other suites from PyPI (docs/benchmarks.md)
#   make bench-sandbox  set-up, then: isolated runs a second, beside cold interpreters (docs/sandbox.md)
#   make clean      removes build products and caches;  make distclean  the virtual environment, too
#
# Variables:
#   PYTHON          interpreter for a new virtual environment (3.11 or newer)
#   TORCH           what pip is told to install torch. A torch that is in .venv already is left alone. For CUDA:
#                   make demo TORCH='torch --index-url https://download.pytorch.org/whl/cu130'

VENV := .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
TORCH ?= torch --constraint constraints.txt --no-deps --extra-index-url https://download.pytorch.org/whl/cpu --retries 1
NEW_ENOUGH := 'import sys; sys.exit(sys.version_info < (3, 11) and "slmagent needs Python 3.11 or newer: make PYTHON=...")'
TORCH_VERSION := $(VENV)/bin/python -c 'from importlib.metadata import version; print("torch==" + version("torch"))'
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := $(VENV)/.set-up

.PHONY: demo test check docs results bench-envs bench-sandbox model clean distclean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { $(PYTHON) -c $(NEW_ENOUGH) && { $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); false; }; }; }
	@$(TORCH_VERSION) >/dev/null 2>&1 || $(PIP) install $(TORCH)
	@# Whatever torch is there now stays: its version constrains everything that is installed from here on.
	@grep -v '^torch==' constraints.txt > $(VENV)/constraints.txt
	@$(TORCH_VERSION) >> $(VENV)/constraints.txt
	$(PIP) install --constraint $(VENV)/constraints.txt --editable '.[all,dev]'
	@touch $@

# The models are needed by some tests only; those say so and are skipped where they cannot be had.
model: $(STAMP)
	@$(BIN)/slmagent models pull || true
	@$(BIN)/slmagent models pull all-minilm-l6-v2 || true

demo: $(STAMP)
	$(BIN)/slmagent demo

test: model
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: model
	$(BIN)/slmagent envs docs
	$(BIN)/python benchmarks/results_document.py

bench-envs: $(STAMP)
	$(BIN)/python benchmarks/envs.py

bench-sandbox: $(STAMP)
	$(BIN)/python benchmarks/sandbox.py

results: model
	$(BIN)/python benchmarks/results.py

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
