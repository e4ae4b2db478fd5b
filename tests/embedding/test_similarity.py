"""Similarities: their derivatives, and that one from outside the package works wherever the built-in ones do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.embedding.affinities import affinities_of
from mercer.embedding.loss import Loss
from mercer.embedding.placement import place
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Similarity, Student
from mercer.embedding.weighting import Perplexity
from mercer.graph import build_index

X = np.random.default_rng(0).standard_normal((150, 4))
Y = np.random.default_rng(1).standard_normal((150, 2))


class Cubic(Similarity):
    """Student(5) without a compiled form: (1 + d²/5)⁻³."""

    def weight(self, d2):
        return (1 + d2 / 5) ** -3.0

    def slope(self, d2):
        return 0.6 * (1 + d2 / 5) ** -4.0

    def log_slope(self, d2):
        return 3 / (5 + d2)


class CubicWithLength(Cubic):
    length = Student(5).length


@pytest.mark.parametrize(
    "w", [Student(), Student(0.5), Student(5), Gaussian(), Cubic()], ids=lambda w: type(w).__name__
)
def test_slopes_are_derivatives(w):
    d2, h = np.linspace(0.5, 9, 30), 1e-5
    assert_allclose(w.slope(d2), (w.weight(d2 - h) - w.weight(d2 + h)) / (2 * h), rtol=1e-7)
    assert_allclose(w.log_slope(d2), w.slope(d2) / w.weight(d2), rtol=1e-12)
    assert_allclose(w.log_weight(d2), np.log(w.weight(d2)), rtol=1e-12)


def test_any_similarity_has_the_repulsion_of_its_formula():
    here, built_in = (make_repulsion(w, 2, n=150) for w in (Cubic(), Student(5)))
    assert "states no length" in make_repulsion(Cubic(), 2, n=10**6).reason
    for found, wanted in zip(here(Y), built_in(Y), strict=True):
        assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    for found, wanted in zip(here.on(Y[:9], Y[9:]), built_in.on(Y[:9], Y[9:]), strict=True):
        assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_any_similarity_has_the_loss_and_the_gradient_of_its_formula():
    P = affinities_of(build_index(X), Perplexity((10.0,)))
    losses = [Loss(P.P, P.entropy, w, make_repulsion(w, 2, n=150)) for w in (Cubic(), Student(5))]
    assert_allclose(losses[0].value(Y), losses[1].value(Y), rtol=1e-10)
    assert_allclose(losses[0].gradient(Y), losses[1].gradient(Y), rtol=1e-6, atol=1e-10)


def test_a_similarity_that_states_its_length_can_use_a_grid():
    wide = 20 * np.random.default_rng(2).random((3000, 2))
    repulsion = make_repulsion(CubicWithLength(), 2, n=3000)
    exact = make_repulsion(Student(5), 2, n=3000, method="exact")
    assert repulsion.method == "grid"
    G, reference = repulsion(wide)[0], exact(wide)[0]
    assert np.linalg.norm(G - reference) < 1e-3 * np.linalg.norm(reference)


def test_new_rows_are_placed_with_any_similarity():
    found = affinities_of(build_index(X), Perplexity((10.0,))).to_new(X[:5] + 0.1)
    places = [place(*found, Y, w, make_repulsion(w, 2, n=150)) for w in (Cubic(), Student(5))]
    assert_allclose(places[0], places[1], rtol=1e-5, atol=1e-6)


def test_a_grid_without_a_length_and_an_object_that_is_no_similarity_are_refused():
    with pytest.raises(ValueError, match="needs the length"):
        make_repulsion(Cubic(), 2, method="grid", n=10)
    with pytest.raises(TypeError, match="must be Student"):
        make_repulsion(object(), 2, n=10)


def test_many_degrees_of_freedom_are_a_gaussian_of_half_the_exponent():
    d2 = np.linspace(0, 10, 50)
    np.testing.assert_allclose(Student(1e6).weight(d2), Gaussian().weight(d2 / 2), rtol=1e-4)


@pytest.mark.parametrize("dof", [0, -1, np.nan, np.inf, 1e9])
def test_degrees_of_freedom_out_of_range(dof):
    with pytest.raises(ValueError, match="degrees of freedom"):
        Student(dof)
