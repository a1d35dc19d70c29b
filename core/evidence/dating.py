"""Reads from a document's text when it was written (date and kind of date), and on which period it reports."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from .language import IN_QUESTION, language_by_words
from .text.words import WORDS, all_month_names, dates_in, tokens, without_accents

if TYPE_CHECKING:
    from ..records.sources import DateKind

HEAD, _TAIL = 500, 300
"""Number of characters at the beginning and at the end of a text in which its date may be."""
_TOP_LINES = 4
"""Number of lines at the top of a text in which a date without a label may be the document's."""
_EARLIEST = "1995"
"""A date without a label before this year counts as one of the subject, not of the document."""
DAY = len("2024-05-03")
"""Length of an ISO date that has a day."""
_YEAR_ONLY = len("2024")
_LEAD, _LEAD_OF_THIS, _LONGEST_LEAD = 2, 6, 20
"""Maximum words before a label such as "published": in a sentence, in one with "this document", in a title."""
_BEFORE, _NAME = 8, 6
"""Maximum words before a date without a label, and of an author's name."""

_Part = Literal["title", "top", "text", "page"]
"""Where a line is: in the title, in the top lines of a text, elsewhere in it, or anywhere on a web page."""
_KINDS: tuple[DateKind, ...] = ("publication", "as_of", "in_force", "document")
_ITEMS = ("- ", "* ", "+ ", "• ", "| ")
_SENTENCES = re.compile(r"(?<=[^\W\d][.;])\s+|(?<=\d{4}[.;])\s+|(?<=[;。；])")
_AMBIGUOUS = re.compile(r"(?<!\d)(\d{1,2})([/_-])(\d{1,2})\2((?:19|20|21)\d\d)(?!\d)")
_MONTH_FIRST = re.compile(r"\b(?:US|U\.S\.|USA|United States|Americans?|[A-Z]{2} \d{5})(?!\w)")
_DAY_FIRST = re.compile(r"\b(?:UK|U\.K\.|United Kingdom|Brit\w+|England|Ireland|Australia|New Zealand|India|EU)\b|[£€]")
# What may follow a date at the end of a statement; a dash before a number makes it the start of a range.
_END = re.compile(r"\s*(?:$|[.;)\]|*_]|[–—](?!.{0,14}\d)|-\s)")
_APART = re.compile(r"(?:[,(\[–—]|\s-)\s*$")
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"


class Dated(NamedTuple):
    """When a document was written, and on which period it reports; each may be empty."""

    date: str = ""
    """ISO date, perhaps without day or month."""
    date_kind: DateKind = ""
    period: str = ""
    """A year, half, quarter or month (2024, 2024-H1, 2024-Q3, 2024-05), or the months or years from/to."""


class StatedDate(NamedTuple):
    """A date that a document states as its own."""

    date: str
    """ISO date, perhaps without day or month."""
    kind: DateKind


def dated(title: str, name: str, text: str, today: str = "") -> Dated:
    """Return the date and period of a document, according to its title, file name and text.

    The best date is one with a label in the text ("Published on"), then a day in the title; for minutes and decrees,
    the title comes first. Then follow a day in the file name, the date of entry into force, and months and years. Dates
    after `today` (ISO) do not count, except for the entry into force; if empty, no date is in the future.
    """
    # `\b` treats underscores as letters.
    named = name.rpartition(".")[0].replace("_", "-")
    in_title, in_text = _of_line(title, text, "title"), statements(text, title)
    of_name = (found.date for found in _of_line(named, "", "title"))
    in_name = [StatedDate(date, "file_name") for date in of_name if date not in title]
    in_force = [found for found in (*in_title, *in_text) if found.kind == "in_force"]

    period = period_of(title, text) or period_of(f"{title} {named}", "")
    less_exact = [found for found in (*in_title, *in_name) if found.date not in period]
    if today and not period:
        # A month or year in the future is the period on which the document reports.
        period = next((found.date for found in less_exact if found.date > today and len(found.date) < DAY), "")

    # A year alone may be that of another document, such as a superseded edition.
    exact = [found for found in in_text if len(found.date) > _YEAR_ONLY]
    labelled = [found for kind in ("publication", "document", "as_of") for found in exact if found.kind == kind]
    days = [found for found in in_title if len(found.date) == DAY and found.kind != "in_force"]
    is_act = bool(_pattern("date_acts", is_ending=True).search(_plain(title)))
    best = [*days, *labelled] if is_act else [*labelled, *days]
    best += (found for found in in_name if len(found.date) == DAY)

    def past(dates: Iterable[StatedDate]) -> list[StatedDate]:
        return [found for found in dates if found.kind != "in_force" and found.date <= (today or "9999")]

    return Dated(*next(iter([*past(best), *in_force, *past(less_exact)]), ("", "")), period)


def statements(text: str, title: str = "", *, of_page: bool = False) -> list[StatedDate]:
    """Return the dates that the first and last lines of a text state as the text's own, in order.

    On a web page (`of_page`), only dates of publication and days that are alone on their line count.
    """
    head, tail = ([line for line in part.splitlines() if line.strip()] for part in (text[:HEAD], text[HEAD:][-_TAIL:]))
    found = (
        _of_line(line, text, "page" if of_page else "top" if number < min(_TOP_LINES, len(head)) else "text", title)
        for number, line in enumerate([*head, *tail])
    )
    return list(chain.from_iterable(found))


def in_force_from(title: str, text: str) -> str:
    """Return the date from which a document says that it is in force; empty if it states none."""
    found = [*_of_line(title, text, "title"), *statements(text)]
    return next((stated.date for stated in found if stated.kind == "in_force"), "")


def _of_line(line: str, text: str, part: _Part, title: str = "") -> list[StatedDate]:
    """Return the dates that a line states as those of its text; `part` says where in the text the line is."""
    found = list[StatedDate]()
    for sentence in _SENTENCES.split(line):
        for number, written in enumerate(dates_in(sentence)):
            before, after = _plain(sentence[: written.start]), _plain(sentence[written.end :])
            date = _exact(sentence[written.start : written.end], written.iso, text)
            if not date or _pattern("date_other").search(before) or _patterns()["range_before"].search(before):
                continue
            is_whole = bool(_END.match(after)) or (part != "text" and line.startswith(sentence))
            kind = _kind(before, after, _LONGEST_LEAD if part == "title" else _LEAD, is_whole=is_whole)
            can_stand = not number and len(date) > _YEAR_ONLY and date > _EARLIEST and line.lstrip()[:2] not in _ITEMS
            if part == "page" and kind != "publication":
                kind = "publication" if can_stand and len(date) == DAY and not _words(f"{before}{after}") else ""
            elif part == "title" and not kind:
                # A year at the end counts, but the year in "2014 Cup" does not.
                kind = "document" if len(date) > _YEAR_ONLY or _END.match(after) else ""
            elif part == "top" and not kind and can_stand and _stands_alone(before, after, title):
                kind = "document"
            found += [StatedDate(date, kind)] if kind else []
    return found


def _kind(before: str, after: str, most: int, *, is_whole: bool) -> DateKind:
    """Return the kind of date that a label before or just after a date names; empty if there is no label.

    At most `most` words may precede the label. Some kinds need a date whose sentence begins the line or ends with the
    date (`is_whole`).
    """
    for kind in _KINDS:
        lead = most + 2 * (kind == "in_force")
        *_, last = [None, *_pattern(f"date_{kind}").finditer(before)]
        if last and _leads(before[last.end() :]) and _is_of_document(before[: last.start()], lead):
            return kind if is_whole or kind != "as_of" else ""
        if _pattern(f"date_{kind}").match(after.lstrip(" (起")) and _is_of_document(_unfilled(before), lead + 1):
            return kind
    *_, last = [None, *_pattern("date_from").finditer(before)]
    if is_whole and last and not _unfilled(before[last.end() :]) and _is_of_document(before[: last.start()], most):
        return "in_force"
    return ""


def _leads(gap: str) -> bool:
    """Whether a label and its date may have these words between them: "by A. Ames on", but not "the bridge on"."""
    words = _words(gap)
    strange = [word for word in words if word not in _listed("date_fillers") and not re.fullmatch(r"[a-z]?\d+", word)]
    is_name = words[:1] and words[0] in _listed("date_authors") and len(words) <= _NAME + 1
    return not strange or bool(is_name) or (len(strange) == 1 and bool(re.search(r"[,(|–—:-]\s*$", gap)))


def _is_of_document(lead: str, most: int) -> bool:
    """Whether a label after these words is about the document: they name it, or are few and have no verb."""
    words = {*_words(lead)}
    if not words.isdisjoint(_listed("date_this")) and len(words) <= _LEAD_OF_THIS:
        return True
    return len(words) <= most and words.isdisjoint(_listed("date_verbs"))


def _stands_alone(before: str, after: str, title: str) -> bool:
    """Whether a date is alone on its line or set apart: "Lyon, le 3 mai 2026", but not "lit on 3 May 2026"."""
    head, is_end = _unfilled(before), bool(_END.match(after))
    if _words(head):
        return is_end and len(_words(head)) <= _BEFORE and bool(_APART.search(head))
    is_act = bool(_pattern("date_acts", is_ending=True).search(_plain(title)))
    return is_act or (not _words(after) if _words(before) else is_end or after[:1] in (",", "、"))


def _unfilled(before: str) -> str:
    """Return the text before a date without words such as "on" and "the" at its end; empty if no word is left."""
    while (found := re.search(r"([^\W_]+)\W*$", before)) and found[1] in _listed("date_fillers"):
        before = before[: found.start()]
    return before if _words(before) else ""


def _exact(words: str, iso: str, text: str) -> str:
    """Return the ISO date of a written date; empty if it is like 05/06/2031 and the text's order is unknown."""
    found = _AMBIGUOUS.fullmatch(words)
    if not found or len(iso) == DAY:
        return iso
    is_month_first = _is_month_first(text)
    if is_month_first is None:
        return ""
    month, day = (found[1], found[3]) if is_month_first else (found[3], found[1])
    return f"{found[4]}-{month:0>2}-{day:0>2}"


def _is_month_first(text: str) -> bool | None:
    """Whether dates in digits in a text begin with the month, not the day; None if unknown."""
    for first, _, second, _ in _AMBIGUOUS.findall(text):
        if max(int(first), int(second)) > 12:
            return int(first) <= 12
    language = language_by_words(tokens(text), IN_QUESTION)
    has_accents = _plain(text) != text.lower()
    if language not in ("", "en") or (not language and has_accents) or _DAY_FIRST.search(text):
        return False
    return True if _MONTH_FIRST.search(text) else None


def period_of(title: str, text: str) -> str:
    """Return the period that a title, a subject line or a report's first lines name; empty if they name none."""
    sentences = [_plain(sentence) for line in text[:HEAD].splitlines() for sentence in _SENTENCES.split(line)]
    subjects = [found[1] for sentence in sentences if (found := _patterns()["subject"].match(sentence))]
    if _pattern("report_words", is_ending=True).search(_plain(title)):
        subjects += [
            sentence
            for sentence in sentences
            if len(_words(sentence)) <= _BEFORE and not _pattern("report_words").search(sentence)
        ]
    period = next(filter(None, map(_period_in, (_plain(title), *subjects))), "")
    if len(period) in (_YEAR_ONLY, len("2024/2025")):
        # The text may define its fiscal year.
        spans = (_span_in(sentence) for sentence in sentences if _pattern("fiscal_words").search(sentence))
        period = next(filter(None, spans), period)
    return period


def _period_in(line: str) -> str:
    """Return the period that a line names; empty if it names none."""
    return _span_in(line) or _ended_in(line) or _part_in(line) or _fiscal_year_in(line) or _date_of_report_in(line)


def _part_in(line: str) -> str:
    """Return the quarter or half of a year that a line names."""
    for name in ("part_of_year", "year_and_part"):
        for found in _patterns()[name].finditer(line):
            sign = found["sign"] or found["letter"]
            number = _ordinals().get(found["ordinal"] or "", 0) or int(found["number"] or found["digit"] or 0)
            is_quarter = sign in ("q", "t") if sign else found["unit"] in _listed("quarter_words")
            if is_quarter or number < 3:
                return f"{_year(found['year'])}-{'Q' if is_quarter else 'H'}{number}"
    return ""


def _fiscal_year_in(line: str) -> str:
    """Return the fiscal year that a line names (2024 or 2024/2025), or the two years of a span such as 2024/25."""
    years = _patterns()["fiscal_year"].search(line)
    if not years:
        return ""
    year = _year(years["year"] or years["before"] or years["first"])
    until = years["until"] or years["last"]
    if until and year[: 4 - len(until)] + until > year:
        return f"{year}/{year[: 4 - len(until)]}{until}"
    return "" if years["first"] else year


def _date_of_report_in(line: str) -> str:
    """Return the year, or of a monthly report the month, in a line that names a report."""
    if not _pattern("report_words", is_ending=True).search(line):
        return ""
    is_monthly = any(word in line for word in _listed("month_words"))
    sizes = (_YEAR_ONLY, len("2024-05")) if is_monthly else (_YEAR_ONLY,)
    dates = (date for date in dates_in(line) if not _AMBIGUOUS.fullmatch(line[date.start : date.end]))
    return max((date.iso for date in dates if len(date.iso) in sizes), key=len, default="")


def _span_in(line: str) -> str:
    """Return the period between two months that a line names: "October 2024 to September 2025"."""
    found = _patterns()["span"].search(line)
    if not found:
        return ""
    months = all_month_names()
    first, last = months[found["first"]], months[found["last"]]
    return _named_span(int(found["from"] or found["year"]), first, int(found["year"]), last)


def _ended_in(line: str) -> str:
    """Return the period of a phrase such as "the year ended 31 March 2025"."""
    lengths = {"year_words": 12, "fiscal_words": 12, "half_words": 6, "quarter_words": 3, "month_words": 1}
    for found in dates_in(line):
        before = line[: found.start]
        if len(found.iso) > _YEAR_ONLY and re.search(rf"{_any('end_words')}(?:\W+[a-z]{{1,3}})*\W*$", before):
            size = next((size for words, size in lengths.items() if _pattern(words).search(before)), 0)
            year, month = int(found.iso[:4]), int(found.iso[5:7])
            began = year * 12 + month - size
            return _named_span(began // 12, began % 12 + 1, year, month) if size else ""
    return ""


def _named_span(year: int, month: int, last_year: int, last_month: int) -> str:
    """Return the name of the period from one month to another (see `Dated.period`)."""
    size = (last_year - year) * 12 + last_month - month + 1
    if size in (12, 6, 3) and last_month % size == 0:
        part = last_month // size
        return {12: f"{year}", 6: f"{year}-H{part}", 3: f"{year}-Q{part}"}[size]
    return f"{year}-{month:02}" if size == 1 else f"{year}-{month:02}/{last_year}-{last_month:02}"


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
    forms = [re.escape(word).replace("\\ ", r"\s+") for word in sorted(_listed(table), key=len, reverse=True)]
    return f"(?:{'|'.join(forms)})"


@cache
def _pattern(table: str, *, is_ending: bool = False) -> re.Pattern[str]:
    """Return a pattern of a word table's entries: as words, as ends of words (`is_ending`), or in unspaced text."""
    begin, ending = ("", "(?:s|e|en|es|i)?") if is_ending else (r"(?:(?<![^\W_])|(?=[\u2e80-\U0003134f]))", "")
    return re.compile(rf"{begin}{_any(table)}(?:(?<=[\u2e80-\U0003134f])|{ending}(?![^\W_]))")


@cache
def _ordinals() -> dict[str, int]:
    """Return the numbers (from 1) of ordinal words."""
    lines = WORDS["ordinals"].strip().splitlines()
    return {_plain(word): number for number, line in enumerate(lines, 1) for word in line.split()}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of subject lines, ranges and periods, by name; compiling them at import would be too slow."""
    month = f"(?:{'|'.join(sorted(all_month_names(), key=len, reverse=True))})"
    day = r"(?:\s\d{1,2}(?:,|(?=\s\D)))?"
    until = rf"\W*{_any('range_words')}\W*(?:\w{{1,3}}\W+){{0,2}}"
    ordinals = "|".join(sorted(map(re.escape, _ordinals()), key=len, reverse=True))
    part = (
        rf"(?:(?P<ordinal>{ordinals})[\s-]*(?P<unit>{_any('quarter_words')}|{_any('half_words')})"
        r"|(?P<letter>[qths])(?P<number>[1-4])|(?P<digit>[1-4])(?P<sign>[qths]))"
    )
    joint = r"(?:\W+(?:of|the|de|del|di|do|du|des|van|het|l|fy|year|jahres|annee|ano|anno|jaar)\b)*\W{0,3}"
    year = r"(?P<year>(?:19|20|21)\d\d|(?<=[qths])\d\d|(?<=[qths]\d.)\d\d)(?!\d)"
    forms = {
        "subject": rf"\W*{_any('subject_words')}\W*:(.*)",
        "range_before": rf"(?:\d[年月日.]?\s*(?:to|bis|au|al|tot|至)|{month}\.?\s*[–—-])\s*$",
        "span": rf"(?<![^\W_])(?P<first>{month})\.?{day}\s*(?:de\s)?(?P<from>(?:(?:19|20|21)\d\d)?){until}"
        rf"(?P<last>{month})\.?{day}\s*(?:de\s)?{_YEAR}(?!\d)",
        "part_of_year": rf"(?<![^\W_]){part}{joint}{year}",
        "year_and_part": rf"{_YEAR}\s?年?度?\W{{0,3}}{part}(?![a-z0-9])",
        "fiscal_year": rf"(?<![^\W_]){_any('fiscal_words')}\W*(?:\w{{1,3}}\W)?(?P<year>(?:20)?\d\d)(?!\d)"
        r"(?:\s?[-–/]\s?(?P<until>(?:20)?\d\d)(?!\d))?|(?P<before>20\d\d)\s?年?(?:年度|财年|财政年度)"
        r"|(?<!\d)(?P<first>20\d\d)\s?[-–/]\s?(?P<last>(?:20)?\d\d)(?![-/.\d])",
    }
    return {name: re.compile(form) for name, form in forms.items()}
