"""Numbers that programs show before list items and headings but do not store as text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lxml import etree

BULLET = "-"
_LEVELS = 9
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MOST_ROMAN = 4000
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
_HAN_DIGITS = "零一二三四五六七八九"
_MOST_HAN = 100
_PLACEHOLDER = re.compile(r"%([1-9])")
_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def roman(number: int) -> str:
    """Return a number in lower-case Roman numerals; in digits if it has none."""
    if not 0 < number < _MOST_ROMAN:
        return str(number)
    written = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        written += letters * count
    return written


def letter(number: int, alphabet: str = _LATIN) -> str:
    """Return a number as a letter, which is doubled after the last one: `a`, `z`, `aa`, `bb`."""
    if number < 1:
        return str(number)
    times, index = divmod(number - 1, len(alphabet))
    return alphabet[index] * (times + 1)


def _ordinal(number: int) -> str:
    ending = "th"
    if number // 10 % 10 != 1:
        ending = _ORDINAL_ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def _han(number: int) -> str:
    if not 0 < number < _MOST_HAN:
        return str(number)
    tens, ones = divmod(number, 10)
    written = "十" if tens else ""
    if tens > 1:
        written = f"{_HAN_DIGITS[tens]}十"
    return written + (_HAN_DIGITS[ones] if ones else "")


_SHOWN: dict[str, Callable[[int], str]] = {
    "decimalZero": "{:02}".format,
    "ordinal": _ordinal,
    "lowerRoman": roman,
    "i": roman,
    "upperRoman": lambda number: roman(number).upper(),
    "I": lambda number: roman(number).upper(),
    "lowerLetter": letter,
    "a": letter,
    "upperLetter": lambda number: letter(number).upper(),
    "A": lambda number: letter(number).upper(),
    "russianLower": lambda number: letter(number, _RUSSIAN),
    "russianUpper": lambda number: letter(number, _RUSSIAN).upper(),
    **dict.fromkeys(
        (
            "chineseCounting", "chineseCountingThousand", "taiwaneseCountingThousand",
            "japaneseCounting", "ideographTraditional", "taiwaneseCounting", "一, 二, 三, ...",
        ),
        _han,
    ),
}  # fmt: skip


def shown(number: int, number_format: str) -> str:
    """Return a number in a format of Word (`lowerRoman`), OpenDocument or HTML (`i`).

    In digits if the format is unknown.
    """
    return _SHOWN.get(number_format, str)(number)


class _Level(NamedTuple):
    """A level of a list of Word or OpenDocument."""

    first: int = 1
    number_format: str = "decimal"
    text: str = ""
    """What is shown; `%1` stands for the number of the first level."""
    restart: int | None = None
    """Restarts only after this level (from 1) or a higher one; never if 0."""
    is_legal: bool = False
    """Whether the numbers of all levels are shown in digits."""
    style: str = ""
    """Id of the paragraph style that belongs to the level."""


class WordNumbering:
    """The lists of a Word document, and how far each has been counted."""

    def __init__(self, numbering: etree._Element | None) -> None:
        """`numbering`: the root of `numbering.xml`, if the document has one."""
        self._levels: dict[str, dict[int, _Level]] = {}
        """Levels of abstract lists by their ids."""
        self._abstract: dict[str, str] = {}
        """Ids of abstract lists by the ids of lists."""
        self._own_levels: dict[str, dict[int, _Level]] = {}
        self._own_starts: dict[str, dict[int, int]] = {}
        """Levels and first numbers of single lists."""
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """Last number of each level by abstract list."""
        self._started: set[tuple[str, int]] = set()
        if numbering is not None:
            self._read(numbering)

    def _read(self, numbering: etree._Element) -> None:
        links = dict[str, str]()
        linked = dict[str, str]()
        for abstract in numbering.iterchildren("{*}abstractNum"):
            key = _attribute(abstract, "abstractNumId")
            self._levels[key] = _levels_of(abstract)
            links[_value(abstract, "styleLink")] = key
            linked[key] = _value(abstract, "numStyleLink")
        for list_element in numbering.iterchildren("{*}num"):
            list_id = _attribute(list_element, "numId")
            key = _value(list_element, "abstractNumId")
            if linked.get(key):
                key = links.get(linked[key], key)
            self._abstract[list_id] = key
            starts = dict[int, int]()
            for override in list_element.iterchildren("{*}lvlOverride"):
                start = _value(override, "startOverride")
                if start:
                    starts[_number(_attribute(override, "ilvl"))] = _number(start)
            self._own_starts[list_id] = starts
            overrides = list_element.iterchildren("{*}lvlOverride")
            levels = dict[int, _Level]()
            for override in overrides:
                levels |= _levels_of(override)
            self._own_levels[list_id] = levels

    def level_of_style(self, list_id: str, style: str) -> int | None:
        """Return the level of a list that belongs to a paragraph style."""
        for index, level in self._levels.get(self._abstract.get(list_id, ""), {}).items():
            if style and level.style == style:
                return index
        return None

    def count(self, list_id: str, level_index: int) -> str:
        """Count a paragraph of a list; returns what is shown before it.

        A bullet is `BULLET`; empty if nothing is shown.
        """
        key = self._abstract.get(list_id)
        if key is None:
            return BULLET
        levels = {**self._levels.get(key, {}), **self._own_levels[list_id]}
        level = levels.get(level_index, _Level())
        counts = self._counts[key]
        start = self._own_starts[list_id].get(level_index)
        if start is not None and (list_id, level_index) not in self._started:
            counts[level_index] = start
        else:
            counts[level_index] = counts.get(level_index, level.first - 1) + 1
        self._started.add((list_id, level_index))
        for index in range(level_index + 1, _LEVELS):
            restart = levels.get(index, _Level()).restart
            if restart is None or level_index < restart:
                counts.pop(index, None)
        if level.number_format == "bullet":
            return BULLET
        return self._written(level, levels, counts)

    @staticmethod
    def _written(level: _Level, levels: dict[int, _Level], counts: dict[int, int]) -> str:
        def number(found: re.Match[str]) -> str:
            index = int(found[1]) - 1
            counted = levels.get(index, _Level())
            if counted.number_format == "none":
                return ""
            number_format = "decimal" if level.is_legal else counted.number_format
            return shown(counts.get(index, counted.first - 1), number_format)

        return " ".join(_PLACEHOLDER.sub(number, level.text).split())


def _levels_of(parent: etree._Element) -> dict[int, _Level]:
    levels = dict[int, _Level]()
    for element in parent.iterchildren("{*}lvl"):
        restart = _value(element, "lvlRestart")
        legal = element.find("{*}isLgl")
        levels[_number(_attribute(element, "ilvl"))] = _Level(
            first=_number(_value(element, "start") or "1"),
            number_format=_value(element, "numFmt") or "decimal",
            text=_value(element, "lvlText"),
            restart=_number(restart) if restart else None,
            is_legal=legal is not None and _attribute(legal, "val") not in ("0", "false", "off"),
            style=_value(element, "pStyle"),
        )
    return levels


def _value(element: etree._Element, name: str) -> str:
    """Return the value of a property of an element; empty if it is missing."""
    child = element.find(f"{{*}}{name}")
    return "" if child is None else _attribute(child, "val")


def _attribute(element: etree._Element, name: str) -> str:
    for attribute, value in element.attrib.items():
        if str(attribute).rpartition("}")[2] == name:
            return str(value)
    return ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0
