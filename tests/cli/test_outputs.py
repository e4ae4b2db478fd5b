"""Files are written together or not at all, and never over an input."""

import os

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def test_a_failure_while_writing_leaves_the_old_files(shell, monkeypatch):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "--save", "m.mercer")
    before = {path.name: path.read_bytes() for path in shell.folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mercer.cli.fitted.save_model", full)
    shell("fit", *FLOWERS, "-m", "kpca", "-o", "c.csv", "--save", "m.mercer", status=5)
    assert {path.name: path.read_bytes() for path in shell.folder.iterdir()} == before


def test_a_name_may_be_as_long_as_the_system_allows(shell):
    name = "n" * 240
    shell("fit", *FLOWERS, "-m", "pca", "-o", f"{name}.csv", "--save", "m.mercer", "-q")
    assert {path.name for path in shell.folder.iterdir()} == {
        *("flowers.csv", "other.csv", "m.mercer"),
        *(f"{name}.csv", f"{name}.run.json"),
    }


def test_compare_never_writes_onto_its_table(shell):
    (shell.folder / "flowers.csv").rename("pca.csv")
    before = (shell.folder / "pca.csv").read_bytes()
    said = shell("compare", "pca.csv", "--label", "species", "--id", "name", "-m", "kpca,pca", "-o", ".", status=2)
    assert "pca.csv is an input" in said.stderr and (shell.folder / "pca.csv").read_bytes() == before
    assert not (shell.folder / "kpca.csv").exists()


def test_the_message_of_a_full_disk_names_the_file(shell, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for where, name in (("write_coordinates", "c.csv"), ("save_model", "m.mercer"), ("write_page", "p.html")):
        with monkeypatch.context() as patch:
            patch.setattr(f"mercer.cli.fitted.{where}", full)
            words = ["-m", "pca", "-o", "c.csv", "--save", "m.mercer", "--report", "p.html", "-q"]
            said = shell("fit", *FLOWERS, *words, status=5).stderr
        assert said == f"mercer: {name}: cannot be written: No space left on device\n"
        assert {path.name for path in shell.folder.iterdir()} == {"flowers.csv", "other.csv"}


def test_a_disk_that_is_full_only_when_it_is_asked_to_keep_the_bytes_gets_none_of_the_files(shell, monkeypatch):
    """Some file systems take bytes into memory first. The second file is refused; the first must not stay alone."""
    real, calls = os.fsync, []

    def full(number):
        calls.append(number)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", full)
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.npz", "--save", "m.mercer", "-q", status=5)
    assert {path.name for path in shell.folder.iterdir()} == {"flowers.csv", "other.csv"}


def test_a_folder_without_room_is_a_full_disk(shell, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    for words in (["fit", *FLOWERS, "-o", "c.csv"], ["compare", *FLOWERS, "-m", "pca", "-o", "maps"]):
        (line,) = shell(*words, status=5).stderr.splitlines()
        assert "No space left on device" in line and ("c.csv" in line or "maps" in line)
