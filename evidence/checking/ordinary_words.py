"""Words that stand in texts of all kinds and so tell little."""

from __future__ import annotations

from ..text.tables import word_tables
from .spelling import key_of

_WORDS = word_tables(__package__)

_COMMON = _WORDS["common"]
COMMON = frozenset(key_of(word) for word in _COMMON.split())
"""Stems of words that stand in texts of all kinds and so tell little."""
