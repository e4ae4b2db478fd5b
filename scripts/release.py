"""Build what a release consists of, and try it as a user would: in clean environments, without the sources.

    python scripts/release.py                     every Python found: python3.11, python3.12, python3.13
    python scripts/release.py python3.12          these, those of them that are found
    python scripts/release.py --part              a part of the tests, for a first look

The steps: a source distribution is built, a wheel from it and not from this folder, and the package of the recipe for
conda-forge. Each Python gets a new environment with that wheel. The tests, the documents and the examples lie beside
it, but no sources. All tests but those of the sources themselves run there, then the code and the commands of the
README.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
# tests/test_house.py reads the sources, and tests/site the site that `make docs` has built.
ALL = ["tests", "--ignore=tests/test_house.py", "--ignore=tests/site"]
# Kernels, contracts, model files of every estimator, and the theory with its chapters.
PART = ["tests/contracts", "tests/kernels", "tests/models", "tests/theory"]
FOLDERS = ("tests", "docs", "examples", "scripts", "benchmarks", "recipe")
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "LICENSE", "pyproject.toml")


def run(*command: str | Path, folder: Path = ROOT, **settings) -> str:
    """Run a command and stop the release if it fails."""
    words = [str(word) for word in command]
    print("$", shlex.join(words), flush=True)
    done = subprocess.run(words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **settings)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nThe release stops: {shlex.join(words)} failed.")
    return done.stdout


def runs(python: str) -> bool:
    """Whether an interpreter is there. The name alone may be that of a launcher without a Python behind it."""
    return bool(shutil.which(python)) and not subprocess.run([python, "-c", ""], capture_output=True).returncode


def environment(python: str, folder: Path) -> Path:
    """The folder of programs of a new virtual environment."""
    run(python, "-m", "venv", folder)
    return folder / "bin"


def build(folder: Path, dist: Path) -> tuple[Path, Path]:
    """The unpacked source distribution, and the wheel that was built from it."""
    programs = environment(sys.executable, folder / "builder")
    run(programs / "pip", "install", "--quiet", "hatchling>=1.25", "py-rattler-build>=0.73")
    shutil.rmtree(dist, ignore_errors=True)
    run(programs / "python", "-m", "hatchling", "build", "--target", "sdist", "--directory", dist)
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    run(programs / "python", "-m", "hatchling", "build", "--target", "wheel", "--directory", dist, folder=unpacked)
    (wheel,) = dist.glob("*.whl")
    print(run(programs / "python", ROOT / "scripts" / "build_recipe.py", folder / "recipe").strip().splitlines()[-1])
    return unpacked, wheel


def shell_commands(readme: str) -> list[str]:
    """The commands of the README that start with `mercer`."""
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("mercer ")]


def write_tables(programs: Path, folder: Path) -> None:
    """The tables that the commands of the README name: table.csv with a column `kind`, and new.csv."""
    code = (
        "from sklearn.datasets import load_iris; t = load_iris(as_frame=True).frame; "
        "t = t.rename(columns={'target': 'kind'}); "
        "t.to_csv('table.csv', index=False); t[::10].to_csv('new.csv', index=False)"
    )
    run(programs / "python", "-c", code, folder=folder)


def try_out(python: str, wheel: Path, sources: Path, folder: Path, tests: list[str]) -> None:
    """Install the wheel into a new environment and use it where no sources are."""
    programs = environment(python, folder / "environment")
    run(programs / "pip", "install", "--quiet", f"{wheel}[test]")
    beside = folder / "beside"
    beside.mkdir()
    for name in FOLDERS:
        shutil.copytree(sources / name, beside / name)
    for name in FILES:
        shutil.copy(sources / name, beside / name)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    where = run(programs / "python", "-c", "import mercer; print(mercer.__file__)", folder=beside, env=clean).strip()
    if not Path(where).is_relative_to(programs.parent):
        raise SystemExit(f"The release stops: the tests would import {where}, not the wheel.")
    pytest = [programs / "python", "-m", "pytest", "-n", "2", "-m", "not browser", "-o", "addopts=-q --strict-markers"]
    began = time.monotonic()
    said = run(*pytest, *tests, folder=beside, env=clean)
    print(f"{python}: {said.strip().splitlines()[-1]} in {time.monotonic() - began:.0f} s", flush=True)
    run(*pytest, "tests/test_examples.py", "-k", "code_in_documents and README", folder=beside, env=clean)
    shell = folder / "shell"
    shell.mkdir()
    write_tables(programs, shell)
    readme = (sources / "README.md").read_text(encoding="utf-8")
    for command in [*shell_commands(readme), "mercer demo circles digits --output demo"]:
        run(programs / "mercer", *shlex.split(command)[1:], folder=shell, env=clean)
    print(f"{python}: the commands of the README ran", flush=True)


def check_versions() -> str:
    """The version, if the package, the citation, the recipe and the changelog agree on it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name, expected in {
        "CHANGELOG.md": f"## [{version}] – 20",  # and a date
        "CITATION.cff": f"\nversion: {version}\n",
        "recipe/recipe.yaml": f'version: "{version}"',
        "src/mercer/__init__.py": f'__version__ = "{version}"',
    }.items():
        if expected not in (ROOT / name).read_text(encoding="utf-8"):
            raise SystemExit(f"The release stops: {name} does not have {expected.strip()!r}.")
    return version


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a release and try it in clean environments.")
    parser.add_argument("pythons", nargs="*", help="interpreters; without any, those of 3.11 to 3.13 that are found")
    parser.add_argument("--part", action="store_true", help="a part of the tests: kernels, contracts, models, theory")
    given = parser.parse_args()
    wanted = given.pythons or list(PYTHONS)
    pythons = [name for name in wanted if runs(name)]
    if not pythons:
        raise SystemExit(f"None of {', '.join(wanted)} is installed.")
    if len(pythons) < len(wanted):
        print("Not installed, and not tried:", ", ".join(sorted(set(wanted) - set(pythons))))
    print(f"Mercer {check_versions()} on {', '.join(pythons)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources, wheel = build(folder, ROOT / "dist")
        for python in pythons:
            place = folder / Path(python).name
            place.mkdir()
            try_out(python, wheel, sources, place, PART if given.part else ALL)
            shutil.rmtree(place)
    print(f"{wheel.name} and its source distribution are in dist/.")


if __name__ == "__main__":
    main()
