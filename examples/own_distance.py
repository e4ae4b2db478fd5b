"""I have distances, not rows. What now?
=====================================

Classical scaling, MDS, Isomap and t-SNE accept a matrix of distances: set `metric="precomputed"`. Here the distances
run along great circles between cities, and the map is the globe, flattened.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MDS, ClassicalMDS, quality

places = {
    "Lisbon": (38.7, -9.1),
    "Madrid": (40.4, -3.7),
    "Paris": (48.9, 2.4),
    "London": (51.5, -0.1),
    "Dublin": (53.3, -6.3),
    "Oslo": (59.9, 10.8),
    "Stockholm": (59.3, 18.1),
    "Helsinki": (60.2, 24.9),
    "Warsaw": (52.2, 21.0),
    "Berlin": (52.5, 13.4),
    "Vienna": (48.2, 16.4),
    "Rome": (41.9, 12.5),
    "Athens": (38.0, 23.7),
    "Kyiv": (50.5, 30.5),
    "Bucharest": (44.4, 26.1),
}
latitude, longitude = np.radians(np.array(list(places.values()))).T
on_sphere = np.column_stack(
    [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
)
D = 6371 * np.arccos(np.clip(on_sphere @ on_sphere.T, -1, 1))
np.fill_diagonal(D, 0)

# %%
# Classical scaling finds the coordinates in one step. MDS then lowers the stress, the squared error of the distances.

classical = ClassicalMDS(2, metric="precomputed").fit_transform(D)
mds = MDS(2, metric="precomputed", init="classical_mds", n_init=1).fit(D)
for name, Z in (("classical scaling", classical), ("MDS", mds.embedding_)):
    kilometres = np.sqrt(((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    print(f"{name}: distances are off by {np.abs(kilometres - D).max():.0f} km at most")
print("how far the shapes differ:", quality.procrustes_disparity(classical, mds.embedding_))

# %%
# A map has no north: turn it until longitude grows to the right.

Z = mds.embedding_
turn, *_ = np.linalg.lstsq(Z - Z.mean(axis=0), np.column_stack([longitude, latitude]), rcond=None)
rotation = np.linalg.svd(turn)[0] @ np.linalg.svd(turn)[2]
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
Z = (Z - Z.mean(axis=0)) @ rotation
ax.plot(*Z.T, "o")
for name, at in zip(places, Z, strict=True):
    ax.annotate(name, at, xytext=(4, 4), textcoords="offset points")
ax.set(xlabel="km", ylabel="km", aspect="equal", title="Cities, from their distances alone")
plt.show()
