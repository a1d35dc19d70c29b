"""The Markdown of a report as HTML in which nothing is left that could act."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import lxml.html
import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

_TEXT = {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s", "a"}
ALLOWED_TAGS = _TEXT | {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
"""The elements that a report's own text may become."""
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|(?<![\w.])[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}", re.IGNORECASE)


def readable(text: str) -> str:
    """The text without control characters and without those that turn its direction or that nobody sees."""
    return _UNREADABLE.sub("", text)


def safe_tree(markdown: str, links: Collection[str]) -> lxml.html.HtmlElement:
    """The text as a tree of harmless elements under one `div`; of its links only those in `links` stay links.

    Raw HTML is shown as text, an image becomes its description. The words of a link that look like an address of
    another host are replaced by the host to which it leads.
    """
    html = nh3.clean(
        _markdown().render(readable(markdown)),
        tags=ALLOWED_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https"},
        link_rel=None,
    )
    # Once more, for what was written as an entity.
    tree = lxml.html.fragment_fromstring(readable(html), create_parent="div")
    for anchor in list(tree.iter("a")):
        _bind(anchor, links)
    return tree


def plain_words(markdown: str) -> str:
    """The words of a piece of a line, without its markup."""
    tokens = [child for token in _markdown().parseInline(markdown) for child in token.children or ()]
    return " ".join(readable(_words(tokens)).split())


def _words(tokens: Sequence[Token]) -> str:
    return "".join(_words(t.children) if t.children else " " if "break" in t.type else t.content for t in tokens)


def _bind(anchor: lxml.html.HtmlElement, links: Collection[str]) -> None:
    target = anchor.get("href", "")
    if target not in links or not target.startswith(("http://", "https://")):
        anchor.drop_tag()
        return
    host = urlsplit(target).netloc.rpartition("@")[2]
    words = anchor.text_content()
    if _HOST.search(words) and words not in (target, host):
        for child in list(anchor):
            anchor.remove(child)
        anchor.text = host
    anchor.set("rel", "noopener noreferrer nofollow")


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.add_render_rule("image", _description)
    return markdown


def _description(_renderer: Any, tokens: Sequence[Token], place: int, *_: Any) -> str:
    return escapeHtml(_words(tokens[place].children or []))
