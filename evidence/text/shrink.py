"""Shortens a finding to what it can prove, when it no longer fits a prompt."""

from __future__ import annotations

from .sentences import sentences_of


def cited_sentences(text: str) -> str:
    """The sentences that carry a marker."""
    return " ".join(_cited(text))


def first_cited_sentence(text: str) -> str:
    """The first sentence that carries a marker."""
    return next(iter(_cited(text)), "")


def _cited(text: str) -> list[str]:
    return [sentence.raw for sentence in sentences_of(text) if sentence.numbers]
