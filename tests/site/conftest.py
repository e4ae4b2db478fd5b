"""The built site, for the tests that read it. `make test-docs` builds it first; without it they are skipped."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))


@pytest.fixture(scope="session")
def site():
    folder = ROOT / "build" / "site"
    if not (folder / "searchindex.js").exists():
        pytest.skip("the site is not built: make docs")
    return folder
