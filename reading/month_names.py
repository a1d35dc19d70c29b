"""The names of the months in a few languages."""

from __future__ import annotations

# Written out, since a child that reads files would take as long to ask Babel for them as for all else that it imports.
_NAMES = {
    "en": """january february march april may june july august september october november december
        jan feb mar apr may jun jul aug sep oct nov dec""",
    "de": """januar februar märz april mai juni juli august september oktober november dezember
        jan feb märz apr mai juni juli aug sept okt nov dez""",
    "fr": """janvier février mars avril mai juin juillet août septembre octobre novembre décembre
        janv févr mars avr mai juin juil août sept oct nov déc""",
    "es": """enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
        ene feb mar abr may jun jul ago sept oct nov dic""",
    "it": """gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
        gen feb mar apr mag giu lug ago set ott nov dic""",
    "pt": """janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
        jan fev mar abr mai jun jul ago set out nov dez""",
    "nl": """januari februari maart april mei juni juli augustus september oktober november december
        jan feb mrt apr mei jun jul aug sep okt nov dec""",
}

LANGUAGES = tuple(_NAMES)
MONTHS = {name: place % 12 + 1 for names in _NAMES.values() for place, name in enumerate(names.split())}
"""Their numbers by their names, long and short, in small letters."""
