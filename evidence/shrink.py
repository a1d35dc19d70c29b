"""Shortens a finding to what it can prove, when it no longer fits a prompt."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+(?!\[\d)|(?<=\])\s+(?=[^\s\[])|\n+")
_MARKER = re.compile(r"\[\d+(?:, ?\d+)*\]")


def cited_sentences(text: str) -> str:
    """The sentences that carry a marker."""
    return " ".join(_cited(text))


def first_cited_sentence(text: str) -> str:
    """The first sentence that carries a marker."""
    return next(iter(_cited(text)), "")


def _cited(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if _MARKER.search(part)]
