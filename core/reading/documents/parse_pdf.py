"""PDF files to text, page by page."""

from __future__ import annotations

import io
import re
from datetime import datetime

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from ...evidence.text.sentences import PAGE_END
from ..records import TEXT_CHARACTERS, Extract, Unreadable
from .paragraphs import paragraphs
from .parse_text import first_line, informative_title, iso_date
from .recognition import Recogniser

SCANNED_LETTERS = 40
"""Letters that a scanned page has less of: a stamp, or the number of the page."""
TIMED_PAGES = 100
"""Pages for which the time of one file is meant; a longer file asks for more, each time as for a page of a scan."""
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


def parse_pdf(data: bytes, recogniser: Recogniser) -> Extract:
    """Title, text and last change of a PDF; a broken page ends the text, and that of scanned pages is recognised."""
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("broken", "it is not a PDF file")
    try:
        reader = PdfReader(io.BytesIO(data))
        _unlock(reader)
        pages, is_cut = _pages(reader, data, recogniser)
    except _BROKEN as error:
        raise Unreadable("broken", "it is a broken PDF file") from error
    text = PAGE_END.join(pages)
    if not text.strip():
        raise recogniser.unread() or Unreadable("no text", "there is no text in it")
    title, changed = _metadata(reader)
    is_cut = is_cut or recogniser.misses
    return Extract(title or first_line(text), text, is_cut=is_cut, changed=changed, note=recogniser.note())


def _unlock(reader: PdfReader) -> None:
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError, FileNotDecryptedError):
        is_open = False
    if not is_open:
        raise Unreadable("encrypted", "it is encrypted")


def _pages(reader: PdfReader, data: bytes, recogniser: Recogniser) -> tuple[list[str], bool]:
    # The library takes a while to load.
    from .scans import Scans

    pages, scans, length = list[str](), Scans(data), 0
    for number, page in enumerate(reader.pages, 1):
        if number % TIMED_PAGES == 0:
            recogniser.ask_for_time()
        try:
            text = paragraphs(page.extract_text())
            scan = scans.page(number) if len(re.findall(r"\w", text)) < SCANNED_LETTERS else None
            recognised = recogniser.page(number, scan) if scan else ""
            # What is recognised holds the text of the page as well, unless a picture hides it.
            pages.append(recognised if text in recognised else "\n\n".join(filter(None, [text, recognised])))
        except _BROKEN:
            if not length:
                raise
            return pages, True
        length += len(pages[-1])
        if length > TEXT_CHARACTERS:
            break
    return pages, length > TEXT_CHARACTERS


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
