"""Links into a page, to the very words that are quoted."""

from __future__ import annotations

import re
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from ...knowledge import Source
from ..text.words import UNSPACED
from .rendering import safe_link

WHOLE = 60
"""Characters up to which a quote is named as a whole; of a longer one its beginning and its end."""
_WORDS = 5
_CHARACTERS = 12
_UNSPACED = re.compile(f"[{UNSPACED}]")


def link_to(source: Source, quote: str = "", page: int = 0) -> str:
    """Where a reader opens a source, if that can be told in the address at the quote; empty if it cannot be opened.

    A document with pages opens at the `page` (from 1; 0: not known), by the parameter of RFC 8118 for PDF files.
    The quote goes into the address of a web page as a text fragment (WICG draft, "Scroll to Text Fragment"); a browser
    that does not know it, or a page that has changed, shows the page from its beginning.
    """
    link = safe_link(source.location)
    is_file = link.lower().startswith("file:")
    if is_file != (source.kind == "document"):
        return ""
    if page:
        return f"{link.partition('#')[0]}#page={page}" if link else ""
    directive = "" if is_file or not link or urlsplit(link).path.lower().endswith(".pdf") else _directive(quote)
    if not directive:
        return link
    return f"{link}{'' if '#' in link else '#'}:~:text={directive}"


def _directive(quote: str) -> str:
    # What extraction adds to the words of a page, marks of headings and bounds of cells, is not found there.
    words = max(re.split(r"\n|^#+ | \| ", quote.strip()), key=len).split()
    text = " ".join(words)
    if len(text) <= WHOLE:
        return _encoded(text)
    if _UNSPACED.search(text):
        return f"{_encoded(text[:_CHARACTERS])},{_encoded(text[-_CHARACTERS:])}"
    begin, end = words[:_WORDS], words[max(_WORDS, len(words) - _WORDS) :]
    return ",".join(_encoded(" ".join(part)) for part in (begin, end) if part)


def _encoded(text: str) -> str:
    # A hyphen and a comma separate the parts of the directive.
    return percent_encoded(text.strip(), safe="", errors="replace").replace("-", "%2D")
