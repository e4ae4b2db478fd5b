"""Warnings and errors have classes to filter by, and warnings point at the line that called Mercer."""

import threading
import warnings

import pytest

import mercer
from mercer import exceptions
from mercer.exceptions import DegenerateDataWarning, MercerWarning


@pytest.mark.parametrize("name", exceptions.__all__)
def test_warnings_have_one_base_and_errors_a_builtin_one(name):
    kind = getattr(exceptions, name)
    if name.endswith("Warning"):
        assert issubclass(kind, MercerWarning)
    else:
        assert issubclass(kind, ValueError) and name.endswith("Error")


def test_a_warning_points_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        mercer.selection.alignment("rbf", [[1.0], [1.0], [1.0]], [0, 1, 1])
    (warning,) = [entry for entry in seen if issubclass(entry.category, DegenerateDataWarning)]
    assert warning.filename == __file__


def test_a_thread_collects_its_own_warnings_alone():
    collecting, others, collected = threading.Event(), threading.Event(), []

    def collect():
        with exceptions.collected_warnings() as messages:
            collecting.set()
            others.wait(60)
            exceptions.warn("collected", DegenerateDataWarning)
        collected.extend(messages)

    thread = threading.Thread(target=collect)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        thread.start()
        collecting.wait(60)
        exceptions.warn("given", DegenerateDataWarning)
        others.set()
        thread.join(60)
    assert collected == ["collected"] and [str(entry.message) for entry in seen] == ["given"]
