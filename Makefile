# Needs only Python 3.11 or newer and make; the first run creates .venv.

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-newest check format docs bench lock clean install install-dev
export PYTHON EXTRAS
# Tests start hundreds of commands; without bytecode files each of them would compile everything again.
export PYTHONDONTWRITEBYTECODE =

UV ?= uv
NEEDS_UV = command -v "$(UV)" >/dev/null || { echo "make $@ needs uv; name it with UV=/path/to/uv." >&2; exit 1; }
COMPILE = $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate --group build pyproject.toml

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 13

demo: install ## Show a run on example documents: no key, no network
	@.venv/bin/deep-research demo

install: ## Install into .venv, which the other targets do by themselves; with extras that then stay: make install EXTRAS=ocr,pdf
	@sh .ci/venv requirements.lock

# pytest writes that of the tests itself, with its asserts.
BYTECODE = .venv/bin/python -m compileall -q -x '/\.|/test_' .

test: install-dev ## Run the tests, without the slow ones
	@$(BYTECODE)
	@.venv/bin/pytest -q -m "not slow"

test-all: install-dev ## Run all tests, as CI does, with kills at every point, random state machines and real browsers
	@$(BYTECODE)
	@.venv/bin/pytest -q

test-newest: ## Run `make test` with the newest packages that pyproject.toml allows, in .venv-newest (needs uv; not in CI)
	@$(NEEDS_UV)
	@UV="$(UV)" sh .ci/newest -m "not slow"

check: install-dev ## Check format, style and types, and run the tests, without the slow ones
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@$(BYTECODE)
	@.venv/bin/pytest -q -m "not slow"

format: install-dev ## Format the code
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

docs: install-dev ## Regenerate the parts of the docs that come from the code: settings, limits, commands, packets, drawings, the demo's report
	@.venv/bin/python extras/docs/generated_docs.py

bench: install-dev ## Measure whole runs on fake servers, then index and search over 100,000 generated documents (half an hour, 2 GB)
	@.venv/bin/python -m deep_research_bench wire
	@.venv/bin/python -m deep_research_bench index

lock: ## Refresh the lock files (needs uv)
	@$(NEEDS_UV)
	@$(COMPILE) --extra serve --output-file requirements.lock
	@$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## Remove .venv, builds and caches
	@rm -rf .venv .venv-newest .typing build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -type d -name __pycache__ -prune -exec rm -rf {} +

install-dev:
	@sh .ci/venv requirements-dev.lock
