"""Cleans a draft by our writer: its citations become `[n]` with our source numbers, its source list
is removed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from ...records.sources import Source
from .citing import UNKNOWN, name_of
from .labels import source_headings
from .markers import INERT, TARGET, code_lines

_RANGE = "–—~～−-"
"""Signs between the first and last number of a range."""
_WIDEST_RANGE = 40
"""Maximum number of sources in a range; a wider one names no source."""
_FIRST_YEAR = 1000
"""Smallest unknown number that counts as a year, not as a citation."""
_FIRST_WIDE = "\u2e80"
"""The first code point of scripts without spaces between words, such as Chinese."""
_ADDRESS = r"(?:https?|file)://(?:\([^\s()]*\)|[^\s<>()\[\]{}\"`|\\（）【】「」《》，。；、])+(?<![.,;:!?'*_~…！？：’])"
_COUNTED = r"\^?\d+(?: *[,，、;；–—~～−-] *\^?\d+)*+(?:†[^\[\]【】［］\n]*)?"
_MARKER = rf"(?:[\[【［]{{2}}{_COUNTED}[\]】］]{{2}}|[\[【［]{_COUNTED}[\]】］])"
# What a line may contain besides plain text: escapes, code and HTML, which stay; markers and
# addresses; links.
_TOKEN = re.compile(
    r"(?i)(?P<kept>\\[^`]|(?P<ticks>`++)(?:.*?(?<!`)(?P=ticks)(?!`))?|<(?!https?:|file:)[a-z!/][^<>]*>)"
    rf"|(?P<open>[(（])?(?:(?P<marker>{_MARKER})(?:{TARGET.format('linked')})?|<?(?P<address>{_ADDRESS})>?)(?(open)[)）])"
    rf"|!?\[(?P<words>(?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*+\])*+)\]{TARGET.format('target')}"
)
# What may separate markers that form one citation.
_BETWEEN = re.compile(r"[ \u3000]?[,，、;；]?[ \u3000]?")
# The lines of source lists.
_BULLET = r"[ \t]*(?:[-*+•][ \t]+|\d+\.[ \t]+(?=\[))"
_NUMBER = (
    r"[ \t]*(?:\*\*)?(?:[\[【［]{1,2}\^?\d{1,3}[\]】］]{1,2}|[（(]?\d{1,3}[.)）、．:：](?=\D))"
)
_NUMBERED = rf"(?:{_BULLET})?(?:{_NUMBER})++(?=.*[^\W\d_])(?:.*://|(?!.*[\[【]\d{{1,3}}[,\]】])).*"
_ENTRY = rf"(?:{_NUMBERED}|{_BULLET}.*://.*|[^\[\n]*://[^\[\n]*| {{2,}}[^\s\[].*)"
_ITEM = rf"{_BULLET}(?!.*{_MARKER})\S.*"
_UNTITLED = (
    rf"(?:[\[【]\d{{1,3}}[\]】][:：]?[ \t](?:.*[\s(<])?{_ADDRESS}[>)]?[ \t]*|\[\^[^\]\s]+\]: .*)"
)
_LINE = (
    rf"(?m)^(?P<bullet>{_BULLET})?(?:[*\s]*[\[【［（(]*\^?(?P<number>\d{{1,3}})[\]】］)）.、．:：])?"
    r"(?P<words>.*)"
)


def _lists() -> str:
    """Return the pattern of source lists: entries below a heading, or numbered lines with an
    address."""
    level = r" {0,3}(?:(?P<level>#{1,6}) +|\*\*|__)?(?:[\d一二三四五六七八九十]+[.)、．]\s*)?"
    names = source_headings()
    heading = rf"(?:(?<=\n\n)(?:-|\*|_){{3,}}\s*\n)?^{level}(?:{names})[ :：#*_]*\n(?:[=-]+\n)?"
    introduction = rf"(?:\s*(?!{_ENTRY}|{_ITEM}|#)[^\[\n\0]{{1,200}}\n)?"
    numbered = rf"(?:\s*^(?:(?P=level)#+ .*\n\s*)?{_ENTRY}$)++(?!\n\s*{_NUMBER})"
    bulleted = rf"(?:\s*^{_ITEM}$)++(?!\n\s*{_BULLET})"
    titled = rf"{heading}{introduction}(?:{numbered}|{bulleted})"
    return (
        rf"(?im)(?:{titled}|(?:^ {{0,3}}(?:[-*] )?{_UNTITLED}$\n*)++)\s*?$(?:\s*^-{{3,}}\s*\Z)?\n*"
    )


def clean_draft(text: str, sources: Mapping[int, Source]) -> tuple[str, int]:
    """Return a draft with all its citations as `[n]`, and how many numbers in its markers named no
    source.

    `n` is a key of `sources`, or 0 for a citation of another source. Addresses of known sources
    become citations, other addresses become `[0]`, and the text of a link stays. A source list is
    removed; if it numbers a known source differently, the draft's numbers are translated to ours.
    Code stays unchanged.
    """
    lines = text.replace("\0", "").split("\n")
    # Each line of code is hidden behind its number.
    shown = list[str]()
    for number, is_code in enumerate(code_lines(lines)):
        shown.append(f"\0{number}" if is_code else lines[number])
    prose = "\n".join(shown)

    lists = "(?!)"
    if re.search(rf"{_MARKER}|://", text):
        lists = _lists()
    listed = "\n".join(found[0] for found in re.finditer(lists, prose))
    numbering = _Numbering(sources, listed)
    cleaned = list[str]()
    for line in re.sub(lists, "", prose).split("\n"):
        if line.startswith("\0"):
            cleaned.append(lines[int(line[1:])])
        else:
            cleaned.append(numbering.clean(line))
    return "\n".join(cleaned).rstrip(), numbering.removed


class _Numbering:
    """Translates the numbers, addresses and titles in a draft to our source numbers."""

    def __init__(self, sources: Mapping[int, Source], listed: str) -> None:
        """`listed`: the source lists of the draft."""
        self.removed = 0
        """How many numbers in markers named no source so far."""
        self._names = dict[str, list[int]]()
        for number, source in sources.items():
            for name in {
                *map(name_of, (source.key, source.location, source.address, source.title))
            }:
                self._names.setdefault(name, []).append(number)
        self._names[""] = [UNKNOWN]
        self._ours = self._translation(sources, listed)

    def _translation(self, sources: Mapping[int, Source], listed: str) -> dict[int, int]:
        """Return our number by the draft's number, according to its source lists."""
        ours = dict[int, int]()
        is_translated = False
        number = UNKNOWN
        for line in re.finditer(_LINE, listed):
            # A line without a list mark continues the previous entry.
            if line["number"]:
                number = int(line["number"])
            elif line["bullet"]:
                number = UNKNOWN
            address = re.search(_ADDRESS, line["words"], re.IGNORECASE)
            listed_number = self._number(address[0] if address else line["words"], number)
            ours[number] = ours.get(number) or listed_number
            # Titles may be in any order; only an address, or a number that we never assigned,
            # proves another numbering.
            is_different = number != UNKNOWN and listed_number not in (number, UNKNOWN)
            if is_different and (address or number not in sources):
                is_translated = True
        if not is_translated:
            for number in sources:
                ours[number] = number
        return ours

    def _number(self, text: str, wanted: int = UNKNOWN) -> int:
        """Return our number of the source with this address or title, `wanted` if several have it.

        Otherwise `UNKNOWN`.
        """
        numbers = self._names.get(name_of(text), [UNKNOWN])
        return wanted if wanted in numbers else numbers[0]

    def clean(self, line: str) -> str:
        """Return a line with its citations replaced by markers with our numbers."""
        texts, citations = self._read(line)
        for index, numbers in enumerate(citations):
            known = dict.fromkeys(numbers)
            known.pop(UNKNOWN, None)
            for number in known or [UNKNOWN]:
                texts[index] += f"[{number}]"
            if texts[index + 1].startswith("("):
                # A parenthesis right after a marker would make it a link.
                texts[index + 1] = f" {texts[index + 1]}"
        return "".join(texts)

    def _read(self, line: str) -> tuple[list[str], list[list[int]]]:
        """Return the texts around the citations of a line, and the numbers of each citation."""
        texts = [""]
        citations = list[list[int]]()
        done = 0
        for token in _TOKEN.finditer(line):
            words, numbers = self._token(token)
            texts[-1] += line[done : token.start()] + words
            done = token.end()
            if not numbers:
                continue
            if citations and _BETWEEN.fullmatch(texts[-1]):
                citations[-1] += numbers
                texts[-1] = ""
            else:
                citations.append(numbers)
                texts.append("")
        texts[-1] += line[done:]
        return texts, citations

    def _token(self, found: re.Match[str]) -> tuple[str, list[int]]:
        """Return the text that remains of a token, and our numbers of the sources that it cites."""
        address = found["address"] or found["linked"] or found["target"] or ""
        ours = self._number(address)
        if found["marker"] and not ours and "://" not in address:
            return self._marker(found["marker"])
        if found["address"]:
            return "", [ours]
        if found["marker"]:
            if not ours:
                self.removed += 1
            return "", [ours]
        if found["words"] is None:
            return found[0], []
        texts, citations = self._read(found["words"])
        left = "".join(texts)
        numbers = [*chain.from_iterable(citations)]
        if ours:
            numbers.append(ours)
        is_joined = not left or left[-1] >= _FIRST_WIDE or left[-1] in "([{| \t"
        if numbers and not is_joined:
            left += " "
        return left, numbers

    def _marker(self, marker: str) -> tuple[str, list[int]]:
        """Return what remains of a marker without a link, and our numbers of the sources it
        cites."""
        written = list[int]()
        for before, digits in re.findall(r"([^\d†]*)(\d+)", marker.partition("†")[0]):
            number = int(digits[:20])
            first = number
            if written and not {*before}.isdisjoint(_RANGE):
                first = written[-1] + 1
            if first - 1 <= number < first + _WIDEST_RANGE:
                written += range(first, number + 1)
            else:
                written.append(0)
        ours = [self._ours.get(number, UNKNOWN) for number in written]
        is_year = not any(ours) and min(written) >= _FIRST_YEAR
        if 0 in written or is_year:
            # Years and intervals such as [0, 1] are no citations.
            return marker.translate(INERT), []
        self.removed += ours.count(UNKNOWN)
        return "", ours
