"""Finds the publisher of a web page: its name and kind, as far as the page proves them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import lxml.html

from ...evidence.text.words import without_accents
from ._page_data import PageData, listed_nodes, name_parts, one_line, title_parts

if TYPE_CHECKING:
    from ...records.sources import Origin

_PUBLISHERS = ("citation.publisher", "dc.publisher", "dcterms.publisher", "og:site.name")
_SITES = ("application-name", "apple-mobile-web-app-title")
_AUTHORS = ("author", "article:author", "dc.creator")
"""Names of meta fields, most reliable first."""
_NAME_CHARACTERS = 80
"""Maximum length of a publisher's name."""
_LEAST_LETTERS = 3
"""Minimum number of letters of a name that is recognised in an address."""
_LEAST_LABEL = 5
"""Minimum number of letters of a domain that is recognised in a name."""
_MOST_MARKS = 5
_MARK_CHARACTERS = 300
"""Maximum number of marks of copyright that are read, and of characters of each."""
_SITE_TYPES = re.compile(r"organi[sz]ation|website|corporation", re.IGNORECASE)
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|copyright)[\s©]*(?:(?:19|20)\d\d)?(?:\s*[-–—]\s*(?:19|20)\d\d)?(?:\s*(?:by|,))?\s*"
    r"(?P<name>[^\d\s©|•·.,;:(][^\d©|•·.,;:(\n]{1,60})",
    re.IGNORECASE,
)
"""A name after the sign of copyright."""
_TYPES: dict[str, Origin] = {
    "scholarlyarticle": "scholarly",
    "newsarticle": "news",
    "newsmediaorganization": "news",
    "discussionforumposting": "forum",
    "qapage": "forum",
    "government": "official",
    "corporation": "company",
    "localbusiness": "company",
    "onlinestore": "company",
    "professionalservice": "company",
    "product": "company",
}
"""Kinds of publisher by schema.org and Open Graph type, the surest first."""


def publisher_of(root: lxml.html.HtmlElement, data: PageData, address: str) -> str:
    """Return the name of a page's publisher, as stated; empty if it states none.

    Names that only the title, the author or a mark of copyright states count if the address
    repeats them.
    """
    for name in _stated_names(data):
        name = _without_slogan(name, address)
        if name:
            return name[:_NAME_CHARACTERS]
    parts = title_parts(root)
    hinted = data.named(*_AUTHORS)
    if len(parts) > 1:
        hinted = [parts[-1], parts[0], *hinted]
    for words in root.xpath("//text()[contains(., '©') or contains(., 'opyright')]/..")[
        :_MOST_MARKS
    ]:
        found = _COPYRIGHT.search(one_line(words.text_content()[:_MARK_CHARACTERS]))
        if found:
            hinted.append(found["name"].strip())
    for name in hinted:
        if _is_in_host(name, address) and "/" not in name:
            return one_line(name)[:_NAME_CHARACTERS]
    return ""


def _stated_names(data: PageData) -> list[str]:
    """Return the names that the page's data call those of its publisher or site, surest first."""
    names = data.named(*_PUBLISHERS)
    by_id = {node.get("@id"): node.get("name") for node in data.linked}
    for node in data.linked:
        for publisher in listed_nodes(node.get("publisher")):
            name = publisher.get("name") or by_id.get(publisher.get("@id"))
            if isinstance(name, str):
                names.append(name)
    for node in data.linked:
        name = node.get("name")
        if isinstance(name, str) and _SITE_TYPES.search(str(node.get("@type"))):
            names.append(name)
    return [*names, *data.named(*_SITES)]


def _without_slogan(name: str, address: str) -> str:
    """Return the name of a site: the part that its address repeats, or else the whole."""
    if not any(map(str.isalpha, name)) or "/" in name:
        return ""
    for part in name_parts(name):
        if _is_in_host(part, address):
            return part
    return one_line(name)


def _is_in_host(name: str, address: str) -> bool:
    """Whether a host repeats the letters of a name or its initials, or the name those of the
    domain."""
    host = (urlsplit(address).hostname or "").removeprefix("www.")
    labels = host.split(".")
    words = re.findall(r"[a-z0-9]+", without_accents(name).lower())
    letters = "".join(words)
    if len(letters) < _LEAST_LETTERS:
        return False
    joint = re.sub(r"[^a-z0-9]", "", host)
    if letters in joint or letters.removeprefix("the") in joint:
        return True
    domain = re.sub(r"[^a-z0-9]", "", max(labels[:-1], key=len, default=""))
    if len(domain) >= _LEAST_LABEL and domain in letters:
        return True
    initials = "".join(word[0] for word in words)
    return len(initials) >= _LEAST_LETTERS and initials in labels


def origin_of(root: lxml.html.HtmlElement, data: PageData) -> Origin:
    """Return the kind of a page's publisher."""
    if any(name.startswith("citation.") for name in data.meta):
        return "scholarly"
    types = [*data.values("@type"), *data.named("og:type")]
    types += root.xpath("//html/@itemtype | //body/@itemtype | //article/@itemtype")
    types += root.xpath("//@itemtype[contains(., 'DiscussionForumPosting')]")[:1]
    stated = str(types).lower()
    for name, origin in _TYPES.items():
        if name in stated:
            return origin
    return "other"
