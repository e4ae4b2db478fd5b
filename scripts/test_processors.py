"""Run the numerical tests as other processors would: other BLAS kernels, no vector units, other numbers of threads.

    python scripts/test_processors.py                                 every setting that this machine can run
    python scripts/test_processors.py --list                          which they are
    python scripts/test_processors.py prescott+numpy+numba haswell+threads-16 -- tests/linalg -k eigen

The last bits of a result depend on the order in which a processor adds. A test that passes with one order and fails
with another has a tolerance that was tuned to one machine. This script changes the order without changing the machine:

    <kernel>     OpenBLAS computes with the kernels of that processor (NumPy and SciPy each bring an OpenBLAS)
    numpy        NumPy uses only the instructions that every processor of this kind has
    numba        compiled code is built for a generic processor
    threads-<n>  OpenBLAS, OpenMP, numba and Mercer use n threads, as if there were n cores

Settings joined by "+" hold together. Before its tests run, each combination is verified in a fresh process: a setting
that has no effect is a failure, because its tests would prove nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Names that OpenBLAS knows, oldest first. A processor runs those before its own generation; a trial run tells which.
KERNELS = [
    *("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"),
    *("ARMV8", "NEOVERSEN1", "NEOVERSEV1"),
]
# What OpenBLAS calls itself instead: by another name of the same kernels, or because wheels leave some kernels out.
STANDS_IN = {"prescott": "katmai", "zen": "haswell", "cooperlake": "skylakex", "sapphirerapids": "skylakex"}
THREADS = (1, 2, 16)

# Tests of files, commands, pages and pictures hardly compute: they pass or fail alike everywhere.
NOT_NUMERICAL = ("cli", "models", "tables", "web", "test_benchmarks.py", "test_examples.py", "test_plots*.py")

# Multiplies and decomposes in both precisions, so that an instruction that the processor lacks ends the process here.
PROBE = """
import json, os, numpy as np, scipy.linalg, threadpoolctl, numba
import test_processors
test_processors.pretend_cores()
from mercer.backends.cpu import workers
for dtype in (np.float32, np.float64):
    A = np.random.default_rng(0).standard_normal((200, 200)).astype(dtype)
    np.linalg.eigh(A @ A.T), scipy.linalg.eigh(A @ A.T), scipy.linalg.svd(A), scipy.linalg.lu_factor(A)
blas = [p for p in threadpoolctl.threadpool_info() if p["internal_api"] == "openblas"]
print(json.dumps({
    "kernels": {os.path.basename(os.path.dirname(p["filepath"])).split(".")[0]: p["architecture"] for p in blas},
    "blas_threads": sorted({p["num_threads"] for p in blas}),
    "simd": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
    "numba": numba.config.CPU_NAME,
    "numba_threads": numba.config.NUMBA_NUM_THREADS,
    "workers": workers(None),
}))
"""


def pretend_cores() -> None:
    """Make Mercer share its work out as on a machine with PRETENDED_CORES cores, if that is set."""
    if cores := os.environ.get("PRETENDED_CORES"):
        import mercer.backends.cpu

        mercer.backends.cpu.usable_cores = lambda: int(cores)


def pytest_configure() -> None:
    """pytest loads this file as a plugin, in each of its processes."""
    pretend_cores()


def with_path(environment: dict[str, str]) -> dict[str, str]:
    """These variables and our own, with this folder among those that modules are imported from."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def probe(environment: dict[str, str]) -> dict | None:
    """What a process with these variables computes with; None if it cannot run."""
    command = [sys.executable, "-W", "ignore", "-c", PROBE]
    found = subprocess.run(command, cwd=ROOT, env=with_path(environment), capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1]) if found.returncode == 0 else None


def environment_of(setting: str, own: dict) -> dict[str, str]:
    """The environment variables of one setting."""
    kernels = {name.lower(): name for name in KERNELS}
    if setting == "own":
        return {}
    if setting in kernels:
        return {"OPENBLAS_CORETYPE": kernels[setting]}
    if setting == "numpy":
        return {"NPY_DISABLE_CPU_FEATURES": " ".join(own["simd"])}
    if setting == "numba":  # machine code of another target must not be read from, or written to, the usual cache
        cache = Path(tempfile.gettempdir()) / f"mercer-numba-generic-{os.getuid()}"
        return {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(cache)}
    if setting.startswith("threads-") and setting[8:].isdecimal():
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "PRETENDED_CORES")
        return dict.fromkeys(names, setting[8:])
    known = ", ".join(["own", *kernels, "numpy", "numba", "threads-<n>"])
    raise SystemExit(f"Unknown setting {setting!r}. Choose from: {known}; join several with '+'.")


def without_effect(setting: str, seen: dict) -> str | None:
    """Why a setting did not take effect, or None."""
    if setting in ("own", "numpy", "numba"):
        wrong = {"numpy": bool(seen["simd"]), "numba": seen["numba"] != "generic"}.get(setting, False)
        return f"{setting}: {seen['simd'] or seen['numba']} is still in use" if wrong else None
    if setting.startswith("threads-"):
        wanted = int(setting[8:])
        # OpenBLAS starts no more threads than there are cores, whatever it is told.
        blas = [min(wanted, os.cpu_count() or 1)]
        right = seen["numba_threads"] == seen["workers"] == wanted and seen["blas_threads"] == blas
        return None if right else f"{setting}: {seen}"
    kernels = {name.lower() for name in seen["kernels"].values()}
    right = len(kernels) == 1 and kernels <= {setting, STANDS_IN.get(setting)}
    return None if right else f"{setting}: OpenBLAS computes with {seen['kernels']}"


def available(own: dict) -> list[str]:
    """Every setting that this machine can run, except those that change nothing here."""
    settings, known = ["own"], [own["kernels"]]
    for name in KERNELS:
        seen = probe({"OPENBLAS_CORETYPE": name})
        if seen and without_effect(name.lower(), seen) is None and seen["kernels"] not in known:
            settings.append(name.lower())
            known.append(seen["kernels"])
    settings += ["numpy"] if own["simd"] else []
    return [*settings, "numba", *(f"threads-{n}" for n in THREADS if [n] != own["blas_threads"])]


def numerical_tests() -> list[str]:
    """The folders and files of tests that compute."""
    entries = sorted(path for path in (ROOT / "tests").iterdir() if not path.name.startswith(("_", ".", "conftest")))
    return [str(path.relative_to(ROOT)) for path in entries if not any(path.match(name) for name in NOT_NUMERICAL)]


def run_tests(environment: dict[str, str], processes: int, arguments: list[str]) -> tuple[int, list[str]]:
    """The number of tests that ran, and the names of those that failed, with the first line of each message."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-n", str(processes), "--dist", "worksteal", "--tb=short"]
        command += ["-p", "test_processors", "-m", "not browser", f"--junitxml={report}"]
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, env=with_path(environment), capture_output=True, text=True
        )
        if not report.exists():
            return 0, [f"pytest did not run: {(done.stdout + done.stderr)[-2000:]}"]
        cases = list(ET.parse(report).iter("testcase"))
    failures = [f"{c.get('classname')}::{c.get('name')}: {_message(c)}" for c in cases if _message(c) is not None]
    if done.returncode and not failures:
        failures = [f"pytest exited with {done.returncode}: {done.stdout[-2000:]}"]
    return len(cases), failures


def _message(case: ET.Element) -> str | None:
    for kind in ("failure", "error"):
        if (found := case.find(kind)) is not None:
            return " ".join((found.get("message") or "").split())[:160]
    return None


def tried(combination: str, width: int, own: dict, processes: int, tests: list[str]) -> bool:
    """Verify a combination, run the tests with it, print a line of the table, and tell whether all passed."""
    started, count, settings = time.monotonic(), 0, combination.split("+")
    environment = {k: v for setting in settings for k, v in environment_of(setting, own).items()}
    if (seen := probe(environment)) is None:
        failures = ["this machine cannot run it"]
    else:
        failures = [why for setting in settings if (why := without_effect(setting, seen))]
    if not failures:
        count, failures = run_tests(environment, processes, tests)
    verdict = f"{len(failures)} failed" if failures else "passed"
    print(f"{combination:{width}}  {count:5d} tests  {time.monotonic() - started:6.0f} s  {verdict}")
    print("".join(f"    {failure}\n" for failure in failures), end="", flush=True)
    return not failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("combinations", nargs="*", help="settings, joined by '+' (default: each available one alone)")
    parser.add_argument("--list", action="store_true", help="print the settings that this machine can run, and stop")
    parser.add_argument("--processes", type=int, default=2, help="of pytest, at a time (default 2)")
    arguments = sys.argv[1:]
    place = arguments.index("--") if "--" in arguments else len(arguments)
    options, tests = parser.parse_args(arguments[:place]), arguments[place + 1 :]

    own = probe({})
    if own is None:
        raise SystemExit("NumPy, SciPy, numba and mercer cannot be imported, or cannot compute, as they are.")
    print(f"this machine: OpenBLAS {own['kernels']}, NumPy {own['simd']}, {own['blas_threads']} threads", flush=True)
    combinations = options.combinations or available(own)
    if options.list:
        print(" ".join(combinations))
        return 0
    width = max(map(len, combinations))
    passed = [tried(name, width, own, options.processes, tests or numerical_tests()) for name in combinations]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
