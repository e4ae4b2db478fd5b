"""My rows are a dask array. Do I have to load them?
=================================================

No. Pass the array. Mercer asks dask for one chunk after the other and adds up what it needs. The scores are a dask
array again. On a cluster the workers compute the chunks.
"""

import matplotlib.pyplot as plt

from mercer import PCA, KernelPCA

try:
    import dask.array as da
except ImportError:
    raise SystemExit("dask is not installed: pip install 'mercer[dask]'") from None

rows = da.random.default_rng(0).standard_normal((40_000, 6), chunks=(10_000, 6))
rows = da.concatenate([rows, rows[:, :2] ** 2], axis=1)  # two columns that depend on two others
kpca = KernelPCA(3, kernel="rbf", gamma=0.05, rank=150).fit(rows)
scores = kpca.transform(rows)
print(type(scores).__module__.split(".")[0], scores.shape, scores.chunks[0])
print(f"landmarks: {len(kpca.expansion_.anchors)}, rows in memory at once: {max(rows.chunks[0])}")

# %%
# The numbers of PCA are the same as from an array in memory, to rounding.

pca, whole = PCA(3).fit(rows), PCA(3).fit(rows.compute())
print("the same variances:", bool(abs(pca.explained_variance_ / whole.explained_variance_ - 1).max() < 1e-10))

some = scores[:3_000].compute()
figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
ax.plot(some[:, 0], some[:, 1], ".", ms=2)
ax.set(xlabel="component 1", ylabel="component 2", title="The first 3,000 of 40,000 rows")
plt.show()
