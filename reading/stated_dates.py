"""The date that a file states where its format has no place for one: in its name, or in a line near its top."""

from __future__ import annotations

import re
from pathlib import PurePath

from ..evidence.dates import WrittenDate, date_at, dates_in

TOP_CHARACTERS = 2000
TOP_LINES = 40

# Words behind which four digits count something else than years.
_NUMBERED = re.compile(
    r"(?:^|[\W_\d])(?:v|ver|version|rev|release|iso|en|din|iec|ieee|rfc|astm|ansi|no|nr|nº|id|number|nummer|part|teil|form|"
    r"chapter|kapitel|room|model|type|typ|order|invoice|ticket|case|issue|item|ref|art|sku|file|doc|page|windows|office)"
    r"[\W_]*$",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?:^|[\W\d])v(?:er(?:sion)?)?[\W_]*$", re.IGNORECASE)
_NEIGHBOUR = re.compile(r"\d[-/.,–]$|\.$")
_LABEL = re.compile(
    r"(?:(?:publication|release|revision|effective|issue|creation|last)\s+)?"
    r"(?:date(?:\s+(?:of|de|du)\s+\w+)?|dated|(?:last\s+)?(?:updated|modified|revised|changed|edited|reviewed)|update|revision"
    r"|published|issued|posted|created|released|effective|as\s+of|version\s+of|written|sent"
    r"|stand|datum|veröffentlicht|erschienen|(?:zuletzt\s+)?(?:aktualisiert|geändert|bearbeitet)|erstellt|ausgabe"
    r"|letzte\s+(?:änderung|aktualisierung)"
    r"|publié|paru|mise?\s+à\s+jour|dernière\s+(?:mise\s+à\s+jour|modification)|modifié|créé|en\s+date|version\s+du"
    r"|fecha(?:\s+de\s+\w+)?|publicado|actualizado|última\s+(?:actualización|modificación)|modificado|creado)(?![^\W_])"
    r"(?P<sign>\s*[:：|])?\s*"
    r"(?:(?:on|at|from|of|am|vom|den|le|du|el|de)\s+)?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`>|]+")
_WEEKDAY = re.compile(r"[^\W\d]{2,12}\.?,?\s+")
_PLACE = re.compile(r"(?:[^\W\d][\w .'-]{1,40},\s*)?(?:(?:den|le|a|el|on)\s+)?", re.IGNORECASE)
_TIME = r"(?:\s*(?:,|T|at|um|à|a las)?\s*\d{1,2}[:.h]\d\d[\d:.]*\s*(?:uhr|h|[ap]\.?m\.?|z|[a-z]{3,4}|[+-]\d\d:?\d\d)?)?"
_END = re.compile(rf"{_TIME}\s*(?:$|[|,;.·()•–—-](?!\d)|(?:by|von|par|por|in|to)\b)", re.IGNORECASE)
_END_OF_LINE = re.compile(rf"{_TIME}\s*[.)]?$", re.IGNORECASE)
_DAY_FIRST = re.compile(r"stand|datum|fecha|publi[éc]|mis|modifi[éc]|actualizado|aktualisiert|geändert", re.IGNORECASE)


def date_in_name(name: str) -> str:
    """The date in a file's name; empty if there is none, or if there are several that differ."""
    words = PurePath(name).stem.replace("_", "-")
    found = [one for one in dates_in(words) if _is_date(words, one)]
    longest = max((len(one.iso) for one in found), default=0)
    stated = {_unless_range(words, one) for one in found if len(one.iso) == longest}
    return stated.pop() if len(stated) == 1 else ""


def date_near_top(text: str) -> str:
    """The date of the first line near the top that is there to tell it; empty if there is none."""
    for line in text[:TOP_CHARACTERS].splitlines()[:TOP_LINES]:
        plain = " ".join(_MARKS.sub(" ", line).split()).lstrip("- ").removeprefix(":")
        if plain and (iso := _labelled(plain.lstrip("# ")) or _alone(plain)):
            return iso
    return ""


def _is_date(words: str, found: WrittenDate) -> bool:
    """Whether it is no version and, where it is four digits only, no number of something."""
    before, written, after = words[: found.start], words[found.start : found.end], words[found.end :]
    if "." in written[4:5]:
        return len(written) == len("2024.05.01") and not _VERSION.search(before)
    if re.fullmatch(r"\d{1,2}\.\d{4}", written):
        return False
    if len(found.iso) > len("2024"):
        return True
    is_word = not before[-1:].isalnum() and not after[:1].isalnum() and not _NEIGHBOUR.search(before)
    return is_word and not (written.isdigit() and _NUMBERED.search(before))


def _unless_range(words: str, found: WrittenDate) -> str:
    """2010-11 may be a month, and may be two years: only the first is sure."""
    written = words[found.start : found.end]
    is_range = re.fullmatch(r"\d{4}[-/]\d\d", written) and int(written[2:4]) + 1 == int(written[5:])
    return found.iso[:4] if is_range else found.iso


def _labelled(line: str) -> str:
    label = _LABEL.match(line)
    if not label:
        return ""
    is_day_first = bool(_DAY_FIRST.match(line))
    found = date_at(line, label.end(), is_day_first) or _after_weekday(line, label.end(), is_day_first)
    return found.iso if found and (label["sign"] or _END.match(line, found.end)) else ""


def _after_weekday(line: str, place: int, is_day_first: bool = False) -> WrittenDate | None:
    day = _WEEKDAY.match(line, place)
    return date_at(line, day.end(), is_day_first) if day else None


def _alone(line: str) -> str:
    """The date of a line that is nothing else, but for a place before it; a heading only dates what follows it."""
    place = _PLACE.match(line)
    start = place.end() if place else 0
    found = date_at(line, 0) or date_at(line, start) or _after_weekday(line, start)
    is_whole = found and len(found.iso) > len("2024") and _END_OF_LINE.match(line, found.end)
    return found.iso if found and is_whole else ""
