"""Finds the names of files in the words of a report, by the suffixes that can be read."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import unquote

_LONGEST = 200
"""Maximum length of a name, in characters."""
_MOST = 5
"""Maximum number of files that are looked for in one entry or marker."""
_DELIMITER = re.compile(r"[\s\"'“”„«»‘’`(\[{<|,;:=—–*]+")
"""Matches what may stand before a name; all of these may also be part of one."""
_WEB = re.compile(r"(?<![a-z0-9+.-])(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([_*])")


class FileName(NamedTuple):
    """The name of a file in a text."""

    start: int
    """Offset of the shortest possible name, in characters."""
    end: int
    names: tuple[str, ...]
    """All possible names, longest first: only the files that exist show where a name with spaces
    begins."""

    @property
    def shortest(self) -> str:
        """The shortest possible name."""
        return self.names[-1]


class FileNames:
    """Finds names of files with the given suffixes, such as `.pdf`."""

    def __init__(self, suffixes: Collection[str]) -> None:
        endings = "|".join(re.escape(suffix.removeprefix(".")) for suffix in sorted(suffixes))
        self._ending = re.compile(rf"(?<=[\w)\]%])\.(?:{endings or '(?!)'})(?!\w|\.\w)", re.I)

    def in_text(self, text: str) -> list[FileName]:
        """Return the first names in a text, in order."""
        found = list[FileName]()
        for ending in self._ending.finditer(text):
            first = max(0, ending.start() - _LONGEST, text.rfind("\n", 0, ending.start()) + 1)
            before = text[first : ending.start()]
            starts = [first]
            starts += [first + delimiter.end() for delimiter in _DELIMITER.finditer(before)]
            starts = [start for start in starts if start < ending.start()]
            written = (text[start : ending.end()] for start in starts)
            names = dict.fromkeys(_ESCAPED.sub(r"\1", name).strip("./ ") for name in written)
            last_word = before.split()[-1:] or [""]
            if starts and not _WEB.search(last_word[0]):
                found.append(FileName(starts[-1], ending.end(), tuple(filter(None, names))))
            if len(found) == _MOST:
                break
        return found

    def of_link(self, address: str) -> str:
        """Return the name of the file to which a link in a report leads; empty if it leads to no
        such file."""
        path = unquote(address).partition("#")[0].partition("?")[0].strip()
        if _WEB.match(path) and not path.lower().startswith("file:"):
            return ""
        ending = self._ending.search(path)
        while ending and ending.end() < len(path):
            ending = self._ending.search(path, ending.end())
        return path if ending else ""
