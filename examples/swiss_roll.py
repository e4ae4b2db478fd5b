"""Can a map unroll a sheet?
=========================

A rolled-up sheet: projections keep it rolled up, and Isomap unrolls it.

::

    python examples/swiss_roll.py --output pictures

What is measured and drawn is in `mercer.cli.demos.swissroll`, which `mercer demo swissroll` shows as well.
"""

import argparse
from pathlib import Path

from mercer.cli.demos.swissroll import unroll


def main() -> None:
    parser = argparse.ArgumentParser(description="Can a map unroll a sheet?")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    unroll(given.rows, print).savefig(given.output / "swiss_roll.png")


if __name__ == "__main__":
    main()
