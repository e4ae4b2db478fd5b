"""Can I map strings?
==================

Yes, because a kernel needs no vectors. The spectrum kernel counts the substrings that two strings share, so kernel PCA
can map words, sequences or whole texts.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.kernels import Spectrum

rng = np.random.default_rng(0)
motifs = ["TATAAT", "GGCCGG", "CATCAT"]


def sequence(motif: str) -> str:
    """Forty random letters that contain the motif twice."""
    letters = rng.choice(list("ACGT"), 40)
    for place in rng.choice(np.arange(0, 34, 6), 2, replace=False):
        letters[place : place + 6] = list(motif)
    return "".join(letters)


names = np.repeat(motifs, 60)
sequences = [sequence(motif) for motif in names]
print(sequences[0])

# %%
# The kernel counts substrings of three letters. `normalized()` makes long and short strings comparable.

kpca = KernelPCA(2, kernel=Spectrum(3).normalized()).fit(sequences)
Z = kpca.transform(sequences)
centres = np.array([Z[names == motif].mean(axis=0) for motif in motifs])
nearest = np.array(motifs)[((Z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)]
print(f"{np.mean(nearest == names):.0%} of the sequences are nearest to the centre of their own motif")

figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
for motif in motifs:
    ax.plot(*Z[names == motif].T, "o", ms=4, alpha=0.7, label=motif)
ax.legend(frameon=False, title="motif")
ax.set(xlabel="component 1", ylabel="component 2", title="Sequences that share a motif")
plt.show()
