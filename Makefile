# make demo and make test need nothing but Python 3.11+ with pip; they make .venv themselves.
# The first Python that runs and is new enough (a version manager may offer names that do not run). That of the system
# first: it is mostly built with profiles of itself, as those of version managers are not, and the tests take an eighth less
# of the processor.
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER := $(VENV)/.browser
MOTO := $(VENV)/.moto

# tests start wb hundreds of times: Python keeps what it compiled, even where the environment says otherwise
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test soak check format bench fuzz fuzz-files screenshots stories lock sbom pythons vscode clean

demo: $(STAMP)
	@$(BIN)/wb demo

# four at once: many tests wait for servers and processes, and leave cores free;
# where one of them dies the run ends and says so: pytest-xdist may wait for ever for what another was to take over
PARALLEL := --dist loadfile --no-loadscope-reorder --max-worker-restart=0
COLLECT := $(BIN)/python -m pytest --collect-only -qq
test: $(STAMP) $(BROWSER) $(MOTO)
	@$(BIN)/python -m compileall -q -j 2 kcl runtimes workbench
# in a fresh checkout pytest rewrites the asserts of 750 modules: once for all, instead of in each of the four
	@$(COLLECT) tests/workbench >/dev/null 2>&1 & $(COLLECT) --ignore tests/workbench >/dev/null 2>&1; wait
	$(BIN)/python -m pytest -n 4 $(PARALLEL)

# what `make test` tries in small, or not at all, in its long form: hours; sizes are in tests/README.md
soak: $(STAMP) $(BROWSER) $(MOTO)
	KONFIG_WORKBENCH_SOAK=1 KONFIG_WORKBENCH_ROLLOUT_TARGETS=1000 KONFIG_WORKBENCH_HOSTS=5040 KONFIG_WORKBENCH_KILLS=20 KONFIG_WORKBENCH_CANARIES=all \
	KONFIG_WORKBENCH_KILL_MOMENTS=all KONFIG_WORKBENCH_FAULTS_EVERY=1 KCL_BROKEN_PROGRAMS=2000 \
	$(BIN)/python -m pytest -n 2 $(PARALLEL) tests/scenarios tests/workbench/engine/rollout tests/workbench/session/test_full_disk.py \
	tests/workbench/release tests/workbench/engine/test_laws.py tests/attacks/test_secrets.py tests/attacks/test_secrets_everywhere.py \
	tests/workbench/notebook/test_browser.py tests/properties/test_official_syntax_errors.py tests/properties/test_warm_is_cold.py \
	tests/kcl/tools/testing/test_coverage_is_exact.py tests/workbench/session/test_setting_every_field.py \
	tests/properties/test_hostile_programs.py tests/kcl/results/test_result_cache.py tests/workbench/engine/test_cached_results.py \
	tests/differential/test_generated_programs.py tests/properties/test_fuzz.py tests/workbench/tui \
	tests/workbench/notebook/test_app_recovery.py tests/workbench/session/test_shared_rollouts.py \
	tests/kcl/emit tests/kcl/packages/test_hostile.py tests/kcl/syntax tests/properties/test_formatting.py tests/kcl/tools/lsp

# format, lint, types, import contracts and the tests that your change may break: about a minute (tests/affected)
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m tests.affected -q -n 2 $(PARALLEL)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

# looks for programs that break the compiler; what it finds lies below build/fuzz
DURATION ?= 600
fuzz: $(STAMP)
	$(BIN)/python -m tests.properties.fuzz $(DURATION) build/fuzz

# the same for files: project.yaml, kcl.mod, plans, releases, states, kubeconfigs and all the others that are read
fuzz-files: $(STAMP)
	$(BIN)/python -m tests.properties.documents $(DURATION) build/fuzz-files

screenshots: $(STAMP)
	$(BIN)/python -m tests.screenshots docs/screenshots

# recordings of the screens, as asciicasts and as pictures that move
stories: $(STAMP)
	$(BIN)/python -m tests.stories docs/stories

# The extension of VS Code, from packages of npm alone, as docs/vscode/package-lock.json has them: build/vscode/*.vsix.
# None of their install scripts is run, and it is published nowhere.
vscode:
	@command -v npm >/dev/null || { echo "npm is not here: install Node.js 20 or newer" >&2; exit 1; }
	mkdir -p build/vscode
	cp -r docs/vscode/. LICENSE build/vscode/
	cd build/vscode && npm ci --ignore-scripts --no-audit --no-fund && npm run package

# What is installed: exact versions with their hashes, from .ci/locked. LOCKED=no takes the newest that pyproject allows.
LOCK := .ci/locked
# older ones warn of how python-terraform is built, which nobody here can change
PIP = $(BIN)/python -W ignore -m pip install -q --disable-pip-version-check
# the sources as one more folder to import from: a hook for imports would take as long as all else that starts a Python
AS_FOLDER := --config-settings editable_mode=compat
ifeq ($(LOCKED),no)
INSTALL := $(PIP) -e '.[dev,notebook]' $(AS_FOLDER)
INSTALL_PRACTICE := $(PIP) --no-deps tf==1.2.0
INSTALL_BROWSER := $(PIP) jupyterlab playwright
INSTALL_MOTO := $(VENV)/moto/bin/python -m pip install -q --disable-pip-version-check 'moto[server]'
else
INSTALL := $(PIP) --require-hashes -r $(LOCK)/dev.txt && $(PIP) --no-deps --no-build-isolation -e . $(AS_FOLDER)
INSTALL_PRACTICE := $(PIP) --no-deps --require-hashes -r $(LOCK)/practice.txt
INSTALL_BROWSER := $(PIP) --no-deps --require-hashes -r $(LOCK)/browser.txt
INSTALL_MOTO := $(VENV)/moto/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $(LOCK)/moto.txt
endif

$(STAMP): pyproject.toml $(LOCK)/dev.txt $(LOCK)/practice.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed: install it, or say make PYTHON=/path/to/python3"; exit 1; }
	@echo "installing into $(VENV) (once, about a minute) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) || { echo "what is locked in $(LOCK) can't be had here; make LOCKED=no takes what pyproject.toml allows" >&2; exit 1; }
# tf, of the practice provider, asks for an older protobuf than the official KCL compiler, and works with the newer one
	@$(INSTALL_PRACTICE) 2>/dev/null \
		|| echo "tf can't be had: what needs the Terraform provider to practise with is left out" >&2
	@touch $@

# What the browser test needs beyond the rest: JupyterLab, Playwright, and Debian's chromium where this may install it.
# Where something can't be had the test is skipped and says why; NO_BROWSER=1 leaves all of it out.
$(BROWSER): $(STAMP)
ifndef NO_BROWSER
	@echo "installing what the browser test needs (once) ..." >&2
	@timeout 300 $(INSTALL_BROWSER) \
		|| echo "JupyterLab or Playwright can't be had: the browser test is skipped" >&2
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && timeout 300 sh -c \
		'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium' \
		>/dev/null 2>&1; } || echo "chromium can't be installed here: the browser test is skipped" >&2
endif
	@touch $@

# moto's S3 server, for releases in a bucket: in an environment of its own, as it needs an older python-dateutil than the
# kubernetes client. Where it can't be had these tests are skipped and say why.
$(MOTO): $(STAMP) $(LOCK)/moto.txt
	@echo "installing the S3 server of the tests (once) ..." >&2
	@test -x $(VENV)/moto/bin/python || $(BIN)/python -m venv $(VENV)/moto
	@timeout 300 $(INSTALL_MOTO) || echo "moto can't be had: the tests of releases in a bucket are skipped" >&2
	@touch $@

# after a change of pyproject.toml: choose the versions again, the newest that it allows, for every Python and system
UV = build/tools/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --upgrade -q
lock: build/tools/.installed
	$(UV) pyproject.toml --extra dev --extra notebook -o $(LOCK)/dev.txt
# without a checker of IRIs that compiles its grammar for seconds whenever jsonschema is imported, and that nobody asks
	printf 'jupyterlab\nplaywright\n' | $(UV) - -c $(LOCK)/dev.txt --no-emit-package rfc3987-syntax -o $(LOCK)/browser.txt
	printf 'tf==1.2.0\n' | $(UV) - --no-deps -o $(LOCK)/practice.txt
	printf 'moto[server]\n' | $(UV) - -o $(LOCK)/moto.txt
	printf 'uv\ncyclonedx-bom\npip-licenses\n' | $(UV) - -o $(LOCK)/tools.txt

# what is shipped, in a clean environment without anything of development: pip check, an SBOM and the licences
sbom: build/tools/.installed
	rm -rf build/shipped && $(PYTHON) -m venv build/shipped
	sed -n '/^setuptools==/,/[^\\]$$/p' $(LOCK)/dev.txt > build/setuptools.txt
	build/shipped/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r build/setuptools.txt
	build/shipped/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation '.[notebook,terraform,oci,scheduler,practice,bucket]'
	rm -rf build/lib build/bdist.*
	build/shipped/bin/python -m pip check
	build/tools/bin/cyclonedx-py environment build/shipped/bin/python --pyproject pyproject.toml --of JSON -o build/sbom.cdx.json
	build/tools/bin/pip-licenses --python build/shipped/bin/python --format markdown --with-urls --output-file build/licences.md

build/tools/.installed: $(LOCK)/tools.txt
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $(LOCK)/tools.txt
	@touch $@

# demo and fast tests on every Python that is promised, each in a clean environment; what is not here is said
pythons:
	@for v in 3.11 3.12 3.13 3.14; do \
		python$$v -c '' 2>/dev/null || { echo "python$$v is not here: not tested" >&2; continue; }; \
		$(MAKE) --no-print-directory VENV=build/python$$v PYTHON=python$$v NO_BROWSER=1 demo check-python </dev/null || exit 1; \
	done

check-python: $(STAMP)
	$(BIN)/python -m pytest -q -m "not slow" -n 2 $(PARALLEL)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
