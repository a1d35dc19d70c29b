"""Shows values of sheets by their number formats: units, leading zeros, scales, durations, dates.

Digits that a format rounds away are kept.
"""

from __future__ import annotations

import operator
import re
from datetime import datetime, time, timedelta

from ._tables import shown_number

_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])+|(?<=;)(?=;|$)|^(?=;)')
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<unseen>[_*].)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<body>[0#?.,]+|General|@|E[+-])|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)\]")
_COMPARED = {
    "<=": operator.le, ">=": operator.ge, "<>": operator.ne, "<": operator.lt, ">": operator.gt,
    "=": operator.eq,
}  # fmt: skip
_NOT_DATE = re.compile(r'"[^"]*"|\\.|_.|\[[^\]]*\]')
_PLACEHOLDERS = re.compile(r"\[[^\]]*\]|_.|\*.|[0#?.,;]|General")
_SCALE = re.compile(r",+$")


def shown_value(value: float, number_format: str) -> str:
    """Return a number with the unit, sign and leading zeros of its format, without rounding it.

    Empty if the format hides it.
    """
    if number_format in ("", "General", "0"):
        return shown_number(value)
    section, is_signed = _section_for(value, number_format)
    before = ""
    body = ""
    behind = ""
    for token in _TOKEN.finditer(section):
        literal = token["quoted"] or token["escaped"] or token["literal"] or ""
        if token["bracket"] is not None and token["bracket"].startswith("$"):
            literal = token["bracket"][1:].rpartition("-")[0] or token["bracket"][1:]
        if token["body"]:
            # Words between placeholders belong to the number, as in 000-00.
            body += behind + token["body"]
            behind = ""
        elif body:
            behind += literal
        else:
            before += literal
    if not body:
        return " ".join((before or shown_number(value)).split()) if section else ""
    if value < 0 and before.rstrip().endswith("(") and behind.lstrip().startswith(")"):
        # Accounts put losses in brackets.
        before = f"-{before.rstrip()[:-1]}"
        behind = behind.lstrip()[1:]
    elif value < 0 and before.startswith("(") and behind.endswith(")"):
        before = f"-{before[1:]}"
        behind = behind[:-1]
    elif value < 0 and not is_signed:
        before = f"-{before}"
    return " ".join(f"{before}{_digits(abs(value), body, behind)}{behind}".split())


def _section_for(value: float, number_format: str) -> tuple[str, bool]:
    """Return the part of a format that applies to a value, and whether it writes the sign of a
    negative value itself, by a minus or a word of its own."""
    sections = _SECTION.findall(number_format) or ["General"]
    for section in sections:
        condition = _CONDITION.search(section)
        if condition and _COMPARED[condition[1]](value, float(condition[2])):
            return section, False
    if any(map(_CONDITION.search, sections)):
        return ("General" if _CONDITION.search(sections[-1]) else sections[-1]), False
    if value >= 0 or len(sections) == 1:
        return sections[0], False
    literals = [_PLACEHOLDERS.sub("", section) for section in sections[:2]]
    is_signed = literals[0] != literals[1] and re.search(r"[-−\w]", literals[1]) is not None
    return sections[1], is_signed


def _digits(value: float, body: str, behind: str) -> str:
    """Return the digits of a value by the placeholders for them."""
    percent = behind.count("%")
    whole, point, _ = body.partition(".")
    scale = _SCALE.search(whole)
    if scale is None and point:
        scale = _SCALE.search(body)
    if scale:
        value /= 1000.0 ** len(scale[0])
    if percent:
        value *= 100.0**percent
    number = shown_number(value)
    placeholders = whole.rstrip(",")
    zeros = placeholders.count("0")
    is_mask = zeros > 1 and not re.search(r"[#?,]|General|E", placeholders)
    if is_mask and not point and float(value).is_integer():
        return _filled(placeholders, int(value))
    if is_mask and re.fullmatch("0+", placeholders):
        digits, _, _ = number.partition(".")
        number = "0" * (zeros - len(digits)) + number
    return number


def _filled(mask: str, value: int) -> str:
    """Write the digits of a whole number in place of the zeros of a mask, from the right."""
    digits = list(str(value).zfill(mask.count("0")))
    written = list[str]()
    for position in reversed(range(len(mask))):
        if mask[position] == "0":
            written.append(digits.pop())
        else:
            written.append(mask[position])
    return f"{''.join(digits)}{''.join(reversed(written))}"


def shown_duration(duration: timedelta) -> str:
    """Return a duration in hours, minutes and, if there are any, seconds."""
    seconds = round(duration.total_seconds())
    minutes, seconds = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}:{minutes:02}"
    if seconds:
        shown += f":{seconds:02}"
    return f"-{shown}" if duration < timedelta(0) else shown


def shown_time(value: datetime, number_format: str) -> str:
    """Return a date or time in ISO 8601, as far as its format shows it."""
    letters = _NOT_DATE.sub("", number_format).lower()
    has_day = "d" in letters
    has_year = "y" in letters
    if "h" in letters and not has_day and not has_year:
        return value.time().isoformat("minutes")
    if has_year and not has_day and "h" not in letters:
        return f"{value:%Y-%m}" if "m" in letters else f"{value:%Y}"
    if value.time() == time():
        return value.date().isoformat()
    return value.isoformat(" ", "minutes")
