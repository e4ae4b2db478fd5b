"""`mercer report`: pages of maps."""

import json

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def test_a_page_of_several_maps(shell):
    shell("compare", *FLOWERS, "--methods", "pca,kpca", "-o", "maps", "-q")
    said = json.loads(
        shell("report", "maps/pca.csv", "maps/kpca.csv", "--data", "flowers.csv", "-o", "map.html", "--json").stdout
    )
    assert said["maps"] == ["pca", "kpca"] and said["rows"] == 90
    assert said["columns"][0] == "species" and {"m0", "m3"} <= set(said["columns"])
    assert said["bytes"] == (shell.folder / "map.html").stat().st_size
    assert "trustworthiness" in (shell.folder / "map.html").read_text()


def test_a_page_without_the_table(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    assert json.loads(shell("report", "c.csv", "-o", "map.html", "--json").stdout)["columns"] == ["species"]
    assert "is an input" in shell("report", "c.csv", "-o", "c.csv", status=2).stderr
