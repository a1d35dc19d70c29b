"""Writes formulas in MathML as those of Word (Office Open XML, part 1, section 22.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lxml.html
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

_PROPERTIES: Mapping[str, Sequence[str]] = {
    "mfrac": ("m:f", "m:num", "m:den"),
    "msup": ("m:sSup", "m:e", "m:sup"),
    "msub": ("m:sSub", "m:e", "m:sub"),
    "msubsup": ("m:sSubSup", "m:e", "m:sub", "m:sup"),
    "munder": ("m:limLow", "m:e", "m:lim"),
    "mover": ("m:limUpp", "m:e", "m:lim"),
    "munderover": ("m:sSubSup", "m:e", "m:sub", "m:sup"),
    "mroot": ("m:rad", "m:e", "m:deg"),
}
"""Elements of MathML, those of Word for them, and for their parts, in MathML's order."""


def word_formula(math: lxml.html.HtmlElement) -> Any:
    """Return a formula in MathML as one of Word, or as a paragraph of formulas if it is displayed
    on its own line."""
    formula = OxmlElement("m:oMath")
    _append(formula, math)
    if math.get("display") != "block":
        return formula
    paragraph = OxmlElement("m:oMathPara")
    paragraph.append(formula)
    return paragraph


def _append(target: Any, source: lxml.html.HtmlElement) -> None:
    """Append the Word elements for all parts of an element of MathML."""
    for part in source:
        if part.tag in ("mi", "mn", "mo", "mtext"):
            target.append(_run(part))
        elif part.tag in _PROPERTIES:
            target.append(_structure(part))
        elif part.tag == "msqrt":
            root = OxmlElement("m:rad")
            _set(root, "m:radPr", "m:degHide", "1")
            root.append(OxmlElement("m:deg"))
            root.append(_argument("m:e", part))
            target.append(root)
        elif part.tag == "mtable":
            matrix = OxmlElement("m:m")
            for row in part:
                line = OxmlElement("m:mr")
                line.extend([_argument("m:e", cell) for cell in row])
                matrix.append(line)
            target.append(matrix)
        else:
            _append(target, part)


def _structure(part: lxml.html.HtmlElement) -> Any:
    """Return a fraction, a root, or a part with scripts."""
    tag, *names = _PROPERTIES[part.tag]
    structure = OxmlElement(tag)
    arguments = [_argument(name, [child]) for name, child in zip(names, part, strict=False)]
    if part.tag == "mroot":
        # Word has the degree first.
        arguments.reverse()
    structure.extend(arguments)
    return structure


def _argument(name: str, parts: Any) -> Any:
    argument = OxmlElement(name)
    _append(argument, parts)
    return argument


def _set(element: Any, properties: str, name: str, value: str) -> None:
    """Give an element a property."""
    setting = OxmlElement(name)
    setting.set(qn("m:val"), value)
    holder = OxmlElement(properties)
    holder.append(setting)
    element.append(holder)


def _run(part: lxml.html.HtmlElement) -> Any:
    """Return a name, number, sign or text; Word sets single letters in italics."""
    run = OxmlElement("m:r")
    if part.tag == "mtext" or part.get("mathvariant") == "normal":
        _set(run, "m:rPr", "m:sty", "p")
    text = OxmlElement("m:t")
    text.text = part.text or ""
    text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    run.append(text)
    return run
