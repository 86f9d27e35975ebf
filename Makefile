# make demo and make test need nothing but Python 3.11+ with pip; they make .venv themselves.
PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3.11 || command -v python3)
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
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"; exit 1; }
	@echo "installing into $(VENV) (once, about a minute) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
