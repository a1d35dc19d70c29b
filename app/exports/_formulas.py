"""Finds the formulas of a report (`$…$`, `$$…$$`) and sets them in MathML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import lxml.html
from lxml import etree

_FORMULA = re.compile(
    # Code is skipped.
    r"^(?P<fence>`{3,}|~{3,}).*?(?:^(?P=fence)|\Z)"
    r"|(?P<ticks>`+)(?!`).{1,500}?(?<!`)(?P=ticks)(?!`)"
    r"|(?<![\\$])\$\$(?P<block>[^$]{1,1000})\$\$(?!\$)"
    # As in Pandoc, no space follows the first sign, and none precedes the last one.
    r"|(?<![\\$\w])\$(?P<inline>(?=\S)[^$\n]{1,400}(?<=[^\s\\]))\$(?![\w$])",
    re.DOTALL | re.MULTILINE,
)
_MATHS = re.compile(r"[\\^_=<>+*/≤≥≈≠∈×·±−-]")
"""A sign of a formula that is more than one letter."""
_SURE = re.compile(r"\\[A-Za-z]|[\^_]")
"""A sign that amounts of money never have."""
_AMOUNT = re.compile(r"\s*[-+−]?\d")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_NAME = re.compile(r"[A-Za-z]\w?'*|[^\W\d_]")
_TAGS = {
    "math", "mi", "mn", "mo", "mtext", "mspace", "mrow", "mfrac", "msup", "msub", "msubsup",
    "msqrt", "mroot", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle",
    "mpadded", "menclose",
}  # fmt: skip
_ATTRIBUTES = {"accent", "fence", "linethickness", "mathvariant", "stretchy", "width"}
_ACCENTS = {
    "¯": "\u0304", "‾": "\u0304", "\u0305": "\u0304", "^": "\u0302", "~": "\u0303", "→": "\u20d7",
    "˙": "\u0307", "¨": "\u0308",
}  # fmt: skip
_DEEPEST = 30
"""Formulas that are nested more deeply stay as they are written."""


class LatexFormula(NamedTuple):
    """A formula in a text."""

    start: int
    """Offset of its first dollar sign."""
    end: int
    latex: str
    is_block: bool
    """Whether it is displayed on its own line."""


def formulas_in(text: str) -> Iterator[LatexFormula]:
    """Find the formulas in Markdown; prices in dollars and code are none."""
    for match in _FORMULA.finditer(text):
        latex = match["block"] or match["inline"] or ""
        is_block = bool(match["block"])
        # A bar ends a cell.
        line_start = text.rfind("\n", 0, match.start()) + 1
        is_split = "|" in latex and text.startswith("|", line_start)
        if latex and not is_split and (is_block or _is_formula(latex)):
            yield LatexFormula(match.start(), match.end(), latex.strip(), is_block)


def _is_formula(latex: str) -> bool:
    """Whether the text between two dollar signs is a formula, not between two prices."""
    if _NAME.fullmatch(latex) or _SURE.search(latex):
        return True
    is_prose = _WORD.search(latex) or "," in latex or _AMOUNT.match(latex)
    return not is_prose and _MATHS.search(latex) is not None


def set_formula(formula: LatexFormula) -> lxml.html.HtmlElement | None:
    """Return a formula in MathML; None if it cannot be read as LaTeX."""
    # Reading the table of symbols takes half a second.
    from latex2mathml.converter import convert

    try:
        source = etree.fromstring(convert(formula.latex))
    except Exception:  # noqa: BLE001 - the library raises anything for what it cannot read
        return None
    math = _copied(source, 0)
    if math is None:
        return None
    math.set("display", "block" if formula.is_block else "inline")
    math.set("alttext", formula.latex)
    return math


def _with_accent(mover: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """Return a letter below an accent as one character with that accent."""
    letter, accent = mover
    base = "".join(letter.itertext())
    combining = _ACCENTS.get(accent.text or "")
    if not combining or len(base) != 1:
        return mover
    accented = lxml.html.html_parser.makeelement("mi")
    accented.text = base + combining
    return accented


def _copied(source: etree._Element, depth: int) -> lxml.html.HtmlElement | None:
    """Copy an element with allowed tags and attributes; None if it has an unknown command."""
    name = etree.QName(source).localname
    text = source.text or ""
    if name not in _TAGS or text.startswith("\\") or depth > _DEEPEST:
        return None
    element = lxml.html.html_parser.makeelement(name)
    element.text = text
    for attribute, value in source.attrib.items():
        if attribute in _ATTRIBUTES:
            element.set(attribute, value)
    if name == "mi" and len(text) > 1:
        # Functions such as "sin".
        element.set("mathvariant", "normal")
    for child in source:
        part = _copied(child, depth + 1)
        if part is None:
            return None
        element.append(part)
    if name == "mover" and len(element) == 2:
        return _with_accent(element)
    return element
