# Countersign. `make help` lists what there is; each target prepares what it needs by itself.
.DEFAULT_GOAL := help
.PHONY: help run test check bench agent lock tools
SHELL := /bin/sh

PORT ?= 8000
ARGS ?=
VENV := .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
TRANSLATIONS := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/*.po))

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(RUN) $(TRANSLATIONS)  ## Start the portal with its own PostgreSQL and Valkey (PORT=8000); Ctrl-C stops it
	@PORT=$(PORT) exec $(PY) -m portal.quickstart run

test: $(DEV) $(TRANSLATIONS) tools  ## Run the tests (ARGS="tests/domain -k stale" hands arguments to pytest)
	$(PY) -m pytest $(if $(ARGS),$(ARGS),--numprocesses=auto --dist=loadgroup)

check: $(DEV) $(TRANSLATIONS)  ## Lint, formatting, types, imports, migrations, Django's own checks
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m portal.quickstart scratch $(PY) manage.py makemigrations --check --dry-run
	$(PY) manage.py check

bench: $(DEV)  ## Measure speed; prints what it measured and on what machine
	$(PY) -m benchmarks $(ARGS)

agent: $(RUN)  ## Build dist/readiness-agent.pyz, the agent in one file
	$(PY) -m portal.quickstart build-agent dist/readiness-agent.pyz

lock: | $(PY)  ## Compile requirements/*.txt from pyproject.toml
	$(VENV)/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --extra embedded pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --extra embedded --extra dev -c requirements/run.txt pyproject.toml -o requirements/dev.txt

tools:
	@tests/install-tools

# Set-up. A stamp newer than its lock file costs nothing; `run` alone does not install what only developers need.

$(PY):
	@python=""; for candidate in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then echo "Countersign needs Python 3.11, 3.12 or 3.13 with its venv module; name one with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; fi; \
	"$$python" -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check uv 2>/dev/null || echo "uv cannot be installed; going on with pip, which takes longer." >&2

$(RUN): requirements/run.txt agents/pyproject.toml | $(PY)
	@if [ -x $(VENV)/bin/uv ]; then $(VENV)/bin/uv pip install --quiet --python $(PY) --require-hashes -r requirements/run.txt; \
	else $(PY) -m pip install --quiet --require-hashes -r requirements/run.txt; fi
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps --editable agents
	@touch $@

$(DEV): requirements/dev.txt $(RUN)
	@if [ -x $(VENV)/bin/uv ]; then $(VENV)/bin/uv pip install --quiet --python $(PY) --require-hashes -r requirements/dev.txt; \
	else $(PY) -m pip install --quiet --require-hashes -r requirements/dev.txt; fi
	@touch $@

%.mo: %.po | $(RUN)
	@$(VENV)/bin/pybabel --quiet compile --input-file $< --output-file $@ --locale zh_Hans
