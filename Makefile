# Two commands: `make demo` and `make test`. Each creates .venv from requirements.lock when it is missing.
PYTHON ?= python3
RUN := .venv/bin/python
# Modules are compiled once and kept here, also where the surroundings say that Python is to write none.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/compiled

.PHONY: demo test lint types tests walks torch slow attack docs format lock clean

demo: .venv/.ready
	$(RUN) -m testbed.demo

# mypy has one process and says one line: it runs beside the tests.
test: lint
	@$(MAKE) --no-print-directory -j2 types tests
	@$(MAKE) --no-print-directory walks

lint: .venv/.ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: .venv/.ready
	$(RUN) -m mypy

tests: .venv/.ready
	$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

# Every command of the pages, typed in order at toy sizes (tests/walks/sizes.py).
walks: .venv/.ready
	$(RUN) -m tests.walks

# The same with the lines that need PyTorch, which is installed into .venv; then the tests that need it, and the site.
torch: .venv/.ready
	@if command -v uv >/dev/null 2>&1; then VIRTUAL_ENV=.venv uv pip install --quiet -e '.[bench,notebook,docs]'; \
	else $(RUN) -m pip install --quiet --no-compile -e '.[bench,notebook,docs]'; fi
	$(RUN) -m tests.walks
	$(RUN) -m pytest tests/test_torch_editor.py tests/test_door.py tests/test_huggingface.py tests/test_peft.py
	@$(MAKE) --no-print-directory docs

# All of them, or those of some files: make slow SLOW="tests/test_mesh.py".
slow: .venv/.ready
	$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder -m slow $(SLOW)

# Attacks as tests, slow ones too, on ten times as many examples; then odd circumstances (docs/attack.md).
attack: .venv/.ready
	$(RUN) -m pytest -n auto --dist loadfile --hypothesis-profile thorough tests/attack
	$(RUN) -m tests.attack.circumstances "$$(mktemp -d)"

# The pages of docs/ as a site; needs `uv pip install -e '.[docs]'`. Warnings are errors.
docs: .venv/.ready
	$(RUN) -m sphinx -W --keep-going -q -b html docs docs/_site
	@echo docs/_site/index.html

format: .venv/.ready
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

# Exact versions with hashes for Python 3.11 to 3.13 and every platform; needs uv.
lock:
	uv pip compile --universal --upgrade --python-version 3.11 --extra test --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --quiet pyproject.toml -o requirements.lock

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12"; exit 2; }
	@echo "Installing the locked packages into .venv, once: some minutes, about 1 GB of downloads ..."
	@rm -rf .venv
	@if command -v uv >/dev/null 2>&1; then \
	  set -e; uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv; \
	  VIRTUAL_ENV=.venv uv pip install --quiet --require-hashes -r requirements.lock; \
	  VIRTUAL_ENV=.venv uv pip install --quiet --no-deps -e .; \
	else \
	  set -e; $(PYTHON) -m venv .venv; \
	  { $(RUN) -m pip install --no-compile --disable-pip-version-check --require-hashes -r requirements.lock || touch .venv/.failed; } \
	    | sed -n 's/^Collecting \([^ ]*\).*/  \1/p'; \
	  test ! -e .venv/.failed; \
	  $(RUN) -m pip install --quiet --disable-pip-version-check --no-deps -e .; \
	fi
	@echo "The packages are there."
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
