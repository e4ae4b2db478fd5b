"""`mercer demo`: which demos run, where their files go, and failure before work."""

import pytest
from click.testing import CliRunner

from mercer.cli.main import main


def test_quiet_writes_pictures_and_nothing_else(tmp_path):
    result = CliRunner().invoke(main, ["demo", "circles", "-q", "-o", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circles-eigenfunctions.png", "circles.png"]


@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_is_one_line_before_any_work(tmp_path, place):
    (tmp_path / "taken").write_text("a file")
    result = CliRunner().invoke(main, ["demo", "--output", str(tmp_path / place)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"mercer: Cannot write to {tmp_path / place}: ")
    assert result.stderr.count("\n") == 1 and result.stdout == ""
