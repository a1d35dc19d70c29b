"""Converts superscripts and subscripts to plain text.

Exponents become `^n`, footnote marks are dropped, others stay.

Parsers enclose a superscript in the control characters `RAISED` and `END`, a subscript in `LOWERED`
and `END`, and a formula, which is plain text already, in `FORMULA` and `END`. These are replaced
once the whole text is known, because only its footnotes show which numbers are footnote marks.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

RAISED, LOWERED, NOTE, END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
FORMULA = "\ufdd6"
"""Control characters (Unicode noncharacters). `NOTE` replaces `RAISED` if the markup says that a
superscript refers to a note."""

_NEAR = 60
"""Number of characters before and after a superscript that show what it means."""

_SIGNS = re.compile(f"([{RAISED}{LOWERED}{NOTE}{FORMULA}{END}])")
_LABEL = re.compile(
    rf"(?:^|(?<=\s))[{RAISED}{NOTE}]\s*([^{RAISED}{LOWERED}{NOTE}{FORMULA}{END}]{{1,5}}?)\s*{END}",
    re.MULTILINE,
)
# A footnote mark, such as `3`, `a`, `*`, `[note 2]` or `1,2`.
_SINGLE_MARK = r"(?:(?:note|nb|fn|anm\.?)\s*)?(?:[1-9]\d{0,2}|[a-zA-Z]|[*†‡§¶#]{1,3})"
_MARK = re.compile(
    rf"[\[(]?{_SINGLE_MARK}(?:\s*(?:[,;–-]|\]\s*\[)\s*{_SINGLE_MARK})*[\])]?", re.IGNORECASE
)
_SIGNED = re.compile(r"[-−–+]\s?\d+(?:[.,]\d+)?|[-−–]\w|\d?[+−–-]")
"""A signed exponent, or an ion's charge."""
_POWER = re.compile(r"\d{1,3}(?:[.,]\d+)?|[a-z](?:\s?[+−-]\s?\d)?")
_TEN_OR_UNIT = re.compile(
    r"(?<![\d.,])10$|(?:[\d/·*]|\bper)\s?(?:[kcdmnµμ]?m|ft|in|yd|mi|sec|min|[kmµμ]?[gs]|h|K)$"
)
_TERM = re.compile(
    r"(?<![^\W_])(?:[^\W\d_]|[A-Z]{2,3}|[kcdmnµμ]m)$|\w\s?[+*/^·×−-]\s?\w+\)$|[=×·^√]\s?[\d.,]+$|\d\.10$"
)
"""A variable, a unit without a number, a sum in brackets, or a number in a formula."""
_OPERATOR = re.compile(r"\s?[=×·^]")
_MONEY = re.compile(r"[$€£¥]\s?\d[\d.,]*$")
_ORDINAL = re.compile(r"[a-zà-ÿ]{2,4}|º")
_ROMAN = re.compile(r"(?<![^\W_])[IVXLCDM]+$")


def resolve_raised(text: str, notes: Collection[str], *, keeps_marks: bool = False) -> str:
    """Return the text without control characters; `notes` are the marks of its footnotes.

    With `keeps_marks`, footnote marks are kept, as HTML.
    """
    if END not in text:
        return text
    resolved = list[str]()
    before = ""
    for piece, following in pairwise([*_pieces(text), _Piece("", "")]):
        words = piece.words
        if piece.sign:
            behind = ""
            if not following.sign:
                behind = following.words[:_NEAR]
            raised = " ".join(words.split())
            words = _resolved(piece.sign, raised, before, behind, notes)
            if keeps_marks and _is_mark(piece.sign, raised, words, before):
                words = f"<sup>{raised}</sup>"
                if not before.strip(" ") or before.endswith("\n"):
                    words += " "
        resolved.append(words)
        before = (before + words)[-_NEAR:]
    return "".join(resolved)


def _is_mark(sign: str, raised: str, resolved: str, before: str) -> bool:
    """Whether a superscript, which became the text `resolved`, is a footnote mark or label."""
    if sign not in (RAISED, NOTE) or not _MARK.fullmatch(raised):
        return False
    return not resolved or not before[-1:].strip()


def footnote_marks(text: str) -> frozenset[str]:
    """Return the marks with which footnotes begin.

    They are superscripts at the start of a line or after a space.
    """
    if END not in text:
        return frozenset()
    return frozenset(_LABEL.findall(text))


class _Piece(NamedTuple):
    """A part of a text."""

    sign: str
    """The control character before it; empty for text on the line."""
    words: str


def _pieces(text: str) -> list[_Piece]:
    """Split a text at its superscripts, subscripts and formulas.

    A superscript inside another counts as part of it, and adjacent ones of the same kind are
    merged, except formulas.
    """
    pieces = list[_Piece]()
    sign = ""
    depth = 0
    for part in filter(None, _SIGNS.split(text)):
        if part == END:
            depth = max(depth - 1, 0)
        elif _SIGNS.match(part):
            if not depth:
                sign = part
            depth += 1
        else:
            if not depth:
                sign = ""
            if pieces and pieces[-1].sign == sign and sign != FORMULA:
                part = pieces.pop().words + part
            pieces.append(_Piece(sign, part))
    return pieces


def _resolved(sign: str, words: str, before: str, behind: str, notes: Collection[str]) -> str:
    """Return the plain text of a superscript, subscript or formula, given the texts next to it."""
    if not words:
        return ""
    if sign == LOWERED:
        plain = words
        if before[-1:].isdigit() and words[0].isdigit():
            plain = f"_{words}"
    elif sign == FORMULA:
        plain = words
        if before[-1:].isdigit() and words[0].isdigit():
            plain = f" {words}"
    else:
        plain = _raised(sign, words, before, behind, notes)
    # Two numbers must not become one.
    if (plain or before)[-1:].isdigit() and behind[:1].isdigit():
        return f"{plain} "
    return plain


def _raised(sign: str, words: str, before: str, behind: str, notes: Collection[str]) -> str:
    """Return the plain text of a superscript; empty for a footnote mark."""
    is_mark = _MARK.fullmatch(words) is not None
    is_number = words.isdigit()
    if not before[-1:].strip():
        # A footnote's label or an isotope's mass number.
        return f"{words} " if behind[:1].isalpha() else words
    if sign == NOTE and is_mark:
        return ""
    if behind[:1] in ("/", "⁄") and is_number and not before[-1].isalpha():
        # The numerator of a fraction.
        return f" {words}"
    if _ORDINAL.fullmatch(words) or (words == "e" and _ROMAN.search(before)):
        return words
    if _is_exponent(words, before, behind, is_note=words in notes):
        return f"^{words.replace('−', '-').replace('–', '-')}"
    if len(words) == 2 and is_number and words not in notes and _MONEY.search(before):
        # Cents.
        return words if before.endswith((".", ",")) else f".{words}"
    if is_mark:
        return ""
    return f"^{words}" if is_number else f" {words}"


def _is_exponent(words: str, before: str, behind: str, is_note: bool) -> bool:
    """Whether a superscript is a power or a charge.

    `is_note`: a footnote of the document has the same mark.
    """
    if _SIGNED.fullmatch(words):
        return True
    if not _POWER.fullmatch(words):
        return False
    is_digit = words[0].isdigit()
    if _TEN_OR_UNIT.search(before):
        return is_digit or before.endswith("10")
    if is_note:
        return False
    if _TERM.search(before):
        return True
    return before[-1].isdigit() and is_digit and _OPERATOR.match(behind) is not None
