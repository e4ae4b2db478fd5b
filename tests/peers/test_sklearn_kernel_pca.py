"""scikit-learn's own tests of KernelPCA, run on Mercer's."""

from swapped import collected, load_swapped

from mercer import PCA, KernelPCA

EXCEPTIONS: dict[str, str] = {}

_module = load_swapped("sklearn.decomposition.tests.test_kernel_pca", {"KernelPCA": KernelPCA, "PCA": PCA})
globals().update(collected(_module, EXCEPTIONS))
