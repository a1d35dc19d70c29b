"""Resolves what tags say about the text in them: raised, lowered, struck out, ruby, formulas.

All formats go through here. Parsers of office documents rename elements to those of HTML and MathML
first; slides and sheets mark their runs of letters; see `decode.tagged_text` for strings with tags.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from ._formulas import MATHML, formula_text
from ._raised import END, FORMULA, LOWERED, NOTE, RAISED

if TYPE_CHECKING:
    from lxml import etree

Shift = Literal["", "sup", "sub"]
"""Whether text is raised or lowered, as the HTML tag for it."""

NOT_XML = re.compile(
    r"[\x00-\x08\x0b-\x0c\x0e-\x1f\ufdd0-\ufdd8\ufffe\uffff]"
    r"|&#(?:0*(?:[12]?[0-9]|3[01])(?![0-9])|[xX]0*1?[0-9a-fA-F](?![0-9a-fA-F]));?"
)
"""Matches characters that a tree cannot contain, and character references to them."""
CLOSED_TAG = re.compile(r"<([a-zA-Z][\w:-]*)((?:\s[^<>]*)?)/>")
"""Matches an empty element as in XML, which HTML parsers read as unclosed."""
_PREFIXED = frozenset((*MATHML, "sup", "sub", "annotation", "mprescripts", "none"))
"""Tags that are also meant if they have a prefix, such as `mml:msup` and `jats:sup`."""
_STRUCK = ("s", "strike", "del")
_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_SHIFT_STYLE = re.compile(r"vertical-align\s*:\s*(super|sub)\b")
_NOTE_NAMES = re.compile(
    r"(?:^|[\s-])(?:reference|noteref|foot-?note\w*|fn|end-?note\w*)(?=$|[\s-])", re.IGNORECASE
)
_NOTE_WORDS = re.compile(r"\s*[\[(]?(?:\d{1,3}|[a-z]|[*†‡§]{1,3})[\])]?\s*")


def resolve_tags(root: etree._Element) -> None:
    """Resolve the tags of an HTML tree whose meaning its text would lose.

    Struck-out text is dropped, the reading of ruby is put in brackets, formulas become plain text,
    and superscripts, subscripts and references to notes are enclosed in control characters (see
    `_raised`).
    """
    for element in root.xpath(".//*[contains(name(), ':')]"):
        name = without_prefix(element)
        if name in _PREFIXED:
            element.tag = name
    for element in _struck_elements(root):
        element.clear(keep_tail=True)
    _write_ruby(root)
    for formula in _formulas(root):
        text = formula_text(formula)
        formula.clear(keep_tail=True)
        formula.tag = "span"
        if text:
            formula.text = f"{FORMULA}{text}{END}"
    _mark_raised(root)


def drop_tex(root: etree._Element) -> None:
    """Remove the formulas in TeX that are also there in MathML."""
    for alternatives in root.xpath(".//*[contains(name(), 'alternatives')]"):
        parts = {without_prefix(part): part for part in alternatives}
        if "tex-math" in parts and "math" in parts:
            parts["tex-math"].clear(keep_tail=True)


def run_text(text: str, shift: Shift, *, is_struck: bool) -> str:
    """Return a run of letters with the control characters for its formatting.

    Empty if it is struck out.
    """
    if is_struck or not text:
        return ""
    if shift:
        return f"{RAISED if shift == 'sup' else LOWERED}{text}{END}"
    return text


def enclose(element: etree._Element, sign: str, end: str = END) -> None:
    """Put `sign` before and `end` after the content of an element."""
    element.text = f"{sign}{element.text or ''}"
    if len(element):
        element[-1].tail = f"{element[-1].tail or ''}{end}"
    else:
        element.text += end


def put_before(element: etree._Element, label: str) -> None:
    """Put a label, such as the number of a clause, before the content of an element."""
    shown = element.makeelement("span")
    shown.text = f"{label} "
    shown.tail = element.text
    element.text = None
    element.insert(0, shown)


def without_prefix(element: etree._Element) -> str:
    """Return the name of an element without its prefix, as in `mml:math`."""
    return str(element.tag).rpartition(":")[2]


def _struck_elements(root: etree._Element) -> list[etree._Element]:
    struck = list(root.iter(*_STRUCK))
    for element in root.xpath(".//*[contains(@style, 'line-through')]"):
        if _STRUCK_STYLE.search(element.get("style", "")):
            struck.append(element)
    return struck


def _write_ruby(root: etree._Element) -> None:
    """Put the readings of ruby annotations in brackets behind their words."""
    readings: defaultdict[etree._Element, str] = defaultdict(str)
    for reading in list(root.iter("rt", "rp")):
        ruby = next(reading.iterancestors("ruby"), None)
        if ruby is not None and reading.tag == "rt":
            readings[ruby] += "".join(map(str, reading.itertext())).strip()
        reading.clear(keep_tail=True)
    for ruby, words in readings.items():
        if words:
            enclose(ruby, "", f"({words})")


def _formulas(root: etree._Element) -> list[etree._Element]:
    """Return the outermost elements of formulas."""
    formulas: list[etree._Element] = []
    for element in root.iter(*MATHML):
        parent = element.getparent()
        if parent is None or parent.tag not in MATHML:
            formulas.append(element)
    return formulas


def _mark_raised(root: etree._Element) -> None:
    for element in root.iter("sup", "sub", "a"):
        if not any(map(str.strip, map(str, element.itertext()))):
            continue
        if element.tag == "sub":
            enclose(element, LOWERED)
        elif element.tag == "sup":
            enclose(element, NOTE if _is_note(element) else RAISED)
        # Style sheets usually show such a link as a superscript.
        elif _leads_within(element) and _NOTE_WORDS.fullmatch("".join(element.itertext())):
            enclose(element, NOTE)
    for element in root.xpath(".//*[contains(@style, 'vertical-align')]"):
        shift = _SHIFT_STYLE.search(element.get("style", ""))
        if shift and element.tag not in ("sup", "sub"):
            enclose(element, RAISED if shift[1] == "super" else LOWERED)


def _is_note(superscript: etree._Element) -> bool:
    """Whether the markup says that a superscript refers to a note."""
    names = f"{superscript.get('class', '')} {superscript.get('role', '')}"
    if _NOTE_NAMES.search(names):
        return True
    return any("#" in link.get("href", "") for link in superscript.iter("a"))


def _leads_within(link: etree._Element) -> bool:
    address: str = link.get("href", "")
    return address.startswith("#")
