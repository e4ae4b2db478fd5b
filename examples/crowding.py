"""What is the crowding problem?
=============================

This example maps the same digits by SNE and by t-SNE. In the map of SNE the clusters crowd together. The heavy tail of
t-SNE opens gaps between them.

::

    python examples/crowding.py --output pictures

The measurements and the drawing are in `mercer.cli.demos.crowding`. `mercer demo crowding` shows them too.
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
