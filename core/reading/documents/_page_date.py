"""Finds the date of a web page: what a reader sees near the title, with the page's data to confirm
it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import islice
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import lxml.html
from lxml import etree

from ...evidence.text.words import dates_in
from ._dating import DAY, HEAD, Label, PageDate, StatedDate, byline_dates, calls_other, page_dates
from ._page_data import PageData, one_line, stated_day, title_parts

_PUBLISHED = ("article:published.time", "article:published")
_ISSUED = (
    "citation.publication.date", "citation.date", "citation.online.date", "datepublished",
    "dc.date.issued", "dcterms.issued", "sailthru.date", "parsely-pub-date", "publish-date",
)  # fmt: skip
_DATED = ("date", "dc.date", "dcterms.date", "dcterms.created", "pubdate")
_CHANGED = (
    "article:modified.time", "og:updated.time", "datemodified", "dcterms.modified",
    "dc.date.modified", "last-modified",
)  # fmt: skip
"""Names of meta fields, most reliable first."""
_ARTICLE = re.compile(
    r"article|posting|report|question|dataset|recipe|howto|qapage|book|thesis", re.IGNORECASE
)
"""Types of JSON-LD nodes whose dates are those of a text, and not of the page around it."""
_NO_TEXT = re.compile(
    r"product|itempage|collectionpage|itemlist|searchresults|event\b", re.IGNORECASE
)
"""Types of pages without a text of their own: their dates are those of products or events."""
_LIVING_YEARS = 2
"""A page that was changed more than this many years after its publication, as an encyclopedia is,
gets the date of the change."""
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
"""Class names and ids of elements outside a page's content."""
_ABOVE = 6
_BELOW = 14
"""Numbers of lines of content above and below the title in which the date of a page stands."""
_CLOSE_ABOVE = 3
_CLOSE_BELOW = 5
"""The same for a date without a label or other sign."""
_BYLINE_BELOW = 2
"""The same below the title for a byline."""
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
    dated: list[str]
    """Dates of which the page does not say what they are."""
    of_page: list[str]
    """When the page around the text was made or changed."""

    @property
    def all(self) -> list[str]:
        """All of them."""
        return [*self.published, *self.dated, *self.changed, *self.of_page]


class _Visible(NamedTuple):
    """The dates that a reader of the page sees, those nearest below the title first."""

    near: list[_Seen]
    """Those about the title."""
    labelled: list[_Seen]
    """Labelled ones elsewhere in the content."""
    footer: list[_Seen]
    """Labelled ones in the footer."""


def page_date(
    root: lxml.html.HtmlElement,
    data: PageData,
    title: str,
    address: str,
    today: str,
    *,
    is_thread: bool,
) -> StatedDate:
    """Return the date of a page with its kind; empty if what it states is not sure.

    Dates after `today` (ISO) do not count. `is_thread`: the page shows posts and replies, and has
    the date of the first.
    """
    today = today or "9999"
    stated = _stated(root, data, address, today)
    visible = _visible(_lines(root, title), stated, _day_comes_first(root, address), today)
    if is_thread:
        # Threads are changed with each reply.
        stated = stated._replace(changed=[])
        visible = _of_thread(visible, stated)
    return _date(visible, stated, is_text=_is_text(data, address), is_own=not address)


def text_date(text: str, today: str) -> StatedDate:
    """Return the date in the lines below the title, the first line, of a page that is no HTML.

    It is empty if they are no byline. Dates after `today` (ISO) do not count.
    """
    near = list[_Seen]()
    lines = [line for line in text[:HEAD].splitlines() if line.strip()]
    for distance, line in enumerate(lines[1 : _BYLINE_BELOW + 1], 1):
        for dated in byline_dates(line, text[:_ORDER_CHARACTERS]):
            if len(dated.readings) == 1 and _EARLIEST < dated.readings[0] <= today:
                near.append(_Seen(dated.readings[0], dated.label, distance))
    visible = _Visible(near, [], [])
    return _date(visible, _Stated([], [], [], []), is_text=True, is_own=False)


def _date(visible: _Visible, stated: _Stated, *, is_text: bool, is_own: bool) -> StatedDate:
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
    confirmed = [day for day in plain if _is_at(day, [*stated.published, *stated.dated])]
    changed = [day for day in plain if _is_at(day, stated.changed)]
    first = [*published, *confirmed][:1]
    if first and updated and _is_living(first[0], max(updated)):
        return StatedDate(max(updated), "publication", is_update=True)
    if first:
        return StatedDate(first[0], "publication")
    if updated:
        for day in stated.published:
            if _is_at(day, [max(updated)]):
                return StatedDate(day, "publication")
        return StatedDate(max(updated), "publication", is_update=True)
    if as_of:
        return StatedDate(as_of[0], "as_of")
    if changed and stated.published:
        return StatedDate(changed[0], "publication", is_update=True)
    if stated.published and is_text:
        if stated.changed and _is_living(stated.published[0], stated.changed[0]):
            return StatedDate(stated.changed[0], "publication", is_update=True)
        return StatedDate(_most_exact(stated.published), "publication")
    if changed:
        return StatedDate(changed[0], "document")
    alone = _only_plain(visible)
    if alone and is_text:
        return StatedDate(alone, "document")
    if stated.dated and is_text:
        return StatedDate(_most_exact(stated.dated), "publication")
    if stated.changed and is_own:
        return StatedDate(stated.changed[0], "publication", is_update=True)
    if len({seen.day for seen in visible.footer}) == 1:
        last = visible.footer[0]
        return StatedDate(last.day, "publication", is_update=last.label == "update")
    return StatedDate("", "")


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


def _most_exact(days: Sequence[str]) -> str:
    """Return the first of these dates, or a day of the same month or year if that lacks one."""
    for day in days:
        if len(day) == DAY and day.startswith(days[0]):
            return day
    return days[0]


def _is_living(published: str, changed: str) -> bool:
    """Whether a page was changed so long after its publication that the change is its date."""
    return int(changed[:4]) - int(published[:4]) > _LIVING_YEARS


def _is_at(day: str, days: Iterable[str]) -> bool:
    """Whether a day is one of these, or next to one, as in another time zone, or a month has one of
    them."""
    if len(day) < DAY:
        return any(other.startswith(day) for other in days)
    own = date.fromisoformat(day)
    for other in days:
        if len(other) == DAY and abs((date.fromisoformat(other) - own).days) <= 1:
            return True
    return False


def _is_text(data: PageData, address: str) -> bool:
    """Whether a page is a text of its own, such as an article: not a site's front page, and not a
    product or list."""
    path = urlsplit(address).path.strip("/")
    if address and (not path or re.fullmatch(r"(?:index|home)\.\w+|[a-z]{2}", path)):
        return False
    types = str(data.values("@type"))
    if _ARTICLE.search(types):
        return True
    return not _NO_TEXT.search(f"{types} {data.named('og:type')}")


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
        distance = _distance(lines, at, index)
        dates = _dates_of(lines, index, text, is_byline=0 < distance <= _BYLINE_BELOW)
        # A title may name the day of an event.
        if not dates or (line.is_title and not line.stamp):
            continue
        zone = line.zone
        if at is not None and at < index <= at + _CLOSE_BELOW:
            # Between the title and the text there is little that belongs to other pages.
            zone = "main"
        for dated in dates:
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
            elif zone == "main":
                labelled.append(seen)
    # A date below the title rather belongs to it than one above.
    near.sort(key=lambda seen: seen.distance if seen.distance > 0 else _BELOW - seen.distance)
    # Others may belong to the parts of a list.
    sure = [seen for seen in labelled if _is_at(seen.day, stated.all)]
    if not stated.all and not near and len({seen.day for seen in labelled}) == 1:
        for seen in labelled:
            # Further off, what was published may be what the page offers.
            if abs(seen.distance) < _FAR or seen.label == "update":
                sure.append(seen)
    return _Visible(near, sure, footer)


def _distance(lines: Sequence[_Line], at: int | None, index: int) -> int:
    """Return the number of lines of content from the title to a line; far without a title."""
    if at is None:
        return _FAR
    first, last = sorted((at, index))
    between = lines[first:last]
    if last - first >= _FAR or sum(len(line.text) for line in between) > _CHARACTERS:
        return _FAR
    distance = len([line for line in between if line.zone == "main"])
    return max(1, distance) if index > at else -distance


def _dates_of(lines: Sequence[_Line], index: int, text: str, *, is_byline: bool) -> list[PageDate]:
    """Return the days in a line, and months in a byline; their label may be the line before.

    `is_byline`: the line is where bylines are.
    """
    line = lines[index]
    if not line.stamp and not re.search(r"\d", line.text[:_LINE]):
        return []
    found = page_dates(line.text[:_LINE], text)
    if is_byline and not any(dated.label for dated in found):
        found = byline_dates(line.text[:_LINE], text) or found
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
            stamp = stated_day(element.get("datetime"))
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
        text = one_line("".join(self._words))
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
    parts = title_parts(root)
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


def _stated(root: lxml.html.HtmlElement, data: PageData, address: str, today: str) -> _Stated:
    """Return the dates in the page's head, data and address."""
    published: list[object] = [*data.named(*_PUBLISHED)]
    changed = list[object]()
    of_page = list[object]()
    for node in data.linked:
        if "@type" not in node or _ARTICLE.search(str(node["@type"])):
            published += [node.get("datePublished"), node.get("dateCreated")]
            changed.append(node.get("dateModified"))
        else:
            of_page += [node.get("datePublished"), node.get("dateModified")]
    published += data.named(*_ISSUED)
    for name in ("datePublished", "dateCreated"):
        # Further ones are those of comments.
        for element in root.xpath(f"//*[@itemprop='{name}']")[:1]:
            published.append(element.get("datetime") or element.get("content") or element.text)
    published += root.xpath("//time[@pubdate]/@datetime")[:1]
    match = _IN_ADDRESS.search(urlsplit(address).path)
    if match:
        published.append("-".join(match.groups()))
    changed += data.named(*_CHANGED)
    for element in root.xpath("//*[@itemprop='dateModified']")[:1]:
        changed.append(element.get("datetime") or element.get("content"))
    return _Stated(
        _days(published, today),
        _days(changed, today),
        _days(data.named(*_DATED), today),
        _days(of_page, today),
    )


def _days(values: Iterable[object], today: str) -> list[str]:
    """Return the dates in these values that can be those of a web page, until today."""
    days = list[str]()
    for value in values:
        day = stated_day(value)
        if not day and value:
            written = next(dates_in(str(value)[:_LABEL]), None)
            # A year alone is all that is understood of a strange form.
            day = written.iso if written and len(written.iso) > len("2024") else ""
        if _EARLIEST < day <= today:
            days.append(day)
    return days
