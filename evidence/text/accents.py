"""Letters without their accents."""

from __future__ import annotations

import unicodedata


def without_accents(text: str) -> str:
    """The text with all letters as if they bore no marks, and variants of a letter as the usual one."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
