"""Texts and words that nobody can read at a glance: encoded, backwards, by a shifted alphabet."""

from __future__ import annotations

import base64
import codecs
import contextlib
import re
from collections.abc import Callable, Iterator
from string import ascii_lowercase

LEAST_ENCODED = 8
"""Characters of an encoded text that can be told from a word."""
_SIGNS = re.compile(rf"[A-Za-z0-9+/_\-]{{{LEAST_ENCODED},}}=*")


def encoded(text: str) -> list[tuple[int, int]]:
    """Where a text holds another one in base 64, base 32 or hexadecimal digits, or a part of one from any place on."""
    return [found.span() for found in _SIGNS.finditer(text) if any(map(_is_readable, _decoded(found[0].rstrip("="))))]


def _decoded(text: str) -> Iterator[bytes]:
    # A word is written in one case, or begins with a capital.
    is_mixed = not (text.islower() or text.isupper() or text.istitle())
    plain = text.replace("-", "+").replace("_", "/")
    codes: list[tuple[Callable[[str], bytes], int]] = [(bytes.fromhex, 2), (base64.b32decode, 8)]
    for decode, group in [*codes, (base64.b64decode, 4)] if is_mixed else codes:
        for start in range(group):
            part = plain[start : len(plain) - (len(plain) - start) % group]
            with contextlib.suppress(ValueError):
                if len(part) >= LEAST_ENCODED:
                    yield decode(part)


def _is_readable(data: bytes) -> bool:
    # What is cut out of a longer text may begin and end within a character.
    whole = data.lstrip(bytes(range(0x80, 0xC0)))
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(whole)
    except UnicodeDecodeError:
        return False
    return 2 * len(text.encode()) > len(data) and text.isprintable()


def _rotated(by: int) -> Callable[[str], str]:
    table = str.maketrans(ascii_lowercase, ascii_lowercase[by:] + ascii_lowercase[:by])
    return lambda word: word.translate(table)


_MIRRORED = str.maketrans(ascii_lowercase, ascii_lowercase[::-1])
DISGUISES: tuple[Callable[[str], str], ...] = (
    lambda word: word[::-1],
    lambda word: word.translate(_MIRRORED),
    *map(_rotated, range(1, 26)),
)
"""Ways to disguise a word that are their own undoing, or of which another one is."""
