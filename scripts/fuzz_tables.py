"""Read damaged and hostile tables: every failure must be one TableError of one line, in bounded time and memory.

    PYTHONPATH=src python scripts/fuzz_tables.py 10000              all formats
    PYTHONPATH=src python scripts/fuzz_tables.py 1000 --only h5ad   one of them
    PYTHONPATH=src python scripts/fuzz_tables.py 1 --read FILE      one file, as the workers read it

Small tables of every format are damaged (bits, bytes, lengths, pieces cut, copied and spliced; inside archives also
the members) and read in other processes, with limits on time and memory. Files that break a rule are kept in --keep.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import json
import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 30.0  # for one file
MEMORY = 8 * 2**30  # address space of a worker; Arrow reserves much that it never touches
INTERESTING = [0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1]  # where lengths and offsets overflow
INTERESTING += [2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
PIECES = [
    b'"',
    b'""',
    b",",
    b";",
    b"\t",
    b"|",
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"NaN",
    b"1e999",
]
PIECES += [
    b"-inf",
    b"9" * 400,
    b"\xed\xa0\x80",
    b"''",
    b"=1+1",
    b",,,,",
    b"\x1f\x8b",
    b"\n\n",
    b"a" * 3000,
    b"1,5",
    b"#",
]


def seeds() -> dict[str, list[bytes]]:
    """Small tables of every format, undamaged."""
    import pyarrow as pa

    from mercer.tables.table import write_table

    rng = np.random.default_rng(0)
    numbers = {f"c{j}": rng.standard_normal(12) for j in range(3)}
    mixed = numbers | {"kind": np.array(["x", None, 'a,"b"\n'] * 4, object), "n": np.arange(12) + 2**60}
    found: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "tsv", "csv.gz", "parquet", "arrow", "npy", "npz"):
            for columns in (numbers, mixed):
                if suffix != "npy" or columns is numbers:
                    path = Path(folder) / f"t.{suffix}"
                    write_table(path, columns)
                    found.setdefault(suffix, []).append(path.read_bytes())
    found["csv"] += [b"1;2,5;x\n3;4,5;\n", "ä,b\n1,2\n".encode("latin-1"), "a,b\n1,2\n".encode("utf-16"), b"1\n2\n3\n"]
    found["csv"] += [b"# made, by hand\n# a b\n1.5 2\n3 4\n", b"#n,t\n1,x\n2,y\n"]
    table = pa.table({"a": [1.5, None], "b": pa.array(["x", "y"]).dictionary_encode(), "c": [[1], [2, 3]]})
    found["arrow"] += [_ipc(table, "stream", None), _ipc(table, "file", "lz4"), _ipc(table, "file", "zstd")]
    found["parquet"].append(_parquet(table))
    found["npz"] += _npz(rng)
    found["npy"] += [_npy(rng.integers(0, 255, (4, 5, 5), np.uint8)), _npy(np.array([(1, "a")], "i4,U3"))]
    found["h5ad"] = _h5ad(rng)
    found["images"] = _images(rng)
    return found


def _ipc(table: Any, kind: str, compression: str | None) -> bytes:
    from pyarrow import ipc

    file = io.BytesIO()
    options = ipc.IpcWriteOptions(compression=compression)
    make = ipc.new_stream if kind == "stream" else ipc.new_file
    with make(file, table.schema, options=options) as writer:
        writer.write_table(table)
    return file.getvalue()


def _parquet(table: Any) -> bytes:
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file, compression="snappy")
    return file.getvalue()


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _npz(rng: np.random.Generator) -> list[bytes]:
    from scipy import sparse

    found = []
    for kind in ("csr", "csc", "coo"):
        file = io.BytesIO()
        sparse.save_npz(file, sparse.random(9, 5, 0.3, kind, rng=rng))
        found.append(file.getvalue())
    file = io.BytesIO()
    np.savez(file, X=rng.standard_normal((4, 3)), y=np.array(["a", "b", "a", "c"]), ids=np.arange(4))
    return [*found, file.getvalue()]


def _h5ad(rng: np.random.Generator) -> list[bytes]:
    import h5py

    found = []
    for kind in ("dense", "chunked", "csr", "latest"):
        file = io.BytesIO()
        with h5py.File(file, "w", libver="latest" if kind == "latest" else None) as h5:
            if kind == "csr":
                part = h5.create_group("X")
                part.attrs["encoding-type"], part.attrs["shape"] = "csr_matrix", (4, 3)
                part["data"], part["indices"], part["indptr"] = [1.0, 2.0, 3.0], [0, 2, 1], [0, 1, 2, 3, 3]
            else:
                options = {"chunks": (2, 3), "compression": "gzip"} if kind == "chunked" else {}
                options |= {"chunks": (2, 2), "compression": "lzf", "fletcher32": True} if kind == "latest" else {}
                h5.create_dataset("X", data=rng.standard_normal((4, 3)), **options)
            obs, var = h5.create_group("obs"), h5.create_group("var")
            obs.attrs["_index"], obs.attrs["column-order"], var.attrs["_index"] = "_index", ["kind", "n"], "gene"
            obs["_index"], obs["n"], var["gene"] = ["r1", "r2", "r3", "r4"], np.arange(4), ["g1", "g2", "g3"]
            kinds = obs.create_group("kind")
            kinds.attrs["encoding-type"] = "categorical"
            kinds["codes"], kinds["categories"] = np.array([0, 1, -1, 0], np.int8), ["T", "B"]
        found.append(file.getvalue())
    return found


def _images(rng: np.random.Generator) -> list[bytes]:
    from PIL import Image

    found = []
    for mode, kind in (("L", "PNG"), ("RGB", "JPEG"), ("RGBA", "PNG"), ("L", "GIF"), ("RGB", "TIFF"), ("L", "BMP")):
        shape = (7, 6) if mode == "L" else (7, 6, len(mode))
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, shape, np.uint8)).save(file, kind)
        found.append(file.getvalue())
    return found


def damaged(whole: bytes, rng: np.random.Generator, others: list[bytes], text: bool) -> bytes:
    """Damage a file in one or a few places; in an archive, half of the time inside a member."""
    if rng.random() < 0.5:
        if whole[:2] == b"\x1f\x8b":
            return gzip.compress(damaged(gzip.decompress(whole), rng, others, True), 1, mtime=0)
        if whole[:2] == b"PK":
            return _damaged_archive(whole, rng, others)
    found = bytearray(whole)
    same_length = rng.random() < 0.6  # formats that store offsets refuse anything else at once
    for _ in range(int(rng.geometric(0.35))):
        _injure(found, rng, others, text, same_length)
    return bytes(found)


def _damaged_archive(whole: bytes, rng: np.random.Generator, others: list[bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, zipfile.ZipFile(file, "w") as again:
        hit = int(rng.integers(len(archive.namelist())))
        for i, name in enumerate(archive.namelist()):
            member = archive.read(name)
            again.writestr(name, damaged(member, rng, others, True) if i == hit else member)
    return file.getvalue()


def _injure(found: bytearray, rng: np.random.Generator, others: list[bytes], text: bool, same_length: bool) -> None:
    """One injury, in place."""
    size = len(found)
    at = int(rng.integers(size + 1))
    length = int(rng.geometric(0.05))
    what = int(rng.choice([0, 1, 5, 5] if same_length else range(9 if text else 8)))
    if what == 0 and size:
        found[at % size] ^= 1 << int(rng.integers(8))
    elif what == 1 and size:
        found[at % size] = int(rng.integers(256))
    elif what == 2:
        del found[at : at + length]
    elif what == 3:
        found[at:at] = found[at : at + length]
    elif what == 4:
        found[at:at] = rng.bytes(length)
    elif what == 5:
        width = int(rng.choice([1, 2, 4, 8]))
        number = INTERESTING[int(rng.integers(len(INTERESTING)))] % 256**width
        at = max(0, min(at, size - width))
        found[at : at + width] = number.to_bytes(width, "little" if rng.random() < 0.7 else "big")
    elif what == 6:
        del found[at:]
    elif what == 7:
        other = others[int(rng.integers(len(others)))]
        start = int(rng.integers(len(other) + 1))
        found[at : at + length] = other[start : start + length]
    else:
        found[at:at] = PIECES[int(rng.integers(len(PIECES)))]


def choices() -> list[dict[str, Any]]:
    return [{}, {"encode": "onehot", "impute": "mean", "scale": "standard"}, {"encode": "drop", "impute": "drop"}]


def read(path: str, which: int) -> str:
    """How reading a file ends: "read", "refused", or which rule it broke."""
    from mercer.tables.table import Choice, TableError, read_columns, read_table

    try:
        if which == len(choices()):
            read_columns(path)
        else:
            table = read_table(path, Choice(**choices()[which]))
            data = table.X if isinstance(table.X, np.ndarray) else table.X.data
            if not np.isfinite(data).all() or table.X.shape[1] != len(table.features):
                return "WRONG: values that are not finite, or a name too many"
    except TableError as error:
        good = str(error) and "\n" not in str(error) and len(str(error)) < 2000
        return "refused" if good else f"WRONG: a message of {len(str(error))} letters in more than one line"
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {error}"
    return "read"


def work(jobs: Any, limit: int) -> None:
    """A worker: receives (path, choice), sends how it ended and the peak memory."""
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for reader in ("text", "arrow", "arrays", "h5ad", "images"):
        importlib.import_module(f"mercer.tables.{reader}")
    jobs.send("ready")  # the time of imports must not count against the first file
    while (job := jobs.recv()) is not None:
        ended = read(*job)
        jobs.send((ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


@dataclass
class Fuzz:
    """One run: counts of how reading ended, and the files that broke a rule."""

    folder: Path
    keep: Path | None = None
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    peak: int = 0

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.jobs, theirs = context.Pipe()
        self.worker = context.Process(target=work, args=(theirs, MEMORY), daemon=True)
        self.worker.start()
        theirs.close()
        self.jobs.recv()

    def stop(self) -> None:
        self.jobs.send(None)
        self.worker.join(10)

    def try_one(self, kind: str, content: bytes, which: int, number: int) -> None:
        path = self._write(kind, content)
        began = time.monotonic()
        ended = self._ended(str(path), which)
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.counts[kind, ended.partition(":")[0]] += 1
        if ended not in ("read", "refused"):
            self.wrong.append({"number": number, "kind": kind, "choice": which, "ended": ended})
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                (self.keep / f"{number}.{kind}").write_bytes(content)

    def _write(self, kind: str, content: bytes) -> Path:
        if kind != "images":
            path = self.folder / f"t.{kind}"
            path.write_bytes(content)
            return path
        path = self.folder / "images"
        path.mkdir(exist_ok=True)
        (path / "one.png").write_bytes(content)
        return path

    def _ended(self, path: str, which: int) -> str:
        """What the worker reports. A worker that hangs or dies is replaced."""
        try:
            self.jobs.send((path, which))
            if not self.jobs.poll(SECONDS):
                self.worker.kill()
                self.worker.join()
                self.start()
                return "HANG"
            ended, peak = self.jobs.recv()
        except (EOFError, OSError):
            self.worker.join()
            code = self.worker.exitcode
            self.start()
            return f"CRASH: exit {code}"
        self.peak = max(self.peak, peak)
        return ended


def run(n: int, seed: int = 0, only: list[str] | None = None, keep: Path | None = None, say: Callable = print) -> Fuzz:
    """Read n damaged tables, taking the formats in turn."""
    whole = seeds()
    kinds = only or list(whole)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder), keep)
        fuzz.start()
        for number in range(n):
            kind = kinds[number % len(kinds)]
            start = whole[kind][int(rng.integers(len(whole[kind])))]
            which = int(rng.integers(len(choices()) + 1))
            fuzz.try_one(kind, damaged(start, rng, whole[kind], kind in ("csv", "tsv")), which, number)
            if number % 500 == 499:
                say(f"{number + 1}: {len(fuzz.wrong)} wrong, {fuzz.slowest:.1f} s, {fuzz.peak / 1e6:.0f} MB")
        fuzz.stop()
    return fuzz


def main() -> None:
    parser = argparse.ArgumentParser(description="Read damaged tables.")
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz_tables")
    parser.add_argument("--read", metavar="FILE")
    options = parser.parse_args()
    if options.read:
        sys.stdout.write("\n".join(read(options.read, which) for which in range(len(choices()) + 1)) + "\n")
        return
    began = time.monotonic()
    fuzz = run(options.n, options.seed, options.only, options.keep, lambda line: sys.stderr.write(line + "\n"))
    for (kind, ended), count in sorted(fuzz.counts.items()):
        sys.stdout.write(f"{kind:8s} {ended:8s} {count}\n")
    sys.stdout.writelines(json.dumps(one) + "\n" for one in fuzz.wrong[:20])
    sys.stdout.write(
        f"{options.n} tables in {time.monotonic() - began:.0f} s: {len(fuzz.wrong)} wrong; "
        f"slowest {fuzz.slowest:.2f} s, peak {fuzz.peak / 1e6:.0f} MB\n"
    )
    sys.exit(1 if fuzz.wrong else 0)


if __name__ == "__main__":
    main()
