"""Every failure is one line and an exit status of its own."""

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.cli.main import main


def invoke(*args):
    return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("a\nb"), 3),
        (np.linalg.LinAlgError("singular"), 1),
        (MemoryError(), 4),
        (KeyboardInterrupt(), 130),
        (OSError(28, "full"), 5),
        (OSError(13, "denied"), 1),
        (ZeroDivisionError("x"), 1),
        (KeyError("x"), 1),
        (BrokenPipeError(), 0),
    ],
)
def test_any_failure_of_a_verb_is_one_line_and_its_status(monkeypatch, error, status):
    def broken(*args, **options):
        raise error

    monkeypatch.setattr("mercer.cli.demo.make_folder", broken)
    result = invoke("demo", "circles")
    assert result.exit_code == status
    lines = [line for line in result.stderr.split("\n") if line]
    assert len(lines) == bool(status) and all(line.startswith("mercer: ") for line in lines)


def test_errors_of_the_library_have_statuses_of_their_own(monkeypatch):
    from sklearn.utils._param_validation import InvalidParameterError

    from mercer.exceptions import MemoryLimitError, ModelFileError
    from mercer.tables.table import TableError

    for error, status in ((TableError, 3), (ModelFileError, 5), (MemoryLimitError, 4), (InvalidParameterError, 2)):

        def broken(*args, error=error, **options):
            raise error("no")

        monkeypatch.setattr("mercer.cli.demo.make_folder", broken)
        assert invoke("demo", "circles").exit_code == status


def test_debug_shows_where(monkeypatch):
    def broken(*args, **options):
        raise ValueError("deep inside")

    monkeypatch.setattr("mercer.cli.demo.make_folder", broken)
    result = invoke("demo", "circles", "--debug")
    assert isinstance(result.exception, ValueError)
