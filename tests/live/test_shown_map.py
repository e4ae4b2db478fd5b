"""What a widget shows: the map of an estimator as it was fitted, and sliders where the rows are at hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.manifold import SpectralEmbedding

from mercer import MDS, PCA, SNE, TSNE, Isomap, KernelPCA
from mercer.live.live_table import LiveTable
from mercer.live.shown_map import shown_map
from mercer.web import Map, Page

X = np.random.default_rng(0).normal(size=(60, 4))
KPCA = KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)


def map_of(shown):
    return shown.page.maps[0].coordinates


def test_a_kernel_pca_brings_its_rows():
    shown = shown_map(KPCA)
    settings, frame = shown.known
    assert np.allclose(map_of(shown), KPCA.fit_transform(X), atol=1e-12)
    assert settings == {"method": "kpca", "kernel": "rbf", "gamma": 0.2, "n_components": 3}
    assert frame.estimator is KPCA and frame.stage == "settled" and np.array_equal(frame.spectrum, KPCA.eigenvalues_)
    assert shown.live["first"] == settings and shown.table.rows == 60


@pytest.mark.parametrize(
    "estimator", [PCA(2), Isomap(n_neighbors=8), TSNE(max_iter=50, perplexity=10), SNE(max_iter=50, perplexity=10)]
)
def test_other_estimators_need_their_rows_for_sliders(estimator):
    Z = estimator.fit_transform(X)
    shown = shown_map(estimator, X)
    assert np.allclose(map_of(shown), Z, atol=1e-9) and shown.live is not None
    assert shown.known[0]["method"] == shown.live["first"]["method"]
    if hasattr(estimator, "embedding_"):
        assert shown_map(estimator).live is None


def test_estimators_without_sliders_are_shown_as_they_are():
    for estimator in (MDS(random_state=0).fit(X), SpectralEmbedding(random_state=0).fit(X)):
        shown = shown_map(estimator, X)
        assert shown.live is None and np.array_equal(map_of(shown), estimator.embedding_)
    with pytest.raises(ValueError, match="no sliders"):
        shown_map(estimator, X, live=True)


def test_sliders_can_be_left_out():
    shown = shown_map(KPCA, live=False, y=np.arange(60) % 2)
    assert shown.live is None and shown.known is None and shown.page.label == "label"


def test_coordinates_maps_pages_and_tables():
    Z = X[:, :2]
    page = Page("two", [Map("a", Z), Map("b", Z)])
    assert shown_map(page).page is page
    assert shown_map(Map("a", Z), y=np.arange(60)).page.maps[0].name == "a"
    assert np.array_equal(map_of(shown_map(Z)), Z)
    shown = shown_map(LiveTable.of(X))
    assert shown.known is None and shown.live["first"]["method"] == "kpca"
    for what in (page, Z):
        with pytest.raises(ValueError, match="sliders"):
            shown_map(what, live=True)


def test_names_of_a_data_frame_are_known():
    frame = pd.DataFrame(X, columns=list("abcd"))
    shown = shown_map(PCA(2).fit(frame), frame, y=pd.Series(list("xy") * 30), columns={"label": np.arange(60)})
    assert shown.live["features"] == ["a", "b", "c", "d"] and list(shown.page.columns) == ["label_", "label"]


def test_new_rows_are_mapped_by_the_model():
    shown = shown_map(KPCA, X[:20] + 0.1)
    assert np.allclose(map_of(shown), KPCA.transform(X[:20] + 0.1)) and shown.table.rows == 20


def test_a_map_of_other_rows_is_not_passed_off_as_that_of_the_fit():
    settings, frame = shown_map(KPCA, X[:20] + 0.1).known or (None, None)
    assert settings is None and frame is None


def test_what_cannot_be_shown_says_what_to_pass():
    with pytest.raises(ValueError, match=r"mercer.widget\(model, X\)"):
        shown_map(PCA(2).fit(X))
    with pytest.raises(ValueError, match=r"mercer.widget\(model, X\)"):
        shown_map(KernelPCA(2))
    with pytest.raises(ValueError, match="other rows"):
        shown_map(SpectralEmbedding(random_state=0).fit(X), X[:20])
    with pytest.raises(ValueError, match="the rows themselves"):
        shown_map(KernelPCA(2, kernel="precomputed").fit(X @ X.T), X, live=True)
