"""Reads a report written by another program: its text with all citations as `[n]`, and the source
of each number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import NamedTuple

from ..text.sentences import sentence_spans
from ._file_names import FileNames
from ._foreign_markers import (
    CONNECTORS,
    HIDDEN,
    TOKEN,
    Work,
    is_power,
    is_year_with_locator,
    names_before,
    numbers_of,
    raised_parts,
    same_as_before,
    with_plain_links,
    works_in,
    year_in,
)
from ._source_lists import (
    YEAR,
    Entry,
    SourceList,
    Target,
    find_source_lists,
    read_target,
    without_lists,
)
from .citing import Edit, with_edits
from .footnotes import Footnote, taken_out, with_footnotes
from .labels import all_labels
from .markers import INERT, LINE_PARTS, code_lines, unwrapped

__all__ = ["ForeignReport", "NotUnderstood", "Target", "read_foreign"]
_AT_END = "\1"
"""Stands around a citation that belongs at the end of its sentence."""
_MOVED = re.compile(rf"{_AT_END}([^{_AT_END}]*){_AT_END}")
_BEFORE_END = re.compile(r"[.!?…。！？]?[\"'”’»*_)]*$")
_ONLY_MARKERS = re.compile(r"[(（]\s?(\[\d[\d, ]*\](?:[,; ]{0,2}\[\d[\d, ]*\]){0,9})\s?[)）]")
_SIGNS = re.compile(f"[{HIDDEN}{_AT_END}]")
_START = re.compile(r"https?://(?:www\.)?", re.I)
_SCHEME = re.compile(r"(?:mailto|tel|data|javascript|sms):", re.I)
_BRACKETED = re.compile(r"[\[【［]\^?(\d{1,3})\b(?!\]{1,2}\()")
_KEPT_NOTE = re.compile(r"^\\\[\^([a-z]+)\]:", re.MULTILINE)
_LIKE_OURS = re.compile(r"\d+(?:, ?\d+)*")
_KEYS = re.compile(r"\s*[,;]\s*")
_PANDOC = re.compile(r"(?P<before>[^@;]*?)-?@(?P<key>[^\W_][\w:.+/-]*)(?P<behind>[^@;]*)")
_NAMED_KEY = re.compile(r"[^\W\d_][\w+-]*\d[\w+-]*")
_PARAGRAPH_TAG = re.compile(r"</?p>")
_HEAD_WORDS = 12
"""Number of words at the start of an entry among which its authors are."""
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
_NO_TARGET = "it leads neither to a web address nor to a file that can be read"


class NotUnderstood(NamedTuple):
    """What looks like a citation in a report, but names no source that is known."""

    words: str
    """As the report writes it."""
    reason: str
    number: int
    """The number of the citation in its place; 0 if the text keeps the words."""


class ForeignReport(NamedTuple):
    """A report written by another program, with citations in our form."""

    text: str
    """Markdown without the source list, with all citations as `[n]`."""
    targets: Mapping[int, Target]
    """The sources of its list and of its citations, by number."""
    not_understood: Sequence[NotUnderstood] = ()
    """What looks like a citation but is not understood, each once, in order."""


def read_foreign(markdown: str, suffixes: Collection[str]) -> ForeignReport:
    """Return a Markdown report with all its citations as `[n]`.

    A citation is a number, letter, key, or authors with a year that an entry of a source list
    begins with; a footnote that names a source; a link, a web address or the name of a file;
    "ibid.". Markers may be in brackets or raised, and name a page. A source list has a heading that
    says so, or each entry has an address or the name of a file; it is removed. Files have one of
    the `suffixes`. A footnote that names no source keeps its text.
    """
    files = FileNames(suffixes)
    plain = with_plain_links(unwrapped(_SIGNS.sub("", markdown)))
    kept, notes = taken_out(plain)
    lists = find_source_lists(kept, files)
    best: ForeignReport | None = None
    for chosen in _choices(lists):
        for takes_round in (False, True):
            reader = _Reader(chosen, files, takes_round=takes_round)
            report = reader.read(without_lists(kept, chosen), notes)
            if reader.cites_list:
                return report
            # Round brackets are markers only if nothing else cites the list.
            best = best or report
    if lists and lists[0].is_headed and best:
        return best
    return _Reader((), files).read(kept, notes)


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
        self, lists: Sequence[SourceList], files: FileNames, *, takes_round: bool = False
    ) -> None:
        """`takes_round`: numbers in round brackets are markers."""
        self.cites_list = False
        """Whether a marker cites an entry of the lists."""
        self._files = files
        self._takes_round = takes_round
        self._targets = dict[int, Target]()
        self._numbers = dict[str, int]()
        """Numbers by address or file name."""
        self._labels = dict[str, int]()
        """Numbers of the entries by label."""
        self._listed = set[int]()
        """Numbers of the entries."""
        self._numbered = set[int]()
        """Numbers of the entries that have one in the report."""
        self._works = list[tuple[int, str]]()
        """Number and text of each entry."""
        self._by_word = dict[str, list[int]]()
        """Positions in `_works` by the words at their beginnings."""
        self._last: tuple[int, ...] = ()
        """The sources of the citation before."""
        self._not_understood = dict[str, NotUnderstood]()
        self._notes = list[tuple[str, str]]()
        """Label and text of the footnotes that became citations."""
        self._kept_notes = set[str]()
        """Labels of the footnotes that keep their texts."""
        self._reserved = set[int]()
        """Numbers in brackets, which are not given to other sources."""
        self._free = count(1)
        self._has_lists = bool(lists)
        self._entries = [entry for found in lists for entry in found.entries]

    def read(self, lines: Sequence[str], notes: Mapping[str, str]) -> ForeignReport:
        """Return the report with these lines and footnotes."""
        body = "\n".join(lines)
        self._reserved.update(map(int, _BRACKETED.findall(body)))
        self._reserved.update(
            int(entry.label) for entry in self._entries if _is_number(entry.label)
        )
        self._add_entries()
        if notes:
            body = with_footnotes(lines, notes, self._read_note)
        self._kept_notes.update(_KEPT_NOTE.findall(body))
        text = self._with_citations(_PARAGRAPH_TAG.sub("", body))
        text = re.sub(r"\n{3,}", "\n\n", _at_sentence_ends(text)).strip()
        return ForeignReport(text, self._targets, [*self._not_understood.values()])

    def _add_entries(self) -> None:
        previous: int | None = None
        numbered = [entry for entry in self._entries if _is_number(entry.label)]
        others = [entry for entry in self._entries if not _is_number(entry.label)]
        for entry in [*numbered, *others]:
            wanted = int(entry.label) if _is_number(entry.label) else 0
            previous = self._add_entry(entry, wanted, previous)

    def _add_entry(self, entry: Entry, wanted: int, previous: int | None) -> int:
        """Add an entry of the source list; return its number."""
        target = entry.target
        if not target.address and previous and same_as_before(entry.words) is not None:
            target = self._targets[previous]
        number = self._add(target, wanted, is_new=bool(wanted))
        self._listed.add(number)
        if wanted:
            self._numbered.add(number)
        if entry.label:
            self._labels.setdefault(entry.label, number)
        head = entry.words
        year = YEAR.search(head)
        beginning = head[: year.start()] if year and year.start() else head
        words = re.findall(r"[^\W\d_][\w'’.&-]*", beginning)[:_HEAD_WORDS]
        self._works.append((number, entry.words))
        for word in dict.fromkeys(word.casefold().strip(".'’") for word in words):
            self._by_word.setdefault(word, []).append(len(self._works) - 1)
        return number

    def _add(self, target: Target, wanted: int = 0, *, is_new: bool = False) -> int:
        """Return the number of a source; `wanted` is the one that the report gives it."""
        plain = _plain(target.address)
        if plain in self._numbers and not is_new:
            return self._numbers[plain]
        if wanted and (wanted not in self._targets or is_new):
            number = wanted
        else:
            number = next(
                n for n in self._free if n not in self._reserved and n not in self._targets
            )
        self._targets.setdefault(number, target)
        if plain:
            self._numbers.setdefault(plain, number)
        return number

    def _cite(self, numbers: Iterable[int]) -> str:
        """Return the marker that cites sources."""
        self._last = tuple(dict.fromkeys(numbers))
        if not self._listed.isdisjoint(self._last):
            self.cites_list = True
        return f"[{', '.join(map(str, self._last))}]"

    def _misunderstood(self, words: str, reason: str, wanted: int = 0) -> int:
        """Note that a marker is not understood; return the number that stands for it."""
        words = " ".join(words.split())
        known = self._not_understood.get(words)
        if known and known.number:
            return known.number
        number = self._add(Target(words, ""), wanted)
        self._not_understood[words] = NotUnderstood(words, reason, number)
        return number

    def _name_only(self, words: str, reason: str) -> None:
        """Note that something may be a citation that is not understood, and stays in the text."""
        words = " ".join(words.split())
        self._not_understood.setdefault(words, NotUnderstood(words, reason, 0))

    def _read_note(self, label: str, words: str) -> Footnote:
        """Return what becomes of a footnote."""
        if not self._names_source(words):
            return Footnote(text=words)
        self._notes.append((label, words))
        return Footnote(citation=f"{HIDDEN}{len(self._notes) - 1}{HIDDEN}")

    def _names_source(self, words: str) -> bool:
        """Whether the text of a footnote is a citation."""
        if read_target(words, self._files).address or same_as_before(words) is not None:
            return True
        bare = words.strip().strip(".").strip()
        if bare.strip("[]").casefold() in self._labels or bare.startswith(("[@", "@")):
            return True
        works = works_in(bare.strip("()[]"))
        return bool(works) and any(self._fitting(work.names, work.year) for work in works or ())

    def _with_citations(self, body: str) -> str:
        """Return a text with its citations, except in code, as markers with our numbers."""
        lines = body.split("\n")
        read = list[str]()
        prose = list[str]()
        for line, is_code in zip(lines, code_lines(lines), strict=True):
            if is_code:
                if prose:
                    read.append(self._read_prose("\n".join(prose)))
                    prose = []
                read.append(line)
            else:
                prose.append(line)
        if prose:
            read.append(self._read_prose("\n".join(prose)))
        return "\n".join(read)

    def _read_prose(self, text: str) -> str:
        """Return lines without code blocks, with their citations as markers."""
        spans = list[str]()
        for index, line in enumerate(text.split("\n")):
            if index:
                spans.append("\n")
            spans += LINE_PARTS.split(line) if "`" in line else [line]
        pieces = list[str]()
        prose = list[str]()
        for span in [*spans, "`"]:
            if not span.startswith("`"):
                prose.append(span)
                continue
            written = TOKEN.sub(self._read_token, "".join(prose))
            pieces += [_ONLY_MARKERS.sub(r"\1", written), span]
            prose = []
        return "".join(pieces[:-1])

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
                return self._for_note(*self._notes[int(found["note"])])
            case "latex":
                keys = [f"@{key}" for key in _KEYS.split(found["latex"].strip())]
                return self._for_keys("; ".join(keys)) or raw
            case "inline":
                if not self._names_source(found["inline"]):
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
                return space + self._cite([self._add(Target("", address))])
            case "bracket":
                return self._for_bracket(found)
            case "round":
                return self._for_round(found)
            case "tagged" | "raised" | "caret" | "open":
                return self._for_raised(found)
            case "key":
                return self._for_bare_key(found)
        return raw

    def _for_note(self, label: str, words: str) -> str:
        """Return the citation for a footnote that names a source."""
        wanted = int(label) if _is_number(label) else 0
        if same_as_before(words) is not None:
            return self._for_same(words, words) or ""
        bare = words.strip().strip(".").strip()
        target = read_target(words, self._files)
        if not target.address:
            marker = self._marker(bare.strip("()[]"), words) or self._for_keys(bare.strip("[]"))
            if marker:
                return marker
        return self._cite([self._add(target, wanted)])

    def _for_link(self, link: re.Match[str]) -> str:
        """Return the words of a link with the citation of its target."""
        words = link["words"]
        address = link["target"].strip()
        bare = words.strip("[]^ ")
        wanted = int(bare) if _is_number(bare) else 0
        name = self._files.of_link(address)
        if address.lower().startswith(("http://", "https://")):
            target = Target("", address.rstrip(".,;:"))
        elif name:
            target = Target("", name.removeprefix("./"), (name,))
        elif address.startswith("#") or _SCHEME.match(address) or not re.search(r"[/.#:]", address):
            # A place within the report, or a remark in brackets behind other brackets.
            if address.startswith("#") or _SCHEME.match(address):
                return link[0]
            return self._read_inner(link[0], len(words) + 2)
        else:
            number = self._misunderstood(link[0], _NO_TARGET, wanted)
            return f"[{number}]" if wanted else f"{words} [{number}]"
        if not wanted and not words.startswith("["):
            target = target._replace(title="")
        marker = self._cite([self._add(target, wanted)])
        if _START.match(words) or words.strip().casefold() in _source_words():
            return marker
        return marker if wanted else f"{self._without_markers(words)} {marker}"

    def _without_markers(self, words: str) -> str:
        """Return the words of a link; their own brackets would form a marker."""
        return words[1:-1] if words.startswith("[") and words.endswith("]") else words

    def _read_inner(self, raw: str, size: int) -> str:
        """Read the two parts of a text one by one."""
        first = TOKEN.sub(self._read_token, raw[:size])
        return (
            first + (" " if first.endswith("]") else "") + TOKEN.sub(self._read_token, raw[size:])
        )

    def _for_reference(self, found: re.Match[str]) -> str:
        """Return the words of a link by reference, `[words][label]`, with the citation of its
        target; these may be two markers, too."""
        words = found["words"]
        label = (found["label"] or words).strip().casefold()
        number = self._labels.get(label.lstrip("^@"))
        is_marker = numbers_of(words.strip("^")) is not None or words.strip().startswith(("@", "^"))
        is_shortcut = not found["label"]
        has_own = not is_shortcut and words.strip().casefold() in self._labels
        if number is None or is_marker or has_own:
            first = TOKEN.sub(self._read_token, f"[{words}]")
            behind = found[0][len(words) + 2 :]
            return first + TOKEN.sub(self._read_token, behind)
        return f"{words} {self._cite([number])}"

    def _for_bracket(self, found: re.Match[str]) -> str:
        raw = found[0]
        content = " ".join(found["bracket"].split())
        if content.startswith("^") and content[1:] in self._kept_notes:
            return raw
        marker = self._labelled(content) or self._for_numbers(content)
        marker = marker or self._for_keys(content) or self._marker(content, raw)
        if marker:
            return marker
        number = self._labels.get(content.casefold())
        if number is not None:
            # A link by reference whose words are its label.
            return f"{content} {self._cite([number])}"
        if content.startswith("^") and " " not in content:
            return f"[{self._misunderstood(raw, _NO_NOTE)}]"
        if _is_key(content) and any(_has_form_of(content, label) for label in self._labels):
            return f"[{self._misunderstood(raw, _NO_ENTRY)}]"
        if _LIKE_OURS.fullmatch(content):
            # A year, or an interval such as [0, 1], must not become one of our markers.
            return raw.translate(INERT)
        return raw[0] + TOKEN.sub(self._read_token, raw[1:])

    def _labelled(self, content: str) -> str:
        """Return the citation of entries by letters or keys, perhaps with a place in the work."""
        parts = re.split(r"\s*[,;]\s*", content)[:_MOST_LABELS]
        numbers = list[int]()
        for part in parts:
            label = part.casefold().lstrip("^@")
            number = self._labels.get(label)
            if number is None or not _is_key(label):
                break
            numbers.append(number)
        if not numbers:
            return ""
        rest = parts[len(numbers) :]
        missing = [part for part in rest if len(part) == 1 and part.isalpha()]
        numbers += [self._misunderstood(f"[{part}]", _NO_ENTRY) for part in missing]
        return self._cite(numbers) if all(map(self._may_be_place, rest)) else ""

    def _may_be_place(self, part: str) -> bool:
        """Whether a part of a marker may name a place in the work."""
        return len(part) < 40 and (len(part) == 1 or any(map(str.isdigit, part)))

    def _for_numbers(self, content: str) -> str:
        """Return the citation for a marker with numbers; empty if it has others things."""
        read = numbers_of(content)
        if read is None:
            return ""
        numbers = list(read.singles)
        for first, last in read.spans:
            is_known = first in self._listed and last in self._listed
            if last - first >= _WIDEST or (not is_known and last - first > 9):
                return ""
            numbers += range(first, last + 1)
        if read.spans:
            numbers.sort()
        reason = _NO_ENTRY if self._has_lists else _NO_LIST
        mark = ""
        if content.startswith("^"):
            reason = _NO_NOTE
            mark = "^"
        for number in numbers:
            if number not in self._targets:
                self._misunderstood(f"[{mark}{number}]", reason, number)
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
            number = self._labels.get(key.casefold())
            if number is None:
                number = self._by_key(key)
            if number is None:
                reason = _NO_ENTRY if self._has_lists else _NO_LIST
                number = self._misunderstood(f"[@{key}]", reason)
            numbers.append(number)
            before = found["before"].strip()
            pieces.append(f"{before} [{number}]".strip())
        marker = self._cite(numbers)
        if any(not piece.startswith("[") for piece in pieces):
            return f"({'; '.join(pieces)})"
        return marker

    def _by_key(self, key: str) -> int | None:
        """Return the entry that a key such as `ash2020` or `ash_light_2020` means, by author and
        year."""
        found = re.fullmatch(r"([^\W\d_]+)\w*?((?:1[5-9]|20)\d\d[a-z]?)\w*", key)
        if not found:
            return None
        fitting = self._fitting((found[1].casefold(),), found[2].casefold())
        return fitting[0] if len(fitting) == 1 else None

    def _for_bare_key(self, found: re.Match[str]) -> str:
        """Return a key in the text, with its citation at the end of the sentence."""
        key = found["key"].rstrip(".:/-")
        number = self._labels.get(key.casefold())
        if number is None:
            number = self._by_key(key)
        if number is None:
            if re.search(r"(?:1[5-9]|20)\d\d", key):
                self._name_only(f"@{key}", _NO_ENTRY if self._has_lists else _NO_LIST)
            return found[0]
        return f"{found[0]}{_AT_END}{self._cite([number])}{_AT_END}"

    def _for_round(self, found: re.Match[str]) -> str:
        raw = found[0]
        content = " ".join(found["round"].split())
        before = found.string[max(0, found.start() - _AROUND) : found.start()]
        if self._takes_round and _ends_words(before) and self._knows_all(content):
            return self._for_numbers(content)
        marker = self._marker(content, raw)
        if marker:
            return marker
        if is_year_with_locator(content):
            number = self._by_text_before(before, content)
            if number is not None:
                return f"{_AT_END}{self._cite([number])}{_AT_END}"
        inner = raw[1:-1]
        return raw[0] + TOKEN.sub(self._read_token, inner) + raw[-1]

    def _knows_all(self, content: str) -> bool:
        """Whether a marker has numbers of the source list only."""
        read = numbers_of(content) if content[:1].isdigit() else None
        if read is None:
            return False
        numbers = [*read.singles, *(number for span in read.spans for number in span)]
        return self._listed.issuperset(numbers)

    def _by_text_before(self, before: str, content: str) -> int | None:
        """Return the entry of a work whose authors stand before its year in brackets."""
        year = year_in(content)
        for names in names_before(before):
            fitting = self._fitting(names, year)
            if len(fitting) == 1:
                # In a report that cites numbers, the year is only a remark.
                return None if fitting[0] in self._numbered else fitting[0]
        if before.rstrip().endswith("et al."):
            words = " ".join(before.split()[-3:])
            self._name_only(f"{words} ({content})", _NO_ENTRY if self._has_lists else _NO_LIST)
        return None

    def _marker(self, content: str, raw: str) -> str:
        """Return the citation for the content of brackets that names works, files or the source
        before; empty if it does not."""
        same = self._for_same(content, raw)
        if same:
            return same
        return self._for_files(content) or self._for_works(content, raw)

    def _for_same(self, content: str, raw: str) -> str:
        """Return the citation for "ibid." or the like."""
        names = same_as_before(content)
        if names is None:
            return ""
        if names:
            fitting = self._fitting(names, "")
            if len(fitting) == 1:
                return self._cite(fitting)
            if "cit" in content:
                reason = _SEVERAL if fitting else _NO_ENTRY
                return f"[{self._misunderstood(raw, reason)}]"
        if not self._last:
            return f"[{self._misunderstood(raw, _NOTHING_BEFORE)}]"
        return self._cite(self._last)

    def _for_files(self, content: str) -> str:
        """Return the citation for brackets with names of files, each perhaps with a title before
        and a place behind it."""
        numbers = list[int]()
        end = 0
        for named in self._files.in_text(content):
            between = content[end : named.start]
            end = named.end
            if len(between.split()) > _MOST_LABELS or len(named.names) > 2 * _MOST_LABELS:
                return ""
            title = between.strip(" ,;:–—-")
            if title.casefold() in _source_words():
                title = ""
            numbers.append(self._add(Target(title, named.shortest, named.names)))
        behind = content[end:].strip()
        is_place = not behind or (behind[0] in ",;:#" and self._may_be_place(behind))
        is_place = is_place or re.match(r"(?:pp?|S|§)\.? ?\d", behind) is not None
        return self._cite(numbers) if numbers and is_place else ""

    def _for_works(self, content: str, raw: str) -> str:
        """Return the citation for brackets with authors and years."""
        works = works_in(content)
        if not works:
            return ""
        found = [self._fitting(work.names, work.year) for work in works]
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
                number = self._misunderstood(words, _SEVERAL if fitting else _NO_ENTRY)
            numbers.append(number)
            pieces.append(f"{work.before} [{number}]".strip())
        marker = self._cite(numbers)
        if any(not piece.startswith("[") for piece in pieces):
            return f"({'; '.join(pieces)})"
        return marker

    def _name_works(self, works: Sequence[Work], raw: str, found: Sequence[Sequence[int]]) -> None:
        """Name brackets that can only be a citation, or are one since others of the kind are."""
        is_style = Counter(bool(YEAR.search(words)) for _, words in self._works)[True] > 1
        is_style = is_style and not any(map(str.isdecimal, self._labels))
        if is_style or all(work.is_certain for work in works):
            reason = _SEVERAL if any(found) else _NO_ENTRY if self._has_lists else _NO_LIST
            self._name_only(raw, reason)

    def _fitting(self, names: Sequence[str], year: str) -> list[int]:
        """Return the numbers of the entries by these authors of this year (any if empty)."""
        fitting = list[int]()
        first = [self._by_word.get(name, ()) for name in names]
        if not all(first):
            return []
        for position in set(first[0]).intersection(*first[1:]):
            number, words = self._works[position]
            years = {re.sub(r"\s", "", found).casefold() for found in YEAR.findall(words)}
            has_year = not year or year in years
            if not has_year and year[-1:].isdigit():
                has_year = any(known[:-1] == year for known in years)
            if has_year:
                fitting.append(number)
        if len(fitting) > 1:
            # The name may also be part of a title.
            at_start = [
                number
                for number, words in self._works
                if number in fitting and words.casefold().lstrip(" *_").startswith(names[0])
            ]
            fitting = at_start or fitting
        return sorted(set(fitting))

    def _for_raised(self, found: re.Match[str]) -> str:
        """Return the citation for a raised marker, or the raised text as it can be read."""
        raw = found[0]
        content = (found["tagged"] or found["caret"] or found["open"] or "").strip("^ ")
        if found["raised"]:
            content = _digits(raised_parts(found["raised"]))
        bare = content.strip("[]() ")
        before = found.string[max(0, found.start() - _AROUND) : found.start()]
        behind = found.string[found.end() : found.end() + 4]
        if bare.casefold() in self._labels and bare.isalpha():
            return self._cite([self._labels[bare.casefold()]])
        read = numbers_of(bare)
        is_marker = read is not None and not is_power(before, behind)
        if is_marker and found["raised"] and not _may_follow(before):
            is_marker = False
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


def _is_key(label: str) -> bool:
    """Whether a label is a letter or a key such as `Ash20`, not words of a text."""
    is_letter = len(label) == 1 and label.isalpha()
    return is_letter or _NAMED_KEY.fullmatch(label) is not None


def _has_form_of(label: str, other: str) -> bool:
    """Whether two labels are both letters, or both keys."""
    return _is_key(other) and (len(label) == 1) == (len(other) == 1)


def _is_number(label: str) -> bool:
    """Whether a label is the number of a source."""
    return label.isdecimal() and 0 < int(label) < 1000


def _plain(address: str) -> str:
    """Return a normal form of an address, in which spellings of the same one are equal."""
    plain = _START.sub("", address.partition("#")[0]).rstrip("/").casefold()
    return plain.removeprefix("./")


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
        is_spaced = text[: found.start()].endswith(" ")
        edits.append(Edit(found.start() - is_spaced, found.end(), ""))
        while index < len(spans) - 1 and spans[index][1] <= found.start():
            index += 1
        start, end = spans[index]
        end = max(end, found.end())
        behind = _BEFORE_END.search(text, start, end)
        position = max(behind.start() if behind else end, found.end())
        markers[position] = f"{markers.get(position, ' ')}{found[1]}"
    edits += [Edit(position, position, words) for position, words in markers.items()]
    return with_edits(text, edits)
