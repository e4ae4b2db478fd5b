"""Options made of estimators' parameters: none is forgotten, defaults hold, and words become the values they mean."""

import inspect

import click
import pytest

from mercer.cli.fit import command, method_options
from mercer.cli.methods import HIDDEN, METHODS
from mercer.cli.parameters import Parameter, option_owners, parameters_of

EVERY = [(method, parameter) for method in METHODS for parameter in parameters_of(method)]


@pytest.mark.parametrize("method", METHODS)
def test_parsed_source_says_what_the_class_says(method):
    """Names and defaults come from parsing the source; the signature of the imported class is the truth."""
    signature = inspect.signature(METHODS[method].load().__init__).parameters
    parameters = {p.name: p for p in parameters_of(method)}
    assert set(parameters) == set(signature) - HIDDEN - {"self"}
    for name, parameter in parameters.items():
        assert parameter.default == METHODS[method].defaults.get(name, signature[name].default)
        assert parameter.text and parameter.kind


@pytest.mark.parametrize(("method", "parameter"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_every_default_can_be_typed(method, parameter):
    if parameter.is_flag:
        return
    typed = "none" if parameter.default is None else str(parameter.default)
    assert parameter.parse(typed) == parameter.default
    assert parameter.metavar


@pytest.mark.parametrize(("method", "parameter"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_every_option_is_taken_by_the_command_and_reaches_the_estimator(method, parameter):

    from mercer.cli.fit import given_parameters

    typed = "none" if parameter.default is None else str(parameter.default)
    words = [parameter.option] if parameter.is_flag else [parameter.option, typed]
    context = command.make_context("fit", ["t.csv", "--method", method, *words])
    given = given_parameters(context)
    expected = True if parameter.is_flag else parameter.default
    assert given == {parameter.name: expected}
    assert getattr(METHODS[method].build(given, seed=3, jobs=None), parameter.name) == expected


@pytest.mark.parametrize(("method", "parameter"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_the_estimator_s_own_rules_allow_what_the_option_offers(method, parameter):
    """Every word that --help offers passes the estimator's validation, apart from what only data can tell."""
    estimator = METHODS[method].load()()
    for word in [*parameter.choices, *(["none"] if "none" in parameter.types else [])]:
        estimator.set_params(**{parameter.name: parameter.parse(word)})
        estimator._validate_params()


def parameter(kind, default=None, name="x"):
    return Parameter(name, default, kind, "")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "7", 7),
        ("float", "7", 7.0),
        ("int, float or None", "0.5", 0.5),
        ("int, float or None", "None", None),
        ('float, "scale" or None', "Scale", "scale"),
        ("float or list", "30,100", [30, 100]),
        ("float or pair of floats", "1e-3,0.5", [1e-3, 0.5]),
        ("array of C shares or None", "0.2,0.8", [0.2, 0.8]),
        ("list of pairs of rows, or None", "3-17, 20-4", [(3, 17), (20, 4)]),
        ("list of pairs of rows, or None", "none", None),
        ('"auto", "none"', "none", "none"),
        ("str, Kernel or callable", "rbf", "rbf"),
        ("int, str or None", "4GB", "4GB"),
        ("int, str or None", "4000", 4000),
    ],
)
def test_words_become_values(kind, text, value):
    found = parameter(kind).parse(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("int", "7.5"), ("float", "nan"), ("float", "inf"), ("int", ""), ('"a", "b"', "c"), ("float or list", "1,x")),
        *(("list of pairs of rows", text) for text in ("3,17", "3", "3-", "-3-4", "3-4-5", ",", "a-b")),
    ],
)
def test_other_words_are_refused_with_what_is_wanted(kind, text):
    with pytest.raises(ValueError, match="--x takes"):
        parameter(kind).parse(text)


def test_words_that_are_wanted_are_listed_as_they_are_typed():
    solver = parameter('"dense", "arpack", "auto" or None')
    with pytest.raises(ValueError, match="--x takes arpack, auto, dense or none, not 'magic'"):
        solver.parse("magic")
    with pytest.raises(ValueError, match=r"--x 'arpak' is unknown. Did you mean arpack\?"):
        solver.parse("arpak")


def test_the_method_of_tsne_is_called_repulsion():
    assert "--repulsion" in option_owners() and "--method" not in option_owners()


def test_without_a_method_only_what_all_have_is_offered():
    assert [option.opts for option in method_options("auto")] == [["--n-components"]]
    assert all("n_components" in {p.name for p in parameters_of(method)} for method in METHODS)


@pytest.mark.parametrize(
    ("args", "method"),
    [
        (["t.csv"], "auto"),
        (["--method", "pca"], "pca"),
        (["--method=pca"], "pca"),
        (["-m", "pca"], "pca"),
        (["-mpca"], "pca"),
        (["--method", "pca", "--method", "tsne"], "tsne"),
        (["--", "--method"], "auto"),
        (["-omap.csv", "--nope", "-m", "pca"], "pca"),
    ],
)
def test_the_method_is_found_before_parsing(args, method):
    assert command.method_in(args, click.Context(command)) == method
