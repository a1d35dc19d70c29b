"""Extracts the main content of a page; drops blocks that class names or link density mark as boilerplate."""

from __future__ import annotations

import re
from typing import NamedTuple

import lxml.html
from lxml import etree

_LITTLE_TEXT = 250
"""A page with fewer characters than this is kept whole."""
_LEAST_SHARE = 0.2
"""Minimum share of the page's text that must remain; otherwise the whole page is kept."""
_MAIN_SHARE = 0.3
"""Minimum share of the page's text that must be inside `<main>` or `<article>` for it to be the main content."""
_LINKED_SHARE = 0.6
"""A block with a higher share of link text is navigation."""
_LINKS = 2
"""Minimum number of links in navigation."""

_BLOCKS = frozenset(
    ("div", "section", "ul", "ol", "form", "article", "header", "dl", "p", "li", "figure", "center", "details")
)
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:comments?|comment-?list|disqus|respond|share|sharing|sharebar|socials?|related|recommend\w*"
    r"|more-?stories|read-?more|newsletter|cookies?|consent|gdpr|onetrust|breadcrumbs?|side-?bar|widgets?|menu|nav"
    r"|navigation|navbar|footer|promo|promoted|ads?|advert\w*|sponsor\w*|subscri\w+|login|popup|modal|overlay|tags"
    r"|tag-?list|author-?(?:bio|box|info)|pagination|pager|teasers?|outbrain|taboola|masthead|toolbar|skip|print"
    r"|copyright|rating|toc)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Class names and ids of boilerplate. Measured in docs/decisions/parsing.md."""


class _Size(NamedTuple):
    """An element's number of characters, of characters in links, and of links."""

    text: int = 0
    linked: int = 0
    links: int = 0


def main_content(root: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """Return the element with the main content of a page, from which boilerplate has been removed.

    Returns `root` unchanged if little would be left, since the page is then an index or a thread of comments.
    """
    sizes = _sizes(root)
    least = max(_LITTLE_TEXT, _MAIN_SHARE * sizes[root].text)
    found = map(root.xpath, ("//main | //*[@role='main']", "//article"))
    mains = (elements[0] for elements in found if len(elements) == 1 and sizes[elements[0]].text >= least)
    main, around = next(mains, root), list[lxml.html.HtmlElement]()
    walk = etree.iterwalk(main, events=("start",))
    for _, element in walk:
        size = sizes[element]
        if element is main or element.tag not in _BLOCKS or not size.text:
            continue
        is_named = _NAMES.search(f"{element.get('class', '')} {element.get('id', '')}") is not None
        is_navigation = size.links >= _LINKS and size.linked > _LINKED_SHARE * size.text
        if is_named and 2 * size.text < sizes[main].text:
            is_boilerplate = element.find(".//th") is None
        else:
            is_boilerplate = element.tag not in ("p", "li") and is_navigation
        if is_boilerplate:
            around.append(element)
            walk.skip_subtree()
    rest = sizes[main].text - sum(sizes[element].text for element in around)
    if rest < max(_LITTLE_TEXT, _LEAST_SHARE * sizes[root].text):
        return root
    for element in around:
        element.drop_tree()
    return main


def _sizes(root: lxml.html.HtmlElement) -> dict[etree._Element, _Size]:
    """Return the size of every element, including the elements inside it."""
    sizes = dict[etree._Element, _Size]()
    for element in reversed(list(root.iter(etree.Element))):
        text, linked, links = len((element.text or "").strip()), 0, 0
        for child in element:
            inner = sizes.get(child, _Size())
            text += inner.text + len((child.tail or "").strip())
            linked, links = linked + inner.linked, links + inner.links
        sizes[element] = _Size(text, text, 1) if element.tag == "a" else _Size(text, linked, links)
    return sizes
