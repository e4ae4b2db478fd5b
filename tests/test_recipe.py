"""The conda recipe says what pyproject.toml says, in the format of rattler-build."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMES = {"matplotlib": "matplotlib-base"}  # what conda-forge calls a library, where its name differs


def test_the_recipe_needs_what_the_package_needs():
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    needed = set(re.findall(r"- ([\w-]+) (>=[\d.]+)", run))
    wanted = {re.fullmatch(r"([\w-]+)(>=[\d.]+)", each).groups() for each in PROJECT["dependencies"]}
    assert needed == {(NAMES.get(name, name), bound) for name, bound in wanted}


def test_the_recipe_has_the_version_the_python_and_the_command_of_the_package():
    assert f'version: "{PROJECT["version"]}"' in RECIPE
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE
    assert f"- mercer = {PROJECT['scripts']['mercer']}\n" in RECIPE
    assert f"license: {PROJECT['license']}\n" in RECIPE


def test_rattler_build_reads_the_recipe():
    rattler_build = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    recipe = rattler_build.Stage0Recipe.from_yaml(RECIPE)
    (variant,) = recipe.render()
    rendered = variant.recipe.to_dict()
    assert rendered["package"] == {"name": "mercer", "version": PROJECT["version"]}
    assert rendered["build"]["noarch"] == "python"
