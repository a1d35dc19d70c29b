"""Web pages to text: the main part, without what a reader does not see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import lxml.html
from lxml import etree

from .addresses import join_address
from .decode import clean, decode
from .page_links import anchors
from .page_signs import signs_of
from .records import Extract, Unread, Unreadable
from .unseen import drop_unseen

SEARCHED_BYTES = 4096
PAGE_BYTES = 20_000_000
LARGE_PAGE = 1_000_000
MANY_ELEMENTS = 20_000
LITTLE_TEXT = 250
MOSTLY_MAIN = 1.25
LONG_PARAGRAPH = "\u2029"

_CHARSET = re.compile(rb"""charset\s*=[\s"']*([\w.:-]+)""", re.IGNORECASE)
_BLOCKS = (
    "address", "article", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
    "form", "header", "hr", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tr", "ul",
    "item", "list", "quote", "row",
)  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "head")
_NAME = "translate(concat(@name, @property, @itemprop), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ_', 'abcdefghijklmnopqrstuvwxyz.')"
_PUBLISHED = ("article:published.time", "citation.publication.date", "citation.date", "citation.online.date", "date",
    "dc.date.issued", "dcterms.issued", "datepublished", "dc.date", "dcterms.date", "dcterms.created",
)  # fmt: skip
_CHANGED = ("article:modified.time", "datemodified", "dcterms.modified", "last-modified")
"""Names of what a page says of itself, the surest first."""
_TIMES = "//time[@itemprop='datePublished' or @pubdate]/@datetime"
_LINKED_DATA = "//script[@type='application/ld+json']/text()"
_STATED = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?![\d/.-])")
_LIVING = 2
"""Years after which a page that was changed since it was published is of its change: an entry of an encyclopedia."""
_TITLES = "//meta[@name='citation_title']/@content"
# Books write empty elements so, as XML allows; in a page this is the beginning of one that never ends.
_DOCUMENT_TYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_CLOSED = re.compile(r"<([a-zA-Z][\w:-]*)((?:\s[^<>]*)?)/>")


def parse_html(data: bytes, charset: str = "", address: str = "") -> Extract:
    """Title, main text and stated date of a page; of one of the web also its links and signs."""
    declared = _CHARSET.search(data[:SEARCHED_BYTES])
    named = charset or (declared.group(1).decode("ascii") if declared else "")
    html = clean(decode(data, named, PAGE_BYTES))
    root = _tree(html)
    title, date = _title(root), _date(root)
    signs = signs_of(html, root) if address else ()
    base = _base(root, address)
    drop_unseen(root)
    links = anchors(root, base) if address else ()
    return Extract(title, _text(root, len(html)), date, len(data) > PAGE_BYTES, links, signs)


def whole_text(data: bytes, charset: str = "") -> str:
    """All that a reader sees of a page which is nothing but content: a chapter of a book, or a letter."""
    declared = _CHARSET.search(data[:SEARCHED_BYTES])
    html = clean(decode(data, charset or (declared.group(1).decode("ascii") if declared else ""), PAGE_BYTES))
    if not html.strip():
        return ""
    root = _tree(_CLOSED.sub(r"<\1\2></\1>", _DOCUMENT_TYPE.sub("", html, count=1)))
    drop_unseen(root)
    return _plain(root)


def _tree(html: str) -> lxml.html.HtmlElement:
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        # As bytes, because lxml refuses text that declares an encoding.
        root = lxml.html.document_fromstring(html.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise Unreadable("empty", "there is no text in it") from error
    return root


def _title(root: lxml.html.HtmlElement) -> str:
    if cited := next((line for found in root.xpath(_TITLES) if (line := _line(str(found)))), ""):
        return cited
    named = _line(root.findtext(".//title") or "")
    headings = [line for line in (_line(found.text_content()) for found in root.iter("h1")) if line]
    for heading in headings:
        if heading in named:
            return heading
    return headings[0] if len(headings) == 1 else named or "".join(headings[:1])


def _date(root: lxml.html.HtmlElement) -> str:
    """When the page says that it was published; if it has been changed long after that, when it was."""
    linked = list(_linked_data(root))
    published = [*_meta(root, _PUBLISHED), *(one.get("datePublished") for one in linked), *root.xpath(_TIMES)]
    changed = [*_meta(root, _CHANGED), *(one.get("dateModified") for one in linked)]
    first, last = (next(filter(None, map(_day, values)), "") for values in (published, changed))
    return last if not first or (last and int(last[:4]) - int(first[:4]) > _LIVING) else first


def _meta(root: lxml.html.HtmlElement, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from map(str, root.xpath(f"//meta[{_NAME} = $name]/@content", name=name))


def _linked_data(root: lxml.html.HtmlElement) -> Iterator[dict[str, Any]]:
    """What the page says of itself as a whole (JSON-LD): not of its parts, nor of reviews of what it sells."""
    for script in root.xpath(_LINKED_DATA):
        with suppress(ValueError):
            found = json.loads(str(script))
            nodes = found if isinstance(found, list) else [found]
            nodes += [one for node in nodes if isinstance(node, dict) for one in node.get("@graph") or ()]
            yield from (node for node in nodes if isinstance(node, dict))


def _day(stated: object) -> str:
    """The day, month or year that a field begins with (ISO 8601); empty if it is none."""
    found = _STATED.match(str(stated or "").strip())
    if not found:
        return ""
    year, month, day = (int(part or 0) for part in found.groups())
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return ""
    return "-".join([f"{year:04}", *(f"{part:02}" for part in (month, day) if part)])


def _base(root: lxml.html.HtmlElement, address: str) -> str:
    stated = next((str(found) for found in root.xpath("//base/@href")), "")
    try:
        return str(join_address(address, stated)) if stated else address
    except Unread:
        return address


def _text(root: lxml.html.HtmlElement, length: int) -> str:
    if length > LARGE_PAGE or sum(1 for _ in root.iter()) > MANY_ELEMENTS:
        return _plain(root)
    _drop_comments(root)
    page = lxml.html.tostring(root, encoding="unicode")
    everything = _plain(root)
    main = _main(page) if len(everything) > LITTLE_TEXT else ""
    # A page that is nearly all main text keeps its lists and headings, some of which the extractor drops.
    is_mostly_main = len(everything) <= MOSTLY_MAIN * len(main)
    return everything if is_mostly_main or len(main) < LITTLE_TEXT else main


def _drop_comments(root: lxml.html.HtmlElement) -> None:
    """Remove what readers wrote below a text; where that is most of the page, as in a forum, it is the text."""
    from trafilatura.xpaths import REMOVE_COMMENTS_XPATH

    comments = {element for find in REMOVE_COMMENTS_XPATH for element in find(root)}
    outer = [one for one in comments if comments.isdisjoint(one.iterancestors())]
    if 2 * sum(len(_line(one.text_content())) for one in outer) < len(_line(root.text_content())):
        for element in outer:
            element.drop_tree()


def _main(page: str) -> str:
    import trafilatura

    found = trafilatura.bare_extraction(page, include_comments=False, favor_recall=True, fast=True)
    body = getattr(found, "body", None)
    return "" if body is None else _plain(body)


def _plain(root: etree._Element) -> str:
    for element in root.iter(*_BLOCKS, *_HEADINGS):
        is_heading = element.tag in _HEADINGS
        marks = "#" * _level(element) + " " if is_heading else ""
        element.text = f"{LONG_PARAGRAPH}{marks}{_line(element.text or '') if is_heading else element.text or ''}"
        element.tail = f"{LONG_PARAGRAPH}{element.tail or ''}"
    for element in root.iter("br", "lb"):
        element.tail = f"\n{LONG_PARAGRAPH}\n{element.tail or ''}"
    for element in root.iter("td", "th", "cell"):
        element.tail = f" | {element.tail or ''}"
    content = "".join(str(part) for part in root.itertext())
    paragraphs = (_line(part).removesuffix(" |") for part in content.split(LONG_PARAGRAPH))
    return "\n\n".join(part for part in paragraphs if part.strip("# |"))


def _level(element: etree._Element) -> int:
    name = element.get("rend", "h2") if element.tag == "head" else str(element.tag)
    return int(name[1]) if name[1:2].isdigit() else 2


def _line(text: str) -> str:
    return " ".join(text.split())
