"""Maps to look at: one HTML file with points, their columns and images, that opens from disk without a network."""

from mercer.web.page import AsFitted, Map, NearRows, Page, page_bytes, write_page
from mercer.web.row_quality import with_neighbors

__all__ = ["AsFitted", "Map", "NearRows", "Page", "page_bytes", "with_neighbors", "write_page"]


def __dir__() -> list[str]:
    return sorted(__all__)
