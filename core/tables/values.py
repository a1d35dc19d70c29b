"""Values by the kind of their column: normalised for readers, and in their types for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

from babel.core import Locale, UnknownLocaleError
from babel.numbers import get_decimal_symbol

from ..evidence.text.numbers import Number, numbers_in
from ..evidence.text.words import dates_in, stems
from ..records.table import ColumnKind, TableColumn

EMPTY_CELL = "–"
"""What stands in a cell of which nothing was found; it has no words, so nothing is claimed."""
NOT_APPLICABLE = "n/a"
"""What stands in a cell whose column does not apply to its row."""
TypedValue = str | float | bool | date | None
"""A value in its type; None for an empty cell."""
_YES = frozenset(["yes", "true", "ja", "oui", "sí", "si", "sim", "tak", "ano", "да", "是", "はい"])
_NO = frozenset(["no", "false", "nein", "non", "não", "nie", "ne", "нет", "否", "いいえ"])
_SIGN = r"[A-Z]{0,3}[$¢-¥֏฿₠-⃀]"
"""Matches a currency sign, such as £ or US$."""
_GROUPED = re.compile(
    rf"(?P<sign>{_SIGN})?(?P<figure>-?\d{{1,3}}(?: \d{{3}})+(?:\.\d+)?|-?\d+(?:\.\d+)?)"
    r"(?: (?P<unit>[^\d;][^;]*))?"
)
"""A number as `normal_value` writes it."""
_MINUS = re.compile(r"[()−-]")
"""Matches the minus of a number, or the brackets that stand for one."""
_CENTS = re.compile(r"[.,]\d{1,2}$")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_GROUP = " "
"""Separator of thousands, which is understood in every language."""
_SMALLEST_GROUPED = 10_000
_DIVIDED = re.compile(r"\d[^\w\s]\d")
"""Digits with a sign between them, which may be a decimal sign or separate thousands."""


class Amount(NamedTuple):
    """A number with its unit of measure or currency."""

    figure: float
    unit: str
    """May be empty."""
    is_led: bool = False
    """Whether its unit is a currency sign that stands before the figure."""
    has_cents: bool = False
    """Whether the source writes it with decimals."""

    def text(self, kind: ColumnKind) -> str:
        """Return it as it is written in a column of this kind."""
        figure = grouped_number(self.figure)
        if kind == "money" and self.unit != "%" and (self.has_cents or "." in figure):
            figure = _with_cents(figure)
        if self.is_led and self.figure >= 0:
            return f"{self.unit}{figure}"
        return f"{figure} {self.unit}".rstrip()


def normal_value(text: str, unit: str, column: TableColumn, language: str = "") -> str:
    """Return a value in the form of its column's kind; as it is, in one line, if it does not have
    that form for certain.

    `unit`: its unit as the source names it; empty if the text has it. `language`: ISO 639-1 code of
    the source's language, which decides whether 1.234 is more than a thousand; empty if unknown.
    """
    plain = " ".join(text.split())
    if column.kind in ("number", "money"):
        unit = " ".join(unit.split())
        amount = _amount(plain, unit, language)
        if amount:
            return amount.text(column.kind)
        if unit and not plain.endswith(unit):
            plain += f" {unit}"
        return plain
    if column.kind == "date":
        return _date_in(plain) or plain
    if column.kind == "yes/no":
        return _yes_or_no(plain) or plain
    if column.kind == "choice":
        for choice in column.choices:
            if choice.casefold() == plain.casefold():
                return choice
    return plain


def depends_on_language(text: str, column: TableColumn) -> bool:
    """Whether the form of a value may depend on the language of its source, which takes time to
    find out."""
    return column.kind in ("number", "money") and _DIVIDED.search(text) is not None


def quoted_value(quote: str, column: TableColumn) -> str:
    """Return the value of a column in a quotation; empty if it has none, or no word of the column.

    It is the only number or date if the column has such, or the first one if all follow a word of
    the column; else what follows a label that names the column, or all of the quotation.
    """
    named = {*stems(f"{column.name} {column.meaning}")}
    ends = [word.end() for word in _WORD.finditer(quote) if not named.isdisjoint(stems(word[0]))]
    if not ends:
        return ""
    if column.kind in ("number", "money"):
        figures = [number for number in numbers_in(quote) if _is_figure(number)]
        return _certain([(number.start, _signed(number)) for number in figures], ends[0])
    if column.kind == "date":
        dates = list(dates_in(quote))
        return _certain([(day.start, quote[day.start : day.end]) for day in dates], ends[0])
    label, value = _labelled(quote)
    if value and not {*stems(label)}.isdisjoint(stems(column.name)):
        return value
    return quote


def _labelled(quote: str) -> tuple[str, str]:
    """Return the label and the value of a line or of a table row with two cells; an empty value if
    it has none."""
    cells = list(filter(str.strip, quote.split("|")))
    if quote.lstrip().startswith("|") and len(cells) == 2:
        label, value = cells
    else:
        label, _, value = quote.partition(":")
    return label, value.strip(" *")


def _signed(number: Number) -> str:
    """Return the words of a number, with a minus before them if the source has one, or brackets."""
    return f"-{_MINUS.sub('', number.words)}" if number.sign < 0 else number.words


def _is_figure(number: Number) -> bool:
    """Whether a number is written in digits and no part of a name."""
    return bool(number.digits) and not number.is_name


def _certain(values: Sequence[tuple[int, str]], end: int) -> str:
    """Return the only one of values, which have their offsets, or the first one if all stand behind
    the word of a column that ends there; empty if neither can be said."""
    is_behind = bool(values) and values[0][0] >= end
    if len(values) == 1 or is_behind:
        return values[0][1]
    return ""


def typed(text: str, column: TableColumn) -> TypedValue:
    """Return a normalised value in the type of its column's kind; as text if it does not have that
    form, None if it is empty.

    A number is without its unit.
    """
    if not text:
        return None
    if column.kind in ("number", "money"):
        amount = read_amount(text)
        if amount:
            return amount.figure
    if column.kind == "date":
        try:
            return date.fromisoformat(text)
        except ValueError:
            return text
    if column.kind == "yes/no" and text in ("yes", "no"):
        return text == "yes"
    return text


def read_amount(text: str) -> Amount | None:
    """Return the number that `normal_value` has written; None if the text is anything else."""
    read = _GROUPED.fullmatch(text.strip())
    if not read:
        return None
    figure = float(read["figure"].replace(_GROUP, ""))
    written = grouped_number(figure)
    if read["figure"] not in (written, _with_cents(written)) or (read["sign"] and read["unit"]):
        # Somebody else has written it: 1.609 may be more than a thousand.
        return None
    return Amount(figure, read["sign"] or read["unit"] or "", bool(read["sign"]))


def _with_cents(figure: str) -> str:
    """Return a figure with two decimals at least."""
    whole, _, decimals = figure.partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"


def grouped_number(figure: float) -> str:
    """Return a number with a decimal point, and with its thousands grouped if it is long."""
    plain = f"{figure:.15g}"
    if "e" in plain:
        plain = f"{figure:f}".rstrip("0").rstrip(".")
    if abs(figure) < _SMALLEST_GROUPED:
        return plain
    whole, point, decimals = plain.partition(".")
    return f"{int(whole):,}".replace(",", _GROUP) + point + decimals


def _date_in(text: str) -> str:
    """Return the only date of a text as ISO 8601; empty if there is none, or if the text says more
    of it."""
    days = [written.iso for written in dates_in(text)]
    if len(days) != 1 or len(_DIGIT.findall(text)) > len(_DIGIT.findall(days[0])):
        return ""
    return days[0]


@cache
def decimal_sign(language: str) -> str:
    """Return the decimal sign of a language, by its code; empty if that is unknown."""
    if not language:
        return ""
    try:
        return get_decimal_symbol(language)
    except (UnknownLocaleError, ValueError):
        return ""


@cache
def _sign_leads(language: str) -> bool:
    """Whether a currency sign stands before the figure in a language, by its code; as in English,
    if that is unknown."""
    try:
        formats = Locale.parse(language or "en").currency_formats
        pattern: str = formats["standard"].pattern
    except (UnknownLocaleError, ValueError):
        return True
    return pattern.startswith("¤")


def _amount(text: str, unit: str, language: str) -> Amount | None:
    """Return the number that a text consists of, with its unit; None if it says more or less.

    The unit is the given one or, without one, what stands around the figures in the text.
    """
    decimal = decimal_sign(language)
    numbers = numbers_in(text, decimal)
    if len(numbers) != 1:
        return None
    number = numbers[0]
    before = text[: number.start].strip(" -−+(")
    after = text[number.end :].strip(" ).")
    is_ambiguous = not decimal and len({*number.readings}) > 1
    # Words around it may change what it says: about, up to.
    if before or after not in ("", unit) or not number.digits or is_ambiguous:
        return None
    figure = number.value
    if number.sign < 0:
        figure = -figure
    has_sign = number.words != number.digits
    is_led = has_sign and not number.words.startswith(number.digits)
    has_cents = not number.has_scale and _CENTS.search(number.digits) is not None
    if not unit:
        unit = _unit_in(number.words, number.digits)
        return Amount(figure, unit, is_led and _is_sign(unit), has_cents)
    scaled = numbers_in(f"{number.digits} {unit}", decimal)
    if scaled and scaled[0].has_scale and not number.has_scale:
        # The unit has the scale: million euros.
        figure *= scaled[0].scale
        unit = _unit_in(scaled[0].words, scaled[0].digits)
        has_cents = False
    if not has_sign and not after:
        is_led = _sign_leads(language)
    return Amount(figure, unit, is_led and _is_sign(unit), has_cents)


def _is_sign(unit: str) -> bool:
    """Whether a unit is a currency sign."""
    return re.fullmatch(_SIGN, unit) is not None


def _unit_in(words: str, digits: str) -> str:
    """Return what a number has besides its digits and a scale: its unit as written."""
    rest = words.replace(digits, " ", 1)
    kept = list[str]()
    for word in rest.split():
        if not numbers_in(f"2 {word}")[0].has_scale:
            kept.append(word)
    return " ".join(kept)


def _yes_or_no(text: str) -> str:
    """Return `yes` or `no` for such a word in some language; empty for any other text."""
    word = text.casefold().strip(" .!")
    if word in _YES:
        return "yes"
    if word in _NO:
        return "no"
    return ""
