"""What if the graph of neighbours falls apart?
============================================

Isomap measures along a graph. If the graph has several parts, there is no path between them. Mercer can join the
parts by their shortest connections, map the largest part alone, or refuse.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import Isomap, diagnose_neighbors
from mercer.exceptions import DisconnectedGraphWarning

rng = np.random.default_rng(0)
angle = np.linspace(0, 1.5 * np.pi, 300)
arc = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.002 * rng.standard_normal((300, 2))
strays = np.array([[3.0, 3.0], [3.1, 3.0], [3.0, 3.1]])
X = np.vstack([arc, strays])

# %%
# With two neighbours the strays have only each other. With three, each has one edge back to the arc.

print(diagnose_neighbors(X, [2, 3, 4]))

# %%
# There are two ways to continue. `"join"` connects the strays to the arc by one edge. `"largest"` fits the arc alone
# and then places the strays.

figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
panels[0].scatter(*X.T, c=np.append(angle, [0, 0, 0]), s=8)
panels[0].set(title="an arc and three strays", aspect="equal")
for way, ax in zip(("join", "largest"), panels[1:], strict=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DisconnectedGraphWarning)
        isomap = Isomap(n_neighbors=2, disconnected=way).fit(X)
    Z = isomap.embedding_
    along = abs(np.corrcoef(Z[:300, 0], angle)[0, 1])
    parts = isomap.n_connected_components_
    print(f"{way}: {parts} parts, correlation with the angle {along:.3f}, told by {len(caught)} warning")
    ax.scatter(*Z.T, c=np.append(angle, [0, 0, 0]), s=8)
    ax.set(title=f'disconnected="{way}"')
plt.show()
