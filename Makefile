# make demo    from a compressed file to models, scores and pictures
# make test    lint and tests: what has to pass before anything lands
# make docs    the documentation, into docs/_build/html
# make bench   speed, as ratios measured in one run
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
DATA := $(or $(SURELINE_DATA),../shared/data)
SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE $(shell find src -type f -not -path '*/__pycache__/*' 2>/dev/null)

CXX_FILES = $(shell find src benchmarks fuzz -name '*.?pp')

# The first Python that is new enough, or the one named by PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

.PHONY: help install tools demo test test-engines docs quicktest lint format fuzz torture torture-serve sanitize mutants bench bench-batch bench-large bench-serve bench-width bench-selection bench-gpu bench-scale test-gpu confidence defaults results wheel test-wheel clean

help:
	@sed -n 's/^# make /make /p' Makefile
	@echo "make lint    formatting, types, layers, compiler warnings      make results  the papers' tables and figures, into docs/results (hours)"
	@echo "make wheel   an abi3 wheel in dist/, checked                   make test-wheel   it, on every Python from 3.11 to 3.14 found here"
	@echo "make test-engines   shards on Dask, Ray and Spark, with workers killed"
	@echo "make clean   remove what was built"
	@echo "make fuzz    a million inputs to every parser (an hour)        make torture  every promise, forty times as long (an hour)"
	@echo "make torture-serve   a million requests, 50 kills, a full disk (an hour)"
	@echo "make sanitize   the core and its threads under sanitizers (an hour)"
	@echo "make mutants    small changes that the tests must notice (hours)"
	@echo "make bench-width   time a row and memory, as the width grows   make bench-batch, bench-large   BCW against its rivals"
	@echo "make bench-serve   the service against bare ones, by wrk"
	@echo "make test-gpu   BCW on a CUDA device against the CPU           make bench-gpu   its speed (GPU_PYTHON=python3 if CuPy is there)"
	@echo "make bench-scale   shards against one machine (an hour)"
	@echo "make bench-selection   selectors of features, compared        make defaults   untuned against tuned (half an hour)"

install: $(VENV)/installed

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "sureline needs Python 3.11 or newer and found none: install it, or name it with 'make PYTHON=/path/to/python3'." >&2; exit 1; }
	@command -v $(firstword $(CXX)) c++ g++ clang++ >/dev/null 2>&1 || { echo "sureline needs a C++20 compiler and found none: install GCC 11 or Clang 14 or newer (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install)." >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv module is missing (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; }

# Bytecode of the dependencies is left to their first import, since most of their modules are never imported. 0 is pip's
# way to say yes to an option whose name begins with no; the variable, unlike the option, also holds where pip builds.
PIP = PIP_NO_COMPILE=0 $(BIN)/python -m pip --quiet --disable-pip-version-check
# What extras of pyproject.toml ask for, without sureline itself.
EXTRAS = $(BIN)/python -c 'import sys, tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	print(*(line for name in sys.argv[1:] for line in extras[name]), sep="\n")'

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	@echo "Building sureline into $(VENV) (a minute or two) ..."
	$(PIP) install -Ccmake.define.SURELINE_WARNINGS_AS_ERRORS=ON ".[all]"
	@$(BIN)/python -m compileall -q "$$($(BIN)/python -c 'import importlib.util as u; print(u.find_spec("sureline").submodule_search_locations[0])')"
	@touch $@

# What tests and lint need besides.
tools: $(VENV)/tools

$(VENV)/tools: $(VENV)/installed pyproject.toml
	@$(EXTRAS) test lint > $(VENV)/tools.txt
	$(PIP) install -r $(VENV)/tools.txt
	@touch $@

demo: install
	$(BIN)/python -m sureline.demo

# BLAS with threads of its own in each of the two processes would only get in its own way.
test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not engines" tests

# The contract of shards on Dask, Ray and Spark, with 50 workers killed on each: one engine at a time, as their workers share the cores.
test-engines: $(VENV)/engines
	@for module in ray pyspark; do $(BIN)/python -c "import $$module" 2>/dev/null || echo "$$module is missing: what needs it is not tested." >&2; done
	@command -v java >/dev/null || echo "Java is missing, so Spark is not tested (Debian, Ubuntu: apt install openjdk-17-jre-headless)." >&2
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m engines tests

# Java is installed where that is permitted. What could not be installed is tried again the next time.
$(VENV)/engines: $(VENV)/tools pyproject.toml
	@for name in ray spark; do $(EXTRAS) $$name > $(VENV)/engines.txt; $(PIP) install -r $(VENV)/engines.txt || missing=1; done; \
	if ! command -v java >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then { apt-get update && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1; fi; \
	[ -n "$$missing" ] || touch $@

# Warnings are errors. Pages that did not change are kept; `make clean` removes them.
docs: $(VENV)/docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html."

$(VENV)/docs: $(VENV)/installed pyproject.toml
	@$(EXTRAS) docs > $(VENV)/docs.txt
	$(PIP) install -r $(VENV)/docs.txt
	@touch $@

# A million made-up inputs for each parser and for the model reader, with clang's address and undefined behaviour checkers.
RUNS ?= 1000000
fuzz: tools
	for target in libsvm vw names; do fuzz/run.sh $$target $(RUNS) || exit 1; done
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris cmake ninja nanobind
	fuzz/run_model.sh $(BIN)/python $(RUNS)

# Every test that is marked `torture`, so many times as long as in `make test`: kill and resume, threads, forged models and
# checkpoints, bombs, outputs against inputs, files that change.
TIMES ?= 40
torture: tools
	SURELINE_TORTURE=$(TIMES) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -o timeout=0 -m "torture and not engines" tests

# A million requests on 256 connections, 50 kills, a full disk (as root), and 20,000 requests made from the description.
torture-serve: tools
	SURELINE_TORTURE_SERVE=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -s -o timeout=0 tests/serve/test_torture.py tests/serve/test_schema.py

# The core's tests, and threads that share models of all kinds, under clang's address and thread sanitizers.
sanitize: tools
	@$(BIN)/python -c 'import cmake, ninja, nanobind' 2>/dev/null || $(PIP) install cmake ninja 'nanobind>=3.1,<4'
	tools/sanitize.sh $(BIN)/python address
	tools/sanitize.sh $(BIN)/python thread

# Small changes of the code that tests must notice, drawn at random: SAMPLE=0 takes all. First those that are known to be at
# boundaries, then Python, then the rules, loops, spaces and solvers of the C++ core (all of them in one build).
SAMPLE ?= 100
MUTATION := tools/mutation
mutants: tools
	@$(BIN)/python -c 'import cmake, ninja, nanobind' 2>/dev/null || $(PIP) install cmake ninja 'nanobind>=3.1,<4'
	$(BIN)/python $(MUTATION)/python.py --list $(MUTATION)/boundaries.txt --tests tests/training/test_boundaries.py tests/report/test_report.py; \
		listed=$$?; $(BIN)/python $(MUTATION)/python.py --sample $(SAMPLE); drawn=$$?; \
		$(BIN)/python $(MUTATION)/core.py --jobs 2 --sample $(SAMPLE) && exit $$((listed + drawn))

quicktest: tools
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -x -q -m "not engines" tests

# The generated stub is in the installed package, so the types are checked on a copy that has it.
lint: tools
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	$(BIN)/lint-imports --no-cache
	@rm -rf build/types && mkdir -p build/types && cp -R src/sureline studies build/types/
	@cp "$$($(BIN)/python -c 'import importlib.util as u; print(u.find_spec("sureline").submodule_search_locations[0])')/_core.pyi" build/types/sureline/
	$(BIN)/mypy --strict build/types/sureline build/types/studies
	@! grep -rn 'Python.h\|nanobind' src/core || { echo "src/core must not know of Python" >&2; exit 1; }

format: tools
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/clang-format -i $(CXX_FILES)

bench: install
	@$(BIN)/python -c "import polars" 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "polars>=1"
	@$(BIN)/python -c "import river" 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "river>=0.21" || echo "River could not be installed; the benchmark goes on without it."
	@$(BIN)/python -c "import vowpalwabbit" 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary vowpalwabbit "vowpalwabbit>=9.11" || echo "Vowpal Wabbit could not be installed; the benchmark goes on without it."
	$(BIN)/python benchmarks/speed.py; status=$$?; $(BIN)/python benchmarks/text.py && $(BIN)/python benchmarks/tables.py && $(BIN)/python benchmarks/race.py && exit $$status

bench-batch: install
	$(BIN)/python benchmarks/online_batch.py --data "$(DATA)"

bench-large: install
	$(BIN)/python benchmarks/online_batch.py --large

# wrk is a program of the system; the script says where it is from.
bench-serve: install
	@$(EXTRAS) serve > $(VENV)/serve.txt; $(PIP) install -r $(VENV)/serve.txt fastapi
	$(BIN)/python benchmarks/serve.py

bench-width: install
	$(BIN)/python benchmarks/width.py

# Spark and dask-ml are compared with if they can be installed.
bench-scale: $(VENV)/engines
	@$(BIN)/python -c "import dask_ml" 2>/dev/null || $(PIP) install dask-ml || echo "dask-ml could not be installed; the benchmark goes on without it."
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/scale.py --data "$(DATA)" --output docs/results/scale.md

bench-selection: install
	$(BIN)/python benchmarks/selection.py

# Full runs of all entries, one after the other; NAMES="scw-table3 ..." makes some of them. Numbers (.json) stay in out/results.
NAMES ?= $(shell ls src/sureline/reproduce/entries | sed 's/\.toml$$//')
results: install
	@mkdir -p out/results && cp docs/results/*.md out/results
	@for name in $(NAMES); do OPENBLAS_NUM_THREADS=1 $(BIN)/sureline reproduce $$name $(if $(wildcard $(DATA)),--data "$(DATA)") --output out/results >/dev/null \
		|| echo "$$name could not be run"; done
	@find out/results \( -name '*.md' -o -name '*.svg' \) -exec cp {} docs/results \;

# With the Python that has CuPy: that of .venv, or GPU_PYTHON=python3. Tests are skipped with a reason where there is no GPU.
GPU_PYTHON ?= $(BIN)/python
test-gpu: tools
	$(GPU_PYTHON) -m pytest -q -rs tests/gpu
	@$(GPU_PYTHON) -c 'from sureline.models.device.cuda import cuda_space; cuda_space()' 2>/dev/null || exit 0; \
	command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not on PATH, so memory was not checked."; exit 0; }; \
	for tool in memcheck racecheck; do compute-sanitizer --tool $$tool --error-exitcode 9 $(GPU_PYTHON) tests/gpu/sanitized.py || exit 1; done

bench-gpu: install
	$(GPU_PYTHON) benchmarks/gpu.py

confidence: install
	$(BIN)/python benchmarks/confidence.py --data "$(DATA)" --output docs/results/confidence.md
	$(BIN)/python benchmarks/ask.py --data "$(DATA)" --output docs/results/label-budget.md

defaults: install
	@$(BIN)/python -c "import vowpalwabbit" 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary vowpalwabbit "vowpalwabbit>=9.11" || echo "Vowpal Wabbit could not be installed; its peers are left out."
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/defaults.py --data "$(DATA)" --output docs/results/defaults.md

# The loops of all instruction sets, and on Linux the oldest manylinux tag that the compiler's libraries allow.
wheel: $(VENV)/bin/python
	@$(EXTRAS) wheel > $(VENV)/wheel.txt
	$(PIP) install -r $(VENV)/wheel.txt
	rm -rf build/wheel dist
	$(PIP) wheel --no-deps --wheel-dir build/wheel -Cbuild-dir=build/all -Ccmake.define.SURELINE_INSTRUCTION_SETS=all .
	if [ "$$(uname)" = Linux ]; then PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl && $(BIN)/auditwheel show dist/*.whl; \
		else mkdir -p dist && cp build/wheel/*.whl dist; fi
	$(BIN)/abi3audit --strict dist/*.whl
	$(BIN)/twine check --strict dist/*.whl

# Its results have the same bits with every instruction set, and are those that the models in tests/models/golden had.
WHEEL_TESTS := tests/learners/test_golden.py tests/learners/test_against_reference.py tests/learners/test_invariances.py
test-wheel: $(VENV)/bin/python
	@test -e dist/*.whl || $(MAKE) wheel
	@$(EXTRAS) test > $(VENV)/test.txt
	@for version in 3.11 3.12 3.13 3.14; do \
		python$$version -c '' 2>/dev/null || { echo "CPython $$version: none is on PATH, so the wheel was not tested on it."; continue; }; \
		venv=build/wheel-test/$$version; rm -rf $$venv; \
		python$$version -m venv $$venv && $$venv/bin/python -m pip install --quiet --disable-pip-version-check "$$(echo dist/*.whl)[all]" -r $(VENV)/test.txt \
		&& $$venv/bin/sureline --version && SURELINE_TEST_WHEEL=1 OPENBLAS_NUM_THREADS=1 $$venv/bin/python -m pytest -n 2 $(WHEEL_TESTS) \
		&& echo "CPython $$version: the wheel passed." || { echo "CPython $$version: the wheel failed." >&2; exit 1; }; done

clean:
	rm -rf build dist out docs/_build docs/gallery docs/reference/api.md docs/reference/generated docs/sg_execution_times.rst
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
