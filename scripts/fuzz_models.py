"""Alter the golden model files in every way and load what comes of it: nothing may crash, hang or fail with riddles.

    python scripts/fuzz_models.py 10000 [--seed 0] [--jobs 2] [--seconds 60] [--gigabytes 4]

Every case is a golden file with some changes: bits, cuts and splices of the raw bytes; numbers, names, shapes, types,
classes and nesting of the document; entries of the arrays. In most cases the checksum is made to fit again, so that the
changes reach the layers behind it. Workers load each under a limit of memory and time, and, if it loads, ask it what
the golden file was asked, with the thresholds of compiled code lowered, so that small models reach it. Allowed are an
answer, a ModelFileError of one line from loading, and a ValueError or TypeError of one line from asking. The exit
status is the number of other endings, 100 at most. A case is told by its seed and number, and comes again with --only.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import math
import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

GOLDEN = Path(__file__).parent.parent / "tests" / "models" / "golden"
NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 7, 16, 1000, 2**31 - 1, 2**31, 2**53, -(2**53), 10**30, 0.5, -0.0, 1e-320, 1e308, -1e308, 1e999,
    {"float": "nan"}, {"float": "inf"}, {"int": "9" * 40}, {"int": "9" * 5000}, {"scalar": ["float32", 0.5]},
]  # fmt: skip
WORDS: list[Any] = [
    "", "nan", "inf", "precomputed", "euclidean", "cosine", "mahalanobis", "rbf", "exact", "grid", "float32", "é\ud800",
    "x" * 1000, "os.system", "__class__", "../../etc/passwd", "\u0000", None, True, [], {},
]  # fmt: skip

SETTINGS = [
    "precomputed", "euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "minkowski",
    "seuclidean", "mahalanobis", "jaccard", "yule", "haversine", "nan_euclidean", "braycurtis", "rbf", "linear", "poly",
    "spectrum", "chi2", "auto", "exact", "grid", "dense", "krylov", "rpcholesky", "loo", "median", "scale", "ridge",
    "mds", "fixed_point", "sklearn", "float32", "float64", "largest", "random", "pca", "pandas", "elkan", "binary",
    "multilabel-indicator", "array", "matrix",
]  # fmt: skip


# --- files ---------------------------------------------------------------------------------------------


def unpack(raw: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The header without its metadata, the document, and the data."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["mercer"]), raw[8 + length :]


def pack(header: dict[str, Any], document: Any, data: bytes, honest: bool, text: str | None = None) -> bytes:
    """A file again; `honest` with the checksum that belongs to it."""
    text = json.dumps(document) if text is None else text
    metadata = {"mercer": text, "sha256": checksum(header, text, data) if honest else "0" * 64}
    out = json.dumps({"__metadata__": metadata, **header}).encode()
    out += b" " * (-len(out) % 8)
    return len(out).to_bytes(8, "little") + out + data


def checksum(header: dict[str, Any], text: str, data: bytes) -> str:
    from mercer.models.container import SAFETENSORS_DTYPES

    sha = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(header):
        entry = header[name]
        start, stop = entry["data_offsets"]
        sha.update(
            f"\n{name} {SAFETENSORS_DTYPES.get(entry['dtype'])} {list(entry['shape'])}\n".encode(
                "utf-8", "surrogatepass"
            )
        )
        sha.update(data[start:stop])
    return sha.hexdigest()


# --- changes -------------------------------------------------------------------------------------------


class Mutator:
    """Changes that one random generator chooses."""

    def __init__(self, rng: np.random.Generator, others: list[bytes]) -> None:
        self.rng, self.others = rng, others

    def pick(self, values: Any) -> Any:
        values = list(values)
        return values[int(self.rng.integers(len(values)))]

    def mutated(self, raw: bytes) -> bytes:
        kind = self.rng.random()
        if kind < 0.1:
            return self.raw(raw)
        header, document, data = unpack(raw)
        if kind < 0.6:  # what may well load: values in the place of values
            changes = [self.likely_number, self.likely_number, self.likely_word, self.likely_entries,
                       self.likely_entries, self.reference, self.subtree, self.kind]  # fmt: skip
        else:
            changes = [self.number, self.word, self.key, self.subtree, self.klass, self.reference, self.kind,
                       self.shape, self.dtype, self.swap, self.entries, self.entries, self.nest]  # fmt: skip
        for _ in range(int(self.rng.integers(1, 4))):
            data = self.pick(changes)(header, document, data) or data
        text = "[" * 100_000 + "]" * 100_000 if self.rng.random() < 0.005 else None
        try:
            return pack(header, document, data, self.rng.random() < 0.9, text)
        except (ValueError, TypeError, OverflowError, KeyError):
            return self.raw(raw)

    # the raw bytes

    def raw(self, raw: bytes) -> bytes:
        out = bytearray(raw)
        at = int(self.rng.integers(len(out)))
        kind = self.pick(["bits", "cut", "splice", "insert", "zero", "length"])
        if kind == "bits":
            for _ in range(int(self.rng.integers(1, 9))):
                out[int(self.rng.integers(len(out)))] ^= 1 << int(self.rng.integers(8))
        elif kind == "cut":
            del out[at:]
        elif kind == "splice":
            other = self.pick(self.others)
            start = int(self.rng.integers(len(other)))
            out[at : at + 200] = other[start : start + int(self.rng.integers(400))]
        elif kind == "insert":
            out[at:at] = self.rng.bytes(int(self.rng.integers(1, 40)))
        elif kind == "zero":
            out[at : at + 64] = bytes(len(out[at : at + 64]))
        else:
            out[:8] = int(self.pick([0, 1, len(out), 2**63, 2**64 - 1, 10**8, len(out) - 8])).to_bytes(8, "little")
        return bytes(out)

    # the document

    def places(self, document: Any) -> list[tuple[Any, Any]]:
        """Every (container, key) below the document."""
        found, todo = [], [document]
        while todo:
            node = todo.pop()
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                found.append((node, key))
                if isinstance(node[key], (dict, list)):
                    todo.append(node[key])
        return found

    def _where(self, document: Any, test: Any) -> tuple[Any, Any] | None:
        found = [place for place in self.places(document) if test(place[0][place[1]])]
        return self.pick(found) if found else None

    def number(self, header: Any, document: Any, data: bytes) -> None:
        if place := self._where(document, lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)):
            place[0][place[1]] = copy.deepcopy(self.pick(NUMBERS))

    def word(self, header: Any, document: Any, data: bytes) -> None:
        if place := self._where(document, lambda v: isinstance(v, str) or v is None):
            place[0][place[1]] = copy.deepcopy(self.pick(WORDS + NUMBERS))

    def likely_number(self, header: Any, document: Any, data: bytes) -> None:
        if place := self._where(document, lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)):
            old = place[0][place[1]]
            near = [old + 1, old - 1, 2 * old, -old, 0, 1, 2, 3, 5, 12, 100]
            place[0][place[1]] = self.pick(near if isinstance(old, int) else [*near, old * 1e6, old * 1e-6, 0.5, 1e9])

    def likely_word(self, header: Any, document: Any, data: bytes) -> None:
        """A word, or nothing, that stands elsewhere or is a setting of some estimator."""

        def test(value: Any) -> bool:
            return value is None or isinstance(value, bool) or (isinstance(value, str) and value not in header)

        if isinstance(document.get("model"), dict) and (place := self._where(document["model"], test)):
            place[0][place[1]] = self.pick([*SETTINGS, None, True, False])

    def likely_entries(self, header: Any, document: Any, data: bytes) -> bytes | None:
        """Entries of an array become others that are as good, or near: order, signs, sizes."""
        names = [name for name in header if header[name]["dtype"] in ("F64", "F32", "I64", "I32")]
        if not names:
            return None
        entry = header[self.pick(names)]
        start, stop = entry["data_offsets"]
        kind = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}[entry["dtype"]]
        part = np.frombuffer(data[start:stop], kind).copy()
        if not len(part):
            return None
        how = self.pick(["shuffle", "swap", "copy", "zero", "scale", "sign", "step"])
        i, j = (int(self.rng.integers(len(part))) for _ in range(2))
        with np.errstate(all="ignore"):
            if how == "shuffle":
                self.rng.shuffle(part)
            elif how == "swap":
                part[i], part[j] = part[j], part[i]
            elif how == "copy":
                part[i] = part[j]
            elif how == "zero":
                part[i if self.rng.random() < 0.5 else slice(None)] = 0
            elif how == "scale" and kind[1] == "f":
                part *= part.dtype.type(self.pick([1e-30, 1e-9, 1e9, 1e15, 1e30]))
            elif how == "sign":
                part[i if self.rng.random() < 0.5 else slice(None)] *= -1
            else:
                part[i] += self.pick([-1, 1])
        return data[:start] + part.tobytes() + data[stop:]

    def key(self, header: Any, document: Any, data: bytes) -> None:
        if place := self._where(document, lambda v: True):
            node, key = place
            if isinstance(node, dict) and self.rng.random() < 0.6:
                value = node.pop(key)
                if self.rng.random() < 0.5:
                    node[self.pick([*node, "fit", "__class__", "transform", "x", key + "_"])] = value
            elif isinstance(node, list) and node:
                del node[key]

    def subtree(self, header: Any, document: Any, data: bytes) -> None:
        """A part takes the place of another."""
        places = self.places(document)
        source, target = self.pick(places), self.pick(places)
        target[0][target[1]] = copy.deepcopy(source[0][source[1]])

    def klass(self, header: Any, document: Any, data: bytes) -> None:
        from mercer.models.registry import known_names

        if place := self._where(document, lambda v: isinstance(v, dict) and "object" in v):
            place[0][place[1]]["object"] = self.pick([*known_names(), "os.system", "builtins.eval", 5, None])

    def reference(self, header: Any, document: Any, data: bytes) -> None:
        """An array in the place of another, or an object said to be another."""
        if place := self._where(document, lambda v: isinstance(v, str) and v in header):
            place[0][place[1]] = self.pick([*header, "nowhere"])
        if self.rng.random() < 0.2 and (
            place := self._where(document, lambda v: isinstance(v, dict) and "object" in v)
        ):
            place[0][place[1]] = {"same": self.pick(["", "_with_mean", "expansion_", "kernel_", "index_"])}

    def kind(self, header: Any, document: Any, data: bytes) -> None:
        tags = ("array", "transposed", "text", "strings", "tuple", "dict", "slice", "csr", "int", "float", "scalar")
        if place := self._where(document, lambda v: isinstance(v, dict) and next(iter(v), "") in tags):
            node = place[0][place[1]]
            node[self.pick([*tags, "RandomState", "Generator"])] = node.pop(next(iter(node)))

    def nest(self, header: Any, document: Any, data: bytes) -> None:
        if place := self._where(document, lambda v: True):
            value = place[0][place[1]]
            for _ in range(int(self.pick([1, 5, 150, 180]))):
                value = [value] if self.rng.random() < 0.5 else {"tuple": [value]}
            place[0][place[1]] = value

    # the arrays

    def shape(self, header: Any, document: Any, data: bytes) -> None:
        if header:
            entry = header[self.pick(header)]
            shape = entry["shape"]
            if self.rng.random() < 0.6:  # one that fits the bytes
                size = math.prod(shape)
                entry["shape"] = self.pick([shape[::-1], [size], [1, size], [size, 1], [*shape, 1], [0, *shape]])
            elif shape:
                shape[int(self.rng.integers(len(shape)))] = self.pick([0, 1, 2**20, 2**40, 2**63, 2**64, -1])

    def dtype(self, header: Any, document: Any, data: bytes) -> None:
        if header:
            kinds = ["F64", "I64", "U64", "F32", "I32", "U32", "F16", "I16", "BF16", "U8", "I8", "BOOL", "F8_E4M3", "Q"]
            header[self.pick(header)]["dtype"] = self.pick(kinds)

    def swap(self, header: Any, document: Any, data: bytes) -> None:
        if header:
            one, two = self.pick(header), self.pick(header)
            if self.rng.random() < 0.7:
                header[one], header[two] = header[two], header[one]
            else:
                bounds = header[one]["data_offsets"]
                bounds[int(self.rng.integers(2))] = self.pick([0, 8, len(data), 2**40, 2**64, -8])

    def entries(self, header: Any, document: Any, data: bytes) -> bytes | None:
        """Some entries of an array become others: indices that point elsewhere, floats that are none."""
        names = [name for name in header if header[name]["dtype"] in ("F64", "F32", "I64", "I32", "U8", "BOOL", "U32")]
        if not names:
            return None
        entry = header[self.pick(names)]
        start, stop = entry["data_offsets"]
        kind = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4"}.get(entry["dtype"], "u1")
        try:
            part = np.frombuffer(data[start:stop], kind).copy()
        except ValueError:
            return None
        if not len(part):
            return None
        for _ in range(int(self.pick([1, 1, 2, len(part)]))):
            at = int(self.rng.integers(len(part)))
            if kind[1] == "f":
                choice = [np.nan, np.inf, -np.inf, 0, -1, 1e30, 1e-30, 1e12, 3.4e38, 1e-308, part[at] * 2]
                with np.errstate(all="ignore"):
                    part[at] = np.asarray(self.pick(choice)).astype(kind)
            else:
                info = np.iinfo(kind)
                choice = [0, 1, 2, 5, 11, 12, 13, info.max, info.min, -1, 1000, 10**6, 2**31 - 1]
                part[at] = np.asarray(self.pick(choice)).astype(kind)
        return data[:start] + part.tobytes() + data[stop:]


def make_case(seed: int, number: int, golden: list[Path], raws: list[bytes]) -> tuple[Path, bytes]:
    rng = np.random.default_rng([seed, number])
    chosen = int(rng.integers(len(golden)))
    return golden[chosen], Mutator(rng, raws).mutated(raws[chosen])


# --- a worker --------------------------------------------------------------------------------------------


def lower_thresholds() -> None:
    """Small models reach compiled code, cells and grids."""
    import mercer.backends.cpu as cpu
    from mercer.graph.approximate_index import ApproximateIndex
    from mercer.graph.tile_index import TileIndex

    cpu._COMPILED_ABOVE, TileIndex.compiled_above = 0, 0
    ApproximateIndex.tried, ApproximateIndex.most_cells = 2, 2.0


def judge(path: Path, rows: Any, methods: list[str]) -> str:
    """How one file ends: "" for a fault that is allowed or none, after "!" what is not."""
    from make_golden_models import ask

    import mercer
    from mercer.exceptions import ModelFileError

    try:
        model = mercer.load(path)
    except ModelFileError as error:
        return "refused" if "\n" not in str(error) and str(error) else f"!refused in other than a line: {error}"
    except BaseException as error:
        return f"!load: {type(error).__name__}: {error}"
    said = "answered"
    for method in methods:
        try:
            answer = ask(model, rows, method)
            if answer.dtype.kind == "f" and np.isnan(answer).any():
                return f"!{method}: an answer that is not a number"
        except FloatingPointError as error:  # what a descent says when its map runs away, whoever set its rate
            if method != "optimize":
                return f"!{method}: {error}"
            said = "failed when asked"
        except (ValueError, TypeError) as error:
            if "\n" in str(error) and not type(error).__module__.startswith("sklearn"):
                return f"!{method}: {type(error).__name__} of several lines: {error}"
            said = "failed when asked"
        except BaseException as error:
            return f"!{method}: {type(error).__module__}.{type(error).__name__}: {error}"
    return said


def work(seed: int, gigabytes: float) -> None:
    """Take numbers of cases from standard input, and say how each ended."""
    from make_golden_models import unflat

    warnings.simplefilter("ignore")
    lower_thresholds()
    answers, sys.stdout = sys.stdout, io.StringIO()  # a model may have been made to talk
    golden = sorted(GOLDEN.glob("*.mercer"))
    raws = [path.read_bytes() for path in golden]
    kept = [dict(np.load(path.with_suffix(".npz"))) for path in golden]
    asked = {
        p: (unflat(k), [name[7:] for name in k if name.startswith("answer_")])
        for p, k in zip(golden, kept, strict=True)
    }
    for path in golden:  # so that everything is compiled before the clock runs
        judge(path, *asked[path])
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)
    with tempfile.TemporaryDirectory() as folder:
        altered = Path(folder) / "altered.mercer"
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            path, raw = make_case(seed, int(line), golden, raws)
            altered.write_bytes(raw)
            said = judge(altered, *asked[path])
            print(json.dumps([int(line), path.stem, said]), file=answers, flush=True)


# --- the watch over them -----------------------------------------------------------------------------------


class Worker:
    def __init__(self, seed: int, gigabytes: float) -> None:
        command = [sys.executable, __file__, "0", "--work", "--seed", str(seed), "--gigabytes", str(gigabytes)]
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.number: int | None = None
        self.since = time.monotonic()

    def send(self, number: int) -> None:
        assert self.process.stdin is not None
        self.number, self.since = number, time.monotonic()
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass


def run(numbers: list[int], seed: int, jobs: int, seconds: float, gigabytes: float) -> tuple[Counter, list[str]]:
    """How the cases ended, and those that should not have ended so."""
    counts: Counter = Counter()
    bad: list[str] = []
    todo = iter(numbers)
    selector = selectors.DefaultSelector()

    def start() -> None:
        worker = Worker(seed, gigabytes)
        selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    def end(worker: Worker, how: str) -> None:
        selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        worker.process.kill()
        worker.process.wait()
        if how:
            counts[how.partition(" ")[0]] += 1
            bad.append(f"case {worker.number}: {how}")

    def feed(worker: Worker) -> None:
        number = next(todo, None)
        if number is None:
            end(worker, "")
        else:
            worker.send(number)

    for _ in range(min(jobs, len(numbers))):
        start()
    while selector.get_map():
        for key, _ in selector.select(timeout=1.0):
            worker, line = key.data, key.fileobj.readline()  # type: ignore[union-attr]
            if not line:
                code = worker.process.wait()
                end(worker, f"crash {code} (a signal where negative)")
                if worker.number is None:
                    raise SystemExit("A worker ended before its first case.")
                start()
            elif line.strip() == "ready":
                feed(worker)
            else:
                number, name, said = json.loads(line)
                counts["bad" if said.startswith("!") else said] += 1
                if said.startswith("!"):
                    bad.append(f"case {number} ({name}): {said[1:500]}")
                feed(worker)
        for key in list(selector.get_map().values()):
            worker = key.data
            if worker.number is not None and time.monotonic() - worker.since > seconds:
                end(worker, f"hang of more than {seconds} s")
                start()
    return counts, bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cases")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.seed, args.gigabytes)
        return 0
    numbers = args.only or list(range(args.count))
    counts, bad = run(numbers, args.seed, args.jobs, args.seconds, args.gigabytes)
    for line in bad:
        sys.stdout.write(line + "\n")
    said = ", ".join(f"{number} {how}" for how, number in sorted(counts.items()))
    sys.stdout.write(f"{len(numbers)} files of seed {args.seed}: {said}; {len(bad)} that should not be\n")
    return min(len(bad), 100)


if __name__ == "__main__":
    sys.exit(main())
