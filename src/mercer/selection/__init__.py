"""Choosing a kernel, its width and the number of components.

median_distance, median_gamma    the typical distance between rows, and the width that goes with it
alignment, hsic                  how well a kernel agrees with a target; whether two things depend on each other
select_kernel                    the best of some kernels by a criterion, as a table, a picture and a kernel to use
diagnose_neighbors               how many neighbours for Isomap: components, shortcuts, residual variance
landmark_rows                    rows that stand for all, for the landmarks of TSNE, SNE and Isomap
parallel_analysis                how many components are more than independent variables would give
ContributionsDisplay             how much each variable moves each component, as a picture
"""

from mercer.linalg.landmark_rows import landmark_rows
from mercer.plots import ContributionsDisplay, NeighborsDisplay, RankingDisplay, ShortcutsDisplay
from mercer.selection.alignment import alignment
from mercer.selection.candidates import default_candidates
from mercer.selection.hsic import HSIC, hsic
from mercer.selection.kernel_ridge import LeaveOneOut, leave_one_out
from mercer.selection.neighbors_diagnosis import diagnose_neighbors
from mercer.selection.neighbors_result import NeighborsDiagnosis
from mercer.selection.ranking import KernelSelection, ScoredKernel
from mercer.selection.reconstruction import Reconstruction, reconstruction_error
from mercer.selection.select import CRITERIA, select_kernel
from mercer.selection.typical_distance import DistanceSummary, distance_summary, median_distance, median_gamma
from mercer.spectral.parallel_analysis import ParallelAnalysis, parallel_analysis

__all__ = [
    "CRITERIA",
    "HSIC",
    "ContributionsDisplay",
    "DistanceSummary",
    "KernelSelection",
    "LeaveOneOut",
    "NeighborsDiagnosis",
    "NeighborsDisplay",
    "ParallelAnalysis",
    "RankingDisplay",
    "Reconstruction",
    "ScoredKernel",
    "ShortcutsDisplay",
    "alignment",
    "default_candidates",
    "diagnose_neighbors",
    "distance_summary",
    "hsic",
    "landmark_rows",
    "leave_one_out",
    "median_distance",
    "median_gamma",
    "parallel_analysis",
    "reconstruction_error",
    "select_kernel",
]


def __dir__() -> list[str]:
    return sorted(__all__)
