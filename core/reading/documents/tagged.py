"""Resolves what tags say about the text in them: raised, lowered, struck out, ruby, formulas.

All formats go through here. Parsers of office documents rename elements to those of HTML and MathML
first; slides and sheets mark their runs of letters; search engines hand over strings with tags.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from ._formulas import MATHML, formula_text
from ._raised import END, FORMULA, LOWERED, NOTE, RAISED, footnote_marks, resolve_raised

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
_STRING_CHARACTERS = 50_000
"""Longer strings with tags are cut."""
_TAG_NAME = r"(?:[A-Za-z][\w.-]*:)?[A-Za-z][\w.-]*"
_TAG = re.compile(
    rf"</?{_TAG_NAME}(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=]+))*\s*/?>"
)
_ESCAPED_TAG = re.compile(
    r"&lt;/?(?:(?:jats|mml):\w+|sup|sub|i|b|em|strong|p|br|scp|span)\s*/?&gt;", re.IGNORECASE
)
"""Matches the tags that publishers escape by mistake."""
_INLINE = frozenset(
    (
        "a", "b", "bold", "em", "font", "i", "italic", "mark", "monospace", "named-content",
        "roman", "ruby", "s", "sans-serif", "sc", "scp", "small", "span", "strong", "sub", "sup",
        "tt", "u", "underline", "del", "strike", "ins", "abbr", "code", "cite", "q", "rb", "rt",
        "rp", "inline-formula", "tex-math", "xref",
    )
)  # fmt: skip
"""Tags that do not separate words."""


def resolve_tags(root: etree._Element) -> None:
    """Resolve the tags of an HTML tree whose meaning its text would lose.

    Struck-out text is dropped, the reading of ruby is put in brackets, formulas become plain text,
    and superscripts, subscripts and references to notes are enclosed in control characters (see
    `_raised`).
    """
    for element in root.xpath(".//*[contains(name(), ':')]"):
        name = _without_prefix(element)
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


def tagged_text(text: str) -> str:
    """Return a string with tags and entities, such as a title or abstract, as plain text in one
    line."""
    if "<" not in text and "&" not in text:
        return " ".join(text.split())
    from lxml import html as lxml_html

    source = NOT_XML.sub(" ", text[:_STRING_CHARACTERS])
    if _ESCAPED_TAG.search(source):
        source = html.unescape(source)
    source = CLOSED_TAG.sub(r"<\1\2></\1>", _without_stray_signs(source))
    root = lxml_html.fragment_fromstring(source, create_parent="div")
    for alternatives in root.xpath(".//*[contains(name(), 'alternatives')]"):
        _drop_tex(alternatives)
    resolve_tags(root)
    for element in root.iter():
        if _without_prefix(element) not in _INLINE:
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
    written = "".join(map(str, root.itertext()))
    return " ".join(resolve_raised(written, footnote_marks(written)).split())


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


def _without_stray_signs(source: str) -> str:
    """Escape the signs that begin no tag, as in "p < 0.05"."""
    escaped = list[str]()
    position = 0
    for tag in _TAG.finditer(source):
        escaped += [source[position : tag.start()].replace("<", "&lt;"), tag[0]]
        position = tag.end()
    return "".join([*escaped, source[position:].replace("<", "&lt;")])


def _drop_tex(alternatives: etree._Element) -> None:
    """Remove a formula in TeX that is also there in MathML."""
    parts = {_without_prefix(part): part for part in alternatives}
    if "tex-math" in parts and "math" in parts:
        parts["tex-math"].clear(keep_tail=True)


def _without_prefix(element: etree._Element) -> str:
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
