"""Maps to look at: one HTML file with points, their columns and images, that opens from disk without a network."""

from mercer.web.page import AsFitted, Map, Page, page_bytes, write_page

__all__ = ["AsFitted", "Map", "Page", "page_bytes", "write_page"]


def __dir__() -> list[str]:
    return sorted(__all__)
