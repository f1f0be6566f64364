# `make demo` and `make test` need only Python 3.10 or later. `make help` lists all targets.

PYTHON ?= python3
VENV := .venv
TRITONS := 3.6.0 3.7.1 3.8.0 3.9.0
TRITON := 3.6.0
TEXTUAL := 8.2.6
BIN := $(VENV)/bin
SIGNATURE := *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1
CAPTURE := $(VENV)/demo/matmul.irscope
# Two configs of the sample that differ only in the block size.
A := \#6
B := \#8

CASES := 1000000
BURSTS := 2000x500

.PHONY: help demo test test-slow test-matrix test-triton test-textual torch helion fuzz fuzz-coverage keys audit lint docs man film refresh-docs clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[compile]"
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(VENV)/ready ## Compile the matmul sample under its 10 configs and compare two of them
	@mkdir -p $(dir $(CAPTURE))
	@$(BIN)/irscope compile samples/matmul.py --signature "$(SIGNATURE)" --resume -o $(CAPTURE)
	@if [ -t 1 ]; then $(BIN)/irscope tui $(CAPTURE); else \
		$(BIN)/irscope table $(CAPTURE) --width 160 && $(BIN)/irscope diff $(CAPTURE) "$(A)" "$(B)" --stage none; fi

test: lint ## What lint checks, and the fast tests
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-slow: $(VENV)/ready-dev ## The other tests, which compile many kernels or drive whole programs
	$(BIN)/pytest -n auto --dist worksteal -m slow

test-matrix: ## The tests that compile, on each supported Triton
	@for version in $(TRITONS); do $(MAKE) --no-print-directory test-triton TRITON=$$version || exit 1; done

test-triton: ## The tests that compile, on one Triton: make test-triton TRITON=3.6.0
	$(PYTHON) -m venv $(VENV)-$(TRITON)
	$(VENV)-$(TRITON)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-$(TRITON)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group dev triton==$(TRITON)
	$(VENV)-$(TRITON)/bin/pytest -n auto --dist worksteal tests/compiling tests/samples tests/importers tests/findings tests/learn

test-textual: $(VENV)/ready-dev ## The pictures of screens with the lowest supported Textual: make test-textual TEXTUAL=8.2.6
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)-textual textual==$(TEXTUAL)
	PYTHONPATH=$(VENV)-textual $(BIN)/pytest -n auto --dist worksteal tests/tui/test_screens.py

torch: $(VENV)/ready-dev ## Install torch for the tests of irscope run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"

helion: torch ## Install Helion and torch for the tests of Helion's kernels
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "helion>=1.1"

fuzz: $(VENV)/ready-dev ## Damaged input of every kind: make fuzz CASES=20000; a million cases take an hour
	$(BIN)/python -m tests.hardening.campaign --cases $(CASES)

$(VENV)-fuzz/ready:
	$(PYTHON) -m venv $(VENV)-fuzz
	$(VENV)-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group dev "atheris>=3.0"
	@touch $@

SECONDS := 3600

fuzz-coverage: $(VENV)-fuzz/ready ## Coverage-guided fuzzing of parsers and reader: make fuzz-coverage SECONDS=600
	$(VENV)-fuzz/bin/python -m tests.hardening.coverage_fuzz --seconds $(SECONDS) --keep

$(VENV)-audit/ready:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.7" "pip-licenses>=5"
	@touch $@

LICENSES := MIT;BSD;Apache;PSF;Python Software Foundation;MPL;Mozilla;ISC;Unlicense

keys: $(VENV)/ready-dev ## 2,000 bursts of 500 random keys in the app, with resizes (BURSTS=200x500 for fewer)
	RANDOM_KEYS=$(BURSTS) $(BIN)/pytest -n auto tests/tui/test_random_keys.py

# Without a network, the advisories cannot be asked for: that is said and is no failure. pip-audit then writes no
# report, and ends with another code for wrong arguments (2).
audit: $(VENV)/ready-dev $(VENV)-audit/ready ## Licenses and known vulnerabilities of all dependencies
	$(VENV)-audit/bin/pip-licenses --python $(BIN)/python --partial-match --allow-only "$(LICENSES)" >/dev/null
	@$(BIN)/python -m pip freeze --exclude-editable --disable-pip-version-check > $(VENV)/frozen.txt
	@rm -f $(VENV)/advisories.json
	@$(VENV)-audit/bin/pip-audit --no-deps --disable-pip -r $(VENV)/frozen.txt -f json -o $(VENV)/advisories.json \
		2> $(VENV)/audit.log; code=$$?; \
	if [ -s $(VENV)/advisories.json ] || [ $$code -ne 1 ]; then \
		tail -n 1 $(VENV)/audit.log; [ $$code -eq 0 ] || cat $(VENV)/advisories.json; exit $$code; fi; \
	echo "audit: advisories were not checked: $$(tail -n 1 $(VENV)/audit.log | cut -c 1-160)"

lint: $(VENV)/ready-dev ## Style, types, import contracts and the figures of tools/house.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY_NUM_WORKERS=auto $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.house

$(VENV)/ready-docs: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

docs: $(VENV)/ready-docs ## Build the docs site in site/html; warnings are errors
	$(BIN)/python docs/scripts/site_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

man: $(VENV)/ready-docs ## Write the manual page site/man/irscope.1
	$(BIN)/python docs/scripts/man_page.py

film: $(VENV)/ready-dev ## Record the film of the README in docs/images/film.svg; needs tmux
	$(BIN)/python docs/scripts/film.py

refresh-docs: $(VENV)/ready-dev $(VENV)/demo/passes.irscope ## Rewrite usage, outputs, lessons and pictures in the docs
	$(BIN)/python docs/scripts/usage.py
	$(BIN)/python docs/scripts/lint_rules.py
	$(BIN)/python docs/scripts/advisories.py
	$(BIN)/python docs/scripts/refresh_outputs.py
	$(BIN)/python docs/scripts/agent_outputs.py
	$(BIN)/python docs/scripts/lessons.py
	$(BIN)/python docs/scripts/screenshots.py $(VENV)/demo/passes.irscope

$(VENV)/demo/passes.irscope: $(VENV)/ready samples/matmul.py
	@mkdir -p $(dir $@)
	$(BIN)/irscope compile samples/matmul.py --passes --signature "$(SIGNATURE)" --force -o $@

clean: ## Remove generated files
	rm -rf $(VENV) $(VENV)-* site .mypy_cache .ruff_cache .pytest_cache .hypothesis
