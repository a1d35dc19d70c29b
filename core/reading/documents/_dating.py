"""Reads from a document's text when it was written (date and kind of date), and on which period it
reports."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...evidence.text.language import language_of_question
from ...evidence.text.words import WORDS, all_month_names, dates_in, tokens, without_accents

if TYPE_CHECKING:
    from ...records.sources import DateKind

HEAD = 500
"""Number of characters at the beginning of a text in which its date may be."""
_TAIL = 300
"""Number of characters at the end of a text in which its date may be."""
_TOP_LINES = 4
"""Number of lines at the top of a text in which a date without a label may be the document's."""
_EARLIEST = "1995"
"""A date without a label before this year counts as one of the subject, not of the document."""
DAY = len("2024-05-03")
"""Length of an ISO date that has a day."""
_MONTH = len("2024-05")
_YEAR_ONLY = len("2024")
_LEAD = 2
"""Maximum words before a label such as "published" in a sentence."""
_LEAD_OF_THIS = 6
"""Maximum words before a label in a sentence with "this document"."""
_LONGEST_LEAD = 20
"""Maximum words before a label in a title."""
_BEFORE = 8
"""Maximum words before a date without a label."""
_AFTER = 12
"""Maximum words after such a date on a web page."""
_NAME = 6
"""Maximum words of an author's name."""
_PARTICLE = 3
"""Maximum length of words without a capital in a name, such as "of" and "for"."""
_LENGTHS = {
    "year_words": 12,
    "fiscal_words": 12,
    "half_words": 6,
    "quarter_words": 3,
    "month_words": 1,
}
"""Length of the periods that the words of a table name, in months."""

_Part = Literal["title", "top", "text", "page"]
"""Where a line is: in the title, in the top lines of a text, elsewhere in it, or anywhere on a web
page."""
Label = Literal["", "publication", "update", "as_of", "in_force", "document"]
"""What the words beside a date call it; there is a word table for each."""
_LABELS: tuple[Label, ...] = ("publication", "update", "as_of", "in_force", "document")
_ITEMS = ("- ", "* ", "+ ", "• ", "| ")
_SENTENCES = re.compile(r"(?<=[^\W\d][.;])\s+|(?<=\d{4}[.;])\s+|(?<=[;。；])")
_AMBIGUOUS = re.compile(r"(?<!\d)(\d{1,2})([/_-])(\d{1,2})\2((?:19|20|21)\d\d)(?!\d)")
_MONTH_FIRST = re.compile(r"\b(?:US|U\.S\.|USA|United States|Americans?|[A-Z]{2} \d{5})(?!\w)")
_DAY_FIRST = re.compile(
    r"\b(?:UK|U\.K\.|United Kingdom|Brit\w+|England|Ireland|Australia|New Zealand|India|EU)\b|[£€]"
)
# What may follow a date at the end of a statement; a dash before a number makes it the start of a
# range.
_END = re.compile(r"\s*(?:$|[.;)\]|*_]|[–—](?!.{0,14}\d)|-\s)")
_SEPARATORS = re.compile(r"\s*[|•·⋅∙]\s*|\s+(?:/{1,2}|–|—|-)\s+")
"""What stands between the facts of a byline."""
_FACTS = re.compile(rf"{_SEPARATORS.pattern}|[,()\[\]]|(?<=[^\W_])[.;](?=\s|$)")
_SHORT_YEAR = re.compile(r"(?<![\d./-])(\d{1,2})([./])(\d{1,2})\2(\d\d)(?![\d:./-])")
_CLOCK = re.compile(
    r"(?<!\d)\d{1,2}(?:[:.h]\d\d){1,2}\s*(?:[ap]\.?m\b\.?)?(?:\s*\(?(?:[A-Z]{2,4}|ist|uhr|Uhr|h)\b\)?)?"
    r"|(?<!\d)\d{1,2}\s*(?:[ap]\.?m\b\.?|uhr\b)|\b(?:GMT|UTC)?[+-]\d\d:?\d\d\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[-–—]|to|bis|au|al|tot|until)\s*", re.IGNORECASE)
_RANGE = re.compile(r"(?:[-–—]|to|bis|au|al|tot|until)\s*(?:\w+\s+){0,2}\d")
_APART = re.compile(r"(?:[,(\[–—]|\s-)\s*$")
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"


class Dated(NamedTuple):
    """When a document was written, and on which period it reports; each may be empty."""

    date: str = ""
    """ISO date, perhaps without day or month."""
    date_kind: DateKind = ""
    period: str = ""
    """A year, half, quarter or month (2024, 2024-H1, 2024-Q3, 2024-05), or the months or years
    from/to."""


class StatedDate(NamedTuple):
    """A date that a document states as its own."""

    date: str
    """ISO date, perhaps without day or month."""
    kind: DateKind
    is_update: bool = False
    """Whether it is called the date of an update."""


class PageDate(NamedTuple):
    """A day that stands on a web page as a date of the page may."""

    readings: tuple[str, ...]
    """ISO date; two if the order of day and month is unknown."""
    label: Label
    """What the words beside it call it; empty if it only stands apart."""


def dated(title: str, name: str, text: str, today: str = "") -> Dated:
    """Return the date and period of a document, according to its title, file name and text.

    The best date is one with a label in the text ("Published on"), then a day in the title; for
    minutes and decrees, the title comes first. Then follow a day in the file name, the date of
    entry into force, and months and years. Dates after `today` (ISO) do not count, except for the
    entry into force; if empty, no date is in the future.
    """
    # `\b` treats underscores as letters.
    bare_name = name.rpartition(".")[0].replace("_", "-")
    in_title = _of_line(title, text, "title")
    in_text = statements(text, title)
    in_name = list[StatedDate]()
    for stated in _of_line(bare_name, "", "title"):
        if stated.date not in title:
            in_name.append(StatedDate(stated.date, "file_name"))

    period = period_of(title, text) or period_of(f"{title} {bare_name}", "")
    less_exact = [stated for stated in (*in_title, *in_name) if stated.date not in period]
    if today and not period:
        # A month or year in the future is the period on which the document reports.
        for stated in less_exact:
            if stated.date > today and len(stated.date) < DAY:
                period = stated.date
                break

    candidates = [
        *_in_order_of_trust(title, in_title, in_text, in_name),
        *(stated for stated in (*in_title, *in_text) if stated.kind == "in_force"),
        *(stated for stated in less_exact if stated.kind != "in_force"),
    ]
    for stated in candidates:
        if stated.kind == "in_force" or stated.date <= (today or "9999"):
            return Dated(stated.date, stated.kind, period)
    return Dated(period=period)


def _in_order_of_trust(
    title: str,
    in_title: Sequence[StatedDate],
    in_text: Sequence[StatedDate],
    in_name: Sequence[StatedDate],
) -> list[StatedDate]:
    """Return the dates with a label in the text, and the days in title and file name, best first.

    The entry into force is left out.
    """
    labelled = list[StatedDate]()
    for kind in ("publication", "document", "as_of"):
        for stated in in_text:
            # A year alone may be that of another document, such as a superseded edition.
            if stated.kind == kind and len(stated.date) > _YEAR_ONLY:
                labelled.append(stated)
    days = list[StatedDate]()
    for stated in in_title:
        if len(stated.date) == DAY and stated.kind != "in_force":
            days.append(stated)
    days_in_name = [stated for stated in in_name if len(stated.date) == DAY]
    if _names_act(title):
        return [*days, *labelled, *days_in_name]
    return [*labelled, *days, *days_in_name]


def _names_act(title: str) -> bool:
    """Whether a title is that of an act such as minutes or a decree."""
    return _pattern("date_acts", is_ending=True).search(_plain(title)) is not None


def statements(text: str, title: str = "", *, of_page: bool = False) -> list[StatedDate]:
    """Return the dates that the first and last lines of a text state as the text's own, in order.

    On a web page (`of_page`), only dates of publication and days that are alone on their line
    count.
    """
    stated = list[StatedDate]()
    top: _Part = "top"
    rest: _Part = "text"
    if of_page:
        top = "page"
        rest = "page"
    head = _filled_lines(text[:HEAD])
    for line in head[:_TOP_LINES]:
        stated += _of_line(line, text, top, title)
    tail = _filled_lines(text[HEAD:][-_TAIL:])
    for line in (*head[_TOP_LINES:], *tail):
        stated += _of_line(line, text, rest, title)
    return stated


def page_dates(line: str, text: str) -> list[PageDate]:
    """Return the days in a line of a web page, and months that have a label, as far as they can be
    the page's own.

    Deadlines, ranges, and days in a sentence are left out. `text` is other text of the page, which
    may tell the order of day and month.
    """
    found = list[PageDate]()
    whole = _SHORT_YEAR.sub(r"\1\2\3\g<2>20\4", line)
    for first, second in pairwise(dates_in(whole)):
        if _BETWEEN.fullmatch(whole[first.end : second.start]):
            return []
    for segment in _SEPARATORS.split(whole):
        end = 0
        for written in dates_in(segment):
            before = segment[end : written.start].strip()
            after = segment[written.end :].strip()
            end = written.end
            readings = _readings(segment[written.start : written.end], written.iso, text)
            plain_before = _plain(before)
            plain_after = _plain(after)
            if not readings or _pattern("date_other").search(plain_before):
                continue
            if _patterns()["range_before"].search(plain_before) or _RANGE.match(plain_after):
                continue
            label = _label(plain_before, plain_after, _LEAD, is_whole=True)
            if not label:
                label = _label_at_end(before)
            is_apart = not label and _is_apart(before, after)
            # A month without a label is rather the one that a text is about.
            is_month = len(readings[0]) < DAY
            if label or (is_apart and not is_month):
                found.append(PageDate(readings, label))
    return found


def byline_dates(line: str, text: str) -> list[PageDate]:
    """Return the dates that a byline states: a line directly below the title with facts such as
    names, kinds of document and dates.

    One fact is a name, and a date has a label or is a fact of its own. If any has a label, only
    those that have one are returned; otherwise there must be only one, which may be a month. `text`
    is other text of the page, which may tell the order of day and month.
    """
    labelled = list[PageDate]()
    plain = list[PageDate]()
    facts = list[str]()
    end = 0
    for written in dates_in(line):
        *before, own = _FACTS.split(line[end : written.start])
        facts += before
        words = line[written.start : written.end]
        end = written.end
        after = _FACTS.split(line[end:])[0]
        readings = _readings(words, written.iso, text)
        # 2026/12 is rather the number of a report than a month.
        is_number = len(written.iso) < DAY and not re.search(r"[^\W\d]", words)
        if not readings or is_number or calls_other(own):
            continue
        if _patterns()["range_before"].search(_plain(own)) or _RANGE.match(after.strip()):
            continue
        label = _label(_plain(own), _plain(after), _LEAD, is_whole=True)
        if label and label != "in_force":
            labelled.append(PageDate(readings, label))
        # A capital begins the text below it, from which a PDF may not separate it.
        elif not label and not _unfilled(_plain(own)) and not after.strip()[:1].islower():
            plain.append(PageDate(readings, ""))
    facts += _FACTS.split(line[end:])
    if not any(map(_is_name, facts)):
        return []
    if labelled:
        return labelled
    return plain if len(plain) == 1 else []


def _is_name(fact: str) -> bool:
    """Whether a fact of a byline is a name: all but its short words have a capital."""
    words = _words(fact)
    is_named = any(
        word[0].isupper() and _plain(word) not in _listed("date_fillers") for word in words
    )
    return is_named and not any(word[0].islower() and len(word) > _PARTICLE for word in words)


def calls_other(words: str) -> bool:
    """Whether words before a date say that it is not the page's, such as a deadline."""
    return _pattern("date_other").search(_plain(words)) is not None


def _label_at_end(before: str) -> Label:
    """Return the label directly before a date, with a colon or a capital, whatever else is before
    it."""
    plain = _plain(before)
    for label in _LABELS:
        if label == "in_force":
            continue
        found = _last_match(_pattern(f"date_{label}"), plain)
        if not found:
            continue
        if re.fullmatch(r"\s*[a-z]{0,3}\s*:\s*", plain[found.end() :] + " "):
            return label
        last_word = before.split()[-1]
        if last_word[:1].isupper() and plain.endswith(found[0]) and _plain(last_word) in found[0]:
            return label
    return ""


def _readings(words: str, iso: str, text: str) -> tuple[str, ...]:
    """Return the days or the month that a written date can mean: two days if the order of
    05/06/2031 is unknown."""
    exact = _exact(words, iso, text)
    ambiguous = _AMBIGUOUS.fullmatch(words)
    if exact or not ambiguous:
        return (exact,) if len(exact) in (_MONTH, DAY) else ()
    first, _, second, year = ambiguous.groups()
    return (f"{year}-{second:0>2}-{first:0>2}", f"{year}-{first:0>2}-{second:0>2}")


def _is_apart(before: str, after: str) -> bool:
    """Whether a date is no part of a sentence.

    It begins a short line or a first sentence ("Karlsruhe, 12 May 2021 – The church"), or has
    nothing before it but names and words such as "by".
    """
    strange = 0
    for word in _words(_CLOCK.sub(" ", before)):
        plain = _plain(word)
        if plain in _listed("date_fillers") or plain in _listed("date_authors"):
            continue
        strange += 1
        if not word[0].isupper() and strange > 1:
            return False
    if strange > _NAME:
        return False
    is_ended = re.match(r"[.)\]]*\s*[–—:-]\s|[.)\]:]+\s", f"{after} ")
    return bool(is_ended) or len(_words(_CLOCK.sub(" ", after))) <= _AFTER


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def in_force_from(title: str, text: str) -> str:
    """Return the date from which a document says that it is in force; empty if it states none."""
    for stated in (*_of_line(title, text, "title"), *statements(text)):
        if stated.kind == "in_force":
            return stated.date
    return ""


def _of_line(line: str, text: str, part: _Part, title: str = "") -> list[StatedDate]:
    """Return the dates that a line states as those of its text.

    `part` says where in the text the line is.
    """
    stated = list[StatedDate]()
    for sentence in _SENTENCES.split(line):
        for number, written in enumerate(dates_in(sentence)):
            before = _plain(sentence[: written.start])
            after = _plain(sentence[written.end :])
            date = _exact(sentence[written.start : written.end], written.iso, text)
            if not date or _pattern("date_other").search(before):
                continue
            if _patterns()["range_before"].search(before):
                continue
            is_end = bool(_END.match(after))
            is_whole = is_end or (part != "text" and line.startswith(sentence))
            lead = _LEAD
            if part == "title":
                lead = _LONGEST_LEAD
            label = _label(before, after, lead, is_whole=is_whole)
            kind: DateKind = "publication" if label == "update" else label
            can_stand = (
                number == 0
                and len(date) > _YEAR_ONLY
                and date > _EARLIEST
                and line.lstrip()[:2] not in _ITEMS
            )
            if part == "page" and kind != "publication":
                kind = ""
                if can_stand and len(date) == DAY and not _words(f"{before}{after}"):
                    kind = "publication"
            elif part == "title" and not kind:
                # A year at the end counts, but the year in "2014 Cup" does not.
                if len(date) > _YEAR_ONLY or is_end:
                    kind = "document"
            elif part == "top" and not kind and can_stand and _stands_alone(before, after, title):
                kind = "document"
            if kind:
                stated.append(StatedDate(date, kind, label == "update"))
    return stated


def _label(before: str, after: str, most: int, *, is_whole: bool) -> Label:
    """Return what the words before or just after a date call it.

    It is empty if they give it no name. At most `most` words may precede the label. Some labels
    need a date whose sentence begins the line or ends with the date (`is_whole`).
    """
    for label in _LABELS:
        lead = most
        if label == "in_force":
            lead += 2
        found = _last_match(_pattern(f"date_{label}"), before)
        is_leading = found and _leads(before[found.end() :])
        if found and is_leading and _is_of_document(before[: found.start()], lead):
            return label if is_whole or label != "as_of" else ""
        is_before_label = _pattern(f"date_{label}").match(after.lstrip(" (起"))
        if is_before_label and _is_of_document(_unfilled(before), lead + 1):
            return label
    found = _last_match(_pattern("date_from"), before)
    if not is_whole or not found or _unfilled(before[found.end() :]):
        return ""
    if _is_of_document(before[: found.start()], most):
        return "in_force"
    return ""


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    matches = [*pattern.finditer(text)]
    return matches[-1] if matches else None


def _leads(gap: str) -> bool:
    """Whether a label and its date may have these words between them: "by A. Ames on", but not "the
    bridge on"."""
    words = _words(gap)
    strange = list[str]()
    for word in words:
        if word not in _listed("date_fillers") and not re.fullmatch(r"[a-z]?\d+", word):
            strange.append(word)
    if not strange:
        return True
    if words[0] in _listed("date_authors") and len(words) <= _NAME + 1:
        return True
    return len(strange) == 1 and re.search(r"[,(|–—:-]\s*$", gap) is not None


def _is_of_document(lead: str, most: int) -> bool:
    """Whether a label after these words is about the document: they name it, or are few and have no
    verb."""
    words = {*_words(lead)}
    if not words.isdisjoint(_listed("date_this")) and len(words) <= _LEAD_OF_THIS:
        return True
    return len(words) <= most and words.isdisjoint(_listed("date_verbs"))


def _stands_alone(before: str, after: str, title: str) -> bool:
    """Whether a date is alone on its line or set apart: "Lyon, le 3 mai 2026", but not "lit on 3
    May 2026"."""
    head = _unfilled(before)
    is_end = bool(_END.match(after))
    words = _words(head)
    if words:
        return is_end and len(words) <= _BEFORE and bool(_APART.search(head))
    if _names_act(title):
        return True
    if _words(before):
        return not _words(after)
    return is_end or after[:1] in (",", "、")


def _unfilled(before: str) -> str:
    """Return the text before a date without words such as "on" and "the" at its end.

    It is empty if no word is left.
    """
    while True:
        last = re.search(r"([^\W_]+)\W*$", before)
        if not last or last[1] not in _listed("date_fillers"):
            break
        before = before[: last.start()]
    return before if _words(before) else ""


def _exact(words: str, iso: str, text: str) -> str:
    """Return the ISO date of a written date.

    It is empty if the date is like 05/06/2031 and the text's order is unknown.
    """
    ambiguous = _AMBIGUOUS.fullmatch(words)
    if not ambiguous or len(iso) == DAY:
        return iso
    first, _, second, year = ambiguous.groups()
    is_month_first = _is_month_first(text)
    if is_month_first is None:
        return ""
    if is_month_first:
        return f"{year}-{first:0>2}-{second:0>2}"
    return f"{year}-{second:0>2}-{first:0>2}"


def _is_month_first(text: str) -> bool | None:
    """Whether dates in digits in a text begin with the month, not the day; None if unknown."""
    for first, _, second, _ in _AMBIGUOUS.findall(text):
        if max(int(first), int(second)) > 12:
            return int(first) <= 12
    language = language_of_question(tokens(text))
    if language not in ("", "en"):
        return False
    has_accents = _plain(text) != text.lower()
    if (has_accents and not language) or _DAY_FIRST.search(text):
        return False
    return True if _MONTH_FIRST.search(text) else None


def period_of(title: str, text: str) -> str:
    """Return the period that a title, a subject line or a report's first lines name.

    It is empty if they name none.
    """
    sentences = list[str]()
    for line in text[:HEAD].splitlines():
        sentences += map(_plain, _SENTENCES.split(line))
    subjects = [_plain(title)]
    for sentence in sentences:
        subject = _patterns()["subject"].match(sentence)
        if subject:
            subjects.append(subject[1])
    report_words = _pattern("report_words")
    if _pattern("report_words", is_ending=True).search(_plain(title)):
        for sentence in sentences:
            if len(_words(sentence)) <= _BEFORE and not report_words.search(sentence):
                subjects.append(sentence)
    period = next(filter(None, map(_period_in, subjects)), "")
    if len(period) in (_YEAR_ONLY, len("2024/2025")):
        # The text may define its fiscal year.
        for sentence in filter(_pattern("fiscal_words").search, sentences):
            span = _span_in(sentence)
            if span:
                return span
    return period


def _period_in(line: str) -> str:
    """Return the period that a line names; empty if it names none."""
    for read in (_span_in, _ended_in, _part_in, _fiscal_year_in, _date_of_report_in):
        period = read(line)
        if period:
            return period
    return ""


def _part_in(line: str) -> str:
    """Return the quarter or half of a year that a line names."""
    for name in ("part_of_year", "year_and_part"):
        for found in _patterns()[name].finditer(line):
            number = _ordinals().get(found["ordinal"] or "", 0)
            if not number:
                number = int(found["number"] or found["digit"] or 0)
            year = _year(found["year"])
            sign = found["sign"] or found["letter"]
            if sign in ("q", "t") or (not sign and found["unit"] in _listed("quarter_words")):
                return f"{year}-Q{number}"
            if number < 3:
                return f"{year}-H{number}"
    return ""


def _fiscal_year_in(line: str) -> str:
    """Return the fiscal year that a line names (2024 or 2024/2025), or a span such as 2024/25.

    A span is returned as its two years.
    """
    years = _patterns()["fiscal_year"].search(line)
    if not years:
        return ""
    year = _year(years["year"] or years["before"] or years["first"])
    until = years["until"] or years["last"]
    if until:
        last_year = year[: 4 - len(until)] + until
        if last_year > year:
            return f"{year}/{last_year}"
    return "" if years["first"] else year


def _date_of_report_in(line: str) -> str:
    """Return the year, or of a monthly report the month, in a line that names a report."""
    if not _pattern("report_words", is_ending=True).search(line):
        return ""
    is_monthly = any(word in line for word in _listed("month_words"))
    longest = ""
    for date in dates_in(line):
        if _AMBIGUOUS.fullmatch(line[date.start : date.end]):
            continue
        is_month = is_monthly and len(date.iso) == len("2024-05")
        if (is_month or len(date.iso) == _YEAR_ONLY) and len(date.iso) > len(longest):
            longest = date.iso
    return longest


def _span_in(line: str) -> str:
    """Return the period between two months that a line names: "October 2024 to September 2025"."""
    span = _patterns()["span"].search(line)
    if not span:
        return ""
    months = all_month_names()
    first_year = int(span["from"] or span["year"])
    return _named_span(first_year, months[span["first"]], int(span["year"]), months[span["last"]])


def _ended_in(line: str) -> str:
    """Return the period of a phrase such as "the year ended 31 March 2025"."""
    for date in dates_in(line):
        before = line[: date.start]
        if len(date.iso) == _YEAR_ONLY:
            continue
        if not re.search(rf"{_any('end_words')}(?:\W+[a-z]{{1,3}})*\W*$", before):
            continue
        for words, months in _LENGTHS.items():
            if _pattern(words).search(before):
                year = int(date.iso[:4])
                month = int(date.iso[5:7])
                first_year, first_index = divmod(year * 12 + month - months, 12)
                return _named_span(first_year, first_index + 1, year, month)
        return ""
    return ""


def _named_span(year: int, month: int, last_year: int, last_month: int) -> str:
    """Return the name of the period from one month to another (see `Dated.period`)."""
    months = (last_year - year) * 12 + last_month - month + 1
    if months in (12, 6, 3) and last_month % months == 0:
        part = last_month // months
        return {12: f"{year}", 6: f"{year}-H{part}", 3: f"{year}-Q{part}"}[months]
    if months == 1:
        return f"{year}-{month:02}"
    return f"{year}-{month:02}/{last_year}-{last_month:02}"


def _year(digits: str) -> str:
    """Return a year in four digits: 2024 for 24."""
    return digits if len(digits) > len("24") else f"20{digits}"


def _plain(text: str) -> str:
    """Return a text in lower case without accents, as all patterns expect it."""
    return unicodedata.normalize("NFKC", without_accents(text)).lower()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@cache
def _listed(table: str) -> frozenset[str]:
    """Return the entries of a word table, as `_plain` writes them."""
    return frozenset(_plain(word).replace("_", " ") for word in WORDS[table].split())


@cache
def _any(table: str) -> str:
    """Return a regular expression for any entry of a word table."""
    entries = map(re.escape, sorted(_listed(table), key=len, reverse=True))
    alternatives = "|".join(entries).replace("\\ ", r"\s+")
    return f"(?:{alternatives})"


@cache
def _pattern(table: str, *, is_ending: bool = False) -> re.Pattern[str]:
    """Return a pattern of a word table's entries.

    They match as words, as ends of words (`is_ending`), or in unspaced text.
    """
    begin = r"(?:(?<![^\W_])|(?=[\u2e80-\U0003134f]))"
    ending = ""
    if is_ending:
        begin = ""
        ending = "(?:s|e|en|es|i)?"
    return re.compile(rf"{begin}{_any(table)}(?:(?<=[\u2e80-\U0003134f])|{ending}(?![^\W_]))")


@cache
def _ordinals() -> dict[str, int]:
    """Return the numbers (from 1) of ordinal words."""
    ordinals = dict[str, int]()
    for number, line in enumerate(WORDS["ordinals"].strip().splitlines(), 1):
        for word in line.split():
            ordinals[_plain(word)] = number
    return ordinals


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of subject lines, ranges and periods, by name.

    Compiling them at import would be too slow.
    """
    month = f"(?:{'|'.join(sorted(all_month_names(), key=len, reverse=True))})"
    day = r"(?:\s\d{1,2}(?:,|(?=\s\D)))?"
    until = rf"\W*{_any('range_words')}\W*(?:\w{{1,3}}\W+){{0,2}}"
    ordinals = "|".join(sorted(map(re.escape, _ordinals()), key=len, reverse=True))
    part = (
        rf"(?:(?P<ordinal>{ordinals})[\s-]*(?P<unit>{_any('quarter_words')}|{_any('half_words')})"
        r"|(?P<letter>[qths])(?P<number>[1-4])|(?P<digit>[1-4])(?P<sign>[qths]))"
    )
    joint = (
        r"(?:\W+(?:of|the|de|del|di|do|du|des|van|het|l|fy|year|jahres|annee|ano|anno|jaar)\b)*"
        r"\W{0,3}"
    )
    year = r"(?P<year>(?:19|20|21)\d\d|(?<=[qths])\d\d|(?<=[qths]\d.)\d\d)(?!\d)"
    forms = {
        "subject": rf"\W*{_any('subject_words')}\W*:(.*)",
        "range_before": rf"(?:\d[年月日.]?\s*(?:to|bis|au|al|tot|至)|{month}\.?\s*[–—-])\s*$",
        "span": rf"(?<![^\W_])(?P<first>{month})\.?{day}\s*(?:de\s)?"
        rf"(?P<from>(?:(?:19|20|21)\d\d)?){until}"
        rf"(?P<last>{month})\.?{day}\s*(?:de\s)?{_YEAR}(?!\d)",
        "part_of_year": rf"(?<![^\W_]){part}{joint}{year}",
        "year_and_part": rf"{_YEAR}\s?年?度?\W{{0,3}}{part}(?![a-z0-9])",
        "fiscal_year": rf"(?<![^\W_]){_any('fiscal_words')}\W*(?:\w{{1,3}}\W)?"
        r"(?P<year>(?:20)?\d\d)(?!\d)"
        r"(?:\s?[-–/]\s?(?P<until>(?:20)?\d\d)(?!\d))?|(?P<before>20\d\d)\s?年?(?:年度|财年|财政年度)"
        r"|(?<!\d)(?P<first>20\d\d)\s?[-–/]\s?(?P<last>(?:20)?\d\d)(?![-/.\d])",
    }
    return {name: re.compile(form) for name, form in forms.items()}
