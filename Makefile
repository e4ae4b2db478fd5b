# Two commands are enough: `make demo` and `make test`. Everything lands in .venv; delete it to start over.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-torch lint bench pictures clean

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
	$(BIN)/mercer demo --output demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check src tests benchmarks examples scripts
	$(BIN)/ruff format --check src tests benchmarks examples scripts
	$(BIN)/lint-imports
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n 2 --dist worksteal

# torch is no dependency; the CPU build is enough for the tests.
test-torch: $(VENV)/.installed-test
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pytest -m torch tests

# primme, a competitor, comes without wheels: install it yourself to have it in the comparison of solvers. The search for
# neighbours is compared with faiss-cpu, hnswlib, usearch and pynndescent, those of them that are installed.
bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks

pictures: $(VENV)/.installed
	$(BIN)/mercer demo --output docs/pictures --quiet
	$(BIN)/python examples/discriminants.py --output docs/pictures
	$(BIN)/python examples/two_views.py --output docs/pictures
	$(BIN)/python examples/choose_kernel.py --output docs/pictures
	$(BIN)/python examples/kernelize.py --output docs/pictures
	$(BIN)/python examples/novelty.py --output docs/pictures
	$(BIN)/python examples/eigenfaces.py --output docs/pictures
	$(BIN)/python examples/denoise_digits.py --output docs/pictures
	$(BIN)/python examples/crowding.py --output docs/pictures

clean:
	rm -rf $(VENV) demo build dist
