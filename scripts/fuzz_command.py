"""Run the command on bad tables with bad options: every failure must be one line and a documented exit status.

    PYTHONPATH=src python scripts/fuzz_command.py 500            in processes of their own, in terminals of three widths
    PYTHONPATH=src python scripts/fuzz_command.py 5 --seed 12    others

Each run takes a small table, spoils it in one or two ways, and calls a verb with a few options, some of them wrong.
A traceback, an abort, an unknown status, an error of several lines or a file left behind by a failed run is a defect.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mercer

SOURCES = str(Path(mercer.__file__).parents[1])
COMMAND = "from mercer.cli.main import main; main(prog_name='mercer')"
STATUSES = (0, 1, 2, 3, 4, 5)
WIDTHS = (40, 80, 120)
CELLS = [
    "",
    "NA",
    "?",
    "-",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "007",
    "1,5",
    "=1+1",
    '"',
    "'",
    "\0",
    "\x1b[2J",
    "ü",
    "é" * 300,
]
CELLS += ["2020-02-30", "0x10", "1_000", "  ", "#", "true", "9" * 40, "a b", "\t"]
VERBS = ["fit", "fit", "fit", "inspect", "compare", "evaluate", "report", "transform"]
METHODS = ["pca", "kpca", "kda", "isomap", "tsne", "auto", "umap"]
GOOD = [
    *("--label kind", "--id nr", "--drop a", "--columns a,b", "--keep b", "--impute mean", "--impute drop"),
    *("--encode onehot", "--encode drop", "--encode ordinal", "--scale standard", "--scale minmax", "--dtype float32"),
    *("--seed 7", "--jobs 1", "--n-components 1", "--dry-run", "--page-columns none", "--report page.html"),
    *("--save m.mercer", "-o c.parquet", "-o c.csv", "--quiet"),
]
BAD = [
    *("--label none", "--drop a,b,c", "--columns a,a", "--impute guess", "--scale huge", "--dtype int", "--seed -1"),
    *(
        "--jobs 0",
        "--n-components 0",
        "--n-components 99",
        "--gamma -1",
        "--gamma nan",
        "--kernel rfb",
        "--kernel poly",
    ),
    *("--perplexity 900", "--perplexity 5", "--n-neighbors 900", "--n-neighbors 0", "--memory-limit 1kB", "--json"),
    *("--memory-limit x", "--page-columns zzz", "--report page.csv", "--save m.csv", "-o nowhere/c.csv", "-o c.docx"),
    *("-o t.csv", "--config t.csv", "--config run.json", "--second t.csv", "--nope", "--strict", "-o ''"),
]


def table(rng: random.Random) -> bytes:
    """A table of text, spoilt."""
    n = rng.choice([0, 1, 2, 3, 8, 30, 30, 30, 60])
    rows = [["nr", "a", "b", "c", "kind"]]
    rows += [[str(i), *(f"{rng.gauss(0, 1):.4f}" for _ in range(3)), rng.choice("xyz")] for i in range(n)]
    for _ in range(rng.randint(0, 3)):
        row = rng.choice(rows)
        way = rng.randrange(5)
        if way == 0 and row:
            row[rng.randrange(len(row))] = rng.choice(CELLS)
        elif way == 1:
            row.append(rng.choice(CELLS))
        elif way == 2 and row:
            row.pop()
        elif way == 3:
            column = rng.randrange(5)
            for each in rows[1:]:
                if len(each) > column:
                    each[column] = rng.choice(CELLS) if rng.random() < 0.5 else "5"
        else:
            rows.insert(rng.randrange(len(rows) + 1), list(row))
    delimiter = rng.choice([",", ",", ",", ";", "\t"])
    text = rng.choice(["\n", "\r\n", "\r"]).join(delimiter.join(row) for row in rows)
    content = text.encode(rng.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), "replace")
    return content[: rng.randrange(len(content) + 1)] if rng.random() < 0.1 else content


def words(rng: random.Random) -> list[str]:
    verb = rng.choice(VERBS)
    options = rng.sample(GOOD, rng.randint(0, 4)) + (rng.sample(BAD, 1) if rng.random() < 0.4 else [])
    given = shlex.split(" ".join(options)) if verb in ("fit", "compare") or rng.random() < 0.1 else []
    files = {
        "compare": ["t.csv", "--methods", ",".join(rng.sample(METHODS[:4], 2))],
        "evaluate": ["t.csv", rng.choice(["t.csv", "none.csv", "."])],
        "report": [rng.choice(["t.csv", "-", "."]), "-o", "map.html"],
        "transform": [rng.choice(["t.csv", "none.mercer"]), "t.csv"],
        "fit": [rng.choice(["t.csv", "t.csv", "t.csv", "-", ".", "t.xlsx"]), "-m", rng.choice(METHODS)],
        "inspect": [rng.choice(["t.csv", ".", "t.mercer"])],
    }[verb]
    return [verb, *files, *given]


def complaint(seed: int) -> tuple[str, str]:
    """How a run ended, and what is wrong with that: empty if nothing is."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        content, line = table(rng), words(rng)
        Path(folder, "t.csv").write_bytes(content)
        environment = os.environ | {"COLUMNS": str(rng.choice(WIDTHS)), "PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *line],
            cwd=folder, env=environment, capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said = done.stderr.decode("utf-8", "replace")
        left = {path.name for path in Path(folder).iterdir()} - {"t.csv"}
    errors = [each for each in said.splitlines() if not each.startswith(("mercer: note:", "mercer: warning:"))]
    wrong = []
    if done.returncode not in STATUSES:
        wrong.append(f"status {done.returncode}")
    if "Traceback" in said or "please report" in said:
        wrong.append("a traceback")
    if done.returncode and (len(errors) != 1 or not errors[0].startswith("mercer: ")):
        wrong.append(f"{len(errors)} lines of error")
    if done.returncode and left:
        wrong.append(f"left {sorted(left)}")
    text = f"seed {seed}: mercer {shlex.join(line)}: {', '.join(wrong)}\n{said[-600:]}" if wrong else ""
    return f"status {done.returncode}", text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    bad = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for ended, text in pool.map(complaint, range(given.seed, given.seed + given.runs)):
            counts[ended] += 1
            bad += bool(text)
            if text:
                print(text, flush=True)
    print(f"{given.runs} runs, {bad} defects; {dict(sorted(counts.items()))}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
