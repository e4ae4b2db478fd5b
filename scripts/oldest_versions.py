"""Print the oldest version of everything that pyproject.toml allows, as pins for pip.

    python scripts/oldest_versions.py > oldest.txt && pip install -r oldest.txt

The lower bounds are the only list: "numpy>=2.0" becomes "numpy==2.0".
"""

import re
import sys
import tomllib
from pathlib import Path

# Checks of the source do not depend on what is installed, and pages are tested in a browser with `make test-page`.
NOT_TESTED = {"ruff", "mypy", "import-linter", "playwright"}


def pins(pyproject: dict) -> list[str]:
    """`name==version` for each requirement of the package and of its tests, whose bounds are `>=` and perhaps `,<`."""
    project = pyproject["project"]
    found = []
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)(?:,<[0-9.]+)?", requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no plain lower bound such as 'numpy>=2.0'.")
        if match[1] not in NOT_TESTED:
            found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    sys.stdout.write("\n".join(pins(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8")))) + "\n")
