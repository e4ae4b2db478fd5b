"""Completion: the script is where the shell looks, and the command answers it."""

import pytest
from click.testing import CliRunner

from mercer.cli.completion import PLACES
from mercer.cli.main import main


@pytest.mark.parametrize("shell", PLACES)
def test_the_script_is_where_the_shell_looks(tmp_path, monkeypatch, shell):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    result = CliRunner().invoke(main, ["--install-completion"])
    assert result.exit_code == 0 and PLACES[shell] in result.stdout
    assert "_MERCER_COMPLETE" in (tmp_path / PLACES[shell]).read_text()


def test_an_unknown_shell_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    result = CliRunner().invoke(main, ["--install-completion"])
    assert result.exit_code == 2 and "bash, zsh, fish" in result.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "answer"), [("mercer ev", "evaluate"), ("mercer fit --resu", "--resume")])
def test_the_command_completes_words(words, answer):
    count = str(len(words.split()) - 1)
    environment = {"_MERCER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    assert answer in CliRunner().invoke(main, [], prog_name="mercer", env=environment).stdout
