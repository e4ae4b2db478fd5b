"""scikit-learn's own tests of KernelPCA, run on Mercer's."""

from mercer import PCA, KernelPCA
from swapped import collected, load_swapped

EXCEPTIONS: dict[str, str] = {}

_module = load_swapped("sklearn.decomposition.tests.test_kernel_pca", {"KernelPCA": KernelPCA, "PCA": PCA})
globals().update(collected(_module, EXCEPTIONS))
