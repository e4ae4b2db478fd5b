"""The lines of kernels: Mercer's, and those of scikit-learn's Gaussian processes."""

from __future__ import annotations

from mercer.models.checks import (
    Check,
    a,
    anything,
    either,
    finite,
    floats,
    number,
    optional,
    several,
    text,
    whole,
)
from mercer.models.entry import Entry, ours

_width = optional(either(number, text))  # gamma, length_scale: a number, or a word that binding makes one
_kernel = a("kernel")

KERNELS = {
    "kernel.Sum": ours("kernels.kernel", "Sum", {"left": _kernel, "right": _kernel}),
    "kernel.Product": ours("kernels.kernel", "Product", {"left": _kernel, "right": _kernel}),
    "kernel.Scaled": ours("kernels.kernel", "Scaled", {"kernel": _kernel, "factor": finite}),
    "kernel.Power": ours("kernels.kernel", "Power", {"kernel": _kernel, "exponent": finite}),
    "kernel.Normalized": ours("kernels.kernel", "Normalized", {"kernel": _kernel}),
    "kernel.OnColumns": ours("kernels.kernel", "OnColumns", {"kernel": _kernel, "columns": anything}),
    "kernel.Constant": ours("kernels.kernel", "Constant", {"value": finite}),
    "kernel.RBF": ours("kernels.distances", "RBF", {"gamma": _width}),
    "kernel.Laplacian": ours("kernels.distances", "Laplacian", {"gamma": _width}),
    "kernel.Matern": ours("kernels.distances", "Matern", {"nu": number, "length_scale": _width}),
    "kernel.RationalQuadratic": ours(
        "kernels.distances", "RationalQuadratic", {"length_scale": _width, "alpha": finite}
    ),
    "kernel.Linear": ours("kernels.products", "Linear", {}),
    "kernel.LinearAbout": ours("kernels.products", "LinearAbout", {"shift": floats("d")}),
    "kernel.Polynomial": ours("kernels.products", "Polynomial", {"degree": finite, "gamma": _width, "coef0": finite}),
    "kernel.Sigmoid": ours("kernels.products", "Sigmoid", {"gamma": _width, "coef0": finite}),
    "kernel.Cosine": ours("kernels.products", "Cosine", {}),
    "kernel.ArcCosine": ours("kernels.products", "ArcCosine", {"order": whole(0, 2)}),
    "kernel.Tanimoto": ours("kernels.products", "Tanimoto", {}),
    "kernel.Chi2": ours("kernels.histograms", "Chi2", {"gamma": _width}),
    "kernel.AdditiveChi2": ours("kernels.histograms", "AdditiveChi2", {}),
    "kernel.Intersection": ours("kernels.histograms", "Intersection", {}),
    "kernel.Hamming": ours("kernels.histograms", "Hamming", {}),
    "kernel.Spectrum": ours("kernels.discrete", "Spectrum", {"length": whole(1)}),
    "kernel.Precomputed": ours("kernels.discrete", "Precomputed", {}),
    "kernel.HalfSquaredDistance": ours("kernels.metric", "HalfSquaredDistance", {"metric": text, "params": anything}),
    "kernel.GaussianProcessKernel": ours("kernels.adapters", "GaussianProcessKernel", {"kernel": a("gp")}),
}


def _gp(name: str, **params: Check) -> Entry:
    return Entry(f"sklearn.gaussian_process.kernels:{name}", params)


_scale = either(finite, floats("l"), several(finite))
GAUSSIAN_PROCESS = {
    "gp.Sum": _gp("Sum", k1=a("gp"), k2=a("gp")),
    "gp.Product": _gp("Product", k1=a("gp"), k2=a("gp")),
    "gp.Exponentiation": _gp("Exponentiation", kernel=a("gp"), exponent=finite),
    "gp.ConstantKernel": _gp("ConstantKernel", constant_value=finite, constant_value_bounds=anything),
    "gp.WhiteKernel": _gp("WhiteKernel", noise_level=finite, noise_level_bounds=anything),
    "gp.RBF": _gp("RBF", length_scale=_scale, length_scale_bounds=anything),
    "gp.Matern": _gp("Matern", length_scale=_scale, length_scale_bounds=anything, nu=number),
    "gp.RationalQuadratic": _gp(
        "RationalQuadratic", length_scale=finite, alpha=finite, length_scale_bounds=anything, alpha_bounds=anything
    ),
    "gp.ExpSineSquared": _gp(
        "ExpSineSquared",
        length_scale=finite,
        periodicity=finite,
        length_scale_bounds=anything,
        periodicity_bounds=anything,
    ),
    "gp.DotProduct": _gp("DotProduct", sigma_0=finite, sigma_0_bounds=anything),
}
