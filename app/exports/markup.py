"""The Markdown of a report as HTML in which nothing is left that could act."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import lxml.html
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ...evidence.citations.sanitizing import commonmark, sanitized

_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def readable(text: str) -> str:
    """The text without control characters and without those that turn its direction or that nobody sees."""
    return _UNREADABLE.sub("", text)


def safe_tree(markdown: str) -> lxml.html.HtmlElement:
    """The text as a tree of harmless elements under one `div`: raw HTML is text, of links and images the words stay."""
    html = _markdown().render(sanitized(readable(markdown)))
    # Once more, for what was written as an entity.
    tree = lxml.html.fragment_fromstring(readable(html), create_parent="div")
    for element in tree.iter():
        for name in {*element.keys()} - {"start"}:
            del element.attrib[name]
    return tree


def plain_words(markdown: str) -> str:
    """The words of a piece of a line, without its markup."""
    tokens = [child for token in _markdown().parseInline(markdown) for child in token.children or ()]
    return " ".join(readable(_words(tokens)).split())


def _words(tokens: Sequence[Token]) -> str:
    return "".join(_words(t.children) if t.children else " " if "break" in t.type else t.content for t in tokens)


@cache
def _markdown() -> MarkdownIt:
    parser = commonmark("table", "strikethrough").disable(["link", "image", "autolink"])
    parser.options["html"] = False
    return parser
