"""Will my fit fit in memory?
==========================

Ask before you fit. `plan` tells which solver would run, why, and how much memory it would take at most. If a fit would
exceed `memory_limit`, Mercer refuses it before it allocates anything.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.exceptions import MemoryLimitError

rng = np.random.default_rng(0)
sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
ways = {"streamed": {}, "a factor of rank 500": {"eigen_solver": "rpcholesky", "rank": 500}}
peaks = {name: [] for name in ways}
for n in sizes:
    X = rng.standard_normal((n, 10), dtype=np.float32)
    for name, settings in ways.items():
        plan = KernelPCA(5, kernel="rbf", gamma=0.1, memory_limit="1GB", **settings).plan(X)
        peaks[name].append(plan.peak_bytes)
    planned = ", ".join(f"{name} {peaks[name][-1] / 1e9:.2f} GB" for name in ways)
    print(f"{n:7,} rows: the matrix alone {8e-9 * n * n:7.2f} GB; {planned}")

# %%
# What happens if a fit needs more than the limit? The message says what to try.

try:
    KernelPCA(5, kernel="rbf", gamma=0.1, eigen_solver="dense", memory_limit="100MB").fit(X[:10_000])
except MemoryLimitError as error:
    print(error)

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.loglog(sizes, 8e-9 * np.array(sizes, float) ** 2, "k--", label="the n × n matrix")
for name, bytes_ in peaks.items():
    ax.loglog(sizes, np.array(bytes_) / 1e9, "o-", label=name)
ax.axhline(1, color="#B8433A", lw=1, label="the limit")
ax.set(xlabel="rows", ylabel="GB", title="Planned peak memory of kernel PCA")
ax.legend(frameon=False)
plt.show()
