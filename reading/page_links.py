"""The links of a web page; runs in the child process only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import lxml.html

from .addresses import Address, join_address, parse_address
from .decode import clean
from .records import Link, Unread

MOST_LINKS = 200
LOOKED_AT = 5000
WORDS_CHARACTERS = 200

_VISIBLE = re.compile(r"https?://[^\s<>\"'`{}|\\^]+", re.IGNORECASE)
_AFTER_ADDRESS = ".,;:!?)]*_"
_BLOCKS = ("div", "p", "li", "section", "article", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6")


def anchors(root: lxml.html.HtmlElement, base: str) -> tuple[Link, ...]:
    """The first links of a page that have words, absolute."""
    return tuple(_anchors(root, base))


def ordered_links(links: Iterable[Link], text: str, address: str) -> tuple[Link, ...]:
    """These links, first those whose words stand in the text, and the addresses that are written out there.

    Each leads to another page than `address`, and no two lead to the same.
    """
    own = str(parse_address(address))
    # Lists of links are often no part of the text, and all that a page is for.
    shown = sorted(links, key=lambda link: _first_line(link.words) not in text)
    unique: dict[str, Link] = {}
    for link in (*(Link(_in_line(link.words), link.address) for link in shown), *_written_out(text)):
        unique.setdefault(link.address, link)
    unique.pop(own, None)
    return tuple(unique.values())[:MOST_LINKS]


def _anchors(root: lxml.html.HtmlElement, base: str) -> Iterator[Link]:
    for number, element in enumerate(root.iter("a")):
        if number >= LOOKED_AT:
            return
        words = _words(element)
        there = _address(base, element.get("href", "").partition("#")[0])
        if words and there is not None:
            yield Link(words, str(there))


def _written_out(text: str) -> Iterator[Link]:
    for number, found in enumerate(_VISIBLE.finditer(text)):
        if number >= LOOKED_AT:
            return
        there = _address("", found.group().rstrip(_AFTER_ADDRESS))
        if there is not None:
            yield Link("", str(there))


def _address(base: str, reference: str) -> Address | None:
    if not reference:
        return None
    try:
        return join_address(base, reference)
    except Unread:
        return None


def _words(element: lxml.html.HtmlElement) -> str:
    text = ""
    joint = "\n" if next(element.iter(*_BLOCKS), None) is not None else ""
    for part in element.itertext():
        text += part + joint
        # Links inside links, thousands of them, would each hold the rest of the page.
        if len(text) > 2 * WORDS_CHARACTERS:
            break
    return clean(text).strip()[:WORDS_CHARACTERS].rstrip()


def _first_line(words: str) -> str:
    """As much as surely stands together in the text: cards hold a title and further paragraphs in one link."""
    return _in_line(words.splitlines()[0])


def _in_line(words: str) -> str:
    return " ".join(words.split())
