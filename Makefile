# Each target sets up what it needs: a virtual environment from pyproject.toml and constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test test-cluster test-pages laws audit check bench docs clean kernels

demo: $(STAMP)
	$(BIN)/tokenmill run sample_data/recipe.toml --out runs/demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --ignore=tests/cluster --ignore=tests/pages

# The property tests on examples that nobody has tried yet; a failure prints its example, which then becomes a test.
laws: $(STAMP)
	TOKENMILL_EXAMPLES=new $(BIN)/python -m pytest -q -n 2 --dist loadfile $$(grep -rl hypothesis tests --include='test_*.py')

# A real Ray cluster in network namespaces, and the demo in a bucket whose network fails: some minutes.
test-cluster: $(VENV)/.ray
	$(BIN)/python -m pytest -q tests/cluster

$(VENV)/.ray: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[ray]' || echo "no wheel of Ray for this machine: its tests are skipped"
	touch $(VENV)/.ray

# Every page in Debian's Chromium, wide and narrow, light and dark: some two minutes.
test-pages: $(VENV)/.pages
	$(BIN)/python -m pytest -q tests/pages

$(VENV)/.pages: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[pages]'
	command -v chromium || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } || echo "chromium cannot be installed here: the tests of pages are skipped"
	touch $(VENV)/.pages

# Known vulnerabilities of the run-time set, asked of the package registry; what it does not know is listed, not audited.
audit: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt pip-audit
	$(BIN)/pip-audit --disable-pip --require-hashes --requirement requirements.txt

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

# The pages of docs/ as a site, in site/; docs/recipe.md is made from the code. What builds it has an environment of its own.
docs: $(STAMP)
	test -x $(VENV)-docs/bin/mkdocs || $(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --constraint constraints.txt mkdocs-material
	$(BIN)/python -m tokenmill.reference > docs/recipe.md
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --quiet --strict

# An old pip fails on some sets of extras, so it is brought up to date first.
$(STAMP): pyproject.toml constraints.txt hatch_build.py
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tokenmill needs Python 3.11 or newer: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m tokenmill.kernels
	touch $(STAMP)

# Numba does not notice a change in a kernel that another kernel calls: forget what is compiled.
kernels:
	find pipeline stages tokenizer -name '*.nb[ci]' -delete

clean: kernels
	rm -rf $(VENV) $(VENV)-docs runs site .pytest_cache .mypy_cache .ruff_cache .hypothesis
