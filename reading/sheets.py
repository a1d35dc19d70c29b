"""The simple rules of a web page's own style sheets: for a tag, an id, classes, or these together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import lxml.html

from .styles import Declarations, declarations, merged, plain_style

MOST_RULES = 10_000

_BRACE = re.compile(r"([{}])")
_COMPOUND = re.compile(r"(?:\*|([a-z][a-z0-9-]*))?((?:[.#][\w-]+)*)")
_PART = re.compile(r"[.#][\w-]+")
# Rules inside these hold on every screen; what else begins with @ holds at times, on paper for example.
_ON_EVERY_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:screen|all)|@(?:layer|supports)\b.*", re.DOTALL)


class Rule(NamedTuple):
    """What holds for the elements that have all of these parts."""

    weight: tuple[int, int, int, int]
    """Ids, classes, tags, place: of several rules the heavier holds."""
    parts: frozenset[str]
    declared: Declarations


class Sheets:
    """The styles of the elements of one page."""

    def __init__(self, root: lxml.html.HtmlElement) -> None:
        self._rules: defaultdict[str, list[Rule]] = defaultdict(list)
        self._known: dict[tuple[str, ...], dict[str, str]] = {}
        for number, (parts, declared) in enumerate(_rules(root)):
            if number >= MOST_RULES:
                break
            self._add(number, parts, declared)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags for which there are rules."""
        return tuple(key for key in self._rules if key[0] not in ".#")

    def style(self, element: lxml.html.HtmlElement) -> dict[str, str]:
        """What holds for an element by the rules, and before them by its own style; nothing is inherited."""
        names = ("id", "class", "style")
        key = (str(element.tag), *(element.get(name, "") for name in names))
        if key not in self._known:
            self._known[key] = self._style(*key)
        return self._known[key]

    def _style(self, tag: str, name: str, classes: str, own: str) -> dict[str, str]:
        parts = {tag, f"#{name.lower()}", *(f".{one}" for one in classes.lower().split())}
        found = sorted(rule for part in parts for rule in self._rules.get(part, ()) if rule.parts <= parts)
        return merged([*(rule.declared for rule in found), declarations(plain_style(own))])

    def _add(self, number: int, parts: list[str], declared: Declarations) -> None:
        ids, classes = (sum(part[0] == sign for part in parts) for sign in "#.")
        weight = (ids, classes, len(parts) - ids - classes, number)
        self._rules[parts[-1]].append(Rule(weight, frozenset(parts), declared))


def _rules(root: lxml.html.HtmlElement) -> Iterator[tuple[list[str], Declarations]]:
    for sheet in root.iter("style"):
        if sheet.get("media", "all").strip().lower() in ("", "all", "screen"):
            for selectors, body in _blocks(plain_style(sheet.text or "")):
                declared = declarations(body)
                yield from ((parts, declared) for parts in map(_parts, selectors.split(",")) if parts)


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """What stands before and in each pair of braces that holds on every screen."""
    pieces = _BRACE.split(sheet)
    opened: list[tuple[str, bool]] = []
    holds = True
    for text, brace in zip(pieces[0::2], pieces[1::2], strict=False):
        if brace == "{":
            before = text.rpartition(";")[2].strip()
            opened.append((before, holds))
            holds = holds and _ON_EVERY_SCREEN.fullmatch(before) is not None
        elif opened:
            selectors, holds = opened.pop()
            if holds:
                yield selectors, text


def _parts(selector: str) -> list[str]:
    """Tag, ids and classes of a simple selector; nothing if it is not one."""
    found = _COMPOUND.fullmatch(selector.strip())
    if found is None:
        return []
    return [*([found.group(1)] if found.group(1) else []), *_PART.findall(found.group(2))]
