"""Build the recipe for conda-forge with rattler-build, without a network.

    python scripts/build_recipe.py FOLDER       needs py-rattler-build; dist/ must have the source distribution

conda-forge would bring a Python, pip and hatchling. Here a channel in FOLDER has them instead: an environment of the
Python that runs this, and the two tools from the index of pip. So this shows that the source, the script, the entry
point and the metadata of the recipe work. It does not show that conda-forge has the dependencies, whose versions
tests/test_recipe.py compares with pyproject.toml. The tests of the recipe need them, and are left to conda-forge.
"""

import hashlib
import json
import platform
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path

import rattler_build

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "recipe" / "recipe.yaml"
VERSION = ".".join(map(str, sys.version_info[:3]))
DEPENDS = {"python": [], "hatchling": ["python"], "pip": ["hatchling"]}


def stage(folder: Path) -> dict[str, Path]:
    """The files of each package of the channel."""
    places = {name: folder / name for name in DEPENDS}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", places["python"]], check=True)
    tools = places["hatchling"] / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tools, "pip", "hatchling>=1.25"]
    subprocess.run(list(map(str, install)), check=True)
    note = places["pip"] / "share" / "pip.txt"  # a package needs a file
    note.parent.mkdir(parents=True)
    note.write_text("pip is in the package of hatchling.\n")
    return places


def channel(folder: Path) -> Path:
    """A channel with what builds the package."""
    home, platform_name = folder / "channel", f"linux-{'64' if platform.machine() == 'x86_64' else platform.machine()}"
    for name in (platform_name, "noarch"):
        (home / name).mkdir(parents=True)
    versions = {"python": VERSION, "hatchling": "1.25", "pip": "25.0"}
    records = {}
    for name, files in stage(folder / "staged").items():
        made = rattler_build.assemble_package(
            name,
            versions[name],
            platform_name,
            "0",
            home / platform_name,
            files_dir=files,
            depends=DEPENDS[name],
            compression_level=1,
            detect_prefix=False,
        )
        data = Path(made.path).read_bytes()
        digests = {"md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
        records[Path(made.path).name] = {
            "name": name,
            "version": versions[name],
            "build": "0",
            "build_number": 0,
            "depends": DEPENDS[name],
            "subdir": platform_name,
            "size": len(data),
            **digests,
        }
    for name, packages in ((platform_name, records), ("noarch", {})):
        index = {"info": {"subdir": name}, "packages": {}, "packages.conda": packages, "repodata_version": 1}
        (home / name / "repodata.json").write_text(json.dumps(index))
    return home


def build(folder: Path) -> Path:
    """The package that the recipe makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        rattler_build.build_recipes(
            [RECIPE],
            channel=[channel(folder).as_uri()],
            package_format="tar-bz2:1",  # which the standard library can read
            test="skip",
            output_dir=folder / "built",
            use_sharded=False,
            use_zstd=False,
            use_bz2=False,
        )
    (package,) = (folder / "built" / "noarch").glob("mercer-*.tar.bz2")
    return package


def check(package: Path, wheel: Path) -> None:
    """The package has the modules of the wheel, the command, and no architecture."""
    with tarfile.open(package) as packed, zipfile.ZipFile(wheel) as modules:
        wanted = {f"site-packages/{name}" for name in modules.namelist() if name.startswith("mercer/")}
        missing = wanted - set(packed.getnames())
        link = json.load(packed.extractfile("info/link.json"))
        index = json.load(packed.extractfile("info/index.json"))
    if missing or index["noarch"] != "python" or link["noarch"]["entry_points"] != ["mercer = mercer.cli.main:main"]:
        raise SystemExit(f"The recipe builds a wrong package: {sorted(missing)[:5]}, {index}, {link}")


def main() -> None:
    rattler_build.Stage0Recipe.from_file(str(RECIPE)).render()
    if f'python_min: "{sys.version_info[0]}.{sys.version_info[1]}"' not in RECIPE.read_text(encoding="utf-8"):
        print(f"The recipe was rendered. To build it, run this with its Python, not {VERSION}.")
        return
    folder = Path(sys.argv[1])
    package = build(folder)
    (wheel,) = (ROOT / "dist").glob("*.whl")
    check(package, wheel)
    print(f"The recipe builds {package.name}.")


if __name__ == "__main__":
    main()
