"""Finds the lists of sources in a draft and takes them out of its text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from ..labels import all_labels
from ..markers import code_lines
from .entries import MARKER, Entry, bullet_text, is_page, make_entry, read_entry

Kind = Literal["sources", "further"]

_WORDS: Mapping[str, str] = {
    "sources": """
sources source references reference bibliography citations cited consulted footnotes endnotes links urls reading
quellen quelle quellenverzeichnis quellenangaben quellenliste quellennachweise einzelnachweise nachweise belege
literatur literaturverzeichnis referenzen fußnoten références bibliographie cités fuentes referencias citadas
bibliografía fonti riferimenti bibliografia fontes referências bronnen referenties bronvermelding bronnenlijst
literatuurlijst literatuur källor referenser källförteckning kilder referanser referencer źródła przypisy zdroje
kaynaklar kaynakça источники литература литературы источников المصادر المراجع 참고 참고문헌 참고자료 출처
参考 參考 引用 引文 来源 來源 出处 出典 参照 情報源 文献 文獻 阅读 閱讀
""",
    "further": "further additional uncited weiterführende weitere complémentaires otras 扩展 更多 其他 延伸",
    "beside": """
selected key main primary all full numbered complete important core used works web list of and notes
wichtige verwendete alle und ouvrages citées consultées liste des et obras consultadas bibliográficas y
principales principali bibliografici e en och og i список использованных и
主要 全部 核心 中文 英文 重要 资料 資料 信息 数据 链接 书目 列表 一覧 元 リンク 与 和 及
""",
}
"""Words of a heading that announces a list of sources: it has no others, and one of the first group among them.

With one of the second group, the list is of sources that nothing cites.
"""
_WIDE = "\u2e80"
"""Characters from here on are written without spaces between words."""
_LONGEST_HEADING = 80
_MARKUP = re.compile(r"^\s{0,3}(?:(?P<level>#{1,6})\s+|(?P<bold>\*\*|__)(?=\S))?(?P<words>.*?)[\s#*_]*$")
_NUMBERING = re.compile(
    r"^\W*(?:[（(]?(?:\d{1,2}(?:\.\d{1,2})*|[一二三四五六七八九十]{1,3}|[ivx]{1,5})[）)]?(?:[.、．:：]\s*|\s+))?",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\s*(?:[（(][^（）()]*[）)])?[\s:：*_]*$")
_BOLD = 7
_PLAIN = 6


def heading_level(line: str) -> int:
    """Return how deep a heading is, from 1 to 6; 7 for a line in bold; 0 for any other line."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST_HEADING else None
    if not found or not found["words"]:
        return 0
    if found["level"]:
        return len(found["level"])
    return _BOLD if found["bold"] and line.strip().rstrip(":：").endswith(found["bold"]) else 0


def list_named(line: str) -> Kind | None:
    """Return what kind of list a line announces if it does nothing else; it may be a heading, bold or plain."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST_HEADING else None
    if not found or not found["words"]:
        return None
    name = _REMARK.sub("", _NUMBERING.sub("", found["words"])).casefold()
    if name in _own_headings():
        return _own_headings()[name]
    said = {kind for word in re.findall(r"[^\W\d_]+|[^\s&/]", name) for kind in _kinds(word)}
    if "" in said or "sources" not in said:
        return None
    return "further" if "further" in said else "sources"


@cache
def _own_headings() -> Mapping[str, Kind]:
    headings: dict[str, Kind] = {own.sources.casefold(): "sources" for own in all_labels().values()}
    return headings | {own.further.casefold(): "further" for own in all_labels().values()}


def _kinds(word: str) -> list[str]:
    """Return what a word announces; a word of a script without spaces may announce several kinds."""
    known, wide = _vocabulary()
    parts = wide.findall(word) if word[0] >= _WIDE else [word]
    return [known.get(part, "") for part in parts] if "".join(parts) == word else [""]


@cache
def _vocabulary() -> tuple[Mapping[str, str], re.Pattern[str]]:
    known = {word: kind for kind, words in _WORDS.items() for word in words.split()}
    return known, re.compile("|".join(sorted((word for word in known if word[0] >= _WIDE), key=len, reverse=True)))


_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,}\s*)$")
_ADDRESS_LINE = re.compile(r"\s*(?:\w{1,9}\s*[:：]\s*)?<?(?:https?://|www\.|doi:)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_INTRODUCTION = 200
_FARTHEST = 12
"""Lines from the heading of a list within which its first entry stands."""
_MOST_LINES = 8
"""Lines of one entry, as long as none is empty."""


class Line(NamedTuple):
    """A line of a draft that belongs to its text."""

    place: int
    """Its number in the draft, from 0."""
    text: str
    is_code: bool


class SourceList(NamedTuple):
    """A list of sources."""

    place: int
    """The line where it begins."""
    kind: Kind
    heading: str
    """The heading as it was written, with what introduces the list; empty if there is none."""
    entries: tuple[Entry, ...]


class Draft(NamedTuple):
    """A draft, its lists of sources apart from its text."""

    body: tuple[Line, ...]
    lists: tuple[SourceList, ...]

    def labels(self) -> Mapping[str, str]:
        """Return the addresses of links that are defined elsewhere, by their names in lower case."""
        entries = [entry for found in self.lists for entry in found.entries]
        return {one.label.casefold(): one.address for one in entries if one.label and is_page(one.address)}


def read_draft(text: str, is_known: Callable[[Entry], bool]) -> Draft:
    """Take the lists of sources out of a draft.

    `is_known` says whether an entry leads to a source; a list in which none does is one only if it is numbered and the
    text has markers.
    """
    return _DraftReader(text, is_known).read()


class _Item(NamedTuple):
    """An entry and the line behind it."""

    entry: Entry
    end: int


class _DraftReader:
    def __init__(self, text: str, is_known: Callable[[Entry], bool]) -> None:
        self._lines = text.split("\n")
        self._is_code = code_lines(self._lines)
        self._is_known = is_known
        self._items = {place: item for place in range(len(self._lines)) if (item := self._item(place))}
        plain = (place for place, is_code in enumerate(self._is_code) if not is_code and self._number(place) is None)
        self._has_markers = any(MARKER.search(self._lines[place]) for place in plain)
        filled = (place for place, line in enumerate(self._lines) if line.strip() and not _RULE.match(line))
        self._last = max(filled, default=-1)
        self._searched = 0
        """The line up to which no list without a heading begins."""

    def read(self) -> Draft:
        """Go through the lines once."""
        body: list[Line] = []
        lists: list[SourceList] = []
        place = 0
        while place < len(self._lines):
            is_open = not self._is_code[place] and bool(self._lines[place])
            found = (self._titled(place) or self._untitled(place)) if is_open else None
            if found:
                lists.append(found[0])
                place = _close_gap(body, self._lines, found[1])
            else:
                body.append(Line(place, self._lines[place], self._is_code[place]))
                place += 1
        return Draft(tuple(body), tuple(lists))

    def _item(self, place: int) -> _Item | None:
        if self._is_code[place] or heading_level(self._lines[place]) in range(1, _BOLD):
            return None
        line, end = self._lines[place], place + 1
        while end < min(place + _MOST_LINES, len(self._lines)) and not self._is_code[end]:
            following = self._lines[end]
            is_deeper = bool(following.strip()) and _indent(following) > _indent(line) + 1
            if not is_deeper and not _ADDRESS_LINE.match(following):
                break
            end += 1
        entry = read_entry(line, " ".join(bullet_text(one) or one for one in self._lines[place + 1 : end]))
        return _Item(entry, end) if entry else None

    def _number(self, place: int) -> int | None:
        item = self._items.get(place)
        return item.entry.number if item else None

    def _titled(self, place: int) -> tuple[SourceList, int] | None:
        """Return the list whose heading is on this line, and the line after it."""
        kind = list_named(self._lines[place])
        if not kind:
            return None
        first = self._behind_headings(place, kind)
        entries, end = self._below(first, heading_level(self._lines[place]) or _PLAIN)
        if not self._is_list(entries, kind):
            return None
        heading = "\n".join(self._lines[place:first]).strip("\n")
        return SourceList(place, kind, heading.rstrip(), tuple(entries)), end

    def _behind_headings(self, place: int, kind: Kind) -> int:
        """Return the line after a heading, any heading within it, and a line that introduces the list."""
        has_introduction = False
        for here in range(place + 1, min(place + _FARTHEST, len(self._lines))):
            line = self._lines[here]
            if self._is_code[here] or here in self._items:
                return here
            if not line.strip() or list_named(line) == kind or (here == place + 1 and _RULE.match(line)):
                continue
            is_prose = not heading_level(line) and len(line) <= _LONGEST_INTRODUCTION and not MARKER.search(line)
            if has_introduction or not is_prose:
                return here
            has_introduction = True
        return place + 1

    def _below(self, first: int, level: int) -> tuple[list[Entry], int]:
        """Return the entries from a line on, and the line after them; headings of groups in the list are skipped."""
        entries: list[Entry] = []
        end = place = first
        while place < len(self._lines) and not self._is_code[place]:
            if item := self._items.get(place):
                is_text = item.entry.number is None and not item.entry.address
                if is_text and any(other.number is not None for other in entries):
                    break
                entries.append(item.entry)
                end = place = item.end
            elif not self._lines[place].strip() or self._names_group(place, level):
                place += 1
            else:
                break
        return _with_targets([one for one in entries if one.address or _LETTER.search(one.text)]), end

    def _names_group(self, place: int, level: int) -> bool:
        line = self._lines[place]
        following = (here for here in range(place + 1, place + 4) if self._lines[here : here + 1] not in ([], [""]))
        return heading_level(line) > level and not list_named(line) and next(following, -1) in self._items

    def _is_list(self, entries: Sequence[Entry], kind: Kind) -> bool:
        unnumbered = [entry for entry in entries if entry.number is None]
        if not entries or any(not entry.address and MARKER.search(entry.text) for entry in unnumbered):
            return False
        return kind == "further" or (self._has_markers and not unnumbered) or any(map(self._is_known, entries))

    def _untitled(self, place: int) -> tuple[SourceList, int] | None:
        """Return the list without a heading that begins on this line, and the line after it.

        Either its entries are marked as such, or it ends the draft with numbers in order and an address for each.
        """
        if place not in self._items or place < self._searched:
            return None
        are_marked = self._items[place].entry.is_marked
        entries: list[Entry] = []
        end = here = place
        while here < len(self._lines) and not self._is_code[here]:
            item = self._items.get(here)
            if item and (item.entry.is_marked if are_marked else item.entry.number is not None and item.entry.address):
                entries.append(item.entry)
                end = here = item.end
            elif not self._lines[here].strip() or (not are_marked and _RULE.match(self._lines[here])):
                here += 1
            else:
                break
        numbers = [entry.number or 0 for entry in entries]
        if are_marked:
            is_list = len(entries) > 1 or end > self._last or bool(entries[0].label)
        else:
            is_list = self._has_markers and end > self._last and len(entries) > 1 and numbers == sorted({*numbers})
        self._searched = end
        return (SourceList(place, "sources", "", tuple(entries)), end) if is_list else None


def _with_targets(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries, each with the address that a definition of its number gives below them."""
    whole: list[Entry] = []
    places: dict[int | None, int] = {}
    for entry in entries:
        place = places.get(entry.number) if entry.text == f"<{entry.address}>" else None
        if place is None:
            places.setdefault(entry.number, len(whole))
            whole.append(entry)
        elif entry.address not in whole[place].text:
            whole[place] = make_entry(entry.number, f"{whole[place].text} — {entry.text}")
    return whole


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _close_gap(body: list[Line], lines: Sequence[str], place: int) -> int:
    """Leave one empty line where a list was, and one rule of two; returns the line to go on with."""
    while body and not body[-1].text.strip() and not body[-1].is_code:
        body.pop()
    had_rule = bool(body) and bool(_RULE.match(body[-1].text))
    while place < len(lines) and (not lines[place].strip() or (had_rule and _RULE.match(lines[place]))):
        place += 1
    if body:
        body.append(Line(place - 1, "", False))
    return place


class Numbering:
    """The numbers that a draft's lists give, each in the part of the draft that its list is for.

    A number means the entry of the next list that has it, or else of the last one before it. Of two entries with one
    number in a list, the first is meant. Lists without any number are counted through.
    """

    def __init__(self, lists: Iterable[SourceList]) -> None:
        self._entries: dict[int, list[tuple[int, Entry]]] = defaultdict(list)
        lists = list(lists)
        has_numbers = any(entry.number is not None for found in lists for entry in found.entries)
        for found in lists:
            for count, entry in enumerate(found.entries, 1):
                is_counted = not has_numbers and found.kind == "sources" and not entry.label
                number = count if is_counted else entry.number
                if number is not None:
                    self._entries[number].append((found.place, entry))

    def entry(self, number: int, place: int) -> Entry | None:
        """Return the entry that a number means in a line of the draft; none if no list has it."""
        known = self._entries.get(number)
        if not known:
            return None
        following = bisect_left(known, place, key=lambda pair: pair[0])
        return known[min(following, len(known) - 1)][1]
