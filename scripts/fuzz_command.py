"""Run the command on messy and on bad tables: whatever it answers must be short, and a documented exit status.

    PYTHONPATH=src python scripts/fuzz_command.py 500            in processes of their own, in terminals of three widths
    PYTHONPATH=src python scripts/fuzz_command.py 5 --seed 12    others

Half of the runs take a messy table that can be read (gaps, odd names, another delimiter, encoding, format or width)
with options that suit it: they must succeed. The others spoil a small table in one or two ways, and call a verb with a
few options, some of them wrong. A traceback, an abort, an unknown status, a refusal of a readable table, an error of
more than one line, or a file left behind by a failed run is a defect. So is a message of more than two lines of an
ordinary terminal of 80 columns, broken between words. In 40 columns the same message takes up to five rows: it says the
same, since scripts and logs read it, too.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import json
import os
import pty
import random
import re
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import wrap

import mercer

SOURCES = str(Path(mercer.__file__).parents[1])
# Loads the libraries once and forks a process for each run, which saves seconds per run. A run ends as it does for a
# user: `main` raises SystemExit, and nothing catches it before the interpreter ends.
SERVER = """
import json, os, sys
from importlib import import_module
for name in ("sklearn.neighbors", "pyarrow.json", "pyarrow.parquet", "rich.progress", "rich.table"):
    import_module(name)
for name in ("pca", "kernel_pca", "kernel_discriminant", "isomap", "tsne"):
    import_module(f"mercer.estimators.{name}")
for name in ("fit", "fitted", "compare", "report", "inspect", "table_facts", "evaluate", "transform", "dry_run"):
    import_module(f"mercer.cli.{name}")
for name in ("tables.text", "tables.json_lines", "models.registry", "quality"):
    import_module(f"mercer.{name}")
from mercer.cli.main import main
while line := sys.stdin.readline():
    job = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        terminal, null = os.open(job["terminal"], os.O_RDWR), os.open(os.devnull, os.O_RDWR)
        for number, opened in enumerate((null, terminal if job["shown"] else null, terminal)):
            os.dup2(opened, number)
        os.closerange(3, 64)
        os.chdir(job["folder"])
        sys.argv = ["mercer", *job["words"]]
        main(prog_name="mercer")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
STATUSES = (0, 1, 2, 3, 4, 5)
MOST_ROWS, ORDINARY = 2, 80  # of an error or a warning, and the columns of an ordinary terminal
WIDTHS = (40, 80, 200)
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
    *("--save m.mercer", "-o c.parquet", "-o c.csv", "--quiet", "--kernel sigmoid", "--gamma 1e-30", "--gamma 1e30"),
    *("--n-neighbors 2", "--radius 0.1", "--rank 3", "--eigen-solver rpcholesky", "--perplexity 3", "--degree 9"),
]
LONG = ["customer number", "average basket value", "distance to store", "weeks since the last visit", "kind"]
OF_METHOD = {  # options that suit any table with the method
    "kpca": ["", "--gamma 1e-30", "--gamma 1e30", "--kernel laplacian", "--eigen-solver rpcholesky --rank 5"],
    "isomap": ["", "--n-neighbors 2", "--radius 1e-3", "--landmarks 8"],
}
HARMLESS = ["--scale standard", "--scale robust", "--seed 7", "--jobs 1", "--n-components 1", "--quiet", "--rows 10"]
BAD = [
    *("--label none", "--drop a,b,c", "--columns a,a", "--impute guess", "--scale huge", "--dtype int", "--seed -1"),
    *(
        "--jobs 0",
        "--n-components 0",
        "--n-components 99",
        "--gamma -1",
        "--gamma nan",
        "--kernel rfb",
        "--kernel foo",
        "--metric foo",
        "--kernel poly",
    ),
    *("--perplexity 900", "--perplexity 5", "--n-neighbors 900", "--n-neighbors 0", "--memory-limit 1kB", "--json"),
    *("--memory-limit x", "--page-columns zzz", "--report page.csv", "--save m.csv", "-o nowhere/c.csv", "-o c.docx"),
    *("-o t.csv", "--config t.csv", "--config run.json", "--second t.csv", "--nope", "--strict", "-o ''"),
]


def table(rng: random.Random) -> bytes:
    """A table of text, spoilt."""
    n = rng.choice([0, 1, 2, 3, 8, 30, 30, 30, 60])
    rows = [["nr", "a", "b", "c", "kind"] if rng.random() < 0.7 else list(LONG)]
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


def messy_table(rng: random.Random) -> tuple[str, bytes, list[str]]:
    """A table that people would call messy and that can be read: its name, its bytes, and options that it needs."""
    n, names = rng.choice([12, 30, 60]), ["a", "b", "größe, cm", "d e", "kind", "day"]
    if rng.random() < 0.3:
        names += [*LONG[:-1], "number of items", "share of returns"]
    rng.shuffle(names)
    rows = []
    for i in range(n):
        made = {name: f"{rng.gauss(0, 1):.{rng.randint(1, 12)}g}" for name in names}
        made |= {"kind": rng.choice(["x", "y", "=z", "ü"]), "day": f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"}
        rows.append([made[name] for name in names])
    options = ["--encode", rng.choice(["onehot", "drop", "ordinal"])] if rng.random() < 0.5 else ["--label", "kind"]
    options += ["--keep", "day"]
    if rng.random() < 0.5:  # gaps, in ways that files have them
        for _ in range(rng.randint(1, n // 4)):
            places = [j for j, name in enumerate(names) if name not in ("kind", "day")]
            rng.choice(rows)[rng.choice(places)] = rng.choice(["", "NA", "nan", "?", "-", "null"])
        options += ["--impute", rng.choice(["mean", "median", "zero"])]
    if rng.random() < 0.3:
        names.insert(0, "")  # the index of pandas
        rows = [[str(i), *row] for i, row in enumerate(rows)]
    header = rng.random() < 0.9
    if not header:
        names = [f"x{j}" for j in range(1, len(names) + 1)]
        place = {"kind": None, "day": None}
        for j, cell in enumerate(rows[0]):
            place["day" if cell.startswith("2024-") else "kind" if cell in ("x", "y", "=z", "ü") else ""] = names[j]
        options = [str(place.get(word, word)) for word in options] + ["--no-header"]
    if rng.random() < 0.15 and header:
        lines = [json.dumps(dict(zip(names, map(_json_cell, row), strict=True))) for row in rows]
        return "t.jsonl", "\n".join(lines).encode(), options
    delimiter = rng.choice([",", ";", "\t", "|"])
    if delimiter == ";" and rng.random() < 0.5 and not any("e" in cell for row in rows for cell in row):
        rows = [[cell.replace(".", ",") for cell in row] for row in rows]
    lines = [delimiter.join(_quoted(cell, delimiter) for cell in row) for row in ([names] if header else []) + rows]
    if rng.random() < 0.2:
        lines[:0] = ["# made by hand", ""]
    encoding = rng.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"])
    content = rng.choice(["\n", "\r\n"]).join([*lines, *([""] * rng.randint(0, 2))]).encode(encoding)
    return ("t.csv.gz", gzip.compress(content), options) if rng.random() < 0.2 else ("t.csv", content, options)


def _json_cell(cell: str) -> object:
    try:
        return float(cell) if cell not in ("nan", "") else None
    except ValueError:
        return cell if cell not in ("NA", "?", "-", "null") else None


def _quoted(cell: str, delimiter: str) -> str:
    return f'"{cell}"' if delimiter in cell or cell.startswith("#") else cell


def messy_words(rng: random.Random, name: str, needed: list[str]) -> list[str]:
    """A command line that suits a messy table. It must succeed."""
    extra = shlex.split(" ".join(rng.sample(HARMLESS, rng.randint(0, 3))))
    if rng.random() < 0.25:
        reading = [word for word in needed if word == "--no-header"]
        return ["inspect", name, *reading, *rng.choice([[], ["--json"]])]
    if rng.random() < 0.25 and "--label" in needed:
        return ["compare", name, "--methods", ",".join(rng.sample(METHODS[:4], 2)), *needed, *extra]
    method = rng.choice(["pca", "kpca", "isomap", "auto", *(["kda"] if "--label" in needed else [])])
    extra += shlex.split(rng.choice(OF_METHOD.get(method, [""])))
    outputs = rng.choice([[], ["-o", "c.csv"], ["-o", "c.parquet", "--save", "m.mercer"], ["--report", "p.html"]])
    return ["fit", name, "-m", method, *needed, *extra, *outputs]


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


class Runner:
    """A server of its own for each thread."""

    def __init__(self) -> None:
        self.here = threading.local()

    def run(self, line: list[str], folder: str, columns: int, shown: bool) -> tuple[int, str]:
        """Run a command line in a terminal of so many columns: its status, and the text it left there.

        shown : whether stdout is that terminal as well; otherwise nobody reads it
        """
        if not hasattr(self.here, "server"):
            environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            environment |= {"PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1", "TERM": "xterm"}
            self.here.server = subprocess.Popen(
                [sys.executable, "-c", SERVER],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
            )  # fmt: skip
        server = self.here.server
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        job = {"words": line, "folder": folder, "terminal": os.ttyname(theirs), "shown": shown}
        print(json.dumps(job), file=server.stdin, flush=True)
        said = b""
        while not select.select([server.stdout], [], [], 0)[0] or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.05)[0]:
                said += os.read(ours, 65536)
        status = int(server.stdout.readline())
        os.close(theirs)
        os.close(ours)
        return status, left_on_screen(said.decode("utf-8", "replace"))


RUNNER = Runner()


def left_on_screen(text: str) -> str:
    """What a terminal still shows: without colours, and without lines of progress that were wiped.

    >>> left_on_screen("⠋ reading\\r\\n\\x1b[1A\\x1b[2Kmercer: \\x1b[33mno\\x1b[0m\\r\\n").split("\\n")
    ['mercer: no', '']
    """
    lines, at = [""], 0
    for move, word, plain in re.findall(r"(\n|\r(?!\n))|\x1b\[([?0-9;]*[A-Za-z])|([^\n\r\x1b]+)", text):
        if move == "\n":
            at += 1
            lines += [""] * (at == len(lines))
        elif word.endswith("A"):
            at = max(0, at - int(word[:-1] or 1))
        elif word == "2K" or move:
            lines[at] = "" if word else lines[at]
        else:
            lines[at] += plain
    return "\n".join(lines)


def said_by_us(line: str) -> bool:
    return line.startswith("mercer: ")


def whole_lines(said: str) -> list[str]:
    """The lines of what was said, a message that was broken for a narrow terminal in one.

    >>> whole_lines("mercer: note: a long\\n  message\\n\\na  b\\n")
    ['mercer: note: a long message', 'a  b']
    """
    lines: list[str] = []
    for line in said.splitlines():
        if line.startswith("  ") and lines and said_by_us(lines[-1]):
            lines[-1] += f" {line.strip()}"
        elif line.strip():
            lines.append(line)
    return lines


def complaint(seed: int) -> tuple[str, str]:
    """How a run ended, and what is wrong with that: empty if nothing is."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        readable = seed % 2 == 0
        if readable:
            name, content, needed = messy_table(rng)
            line = messy_words(rng, name, needed)
        else:
            name, content, line = "t.csv", table(rng), words(rng)
        Path(folder, name).write_bytes(content)
        columns, shown = rng.choice(WIDTHS), rng.random() < 0.5
        status, said = RUNNER.run(line, folder, columns, shown)
        left = {path.name for path in Path(folder).iterdir()} - {name}
    lines = whole_lines(said)
    errors = [each for each in lines if not each.startswith(("mercer: note:", "mercer: warning:"))]
    wrong = []
    if status not in STATUSES:
        wrong.append(f"status {status}")
    if "Traceback" in said or "please report" in said:
        wrong.append("a traceback")
    if status and (len(errors) != 1 or not errors[0].startswith("mercer: ")):
        wrong.append(f"{len(errors)} lines of error")
    if readable and status:
        wrong.append("a readable table refused")
    if any(len(wrap(each, ORDINARY, subsequent_indent="  ")) > MOST_ROWS for each in lines if said_by_us(each)):
        wrong.append("a message that is too long")
    if status and left:
        wrong.append(f"left {sorted(left)}")
    text = f"seed {seed}: mercer {shlex.join(line)}: {', '.join(wrong)}\n{said[-600:]}" if wrong else ""
    return f"status {status}", text


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
