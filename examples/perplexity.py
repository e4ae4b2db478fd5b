"""What perplexity should I use?
=============================

The perplexity sets how many neighbours count. A small value shows fine structure and tears clusters into islands. A
large value keeps the arrangement of the clusters. For every value, distances between clusters mean little.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from mercer import TSNE, quality
from mercer.plots import EmbeddingDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:900], y[:900]

figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for perplexity, ax in zip((3, 30, 250), panels, strict=True):
    Z = TSNE(perplexity=perplexity, max_iter=500).fit_transform(X)
    near = quality.neighbor_recall(X, Z).value
    far = quality.shepard_correlation(X, Z).value
    print(f"perplexity {perplexity:3}: {near:.0%} of the neighbours kept, correlation of distances {far:.2f}")
    EmbeddingDisplay.from_coordinates(Z, y, ax=ax, size=5)
    ax.set(title=f"perplexity {perplexity}", xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()
