# Two commands for a stranger: `make demo` and `make test`. Each does its own set-up, and is quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export GRAMIAN_DATA ?= $(abspath ../shared/data)

.PHONY: demo test test-deep lint docs bench clean
.DEFAULT_GOAL := test

# A stamp per set of extras: re-made when pyproject.toml changes. Bytecode is compiled once, whatever
# PYTHONDONTWRITEBYTECODE says: without it, importing scikit-learn takes seconds every time.
$(VENV)/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	-$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1
	touch $@

demo: $(VENV)/.all
	$(BIN)/gramian demo -o gramian-demo --force

test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -q

# Trained maps need torch. TORCH_PIP_ARGS are further arguments of pip, such as an index with the CPU build.
TORCH_PIP_ARGS ?=
$(VENV)/.torch: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' $(TORCH_PIP_ARGS)
	touch $@

test-deep: $(VENV)/.test
	@if $(MAKE) --no-print-directory $(VENV)/.torch; then \
	  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/deep src/gramian/deep; \
	else \
	  echo "test-deep is skipped: torch==2.13.0 could not be installed (see the message of pip above)."; \
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

clean:
	rm -rf $(VENV) gramian-demo build docs/gallery docs/reference .pytest_cache .mypy_cache .ruff_cache
