# make demo       from a fresh machine to a checked, drawn, compiled and trained Transformer; results in out/
# make test       what CI runs: style, types, layers, the wheel, the tests
# make test-all   the slow tests too
# make test-gpu   those that need a CUDA device
# make lint       style, types, layers and the list of ops asked for by name alone
# make vscode     the extension for VS Code, as editors/vscode/attnc.vsix (needs Node 18 and npm)
# make playground the page that checks and draws in the browser, as a folder of static files: out/playground (needs Node 20 and npm)
# make docs       rewrite what is generated in docs/, and build the site into out/site
#
# Each target makes .venv with what it needs (.ci/venv says how, and which variables it heeds).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.PHONY: vscode playground demo test test-all test-gpu checks lint types style docs wheel smoke clean

JOBS ?= 2
PY := .venv/bin/python
SETUP := .ci/venv pyproject.toml constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

demo: .venv/demo.stamp
	$(PY) -P examples/demo.py

# What the tests do not need goes side by side; tests/test_house.py is one of the checks.
test: checks
	OMP_NUM_THREADS=1 .venv/bin/pytest -n $(JOBS) --dist worksteal --ignore=tests/test_house.py

test-all: checks
	$(PY) -m pip install -qq -c constraints.txt -e ".[interop]"
	$(PY) -m pip install -qq -c constraints.txt -e ".[fuzz]" || echo "no atheris here: a loop of our own leads the fuzzing"
	OMP_NUM_THREADS=1 .venv/bin/pytest -n $(JOBS) --dist worksteal -m "" --ignore=tests/test_house.py

checks:
	$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target types style smoke

test-gpu: .venv/dev.stamp
	$(PY) -m pytest -m gpu -rs tests/test_gpu.py

lint: types style

# mypy and import-linter see the package only as installed: an editable install hides the folders from them.
types: wheel
	MYPYPATH=.venv/wheel .venv/bin/mypy --cache-dir .venv/mypy -p attnc

style: wheel
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	PYTHONPATH=.venv/wheel .venv/bin/lint-imports --no-logo --cache-dir .venv/import-linter
	.venv/bin/pytest -q tests/test_house.py

wheel: .venv/dev.stamp
	rm -rf build .venv/dist .venv/wheel
	$(PY) -m build --wheel --outdir .venv/dist . > .venv/build.log 2>&1 || { cat .venv/build.log; exit 1; }
	$(PY) -m pip install -qq --no-deps --target .venv/wheel .venv/dist/attnc-*.whl

# The wheel as a stranger gets it: in an environment of its own, without torch, away from the repository.
smoke: wheel
	.ci/smoke .venv/dist/attnc-*.whl

docs: .venv/dev.stamp
	$(PY) docs/generate.py
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo "the site: out/site/index.html"

# What the extension is bundled from is pinned in package-lock.json. No script of a package is run.
vscode: .venv/dev.stamp
	@command -v npm > /dev/null || { echo "make vscode needs Node 18 or later, with npm" >&2; exit 1; }
	cd editors/vscode
	npm ci --ignore-scripts --silent
	npm run --silent build
	npm test --silent
	npm run --silent package
	cd ../..
	.venv/bin/pytest -q tests/editor/test_extension.py
	@echo "install it with: code --install-extension editors/vscode/attnc.vsix"

# What the page is bundled from is pinned in package-lock.json, wheels.txt and numpy.txt. No script of a package is run.
playground: .venv/dev.stamp
	@node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2> /dev/null && command -v npm > /dev/null || \
		{ echo "make playground needs Node 20 or later, with npm" >&2; exit 1; }
	(cd editors/playground && npm ci --ignore-scripts --silent)
	$(PY) editors/playground/build.py out/playground

.venv/demo.stamp: $(SETUP)
	.ci/venv demo

.venv/dev.stamp: $(SETUP)
	.ci/venv dev

clean:
	rm -rf .venv build out *.egg-info
