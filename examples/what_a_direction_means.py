"""What does this direction mean?
==============================

A component of kernel PCA has no loadings. Walk along it instead: change one score, map the scores back to a row, and
look at the row. For images the answer is a strip of pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA

X, y = load_digits(return_X_y=True)
zeros = X[y == 0] / 16
kpca = KernelPCA(12, kernel="rbf", gamma="median", fit_inverse_transform=True, alpha="loo").fit(zeros)
scores = kpca.transform(zeros)

# %%
# Each row of the picture is one component, from two standard deviations below the mean to two above it.

steps = np.linspace(-2, 2, 7)
figure, panels = plt.subplots(3, 7, figsize=(8, 3.8), layout="constrained")
for component, row in enumerate(panels):
    walk = np.zeros((7, scores.shape[1]))
    walk[:, component] = steps * scores[:, component].std()
    for step, ax, image in zip(steps, row, kpca.inverse_transform(walk), strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], title=f"{step:+.1f} σ" if component == 0 else "")
    row[0].set_ylabel(f"component {component + 1}")

# %%
# The same question in numbers: which pixels move a component most?

shares = kpca.feature_contributions(shares=True)
for component in range(3):
    most = int(shares[component].argmax())
    print(f"component {component + 1}: the pixel in row {most // 8}, column {most % 8} moves it most")
plt.show()
