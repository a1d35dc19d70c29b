"""Parses web pages: visible main text, links, and what the page states about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import lxml.html
from lxml import etree

from ..addresses import Unread, doi_in, join_address, parse_address
from ._note_links import write_notes
from ._page_data import PageData, from_json, page_data
from ._page_date import page_date
from ._page_publisher import origin_of, publisher_of
from ._page_text import tree_text, write_links
from ._raised import END, FORMULA, resolve_raised
from ._tagged import CLOSED_TAG, NOT_XML, enclose, resolve_tags
from .decode import clean_text, decode
from .records import MOST_LINKS, Extract, PageLink, Sign, Unreadable

if TYPE_CHECKING:
    pass

_UNSEEN = (
    "script", "style", "noscript", "template", "iframe", "object", "svg", "annotation", "canvas",
    "audio", "video", "head", "select", "textarea", "input", "dialog", "nav", "footer", "aside",
    "noframes", "noembed", "datalist", "rp", "meter",
)  # fmt: skip
_OPENERS = (
    "//*[@aria-expanded or @role='tab' or @data-bs-toggle='collapse' or @data-toggle='collapse']"
)
_OPENING = ("aria-controls", "data-bs-target", "data-target", "href")
"""Buttons that reveal content when clicked, and their attributes that name it."""
_MAYBE_HIDDEN = "//*[@hidden or @popover or @inert or @aria-hidden or @type or @role or @style]"
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
_SIGNS_CHARACTERS = 20_000
_SIGNS_NODES = 2000
"""Only this many text nodes, and of their text this many characters, are searched for the words in
`SIGNS_IN_WORDS`."""
_TEXTS = "//text()[not(parent::script or parent::style)]"
SIGNS_IN_WORDS: dict[Sign, tuple[tuple[str, ...], str]] = {
    "challenge words": (
        (
            "just a moment",
            "human",
            "robot",
            "not a bot",
            "your browser",
            "unusual traffic",
            "automated ",
            "security check",
            "captcha",
        ),
        r"just a moment\b|(?:you(?:'re| are) (?:a )?|are you a )(?:human|robot)"
        r"|not a (?:ro)?bot|checking your browser|unusual traffic"
        r"|automated (?:access|requests|queries)|security check|complete the captcha",
    ),
    "paywall words": (
        ("to continue", "to keep", "to read", "to unlock", "subscribers", "members"),
        r"(?:subscribe|sign up|register|log in|become a member) "
        r"(?:now )?to (?:continue|keep|read|unlock)|to (?:continue|keep) reading"
        r"|(?:subscribers|members)[ -]only|(?:only|reserved) for (?:subscribers|members)",
    ),
    "script only": (
        ("javascript",),
        r"(?:enable|requires?|needs?|without) javascript|javascript (?:is|must be) \w*abled",
    ),
}
"""For each sign the words of which its pattern needs one, and the pattern."""
_CHALLENGES = (
    "captcha", "/cdn-cgi/challenge-platform", "challenges.cloudflare.com", "_incapsula_resource",
    "awswaf", "/_sec/cp_challenge", "ddos-guard",
)  # fmt: skip
"""Parts of the addresses of scripts that bot challenges use."""
_PAYWALL = (
    r"""isaccessibleforfree\\?["']\s*:\s*\\?["']?false"""
    r"""|itemprop=["']isaccessibleforfree["'][^>]{0,200}false"""
)
_MOST_EXAMINED = 5000
"""Maximum number of link elements, and of addresses written in the text, to examine on a page."""
_CARD_BLOCKS = ("div", "p", "li", "h1", "h2", "h3", "h4", "h5", "h6")
_LINK_CHARACTERS = 200
"""Maximum length of a link's words."""
_VISIBLE = re.compile(r"https?://[^\s<>\"'`{}|\\^]+", re.IGNORECASE)
_SEARCHED_BYTES = 4096
_PAGE_BYTES = 20_000_000
_STATED_TIMES = 2
"""Text from script data replaces the visible text if it is at least this many times as long."""
_SENTENCE_WORDS = 8
"""A string in script data with at least this many words counts as content, whatever its key."""
_CHARSET = re.compile(rb"""charset\s*=[\s"']*([\w.:-]+)""", re.IGNORECASE)
_DOIS = ("citation.doi", "prism.doi", "dc.identifier", "bepress.citation.doi")
"""Names of meta fields, most reliable first."""
_BODIES = frozenset(
    (
        "articleBody",
        "body",
        "content",
        "description",
        "heading",
        "headline",
        "html",
        "text",
        "title",
    )
)
_MARKUP = re.compile(r"</?(?:p|br|div|h[1-6]|li|table|span)\b[^<>]*>")
_QUOTE_START, _QUOTE_END = "\ufdd7", "\ufdd8"
"""Characters put into the tree around quotations."""
_DOCUMENT_TYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_LITTLE_TEXT = 250
"""A page with fewer characters than this is kept whole."""
_LEAST_SHARE = 0.2
"""Minimum share of the page's text that must remain; otherwise the whole page is kept."""
_MAIN_SHARE = 0.3
"""Minimum share of the page's text that must be inside `<main>` or `<article>` for it to be the
main content."""
_LINKED_SHARE = 0.6
"""A block with a higher share of link text is navigation."""
_LINKS = 2
"""Minimum number of links in navigation."""
_BLOCKS = frozenset(
    (
        "div",
        "section",
        "ul",
        "ol",
        "form",
        "article",
        "header",
        "dl",
        "p",
        "li",
        "figure",
        "center",
        "details",
    )
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


def drop_unseen(root: lxml.html.HtmlElement) -> None:
    """Remove hidden elements from a page, and elements around the content such as navigation.

    Content that a click reveals is kept, with the text of its button.
    """
    openers = root.xpath(_OPENERS)
    opened = set[str]()
    for opener in openers:
        for attribute in _OPENING:
            for name in opener.get(attribute, "").split():
                opened.add(name.removeprefix("#"))
    unseen = list(root.iter(*_UNSEEN))
    unseen += [button for button in root.iter("button") if button not in openers]
    for element in root.xpath(_MAYBE_HIDDEN):
        if _is_hidden(element) and element.get("id") not in opened and not _is_formula(element):
            unseen.append(element)
    for element in unseen:
        if element.getparent() is not None and element.tag != "body":
            element.drop_tree()


def _is_formula(element: lxml.html.HtmlElement) -> bool:
    """Whether an element is only a formula, which a page hides if it shows a picture of it."""
    words = str(element.text_content()).strip()
    return words.startswith(FORMULA) and words.endswith(END)


def _is_hidden(element: lxml.html.HtmlElement) -> bool:
    """Whether the attributes of an element hide it."""
    for name in ("hidden", "popover", "inert"):
        if element.get(name) is not None:
            return True
    for name, values in _HIDING_VALUES.items():
        if element.get(name, "").strip().lower() in values:
            return True
    return _HIDING_STYLE.search(element.get("style", "")) is not None


def signs_of(html: str, root: lxml.html.HtmlElement) -> tuple[Sign, ...]:
    """Return the signs that a page is a bot challenge, paid, or built by scripts.

    They are in its source and its words.
    """
    texts = map(str, islice(root.xpath(_TEXTS), _SIGNS_NODES))
    words = _line(" ".join(texts))[:_SIGNS_CHARACTERS].lower()
    signs = list[Sign]()
    # Finding a fixed string is much faster than matching a pattern.
    for sign, (needed, pattern) in SIGNS_IN_WORDS.items():
        if any(word in words for word in needed) and re.search(pattern, words):
            signs.append(sign)
    source = html.lower()
    if any(name in source for name in _CHALLENGES):
        signs.append("challenge script")
    if "isaccessibleforfree" in source and re.search(_PAYWALL, source):
        signs.append("paywall mark")
    return tuple(signs)


def anchors(root: lxml.html.HtmlElement, base: str) -> Iterator[PageLink]:
    """Yield the links that have a text, with absolute addresses.

    Only the first 5000 elements are examined.
    """
    for element in islice(root.iter("a"), _MOST_EXAMINED):
        # Such a link is around a whole card, with a heading and paragraphs whose words must not be
        # joined.
        has_blocks = next(element.iter(*_CARD_BLOCKS), None) is not None
        text = ""
        for part in element.itertext():
            text += part
            if has_blocks:
                text += " "
            # Each of thousands of nested links would contain the rest of the page.
            if len(text) > 2 * _LINK_CHARACTERS:
                break
        words = _line(resolve_raised(clean_text(text), ()))[:_LINK_CHARACTERS].rstrip()
        address = _address(base, element.get("href", "").partition("#")[0])
        if words and address:
            yield PageLink(words, address)


def ordered_links(links: Iterable[PageLink], text: str, address: str) -> tuple[PageLink, ...]:
    """Return distinct links to pages other than `address`.

    Those in the text come first, and addresses written in it last.
    """
    # Links outside the main text are included, because some pages are only lists of links.
    line = _line(text)
    ordered = sorted(links, key=lambda link: link.words not in line)
    for match in islice(_VISIBLE.finditer(text), _MOST_EXAMINED):
        written = _address("", match[0].rstrip(".,;:!?)]*_"))
        if written:
            ordered.append(PageLink("", written))
    distinct = dict[str, PageLink]()
    for link in ordered:
        distinct.setdefault(link.address, link)
    distinct.pop(str(parse_address(address)), None)
    return tuple(distinct.values())[:MOST_LINKS]


def _address(base: str, reference: str) -> str:
    if not reference:
        return ""
    try:
        return str(join_address(base, reference))
    except Unread:
        return ""


def parse_html(
    data: bytes,
    charset: str = "",
    address: str = "",
    *,
    keeps_links: bool = False,
    today: str = "",
) -> Extract:
    """Return title, main text, stated date and publisher of a page.

    If `address` is given, also links and `signs_of`. `charset` is the one that the server
    declared; dates after `today` (ISO) do not count. With `keeps_links`, links and footnotes are
    written as Markdown.
    """
    html = _source(data, charset)
    root = _tree(html)
    notes = list[lxml.html.HtmlElement]()
    if keeps_links:
        notes = write_notes(root)
        write_links(root)
    resolve_tags(root)
    page = page_data(root)
    title = _title(root)
    origin = origin_of(root, page)
    publisher = publisher_of(root, page, address)
    dated = page_date(root, page, title, address, today, is_thread=origin == "forum")
    dois = map(doi_in, page.named(*_DOIS))
    doi = next(filter(None, dois), "")
    signs: tuple[Sign, ...] = ()
    if address:
        signs = signs_of(html, root)
    base = _base(root, address)
    stated = _stated_text(root, page)
    drop_unseen(root)
    links: tuple[PageLink, ...] = ()
    if address:
        links = tuple(anchors(root, base))
    main = main_content(root)
    for note in notes:
        if main not in note.iterancestors():
            main.append(note)
    text = tree_text(main)
    if len(stated) > _STATED_TIMES * len(text):
        text = stated
        if title not in stated[: len(title) + 10]:
            text = f"# {title}\n\n{stated}"
    return Extract(
        title=title,
        text=text,
        date=dated.date,
        is_cut=len(data) > _PAGE_BYTES,
        links=links,
        signs=signs,
        date_kind=dated.kind,
        is_update=dated.is_update,
        origin=origin,
        publisher=publisher,
        doi=doi,
    )


def _base(root: lxml.html.HtmlElement, address: str) -> str:
    """Return the address to which the links of a page are relative."""
    for reference in root.xpath("//base/@href"):
        return _address(address, str(reference)) or address
    return address


def _stated_text(root: lxml.html.HtmlElement, data: PageData) -> str:
    """Return the article as the page's JSON-LD or Next.js data contains it, for its scripts."""
    texts = dict[str, None]()
    for script in root.xpath("//script[@id='__NEXT_DATA__']/text()"):
        texts |= dict.fromkeys(_texts_in(from_json(str(script))))
    longest = ""
    for node in data.linked:
        body = _shown(str(node.get("articleBody") or ""))
        longest = max(longest, body, key=len)
    return max(longest, "\n\n".join(map(_shown, texts)), key=len)


def visible_text(data: bytes, charset: str = "", *, marks_quotes: bool = False) -> str:
    """Return all visible text of HTML without navigation: a book chapter or an e-mail.

    With `marks_quotes`, lines of quotations begin with `>`, as in plain e-mails.
    """
    html = _source(data, charset)
    if not html.strip():
        return ""
    html = _DOCUMENT_TYPE.sub("", html, count=1)
    root = _tree(CLOSED_TAG.sub(r"<\1\2></\1>", html))
    resolve_tags(root)
    drop_unseen(root)
    if not marks_quotes:
        return tree_text(root)
    for quote in root.iter("blockquote"):
        enclose(quote, _QUOTE_START, _QUOTE_END)
    return _with_quote_marks(tree_text(root))


def _with_quote_marks(text: str) -> str:
    """Replace the characters around quotations with marks at the beginnings of lines."""
    lines = list[str]()
    depth = 0
    previous_depth = 0
    is_apart = False
    for line in text.split("\n"):
        depth += line.count(_QUOTE_START)
        words = line.replace(_QUOTE_START, "").replace(_QUOTE_END, "")
        if words.strip():
            if is_apart and lines:
                lines.append(("> " * min(depth, previous_depth)).rstrip())
            lines.append("> " * depth + words)
            previous_depth = depth
        is_apart = not words.strip()
        depth -= line.count(_QUOTE_END)
    return "\n".join(lines)


def _texts_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the strings in script data that are content.

    They are those under one of the keys `_BODIES`, and sentences.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts_in(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner, name)
    elif isinstance(value, str):
        is_sentence = len(value.split()) >= _SENTENCE_WORDS
        if is_sentence or (name in _BODIES and " " in value):
            yield value


def _shown(text: str) -> str:
    """Return the visible text of a string that may contain HTML."""
    if _MARKUP.search(text):
        return visible_text(text.encode())
    return text.strip()


def _source(data: bytes, charset: str) -> str:
    declared = _CHARSET.search(data[:_SEARCHED_BYTES])
    if declared and not charset:
        charset = declared[1].decode("ascii")
    text = decode(data, charset, _PAGE_BYTES)
    # Other unwanted characters are removed later from the text, which is only a tenth of the
    # source.
    return NOT_XML.sub(" ", text)


def _tree(html: str) -> lxml.html.HtmlElement:
    parser = lxml.html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        # As bytes, because lxml refuses strings that declare an encoding.
        return lxml.html.document_fromstring(html.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise Unreadable("empty", "there is no text in it") from error


def _title(root: lxml.html.HtmlElement) -> str:
    cited = map(str, root.xpath("//meta[@name='citation_title']/@content"))
    named = _line(root.findtext(".//title") or "")
    headings = list[str]()
    for heading in root.iter("h1"):
        words = _line(heading.text_content())
        if words:
            headings.append(words)
    titles = list(map(_line, cited))
    titles += [heading for heading in headings if heading in named]
    if len(headings) == 1:
        titles += [*headings, named]
    else:
        titles += [named, *headings]
    return next(filter(None, titles), "")


def _line(text: str) -> str:
    return " ".join(text.split())


class _Size(NamedTuple):
    """An element's number of characters, of characters in links, and of links."""

    text: int = 0
    linked: int = 0
    links: int = 0


def main_content(root: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """Return the element with the main content of a page, from which boilerplate has been removed.

    Returns `root` unchanged if little would be left, since the page is then an index or a thread of
    comments.
    """
    sizes = _sizes(root)
    main = _stated_main(root, sizes)
    boilerplate = list[lxml.html.HtmlElement]()
    walk = etree.iterwalk(main, events=("start",))
    for _, element in walk:
        if element is not main and _is_boilerplate(element, sizes[element], sizes[main]):
            boilerplate.append(element)
            walk.skip_subtree()
    rest = sizes[main].text - sum(sizes[element].text for element in boilerplate)
    if rest < max(_LITTLE_TEXT, _LEAST_SHARE * sizes[root].text):
        return root
    for element in boilerplate:
        element.drop_tree()
    return main


def _stated_main(
    root: lxml.html.HtmlElement, sizes: dict[etree._Element, _Size]
) -> lxml.html.HtmlElement:
    """Return the only element that the page marks as its main content; `root` if there is none."""
    least = max(_LITTLE_TEXT, _MAIN_SHARE * sizes[root].text)
    for path in ("//main | //*[@role='main']", "//article"):
        elements = root.xpath(path)
        if len(elements) == 1 and sizes[elements[0]].text >= least:
            return elements[0]
    return root


def _is_boilerplate(element: lxml.html.HtmlElement, size: _Size, main_size: _Size) -> bool:
    """Whether an element within the main content does not belong to it."""
    if element.tag not in _BLOCKS or not size.text:
        return False
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if _NAMES.search(names) and 2 * size.text < main_size.text:
        return element.find(".//th") is None
    if element.tag in ("p", "li"):
        return False
    return size.links >= _LINKS and size.linked > _LINKED_SHARE * size.text


def _sizes(root: lxml.html.HtmlElement) -> dict[etree._Element, _Size]:
    """Return the size of every element, including the elements inside it."""
    sizes = dict[etree._Element, _Size]()
    for element in reversed(list(root.iter(etree.Element))):
        text = len((element.text or "").strip())
        linked = 0
        links = 0
        for child in element:
            inner = sizes.get(child, _Size())
            text += inner.text + len((child.tail or "").strip())
            linked += inner.linked
            links += inner.links
        if element.tag == "a":
            linked = text
            links = 1
        sizes[element] = _Size(text, linked, links)
    return sizes
