"""The syntax of citation markers in reports written by other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..text.words import dates_in
from ._short_forms import CONNECTORS, NOTE_WORD, names_in
from ._source_lists import PUBLICATION_YEAR, RAISED_SIGNS, WEB_ADDRESS
from .labels import all_labels

# Repetitions in patterns are atomic or bounded, so that a hostile report cannot make matching slow.
HIDDEN = "\0"
"""Stands around the index of a footnote that became a citation."""
_TARGET = (
    rf"\(\s*<?(?P<{{0}}>(?>{WEB_ADDRESS}|(?:[^()<>\"'\n]|(?<!\s)'){{{{1,300}}}}"
    rf"(?:\([^()<>\n]{{{{0,100}}}}\)[^()<>\"'\n]{{{{0,200}}}}){{{{0,2}}}}))>?[^)\n]{{{{0,300}}}}\)"
)
_WORDS = r"(?P<{0}>(?:[^\[\]\n]|\[[^\[\]\n]{{0,200}}\]){{1,500}}+)"
_TAGGED_LINK = re.compile(
    r"<a\b[^<>]{0,300}?\bhref\s*=\s*[\"']?(?P<address>[^\"'<>\s]{1,2000})[\"']?[^<>]{0,300}>"
    r"(?P<words>(?:[^<]|<(?!/?a\b)){0,300}+)</a\s*>",
    re.IGNORECASE,
)
_TAGGED_ANCHOR = re.compile(r"<a\b[^<>]{0,300}>\s*</a\s*>", re.IGNORECASE)
_WITHIN = re.compile(rf"(?<!!)\[{_WORDS.format('words')}\]\(\s*#[^)\s]{{0,200}}\s*\)")
_NOTE_TAG = re.compile(r"<ref\b[^<>/]{0,200}>(?P<words>[^<>\[\]\n]{1,500})</ref\s*>", re.IGNORECASE)
_RAISED_LINK = re.compile(
    r"<sup\b[^<>]{0,200}>\s*(?P<link>\[[^<>]{1,300}?\]\([^<>\s]{1,1000}\))\s*</sup\s*>",
    re.IGNORECASE,
)
_PLAIN_FORMS = (
    # Escaped brackets, as converters write them.
    (re.compile(r"\\\[(\^?\d[\d,;\s–-]{0,40})\\\]"), r"[\1]"),
    (re.compile(r"\[\^(\d{1,3})\^\]"), r"[^\1]"),
    (re.compile(r"\^\[(\d[\d,;\s–-]{0,30})\]\^"), r"[\1]"),
    (re.compile(r"\[(\d{1,3})\]\s?[–—-]\s?\[(\d{1,3})\](?!\()"), r"[\1-\2]"),
    # A page behind the brackets.
    (re.compile(r"(\[\^?\d{1,3})\],?\s\(?((?:pp?|S)\.\s?\d[\d–-]{0,12})\)?"), r"\1, \2]"),
    # reStructuredText.
    (re.compile(r"(\[#?\w{1,40}\])_(?!\w)"), r"\1"),
    (re.compile(r"^\.\. (?=\[)", re.MULTILINE), ""),
)
"""Patterns of other forms of markers, and what stands in their places."""
_PAGE_BEHIND = re.compile(
    r"(?<=[.,;:!?…”\"\])])\[(?P<number>\^?\d{1,3})\]\s?:\s?(?P<page>\d{1,5}(?:[–-]\d{1,5})?)(?=\s{2}|\s*$|\[|\s+[A-Z])",
    re.MULTILINE,
)
"""Matches a marker at the end of a sentence with a page behind a colon, as Wikipedia shows it."""
_MAY_CITE = re.compile(r"[\[\]\d@<]|^\W*\w\W*$")
CITATION_TOKEN = re.compile(
    rf"{HIDDEN}(?P<note>\d+){HIDDEN}"
    r"|(?P<opaque>:contentReference\[oaicite:\d+\]\{index=\d+\}|\ue200[^\ue200\ue201\n]{1,100}\ue201"
    r"|\b(?:file)?cite(?:turn\d+[a-z]+\d+)+)"
    rf"|\\cite\w{{0,10}}\*?(?:\[[^\[\]\n]{{0,60}}\]){{0,2}}\{{(?P<latex>[^{{}}\n]{{1,200}})\}}"
    rf"|(?P<kept>\\[^\w\s]|!\[{_WORDS.format('alternative')}\]"
    rf"(?:{_TARGET.format('picture')}|\[[^\[\]\n]{{0,60}}\]))"
    r"|\^\[(?P<inline>[^\[\]\n]{1,500})\]"
    rf"|\[{_WORDS.format('words')}\]"
    rf"(?:{_TARGET.format('target')}|\ ?\[(?P<label>[^\[\]\n]{{0,60}})\])"
    rf"|\s?[(（<]\s*(?P<enclosed>{WEB_ADDRESS})\s*[)）>]|(?<![\w/(<\[])\s?(?P<address>{WEB_ADDRESS})"
    r"|<(?P<angled>[^<>\s/:][^<>\n:]{0,200}\.\w{1,10})>"
    r"|[\[【［]{1,2}(?P<bracket>[^\[\]【】［］]{1,200})[\]】］]{1,2}"
    r"|[(（](?P<round>[^()（）\[\]【】\n]{1,300}(?:\n[^()（）\[\]【】\n]{1,300})?)[)）]"
    r"|<sup\b[^<>]{0,200}>\s*(?P<tagged>[^<>\n]{1,40})\s*</sup\s*>"
    r"|(?P<raised>[¹²³⁰⁴-⁹]{1,3}(?:[ ,·˒⁻–-]{1,2}[¹²³⁰⁴-⁹]{1,3}){0,5})"
    rf"|(?P<letters>[{RAISED_SIGNS}](?:[ ,·˒]{{1,2}}[{RAISED_SIGNS}]){{0,5}})(?![{RAISED_SIGNS}])"
    r"|(?:\$\^\{?|\\textsuperscript\{|\^)"
    r"(?P<caret>\d{1,3}(?:[,;–-]\ ?\d{1,3}){0,5}|[a-z])(?:\}?\$|\}|\^)"
    r"|(?P<open>(?<=[.,;:!?)\"”’»])\^\d{1,3}(?![\d^]))"
    r"|(?P<template>\{\{\s?(?:cite|citation(?!\s(?:needed|required))|sfn|harv|r\|)[^{}\n]{0,500}\}\})"
    rf"|(?P<elsewhere>(?:(?<!\w)(?-i:[A-Z])[\w.'’-]{{1,40}},?\s)?[*_]{{0,2}}\b(?:supra|infra)[*_]{{0,2}},?\s(?:{NOTE_WORD})\s?\d{{1,3}})"
    r"|(?P<again>(?<=[.!?…”\")\]*]\s)[*_]{0,2}(?-i:Ibid|Id|Ebd)\.[*_]{0,2}"
    r"(?:,?\s(?:at|pp?\.|S\.|§)\s?[\d–-]{1,12})?\.?(?!\S))"
    r"|(?<![\w@./])-?@(?P<key>[^\W\d_][\w:.+/-]{0,60})",
    re.IGNORECASE,
)
"""A part of a text that may be a citation; the named groups say in which form."""
_NUMBER = r"\^?#?(\d{1,3})"
_RANGE = r"(?:\s*[-–—~～]\s*\^?(\d{1,3}))?"
_JOINT = re.compile(r"\s*(?:[,;，、；&]|(?<=\d)\s(?:and|und|et|y|e|и|en|og|och|i)\s(?=\d))\s*")
_RAISED_JOINT = re.compile(r"[ ,·˒]+")
_LOCATOR_WORD = (
    r"(?:pp?|ss?|seiten?|pages?|pág|pgs?|ch|chap|chapters?|kap|kapitel|sec|sect|sections?|abschn|abschnitt|fig|figures?|abb"
    r"|tab|tables?|par|para|paragraphs?|art|no|nr|vol|bd|ll?|lines?|с|стр|f|ff|folio|fol|n|fn|note|at|§+|¶+|第)"
)
_BEHIND_NUMBER = re.compile(
    rf"\s*(?:[†:：]\s*\S.{{0,60}}|[(（][^()（）]{{1,40}}[)）]|{_LOCATOR_WORD}\.?\s*\d.{{0,40}})",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    rf"{_LOCATOR_WORD}\.?\s*\S.{{0,60}}|\D{{0,15}}\d.{{0,25}}|passim|ff?\.?", re.I
)
_PARTICLES = frozenset(
    ("van", "von", "der", "den", "de", "du", "di", "da", "dos", "del", "della", "la", "le", "el",
     "al", "bin", "ibn", "ten", "ter", "of", "the", "für", "des", "zu", "zum")
)  # fmt: skip
_MOST_NAMES = 12
_NOT_IN_NAMES = re.compile(r"[.!?:\"“”]\s+\S+\s|[!?\"“”=%$€£<>/|*+〔《「『]")
_BEHIND_YEAR = re.compile(r"\s*(?:[,，:：][^!?]{0,60}|(?:pp?|S)\.?\s?\d[\d–-]{0,10})?")
_YEAR_ONLY = re.compile(rf"(?:{PUBLICATION_YEAR.pattern})(?:\s*[,:;]\s*.{{1,40}})?")
_POWER_BASE = re.compile(
    r"(?<![\d.,])10$|[=×·^√]\s?[\d.,]+$|(?<![^\W_])(?:[^\W\d_]|[A-Z]{2,3}|[kcdmnµμ]m)$"
    r"|[\d/]\s?(?:ft|in|yd|mi|sec|min|h|k?g)$|\)$(?<=\w\))"
)
_OPERATOR = re.compile(r"\s?[=×·^/⁄]\s?\w")


class Numbers(NamedTuple):
    """The numbers of a numeric marker."""

    singles: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    """First and last number of each range."""


class Work(NamedTuple):
    """A work that a marker names by its authors and its year."""

    names: tuple[str, ...]
    """The words of the authors' names, in order."""
    year: str
    is_certain: bool
    """Whether it can be nothing but a citation."""
    before: str = ""
    """Words before it that belong to the text, such as "see"."""


def with_plain_markers(text: str) -> str:
    """Return a text with links and notes in HTML as Markdown, and with one form for markers that
    are written in several.

    Of links to places within the text, the words remain, in brackets if these are a marker.
    """
    for pattern, plain in _PLAIN_FORMS:
        text = pattern.sub(plain, text)
    if "<" in text:
        text = _NOTE_TAG.sub(r"^[\g<words>]", text)
        text = _RAISED_LINK.sub(r"\g<link>", text)
        text = _TAGGED_LINK.sub(r"[\g<words>](\g<address>)", text)
        text = _TAGGED_ANCHOR.sub("", text)

    def within(link: re.Match[str]) -> str:
        words = link["words"]
        is_marker = _MAY_CITE.search(words) and "<" not in words
        if is_marker and not words.startswith("["):
            return f"[{words}]"
        return words

    if "](#" in text or "]( #" in text:
        text = _WITHIN.sub(within, text)
    return _PAGE_BEHIND.sub(_with_page, text)


def _with_page(marker: re.Match[str]) -> str:
    """Return a marker with the page in it; a footnote needs none."""
    number = marker["number"]
    return f"[{number}]" if number.startswith("^") else f"[{number}, p. {marker['page']}]"


@cache
def _number_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a number in a marker, the first one and the following, and of words
    before it that say that it is the number of a source."""
    source = "|".join(re.escape(labels.source) for labels in all_labels().values())
    word = (
        rf"(?:(?:(?:{source})n?|sources?|documents?|docs?|references?|refs?\.?|citations?|cite|notes?|footnotes?|fn\.?)"
        r"\s*[:#]?\s*)?"
    )
    number = rf"{word}{_NUMBER}{_RANGE}"
    first = re.compile(
        rf"(?:(?:see|siehe|vgl\.|cf\.|voir)\s+)?{number}(?P<rest>\D.*)?", re.I | re.S
    )
    following = re.compile(rf"{number}(?P<rest>\D.*)?", re.I | re.S)
    return first, following, re.compile(rf"(?:{source})n?\b|sources?\b|refs?\b|references?\b", re.I)


def names_number(content: str) -> bool:
    """Whether the content of brackets begins with a word such as "source" before a number."""
    word = _number_patterns()[2].match(content)
    return word is not None and content[word.end() :].lstrip(" .:#")[:1].isdigit()


def numbers_of(content: str) -> Numbers | None:
    """Return the numbers in the content of a marker, such as `1, p. 4; 2-3`; None if it is no such
    marker."""
    first, following, _ = _number_patterns()
    singles = list[int]()
    spans = list[tuple[int, int]]()
    is_behind_locator = False
    begin = 0
    for joint in [*_JOINT.finditer(content), None]:
        end = joint.start() if joint else len(content)
        part = content[begin:end].strip()
        pattern = following if begin else first
        found = pattern.fullmatch(part)
        is_number = found is not None and not (found["rest"] or "").strip()
        has_locator = (
            found is not None and _BEHIND_NUMBER.fullmatch(found["rest"] or "") is not None
        )
        if found and (is_number or has_locator) and not is_behind_locator:
            number = int(found[1])
            if found[2]:
                spans.append((number, int(found[2])))
            else:
                singles.append(number)
            is_behind_locator = has_locator
        elif not begin or not _LOCATOR.fullmatch(part):
            return None
        else:
            is_behind_locator = True
        if joint:
            begin = joint.end()
            if joint.group().strip() in (";", "；"):
                is_behind_locator = False
    widths = [last - start for start, last in spans]
    if 0 in singles or any(start == 0 for start, _ in spans) or any(width < 1 for width in widths):
        return None
    return Numbers(tuple(singles), tuple(spans))


def raised_parts(content: str) -> str:
    """Return the content of a raised marker with commas between its parts."""
    return ",".join(filter(None, _RAISED_JOINT.split(content.replace("⁻", "-"))))


def is_power(before: str, behind: str) -> bool:
    """Whether raised digits between these texts are an exponent or belong to a word behind them."""
    if behind[:1].isalnum() or _OPERATOR.match(behind):
        return True
    return _POWER_BASE.search(before[-20:]) is not None


def works_in(content: str) -> list[Work] | None:
    """Return the works in the content of a marker such as `Smith, 2020, p. 4; Ash et al., 2019`;
    None if it names none.

    Every part of the content must name one.
    """
    works = list[Work]()
    for part in re.split("[;；]", content):
        end = 0
        names: tuple[str, ...] = ()
        is_first = True
        for year in PUBLICATION_YEAR.finditer(part):
            before = part[end : year.start()]
            end = year.end()
            segment = before.strip(" ,，")
            is_certain = True
            kept = ""
            if segment:
                if not is_first:
                    # A locator may stand between two works.
                    segment = segment.rpartition(", ")[2]
                found = _split_names(segment)
                if found is None:
                    if is_first:
                        return None
                    continue
                kept, names = found
                is_joined = before.rstrip().endswith((",", "，"))
                has_others = re.search(r"\bet al\b|&|\bu\. ?a\.", segment) is not None
                is_certain = is_joined or has_others
            if not names:
                return None
            if _is_month(names[-1], year.group()):
                return None
            works.append(Work(names, _plain_year(year.group()), is_certain, kept))
            is_first = False
        if is_first:
            return None
        if not _BEHIND_YEAR.fullmatch(part[end:]):
            return None
    return works


def _is_month(word: str, year: str) -> bool:
    """Whether a word before a year is the name of a month."""
    return any(len(date.iso) > len(year) for date in dates_in(f"{word} {year}"))


def _plain_year(year: str) -> str:
    return re.sub(r"\s", "", year).casefold()


def _split_names(segment: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the words before the names of authors, and the words of the names; None if the text
    holds none."""
    if _NOT_IN_NAMES.search(segment) or re.search(r"\d", segment):
        return None
    words = segment.split()
    first = 0
    while first < len(words) and _is_lower(words[first]):
        first += 1
    names = names_in(" ".join(words[first:]))
    if not names or len(names) > _MOST_NAMES:
        return None
    lower = [word for word in words[first:] if _is_lower(word)]
    if any(word.strip(".,").casefold() not in CONNECTORS | _PARTICLES for word in lower):
        return None
    kept = " ".join(words[:first])
    return kept, tuple(names)


def _is_lower(word: str) -> bool:
    return word[:1].islower() and word.casefold() not in ("van", "von", "de", "bin", "ibn")


def is_locator(text: str) -> bool:
    """Whether a text says where in a work something stands, such as `p. 4`."""
    return _LOCATOR.fullmatch(text.strip()) is not None and " " not in text.strip(" 0123456789–-,")


def is_year_with_locator(content: str) -> bool:
    """Whether the content of a marker is a year, perhaps with a place in the work: the authors
    stand before it in the text."""
    return _YEAR_ONLY.fullmatch(content.strip()) is not None


def year_in(content: str) -> str:
    """Return the first year in a text; empty if there is none."""
    found = PUBLICATION_YEAR.search(content)
    return _plain_year(found.group()) if found else ""


def names_before(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the names of authors with which a text may end, longest first."""
    words = text[-100:].replace("\n", " ").split()
    taken = list[str]()
    for word in reversed(words):
        bare = word.strip(",")
        is_name = bare[:1].isupper() or bare.casefold() in CONNECTORS | _PARTICLES
        if not is_name and bare[:1].islower():
            break
        if taken and word[-1:] in ".;:!?" and not re.fullmatch(r"(?:[A-Z]\.)+|al\.", word):
            break
        taken.insert(0, word)
        if len(taken) == _MOST_NAMES:
            break
    while taken:
        names = names_in(" ".join(taken))
        if names:
            yield tuple(names)
        taken.pop(0)
