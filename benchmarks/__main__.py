"""python -m benchmarks [--only NAME ...] [--fits WORDS ...] [--quick] [--repeats R]"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import machine, report
from benchmarks.cases import all_cases, chosen, quick_cases, with_fits
from benchmarks.run import RESULTS, run_case


def main() -> None:
    options = _options()
    if options.list:
        print("\n".join(f"{case.id}: {case.settings}" for case in all_cases()))
    elif options.merge_gpu:
        new = json.loads(options.merge_gpu.read_text())
        if new.get("quick"):
            sys.exit(f"{options.merge_gpu} is of a quick run, which is no measurement; nothing was merged.")
        report.save(report.merged(report.load(), new["cases"]))
    elif options.render:
        report.save(report.load())
    elif options.quick:
        _quick(options)
    else:
        _run(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Mercer beside its peers.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="groups or cases; the rest is kept")
    parser.add_argument(
        "--fits", nargs="+", default=[], metavar="WORDS", help="of memory cases, the fits so named; the rest is kept"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes; prints the page, keeps nothing")
    parser.add_argument("--repeats", type=int, default=3, metavar="R", help="turns of every competitor (3)")
    parser.add_argument("--list", action="store_true", help="show the cases")
    parser.add_argument("--render", action="store_true", help="write the page and the README from figures.json")
    parser.add_argument("--merge-gpu", type=Path, metavar="FILE", help="take in the output of benchmarks/gpu.py")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least one turn is needed")
    try:
        if not options.quick:
            with_fits(chosen(all_cases(), options.only), options.fits)
    except ValueError as error:
        parser.error(str(error))
    return options


def _run(options: argparse.Namespace) -> None:
    """Figures and page are written after every case, so that a run can be stopped without losing what is done."""
    here = machine.describe()
    for case in with_fits(chosen(all_cases(), options.only), options.fits):
        figures = run_case(case, options.repeats)
        known = report.load()
        if options.fits:
            figures = report.with_other_rows(figures, known["cases"].get(case.id), case.id)
        report.save(report.merged(known, {case.id: {**figures, "machine": here}}))


def _quick(options: argparse.Namespace) -> None:
    here = machine.describe()
    cases = {case.id: {**run_case(case, 1), "machine": here} for case in chosen(quick_cases(), options.only)}
    figures = report.merged({"quick": True, "cases": {}}, cases)
    (RESULTS / "quick.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False))
    sys.stdout.write(report.render(figures))


if __name__ == "__main__":
    main()
