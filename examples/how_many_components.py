"""How many components should I keep?
==================================

There are three common answers. Many people keep a fixed share of the variance. Parallel analysis keeps the components
that exceed those of shuffled columns. Cross-validation keeps the number that best restores rows that the fit has not
seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import PCA
from mercer.kernels import Linear
from mercer.selection import parallel_analysis, reconstruction_error

X = scale(load_wine().data)
pca = PCA().fit(X)

by_share = int(np.searchsorted(np.cumsum(pca.explained_variance_ratio_), 0.9)) + 1
null = parallel_analysis(Linear(), X, random_state=0)
held_out = reconstruction_error("linear", X, n_components=range(1, 13), random_state=0)
print(f"90 % of the variance: {by_share} components")
print(f"above those of shuffled columns: {null.n_components} components")
print(f"within one standard error of the best reconstruction: {held_out.n_components[held_out.best]} components")

# %%
# If the three disagree, ask what the components are for. To compress, reconstruct. To interpret, keep what chance does
# not explain.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.bar(range(1, 14), pca.explained_variance_ratio_, color="#9DB7D5")
for count, name in ((by_share, "90 % of variance"), (null.n_components, "parallel analysis")):
    ax.axvline(count + 0.5, ls="--", color="#333333")
    ax.annotate(name, (count + 0.6, ax.get_ylim()[1] * 0.9 - 0.02 * count))
ax.set(xlabel="component", ylabel="share of the variance", title="Thirteen measurements of 178 wines")
plt.show()
