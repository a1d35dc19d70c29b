"""On which page of a document a passage stands."""

from __future__ import annotations

PAGE_END = "\f"
"""Stands before each page of a document but the first; texts without pages hold none."""


def page_of(text: str, start: int) -> int:
    """Number of the page on which a passage begins, from 1; 0 where a text has no pages."""
    return text.count(PAGE_END, 0, start) + 1 if PAGE_END in text else 0
