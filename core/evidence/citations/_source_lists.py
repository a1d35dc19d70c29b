"""Finds the lists of sources in a report written by another program, with the label and the source
of each entry."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ._file_names import FileNames
from ._short_forms import names_with_page, short_forms
from .labels import source_headings
from .markers import code_lines

# Repetitions in patterns are atomic or bounded, so that a hostile report cannot make matching slow.
WEB_ADDRESS = (
    r"(?>https?://[^\s<>()\[\]（）】，。；“”\"]+(?:\([^\s()]*\)[^\s<>()\[\]（）】，。；“”\"]*)*)"
)
"""Pattern of a web address, also with brackets in it."""
PUBLICATION_YEAR = re.compile(
    r"(?<![\w/.-])(?:(?:1[5-9]|20)\d\d[a-z]?|n\.\s?d\.|o\.\s?J\.|s\.\s?[da]\.)(?![\w-])"
)
"""A year of publication, also with a letter behind it, or what stands for an unknown one."""
RAISED_SIGNS = "†‡ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ"
"""Letters that are raised without a tag, and daggers."""
_WEB = re.compile(WEB_ADDRESS)
_BULLET = r"(?:[-*+•]\s+)"
_LABELLED = re.compile(
    rf"\s{{0,12}}(?:>\s?)?{_BULLET}?\**(?:"
    r"[\[【［]\^?@?(?P<bracketed>[^\[\]【】［］\n]{1,40})[\]】］](?![(\[])"
    r"|\|\s*[\[]?(?P<cell>\d{1,3})\.?\]?\s*\|"
    rf"|<sup>(?P<tagged>\d{{1,3}}|[a-z])</sup>|(?P<raised>[¹²³⁰⁴-⁹]{{1,3}}|[{RAISED_SIGNS}])"
    r"|\((?P<round>\d{1,3}|[a-z])\)"
    r"|(?:(?:sources?|refs?\.?|references?|quelle|note)\s)?(?P<listed>\d{1,3})(?:[.)、:：]|\s[–—-]\s)"
    r"|(?P<bare>\d{1,3})(?=\s+[^\W\d_])"
    r"|(?P<letter>[a-z])[.)](?=\s)|@(?P<named>[^\W\d_][\w:.+/-]{0,60})[:：]\s"
    r"|(?P<key>[^\W\d_][\w+-]{0,60}\d[\w+-]{0,60})[:：.)]\s)"
    r"\**\s*[:：]?\s*(?P<words>\S.*)",
    re.IGNORECASE,
)
_ALWAYS = ("bracketed", "cell", "tagged", "raised", "round", "listed", "letter")
"""Labels that also stand before entries of a list without a heading; these have an address or the
name of a file."""
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|\*\*[^*]+\*\*\s*$|-{3,}\s*$)")
_UNDERLINE = re.compile(r"\s{0,3}(?:={2,}|-{2,})\s*")
_LEVEL = re.compile(r"\s{0,3}(#{1,6})\s+(.*)")
_BOLD = re.compile(r"\s{0,3}(?:\*\*|__)([^*_]{1,80})(?:\*\*|__)\s*[:：]?\s*")
_NAMED = re.compile(r"\s{0,3}([^\s#|>*\[][^|\[\n]{0,40})[:：]\s*")
_MORE_NAMES = (
    "literature(?: cited)?|reference list|list of references|further reading|links"
    "|(?:table of )?authorities|table of cases"
)
"""Headings of source lists that our own reports do not have."""
_NOTES = "(?:end|foot)?notes|endnoten|anmerkungen|fußnoten|notas|note"
"""Headings of notes, of which some may be sources."""
_RULE = re.compile(r"\s*\|[\s|:-]+\|?\s*")
_PUBLICATION = re.compile(
    rf"[*_“„\"]*[^\W\d_][^\s,]*(?:,|\s(?:[A-ZÀ-Þ]\.?){{1,3}}[\s,.]|[^\n]{{0,80}}?[(,]\s?{PUBLICATION_YEAR.pattern})"
)
"""How the description of a publication begins: with an author, or soon with a year."""
_CITES = re.compile(r"\[[@^]?\w[^\[\]\n]{0,40}\](?!\()|<sup>")
"""Matches a marker: a paragraph with one is text, not a source."""
_END = " \t.,;:)>]*`\"'”»"
_ROW = re.compile(r"\s*\|.*")
_BELOW = 7
"""Level of a heading without hashes."""
_FARTHEST = 3
"""Maximum distance in lines between neighbouring entries of a list without a heading."""
_MOST_LINES = 4
"""Maximum number of lines of an entry."""
_AROUND = re.compile(r"[\[\]*<>()|`]+")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|~-])")
_BIBTEX = re.compile(r"\s{0,8}@[a-z]{2,20}\s{0,3}\{\s{0,3}(?P<key>[^\s,{}\"]{1,60})\s{0,3},", re.I)
_YAML = re.compile(r"\s{0,8}-\s{1,3}id:\s{1,3}[\"']?(?P<key>[^\s\"']{1,60})")
_FIELD = re.compile(r"^\s*[\w-]{1,30}\s{0,8}[:=]\s{0,8}(?P<value>\S.{0,500}?),?\s*$")
_LONGEST_RECORD = 30
"""Maximum number of lines of a record in a bibliography."""
_BACKLINK = re.compile(r"[↩↑⏎↵]\ufe0e?")


class Target(NamedTuple):
    """A source, as the report names it."""

    title: str
    """Its words in the report's source list; empty if only a link in the text names it."""
    address: str
    """A web address or the name of a file; empty if the report names neither."""
    names: tuple[str, ...] = ()
    """For a file: all that its name may be, longest first, since titles before it may look like a
    part of it."""


class ListedSource(NamedTuple):
    """An entry of a source list."""

    first: int
    """Index of its first line."""
    last: int
    """Index of its last line."""
    label: str
    """What markers cite it by: a number, a letter or a key; empty if it has none."""
    words: str
    """Its text, without the label."""
    target: Target


class SourceList(NamedTuple):
    """A list of sources."""

    entries: Sequence[ListedSource]
    is_headed: bool
    """Whether its heading says that it is a list of sources."""

    @property
    def labels(self) -> set[str]:
        """The labels of its entries."""
        return {entry.label for entry in self.entries if entry.label}

    @property
    def size(self) -> int:
        """The number of entries that name an address or a file."""
        return sum(1 for entry in self.entries if entry.target.address)


class _Section(NamedTuple):
    """A part of a report below a heading that announces sources."""

    start: int
    end: int
    is_exact: bool
    """Whether the heading has no other words."""


def read_target(words: str, files: FileNames, address: str = "") -> Target:
    """Return the source that an entry or a footnote names, by its `address` if that is known."""
    plain = _BACKLINK.sub(" ", _ESCAPE.sub(r"\1", words))
    title = _AROUND.sub(" ", _WEB.sub(" ", plain))
    title = " ".join(title.split()).strip(" ,:–—-.")
    web = _WEB.search(plain)
    if address or web:
        found = address or (web.group() if web else "")
        return Target(title, found.rstrip(".,;:"))
    named = files.in_text(plain)
    if not named:
        return Target(title, "")
    names = dict.fromkeys(name for file in named for name in file.names)
    shortest = named[0].shortest
    names.pop(shortest)
    longest = sorted(names, key=len, reverse=True)
    return Target(title, shortest, (*longest, shortest))


def find_source_lists(lines: Sequence[str], files: FileNames) -> list[SourceList]:
    """Return the lists of sources of a report, the likeliest first.

    Those below a heading come first, then those with more addresses and names of files, then the
    later ones.
    """
    are_code = code_lines(lines)
    front_matter = _front_matter_lines(lines)
    are_code[:front_matter] = [True] * front_matter
    lists = list[SourceList]()
    records = _records(lines, files)
    if records:
        lists.append(SourceList(records, is_headed=True))
    done = 0
    for section in _sections(lines, are_code):
        lists += _numbered_lists(lines, are_code, done, section.start, files)
        entries = _labelled(lines, are_code, section, files)
        if not entries and section.is_exact:
            entries = _unlabelled(lines, are_code, section, files)
        if entries:
            lists.append(SourceList(entries, is_headed=True))
        done = section.end
    lists += _numbered_lists(lines, are_code, done, len(lines), files)
    lists.reverse()
    return sorted(lists, key=lambda found: (found.is_headed, found.size), reverse=True)


def without_lists(lines: Sequence[str], lists: Sequence[SourceList]) -> list[str]:
    """Return the lines without these lists and the headings directly above them."""
    removed = set[int]()
    for found in lists:
        for entry in found.entries:
            removed.update(range(entry.first, entry.last + 1))
        above = found.entries[0].first - 1
        while above >= 0 and (not lines[above].strip() or _is_head(lines, above)):
            if lines[above].strip():
                removed.add(above)
            above -= 1
        if above >= 1 and _UNDERLINE.fullmatch(lines[above]) and _heading(lines[above - 1])[1]:
            removed.add(above)
            above -= 1
        if above >= 0 and (_HEADING.match(lines[above]) or _heading(lines[above])[1]):
            removed.add(above)
    return [line for number, line in enumerate(lines) if number not in removed]


def _front_matter_lines(lines: Sequence[str]) -> int:
    """Return the number of lines of the YAML data at the beginning of a text."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1
    return 0


def _records(lines: Sequence[str], files: FileNames) -> list[ListedSource]:
    """Return the sources of a bibliography in BibTeX, or in the YAML of pandoc, by their keys."""
    records = list[ListedSource]()
    index = 0
    while index < len(lines):
        opening = _BIBTEX.match(lines[index]) or _YAML.match(lines[index])
        if not opening:
            index += 1
            continue
        is_bibtex = opening.re is _BIBTEX
        margin = len(lines[index]) - len(lines[index].lstrip())
        values = list[str]()
        last = index
        for following in range(index + 1, min(len(lines), index + _LONGEST_RECORD)):
            line = lines[following]
            if not is_bibtex and len(line) - len(line.lstrip()) <= margin:
                break
            last = following
            value = _FIELD.search(line)
            if value:
                values.append(value["value"].strip("{}\"' "))
            if is_bibtex and line.rstrip(" ,").endswith("}") and line.lstrip().startswith("}"):
                break
        words = ", ".join(filter(None, values))
        target = read_target(words, files)
        records.append(ListedSource(index, last, opening["key"].casefold(), words, target))
        index = last + 1
    if not records:
        return []
    # With the fences around them.
    first, end = records[0], records[-1]
    has_fences = first.first > 0 and end.last + 1 < len(lines)
    if has_fences and lines[first.first - 1].startswith("```") and lines[end.last + 1] == "```":
        records[0] = first._replace(first=first.first - 1)
        records[-1] = records[-1]._replace(last=end.last + 1)
    return records


def _is_head(lines: Sequence[str], index: int) -> bool:
    """Whether a line is the header of a table, or the rule below it."""
    if _RULE.fullmatch(lines[index]):
        return True
    is_row = _ROW.fullmatch(lines[index]) is not None
    return is_row and index + 1 < len(lines) and _RULE.fullmatch(lines[index + 1]) is not None


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of headings of source lists: without and with other words."""
    names = source_headings()
    number = r"(?:[\dIVX]{1,4}[.)、]\s*|[一二三四五六七八九十]{1,3}[.)、]\s*)?"
    names = f"{names}|{_MORE_NAMES}"
    exact = re.compile(rf"{number}(?:{names})", re.I)
    wide = re.compile(
        rf"{number}(?:\w+ ){{0,2}}\w{{0,4}}(?:{names}|{_NOTES})"
        r"(?: (?:and|&|und|et|y|e|и|en) \w+(?: \w+)?)?(?: ?[(（][^()（）]{1,40}[)）])?",
        re.I,
    )
    return exact, wide


def _heading(line: str) -> tuple[int, bool, bool]:
    """Return the level of a heading (0 for none), and whether it announces sources: perhaps with
    other words, and with no others."""
    hashed = _LEVEL.fullmatch(line)
    bold = _BOLD.fullmatch(line)
    named = _NAMED.fullmatch(line)
    exact, wide = _names()
    if hashed:
        level = len(hashed[1])
        words = hashed[2]
    elif bold or named:
        level = _BELOW
        words = bold[1] if bold else named[1] if named else ""
    elif line[:1].strip() and len(line) < 40 and exact.fullmatch(line.strip()):
        # A heading without a mark, or with a line below it.
        return _BELOW, True, True
    else:
        return 0, False, False
    words = words.strip(" #*_:：").strip()
    is_exact = exact.fullmatch(words) is not None
    is_wide = len(words) < 80 and wide.fullmatch(words) is not None
    if named and not hashed and not bold and not is_exact:
        # A line that ends with a colon.
        return 0, False, False
    return level, is_exact or is_wide, is_exact


def _sections(lines: Sequence[str], are_code: Sequence[bool]) -> Iterator[_Section]:
    """Yield the parts of a report below headings that announce sources, with subheadings."""
    start = 0
    level = 0
    is_exact = False
    for index, line in enumerate(lines):
        if are_code[index]:
            continue
        found, is_sources, is_only = _heading(line)
        if not found:
            continue
        if level and (found <= level or is_sources):
            yield _Section(start, index, is_exact)
            level = 0
        if is_sources and not level:
            start = index + 1
            level = found
            is_exact = is_only
    if level:
        yield _Section(start, len(lines), is_exact)


def _entry_at(
    lines: Sequence[str], index: int, end: int, files: FileNames, *, is_headed: bool
) -> ListedSource | None:
    """Return the labelled entry that begins on a line; None if none does."""
    found = _LABELLED.fullmatch(lines[index].rstrip())
    if not found or not found.lastgroup:
        return None
    kind = next(kind for kind, label in found.groupdict().items() if label)
    if kind not in _ALWAYS and not is_headed:
        return None
    label = unicodedata.normalize("NFKC", found[kind]).strip().casefold()
    if label in ("", "x"):
        # A box in a list of tasks.
        return None
    words = found["words"]
    last = index
    target = read_target(words, files)
    while last + 1 < min(end, index + _MOST_LINES) and kind != "cell":
        following = lines[last + 1]
        is_new = _LABELLED.match(following) or _heading(following)[0] or _HEADING.match(following)
        if not following.strip() or is_new:
            break
        is_indented = following[:1] in " \t"
        if not is_headed and not is_indented and target.address:
            break
        added = f"{words}\n{following.strip()}"
        longer = target if target.address else read_target(added, files)
        if not is_headed and not longer.address:
            break
        if is_headed or longer is not target:
            words = added
            target = longer
            last += 1
        else:
            break
    if not is_headed and not target.address:
        means_earlier = short_forms(words) is not None or names_with_page(words)
        return ListedSource(index, last, label, words, target) if means_earlier else None
    if target.address and not is_headed:
        target = target._replace(title=read_target(found["words"], files).title)
    return ListedSource(index, last, label, words, target)


def _labelled(
    lines: Sequence[str], are_code: Sequence[bool], section: _Section, files: FileNames
) -> list[ListedSource]:
    """Return the entries with labels below a heading.

    If only a part of its words announces sources, at least half of the entries have to name an
    address or a file.
    """
    entries = list[ListedSource]()
    index = section.start
    while index < section.end:
        entry = None
        if not are_code[index]:
            entry = _entry_at(lines, index, section.end, files, is_headed=True)
        if entry:
            entries.append(entry)
            index = entry.last
        index += 1
    named = [entry for entry in entries if entry.target.address]
    if section.is_exact or 2 * len(named) >= len(entries):
        return entries
    return named


def _unlabelled(
    lines: Sequence[str], are_code: Sequence[bool], section: _Section, files: FileNames
) -> list[ListedSource]:
    """Return the entries of a list without labels: items or paragraphs with a year, an address or
    the name of a file."""
    entries = list[ListedSource]()
    first = -1
    words = ""
    is_item = False

    def close(end: int) -> None:
        nonlocal words
        if words:
            target = read_target(words, files)
            is_publication = _PUBLICATION.match(words) and PUBLICATION_YEAR.search(words)
            ends_with_target = words.rstrip(_END).endswith(target.address or "\0")
            if is_item:
                is_entry = bool(target.address or is_publication)
            else:
                is_entry = bool(is_publication or ends_with_target) and not _CITES.search(words)
            if is_entry:
                last = end
                while not lines[last].strip():
                    last -= 1
                entries.append(ListedSource(first, last, "", words, target))
        words = ""

    for index in range(section.start, section.end):
        line = lines[index]
        bare = re.sub(rf"^\s*{_BULLET}", "", line).strip()
        is_complete = PUBLICATION_YEAR.search(words) or read_target(words, files).address
        is_start = line[:1] not in " \t" and (PUBLICATION_YEAR.search(line) or files.in_text(line))
        is_new = bare != line.strip() or (is_complete and is_start) or index - first >= _MOST_LINES
        if not bare or are_code[index] or is_new or _heading(line)[0]:
            close(index - 1)
        if bare and not are_code[index] and not _heading(line)[0]:
            if not words:
                first = index
                is_item = bare != line.strip()
            words = f"{words}\n{bare}".strip()
    close(section.end - 1)
    return entries


def _numbered_lists(
    lines: Sequence[str], are_code: Sequence[bool], start: int, end: int, files: FileNames
) -> list[SourceList]:
    """Return the lists of labelled entries with addresses or names of files between two lines.

    In each block of lines without an empty one, at least half of the labelled lines are entries: an
    item of an ordinary list may name a file, too.
    """
    lists = list[list[ListedSource]]()
    in_block = list[ListedSource]()
    labelled_lines = 0

    def close_block() -> None:
        if 2 * len(in_block) >= labelled_lines:
            for entry in in_block:
                if lists and _follows(entry, lists[-1][-1], lines):
                    lists[-1].append(entry)
                else:
                    lists.append([entry])
        in_block.clear()

    index = start
    while index < end:
        if not lines[index].strip():
            close_block()
            labelled_lines = 0
        elif not are_code[index] and _LABELLED.fullmatch(lines[index].rstrip()):
            labelled_lines += 1
            entry = _entry_at(lines, index, end, files, is_headed=False)
            if entry:
                in_block.append(entry)
                index = entry.last
        index += 1
    close_block()
    found = [SourceList(entries, is_headed=False) for entries in lists]
    return [sources for sources in found if sources.entries[0].target.address]


def _follows(entry: ListedSource, previous: ListedSource, lines: Sequence[str]) -> bool:
    """Whether an entry belongs to the list of the one before it."""
    if entry.first - previous.first <= _FARTHEST:
        return True
    between = lines[previous.last + 1 : entry.first]
    if any(line.strip() and not _HEADING.match(line) for line in between):
        return False
    return entry.label.isdecimal() and entry.label == _next(previous.label)


def _next(label: str) -> str:
    return str(int(label) + 1) if label.isdecimal() else ""
