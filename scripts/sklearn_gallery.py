"""Run scikit-learn's gallery of examples on Mercer's classes, and compare the numbers that the examples print.

    python scripts/sklearn_gallery.py                    every example that uses a class which Mercer has too
    python scripts/sklearn_gallery.py plot_kernel_pca    those whose names contain a word
    python scripts/sklearn_gallery.py --list             which they are

pip fetches the sources of the installed scikit-learn; their examples are kept in data/, and nothing is installed. Each
example runs twice, in processes of its own and without a display: as it is, and with PCA, KernelPCA, Isomap, TSNE and
ClassicalMDS taken from Mercer. An example fails if it runs with scikit-learn's classes and not with Mercer's. Examples
that need the network, or a package that is not installed, are skipped, and the table says so. Times are of processors:
Mercer's, then scikit-learn's.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import resource
import runpy
import signal
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOMES = ("decomposition", "manifold")  # the modules of scikit-learn whose classes Mercer has too
SECONDS = 300  # of processor time for one example
PATIENCE = 6  # times as long by the clock: a busy machine is no failure
SKIPPED = 77  # the exit status of an example that cannot run here; the last line of its output says why
TOO_LONG = -1000  # the status of an example that was stopped

# What pip asks of a build backend when it fetches sources: their name and version. The real one looks for a compiler.
BACKEND = """
import pathlib

def get_requires_for_build_wheel(config_settings=None):
    return []

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    folder = pathlib.Path(directory, "scikit_learn-{version}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\\nName: scikit-learn\\nVersion: {version}\\n")
    return folder.name
"""


class NeedsNetwork(OSError):
    """An example asked for the network."""


def shared_names() -> dict[str, list[str]]:
    """The classes that both packages have, for each module of scikit-learn."""
    mercer = importlib.import_module("mercer")
    homes = {home: importlib.import_module(f"sklearn.{home}") for home in HOMES}
    return {home: sorted(set(module.__all__) & set(mercer.__all__)) for home, module in homes.items()}


def uses(source: str, names: dict[str, list[str]]) -> list[str]:
    """The shared classes that an example uses: `from sklearn.manifold import TSNE`, or `manifold.TSNE`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in {f"sklearn.{home}" for home in names}:
            home = node.module.removeprefix("sklearn.")
            found |= {alias.name for alias in node.names} & set(names[home])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} & set(names.get(node.value.id, []))
    return sorted(found)


def fetch_examples(into: Path) -> Path:
    """The folder of the examples of the installed scikit-learn."""
    version = importlib.import_module("sklearn").__version__
    folder = into / f"sklearn-{version}-examples"
    if folder.exists():
        return folder
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as name:
        here = Path(name)
        (here / "mesonpy.py").write_text(BACKEND.format(version=version))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", name, "--no-deps"]
        command += ["--no-build-isolation", "--no-binary", "scikit-learn", f"scikit-learn=={version}"]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": name})
        with tarfile.open(next(here.glob("*.tar.gz"))) as archive:
            members = [m for m in archive.getmembers() if m.name.split("/")[1:2] == ["examples"]]
            archive.extractall(here, members=members, filter="data")
        next(here.glob("*/examples")).rename(folder)
    return folder


def run_one(path: Path, swapped: bool, seconds: int) -> None:
    """Run an example in this process, with Mercer's classes where they are wanted."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import socket
    import warnings

    import matplotlib

    matplotlib.use("Agg")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")

    def refuse(*_: object, **__: object) -> None:
        raise NeedsNetwork("it needs the network")

    socket.getaddrinfo = refuse  # type: ignore[assignment]
    if swapped:
        mercer = importlib.import_module("mercer")
        for home, names in shared_names().items():
            for name in names:
                setattr(importlib.import_module(f"sklearn.{home}"), name, getattr(mercer, name))
    os.chdir(path.parent)  # examples read images beside them
    try:
        runpy.run_path(str(path), run_name="__main__")
    except Exception as error:
        if reason := why_not_here(error):
            print(reason)
            raise SystemExit(SKIPPED) from None
        raise


def why_not_here(error: BaseException | None) -> str:
    """Why an example cannot run on this machine; empty where the reason is another."""
    while error is not None:
        if isinstance(error, NeedsNetwork):
            return str(error)
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] not in ("mercer", "sklearn"):
            return f"it needs {error.name}"
        nested = getattr(error, "reason", None)  # urllib wraps the cause
        error = nested if isinstance(nested, BaseException) else error.__cause__ or error.__context__
    return ""


@dataclass(frozen=True)
class Outcome:
    """What one run of an example gave."""

    status: int
    seconds: float  # of processor time
    printed: str
    errors: str

    @property
    def last_line(self) -> str:
        return (self.errors if self.status != SKIPPED else self.printed).strip().rpartition("\n")[2]


def run_apart(path: Path, swapped: bool, seconds: int) -> Outcome:
    """Run an example in a process of its own."""
    command = [sys.executable, __file__, "--run", str(path), "--seconds", str(seconds)]
    began = _seconds_of_children()
    try:
        done = subprocess.run(
            [*command, *(["--swapped"] if swapped else [])],
            capture_output=True,
            text=True,
            timeout=PATIENCE * seconds,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        status, printed, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, printed, errors = TOO_LONG, "", ""
    if status in (TOO_LONG, -signal.SIGKILL, -signal.SIGXCPU):
        status, errors = TOO_LONG, f"it takes longer than {seconds} s"
    return Outcome(status, _seconds_of_children() - began, printed, errors)


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?(?![\w.]*\w)")
TIMED = re.compile(r"\d\s*(?:s|sec|seconds|ms)\b|\btime\b|\bDone in\b", re.IGNORECASE)


def compared(theirs: str, ours: str, rtol: float = 0.02) -> str:
    """How many of the printed numbers differ by more than `rtol`; lines that tell times are left out."""
    lines = [[line for line in text.splitlines() if not TIMED.search(line)] for text in (theirs, ours)]
    a, b = ([float(x) for line in part for x in NUMBER.findall(line)] for part in lines)
    if len(a) != len(b):
        return f"{len(b)} numbers instead of {len(a)}"
    if not a:
        return ""
    other = sum(abs(x - y) > rtol * max(abs(x), abs(y)) for x, y in zip(a, b, strict=True))
    return f"{len(a)} numbers alike" if not other else f"{other} of {len(a)} numbers differ"


def judge(path: Path, seconds: int, compare: bool, keep: Path) -> tuple[str, str, str]:
    """`ok`, `failed` or `skipped`; the processor time with Mercer and with scikit-learn; what to know about it."""
    ours = run_apart(path, True, seconds)
    if ours.status == SKIPPED:
        return "skipped", "", ours.last_line
    if ours.status == 0 and not compare:
        return "ok", f"{ours.seconds:6.1f} s", ""
    theirs = run_apart(path, False, seconds)
    for name, outcome in (("mercer", ours), ("sklearn", theirs)):
        (keep / f"{path.stem}.{name}.txt").write_text(outcome.printed + outcome.errors)
    times = f"{ours.seconds:6.1f} s {theirs.seconds:6.1f} s"
    if ours.status == 0:
        return "ok", times, compared(theirs.printed, ours.printed)
    if theirs.status != 0:
        return "skipped", times, f"with scikit-learn too: {theirs.last_line}"
    return "failed", times, ours.last_line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="run examples whose paths contain one of these")
    parser.add_argument("--list", action="store_true", help="print the examples and the classes that they use")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"processor time of one example ({SECONDS})")
    parser.add_argument("--no-compare", action="store_true", help="run each example with Mercer's classes only")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--swapped", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_one(options.run, options.swapped, options.seconds)
        return 0
    examples, names = fetch_examples(ROOT / "data"), shared_names()
    keep = ROOT / "data" / "gallery-output"
    keep.mkdir(exist_ok=True)
    counts = {"ok": 0, "failed": 0, "skipped": 0}
    for path in sorted(examples.rglob("*.py")):
        classes = uses(path.read_text(encoding="utf-8"), names)
        if not classes or (options.words and not any(word in str(path) for word in options.words)):
            continue
        label = f"{path.relative_to(examples)!s:58} {', '.join(classes):28}"
        if options.list:
            print(label.rstrip())
            continue
        verdict, times, note = judge(path, options.seconds, not options.no_compare, keep)
        counts[verdict] += 1
        print(f"{label} {times:17}  {verdict:8} {note}".rstrip(), flush=True)
    if not options.list:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; outputs are in {keep}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
