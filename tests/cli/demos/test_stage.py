"""Where demos print and draw: files that are there, and no line wider than a terminal."""

from PIL import Image

from mercer.cli.console import Console
from mercer.cli.demos.stage import Stage

FILES = {
    "circles": ["circles.png", "circles-eigenfunctions.png"],
    "digits": ["digits.png", "digits-scree.png", "digits.html"],
}


def test_no_line_is_wider_than_80_columns(runs):
    assert max(len(line) for line in runs[1].stdout.splitlines()) <= 80


def test_long_sentences_of_a_demo_are_wrapped(tmp_path, capsys):
    stage = Stage(tmp_path, Console())
    stage.say("  short, and set in")
    stage.say()
    stage.say("word " * 30)
    first, empty, *wrapped = capsys.readouterr().out.splitlines()
    assert (first, empty) == ("  short, and set in", "")
    assert len(wrapped) == 2 and max(map(len, wrapped)) <= 80 and wrapped[1].startswith("  word")


def test_pictures_and_a_page_are_written_and_named(runs):
    folder, result = runs
    assert result.exit_code == 0
    for name in FILES["circles"] + FILES["digits"]:
        assert str(folder / name) in result.stderr
        if name.endswith("png"):
            assert (folder / name).stat().st_size < 200_000
            assert Image.open(folder / name).size[0] > 1000
    assert len(list(folder.iterdir())) == 5
