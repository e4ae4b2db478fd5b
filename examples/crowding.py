"""What is the crowding problem?
=============================

The crowding problem: the same digits by SNE, whose Gaussian leaves no room in the plane, and by t-SNE.

::

    python examples/crowding.py --output pictures

What is measured and drawn is in `mercer.cli.demos.crowding`, which `mercer demo crowding` shows as well.
"""

import argparse
from pathlib import Path

from mercer.cli.demos.crowding import crowd


def main() -> None:
    parser = argparse.ArgumentParser(description="What is the crowding problem?")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    parser.add_argument("--rows", type=int, default=1797, help="how many of the digits")
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    crowd(given.rows, given.steps, print).savefig(given.output / "crowding.png")


if __name__ == "__main__":
    main()
