"""What the title of a document, or its path, tells of which version it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple, TypeAlias

from ..sources import DOCUMENT_SCHEME
from ..vocabulary import STOP_WORDS
from ..words import stem, tokens
from .dates import dates_in
from .vocabulary import (
    DRAFT,
    DRAFT_SIGNS,
    IDLE,
    NEWER,
    OUTDATED,
    OUTDATED_SIGNS,
    SHELVED,
)

Status: TypeAlias = Literal["", "draft", "outdated"]
_NUMBER = re.compile(
    r"(?<![^\W_])(?:(?P<kept>draft|entwurf|brouillon|borrador)|v|ver|version|versione|versao|versie|wersja|версия|rev|"
    r"revision|fassung|release|edition|edicion)[. _-]{0,2}(?P<behind>\d{1,3}(?:[._]\d{1,3}){0,3})(?![^\W_])"
    r"|(?<![^\W_])(?P<before>\d{1,2})(?:st|nd|rd|th|\.|e|eme|a|ª)?[ _-]?(?:edition|auflage|edicion|edizione)(?![^\W_])"
    r"|第(?P<ordinal>\d{1,3})版"
)
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_IN_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]*)[)\]）】]")


class Name(NamedTuple):
    """A title or a path, taken apart."""

    base: tuple[str, ...]
    """Stems of the words that say what the document is about."""
    date: str = ""
    """A year, a month or a day (the beginning of an ISO date)."""
    number: tuple[int, ...] = ()
    """The number of the version: 2.1 is (2, 1)."""
    status: Status = ""

    @property
    def is_marked(self) -> bool:
        """Whether it tells a version at all."""
        return bool(self.date or self.number or self.status)


def read_title(title: str) -> Name:
    """A title, taken apart."""
    plain = folded(title)
    return _shelved(_read(plain), [tokens(inner) for inner in _IN_BRACKETS.findall(plain)])


def read_path(path: str) -> Name:
    """A path, or the address of a document, taken apart; of folders and file, what stands further behind tells more.

    The folder that an address begins with is where the user keeps the documents: its name says nothing of them.
    """
    root, inner = _rooted(path)
    whole = PurePosixPath(folded(inner))
    file = _read_file(whole.stem)
    folders = _folders(whole)
    parts = [*folders, file]
    # A file that is called nothing but "old" is not the old version of whatever lies beside it.
    is_named = bool(file.base or file.date or file.number)
    return Name(
        base=(*root, *_base(parts)) if is_named else (),
        date=next((part.date for part in reversed(parts) if part.date), ""),
        number=next((part.number for part in reversed(parts) if part.number), ()),
        status=next((part.status for part in reversed(parts) if part.status), ""),
    )


def _rooted(path: str) -> tuple[tuple[str, ...], str]:
    """The folder that an address begins with, as it is, and the path below it."""
    folder, slash, inner = path.partition("/") if path.startswith(DOCUMENT_SCHEME) else ("", "/", path)
    return ((folder,), inner) if slash and folder else ((), inner or folder.removeprefix(DOCUMENT_SCHEME))


def folder_of(path: str) -> tuple[str, ...]:
    """What the folders of a path say the document is about."""
    root, inner = _rooted(path)
    return (*root, *_base(_folders(PurePosixPath(folded(inner)))))


def _folders(whole: PurePosixPath) -> list[Name]:
    return list(map(_read_folder, whole.parent.parts))


def _base(parts: Iterable[Name]) -> tuple[str, ...]:
    return tuple(own for part in parts for own in ("/", *part.base) if part.base)


def folded(text: str) -> str:
    """The text in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def names_draft(plain: str) -> bool:
    """Whether a folded text speaks of a draft."""
    return not DRAFT.isdisjoint(tokens(plain)) or any(sign in plain for sign in DRAFT_SIGNS)


class Marks(NamedTuple):
    """What a text tells of versions."""

    dates: tuple[str, ...]
    numbers: tuple[tuple[int, ...], ...]
    rest: str
    """The text without them."""


def marks_in(plain: str) -> Marks:
    """The dates and the numbers of versions in a folded text."""
    dates, rest = list(dates_in(plain)), plain
    for found in reversed(dates):
        rest = f"{rest[: found.start]} {rest[found.end :]}"
    numbers = tuple(map(_number, _NUMBER.finditer(rest)))
    rest = _NUMBER.sub(lambda found: f" {found['kept'] or ''} ", rest)
    return Marks(tuple(found.iso for found in dates), numbers, rest)


def _read_folder(part: str) -> Name:
    return _shelved(_read(part), [tokens(part)])


def _read_file(part: str) -> Name:
    name = _read(part)
    if name.base[-1:] and name.base[-1] in map(stem, NEWER):
        name = name._replace(base=name.base[:-1])
    return _shelved(name, [[word for word in tokens(part) if not word.isdigit()][-1:]])


def _read(plain: str) -> Name:
    dates, numbers, rest = marks_in(plain)
    words = _words(_without_signs(rest))
    status = _sign(rest) or _status({*words[:1], *words[-1:]})
    about = [word for word in words if not status or word not in DRAFT | OUTDATED]
    return Name(tuple(map(stem, about)), dates[-1] if dates else "", numbers[-1] if numbers else (), status)


def _words(rest: str) -> list[str]:
    return [word for word in tokens(rest) if word not in IDLE and word not in STOP_WORDS]


def _shelved(name: Name, runs: Iterable[Sequence[str]]) -> Name:
    """The name, if need be with the status that some of its words tell which stand for themselves."""
    alone = [run for run in runs if run and (set(run) <= SHELVED or _status(set(run)))]
    if name.status or not alone:
        return name
    told = {stem(word) for run in alone for word in run}
    status = _status({word for run in alone for word in run}) or "outdated"
    return name._replace(status=status, base=tuple(own for own in name.base if own not in told))


def _status(words: Collection[str]) -> Status:
    if not OUTDATED.isdisjoint(words):
        return "outdated"
    return "" if DRAFT.isdisjoint(words) else "draft"


def _sign(text: str) -> Status:
    if any(sign in text for sign in OUTDATED_SIGNS):
        return "outdated"
    return "draft" if any(sign in text for sign in DRAFT_SIGNS) else ""


def _without_signs(text: str) -> str:
    for sign in (*OUTDATED_SIGNS, *DRAFT_SIGNS):
        text = text.replace(sign, " ")
    return text


def _number(found: re.Match[str]) -> tuple[int, ...]:
    parts = [int(part) for part in re.split(r"[._]", found["behind"] or found["before"] or found["ordinal"])]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
