"""Web pages to text: the main part and the links, without what a reader does not see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import islice
from typing import Any

import lxml.html
from lxml import etree

from ..addresses import join_address, parse_address
from ..records import Extract, Link, Sign, Unread, Unreadable
from .decode import clean, decode

_UNSEEN = (
    "script", "style", "noscript", "template", "iframe", "object", "svg", "math", "canvas", "audio", "video", "head",
    "button", "select", "textarea", "input", "dialog", "nav", "footer", "aside", "noframes", "noembed", "datalist",
    "rp", "meter",
)  # fmt: skip
_HIDING_ATTRIBUTES = ("hidden", "popover", "inert")
_HIDING_VALUES = {
    "aria-hidden": ("true",),
    "type": ("hidden",),
    "role": ("navigation", "contentinfo", "dialog"),
}
_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0*\.?0+(?:%|[a-z]+)?)"
    r"\s*(?:!\s*important\s*)?(?:;|$)",
    re.IGNORECASE,
)
SIGNS_CHARACTERS = 20_000
PIECES = 2000
_TEXTS = "//text()[not(parent::script or parent::style)]"
_IN_WORDS: dict[Sign, str] = {
    "challenge words": r"just a moment\b|(?:you(?:'re| are) (?:a )?|are you a )(?:human|robot)|not a (?:ro)?bot"
    r"|checking your browser|unusual traffic|automated (?:access|requests|queries)|security check|complete the captcha",
    "paywall words": r"(?:subscribe|sign up|register|log in|become a member) (?:now )?to (?:continue|keep|read|unlock)"
    r"|to (?:continue|keep) reading|(?:subscribers|members)[ -]only|(?:only|reserved) for (?:subscribers|members)",
    "script only": r"(?:enable|requires?|needs?|without) javascript|javascript (?:is|must be) \w*abled",
}
_IN_SOURCE: dict[Sign, str] = {
    "challenge script": r"captcha|/cdn-cgi/challenge-platform|challenges\.cloudflare\.com|_incapsula_resource|awswaf"
    r"|/_sec/cp_challenge|ddos-guard",
    "paywall mark": r"""isAccessibleForFree\\?["']\s*:\s*\\?["']?false"""
    r"""|itemprop=["']isAccessibleForFree["'][^>]{0,200}false""",
}
MOST_LINKS = 200
LOOKED_AT = 5000
LINK_CHARACTERS = 200
_VISIBLE = re.compile(r"https?://[^\s<>\"'`{}|\\^]+", re.IGNORECASE)
_AFTER_ADDRESS = ".,;:!?)]*_"
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


def drop_unseen(root: lxml.html.HtmlElement) -> None:
    """Remove hidden elements, and those around the content such as navigation, from a page."""
    unseen = [*root.iter(*_UNSEEN), *(element for element in root.xpath("//*[@*]") if _is_hidden(element))]
    for element in unseen:
        if element.getparent() is not None and element.tag != "body":
            element.drop_tree()


def _is_hidden(element: lxml.html.HtmlElement) -> bool:
    if any(element.get(name) is not None for name in _HIDING_ATTRIBUTES):
        return True
    if any(element.get(name, "").strip().lower() in values for name, values in _HIDING_VALUES.items()):
        return True
    return _HIDING_STYLE.search(element.get("style", "")) is not None


def signs_of(html: str, root: lxml.html.HtmlElement) -> tuple[Sign, ...]:
    """Return the signs that a page is a challenge, behind a paywall or made by scripts."""
    words = " ".join(" ".join(map(str, islice(root.xpath(_TEXTS), PIECES))).split())[:SIGNS_CHARACTERS]
    texts = (*((words, one) for one in _IN_WORDS.items()), *((html, one) for one in _IN_SOURCE.items()))
    return tuple(sign for text, (sign, pattern) in texts if re.search(pattern, text, re.IGNORECASE))


def anchors(root: lxml.html.HtmlElement, base: str) -> Iterator[Link]:
    """Return the first links of a page that have words, absolute."""
    for element in islice(root.iter("a"), LOOKED_AT):
        words = _link_words(element)
        there = _address(base, element.get("href", "").partition("#")[0])
        if words and there:
            yield Link(words, there)


def ordered_links(links: Iterable[Link], text: str, address: str) -> tuple[Link, ...]:
    """Return these links, first those whose words stand in the text, and the addresses that are written out there.

    Each leads to another page than `address`, and no two lead to the same.
    """
    # Lists of links are often no part of the text, and all that a page is for.
    line = _line(text)
    shown = sorted(links, key=lambda link: link.words not in line)
    written = (
        _address("", found.group().rstrip(_AFTER_ADDRESS)) for found in islice(_VISIBLE.finditer(text), LOOKED_AT)
    )
    unique: dict[str, Link] = {}
    for link in (*shown, *(Link("", there) for there in written if there)):
        unique.setdefault(link.address, link)
    unique.pop(str(parse_address(address)), None)
    return tuple(unique.values())[:MOST_LINKS]


def _address(base: str, reference: str) -> str:
    try:
        return str(join_address(base, reference)) if reference else ""
    except Unread:
        return ""


def _link_words(element: lxml.html.HtmlElement) -> str:
    text = ""
    # Cards hold a title and further paragraphs in one link.
    joint = " " if next(element.iter(*_BLOCKS, *_HEADINGS), None) is not None else ""
    for part in element.itertext():
        text += part + joint
        # Links inside links, thousands of them, would each hold the rest of the page.
        if len(text) > 2 * LINK_CHARACTERS:
            break
    return _line(clean(text))[:LINK_CHARACTERS].rstrip()


def parse_html(data: bytes, charset: str = "", address: str = "") -> Extract:
    """Return title, main text and stated date of a page; for one of the web also its links and signs."""
    html = _source(data, charset)
    root = _tree(html)
    title, date = _title(root), _date(root)
    signs = signs_of(html, root) if address else ()
    base = _base(root, address)
    drop_unseen(root)
    links = tuple(anchors(root, base)) if address else ()
    return Extract(title, _text(root, len(html)), date, len(data) > PAGE_BYTES, links, signs)


def whole_text(data: bytes, charset: str = "") -> str:
    """Return all that a reader sees of a page which is nothing but content: a chapter of a book, or a letter."""
    html = _source(data, charset)
    if not html.strip():
        return ""
    root = _tree(_CLOSED.sub(r"<\1\2></\1>", _DOCUMENT_TYPE.sub("", html, count=1)))
    drop_unseen(root)
    return _plain(root)


def _source(data: bytes, charset: str) -> str:
    declared = _CHARSET.search(data[:SEARCHED_BYTES])
    return clean(decode(data, charset or (declared.group(1).decode("ascii") if declared else ""), PAGE_BYTES))


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
    """Return when the page says that it was published; if it was changed long after that, when it was."""
    linked = list(_linked_data(root))
    published = [*_meta(root, _PUBLISHED), *(one.get("datePublished") for one in linked), *root.xpath(_TIMES)]
    changed = [*_meta(root, _CHANGED), *(one.get("dateModified") for one in linked)]
    first, last = (next(filter(None, map(_day, values)), "") for values in (published, changed))
    return last if not first or (last and int(last[:4]) - int(first[:4]) > _LIVING) else first


def _meta(root: lxml.html.HtmlElement, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield from map(str, root.xpath(f"//meta[{_NAME} = $name]/@content", name=name))


def _linked_data(root: lxml.html.HtmlElement) -> Iterator[dict[str, Any]]:
    """Yield what the page says of itself as a whole (JSON-LD): not of its parts, nor of reviews of what it sells."""
    for script in root.xpath(_LINKED_DATA):
        with suppress(ValueError):
            found = json.loads(str(script))
            nodes = found if isinstance(found, list) else [found]
            nodes += [one for node in nodes if isinstance(node, dict) for one in node.get("@graph") or ()]
            yield from (node for node in nodes if isinstance(node, dict))


def _day(stated: object) -> str:
    """Return the day, month or year that a field begins with (ISO 8601); empty if it is none."""
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
