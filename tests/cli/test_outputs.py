"""Files are written together or not at all, and never over an input."""

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
