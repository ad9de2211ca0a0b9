# `make lab` opens the workbench, `make test` runs all tests.
# Both set up .venv first. They need Python 3.11 or newer: make lab PYTHON=python3.12
# TORCH chooses PyTorch's build. auto: CUDA if there is an NVIDIA driver, CPU if not. cpu: always CPU.

PYTHON ?= python3
TORCH ?= auto
, := ,
BIN := .venv/bin
LAB := .venv/with-lab
TEST := .venv/with-test
PEERS := .venv/with-bench

# Where this is set, each process compiles again all that it imports: half of the time of many a command and test.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab test types suite bench html slides pictures clean

lab: $(LAB)
	@$(BIN)/workbench lab

# The search reads the sample memory word by word once, for all test processes. Without a floor it returns something.
# A test that fails is tried a second time: some drive a browser, servers and signals, and the machine may be busy.
# The report names each one that needed it, with its first failure. More than five of them are too many.
# A test that has not ended after 15 minutes is tried again by a new process (pyproject.toml).
# Four processes share the work, because some often wait for a browser or a server. One thread each is enough: more would
# wait for each other. The types are checked beside them.
test: $(TEST)
	$(BIN)/workbench index sample_memory
	$(BIN)/workbench search "the first question" -s recommended --min-score 0 > /dev/null
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types suite

types: $(TEST)
	$(BIN)/mypy

suite: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 4 --dist loadfile \
		--reruns 1 --max-suite-reruns 5 --rerun-show-tracebacks --hypothesis-profile same

# Benchmarks of time and memory, which need no data of yours. The first lines of each file in benchmarks/ say what the
# others need.
bench: $(PEERS)
	$(BIN)/workbench index sample_memory
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.indexing
	$(BIN)/python -m benchmarks.syncing
	$(BIN)/python -m benchmarks.approximate
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.importing
	$(BIN)/python -m benchmarks.evaluating
	$(BIN)/python -m benchmarks.diagnosing
	$(BIN)/python -m benchmarks.sweeping
	$(BIN)/python -m benchmarks.embedding
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.widgets
	$(BIN)/python -m benchmarks.pixels
	$(BIN)/python -m benchmarks.exploring

html: $(TEST)
	$(BIN)/workbench index sample_memory
	rm -rf site
	$(BIN)/python -m docs.pages

# The lessons as slides for a lecture, in site/slides. They load reveal.js from the network.
slides: $(TEST)
	$(BIN)/workbench index sample_memory
	$(BIN)/python -m docs.slides

pictures: html
	$(BIN)/python -m docs.pictures
	$(BIN)/python -m docs.moving

# Shows one line with the seconds that have passed, while the shell command after it runs.
define waiting
@(test -t 1 || exec echo '$(1)'; s=0; while kill -0 $$$$ 2>/dev/null; do \
  printf '\r%s: %d s ' '$(1)' $$s; s=$$((s + 1)); sleep 1; done) & ticking=$$!;
endef
define waited
code=$$?; kill $$ticking 2>/dev/null; test ! -t 1 || echo; exit $$code
endef

# uv chooses PyTorch's build, is fast, and checks the hashes of requirements.lock, which has all packages but torch.
# Where it cannot install, pip does, with your settings of pip.
define install
$(call waiting,Installing ($(1)) in .venv$(,) one to six minutes$(,) $(2) GB of disk) \
$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --constraint requirements.lock --editable '.[$(1)]' || { \
  echo; echo "uv could not install the packages (reason above). Now pip tries, with your settings of pip."; \
  $(BIN)/pip install --quiet --constraint constraints.txt --editable '.[$(1)]'; }; $(waited)
@touch $@
endef

$(LAB): .venv/with-torch pyproject.toml
	$(call install,lab,2)

$(TEST): .venv/with-torch pyproject.toml
	$(call install,lab$(,)test,3.5)
	@touch $(LAB)

$(PEERS): $(TEST) pyproject.toml
	$(call install,lab$(,)test$(,)bench,4.5)

.venv/with-torch: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11. Name a newer one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(call waiting,Setting up .venv with PyTorch (TORCH=$(TORCH))) \
	$(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv==0.13.9 && { \
	  UV_HTTP_RETRIES=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --torch-backend $(TORCH) \
	    --constraint constraints.txt torch || { \
	  echo; echo "PyTorch's own builds cannot be reached from here (reason above), so pip takes torch from your"; \
	  echo "package index. For Linux, most indexes have the build with CUDA: 2.7 GB of downloads."; \
	  $(BIN)/pip install --quiet --constraint constraints.txt torch; }; }; $(waited)
	@touch $@

clean:
	rm -rf .venv test-output site
