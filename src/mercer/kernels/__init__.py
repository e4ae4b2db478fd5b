"""Kernels: similarity functions that are inner products in some space, and an algebra to combine them."""

from mercer.kernels.adapters import FunctionKernel, GaussianProcessKernel
from mercer.kernels.discrete import Precomputed, Spectrum
from mercer.kernels.distances import RBF, Laplacian, Matern, RationalQuadratic
from mercer.kernels.histograms import AdditiveChi2, Chi2, Hamming, Intersection
from mercer.kernels.kernel import Constant, Kernel, Points
from mercer.kernels.products import ArcCosine, Cosine, Linear, Polynomial, Sigmoid, Tanimoto
from mercer.kernels.resolve import KERNEL_NAMES, resolve_kernel
from mercer.kernels.vector import VectorKernel

__all__ = [
    "KERNEL_NAMES",
    "RBF",
    "AdditiveChi2",
    "ArcCosine",
    "Chi2",
    "Constant",
    "Cosine",
    "FunctionKernel",
    "GaussianProcessKernel",
    "Hamming",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Points",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Sigmoid",
    "Spectrum",
    "Tanimoto",
    "VectorKernel",
    "resolve_kernel",
]


def __dir__() -> list[str]:
    return sorted(__all__)
