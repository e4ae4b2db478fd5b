"""What --help says of a method's options can be typed in a shell."""

import re

import pytest

from mercer.cli.methods import METHODS
from mercer.cli.option_help import KERNELS, METRICS, help_text
from mercer.cli.parameters import parameters_of
from mercer.cli.table_input import refuse_metric
from mercer.kernels import KERNEL_NAMES

EVERY = [(method, parameter) for method in METHODS for parameter in parameters_of(method)]
PYTHON = r"mercer\.|[A-Za-z]_\b|`|\b(True|False|None|callable|object)\b|function of|\w=\"|Warning|\bn_\w"


@pytest.mark.parametrize(("method", "parameter"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_no_help_speaks_of_what_only_python_has(method, parameter):
    text = help_text(method, parameter)
    assert text and not re.search(PYTHON, text), text


def test_every_kernel_and_every_metric_of_the_list_exists():
    assert sorted(KERNEL_NAMES) == list(KERNELS)
    assert list(METRICS) == sorted(METRICS)
    for name in METRICS:
        refuse_metric(name)


def test_help_lists_all_kernels_and_a_mistake_says_which_help(shell):
    shown = " ".join(shell("fit", "-m", "kpca", "--help").stdout.split())
    assert ", ".join(KERNELS) in shown
    for words in (["kpca", "--kernel", "foo"], ["isomap", "--metric", "foo"], ["tsne", "--init", "foo"]):
        (line,) = shell("fit", "flowers.csv", "-m", *words, status=2).stderr.splitlines()
        assert len(line) <= 160 and "--help" in line
    assert line.endswith("fit --method tsne --help.")
