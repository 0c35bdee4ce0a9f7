# The commands of the project, for people, pre-commit and CI alike. Needs a POSIX shell and
# Python 3.11 or newer; everything else is installed into .venv from requirements.lock.
#
# Names are relative throughout: make splits them at spaces, and a clone may lie anywhere.

PYTHON ?= python3
MODE ?= reduced
# The CPU build by name: a plain version brings gigabytes for graphics cards on Linux.
TORCH ?= torch==2.13.0+cpu
# What three tables and some tests need and the lock leaves out stands beside .venv, and without
# what it would bring along, other versions of what the lock pins.
EXTRA = .venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps \
	--target build/extra '$(TORCH)' 'tree-praxis>=0.0.30,<0.1' \
	ipywidgets jupyterlab-widgets widgetsnbextension
NO_EXTRA = echo 'PyTorch or tree-praxis cannot be had here: what needs them is left out.'
WITH_EXTRA = PYTHONPATH="$$PWD/build/extra$${PYTHONPATH:+:$$PYTHONPATH}"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help venv book test plain torch lint bench notebooks clean lock FORCE

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'MODE=full runs the notebooks at the scale of the papers: make book MODE=full'
	@echo 'PYTHON=... names the Python that .venv is made with: make venv PYTHON=python3.12'

venv: .venv/installed ## Set up .venv from requirements.lock

book: .venv/installed ## Run the notebooks that changed and build the book in _build/html
	$(if $(filter full,$(MODE)),@$(EXTRA) || $(NO_EXTRA))
	$(if $(filter full,$(MODE)),$(WITH_EXTRA)) .venv/bin/python -m book.tools build --mode '$(MODE)'

test: .venv/installed ## Run the tests
	.venv/bin/python -m pytest --numprocesses auto --dist loadfile

# What a reader of README.md has who wants the library alone.
plain: ## Install the library by itself in build/plain and run its examples
	@rm -rf build/lib  # what an earlier build left would be installed too
	@"$(PYTHON)" -m venv --clear build/plain
	@build/plain/bin/python -m pip install --quiet --disable-pip-version-check .
	@cd build/plain && bin/python -I ../../tests/plain_install.py

torch: .venv/installed ## Run the tests that need PyTorch, where its CPU build can be had
	@if $(EXTRA); then \
		$(WITH_EXTRA) .venv/bin/python -m pytest \
			tests/pvf/test_torch_perturbation.py tests/studies/test_torch_networks.py; \
	else \
		$(NO_EXTRA); \
	fi

lint: .venv/installed ## Check style, types and that each notebook is in step with its script
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy
	.venv/bin/python -m book.tools pairs --check

bench: .venv/installed ## Measure speed and memory against the literal loop of the algorithm
	.venv/bin/python tests/bench.py

notebooks: .venv/installed ## Write each notebook anew from the script beside it
	.venv/bin/python -m book.tools pairs

clean: ## Remove what was built and cached; .venv stays
	rm -rf _build build dist pvf.egg-info book/chapters out.ipynb
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find pvf studies book tests notebooks -name __pycache__ -prune -exec rm -rf {} +

lock: ## Pin in requirements.lock the newest versions that pyproject.toml allows
	"$(PYTHON)" -m venv --clear build/uv
	build/uv/bin/python -m pip install --quiet uv
	build/uv/bin/uv pip compile pyproject.toml --extra plot --extra save --extra studies --extra book --extra lint --extra test --universal --python-version 3.11 \
		--generate-hashes --upgrade --quiet --custom-compile-command 'make lock' \
		--output-file requirements.lock

# Two marks, each written last, so that an interrupted set-up is never taken for a finished one.
# A changed lock makes .venv from nothing; a changed pyproject.toml only installs pvf again.
# The first mark holds the folder's name: a moved or copied .venv still points to where it was.
MOVED := $(shell test "$$(cat .venv/locked 2>/dev/null)" = "$$(pwd -P)" || echo FORCE)

.venv/locked: requirements.lock $(MOVED)
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'pvf needs Python 3.11 or newer, and "$(PYTHON)" is not one that runs.' >&2; \
		echo 'Name another: make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; \
		exit 1; }
	@echo 'Setting up .venv from requirements.lock: a few minutes, once'
	@rm -f .venv/locked .venv/installed
	@"$(PYTHON)" -m venv --clear .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement requirements.lock
	@pwd -P > .venv/locked

.venv/installed: .venv/locked pyproject.toml
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation --editable .
	@touch .venv/installed
