# make demo and make test need nothing but Python 3.11+ with pip; they make .venv themselves.
# the first Python that runs and is new enough (a version manager may offer names that do not run)
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER := $(VENV)/.browser

# tests start wb hundreds of times: Python keeps what it compiled, even where the environment says otherwise
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check format bench fuzz screenshots tables clean

demo: $(STAMP)
	@$(BIN)/wb demo

test: $(STAMP) $(BROWSER)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# format, lint, types, import contracts and the fast tests: a few minutes
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

# looks for programs that break the compiler; what it finds lies below build/fuzz
DURATION ?= 600
fuzz: $(STAMP)
	$(BIN)/python -m tests.properties.fuzz $(DURATION) build/fuzz

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
# tf, of the practice provider, asks for an older protobuf than the official KCL compiler, and works with the newer one
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps tf==1.2.0 2>/dev/null \
		|| echo "tf can't be had: what needs the Terraform provider to practise with is left out" >&2
	@touch $@

# What the browser test needs beyond the rest: JupyterLab, Playwright, and Debian's chromium where this may install it.
# Where something can't be had the test is skipped and says why; NO_BROWSER=1 leaves all of it out.
$(BROWSER): $(STAMP)
ifndef NO_BROWSER
	@echo "installing what the browser test needs (once) ..." >&2
	@timeout 300 $(BIN)/python -m pip install -q --disable-pip-version-check jupyterlab playwright \
		|| echo "JupyterLab or Playwright can't be had: the browser test is skipped" >&2
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && timeout 300 sh -c \
		'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium' \
		>/dev/null 2>&1; } || echo "chromium can't be installed here: the browser test is skipped" >&2
endif
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
