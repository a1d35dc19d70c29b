"""Which elements and attributes an exported page may have, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterator

import lxml.html

TEXT = {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s"}
BLOCKS = {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
LAYOUT = {"html", "head", "meta", "style", "body", "header", "nav", "main", "article", "section", "aside", "title"}
PARTS = {"a", "div", "span", "bdi", "button", "dl", "dt", "dd"}
CHARTS = {"figure", "figcaption", "img"}
TAGS = TEXT | BLOCKS | LAYOUT | PARTS | CHARTS
OURS = {
    "aria-label",
    "aria-labelledby",
    "class",
    "data-claim",
    "dir",
    "id",
    "lang",
    "role",
    "scope",
    "tabindex",
    "type",
}
OPENING = {"autofocus", "popover", "popovertarget", "popovertargetaction"}
HEAD = {"charset", "content", "http-equiv", "name"}
ATTRIBUTES = OURS | OPENING | HEAD | {"alt", "href", "rel", "src", "start", "target"}


def faults(page: str) -> Iterator[str]:
    """What of the page is not among what it may have."""
    for element in lxml.html.document_fromstring(page).iter():
        if not isinstance(element.tag, str):
            yield f"a comment or an instruction: {element!r}"
            continue
        if element.tag not in TAGS:
            yield f"<{element.tag}>"
        yield from (f"<{element.tag} {name}>" for name in element.keys() if name not in ATTRIBUTES)  # noqa: SIM118
        if not element.get("src", "data:image/").startswith("data:image/"):
            yield f"loads {element.get('src')}"
        target = element.get("href", "#")
        if not target.startswith(("#", "https://lights.example/", "https://www.coast.example/", "file:///docs/")):
            yield f"leads to {target}"
