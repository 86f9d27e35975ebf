# make demo and make test need nothing but Python 3.11+ with pip; they make .venv themselves.
# the first Python that runs and is new enough (a version manager may offer names that do not run)
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format bench screenshots tables clean

demo: $(STAMP)
	@$(BIN)/wb demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# format, lint, types, import contracts and the fast tests: under two minutes
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -m "not slow" -n 2 --dist loadfile

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

screenshots: $(STAMP)
	$(BIN)/python -m tests.screenshots docs/screenshots

# what is generated from the grammar and shipped
tables: $(STAMP)
	$(BIN)/python -m kcl.syntax.generate

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed: install it, or say make PYTHON=/path/to/python3"; exit 1; }
	@echo "installing into $(VENV) (once, about a minute) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,notebook]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
