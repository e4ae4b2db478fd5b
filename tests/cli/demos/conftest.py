"""Both short demos, run once, with fewer digits and steps."""

import pytest
from click.testing import CliRunner

from mercer.cli.main import main


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The folder and the result of `mercer demo`."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr("mercer.cli.demos.digits.ROWS", 400)
        smaller.setattr("mercer.cli.demos.digits.STEPS", 300)
        return folder, CliRunner().invoke(main, ["demo", "--output", str(folder)])
