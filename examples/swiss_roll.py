"""Can a map unroll a sheet?
=========================

Yes. Projections show a rolled-up sheet from its side. Isomap measures distances along the sheet and unrolls it.

::

    python examples/swiss_roll.py --output pictures

The measurements and the drawing are in `mercer.cli.demos.swissroll`. `mercer demo swissroll` shows them too.
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
