"""Each row of the table in docs/coming_from/kernlab.md, on kernlab and on Mercer. Needs R with kernlab."""

import shutil
import subprocess

import numpy as np
import pytest
from name_tables import first_cells
from sklearn.datasets import load_iris

from mercer import KernelCCA, KernelPCA
from mercer.kernels import RBF, Linear, Matern, Polynomial, Sigmoid, Spectrum
from mercer.linalg import Gram, rpcholesky
from mercer.selection import median_gamma

WORDS = ["abcabcabd", "abcdabcd", "cabcabca", "ddabcabc"]
SCRIPT = """
suppressMessages(library(kernlab))
X <- as.matrix(read.csv("X.csv", header = FALSE)); colnames(X) <- NULL
words <- c(%s)
put <- function(name, value) write.table(as.matrix(value), name, row.names = FALSE, col.names = FALSE, quote = FALSE)
fit <- kpca(X, kernel = "rbfdot", kpar = list(sigma = 0.2), features = 2)
put("rotated", rotated(fit)); put("eig", eig(fit)); put("predict", predict(fit, X[1:5, ]))
put("rbfdot", kernelMatrix(rbfdot(sigma = 0.2), X))
put("laplacedot", kernelMatrix(laplacedot(sigma = 0.7), X))
put("polydot", kernelMatrix(polydot(degree = 3, scale = 0.5, offset = 2), X))
put("vanilladot", kernelMatrix(vanilladot(), X))
put("tanhdot", kernelMatrix(tanhdot(scale = 0.01, offset = -1), X))
put("stringdot", kernelMatrix(stringdot(type = "spectrum", length = 3), words))
set.seed(1); put("sigest", sigest(X, frac = 1, scaled = FALSE))
both <- kcca(X[, 1:2], X[, 3:4], kernel = "rbfdot", kpar = list(sigma = 0.2), gamma = 0.1, ncomps = 2)
put("kcor", kcor(both))
L <- inchol(X, kernel = "rbfdot", kpar = list(sigma = 0.2), tol = 1e-8)
put("inchol", L@.Data)
put("functions", paste(c("kfa", "kha", "csi") %%in%% ls("package:kernlab")))
"""


@pytest.fixture(scope="module")
def X():
    return load_iris().data[::3]


@pytest.fixture(scope="module")
def kernlab(X, tmp_path_factory):
    """What kernlab computes, by name."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (apt-get install r-base-core r-cran-kernlab)")
    if subprocess.run(["Rscript", "-e", "library(kernlab)"], capture_output=True).returncode:
        pytest.skip("R has no kernlab (apt-get install r-cran-kernlab)")
    folder = tmp_path_factory.mktemp("kernlab")
    np.savetxt(folder / "X.csv", X, delimiter=",")
    script = SCRIPT % ", ".join(f'"{word}"' for word in WORDS)
    subprocess.run(["Rscript", "-e", script], cwd=folder, check=True, capture_output=True)
    return lambda name: np.loadtxt(folder / name) if name != "functions" else (folder / name).read_text().split()


def components(X, kernlab):
    """Eigenvalues of the centred matrix by n, scores √n times as long, and new rows as fitted ones."""
    ours = KernelPCA(2, kernel="rbf", gamma=0.2).fit(X)
    assert np.allclose(kernlab("eig"), ours.explained_variance_, rtol=1e-8)
    assert np.allclose(np.abs(kernlab("rotated")), np.sqrt(len(X)) * np.abs(ours.transform(X)), atol=1e-8)
    assert np.allclose(kernlab("predict"), kernlab("rotated")[:5], atol=1e-8)


def rbf(X, kernlab):
    assert np.allclose(kernlab("rbfdot"), RBF(gamma=0.2)(X, X))


def laplace(X, kernlab):
    """To the root of rounding: kernlab's distance of a row from itself is the root of a small number."""
    assert np.allclose(kernlab("laplacedot"), Matern(nu=0.5, length_scale=1 / 0.7)(X, X), atol=1e-6)


def polynomial(X, kernlab):
    assert np.allclose(kernlab("polydot"), Polynomial(degree=3, gamma=0.5, coef0=2)(X, X))


def linear(X, kernlab):
    assert np.allclose(kernlab("vanilladot"), Linear()(X, X))


def sigmoid(X, kernlab):
    assert np.allclose(kernlab("tanhdot"), Sigmoid(gamma=0.01, coef0=-1)(X, X))


def strings(X, kernlab):
    """kernlab puts a newline at the end of each string and counts it as a letter."""
    ended = [f"{word}\n" for word in WORDS]
    assert np.allclose(kernlab("stringdot"), Spectrum(3).normalized()(ended, ended))
    assert not np.allclose(kernlab("stringdot"), Spectrum(3).normalized()(WORDS, WORDS))


def width(X, kernlab):
    """The middle one of three quantiles of 1/‖x − y‖², from pairs that kernlab draws at random."""
    low, middle, high = np.sort(kernlab("sigest"))
    assert low < median_gamma(X) < high
    assert 0.5 < middle / median_gamma(X) < 2


def canonical(X, kernlab):
    """Two penalties that are not the same function of `gamma` and `reg`: only the kind of answer can be compared."""
    ours = KernelCCA(2, gamma=0.2, reg=1e-3).fit(X[:, :2], X[:, 2:])
    assert kernlab("kcor").shape[0] >= 2
    assert ours.training_correlations_.shape == (2,)


def factor_analysis(X, kernlab):
    assert kernlab("functions")[:2] == ["TRUE", "TRUE"]
    assert KernelPCA(2, kernel="rbf", gamma=0.2, eigen_solver="rpcholesky", rank=20).fit(X).eigenvalues_.shape == (2,)


def matrix(X, kernlab):
    k = RBF(gamma=0.2)
    assert np.allclose(kernlab("rbfdot"), k(X, X))


def cholesky(X, kernlab):
    """Two factors of one matrix."""
    L = kernlab("inchol")
    K = RBF(gamma=0.2)(X, X)
    assert np.allclose(L @ L.T, K, atol=1e-6)
    F = rpcholesky(Gram(RBF(gamma=0.2), X), L.shape[1], np.random.default_rng(0))
    assert np.allclose(F.F @ F.F.T, K, atol=1e-4)


def ordered_cholesky(X, kernlab):
    assert kernlab("functions")[2] == "TRUE"


ROWS = {
    "`kpca(x, kernel, kpar, features)`": components,
    "`rbfdot(sigma = s)`, exp(−s‖x − y‖²)": rbf,
    "`laplacedot(sigma = s)`, exp(−s‖x − y‖₂)": laplace,
    "`polydot(degree, scale, offset)`": polynomial,
    "`vanilladot()`": linear,
    "`tanhdot(scale, offset)`": sigmoid,
    '`stringdot(type = "spectrum", length = 3)`': strings,
    "`sigest(x)`": width,
    "`kcca(x, y)`": canonical,
    "`kfa`, `kha`": factor_analysis,
    "`kernelMatrix(k, x)`": matrix,
    "`inchol(x)`": cholesky,
    "`csi(x, y)`": ordered_cholesky,
}


def test_each_row_has_a_test():
    assert list(ROWS) == first_cells("kernlab.md")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row, X, kernlab):
    row(X, kernlab)
