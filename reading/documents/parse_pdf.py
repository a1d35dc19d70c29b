"""PDF files to text, page by page."""

from __future__ import annotations

import io
import re
from datetime import datetime
from itertools import pairwise

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from ...evidence.text.sentences import PAGE_END
from ..records import TEXT_CHARACTERS, Extract, Unreadable
from .parse_text import first_line, informative_title, iso_date

SHORT_LINE = 0.6
"""Share of the width of a page up to which a line surely ends its paragraph."""
ROOM = 0.85
"""The same for a line and the word that follows, which begins no sentence in small letters."""

_MARKER = re.compile(r"(?:\d{1,2}[.)]|\d{1,2}\.\d{1,2}\.?|\([a-z\d]{1,2}\)|[•▪‣◦·\x7f\ue000-\uf8ff])\s+[^\W\d_]")
"""What stands before an item, a section or its title."""
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile(f"[{''.join(_LIGATURES)}]")
# What pypdf raises on broken files besides its own errors.
_BROKEN = (
    PyPdfError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)


def parse_pdf(data: bytes) -> Extract:
    """Title, text and last change of a PDF; a broken page ends the text."""
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("broken", "it is not a PDF file")
    try:
        reader = PdfReader(io.BytesIO(data))
        _unlock(reader)
        pages, is_cut = _pages(reader)
    except _BROKEN as error:
        raise Unreadable("broken", "it is a broken PDF file") from error
    text = PAGE_END.join(pages)
    if not text.strip():
        raise Unreadable("no text", "there is no text in it; it may be a scan")
    title, changed = _metadata(reader)
    return Extract(title or first_line(text), text, is_cut=is_cut, changed=changed)


def _unlock(reader: PdfReader) -> None:
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError, FileNotDecryptedError):
        is_open = False
    if not is_open:
        raise Unreadable("encrypted", "it is encrypted")


def _pages(reader: PdfReader) -> tuple[list[str], bool]:
    pages: list[str] = []
    length = 0
    for page in reader.pages:
        try:
            pages.append(_paragraphs(page.extract_text()))
        except _BROKEN:
            if not length:
                raise
            return pages, True
        length += len(pages[-1])
        if length > TEXT_CHARACTERS:
            break
    return pages, length > TEXT_CHARACTERS


def _paragraphs(page: str) -> str:
    lines = [line.strip() for line in _LIGATURE.sub(lambda found: _LIGATURES[found.group()], page).splitlines()]
    width = max(map(len, lines), default=0)
    text = ""
    for line, following in pairwise([*lines, ""]):
        text += line + ("\n\n" if _ends_paragraph(line, following, width) else "\n")
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()


def _ends_paragraph(line: str, following: str, width: int) -> bool:
    """Whether a line is the last of its paragraph: the word that follows would still have had room, or is a marker."""
    if not line or not following or len(line) < SHORT_LINE * width:
        return True
    if _MARKER.match(following):
        return True
    has_room = len(line) + len(following.split()[0]) < ROOM * width
    return has_room and not following[0].islower()


def _metadata(reader: PdfReader) -> tuple[str, str]:
    try:
        metadata = reader.metadata
        title = str(metadata.title or "") if metadata else ""
        changed = _day(metadata.modification_date) if metadata else ""
    except _BROKEN:
        return "", ""
    return informative_title(title), changed


def _day(stated: datetime | None) -> str:
    # Programs that want equal files from equal input write the first second of a year.
    if stated is None or (stated.month, stated.day, stated.hour, stated.second) == (1, 1, 0, 0):
        return ""
    return iso_date(stated.date().isoformat())
