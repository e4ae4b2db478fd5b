"""Can I use a sparse matrix?
==========================

Yes. You can pass a CSR matrix of word counts, one-hot columns or gene counts, and it stays sparse. Here the documents
are drawn from three topics, and each uses only a few of the many words.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from mercer import PCA, KernelPCA

rng = np.random.default_rng(0)
topic = np.repeat([0, 1, 2], 250)
rates = np.full((3, 3_000), 0.003)
for k in range(3):
    rates[k, 60 * k : 60 * (k + 1)] = 0.25
counts = sp.csr_matrix(rng.poisson(rates[topic]).astype(np.float64))
print(
    f"{counts.shape[0]} documents, {counts.shape[1]} words, "
    f"{counts.nnz / np.prod(counts.shape):.1%} of the entries stored"
)

# %%
# The cosine kernel compares the mix of words and ignores the length of a document.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
models = {"PCA": PCA(2), "kernel PCA, cosine": KernelPCA(2, kernel="cosine")}
for (name, model), ax in zip(models.items(), panels, strict=True):
    Z = np.asarray(model.fit_transform(counts))
    centres = np.array([Z[topic == k].mean(axis=0) for k in range(3)])
    right = np.mean(((Z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1) == topic)
    print(f"{name}: {right:.0%} of the documents are nearest to the centre of their own topic")
    ax.scatter(*Z.T, c=topic, s=8, cmap="viridis")
    ax.set(title=name, xlabel="component 1", ylabel="component 2")
plt.show()
