"""Numbers and months as they are written in words."""

from __future__ import annotations

from ..text.months import month_names

_SMALL = """
2 two zwei deux dos
3 three drei trois tres
4 four vier quatre cuatro
5 five funf cinq cinco
6 six sechs seis
7 seven sieben sept siete
8 eight acht huit ocho
9 nine neun neuf nueve
10 ten zehn dix diez
11 eleven elf onze
12 twelve zwolf douze doce dozen dutzend
13 thirteen dreizehn treize trece
14 fourteen vierzehn
15 fifteen funfzehn quinze quince
16 sixteen sechzehn
17 seventeen siebzehn
18 eighteen achtzehn
19 nineteen neunzehn
20 twenty zwanzig vingt veinte
30 thirty dreissig treinta
40 forty vierzig
50 fifty funfzig
60 sixty sechzig
70 seventy siebzig
80 eighty achtzig
90 ninety neunzig
"""
SMALL = {word: int(line.split()[0]) for line in _SMALL.strip().splitlines() for word in line.split()[1:]}
"""Small numbers in words; some words mean something else as well and count only in lower case."""
_POWERS = """
2 hundred hundreds hundert cent cien
3 thousand thousands tausend mille mil k
4 万 萬
6 million millions millionen millon millones m mio mn
8 亿 億
9 billion billions milliarde milliarden milliard milliards mrd bn b
12 trillion trillions tn
"""
POWERS = {word: int(line.split()[0]) for line in _POWERS.strip().splitlines() for word in line.split()[1:]}
"""Words behind a number that multiply it, each with its power of ten."""

MONTHS = month_names(("en", "de", "fr", "es"), ("en", "de"))
"""Names of months that a claim may write: short ones of other languages are words of these, as the Spanish "ago"."""

_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
ORDINALS = {word: number for number, word in enumerate(_ORDINALS.split(), 3)}
"""Places in an order, in words; the second one is also a measure of time, and the first one often none."""
ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
"""What makes a place in an order of a number."""
