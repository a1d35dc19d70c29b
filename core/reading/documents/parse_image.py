"""Recognises the text of pictures: scans, photographs and screenshots; a TIFF file may contain several pages."""

from __future__ import annotations

import io
from itertools import chain

from PIL import Image, ImageSequence, UnidentifiedImageError

from ...evidence.text.sentences import PAGE_END
from ..records import Extract, Unreadable
from .parse_text import first_line
from .recognition import Recogniser

_SMALLEST = 100
"""Minimum pixels of the shorter side for a picture to be searched for text."""
# Errors that Pillow raises on broken files.
_BROKEN = (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError)


def parse_image(data: bytes, recogniser: Recogniser) -> Extract:
    """Return the text of a picture, page by page."""
    try:
        picture = Image.open(io.BytesIO(data))
    except _BROKEN as error:
        raise Unreadable("broken", "it is a broken picture") from error
    if min(picture.size) < _SMALLEST:
        raise Unreadable("picture", "it is too small a picture for text")
    frames = ImageSequence.Iterator(picture) if picture.format == "TIFF" else iter([picture])
    pages = list[str]()
    try:
        for number, frame in enumerate(frames, 1):
            pages.append(recogniser.page(number, frame.copy))
    except _BROKEN as error:
        if not pages:
            raise Unreadable("broken", "it is a broken picture") from error
        recogniser.miss(len(pages) + 1, "the file is broken there")
    text = f"\n\n{PAGE_END}".join(pages)
    if not any(map(str.isalnum, chain.from_iterable(pages))):
        raise recogniser.unread() or Unreadable("picture", "no text was recognised in it")
    return Extract(first_line(text), text, is_cut=recogniser.misses, note=recogniser.note())
