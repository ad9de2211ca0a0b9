# `make lab` opens the workbench, `make test` runs all tests.
# Both set up .venv first. They need Python 3.11 or newer: make lab PYTHON=python3.12
# TORCH chooses PyTorch's build. auto: CUDA if there is an NVIDIA driver, CPU if not. cpu: always CPU.

PYTHON ?= python3
TORCH ?= auto
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: lab test bench html pictures clean

lab: $(INSTALLED)
	$(BIN)/workbench lab

test: $(INSTALLED)
	$(BIN)/workbench index sample_memory
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

bench: $(INSTALLED)
	$(BIN)/workbench index sample_memory
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.indexing
	$(BIN)/python -m benchmarks.syncing
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.evaluating
	$(BIN)/python -m benchmarks.widgets
	$(BIN)/python -m benchmarks.pixels

html: $(INSTALLED)
	$(BIN)/workbench index sample_memory
	rm -rf site
	$(BIN)/python -m docs.pages

pictures: html
	$(BIN)/python -m docs.pictures

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11. Name a newer one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet uv==0.13.9
	@echo "Installing PyTorch (TORCH=$(TORCH)): step 1 of 2."
	@UV_HTTP_RETRIES=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --torch-backend $(TORCH) \
	  --constraint constraints.txt torch || \
	  echo "PyTorch's own builds cannot be had here (reason above). pip takes torch from your package index:" \
	    "on Linux this build includes CUDA, a download of 2.7 GB."
	@echo "Installing the workbench with JupyterLab and the test tools: step 2 of 2, takes some minutes."
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[lab,test]'
	@touch $@

clean:
	rm -rf .venv test-output site
