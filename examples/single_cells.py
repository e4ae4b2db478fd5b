"""How do I map an h5ad file of single cells?
==========================================

An h5ad file has the counts in `X`, facts about the cells in `obs`, and often earlier coordinates in `obsm`.
`read_table` reads the counts, as a sparse matrix if they are stored as one, with the cell types beside them. This
example first writes a small file: three types of cells, each with its own marker genes.
"""

import tempfile
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from mercer import PCA, TSNE, quality
from mercer.plots import EmbeddingDisplay
from mercer.tables import read_table

rng = np.random.default_rng(0)
types = np.repeat(["B cell", "T cell", "monocyte"], 200)
rates = rng.gamma(0.3, 1.0, 400) * np.ones((600, 1))
for k, name in enumerate(np.unique(types)):
    rates[types == name, 40 * k : 40 * (k + 1)] += 2.0  # the marker genes of this type
counts = sp.csr_matrix(rng.poisson(rates).astype(np.float32))

path = Path(tempfile.mkdtemp()) / "cells.h5ad"
with h5py.File(path, "w") as file:
    x = file.create_group("X")
    x.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": counts.shape})
    for part in ("data", "indices", "indptr"):
        x[part] = getattr(counts, part)
    for group, names in (("obs", [f"cell{i}" for i in range(600)]), ("var", [f"gene{j}" for j in range(400)])):
        frame = file.create_group(group)
        frame["_index"] = names
        columns = ["type"] if group == "obs" else []
        frame.attrs.update({"_index": "_index", "encoding-type": "dataframe", "encoding-version": "0.2.0"})
        frame.attrs["column-order"] = np.array(columns, dtype=h5py.string_dtype())
        if columns:
            frame["type"] = types.tolist()

# %%
# Now read it. Cells differ in their total count, the depth. As usual, divide by the depth and take logarithms. Fifty
# principal components then keep what the genes do together.

table = read_table(path, label="type")
depth = np.asarray(table.X.sum(axis=1)).reshape(-1, 1)
logged = np.log1p((table.X.toarray() if sp.issparse(table.X) else table.X) / depth * 1e4)
components = PCA(50).fit_transform(logged)
tsne = TSNE(perplexity=30, max_iter=500).fit(components)

labels = np.asarray(table.labels)
print(f"{len(labels)} cells, {table.X.shape[1]} genes, sparse: {sp.issparse(table.X)}")
print(f"neighbours of the same type: {quality.class_purity(tsne.embedding_, labels).value:.3f}")

figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
EmbeddingDisplay.from_coordinates(tsne.embedding_, labels, ax=ax)
ax.set_title("Six hundred cells by t-SNE")
plt.show()
