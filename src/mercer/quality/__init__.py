"""How good a map is: scores with standard errors, exact or from a sample of rows.

trustworthiness       neighbours in the map are near in the data
continuity            neighbours in the data are near in the map
neighbor_recall       share of the nearest rows that are among the nearest points
class_purity          share of the nearest points that have the same class
triplet_accuracy      which of two rows is nearer to a third
shepard_correlation   rank correlation of distances
residual_variance     1 − R² of distances, straight or along a graph
kl_divergence         t-SNE's loss at the best scale of the map
report                all of them as a table

Two maps of the same rows can be compared with each other, without the data:

procrustes_disparity  what is left between their shapes after shift, scale and rotation
neighborhood_overlap  share of the nearest points that two maps have in common
"""

from mercer.quality.agreement import neighborhood_overlap, procrustes_disparity
from mercer.quality.divergence import kl_divergence
from mercer.quality.neighborhoods import class_purity, continuity, neighbor_recall, trustworthiness
from mercer.quality.pairs import shepard_correlation, triplet_accuracy
from mercer.quality.quality_report import QualityReport, report
from mercer.quality.residual import residual_variance
from mercer.quality.score import Score

__all__ = [
    "QualityReport",
    "Score",
    "class_purity",
    "continuity",
    "kl_divergence",
    "neighbor_recall",
    "neighborhood_overlap",
    "procrustes_disparity",
    "report",
    "residual_variance",
    "shepard_correlation",
    "triplet_accuracy",
    "trustworthiness",
]


def __dir__() -> list[str]:
    return sorted(__all__)
