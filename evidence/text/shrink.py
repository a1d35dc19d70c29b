"""Shortens a finding to what it can prove, when it no longer fits a prompt."""

from __future__ import annotations

from .sentences import sentences_of


def cited_sentences(text: str, share: float) -> str:
    """Return the first of the sentences that carry a marker, at least one: as many as this share of the text holds."""
    room = share * len(text)
    kept: list[str] = []
    for sentence in sentences_of(text):
        if sentence.numbers and (not kept or len(sentence.raw) <= room):
            kept.append(sentence.raw)
            room -= len(sentence.raw) + 1
    return " ".join(kept)
