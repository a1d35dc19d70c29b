"""Units of measure and money as they are written."""

from __future__ import annotations

from ..text.cues import SIGNS, UNITS
from .spelling import Piece


def _listed(lines: str) -> dict[str, str]:
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()}


_MORE_UNITS = """
percent pct
metre metro metros metern
kilometre kilometro kilometros kilometern kmh kph
decimetre decimetres decimeter decimeters
micrometre micrometres micrometer micrometers microns
nanometre nanometres nanometer nanometers
mile mph meilen
furlong furlongs
fathom fathoms
league leagues
litre l liter litern litros
millilitre millilitres milliliter milliliters ml
centilitre centilitres centiliter centiliters cl
hectolitre hectolitres hectoliter hectoliters
gallon gallons gallonen galones
pint pints
quart quarts
bushel bushels
barrel barrels
gram grams g gramm grammes gramme
milligram milligrams mg
microgram micrograms µg μg ug
ounce ounces oz unzen
quintal quintals
hundredweight cwt
megawatt mw megawatts
gigawatt gw gigawatts
kilowatt kw kilowatts
watt watts
kwh kilowatthour kilowatthours kilowattstunde kilowattstunden
mwh megawatthour megawatthours megawattstunde megawattstunden
gwh gigawatthour gigawatthours gigawattstunde gigawattstunden
volt volts
kilovolt kilovolts kv
ampere amperes amps
hertz hz
kilohertz khz
megahertz mhz
gigahertz ghz
joule joules
calorie calories
byte bytes
kilobyte kilobytes kb
megabyte megabytes mb
gigabyte gigabytes gb
terabyte terabytes tb
celsius
year ano anos annee annees jahren
month monat monate monaten mois mes meses
week woche wochen
day tag tage tagen jour jours dia dias
hour stunde stunden heures horas hr hrs
minute minuten min
second seconds sec sekunden
millisecond milliseconds millisekunden
microsecond microseconds mikrosekunden
nanosecond nanoseconds nanosekunden
decade decades
century centuries
knot knots
"""
_MONEY = """
dollar dollars usd
cent cents
euro euros eur
pound pounds lb lbs gbp pfund
pence penny pennies
shilling shillings schilling
yen jpy
rupee rupees inr
yuan renminbi cny
franc francs franken chf
marks reichsmark reichsmarks deutschmarks
crowns kroner kronor kronen korun nok dkk czk
zloty zlotys pln
rouble roubles ruble rubles rubel
lira liras lire
peso pesos
peseta pesetas
escudo escudos
drachma drachmas
dinar dinars
dirham dirhams
shekel shekels
rupiah
ringgit
baht
forint forints
hryvnia hryvnias
guilder guilders gulden florins
ducat ducats dukaten
thaler thalers taler
"""
MONEY = _listed(_MONEY)
"""Currencies as they are written, each with the word that stands for it; crowns are those of all countries."""
_PLAIN = UNITS | _listed(_MORE_UNITS) | MONEY | {"fahrenheit": "fahrenheit"}

_DIMENSIONS = _listed("""
square sq squared carre carres cuadrado cuadrados
cubic cu cubed cube cubes cubico cubicos
nautical marins nautiques nauticas
""")
_LENGTHS = {"metre", "kilometre", "centimetre", "millimetre", "decimetre", "mile", "foot", "inch", "yard"}


def _with_dimensions() -> dict[str, str]:
    """Areas and volumes in one word: km2, Quadratmeter, Kubikmeter."""
    lengths = {word: unit for word, unit in _PLAIN.items() if unit in _LENGTHS}
    areas = {form: f"square {unit}" for word, unit in lengths.items() for form in (f"{word}2", f"quadrat{word}")}
    volumes = {form: f"cubic {unit}" for word, unit in lengths.items() for form in (f"{word}3", f"kubik{word}")}
    return areas | volumes


MEASURES = _PLAIN | _with_dimensions()
"""Units as they are written, each with the one that stands for it."""
UNIT_SIGNS = SIGNS | {"¥": "yen", "‰": "per mille"}
"""Signs of units."""


def unit_of(piece: Piece, following: Piece) -> str:
    """What is measured by a number before these two pieces; empty if it is no known unit."""
    if unit := UNIT_SIGNS.get(piece.raw) or MEASURES.get(piece.word):
        dimension = _DIMENSIONS.get(following.word)
        return f"{dimension} {unit}" if dimension else unit
    if (dimension := _DIMENSIONS.get(piece.word)) and following.word in MEASURES:
        return f"{dimension} {MEASURES[following.word]}"
    # Money goes by the name of its country: 300 Swedish kronor.
    return MONEY.get(following.word, "") if piece.raw[:1].isupper() else ""
