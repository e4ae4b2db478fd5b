"""Kernel PCA and its family: exact to a stated tolerance, without the n × n matrix."""

from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA

__version__ = "0.1.0"
__all__ = ["PCA", "KernelPCA"]
