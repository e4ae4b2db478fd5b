"""How wide should the kernel be?
==============================

The width is the only number to choose for a Gaussian kernel, and it matters a great deal. If the kernel is too narrow,
every row resembles only itself, and all eigenvalues are alike. If it is too wide, kernel PCA becomes PCA. The median
distance between rows is a good width to start from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA, quality
from mercer.selection import median_gamma

X, y = load_digits(return_X_y=True)
X, y = X[:700], y[:700]
start = median_gamma(X)
factors = [1 / 64, 1 / 8, 1.0, 8.0, 64.0]

# %%
# The spectrum shows whether a width can be right. It should fall, but not all at once.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
purity = []
for factor in factors:
    kpca = KernelPCA(20, kernel="rbf", gamma=factor * start).fit(X)
    left.semilogy(range(1, 21), kpca.eigenvalues_ / kpca.eigenvalues_[0], ".-", label=f"{factor:g} × the median γ")
    purity.append(quality.class_purity(kpca.transform(X), y).value)
    fall = kpca.eigenvalues_[9] / kpca.eigenvalues_[0]
    print(f"{factor:8g} × median: the tenth eigenvalue is {fall:6.1%} of the first, purity {purity[-1]:.3f}")
left.set(xlabel="component", ylabel="eigenvalue, relative to the first", title="Spectra")
left.legend(frameon=False)

# %%
# The labels show which width was right. Among the neighbours in 20 components, most should be the same digit.

right.semilogx(np.array(factors), purity, "o-")
right.set(xlabel="γ / the median γ", ylabel="purity of 15 neighbours", title="Neighbours of the same digit")
best = factors[int(np.argmax(purity))]
print(f"best of these: {best:g} × the median γ")
plt.show()
