"""What a fit was asked for: the command line first, then the run.json, then defaults."""

import click
import pytest

from mercer.cli.fit import command, given_parameters
from mercer.cli.request import FitRequest, request_from

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def request(*words) -> FitRequest:
    with command.make_context("fit", list(words)) as context:
        return request_from(context, context.params, given_parameters(context))


def test_the_command_line_wins_over_the_record_and_the_record_over_defaults(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--gamma", "0.5", "--seed", "7", "-o", "c.csv", "--save", "m.mercer", "-q")
    found = request("--config", "c.run.json", "--gamma", "2", "-o", "d.csv")
    assert (found.method, found.seed, found.output, found.save) == ("kpca", 7, "d.csv", None)
    assert found.parameters["gamma"] == 2.0 and found.choice == {"label": "species", "id": "name"}
    assert found.expected.keys() == {"table"} and found.files == {"coordinates": "d.csv"}
    assert request("--config", "c.run.json", "--recorded-outputs").save == "m.mercer"


def test_without_outputs_coordinates_go_to_stdout(shell):
    assert request(*FLOWERS).output == "-" and request(*FLOWERS, "--save", "m.mercer").output is None


def test_columns_of_the_page_are_read_for_it(shell):
    found = request(*FLOWERS, "--keep", "m0", "--page-columns", "m1,m0")
    assert found.choice["keep"] == ("m0",) and found.choice["show"] == ("m1", "m0")
    assert found.page_columns == ("m1", "m0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "A table is needed"),
        (["t.csv", "-m", "pca", "--second", "u.csv"], "--second is for --method kcca"),
        (["t.csv", "-m", "kcca"], "--second"),
        (["t.csv", "-m", "kda"], "--label"),
        (["t.csv", "--save", "-"], "--save needs the name of a file"),
        (["t.csv", "--json"], "cannot both go to stdout"),
    ],
)
def test_what_does_not_go_together_is_refused(words, said):
    with pytest.raises(click.UsageError, match=said):
        request(*words)
