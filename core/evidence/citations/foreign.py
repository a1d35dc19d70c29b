"""Reads a report written by another program: its text with all citations as `[n]`, and the source
of each number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..text.sentences import sentence_spans
from ._file_names import FileNames
from ._footnotes import Footnote, taken_out, with_footnotes
from ._foreign_markers import (
    CITATION_TOKEN,
    HIDDEN,
    Work,
    is_locator,
    is_power,
    is_year_with_locator,
    names_before,
    names_number,
    numbers_of,
    raised_parts,
    with_plain_markers,
    works_in,
    year_in,
)
from ._house_words import HouseWords, is_our_document, split_house_words
from ._known_sources import KnownSources, NotUnderstood, is_key, is_number
from ._short_forms import CONNECTORS, ShortForm, names_with_page, short_forms
from ._source_lists import (
    PUBLICATION_YEAR,
    SourceList,
    Target,
    find_source_lists,
    read_target,
    without_lists,
)
from ._wiki_markup import WikiMarkup
from .citing import Edit, with_edits
from .labels import all_labels
from .markers import INERT, LINE_PARTS, Marker, code_lines, scan, unwrapped
from .rendering import without_calculation_list

__all__ = ["ForeignReport", "NotUnderstood", "Target", "read_foreign"]
_AT_END = "\1"
"""Stands around a citation that belongs at the end of its sentence."""
_MOVED = re.compile(rf"{_AT_END}([^{_AT_END}]*){_AT_END}")
_BEFORE_END = re.compile(r"[.!?…。！？]?[\"'”’»*_)]*$")
_ONLY_MARKERS = re.compile(r"[(（]\s?(\[\d[\d, ]*\](?:[,; ]{0,2}\[\d[\d, ]*\]){0,9})\s?[)）]")
_SIGNS = re.compile(f"[{HIDDEN}{_AT_END}]")
_START = re.compile(r"https?://(?:www\.)?", re.I)
_LIKE_ADDRESS = re.compile(r"[/.#:]")
_SCHEME = re.compile(r"(?:mailto|tel|data|javascript|sms):", re.I)
_IN_MARKER = re.compile(
    r"(?:[\[【［(（>^]|[,;]\s?)(?:[^\W\d_]{2,12}\s)?\^?(\d{1,3})\b(?!\]{1,2}\()"
)
"""A number that may be one of a marker, if it is not the text of a link."""
_KEPT_NOTE = re.compile(r"^\\\[\^([a-z]+)\]:", re.MULTILINE)
_LIKE_OURS = re.compile(r"\d+(?:, ?\d+)*")
_KEYS = re.compile(r"\s*[,;]\s*")
_PANDOC = re.compile(r"(?P<before>[^@;]*?)-?@(?P<key>[^\W_][\w:.+/-]*)(?P<behind>[^@;]*)")
_PRIVATE = re.compile("[\ue200-\ue2ff]+")
_AROUND_NOTE = " \t.()[]"
_RAISED_NOTE = re.compile(r"[A-Za-z](?:[ ,·˒]{1,2}[A-Za-z]){0,5}")
_ENDS_STATEMENT = re.compile(r"[^\W\d_]{3}$|[.,;:!?)\]”\"]$")
_ENDS_CLAUSE = re.compile(r"[.,;\n]|$")
_NOTE_LABEL = re.compile(r"(?:note|nb|n|fn|anm)\.?\s?\d{1,3}", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"\[\d{1,3}\]")
_PAGE_WORD = re.compile(r"[\s,](?:pp?\.|S\.|fol\.|at)\s?\d")
_REFERENCE = re.compile(
    rf"[^\W\d_a-z][^\s,]{{0,40}}(?:\s[^\W\d_a-z][^\s,]{{0,40}}){{0,3}},\s[^\n]{{1,300}}?"
    rf"\((?:[^()]{{0,60}}[\s,:])?{PUBLICATION_YEAR.pattern}\)"
)
"""A footnote that describes a publication: an author first, and a year in brackets."""
_PARAGRAPH_TAG = re.compile(r"</?p>")
_WIDEST = 40
"""Maximum number of sources in a range; a wider one, such as [1-90], is no citation."""
_MOST_LABELS = 6
"""Maximum number of labels in a marker, and of words of a title before a file name in it."""
_AROUND = 200
"""Number of characters before a marker that show what it means."""
_NO_ENTRY = "the report's list of sources has no such entry"
_NO_LIST = "the report has no list of sources"
_NO_NOTE = "the report has no such footnote"
_NOTHING_BEFORE = "it follows no citation"
_SEVERAL = "several entries of the report's list of sources fit"
_OPAQUE = "it means a source only within the program that wrote it"
_TEMPLATE = "it is a template whose fields are not understood"
_NO_TARGET = "it leads neither to a web address nor to a file that can be read"


class ForeignReport(NamedTuple):
    """A report written by another program, with citations in our form."""

    text: str
    """Markdown without the source list, with all citations as `[n]`."""
    targets: Mapping[int, Target]
    """The sources of its list and of its citations, by number."""
    not_understood: Sequence[NotUnderstood] = ()
    """What looks like a citation but is not understood, each once, in order."""
    is_ours: bool = False
    """Whether this program wrote it: it ends with a list of sources and notes as ours do."""

    def divided(self) -> HouseWords:
        """Divide the text into what its publisher or this program wrote above and below it, and the
        rest."""
        return split_house_words(self.text, is_ours=self.is_ours)


def read_foreign(markdown: str, suffixes: Collection[str]) -> ForeignReport:
    """Return a Markdown report with all its citations as `[n]`; see `_read`."""
    return _read(markdown, suffixes)._replace(is_ours=is_our_document(markdown))


def _read(markdown: str, suffixes: Collection[str]) -> ForeignReport:
    """Return a Markdown report with all its citations as `[n]`.

    A citation is a number, letter, key, or authors with a year that an entry of a source list
    begins with; a footnote that names a source; a link, a web address or the name of a file;
    "ibid.". Markers may be in brackets or raised, and name a page. A source list has a heading that
    says so, or each entry has an address or the name of a file; it is removed. Files have one of
    the `suffixes`. A footnote that names no source keeps its text.
    """
    files = FileNames(suffixes)
    written = unwrapped(_SIGNS.sub("", without_calculation_list(markdown)))
    wiki = WikiMarkup(written)
    plain = _outside_code(written, lambda text: with_plain_markers(wiki.plain(text)))
    kept, notes = taken_out(plain)
    lists = find_source_lists(kept, files)
    ends = [] if notes else _ends_of_parts(kept, lists)
    if ends:
        starts = [0, *ends[:-1]]
        parts = list[ForeignReport]()
        for start, end in zip(starts, ends, strict=True):
            lines = kept[start:end]
            parts.append(_read_lines(lines, {}, find_source_lists(lines, files), files))
        if not any(part.not_understood for part in parts):
            return _joined(parts)
    return _read_lines(kept, notes, lists, files)


def _ends_of_parts(lines: Sequence[str], lists: Sequence[SourceList]) -> list[int]:
    """Return the indexes of the lines behind the parts of a report that have lists of sources of
    their own with the same labels, such as slides; none if it has one list."""
    if any(found.is_headed for found in lists):
        return []
    ends = list[int]()
    last = 0
    labels = set[str]()
    for found in sorted(lists, key=lambda found: found.entries[0].first):
        if not labels.isdisjoint(found.labels):
            ends.append(last)
            labels.clear()
        labels |= found.labels
        last = found.entries[-1].last + 1
    return [*ends, len(lines)] if ends else []


def _joined(parts: Sequence[ForeignReport]) -> ForeignReport:
    """Return the parts of a report as one, with a number for each source."""
    targets = dict[int, Target]()
    known = dict[str, int]()
    texts = list[str]()
    for part in parts:
        numbers = dict[int, int]()
        for number, target in part.targets.items():
            name = target.address or target.title
            numbers[number] = known.setdefault(name, len(known) + 1)
            targets.setdefault(numbers[number], target)
        pieces = list[str]()
        for piece in scan(part.text):
            if isinstance(piece, Marker):
                pieces.append(f"[{', '.join(str(numbers[n]) for n in piece.numbers)}]")
            else:
                pieces.append(piece)
        texts.append("".join(pieces))
    return ForeignReport("\n\n".join(texts), targets)


def _read_lines(
    kept: Sequence[str], notes: Mapping[str, str], lists: Sequence[SourceList], files: FileNames
) -> ForeignReport:
    """Read lines without the texts of footnotes; `lists` are the source lists in them."""
    best: ForeignReport | None = None
    for chosen in _choices(lists):
        for takes_round in (False, True):
            lines = without_lists(kept, chosen)
            reader = _Reader(lines, chosen, files, takes_round=takes_round)
            report = reader.read(notes)
            if reader.cites_list:
                return report
            # Round brackets are markers only if nothing else cites the list.
            best = best or report
    if lists and lists[0].is_headed and best:
        return best
    return _Reader(kept, (), files).read(notes)


def _choices(lists: Sequence[SourceList]) -> Iterable[Sequence[SourceList]]:
    """Yield which lists may be the source list, the likeliest first: each with those that use
    other labels."""
    for first in lists[:3]:
        chosen = [first]
        labels = set(first.labels)
        for other in lists:
            is_apart = labels.isdisjoint(other.labels)
            if other is not first and is_apart and (other.is_headed or not first.is_headed):
                chosen.append(other)
                labels |= other.labels
        yield chosen


class _Reader:
    """Reads the citations of one report in the order of its text."""

    def __init__(
        self,
        lines: Sequence[str],
        lists: Sequence[SourceList],
        files: FileNames,
        *,
        takes_round: bool = False,
    ) -> None:
        """`lines` are those of the report without the source lists and footnotes. With
        `takes_round`, numbers in round brackets are markers."""
        self.cites_list = False
        """Whether a marker cites an entry of the lists."""
        self._lines = lines
        self._files = files
        self._takes_round = takes_round
        self._has_plain_numbers = any(map(_PLAIN_NUMBER.search, lines))
        reserved = map(int, _IN_MARKER.findall("\n".join(lines)))
        self._sources = KnownSources(lists, reserved)
        self._last: tuple[int, ...] = ()
        """The sources of the citation before."""
        self._notes = list[tuple[str, str]]()
        """Label and text of the footnotes that became citations."""
        self._without_address = dict[str, int]()
        """Numbers of the sources of footnotes that have no address, by their texts."""
        self._kept_notes = set[str]()
        """Labels of the footnotes that keep their texts."""
        self._by_note = dict[str, tuple[int, ...]]()
        """The sources of the footnotes that cite some, by their labels."""

    def read(self, notes: Mapping[str, str]) -> ForeignReport:
        """Return the report with these footnotes, by label."""
        body = "\n".join(self._lines)
        if notes:
            body = with_footnotes(self._lines, notes, self._read_note)
        self._kept_notes.update(_KEPT_NOTE.findall(body))
        text = _outside_code(_PARAGRAPH_TAG.sub("", body), self._read_prose)
        text = re.sub(r"\n{3,}", "\n\n", _at_sentence_ends(text)).strip()
        return ForeignReport(text, self._sources.targets, self._sources.not_understood)

    @property
    def _no_entry(self) -> str:
        """Why a marker names no source."""
        return _NO_ENTRY if self._sources.has_lists else _NO_LIST

    def _cite(self, numbers: Iterable[int]) -> str:
        """Return the marker that cites sources."""
        self._last = tuple(dict.fromkeys(numbers))
        if not self._sources.listed.isdisjoint(self._last):
            self.cites_list = True
        return f"[{', '.join(map(str, self._last))}]"

    def _read_note(self, label: str, words: str) -> Footnote:
        """Return what becomes of a footnote."""
        target = read_target(words, self._files)
        if target.address:
            number = self._sources.add(target, int(label) if is_number(label) else 0)
            self._by_note[label] = (number,)
            # Later footnotes may name the source by its author only.
            self._sources.add_work(number, words)
        elif not self._is_citation(words):
            return Footnote(text=words)
        self._notes.append((label, words))
        return Footnote(citation=f"{HIDDEN}{len(self._notes) - 1}{HIDDEN}")

    def _is_citation(self, words: str) -> bool:
        """Whether the text of a footnote without an address is a citation."""
        bare = words.strip(_AROUND_NOTE)
        if short_forms(words) is not None or bare.casefold() in self._sources.labels:
            return True
        if bare.startswith("@") or self._by_short_form(words) or _REFERENCE.match(words):
            return True
        works = works_in(bare) or ()
        return any(self._sources.by_authors(work.names, work.year) for work in works)

    def _by_short_form(self, words: str) -> int | None:
        """Return the source that a footnote such as "Ash, p. 12" names by its author."""
        names = names_with_page(words)
        fitting = self._sources.by_authors(names, "") if names else []
        return fitting[0] if len(fitting) == 1 else None

    def _read_prose(self, text: str) -> str:
        """Return a text outside code with its citations as markers."""
        return _ONLY_MARKERS.sub(r"\1", CITATION_TOKEN.sub(self._read_token, text))

    def _read_token(self, found: re.Match[str]) -> str:
        """Return what stands in place of a part of a text that may be a citation."""
        read = self._replaced(found)
        behind = found.string[found.end() : found.end() + 1]
        if read.endswith("]") and behind == "(" and read != found[0]:
            # A bracket right behind a marker would make it a link.
            read += " "
        return read

    def _replaced(self, found: re.Match[str]) -> str:
        raw = found[0]
        match found.lastgroup:
            case "note":
                label, words = self._notes[int(found["note"])]
                marker = self._for_note(label, words)
                self._by_note[label] = self._last
                return marker
            case "opaque":
                words = _PRIVATE.sub(" ", raw)
                return f"[{self._sources.misunderstood(words, _OPAQUE)}]"
            case "latex":
                keys = [f"@{key}" for key in _KEYS.split(found["latex"].strip())]
                return self._for_keys("; ".join(keys)) or raw
            case "inline":
                words = found["inline"]
                if not (read_target(words, self._files).address or self._is_citation(words)):
                    return raw
                return self._for_note("", found["inline"])
            case "target":
                return self._for_link(found)
            case "label":
                return self._for_reference(found)
            case "enclosed" | "address":
                address = (found["enclosed"] or found["address"]).rstrip(".,;:")
                before = found.string[found.start() - 1 : found.start()]
                space = "" if not before.strip() and before else " "
                return space + self._cite([self._sources.add(Target("", address))])
            case "angled":
                name = self._files.of_link(found["angled"])
                return self._for_files(name) or raw
            case "bracket":
                return self._for_bracket(found)
            case "round":
                return self._for_round(found)
            case "tagged" | "raised" | "caret" | "open":
                return self._for_raised(found)
            case "letters":
                return self._for_raised_letters(unicodedata.normalize("NFKC", raw), raw)
            case "template":
                self._sources.name_only(raw, _TEMPLATE)
                return raw
            case "elsewhere":
                return self._for_other_note(raw)
            case "again":
                return self._for_same(raw, raw)
            case "key":
                return self._for_bare_key(found)
        return raw

    def _for_note(self, label: str, words: str) -> str:
        """Return the citation for a footnote that names a source."""
        target = read_target(words, self._files)
        if target.address:
            wanted = int(label) if is_number(label) else 0
            cited = self._sources.add(target, wanted)
            if not label:
                self._sources.add_work(cited, words)
            return self._cite([cited])
        bare = words.strip(_AROUND_NOTE)
        marker = self._labelled(bare) or self._for_keys(bare) or self._marker(bare, words)
        if marker:
            return marker
        number = self._by_short_form(words) or self._without_address.get(words)
        if number is None:
            number = self._sources.add(target)
            self._without_address[words] = number
        return self._cite([number])

    def _for_link(self, link: re.Match[str]) -> str:
        """Return the words of a link with the citation of its target."""
        words = link["words"]
        address = link["target"].strip()
        if address.startswith("#") or _SCHEME.match(address):
            return link[0]
        bare = words.strip("[]^ ")
        wanted = int(bare) if is_number(bare) else 0
        name = self._files.of_link(address)
        is_web = address.lower().startswith(("http://", "https://"))
        if wanted and not name and is_locator(address):
            return self._for_numbers(f"{bare}, {address}") or link[0]
        if not is_web and not name and not _LIKE_ADDRESS.search(address):
            # A remark in round brackets right behind square ones.
            return self._read_both(f"[{words}]", link[0][len(words) + 2 :])
        if is_web:
            marker = self._cite([self._sources.add(Target("", address.rstrip(".,;:")), wanted)])
        elif name:
            target = Target("", name.removeprefix("./"), (name,))
            marker = self._cite([self._sources.add(target, wanted)])
        else:
            marker = f"[{self._sources.misunderstood(link[0], _NO_TARGET, wanted)}]"
        if wanted or _START.match(words) or words.strip().casefold() in _source_words():
            return marker
        if words.startswith("[") and words.endswith("]"):
            words = words[1:-1]
        if "[" in words:
            words = CITATION_TOKEN.sub(self._read_token, words)
        return f"{words} {marker}"

    def _read_both(self, first: str, second: str) -> str:
        """Return two parts of a text with their citations as markers."""
        first = CITATION_TOKEN.sub(self._read_token, first)
        second = CITATION_TOKEN.sub(self._read_token, second)
        if first.endswith("]") and second.startswith("("):
            return f"{first} {second}"
        return first + second

    def _for_reference(self, found: re.Match[str]) -> str:
        """Return the words of a link by reference, `[words][label]`, with the citation of its
        target; these may be two markers, too."""
        words = found["words"]
        label = (found["label"] or words).strip().casefold()
        number = self._sources.labels.get(label.lstrip("^@"))
        is_marker = numbers_of(words.strip("^")) is not None or words.strip().startswith(("@", "^"))
        is_shortcut = not found["label"]
        has_own = not is_shortcut and words.strip().casefold() in self._sources.labels
        if number is None or is_marker or has_own:
            return self._read_both(f"[{words}]", found[0][len(words) + 2 :])
        return f"{words} {self._cite([number])}"

    def _for_bracket(self, found: re.Match[str]) -> str:
        raw = found[0]
        content = " ".join(found["bracket"].split())
        if content.startswith("^") and content[1:] in self._kept_notes:
            return raw
        if self._has_plain_numbers and _NOTE_LABEL.fullmatch(content):
            # Beside plain numbers, those with a word are not the numbers of sources.
            return f"[{self._sources.misunderstood(raw, _NO_NOTE)}]"
        marker = self._labelled(content) or self._for_numbers(content)
        marker = marker or self._for_keys(content) or self._marker(content, raw)
        if marker:
            return marker
        number = self._sources.labels.get(content.casefold())
        if number is not None:
            # A link by reference whose words are its label.
            return f"{content} {self._cite([number])}"
        title, _, locator = content.partition(",")
        number = self._sources.by_title(title)
        if number is not None and (not locator or _may_be_locator(locator)):
            return self._cite([number])
        if content.startswith("^") and " " not in content:
            return f"[{self._sources.misunderstood(raw, _NO_NOTE)}]"
        is_letter = len(content) == 1 and content.isalpha()
        if self._sources.may_be_label(content) or (is_letter and _is_behind_end(found)):
            return f"[{self._sources.misunderstood(raw, _NO_ENTRY)}]"
        if raw.startswith("[[") and raw.endswith("]]"):
            # A link of a wiki.
            return f"{content} [{self._sources.misunderstood(raw, _NO_TARGET)}]"
        if _LIKE_OURS.fullmatch(content):
            # A year, or an interval such as [0, 1], must not become one of our markers.
            return raw.translate(INERT)
        return raw[0] + CITATION_TOKEN.sub(self._read_token, raw[1:])

    def _labelled(self, content: str) -> str:
        """Return the citation of entries by letters or keys, perhaps with a place in the work."""
        parts = re.split(r"\s*[,;]\s*", content)[:_MOST_LABELS]
        numbers = list[int]()
        for part in parts:
            label = part.casefold().lstrip("^@")
            number = self._sources.labels.get(label)
            if number is None or not is_key(label):
                break
            numbers.append(number)
        if not numbers:
            return ""
        rest = parts[len(numbers) :]
        missing = [part for part in rest if len(part) == 1 and part.isalpha()]
        numbers += [self._sources.misunderstood(f"[{part}]", _NO_ENTRY) for part in missing]
        return self._cite(numbers) if all(map(_may_be_locator, rest)) else ""

    def _for_numbers(self, content: str) -> str:
        """Return the citation for a marker with numbers; empty if it has others things."""
        read = numbers_of(content)
        if read is None:
            return ""
        numbers = list(read.singles)
        for first, last in read.spans:
            is_known = first in self._sources.listed and last in self._sources.listed
            if last - first >= _WIDEST or (not is_known and last - first > 9):
                return ""
            numbers += range(first, last + 1)
        if read.spans:
            numbers.sort()
        reason = self._no_entry
        mark = ""
        if content.startswith("^"):
            reason = _NO_NOTE
            mark = "^"
        for index, number in enumerate(numbers):
            if number not in self._sources.given:
                words = f"[{mark}{number}]"
                numbers[index] = self._sources.misunderstood(words, reason, number)
        return self._cite(numbers)

    def _for_keys(self, content: str) -> str:
        """Return the citation for a marker with keys, `@ash2020, p. 4; see @birk`."""
        if "@" not in content:
            return ""
        numbers = list[int]()
        pieces = list[str]()
        for part in content.split(";"):
            found = _PANDOC.fullmatch(part.strip())
            if not found:
                return ""
            key = found["key"].rstrip(".:")
            number = self._sources.by_key(key)
            if number is None:
                number = self._sources.misunderstood(f"[@{key}]", self._no_entry)
            numbers.append(number)
            before = found["before"].strip()
            pieces.append(f"{before} [{number}]".strip())
        marker = self._cite(numbers)
        if any(not piece.startswith("[") for piece in pieces):
            return f"({'; '.join(pieces)})"
        return marker

    def _for_bare_key(self, found: re.Match[str]) -> str:
        """Return a key in the text, with its citation at the end of the sentence."""
        key = found["key"].rstrip(".:/-")
        number = self._sources.by_key(key)
        if number is None:
            if PUBLICATION_YEAR.search(re.sub(r"[^\d]+", " ", key)):
                self._sources.name_only(f"@{key}", self._no_entry)
            return found[0]
        return f"{found[0]}{_AT_END}{self._cite([number])}{_AT_END}"

    def _for_round(self, found: re.Match[str]) -> str:
        raw = found[0]
        content = " ".join(found["round"].split())
        before = found.string[max(0, found.start() - _AROUND) : found.start()]
        if self._takes_round and _ends_words(before) and self._knows_all(content):
            return self._for_numbers(content)
        marker = self._marker(content, raw) or self._for_page(content, raw)
        if not marker and names_number(content):
            marker = self._for_numbers(content)
        if marker:
            return marker
        is_letter = len(content) == 1 and content.isalpha()
        behind = found.string[found.end() : found.end() + 1]
        if is_letter and self._sources.may_be_label(content) and _ENDS_CLAUSE.match(behind):
            return self._for_raised_letters(content, raw)
        if is_year_with_locator(content):
            number = self._by_text_before(before, content)
            if number is not None:
                return f"{_AT_END}{self._cite([number])}{_AT_END}"
        inner = raw[1:-1]
        return raw[0] + CITATION_TOKEN.sub(self._read_token, inner) + raw[-1]

    def _knows_all(self, content: str) -> bool:
        """Whether a marker has numbers of the source list only."""
        read = numbers_of(content) if content[:1].isdigit() else None
        if read is None:
            return False
        numbers = [*read.singles, *(number for span in read.spans for number in span)]
        return self._sources.listed.issuperset(numbers)

    def _by_text_before(self, before: str, content: str) -> int | None:
        """Return the entry of a work whose authors stand before its year in brackets."""
        year = year_in(content)
        for names in names_before(before):
            fitting = self._sources.by_authors(names, year)
            if len(fitting) == 1:
                # In a report that cites numbers, the year is only a remark.
                return None if fitting[0] in self._sources.numbered else fitting[0]
        if before.rstrip().endswith("et al."):
            words = " ".join(before.split()[-3:])
            self._sources.name_only(f"{words} ({content})", self._no_entry)
        return None

    def _marker(self, content: str, raw: str) -> str:
        """Return the citation for the content of brackets that names works, files or the source
        before; empty if it does not."""
        same = self._for_same(content, raw)
        if same:
            return same
        return self._for_files(content) or self._for_works(content, raw)

    def _for_same(self, content: str, raw: str) -> str:
        """Return the citation for "ibid.", "supra note 3" or the like."""
        forms = short_forms(content)
        if forms is None:
            return ""
        numbers = list[int]()
        for form in forms:
            found = self._meant(form)
            if isinstance(found, str):
                found = (self._sources.misunderstood(raw, found),)
            numbers += found
            self._last = found
        return self._cite(numbers)

    def _meant(self, form: ShortForm) -> tuple[int, ...] | str:
        """Return the sources that a short form means, or why it names none."""
        fitting = self._sources.by_authors(form.names, "") if form.names else []
        if form.note:
            cited = self._by_note.get(form.note, ())
            listed = self._sources.labels.get(form.note)
            if not cited and listed is not None:
                cited = (listed,)
            if len(fitting) == 1 and (not cited or fitting[0] in cited):
                return (fitting[0],)
            return cited or _NO_NOTE
        if len(fitting) == 1:
            return (fitting[0],)
        if form.is_work and form.names:
            return _SEVERAL if fitting else _NO_ENTRY
        return self._last or _NOTHING_BEFORE

    def _for_other_note(self, raw: str) -> str:
        """Return a reference to another note within a text, with the citation of its sources."""
        forms = short_forms(raw)
        found = self._meant(forms[0]) if forms else _NO_NOTE
        if isinstance(found, str):
            self._sources.name_only(raw, found)
            return raw
        return f"{raw} {self._cite(found)}"

    def _for_page(self, content: str, raw: str) -> str:
        """Return the citation for brackets with an author, perhaps a title, and a page."""
        if not _PAGE_WORD.search(content):
            return ""
        number = self._by_short_form(content)
        if number is not None:
            return self._cite([number])
        if self._sources.has_works and names_with_page(content) and content[:1].isupper():
            self._sources.name_only(raw, self._no_entry)
        return ""

    def _for_files(self, content: str) -> str:
        """Return the citation for brackets with names of files, each perhaps with a title before
        and a page behind it."""
        targets = list[Target]()
        end = 0
        for named in self._files.in_text(content):
            between = content[end : named.start]
            end = named.end
            if len(between.split()) > _MOST_LABELS or len(named.names) > 2 * _MOST_LABELS:
                return ""
            title = between.strip(" ,;:–—-")
            if title.casefold() in _source_words():
                title = ""
            targets.append(Target(title, named.shortest, named.names))
        behind = content[end:].strip()
        is_locator = behind[:1] in ",;:#" and _may_be_locator(behind)
        is_locator = is_locator or re.match(r"(?:pp?|S|§)\.? ?\d", behind) is not None
        if not targets or (behind and not is_locator):
            return ""
        return self._cite(map(self._sources.add, targets))

    def _for_works(self, content: str, raw: str) -> str:
        """Return the citation for brackets with authors and years."""
        works = works_in(content)
        if not works:
            return ""
        found = [self._sources.by_authors(work.names, work.year) for work in works]
        if not any(found):
            self._name_works(works, raw, found)
            return ""
        numbers = list[int]()
        pieces = list[str]()
        for work, fitting in zip(works, found, strict=True):
            if len(fitting) == 1:
                number = fitting[0]
            else:
                words = f"({' '.join(work.names)}, {work.year})"
                number = self._sources.misunderstood(words, _SEVERAL if fitting else _NO_ENTRY)
            numbers.append(number)
            pieces.append(f"{work.before} [{number}]".strip())
        marker = self._cite(numbers)
        if any(not piece.startswith("[") for piece in pieces):
            return f"({'; '.join(pieces)})"
        return marker

    def _name_works(self, works: Sequence[Work], raw: str, found: Sequence[Sequence[int]]) -> None:
        """Name brackets that can only be a citation, or are one since others of the kind are."""
        if self._sources.has_works or all(work.is_certain for work in works):
            reason = _SEVERAL if any(found) else self._no_entry
            self._sources.name_only(raw, reason)

    def _for_raised(self, found: re.Match[str]) -> str:
        """Return the citation for a raised marker, or the raised text as it can be read."""
        raw = found[0]
        content = (found["tagged"] or found["caret"] or found["open"] or "").strip("^ ")
        if found["raised"]:
            content = _digits(raised_parts(found["raised"]))
        bare = content.strip("[]() ")
        before = found.string[max(0, found.start() - _AROUND) : found.start()]
        behind = found.string[found.end() : found.end() + 4]
        if _RAISED_NOTE.fullmatch(bare):
            marker = self._for_raised_letters(bare, "")
            if marker:
                return marker
            if found["tagged"] and _ENDS_STATEMENT.search(before):
                # Without a sign, the letter would become a part of the word.
                self._sources.name_only(raw, self._no_entry)
                return f"^{bare}"
        read = numbers_of(bare)
        is_marker = read is not None and not is_power(before, behind)
        if is_marker and found["raised"] and not _may_follow(before):
            # Behind a number, such as a year, a raised digit is a marker only if it is an entry's.
            is_marker = before[-3:].isdecimal() and self._knows_all(bare)
        if is_marker and found["caret"] and before[-1:].isalnum() and raw.startswith("^"):
            is_marker = raw.endswith("^")
        if is_marker:
            marker = self._for_numbers(bare)
            if marker:
                return marker
        if not found["tagged"]:
            return raw
        is_number = bare[:1].isdigit() and before[-1:].isalnum()
        return f"^{bare}" if is_number else content

    def _for_raised_letters(self, letters: str, raw: str) -> str:
        """Return the citation for raised letters; `raw` if they label no entry."""
        labels = re.findall(r"[^\W\d_]|[†‡]", letters)
        known = [label.casefold() in self._sources.labels for label in labels]
        if not any(known):
            if raw and self._sources.may_be_label(labels[0]):
                self._sources.name_only(raw, self._no_entry)
            return raw
        numbers = list[int]()
        for label in labels:
            number = self._sources.labels.get(label.casefold())
            if number is None:
                number = self._sources.misunderstood(label, self._no_entry)
            numbers.append(number)
        return self._cite(numbers)


def _is_behind_end(found: re.Match[str]) -> bool:
    """Whether brackets are right behind the end of a clause or another marker, not within a
    word."""
    return found.string[found.start() - 1 : found.start()] in tuple('.,;!?]”"')


def _may_follow(before: str) -> bool:
    """Whether a raised digit behind this text may be a marker: behind a sign or a word."""
    return before[-1:] in ' .,;:!?)"”’»]' or re.search(r"[^\W\d_]{3}$", before) is not None


def _ends_words(before: str) -> bool:
    """Whether a text ends with a word behind which a number in brackets is no item of a list."""
    last = before.rstrip(" ").rpartition(" ")[2]
    return bool(last[-1:].strip()) and last[-1] not in ",;:(" and last not in CONNECTORS


@cache
def _source_words() -> frozenset[str]:
    """Return the word for a source, in each language."""
    return frozenset(words.source.casefold() for words in all_labels().values())


def _digits(raised: str) -> str:
    """Return raised digits as plain ones."""
    return raised.translate(str.maketrans("¹²³⁰⁴⁵⁶⁷⁸⁹", "1230456789"))


def _may_be_locator(part: str) -> bool:
    """Whether a part of a marker may say where in the work something stands."""
    return len(part) < 40 and (len(part) == 1 or any(map(str.isdigit, part)))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text with its parts outside code blocks and inline code changed."""
    pieces = list[str]()
    prose = list[str]()

    def close() -> None:
        if prose:
            pieces.append(change("".join(prose)))
            prose.clear()

    lines = text.split("\n")
    for index, (line, is_code) in enumerate(zip(lines, code_lines(lines), strict=True)):
        if index:
            prose.append("\n")
        parts = [line]
        if not is_code and "`" in line:
            parts = LINE_PARTS.split(line)
        for part in parts:
            if is_code or part.startswith("`"):
                close()
                pieces.append(part)
            else:
                prose.append(part)
    close()
    return "".join(pieces)


def _at_sentence_ends(text: str) -> str:
    """Return the text with each citation that belongs there at the end of its sentence."""
    if _AT_END not in text:
        return text
    moved = list(_MOVED.finditer(text))
    spans = sentence_spans(_MOVED.sub(lambda found: " " * len(found[0]), text))
    edits = list[Edit]()
    index = 0
    markers = dict[int, str]()
    for found in moved:
        start = found.start()
        line_start = text.rfind("\n", 0, start) + 1
        if text[line_start:start].lstrip().startswith("|"):
            # In a table, the sentence ends with the cell.
            space = "" if text[start - 1] == " " else " "
            edits.append(Edit(start, found.end(), f"{space}{found[1]}"))
            continue
        if text[start - 1 : start] == " ":
            start -= 1
        edits.append(Edit(start, found.end(), ""))
        while index < len(spans) - 1 and spans[index][1] <= found.start():
            index += 1
        start, end = spans[index]
        end = max(end, found.end())
        behind = _BEFORE_END.search(text, start, end)
        position = max(behind.start() if behind else end, found.end())
        markers[position] = f"{markers.get(position, ' ')}{found[1]}"
    edits += [Edit(position, position, words) for position, words in markers.items()]
    return with_edits(text, edits)
