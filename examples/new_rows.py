"""How do I add new rows to a t-SNE map?
=====================================

`transform` places each new row in the finished map, by its neighbours among the fitted rows. The map does not move, and
new rows do not affect one another.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import TSNE
from mercer.plots import EmbeddingDisplay

X, y = load_digits(return_X_y=True)
old, new, y_old, y_new = X[:1200], X[1200:], y[:1200], y[1200:]
tsne = TSNE(max_iter=500).fit(old)
placed = tsne.transform(new)

# %%
# Are they placed among their own kind?

nearest = ((placed[:, None] - tsne.embedding_[None]) ** 2).sum(axis=2).argmin(axis=1)
print(f"{np.mean(y_old[nearest] == y_new):.1%} of the new digits lie next to the same digit")
alone = tsne.transform(new[:5])
print("the same place alone or together:", bool(np.allclose(alone, placed[:5], atol=1e-3)))

figure, ax = plt.subplots(figsize=(5.4, 4.8), layout="constrained")
EmbeddingDisplay.from_coordinates(tsne.embedding_, y_old, ax=ax, size=4)
ax.plot(*placed.T, "k+", ms=4, alpha=0.5)
ax.set_title("1,200 digits, and 597 new ones (+)")
plt.show()
