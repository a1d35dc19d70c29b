"""The words of a paragraph of a Word document as it reads now, and what kind of paragraph it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from docx.oxml.ns import qn
from lxml import etree

from .archives import local_name

NOT_BODY = {"del", "moveFrom", "Fallback", "txbxContent", "pPr", "rPr", "sdtPr", "tblPr"}
"""Deleted or moved away by a change that is tracked; the same once more for older programs; text boxes, which are
blocks of their own; properties."""

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NO_OUTLINE = 9
_DEEPEST = 6


class Style(NamedTuple):
    """What a paragraph is by its style or by itself."""

    level: int
    """That of a heading, from 1; 0 for other text."""
    is_list: bool


def style_of(style: object) -> Style:
    """What a style of python-docx makes of a paragraph, by itself or by the one that it is based on."""
    name = str(getattr(style, "name", "")).lower()
    if name == "title":
        return Style(1, is_list=False)
    if name.startswith("heading ") and name[8:].isdigit():
        return Style(min(int(name[8:]), _DEEPEST), is_list=False)
    found, base = own_style(getattr(style, "element", None)), getattr(style, "base_style", None)
    if found.level or base is None:
        return found
    inherited = style_of(base)
    return Style(inherited.level, found.is_list or inherited.is_list)


def own_style(element: etree._Element | None) -> Style:
    """What the properties of a paragraph or of a style say themselves."""
    properties = element.find(qn("w:pPr")) if element is not None else None
    if properties is None:
        return Style(0, is_list=False)
    outline = properties.find(qn("w:outlineLvl"))
    level = int(outline.get(qn("w:val"), _NO_OUTLINE)) if outline is not None else _NO_OUTLINE
    return Style(min(level + 1, _DEEPEST) if level < _NO_OUTLINE else 0, properties.find(qn("w:numPr")) is not None)


def words_of(element: etree._Element) -> str:
    """The text of a paragraph, or of a part of it, without what is hidden or deleted."""
    return "".join(_words(element)).strip()


def _words(element: etree._Element) -> Iterator[str]:
    for child in element:
        name = local_name(child)
        if name == "t":
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name and name not in NOT_BODY and not (name == "r" and _is_hidden(child)):
            yield from _words(child)


def _is_hidden(run: etree._Element) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val"), "1") not in ("0", "false", "off")
