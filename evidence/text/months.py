"""The names of the months, told once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from .accents import without_accents

_NAMES = {
    "en": "january february march april may june july august september october november december",
    "de": "januar/jänner februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
_SHORT = {
    "en": "jan feb mar apr may jun jul aug sep/sept oct nov dec",
    "de": "jan feb märz apr mai juni juli aug sept okt nov dez",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "es": "ene feb mar abr may jun jul ago sept oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
}
AMBIGUOUS = frozenset({"ago", "out", "set"})
"""Short names that are words of English: they tell a month only behind a day."""


def month_names(full: Iterable[str], short: Iterable[str] = ()) -> Mapping[str, int]:
    """The numbers of the months by their names in some languages, in lower case, with accents and without.

    Args:
        full: ISO 639-1 codes of the languages whose whole names are wanted.
        short: Codes of those whose short names are.
    """
    lists = [*(_NAMES[code] for code in full), *(_SHORT[code] for code in short)]
    numbered = [pair for names in lists for pair in enumerate(names.split(), 1)]
    return {
        form: number
        for number, names in numbered
        for name in names.split("/")
        for form in (name, without_accents(name))
    }


@cache
def sure_month_names() -> frozenset[str]:
    """The names that tell a month wherever they stand."""
    return frozenset(all_month_names()) - AMBIGUOUS


@cache
def all_month_names() -> Mapping[str, int]:
    """The numbers of the months by all names that are known."""
    return month_names(_NAMES, _SHORT)
