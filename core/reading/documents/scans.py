"""The pictures of scanned PDF pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pypdfium2
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from .recognition import SIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

SCANNED_SHARE = 0.25
"""Share of a page that its images cover at least if it is a scan."""


def scan_of(page: pypdfium2.PdfPage, is_drawn: bool = False) -> Callable[[], Image] | None:
    """Return what draws a page as a reader sees it; none if it is no scan and not `is_drawn` by unknown letters."""
    width, height = page.get_size()
    images = [image.get_bounds() for image in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE])]
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in images)
    if not is_drawn and (not images or covered < SCANNED_SHARE * width * height):
        return None
    return lambda: page.render(scale=SIDE / max(width, height)).to_pil()
