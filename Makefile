# Two commands for a stranger: `make demo` and `make test`. Each does its own set-up, and is quick the second time.
# Another interpreter goes into an environment of its own: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
LOWEST := .venv-lowest
NOTEBOOKS := .venv-notebooks
PIP    := -m pip --disable-pip-version-check --quiet
# Real tables, where they are: without them the tests that need them are skipped, and say so.
ifneq ($(wildcard ../shared/data),)
export GRAMIAN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-lowest test-newer test-deep test-browser lint docs bench coverage wheel audit clean
.DEFAULT_GOAL := test

# A stamp per dependency group (or extra): re-made when pyproject.toml changes. Bytecode is compiled once, whatever
# PYTHONDONTWRITEBYTECODE says: without it, importing scikit-learn takes seconds every time.
$(VENV)/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python .ci/group.py $* > $(VENV)/$*.txt
	$(BIN)/python $(PIP) install --editable . --requirement $(VENV)/$*.txt
	-$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1
	touch $@

demo: $(VENV)/.all
	$(BIN)/gramian demo -o gramian-demo --force

test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q $(TESTS)

# Other interpreters and lowest versions run what depends on versions: scikit-learn's checks and the contract, identities, files,
# containers, Dask. What only computes is the same everywhere, and is tried once, by make test.
VERSION_TESTS := tests/test_contract.py tests/identities tests/io tests/tables tests/estimators/test_ppca.py tests/estimators/test_imputer.py

# The newest interpreter that is present, in its own environment; the lowest versions run with the oldest, and the workflow of every push has those between.
NEWER       := 3.14 3.13 3.12
test-newer:
	@for version in $(NEWER); do \
	  python=$$(.ci/interpreter $$version); \
	  if test -z "$$python"; then echo "Python $$version is not here, and not tested."; \
	  elif ! $(MAKE) --no-print-directory PYTHON=$$python VENV=.venv-$$version .venv-$$version/.test; then \
	    echo "Python $$version is not tested: what it needs could not be installed (see the message of pip above)."; \
	  else exec $(MAKE) --no-print-directory test PYTHON=$$python VENV=.venv-$$version TESTS="$(VERSION_TESTS)"; fi; \
	done

# The lowest versions that pyproject.toml allows, in their own environment.
$(LOWEST)/.test: pyproject.toml .ci/lowest.py
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python .ci/group.py test > $(LOWEST)/test.txt
	$(LOWEST)/bin/python $(PIP) install --constraint $(LOWEST)/lowest.txt --editable . --requirement $(LOWEST)/test.txt
	-$(LOWEST)/bin/python -m compileall -q -j 0 $(LOWEST)/lib >/dev/null 2>&1
	touch $@

test-lowest: $(LOWEST)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n auto -q $(VERSION_TESTS)

# Trained maps need torch. TORCH_PIP_ARGS are further arguments of pip, such as an index with the CPU build.
TORCH_PIP_ARGS ?=
$(VENV)/.torch: $(VENV)/.test
	$(BIN)/python $(PIP) install 'torch==2.13.0' $(TORCH_PIP_ARGS)
	touch $@

test-deep: $(VENV)/.test
	@if $(MAKE) --no-print-directory $(VENV)/.torch; then \
	  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/deep src/gramian/deep; \
	else \
	  echo "test-deep is skipped: torch==2.13.0 could not be installed (see the message of pip above)."; \
	fi

# The explorer in a real Chromium, through Playwright; skipped in words where either cannot be had.
$(VENV)/.browser: $(VENV)/.test
	$(BIN)/python $(PIP) install 'playwright>=1.49'
	touch $@

test-browser: $(VENV)/.test
	@if ! $(MAKE) --no-print-directory $(VENV)/.browser; then \
	  echo "test-browser is skipped: playwright could not be installed (see the message of pip above)."; \
	elif ! .ci/chromium >/dev/null; then \
	  echo "test-browser is skipped: there is no Chromium."; \
	else \
	  $(MAKE) --no-print-directory VENV=$(NOTEBOOKS) $(NOTEBOOKS)/.notebooks \
	    || echo "JupyterLab and marimo could not be installed: the tests of the widget in them are skipped."; \
	  GRAMIAN_NOTEBOOKS=$(abspath $(NOTEBOOKS))/bin/python OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	    $(BIN)/python -m pytest -q -rs -m browser tests/browser; \
	fi

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in build/site: warnings are errors, and its links and pages are checked.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	$(BIN)/python -m pytest -q -m slow tests/test_site.py
	@echo "The site is in build/site/index.html"

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# What runs of the tests reach, by line and branch; the page is in build/coverage.
coverage: $(VENV)/.coverage
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q --cov --cov-report=term:skip-covered --cov-report=html --cov-report=json:build/coverage.json
	$(BIN)/python -m benchmarks.coverage_rooms build/coverage.json

# The wheel and the source archive, in dist; the wheel is tried in an environment that has nothing else.
wheel: $(VENV)/.release
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python $(PIP) install dist/*.whl
	cd build && wheel/bin/python ../.ci/try_wheel.py

# Advisories about what is installed, where an index of them can be reached.
audit: $(VENV)/.release
	$(BIN)/python .ci/audit.py

clean:
	rm -rf $(VENV) $(LOWEST) $(NEWER:%=.venv-%) dist gramian-demo build docs/gallery docs/reference .pytest_cache .mypy_cache .ruff_cache
