"""Words of which a single one turns a statement round, or makes it a doubtful one to compare with another."""

from __future__ import annotations

from .vocabulary import FAMILIES
from .words import stem, tokens


def _set(words: str) -> frozenset[str]:
    return frozenset(tokens(words))


_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBERS.split(), 1)}
"""Small numbers in words."""

NEGATIONS = _set(
    "not never no without nor neither none nicht kein keine keinen keinem keiner nie niemals ohne pas jamais "
    "aucun aucune sans nunca ningun ninguna"
)
"""Words that negate."""

QUESTION_WORDS = _set("who whom whose when where why how wer wann wo warum wie qui quand pourquoi comment quien cuando")
"""Words that say what is asked for."""

UNSURE = _set(
    "might could would should perhaps possibly probably likely allegedly supposedly reportedly legend myth rumour "
    "rumor proposed plan plans planned intended expected projected forecast target goal if unless whether some "
    "many most few often sometimes usually mostly partly generally rarely typically seasonally respectively seem "
    "seems seemed appear appears appeared suggest suggests suggested believed thought vary varies varied "
    "different vielleicht wohl konnte sollte manche viele einige oft meist teilweise peut pourrait certains "
    "souvent quizas"
)
"""Words of statements that are not meant as certain, or not of all."""

THIRD_PERSONS = _set(
    "he she it they his her its their him them this these those er sie es sein seine seinem seinen seiner ihr ihre "
    "ihrem ihren ihrer dieser diese dieses diesem diesen dies il elle ils elles son sa ses leur leurs celui celle ceci "
    "cela ce cette cet ces ella ellos ellas su sus este esta estos estas ese esa eso esos esas egli lui lei loro esso "
    "essa essi suo sua suoi sue ele ela eles elas seu seus hij zij ze zijn haar hun hon han hun det он она оно они его "
    "ее их"
)
"""Words for somebody or something that was named before."""

PRONOUNS = THIRD_PERSONS | _set("several various that we i you our my one both all such here el")
"""Words that at the head of a sentence point to something outside it."""

INDEFINITE = _set("a an another new again also ein eine einen einem einer un une una uno")
"""Words that let a statement hold of more than one thing, or more than once."""

ANAPHORS = _set("it its he him his she her hers they them their theirs this these that those such")
"""Words that anywhere in a sentence without a name point to something outside it."""

PAST = _set("was were had did war waren hatte etait avait era")
PRESENT = _set("is are has have does ist sind hat est sont es son")

_MEASURES = """
metre m metres meter meters
kilometre km kilometres kilometer kilometers
centimetre cm centimetres centimeter centimeters
millimetre mm millimetres millimeter millimeters
mile mi miles
foot feet ft
inch inches
yard yards
kilogram kg kilograms kilo kilos
tonne tonnes
ton tons
litre litres liter liters
hectare hectares ha
acre acres
percent prozent
dollar dollars usd
euro euros eur
people person persons inhabitant inhabitants resident residents einwohner habitants
year years yr yrs jahr jahre ans
month months
week weeks
day days
hour hours
minute minutes
degree degrees
"""
UNITS = {unit: line.split()[0] for line in _MEASURES.strip().splitlines() for unit in line.split()}
"""Units as they are written, each with the one that stands for it."""
SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound", "°": "degree"}
"""Signs of units."""

_SAME = """
open opened inaugurate inaugurated
complete completed finish finished
"""
SAME = FAMILIES | {stem(word): line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}
"""Stems of words that say the same of a thing, families included, each with the one that stands for them."""

FILLERS = _set(
    "stands stand standing measures measure reaches reach rises rise total altogether overall exactly precisely "
    "today now currently well known famous said according recorded located situated officially actually"
)
"""Words that can be left out."""

VAGUE = _set(
    "about around approximately roughly over above under below nearly almost than least most exceeding estimated "
    "circa ca c approx some close up fast etwa rund uber knapp mindestens hochstens environ pres plus moins unos "
    "casi or oder"
)
"""Words before a number that make it a rough one."""
ROUGH_DATES = VAGUE | _set("before after by early late mid vor nach avant apres antes")
"""Words before a date that make it a rough one."""

DATING = _set(
    "in since until till from during on of year circa im seit bis am wurde jahr en depuis ano annee desde hasta"
)
"""Words before a year that make it a date and not a name."""
SINCE = {
    **dict.fromkeys(_set("since from seit depuis desde"), "since"),
    **dict.fromkeys(_set("until till bis hasta"), "until"),
}
"""Words before a date that make it the begin or the end of something that lasts."""

RELATIONS = _set("by to from for after before within every per at in on pro par um")
"""Words before a number that say what it does."""

LABELLED = _set(
    "no number numbers route chapter page pages figure section article version volume part phase type model grade "
    "level room platform line highway block class stage act episode season group nr kapitel seite"
)
"""Words behind which a number is a name."""

EVENTS = frozenset(
    SAME.get(stem(word), stem(word))
    for word in _set(
        "began begun started killed built constructed erected completed opened inaugurated founded established "
        "born died created demolished destroyed burned burnt wrecked sank sunk launched discovered invented "
        "patented published released premiered debuted lit automated electrified decommissioned commissioned "
        "abolished dissolved disbanded ratified assassinated crowned abdicated closed introduced incorporated "
        "annexed gebaut erbaut errichtet gegrundet geboren gestorben eroffnet vollendet abgerissen entdeckt "
        "erfunden veroffentlicht construit construite fonde fondee nee mort morte inaugure inauguree construido "
        "construida fundado fundada nacio murio inaugurado"
    )
)
"""What as a rule happens to a thing once."""
LIFE = _set("birth death geboren gestorben nacio murio")
"""What happens to nobody twice."""

CHANGING = frozenset(
    stem(word)
    for word in _set(
        "population people inhabitants residents employees employed staff members visitors users customers "
        "students revenue sales profit turnover price cost costs budget income gdp rate temperature share debt "
        "fleet"
    )
)
"""What has another number every year."""

RESTRICTING = _set(
    "first second third fourth fifth last next new old former original current later early late final base top "
    "bottom north south east west northern southern eastern western upper lower inner outer left right front back "
    "half part partial wing floor deck storey average mean median minimum maximum least women woman men man male "
    "female adult young elderly urban rural annual monthly daily weekly yearly other another additional extra "
    "further replica twin main secondary primary net gross record peak only each per every combined single double "
    "day night summer winter spring autumn weekend sunday monday tuesday wednesday thursday friday saturday local "
    "national international global private public domestic foreign initial initially temporary version edition "
    "model season episode phase stage again until when while during except outside inside within above below "
    "before after"
)
"""Words that narrow down what a statement is about; with one of them it is another statement."""
RESTRICTING_STEMS = frozenset(map(stem, RESTRICTING))
"""Their stems."""
