"""A fitted estimator gives its map and offers to open it, and scikit-learn's own picture of it stays as it is."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from mercer import PCA, TSNE, Isomap, KernelPCA
from mercer.estimators.fitted_map import fitted_map, offer_of_map

X = np.random.default_rng(0).normal(size=(40, 4))
KPCA = KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)


def test_the_map_is_what_fit_transform_gives():
    assert np.allclose(fitted_map(KPCA), KPCA.fit_transform(X), atol=1e-12)
    isomap = Isomap(n_neighbors=8).fit(X)
    assert np.array_equal(fitted_map(isomap), isomap.embedding_)


@pytest.mark.parametrize("estimator", [KernelPCA(2), TSNE(), PCA(2), PCA(2).fit(X)])
def test_without_a_map_nothing_is_offered(estimator):
    assert fitted_map(estimator) is None and offer_of_map(estimator) == ""
    assert "mercer.widget" not in estimator._repr_html_()


def test_the_offer_stands_below_the_picture_of_scikit_learn():
    html = KPCA._repr_html_()
    assert html.count("sk-top-container") >= 1 and html.index("sk-top-container") < html.index("mercer.widget")
    assert "A map of 40 rows" in html and len(offer_of_map(KPCA)) < 300
    bundle = KPCA._repr_mimebundle_()
    assert bundle["text/plain"] == repr(KPCA) and bundle["text/html"].endswith(offer_of_map(KPCA))


def test_who_asks_scikit_learn_for_text_gets_text():
    with sklearn.config_context(display="text"):
        assert not hasattr(KPCA, "_repr_html_") and list(KPCA._repr_mimebundle_()) == ["text/plain"]


def test_pipelines_are_shown_as_before():
    html = make_pipeline(KernelPCA(2, kernel="rbf")).fit(X)._repr_html_()
    assert "KernelPCA" in html and "mercer.widget" not in html
