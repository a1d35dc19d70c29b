"""Characters of symbol fonts, which Word and PowerPoint store by their position in the font."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PRIVATE = 0xF000
"""Start of the private-use range in which office programs store the characters of symbol fonts."""
_UNKNOWN = "\ufffd"
_SHIFTED = re.compile("[\uf020-\uf0ff]")

# The encoding of the font Symbol from 0x20 and from 0xA0 (Unicode: VENDORS/ADOBE/symbol.txt).
_LOW = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
    "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_HIGH = (
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"
    "◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)
_SYMBOL = {**dict(enumerate(_LOW, 0x20)), **dict(enumerate(_HIGH, 0xA0))}
_WINGDINGS = {
    0x28: "☎", 0x2A: "✉", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑",
    0x72: "❒", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "◻", 0xDF: "←", 0xE0: "→",
    0xE1: "↑", 0xE2: "↓", 0xE7: "←", 0xE8: "→", 0xE9: "↑", 0xEA: "↓", 0xEF: "⇦", 0xF0: "⇨",
    0xF1: "⇧", 0xF2: "⇩", 0xF3: "⬄", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol_at(position: str, font: str) -> str:
    """Return the character at a hexadecimal position of a font (`w:sym`)."""
    try:
        code = int(position, 16)
        character = chr(code)
    except (ValueError, OverflowError):
        return _UNKNOWN
    table = _FONTS.get(font.lower())
    if table is None and not _SHIFTED.match(character):
        return character
    low = code - _PRIVATE if code >= _PRIVATE else code
    return (table or {}).get(low, _UNKNOWN)


def is_symbolic(text: str) -> bool:
    """Whether a text has characters that only a symbol font shows."""
    return _SHIFTED.search(text) is not None


def with_symbols(text: str, font: str) -> str:
    """Return the text of a run in this font, with the characters that the font shows.

    Without the name of a symbol font, private characters count as those of Symbol.
    """
    table = _FONTS.get(font.lower(), {})
    if not table and not is_symbolic(text):
        return text
    return "".join(_shown(character, table) for character in text)


def _shown(character: str, table: Mapping[int, str]) -> str:
    if _SHIFTED.match(character):
        return (table or _SYMBOL).get(ord(character) - _PRIVATE, _UNKNOWN)
    return table.get(ord(character), character)
