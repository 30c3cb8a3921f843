# Everything starts from a fresh clone with nothing but Python >= 3.10 (with venv) and make:
#   make demo    a virtual environment, opkit in it, and the 60-second tour
#   make test    the same with the test extra, and the whole test suite
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# One BLAS thread per process: threaded BLAS and parallel tests fight for the same cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
# Tests start hundreds of processes; each would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick lint bench docs clean

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.opkit: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.opkit-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.opkit

demo: $(VENV)/.opkit  ## scaffold an op in a temporary folder, build, check and run it
	$(BIN)/opkit demo

# One seed: the same commit gives the same result. "pytest" without it looks for new counterexamples.
test: $(VENV)/.opkit-test  ## run the whole test suite
	$(BIN)/python -m compileall -q opkit
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --hypothesis-seed=0 $(ARGS)

# What breaks first, in half a minute: the layers and what is public, both modes, the facades, the compiler of
# definitions, the loader, the verdicts on single checks; no process is started but for a few.
QUICK := tests/architecture tests/checker/test_verdict.py tests/checker/test_ladder.py tests/checker/test_causes.py \
	tests/cli/test_help.py tests/eager tests/paddle tests/project/test_loading.py tests/reporters tests/shim tests/spec/test_codes.py tests/static
quick: $(VENV)/.opkit-test  ## a part of the tests, in half a minute
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --hypothesis-seed=0 -m "not peer" $(QUICK) $(ARGS)

lint: $(VENV)/.opkit-test  ## ruff, mypy --strict and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check opkit sample_ops benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# An interpreter with torch for the benchmark that compares with it: make bench PEER_PYTHON=/path/to/python
PEER_PYTHON ?= $(BIN)/python
BENCHMARKS := startup load_op spec_speed ops_overhead dynamic_chain dynamic_scale static_chain static_scale static_memory \
	static_train job_train gradcheck_speed growth
bench: $(VENV)/.opkit-test  ## the benchmarks, all of them, also where one misses its aim; build/bench.json
	status=0; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || status=1; done; \
	echo "== beside_torch"; PYTHONPATH=. $(PEER_PYTHON) benchmarks/beside_torch.py --json build/bench.json || status=1; exit $$status

docs: $(VENV)/.opkit  ## the documentation as a site, in build/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5'
	$(BIN)/python docs/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:  ## remove build output and caches; the virtual environment stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find opkit tests benchmarks sample_ops -name __pycache__ -type d -prune -exec rm -rf {} +
