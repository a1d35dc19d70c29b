"""Finds what a web page states about itself: its publisher, the kind of publisher, and its date
with the kind of date."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import lxml.html
from lxml import etree

from ...evidence.text.words import dates_in, without_accents
from ._dating import DAY, Label, PageDate, calls_other, page_dates

if TYPE_CHECKING:
    from ...records.sources import DateKind, Origin

_PUBLISHED = (
    "article:published.time", "article:published", "citation.publication.date", "citation.date",
    "citation.online.date", "datepublished", "dc.date.issued", "dcterms.issued", "sailthru.date",
    "parsely-pub-date", "publish-date", "pubdate", "date", "dc.date", "dcterms.date",
    "dcterms.created",
)  # fmt: skip
_CHANGED = (
    "article:modified.time", "og:updated.time", "datemodified", "dcterms.modified",
    "dc.date.modified", "last-modified",
)  # fmt: skip
"""Names of meta fields, most reliable first."""
_PUBLISHERS = ("citation.publisher", "dc.publisher", "dcterms.publisher", "og:site.name")
_NAME_CHARACTERS = 80
"""Maximum length of a publisher's name."""
_TYPES: dict[str, Origin] = {
    "scholarlyarticle": "scholarly",
    "newsarticle": "news",
    "newsmediaorganization": "news",
    "discussionforumposting": "forum",
    "qapage": "forum",
    "government": "official",
    "corporation": "company",
    "product": "company",
}
"""Kinds of publisher by schema.org and Open Graph type."""
_ARTICLE = re.compile(
    r"article|posting|report|question|dataset|recipe|howto|qapage|book|thesis", re.IGNORECASE
)
"""Types of JSON-LD nodes whose dates are those of a text, and not of the page around it."""
_NO_TEXT = re.compile(
    r"product|itempage|collectionpage|itemlist|searchresults|event\b", re.IGNORECASE
)
"""Types of pages whose dates are of what they offer, or say nothing about it."""
_LIVING_YEARS = 2
"""A page that was changed more than this many years after its publication, as an encyclopedia is,
gets the date of the change."""
_PARTS = re.compile(r"\s+[|•·:»«–—-]+\s+|\s*[|»«]\s*|:\s+")
"""What separates the name of a site from the title of a page."""
_STATED = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?![\d/.-])")
_IN_ADDRESS = re.compile(r"/((?:19|20)\d\d)[/-](\d\d?)[/-](\d\d?)(?=[/-]|$)")
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "data",
        "em",
        "font",
        "i",
        "label",
        "mark",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
    ]
)
_SILENT = frozenset(
    ["script", "style", "noscript", "template", "svg", "head", "iframe", "select", "textarea"]
)
_APART = re.compile(
    r"(?:^|[\s_-])(?:comments?|comment-?list|disqus|respond|replies|related|recommend\w*"
    r"|more-?stories|read-?more|side-?bar|widgets?|menu|nav|navigation|navbar|popular|trending"
    r"|latest|teasers?|promo|events?|calendar|outbrain|taboola|ticker|cookies?|consent)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Class names and ids of what stands on a page beside its content."""
_ABOVE = 6
_BELOW = 14
"""Numbers of lines of content above and below the title in which the date of a page stands."""
_CLOSE_ABOVE = 3
_CLOSE_BELOW = 5
"""The same for a date without a label or other sign."""
_ALONE_BELOW = 10
"""The same below the title if there is no other such date."""
_FAR = 60
"""Maximum number of lines between the title and the date."""
_CHARACTERS = 2500
"""Maximum number of characters between the title and the date."""
_LINE = 300
"""Maximum number of characters of a line that are read."""
_LABEL = 40
"""Maximum length of a line that only says what the date in the next line is."""
_MOST_LABELLED = 2
"""Maximum number of different labelled days in the content that can be those of the page."""
_MOST_PLAIN = 2
"""Maximum number of different days near the title if none has a label."""
_ORDER_CHARACTERS = 4000
"""Number of characters of a page whose dates tell the order of day and month."""
_BORROWED = ("ai", "co", "fm", "io", "ly", "me", "to", "tv")
"""Country domains that are used in all countries."""
_EARLIEST = "1995"
_LEAST_ALIKE = 0.5
"""Minimum share of common words of a title and the element that shows it."""
_LEAST_WORDS = 2
"""Minimum number of words of such a title."""
_MOST_EXAMINED = 3000
"""Maximum number of elements in which the title is sought."""
LinkedData = list[dict[str, Any]]
Meta = dict[str, list[str]]


class PageFacts(NamedTuple):
    """What a web page states about itself; each fact may be missing."""

    date: str = ""
    """ISO date, perhaps without day or month."""
    date_kind: DateKind = ""
    is_update: bool = False
    """Whether the date is that of an update."""
    origin: Origin = "other"
    """Kind of its publisher."""
    publisher: str = ""
    """Name of its publisher."""


class _Line(NamedTuple):
    """A line of a page as a reader sees it."""

    text: str
    zone: Literal["main", "apart", "footer"]
    stamp: str
    """Day in the attribute of a `<time>` in it (ISO); empty if there is none."""
    is_title: bool


class _Seen(NamedTuple):
    """A date that a reader of the page sees."""

    day: str
    label: Label
    distance: int
    """Lines of content from the title to it; negative above the title."""


class _Stated(NamedTuple):
    """Dates in the page's head, data and address, most reliable first."""

    published: list[str]
    changed: list[str]
    of_page: list[str]
    """When the page around the text was made or changed."""

    @property
    def all(self) -> list[str]:
        """All of them."""
        return [*self.published, *self.changed, *self.of_page]


class _Visible(NamedTuple):
    """The dates that a reader of the page sees, those nearest below the title first."""

    near: list[_Seen]
    """Those about the title."""
    labelled: list[_Seen]
    """Labelled ones elsewhere in the content."""
    footer: list[_Seen]
    """Labelled ones in the footer."""


def page_facts(
    root: lxml.html.HtmlElement,
    linked: LinkedData,
    meta: Meta,
    title: str,
    address: str,
    today: str,
) -> PageFacts:
    """Return what a page states about itself. Dates after `today` (ISO) do not count."""
    today = today or "9999"
    origin = _origin(root, linked, meta)
    stated = _stated(root, linked, meta, address, today)
    visible = _visible(_lines(root, title), stated, _day_comes_first(root, address), today)
    if origin == "forum":
        # Threads are changed with each reply.
        stated = stated._replace(changed=[])
        visible = _of_thread(visible, stated)
    is_text = _is_text(linked, meta, address)
    dated = _date(visible, stated, is_text=is_text, is_own=not address)
    return dated._replace(origin=origin, publisher=_publisher(root, linked, meta, address))


def _date(visible: _Visible, stated: _Stated, *, is_text: bool, is_own: bool) -> PageFacts:
    """Return the date of a page with its kind; empty if what it states is not sure.

    What a reader sees decides, with the page's data to confirm it. Data that nobody sees count if
    the page is a text (`is_text`), and not the front or a product of a site; a change that only
    they state counts in a file of the user (`is_own`), as servers note each of their own.
    """
    published = list[str]()
    if is_text:
        published = _labelled(visible, "publication")
    updated = _labelled(visible, "update")
    as_of = _labelled(visible, "as_of")
    plain = [seen.day for seen in visible.near if seen.label in ("", "document")]
    confirmed = [day for day in plain if _is_at(day, stated.published)]
    changed = [day for day in plain if _is_at(day, stated.changed)]
    first = [*published, *confirmed][:1]
    if first and updated and _is_living(first[0], max(updated)):
        return PageFacts(max(updated), "publication", is_update=True)
    if first:
        return PageFacts(first[0], "publication")
    if updated:
        for day in stated.published:
            if _is_at(day, [max(updated)]):
                return PageFacts(day, "publication")
        return PageFacts(max(updated), "publication", is_update=True)
    if as_of:
        return PageFacts(as_of[0], "as_of")
    if changed and stated.published:
        return PageFacts(changed[0], "publication", is_update=True)
    if stated.published and is_text:
        if stated.changed and _is_living(stated.published[0], stated.changed[0]):
            return PageFacts(stated.changed[0], "publication", is_update=True)
        return PageFacts(stated.published[0], "publication")
    if changed:
        return PageFacts(changed[0], "document")
    alone = _only_plain(visible)
    if alone and is_text:
        return PageFacts(alone, "document")
    if stated.changed and is_own:
        return PageFacts(stated.changed[0], "publication", is_update=True)
    if len({seen.day for seen in visible.footer}) == 1:
        last = visible.footer[0]
        return PageFacts(last.day, "publication", is_update=last.label == "update")
    return PageFacts()


def _labelled(visible: _Visible, label: Label) -> list[str]:
    """Return the days with this label in a page's content."""
    return [seen.day for seen in (*visible.near, *visible.labelled) if seen.label == label]


def _only_plain(visible: _Visible) -> str:
    """Return the day close to the title that nothing calls another; empty if there are many."""
    plain = [seen for seen in visible.near if seen.label in ("", "document")]
    if len({seen.day for seen in plain}) > _MOST_PLAIN:
        return ""
    for seen in plain:
        if -_CLOSE_ABOVE <= seen.distance <= _CLOSE_BELOW:
            return seen.day
    below = {seen.day for seen in plain if 0 < seen.distance <= _ALONE_BELOW}
    return below.pop() if len(below) == 1 else ""


def _of_thread(visible: _Visible, stated: _Stated) -> _Visible:
    """Return the visible dates that can be those of a thread's first post."""
    near = [seen for seen in visible.near if _is_at(seen.day, stated.published[:1])]
    return _Visible([seen._replace(label="") for seen in near], [], [])


def _is_living(published: str, changed: str) -> bool:
    """Whether a page was changed so long after its publication that the change is its date."""
    return int(changed[:4]) - int(published[:4]) > _LIVING_YEARS


def _is_at(day: str, days: Iterable[str]) -> bool:
    """Whether a day is one of these, or next to one, as in another time zone."""
    own = date.fromisoformat(day)
    for other in days:
        if len(other) == DAY and abs((date.fromisoformat(other) - own).days) <= 1:
            return True
    return False


def _is_text(linked: LinkedData, meta: Meta, address: str) -> bool:
    """Whether a page is a text of its own, such as an article: not a site's front page, and not a
    product or list."""
    path = urlsplit(address).path.strip("/")
    if address and (not path or re.fullmatch(r"(?:index|home)\.\w+|[a-z]{2}", path)):
        return False
    types = str(_values(linked, "@type"))
    if _ARTICLE.search(types):
        return True
    return not _NO_TEXT.search(f"{types} {named(meta, ('og:type',))}")


def _visible(
    lines: Sequence[_Line], stated: _Stated, is_day_first: bool | None, today: str
) -> _Visible:
    """Return the dates that a reader of the page sees."""
    near = list[_Seen]()
    labelled = list[_Seen]()
    footer = list[_Seen]()
    at = next((index for index, line in enumerate(lines) if line.is_title), None)
    text = " ".join(line.text for line in lines)[:_ORDER_CHARACTERS]
    for index, line in enumerate(lines):
        if line.is_title and not line.stamp:
            # It may name the day of an event.
            continue
        zone = line.zone
        if zone == "apart" and at is not None and at < index <= at + _CLOSE_BELOW:
            # Between the title and the text there is little that belongs to other pages.
            zone = "main"
        distance = _distance(lines, at, index)
        for dated in _dates_of(lines, index, text):
            day = _sure_day(dated.readings, stated, is_day_first)
            if not _EARLIEST < day <= today:
                continue
            seen = _Seen(day, dated.label, distance)
            if zone == "main" and -_ABOVE <= distance <= _BELOW:
                near.append(seen)
            elif seen.label not in ("publication", "update"):
                continue
            elif zone == "footer":
                footer.append(seen)
            elif zone == "main" and (_is_at(day, stated.all) or not stated.all):
                labelled.append(seen)
    # A date below the title rather belongs to it than one above.
    near.sort(key=lambda seen: seen.distance if seen.distance > 0 else _BELOW - seen.distance)
    if len({seen.day for seen in labelled}) > _MOST_LABELLED:
        # They belong to the parts of a list.
        labelled = []
    return _Visible(near, labelled, footer)


def _distance(lines: Sequence[_Line], at: int | None, index: int) -> int:
    """Return the number of lines of content from the title to a line; far without a title."""
    if at is None:
        return _FAR
    first, last = sorted((at, index))
    between = lines[first:last]
    if last - first >= _FAR or sum(len(line.text) for line in between) > _CHARACTERS:
        return _FAR
    distance = sum(line.zone == "main" for line in between)
    return max(1, distance) if index > at else -distance


def _dates_of(lines: Sequence[_Line], index: int, text: str) -> list[PageDate]:
    """Return the days in a line; their label may be the line before."""
    line = lines[index]
    found = page_dates(line.text[:_LINE], text)
    if found and not found[0].label:
        before = _words_before(lines, index)
        with_label = page_dates(f"{before} {line.text[:_LINE]}", text)
        if calls_other(before):
            return []
        if with_label and with_label[0].label:
            return with_label
    if found or not line.stamp:
        return found
    # It is shown in words such as "two days ago".
    return [PageDate((line.stamp,), "")]


def _words_before(lines: Sequence[_Line], index: int) -> str:
    """Return the line before a date if it may say what the date is; otherwise empty."""
    for previous in reversed(lines[max(0, index - 2) : index]):
        if any(map(str.isalnum, previous.text)):
            is_label = len(previous.text) <= _LABEL and not previous.is_title
            return previous.text if is_label and not re.search(r"\d", previous.text) else ""
    return ""


def _sure_day(readings: tuple[str, ...], stated: _Stated, is_day_first: bool | None) -> str:
    """Return the day that a written date means; empty if that is not sure."""
    if len(readings) == 1:
        return readings[0]
    for reading in readings:
        if reading in stated.all:
            return reading
    if is_day_first is None:
        return ""
    return readings[0] if is_day_first else readings[1]


def _day_comes_first(root: lxml.html.HtmlElement, address: str) -> bool | None:
    """Whether the day comes first where the page is from; None if that is unknown."""
    language = root.get("lang", "").lower().replace("_", "-")
    country = (urlsplit(address).hostname or "").rpartition(".")[2]
    if len(country) == 2 and country not in _BORROWED:
        return country != "us"
    if language == "en-us":
        return False
    if language and language != "en":
        return True
    return None


class _Reader:
    """Collects the lines of a page while its tree is walked."""

    def __init__(self, heading: lxml.html.HtmlElement | None) -> None:
        self.lines = list[_Line]()
        self._heading = heading
        self._around = set[etree._Element]()
        if heading is not None:
            self._around = {heading, *heading.iterancestors()}
        self._apart = list[etree._Element]()
        self._words = list[str]()
        self._stamp = ""
        self._is_title = False

    def start(self, element: lxml.html.HtmlElement) -> None:
        """Read the start of an element."""
        if element.tag in _INLINE:
            self._words.append(" ")
        else:
            self.end_line()
        if element not in self._around and _is_apart(element):
            self._apart.append(element)
        if element is self._heading:
            self._is_title = True
        if element.tag == "time" and not self._stamp:
            stamp = _day(element.get("datetime"))
            if len(stamp) == DAY:
                self._stamp = stamp
        self._words.append(element.text or "")

    def end(self, element: lxml.html.HtmlElement) -> None:
        """Read the end of an element."""
        if element.tag in _INLINE:
            self._words.append(" ")
        elif element.tag not in _SILENT:
            self.end_line()
        if self._apart and self._apart[-1] is element:
            self._apart.pop()
        self._words.append(element.tail or "")

    def end_line(self) -> None:
        """Add the line read so far."""
        text = _line("".join(self._words))
        self._words.clear()
        if not text:
            return
        zone: Literal["main", "apart", "footer"] = "main"
        if any(element.tag == "footer" for element in self._apart):
            zone = "footer"
        elif self._apart:
            zone = "apart"
        self.lines.append(_Line(text, zone, self._stamp, self._is_title))
        self._stamp = ""
        self._is_title = False


def _lines(root: lxml.html.HtmlElement, title: str) -> list[_Line]:
    """Return the lines of a page in order."""
    reader = _Reader(_heading(root, title))
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            reader.end(element)
        elif element.tag in _SILENT:
            walk.skip_subtree()
        else:
            reader.start(element)
    reader.end_line()
    return reader.lines


def _is_apart(element: lxml.html.HtmlElement) -> bool:
    """Whether an element stands beside the content of a page."""
    if element.tag in ("nav", "aside", "footer"):
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    return element.tag not in ("html", "body", "main") and bool(_APART.search(names))


def _heading(root: lxml.html.HtmlElement, title: str) -> lxml.html.HtmlElement | None:
    """Return the element that shows a page's title: a heading, or else any other; None if there
    is none."""
    parts = _PARTS.split(_line(root.findtext(".//title") or ""))
    wanted = [{*_words(words)} for words in (title, " ".join(parts), *parts)]
    for tags in (("h1",), ("h2", "h3"), ("p", "div", "td", "strong", "b", "span")):
        best = None
        most = _LEAST_ALIKE
        for element in islice(root.iter(*tags), _MOST_EXAMINED):
            if tags[0] == "p" and len(element) > 1:
                continue
            alike = _likeness(str(element.text_content())[:_LINE], wanted)
            if alike > most:
                best = element
                most = alike
        if best is not None:
            return best
    headings = list(root.iter("h1"))
    return headings[0] if len(headings) == 1 else None


def _likeness(text: str, wanted: Iterable[set[str]]) -> float:
    """Return the highest share of words that a text has in common with one of these titles."""
    words = {*_words(text)}
    shares = [0.0]
    for own in wanted:
        if len(own) >= _LEAST_WORDS:
            shares.append(len(words & own) / len(words | own))
    return max(shares)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _stated(
    root: lxml.html.HtmlElement, linked: LinkedData, meta: Meta, address: str, today: str
) -> _Stated:
    """Return the dates in the page's head, data and address."""
    published: list[object] = [*named(meta, _PUBLISHED[:2])]
    changed = list[object]()
    of_page = list[object]()
    for node in linked:
        if "@type" not in node or _ARTICLE.search(str(node["@type"])):
            published += [node.get("datePublished"), node.get("dateCreated")]
            changed.append(node.get("dateModified"))
        else:
            of_page += [node.get("datePublished"), node.get("dateModified")]
    published += named(meta, _PUBLISHED[2:])
    for name in ("datePublished", "dateCreated"):
        # Further ones are those of comments.
        for element in root.xpath(f"//*[@itemprop='{name}']")[:1]:
            published.append(element.get("datetime") or element.get("content") or element.text)
    published += root.xpath("//time[@pubdate]/@datetime")[:1]
    match = _IN_ADDRESS.search(urlsplit(address).path)
    if match:
        published.append("-".join(match.groups()))
    changed += named(meta, _CHANGED)
    for element in root.xpath("//*[@itemprop='dateModified']")[:1]:
        changed.append(element.get("datetime") or element.get("content"))
    return _Stated(_days(published, today), _days(changed, today), _days(of_page, today))


def _days(values: Iterable[object], today: str) -> list[str]:
    """Return the dates in these values that can be those of a web page, until today."""
    days = list[str]()
    for value in values:
        day = _day(value)
        if not day and value:
            written = next(dates_in(str(value)[:_LABEL]), None)
            day = written.iso if written else ""
        if _EARLIEST < day <= today:
            days.append(day)
    return days


def _publisher(root: lxml.html.HtmlElement, linked: LinkedData, meta: Meta, address: str) -> str:
    """Return the name of a page's publisher, as stated; empty if it states none.

    A name without any sign that it belongs to the site's address or data is not one.
    """
    stated = named(meta, _PUBLISHERS)
    names = dict[object, str]()
    for node in linked:
        if node.get("@id") and node.get("name"):
            names[node["@id"]] = str(node["name"])
    of_site = list[str]()
    for node in linked:
        for publisher in _listed_nodes(node.get("publisher")):
            name = publisher.get("name") or names.get(publisher.get("@id"), "")
            stated.append(_text(name))
        if re.search(r"organization|website|corporation", str(node.get("@type")), re.IGNORECASE):
            of_site.append(_text(node.get("name")))
    stated += [*of_site, *named(meta, ("application-name", "apple-mobile-web-app-title"))]
    for name in stated:
        name = _short_name(_line(name), address)
        if name:
            return name[:_NAME_CHARACTERS]
    return _name_in_title(_line(root.findtext(".//title") or ""), address)


def _short_name(name: str, address: str) -> str:
    """Return a site's name without its slogan: the part that its address repeats, if any."""
    if not any(map(str.isalpha, name)):
        return ""
    for part in _PARTS.split(name):
        if _is_in_host(part, address):
            return part
    return name


def _name_in_title(title: str, address: str) -> str:
    """Return the site's name at the end or beginning of a title; empty if the address lacks it."""
    parts = _PARTS.split(title)
    if len(parts) < 2:
        return ""
    for part in (parts[-1], parts[0]):
        if _is_in_host(part, address):
            return part[:_NAME_CHARACTERS]
    return ""


def _is_in_host(name: str, address: str) -> bool:
    """Whether the letters of a name, or its initials, are a part of the host."""
    labels = (urlsplit(address).hostname or "").removeprefix("www.").split(".")
    host = re.sub(r"[^a-z0-9]", "", "".join(labels))
    words = re.findall(r"[a-z0-9]+", without_accents(name).lower())
    letters = "".join(words)
    if len(letters) >= 3 and (letters in host or letters.removeprefix("the") in host):
        return True
    initials = "".join(word[0] for word in words)
    return len(initials) >= 3 and initials in labels


def _origin(root: lxml.html.HtmlElement, linked: LinkedData, meta: Meta) -> Origin:
    """Return the kind of a page's publisher."""
    if any(name.startswith("citation.") for name in meta):
        return "scholarly"
    types = [*_values(linked, "@type"), *named(meta, ("og:type",))]
    types += root.xpath("//html/@itemtype | //body/@itemtype | //article/@itemtype")
    types += root.xpath("//@itemtype[contains(., 'DiscussionForumPosting')]")[:1]
    stated = str(types).lower()
    for name, origin in _TYPES.items():
        if name in stated:
            return origin
    return "other"


def meta_of(root: lxml.html.HtmlElement) -> Meta:
    """Return the values of a page's meta fields, by their names."""
    meta = defaultdict[str, list[str]](list)
    for element in root.iter("meta"):
        value = element.get("content", "")
        for attribute in ("name", "property", "itemprop"):
            name = element.get(attribute)
            if name:
                meta[name.lower().replace("_", ".")].append(value)
    return meta


def named(meta: Meta, names: Iterable[str]) -> list[str]:
    """Return the values of these meta fields."""
    values = list[str]()
    for name in names:
        values += meta.get(name, ())
    return values


def _values(linked: LinkedData, name: str) -> list[Any]:
    return [node.get(name) for node in linked]


def linked_data(root: lxml.html.HtmlElement) -> Iterator[dict[str, Any]]:
    """Yield the top-level JSON-LD nodes of a page, which describe the whole page."""
    for script in root.xpath("//script[contains(@type, 'ld+json')]/text()"):
        value = from_json(str(script))
        top = _listed_nodes(value)
        for node in top:
            yield node
            yield from _listed_nodes(node.get("@graph"))
            yield from _listed_nodes(node.get("mainEntity"))


def _listed_nodes(value: object) -> list[dict[str, Any]]:
    """Return the nodes in a value of JSON-LD, which is one node or a list."""
    values = value if isinstance(value, list) else [value]
    return [node for node in values if isinstance(node, dict)]


def from_json(script: str) -> Any:
    """Return the value in a script; None if it is not JSON."""
    try:
        return json.loads(script, strict=False)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _day(stated: object) -> str:
    """Return the date at the start of a field in ISO 8601 (day, month or year).

    Empty if there is none.
    """
    match = _STATED.match(str(stated or "").strip())
    if not match:
        return ""
    year, month, day = (int(part or 0) for part in match.groups())
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return ""
    iso = f"{year:04}"
    for part in (month, day):
        if part:
            iso += f"-{part:02}"
    return iso


def _line(text: str) -> str:
    return " ".join(text.split())
