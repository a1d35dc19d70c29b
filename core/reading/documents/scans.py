"""The pictures of scanned PDF pages."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pypdfium2
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from .recognition import SIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

SCANNED_SHARE = 0.25
"""Share of a page that its images cover at least if it is a scan."""


class Scans:
    """Finds the scanned pages of a PDF, and draws them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def _document(self) -> pypdfium2.PdfDocument:
        return pypdfium2.PdfDocument(self._data)

    def page(self, number: int) -> Callable[[], Image] | None:
        """Return what draws the page of this number, from 1, as a reader sees it; none if it is no scan."""
        try:
            page = self._document[number - 1]
            images = [one.get_bounds() for one in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE])]
        except pypdfium2.PdfiumError:
            return None
        width, height = page.get_size()
        covered = sum((right - left) * (top - bottom) for left, bottom, right, top in images)
        if not images or covered < SCANNED_SHARE * width * height:
            return None
        return lambda: page.render(scale=SIDE / max(width, height)).to_pil()
