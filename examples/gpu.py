"""How do I use a GPU?
===================

Pass a torch tensor that lives on the GPU. There is no other switch: the fit runs on the device of the tensor, and its
results are tensors there. This script takes the CPU if there is no GPU, and gets the same answer.
"""

# sphinx_gallery_thumbnail_path = "pictures/circles.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from mercer import KernelPCA

try:
    import torch
except ImportError:
    raise SystemExit("torch is not installed: pip install 'mercer[gpu]'") from None

X, ring = make_circles(2000, factor=1 / 3, noise=0.05, random_state=0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rows = torch.as_tensor(X, dtype=torch.float32, device=device)

kpca = KernelPCA(2, kernel="rbf", gamma=2.7).fit(rows)
Z = kpca.transform(rows)
print(f"scores of {tuple(Z.shape)} on the device of the rows: {Z.device == rows.device}")
print(kpca.plan(rows))  # the memory that counts is that of the device

# %%
# The eigenvalues are those of a fit to the NumPy array in float64. They may differ by the bounds of the two fits.

whole = KernelPCA(2, kernel="rbf", gamma=2.7).fit(X)
values, bound = (getattr(kpca, name).cpu().numpy() for name in ("eigenvalues_", "eigenvalue_error_"))
difference = np.abs(values - whole.eigenvalues_)
allowed = bound + whole.eigenvalue_error_ + np.finfo(np.float32).eps * len(X)  # the rows were rounded to float32, too
print("the eigenvalues of the NumPy array, within the bounds:", bool((difference <= allowed).all()))

figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
ax.scatter(*Z.cpu().numpy().T, c=ring, s=4, cmap="coolwarm")
ax.set(xlabel="component 1", ylabel="component 2", title="Two rings, computed where the tensor is")
plt.show()
