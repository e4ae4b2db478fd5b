"""scikit-learn's own tests of t-SNE, run on Mercer's."""

from swapped import collected, load_swapped

from mercer import TSNE

_PRIVATE = "a private function of scikit-learn; what stands for it here is tested in tests/embedding"
_OTHER = "no test of t-SNE: scikit-learn's trustworthiness alone"

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys(
        [
            "test_gradient_descent_stops",
            "test_binary_search",
            "test_binary_search_underflow",
            "test_binary_search_neighbors",
            "test_binary_perplexity_stability",
            "test_gradient",
            "test_answer_gradient_two_points",
            "test_answer_gradient_four_points",
            "test_skip_num_points_gradient",
            "test_barnes_hut_angle",
            "test_gradient_bh_multithread_match_sequential",
        ],
        _PRIVATE,
    ),
    **dict.fromkeys(
        ["test_trustworthiness", "test_trustworthiness_n_neighbors_error", "test_trustworthiness_not_euclidean_metric"],
        _OTHER,
    ),
    "test_high_perplexity_precomputed_sparse_distances": "the same refusal counts neighbours without the row itself",
    "test_non_positive_computed_distances": "the same refusal in other words; see tests/estimators/test_tsne.py",
    "test_tsne_with_different_distance_metrics": "asks two computations of one distance for the same bits; P is the "
    "same to rounding, see tests/estimators/test_tsne.py",
    "test_tsne_with_mahalanobis_distance": "without V the covariance of the data is taken, where scikit-learn refuses",
}

_FORMER = {  # tests that some versions of scikit-learn have
    "test_pca_initialization_not_compatible_with_sparse_input": "sparse rows have a PCA start here",
}

_module = load_swapped("sklearn.manifold.tests.test_t_sne", {"TSNE": TSNE})
EXCEPTIONS |= {test: why for test, why in _FORMER.items() if hasattr(_module, test)}
globals().update(collected(_module, EXCEPTIONS))
