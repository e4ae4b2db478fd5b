"""Eigenfaces: is it a face, and whose is it? By the distance from face space, and by the nearest neighbour within it.

python scripts/fetch_data.py faces
python examples/eigenfaces.py --output pictures

The folds and the drawing are in `mercer.cli.demos.faces`, which `mercer demo faces` shows with fewer choices.
"""

import argparse
from pathlib import Path

from mercer.cli.demos.faces import QUICK, Grid, NoFaces, find_faces, look

DATA = Path(__file__).resolve().parents[1] / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("."), help="folder for the picture")
    parser.add_argument("--quick", action="store_true", help="fewer widths and numbers of components to choose from")
    given = parser.parse_args()
    try:
        faces = find_faces(DATA)
    except NoFaces as error:
        print(error)
        return
    given.output.mkdir(parents=True, exist_ok=True)
    look(faces, QUICK if given.quick else Grid(), print).savefig(given.output / "eigenfaces.png")


if __name__ == "__main__":
    main()
