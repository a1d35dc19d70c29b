"""Writes formulas (MathML, and those of Word) as plain text that keeps their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lxml import etree

MATHML = (
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mstyle", "merror", "mpadded",
    "mphantom", "menclose", "maction", "semantics", "mfrac", "msqrt", "mroot", "mfenced", "msup",
    "msub", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mtable", "mtr", "mtd",
)  # fmt: skip
_DEEPEST = 40
"""Formulas nested more deeply are written as the bare text of their parts."""
_UNSEEN = ("mphantom", "annotation", "annotation-xml", "mprescripts", "none")
_TOKENS = ("mi", "mn", "mo", "ms", "mtext")
_LOWER = ("msub", "msubsup", "munder", "munderover")
_UPPER = ("msup", "msubsup", "mover", "munderover")
_INVISIBLE = str.maketrans({"\u2061": "", "\u2062": "", "\u2063": "", "\u2064": " "})
"""Invisible operators; an invisible plus is between a whole number and a fraction."""
_ACCENTS = {
    "¯": "\u0304", "‾": "\u0304", "\u0305": "\u0304", "^": "\u0302", "ˆ": "\u0302", "~": "\u0303",
    "˜": "\u0303", "→": "\u20d7", "⃗": "\u20d7", "˙": "\u0307", ".": "\u0307", "¨": "\u0308",
    **{accent: accent for accent in "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030c\u20d7"},
}  # fmt: skip
_BRACES = "⏞⏟⏜⏝⎴⎵_\u0332\u0333"
"""Braces and lines above or below a part; they do not change its value."""
_MARKS = {"∘": "°", "°": "°", "'": "′", **{mark: mark for mark in "′″‴*†‡"}}
"""Superscripts that are no exponents."""
_MINUS = str.maketrans("−–", "--")
_SIMPLE = re.compile(r"[\d.,%]*|[^\W\d_]+|[^\W\d_]\d+|\([^()]*\)|[^\w\s]")
_SIGNED = re.compile(r"[-+±]?(?:[\d.,%]+|[^\W\d_])")
_INDEX = re.compile(r"\d+")


class _Part(NamedTuple):
    """A part of a formula as plain text."""

    text: str
    is_composite: bool = False
    """Whether it is a fraction, a root or has a script, so that what follows it must be set
    apart."""


def formula_text(formula: etree._Element) -> str:
    """Return a formula in MathML as plain text.

    Fractions are `a/b`, powers `a^b`, roots `√a`; parts are bracketed where needed.
    """
    return " ".join(_written(formula, 0).text.split())


def _written(element: etree._Element, depth: int) -> _Part:
    name = _name(element)
    if depth > _DEEPEST:
        return _Part("".join(map(str, element.itertext())))
    if name in _TOKENS:
        words = " ".join("".join(map(str, element.itertext())).translate(_INVISIBLE).split(" "))
        return _Part(words if name == "mtext" else words.strip())
    if name in _UNSEEN:
        return _Part("")
    if name == "mspace":
        return _Part(" ")
    parts = [_written(child, depth + 1) for child in element if isinstance(child.tag, str)]
    if name in ("semantics", "maction"):
        return parts[0] if parts else _Part("")
    if name == "mfenced":
        return _fenced(element, parts)
    if name == "mtable":
        return _Part("; ".join(part.text for part in parts))
    if name in ("mtr", "mlabeledtr"):
        return _Part(", ".join(part.text for part in parts))
    if name == "msqrt":
        return _Part(f"√{_grouped(_joined(parts).text)}", is_composite=True)
    if name == "mfrac" and len(parts) == 2:
        return _fraction(parts, is_binomial=element.get("linethickness") in ("0", "0pt", "0px"))
    if name == "mroot" and len(parts) == 2:
        root = f"{_grouped(parts[0].text)}^(1/{_grouped(parts[1].text)})"
        return _Part(root, is_composite=True)
    if name == "mmultiscripts" and parts:
        return _with_scripts_on_both_sides(element, parts)
    if name in (*_LOWER, *_UPPER) and len(parts) >= 2:
        return _with_scripts(name, parts)
    return _joined(_with_bare_text(element, parts))


def _with_bare_text(element: etree._Element, parts: list[_Part]) -> Iterator[_Part]:
    """Yield the parts of a row, with text that no element of MathML encloses."""
    yield _Part((element.text or "").strip())
    children = [child for child in element if isinstance(child.tag, str)]
    for child, part in zip(children, parts, strict=True):
        yield part
        yield _Part((child.tail or "").strip())


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]


def _joined(parts: Iterable[_Part]) -> _Part:
    """Join parts; two numbers, or a composite part and what follows it, are set apart."""
    text = ""
    last = _Part("")
    for part in parts:
        if not part.text:
            continue
        before = text[-1:]
        first = part.text[0]
        is_alike = (before.isdigit() and first.isdigit()) or (before.isalpha() and first.isalpha())
        is_word = last.text.isalpha() and len(last.text) > 1 and not last.is_composite
        is_behind = (last.is_composite or is_word) and first.isalnum()
        if (part.is_composite and is_alike) or (is_behind and before not in "( "):
            text += " "
        text += part.text
        last = part
    return _Part(text, last.is_composite and last.text == text)


def _grouped(text: str) -> str:
    """Return a part in brackets, unless it is a single number, name or bracket."""
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _fraction(parts: list[_Part], *, is_binomial: bool) -> _Part:
    upper, lower = parts
    if is_binomial:
        return _Part(f"C({upper.text}, {lower.text})", is_composite=True)
    above = upper.text if _SIGNED.fullmatch(upper.text) else _grouped(upper.text)
    return _Part(f"{above}/{_grouped(lower.text)}", is_composite=True)


def _with_scripts(name: str, parts: list[_Part]) -> _Part:
    base, *scripts = parts
    text = base.text
    if name in _UPPER and scripts[-1].text:
        text = _grouped(text)
    if name in _LOWER:
        text = _lowered(text, scripts[0].text)
    if name in _UPPER:
        text = _raised(text, scripts[-1].text, is_over=name in ("mover", "munderover"))
    return _Part(text, is_composite=text != base.text)


def _lowered(base: str, index: str) -> str:
    if not index or index in _BRACES:
        return base
    # As in H2O, unless two numbers would meet.
    if _INDEX.fullmatch(index) and base[-1:].isalpha():
        return base + index
    return f"{base}_{_grouped(index)}"


def _raised(base: str, exponent: str, *, is_over: bool = False) -> str:
    if is_over and exponent in _ACCENTS:
        return base + _ACCENTS[exponent] if len(base) == 1 else base
    if not exponent or exponent in _BRACES:
        return base
    if all(sign in _MARKS for sign in exponent):
        return base + "".join(_MARKS[sign] for sign in exponent)
    power = exponent.translate(_MINUS)
    if not _SIGNED.fullmatch(power) and not power.startswith("("):
        power = f"({power})"
    return f"{base}^{power}"


def _with_scripts_on_both_sides(element: etree._Element, parts: list[_Part]) -> _Part:
    """Write a symbol with scripts before and behind it, such as that of an isotope."""
    names = [_name(child) for child in element if isinstance(child.tag, str)]
    before = list[str]()
    text = parts[0].text
    behind_end = names.index("mprescripts") if "mprescripts" in names else len(names)
    for index in range(1, behind_end - 1, 2):
        text = _raised(_lowered(text, parts[index].text), parts[index + 1].text)
    for index in range(behind_end + 1, len(names) - 1, 2):
        before += filter(None, (parts[index + 1].text, parts[index].text))
    return _Part(" ".join([*before, text]), is_composite=True)


def _fenced(element: etree._Element, parts: list[_Part]) -> _Part:
    separators = element.get("separators", ",").replace(" ", "")
    text = ""
    for index, part in enumerate(parts):
        if index and separators:
            text += separators[min(index, len(separators)) - 1]
        text += part.text
    return _Part(f"{element.get('open', '(')}{text}{element.get('close', ')')}")


# Word: Office Open XML, part 1, section 22.1.

_WORD_NAMES = {
    "f": ("mfrac", ("num", "den")),
    "sSup": ("msup", ("e", "sup")),
    "sSub": ("msub", ("e", "sub")),
    "sSubSup": ("msubsup", ("e", "sub", "sup")),
    "limLow": ("munder", ("e", "lim")),
    "limUpp": ("mover", ("e", "lim")),
    "func": ("mrow", ("fName", "e")),
}
"""Elements of Word's formulas, the MathML for them, and the children that are its arguments."""
_WORD_PROPERTIES = re.compile(r".*Pr")


def formula_of_word(formula: etree._Element) -> etree._Element:
    """Return a formula of Word or PowerPoint (`m:oMath`) in MathML, to be written by
    `formula_text`."""
    math: etree._Element = formula.makeelement("math")
    _append_children(math, formula, 0)
    return math


def _append_children(parent: etree._Element, source: etree._Element, depth: int) -> None:
    """Append the MathML of all children; text in several runs is one text."""
    for child in source:
        name = _name(child)
        if depth > _DEEPEST:
            part = parent.makeelement("mtext")
            part.text = "".join(map(str, child.itertext()))
            parent.append(part)
        elif name in ("r", "t"):
            words = "".join(text.text or "" for text in child.iter("{*}t"))
            if len(parent) and parent[-1].tag == "mtext":
                parent[-1].text = f"{parent[-1].text or ''}{words}"
            else:
                part = parent.makeelement("mtext")
                part.text = words
                parent.append(part)
        elif isinstance(child.tag, str) and not _WORD_PROPERTIES.fullmatch(name):
            parent.append(_mathml_of(child, name, depth))


def _mathml_of(element: etree._Element, name: str, depth: int) -> etree._Element:
    """Return the MathML of one element of a formula of Word."""

    def row(*children: str) -> Iterator[etree._Element]:
        for child in children:
            part = element.makeelement("mrow")
            for source in element.iterchildren(f"{{*}}{child}"):
                _append_children(part, source, depth + 1)
            yield part

    if name in _WORD_NAMES:
        tag, children = _WORD_NAMES[name]
        if tag == "mfrac" and _property(element, "type") == "noBar":
            made = element.makeelement(tag, {"linethickness": "0"})
        else:
            made = element.makeelement(tag)
        made.extend(row(*children))
    elif name == "rad":
        radicand, degree = row("e", "deg")
        has_degree = formula_text(degree) != ""
        made = element.makeelement("mroot" if has_degree else "msqrt")
        made.extend([radicand, degree] if has_degree else [radicand])
    elif name == "nary":
        sign = element.makeelement("mo")
        sign.text = _property(element, "chr", "∫")
        lower, upper, body = row("sub", "sup", "e")
        scripts = element.makeelement("munderover")
        scripts.extend([sign, lower, upper])
        made = element.makeelement("mrow")
        made.extend([scripts, body])
    elif name in ("acc", "bar", "groupChr"):
        usual = {"acc": "\u0302", "bar": "¯", "groupChr": "⏟"}[name]
        sign = element.makeelement("mo")
        sign.text = _property(element, "chr", usual)
        made = element.makeelement("mover")
        made.extend([*row("e"), sign])
    elif name == "d":
        made = element.makeelement("mfenced")
        made.set("open", _property(element, "begChr", "("))
        made.set("close", _property(element, "endChr", ")"))
        made.set("separators", _property(element, "sepChr", "|"))
        for child in element.iterchildren("{*}e"):
            part = element.makeelement("mrow")
            _append_children(part, child, depth + 1)
            made.append(part)
    elif name == "sPre":
        made = element.makeelement("mmultiscripts")
        base, lower, upper = row("e", "sub", "sup")
        made.extend([base, element.makeelement("mprescripts"), lower, upper])
    elif name in ("m", "eqArr"):
        made = element.makeelement("mtable")
        for line in element.iterchildren("{*}mr", "{*}e"):
            table_row = element.makeelement("mtr")
            cells = line.iterchildren("{*}e") if _name(line) == "mr" else [line]
            for cell in cells:
                part = element.makeelement("mtd")
                _append_children(part, cell, depth + 1)
                table_row.append(part)
            made.append(table_row)
    else:
        made = element.makeelement("mrow")
        if not (name == "phant" and _property(element, "show", "1") in ("0", "off", "false")):
            _append_children(made, element, depth + 1)
    return made


def _property(element: etree._Element, name: str, usual: str = "") -> str:
    """Return a property of an element of Word; `usual` if it is not stated."""
    for properties in element:
        if _WORD_PROPERTIES.fullmatch(_name(properties)):
            for stated in properties.iterchildren(f"{{*}}{name}"):
                for attribute, value in stated.attrib.items():
                    if str(attribute).rpartition("}")[2] == "val":
                        return str(value)
                return ""
    return usual
