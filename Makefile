# Two commands are enough: `make demo` and `make test`. Everything lands in .venv; delete it to start over.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-torch test-gallery test-coming-from test-processors test-compilation test-oldest test-pythons test-page test-notebook page check-page lint docs test-docs release bench pictures clean

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/mercer demo circles digits --output demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check src tests benchmarks examples scripts docs
	$(BIN)/ruff format --check src tests benchmarks examples scripts docs
	$(BIN)/lint-imports
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not browser and not site"

# The numerical tests as other processors and other numbers of threads would run them. scripts/test_processors.py explains
# the settings; COMBINATIONS='haswell numpy+numba threads-16' chooses some.
test-processors: $(VENV)/.installed-test
	$(BIN)/python scripts/test_processors.py $(COMBINATIONS)

# The same seed gives the same bits from code fresh from the compiler and from numba's cache.
test-compilation: $(VENV)/.installed-test
	$(BIN)/python scripts/test_compilation.py

# The oldest versions that pyproject.toml allows, on the oldest Python: PYTHON=python3.11.
OLDEST := .venv-oldest

$(OLDEST)/.installed: pyproject.toml scripts/oldest_versions.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python scripts/oldest_versions.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip install --quiet --requirement $(OLDEST)/oldest.txt
	$(OLDEST)/bin/pip install --quiet --no-deps --editable .
	touch $@

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/pytest -n 2 --dist worksteal -m "not browser and not site"

# Every Python that is installed here: PYTHONS='python3.12 python3.13' chooses some.
PYTHONS ?= python3.11 python3.12 python3.13

test-pythons:
	for python in $(PYTHONS); do $(MAKE) test PYTHON=$$python VENV=.venv-$$(basename $$python) || exit 1; done

# torch is optional; the CPU build is enough for the tests. Triton interprets kernels where there is no card.
test-torch: $(VENV)/.installed-test
	$(BIN)/python -c 'import torch, triton' 2>/dev/null || $(BIN)/pip install --quiet torch==2.13.0 triton
	$(BIN)/pytest -m torch tests

# scikit-learn's gallery with Mercer's classes; EXAMPLES='plot_kernel_pca manifold' chooses some.
test-gallery: $(VENV)/.installed-test
	$(BIN)/python scripts/sklearn_gallery.py $(EXAMPLES)

# The pages for those who come from another library: their code, and each row of their tables on both libraries. R with kernlab
# takes part if it is there: apt-get install r-base-core r-cran-kernlab.
test-coming-from: $(VENV)/.installed-test
	$(BIN)/pip install --quiet openTSNE umap-learn
	$(BIN)/pytest -rs tests/coming_from tests/site/test_coming_from.py
	$(BIN)/pytest -rs tests/test_examples.py -k "code_in_documents and coming_from"

# The script of the pages is built from TypeScript and committed, so that nobody needs node to use Mercer.
CLIENT := src/mercer/web/client

page:
	cd $(CLIENT) && npm ci --silent --ignore-scripts && npm run --silent build

# Whether what is committed is what the sources give, to the byte.
check-page:
	cd $(CLIENT) && npm ci --silent --ignore-scripts && npm run --silent types && npm test --silent
	built=$$(mktemp -d) && (cd $(CLIENT) && node build.mjs --out $$built) && diff -r $$built src/mercer/web/static \
	  || { echo 'src/mercer/web/static is not what its sources give: run make page and commit it.'; exit 1; }

# Needs node 20 and Chromium: apt-get install chromium, or MERCER_CHROMIUM=/path/to/it.
test-page: check-page $(VENV)/.installed-test
	$(BIN)/pytest -rs -m browser tests/web

# The widget in real JupyterLab, Notebook 7 and marimo, in Chromium. They have an environment of their own.
NOTEBOOKS := .venv-notebook

$(NOTEBOOKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(NOTEBOOKS)
	$(NOTEBOOKS)/bin/pip install --quiet --editable '.[notebook]' jupyterlab notebook marimo playwright pytest pytest-timeout hypothesis
	touch $@

test-notebook: $(NOTEBOOKS)/.installed
	$(NOTEBOOKS)/bin/pytest -rs -m browser tests/web/test_notebook_browser.py

# The site of the documentation, in build/site. Sphinx and its themes have an environment of their own. Warnings are errors,
# and the examples of the gallery and the chapters run; both keep what did not change since the last time.
DOCS := .venv-docs

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --editable '.[docs]'
	touch $@

docs: $(DOCS)/.installed
	$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --keep-going --builder html docs build/site
	@echo 'The site is in build/site/index.html.'

# The built site: links, the search, and every page in Chromium, also as axe-core sees it (needs node and chromium).
AXE := build/node_modules/axe-core/axe.min.js

$(AXE):
	npm install --silent --ignore-scripts --no-audit --no-fund --prefix build axe-core@4.14.0

test-docs: docs $(AXE) $(VENV)/.installed-test
	$(BIN)/pytest -rs tests/site

# What a release consists of, tried where no sources are: in a new environment of every Python that is found, then the site.
# CONTRIBUTING.md has the whole list. PYTHONS='python3.12' chooses some.
release: docs
	$(PYTHON) scripts/release.py $(PYTHONS)

# primme, a competitor, comes without wheels: install it yourself to have it in the comparison of solvers. The search for
# neighbours is compared with faiss-cpu, hnswlib, usearch and pynndescent, those of them that are installed.
bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks

pictures: $(VENV)/.installed
	$(BIN)/mercer demo circles digits --no-page --output docs/pictures --quiet
	$(BIN)/python examples/discriminants.py --output docs/pictures
	$(BIN)/python examples/two_views.py --output docs/pictures
	$(BIN)/python examples/choose_kernel.py --output docs/pictures
	$(BIN)/python examples/kernelize.py --output docs/pictures
	$(BIN)/python examples/novelty.py --output docs/pictures
	$(BIN)/python examples/eigenfaces.py --output docs/pictures
	$(BIN)/python examples/denoise_digits.py --output docs/pictures
	$(BIN)/python examples/crowding.py --output docs/pictures
	$(BIN)/python scripts/page_pictures.py docs/pictures

clean:
	rm -rf .venv .venv-* demo build dist
