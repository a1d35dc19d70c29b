"""Finds the lists of sources in a draft, by their headings in many languages, and takes them out of its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ..labels import all_labels
from ..markers import code_lines
from .addresses import WEB_ADDRESS
from .entries import Entry, bullet_text, definition, is_address_alone, make_entry, numbered_entry

Kind = Literal["sources", "further"]

_SOURCES = """
sources, source, references, reference, bibliography, citations, works cited, source list, reference list,
sources cited, sources used, sources consulted, references cited, list of sources, list of references, footnotes,
endnotes, source links, reference links, links, web sources, cited sources, urls
quellen, quelle, quellenverzeichnis, quellenangaben, quellenliste, quellennachweise, einzelnachweise, nachweise, belege,
literatur, literaturverzeichnis, referenzen, fußnoten
références, bibliographie, sources citées, ouvrages cités, liste des sources, sources consultées, notes et références
fuentes, referencias, bibliografía, fuentes consultadas, obras citadas, referencias bibliográficas
fonti, riferimenti, bibliografia, riferimenti bibliografici, fontes, referências, referências bibliográficas
bronnen, referenties, bronvermelding, bronnenlijst, literatuurlijst, literatuur
källor, referenser, källförteckning, kilder, referanser, referencer, kildeliste, lähteet, viitteet
źródła, przypisy, zdroje, použité zdroje, zdroje a literatura, kaynaklar, kaynakça, források
источники, список источников, литература, список литературы, ссылки, джерела
المصادر, المراجع, المصادر والمراجع, स्रोत, संदर्भ
参考文献, 参考资料, 参考来源, 资料来源, 信息来源, 数据来源, 来源, 引用来源, 引用文献, 引用, 引文, 文献来源,
来源列表, 参考链接, 文献列表, 参考书目, 参考, 出处, 参考文献列表, 參考文獻, 參考資料, 資料來源, 參考來源, 來源
出典, 引用元, 参照, 情報源, 参考資料, 参考文献一覧, 出典一覧, 参考リンク
출처, 참고문헌, 참고 문헌, 참고자료, 참고 자료
"""
_FURTHER = """
further reading, additional reading, additional sources, uncited sources, weiterführende quellen, weitere quellen,
weiterführende links, lectures complémentaires, otras fuentes, 扩展阅读, 更多阅读, 其他来源, 延伸閱讀
"""
_QUALIFIERS = """
selected key main primary all full cited numbered complete important core wichtige verwendete alle principales
principali 主要 全部 核心 中文 英文 重要
"""


def _names(lists: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in lists.replace("\n", ",").split(",") if name.strip())


_NAMES: dict[Kind, frozenset[str]] = {
    "sources": _names(_SOURCES),
    "further": _names(_FURTHER) | {words.further.lower() for words in all_labels().values()},
}
_NAME_BEGIN = tuple(_QUALIFIERS.split())
_LONGEST = 80
_MARKUP = re.compile(r"^\s{0,3}(?:(?P<level>#{1,6})\s+|(?P<bold>\*\*|__)(?=\S))?(?P<words>.*?)[\s#*_]*$")
_NUMBERING = re.compile(
    r"^(?:[（(]?(?:\d{1,2}(?:\.\d{1,2})*|[一二三四五六七八九十]{1,3}|[ivx]{1,5})[）)]?(?:[.、．:：]\s*|\s+))",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\s*[（(][^（）()]*[）)]$")
_AND = re.compile(r"\s*&\s*|\s+(?:and|und|et|y|e|en|och|og|i|и)\s+|[与和及]")


def heading_level(line: str) -> int:
    """How deep a heading is, from 1 to 6; 7 for a line in bold; 0 for any other line."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST else None
    if not found or not found["words"]:
        return 0
    if found["level"]:
        return len(found["level"])
    return 7 if found["bold"] and line.strip().rstrip(":：").endswith(found["bold"]) else 0


def list_named(line: str) -> Kind | None:
    """What kind of list a line announces, if it names one and nothing else; it may be a heading, in bold or plain."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST else None
    if not found or not found["words"]:
        return None
    words = _NUMBERING.sub("", re.sub(r"^\W+(?=\w)", "", found["words"]))
    words = _REMARK.sub("", re.sub(r"[\s:：*_]+$", "", words)).casefold()
    for kind, names in _NAMES.items():
        if _is_name(words, names) or all(_is_name(part, names) for part in _AND.split(words)):
            return kind
    return None


def _is_name(words: str, names: frozenset[str]) -> bool:
    words = " ".join(words.split())
    begin = next((begin for begin in _NAME_BEGIN if words.startswith(begin)), "")
    return words in names or (bool(begin) and words.removeprefix(begin).strip() in names)


_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,}\s*)$")
_MARKER = re.compile(r"(?<!\\)[\[【［]\^?\d{1,3}[^\]】］\n]{0,40}[\]】］]")
_TARGET = re.compile(r"<[^<>]+>")
"""An entry that is an address alone."""
_WORD = re.compile(r"[^\W\d_]")
_LONGEST_INTRODUCTION = 200
_FARTHEST = 12
"""Lines from the heading of a list within which its first entry stands."""
_MOST_LINES = 8
"""Lines of one entry, as long as none is empty."""


class Line(NamedTuple):
    """A line of a draft that belongs to its text."""

    place: int
    """Where it stands in the draft, from 0."""
    text: str
    is_code: bool


class SourceList(NamedTuple):
    """A list of sources."""

    place: int
    """The line where it begins."""
    kind: Kind
    heading: str
    """The heading as it stands there, with what introduces the list; empty if there is none."""
    entries: tuple[Entry, ...]


class Draft(NamedTuple):
    """A draft, its lists of sources apart from its text."""

    body: tuple[Line, ...]
    lists: tuple[SourceList, ...]


class _Found(NamedTuple):
    entries: list[Entry]
    end: int
    """The line behind the last entry."""


def read_draft(text: str, is_known: Callable[[Entry], bool]) -> Draft:
    """Take the lists of sources out of a draft.

    `is_known` says whether an entry leads to a source; a list in which none does is one only if it is numbered and the
    text has markers.
    """
    return _Reader(text, is_known).read()


class _Reader:
    def __init__(self, text: str, is_known: Callable[[Entry], bool]) -> None:
        self._lines = text.split("\n")
        self._is_code = code_lines(self._lines)
        self._is_known = is_known
        self._has_markers = any(
            _MARKER.search(line) and not numbered_entry(line)
            for line, is_code in zip(self._lines, self._is_code, strict=True)
            if not is_code
        )
        self._last = max((place for place, line in enumerate(self._lines) if _is_filled(line)), default=-1)
        self._tail = self._start_of_tail()

    def read(self) -> Draft:
        """Go through the lines once."""
        body: list[Line] = []
        lists: list[SourceList] = []
        place = 0
        while place < len(self._lines):
            found = (
                None if self._is_code[place] or not self._lines[place] else self._section(place) or self._block(place)
            )
            if found:
                lists.append(found[0])
                place = _close_gap(body, self._lines, found[1])
            else:
                body.append(Line(place, self._lines[place], self._is_code[place]))
                place += 1
        return Draft(tuple(body), tuple(lists))

    def _section(self, place: int) -> tuple[SourceList, int] | None:
        """The list whose heading stands on this line, and the line behind it."""
        kind = list_named(self._lines[place])
        if not kind:
            return None
        first = self._behind_headings(place, kind)
        found = self._entries(first, heading_level(self._lines[place]) or 6) if first is not None else None
        if not found or first is None or not self._is_list(found.entries, kind):
            return None
        heading = "\n".join(self._lines[place:first]).strip("\n")
        return SourceList(place, kind, heading.rstrip(), tuple(found.entries)), found.end

    def _behind_headings(self, place: int, kind: Kind) -> int | None:
        """The line of the first entry below a heading, a heading within it and a line that introduces the list."""
        has_introduction = False
        for here in range(place + 1, min(place + _FARTHEST, len(self._lines))):
            line = self._lines[here]
            if self._is_code[here]:
                return None
            if self._entry(line):
                return here
            if not line.strip() or list_named(line) == kind or (here == place + 1 and _RULE.match(line)):
                continue
            is_prose = not heading_level(line) and len(line) <= _LONGEST_INTRODUCTION and not _MARKER.search(line)
            if has_introduction or not is_prose or "://" in line:
                return here if heading_level(line) else None
            has_introduction = True
        return None

    def _entries(self, first: int, level: int) -> _Found:
        """The entries from a line on, up to what is none; headings of groups within the list are passed over."""
        entries: list[Entry] = []
        end = place = first
        while place < len(self._lines) and not self._is_code[place]:
            line = self._lines[place]
            if entry := self._entry(line):
                following, text = self._whole(place, entry[1])
                made = make_entry(entry[0], text)
                if made.number is None and not made.address and any(other.number is not None for other in entries):
                    break
                entries.append(made)
                end = place = following
            elif not line.strip() or self._names_group(place, level):
                place += 1
            else:
                break
        named = [entry for entry in entries if entry.address or _WORD.search(entry.text)]
        return _Found(_with_targets(named), end)

    def _names_group(self, place: int, level: int) -> bool:
        line = self._lines[place]
        if heading_level(line) <= level or list_named(line):
            return False
        following = next((line for line in self._lines[place + 1 : place + 4] if line.strip()), "")
        return bool(self._entry(following))

    def _whole(self, place: int, text: str) -> tuple[int, str]:
        """The line behind the entry on this line, which may go on over several, and all its words."""
        parts, indent = [text], _indent(self._lines[place])
        here = place + 1
        while here < min(place + _MOST_LINES, len(self._lines)) and not self._is_code[here]:
            line = self._lines[here]
            is_deeper = bool(line.strip()) and _indent(line) > indent + 1
            if not is_deeper and not is_address_alone(line):
                break
            parts.append(bullet_text(line) or line)
            here += 1
        return here, " ".join(parts)

    def _entry(self, line: str) -> tuple[int | None, str] | None:
        if numbered := numbered_entry(line):
            return numbered[:2]
        text = bullet_text(line)
        if not text and WEB_ADDRESS.search(line) and not heading_level(line) and not _MARKER.search(line):
            text = line
        return (None, text) if text else None

    def _is_list(self, entries: Sequence[Entry], kind: Kind) -> bool:
        if not entries or any(
            entry.number is None and not entry.address and _MARKER.search(entry.text) for entry in entries
        ):
            return False
        is_numbered = self._has_markers and all(entry.number is not None for entry in entries)
        return kind == "further" or is_numbered or any(map(self._is_known, entries))

    def _block(self, place: int) -> tuple[SourceList, int] | None:
        """The list without a heading that begins on this line, and the line behind it."""
        entries: list[Entry] = []
        end = here = place
        while here < len(self._lines) and not self._is_code[here]:
            if not self._lines[here].strip() and entries:
                here += 1
                continue
            found = self._bare_entry(here)
            if not found:
                break
            entries.append(found[0])
            end = here = found[1]
        is_alone = len(entries) == 1 and end <= self._last and not definition(self._lines[place])
        if not entries or is_alone:
            return None
        return SourceList(place, "sources", "", tuple(entries)), end

    def _bare_entry(self, place: int) -> tuple[Entry, int] | None:
        """The entry on this line if it is one even without a heading, and the line behind it."""
        line = self._lines[place]
        numbered = numbered_entry(line)
        if numbered and (numbered[2] != "." or place >= self._tail):
            end, text = self._whole(place, numbered[1])
            entry = make_entry(numbered[0], text, str(numbered[0]) if _is_link(text) else "")
        elif (named := definition(line)) and (named[0].startswith("^") or _is_link(named[1])):
            end, text = self._whole(place, named[1])
            entry = make_entry(None, text, named[0])
        else:
            return None
        return (entry, end) if entry.address or (numbered and numbered[2] == ":" and entry.text) else None

    def _start_of_tail(self) -> int:
        """The line from which on there are only numbered entries with addresses, two or more; or the end."""
        start, numbers = len(self._lines), list[int]()
        for place in range(len(self._lines) - 1, -1, -1):
            line = self._lines[place]
            if not line.strip() or _RULE.match(line) or is_address_alone(line) or _indent(line) > 1:
                continue
            numbered = None if self._is_code[place] else numbered_entry(line)
            if not numbered or not make_entry(None, self._whole(place, numbered[1])[1]).address:
                break
            if numbers and numbered[0] >= numbers[-1]:
                break
            start = place
            numbers.append(numbered[0])
        return start if len(numbers) > 1 and self._has_markers else len(self._lines)


def _with_targets(entries: Sequence[Entry]) -> list[Entry]:
    """The entries, each with the address that a definition of its number gives below them."""
    whole, places = list[Entry](), dict[int | None, int]()
    for entry in entries:
        place = places.get(entry.number) if _TARGET.fullmatch(entry.text) else None
        if place is None:
            if entry.number is not None:
                places.setdefault(entry.number, len(whole))
            whole.append(entry)
        elif entry.address not in whole[place].text:
            whole[place] = make_entry(entry.number, f"{whole[place].text} — {entry.text}")
    return whole


def text_lines(text: str) -> list[Line]:
    """The lines of a text without lists."""
    lines = text.split("\n")
    return [Line(place, *pair) for place, pair in enumerate(zip(lines, code_lines(lines), strict=True))]


def _is_link(text: str) -> bool:
    """Whether the words behind a label make it the name of a link."""
    return bool(re.match(r"\s*<?https?://", text, re.IGNORECASE))


def _is_filled(line: str) -> bool:
    """Whether there is anything on a line but a rule."""
    return bool(line.strip()) and not _RULE.match(line)


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
