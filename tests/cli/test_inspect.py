"""`mercer inspect`: what tables, models and records hold, and suggestions that work."""

import json

import mercer

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def test_a_model_its_coordinates_and_its_record(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "-o", "c.csv", "--save", "m.mercer")
    model = mercer.load("m.mercer")
    about = json.loads(shell("inspect", "m.mercer", "--json").stdout)
    assert about["class"] == "KernelPCA" and about["parameters"]["kernel"] == "rbf"
    assert about["fit"]["eigenvalues"] == model.eigenvalues_.tolist()
    assert about["notes"]["input"]["path"] == "flowers.csv"
    for name in ("m.mercer", "c.csv", "c.run.json"):
        said = shell("inspect", name).stdout
        assert f"{model.eigenvalues_[0]:.6g}" in said and "flowers.csv" in said
    assert json.loads(shell("inspect", "c.run.json", "--json").stdout) == shell.record("c.run.json")
    assert "the file does not exist" in shell("inspect", "nowhere.csv", status=3).stderr
    assert "a folder without images" in shell("inspect", ".", status=3).stderr


def test_the_times_of_a_run_are_told_as_people_read_them(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    record = shell.record("c.run.json")
    record["seconds"] = {"read": 0.0834, "fit": 150.2, "write": 5025.0}
    (shell.folder / "c.run.json").write_text(json.dumps(record))
    said = shell("inspect", "c.run.json").stdout
    assert "read 0.083 s, fit 2 min 30 s, write 1 h 24 min" in said and "e+0" not in said.partition("time")[2]
