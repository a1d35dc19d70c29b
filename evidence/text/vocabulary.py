"""Words that matter to reading whatever the subject: function words, word families, abbreviations."""

from __future__ import annotations

from functools import cache
from heapq import nlargest

from .accents import without_accents
from .months import month_names

EVERYDAY = 6000
"""The commonest words of a language that name nothing in particular: behind them come ever more names."""

_FUNCTION_WORDS = {
    "en": """
a about after all also am an and any are as at be because been before being between both but by can could did do
does doing done during each for from had has have having he her hers him his how i if in into is it its itself just
let me more most my no nor not of off on once only or other our out over own per please same shall she should so some
such than that the their them then there these they this those through to too under until up us very was we were
what when where whether which while who whom whose why will with within without would you your s t
""",
    "de": """
aber als auch auf aus bei bin bis das dem den der des dass doch du ein eine einem einen einer eines es fur hatte ich
ihr ihre im ist kann mein mit nach nicht noch oder sein seine sich sie sind uber um und uns unter vom von vor
waren warum welche welcher welches wer wie wird wo wurde wurden zu zum zur zwischen
""",
    "fr": """
au aux avec ce ces cette comme dans de du elle en est et etait il ils je la le les leur leurs lui mais ne nous ou
par pas plus pour pourquoi qu que quel quelle quels quelles qui quoi sa se ses si sont sur un une vous
""",
    "es": """
al como con cual cuales cuando del donde el ella ellos entre eran era esta este fue fueron los las lo mas muy
para pero por porque quien sin sobre sus una unos y
""",
}
FUNCTION_WORDS = {code: frozenset(words.split()) for code, words in _FUNCTION_WORDS.items()}
"""Function words of some languages, without accents, that are no content words of another of these."""
STOP_WORDS = frozenset().union(*FUNCTION_WORDS.values())
"""All of them."""

_GENERIC_WORDS = """
analyse analyze answer anything ask asking best better check compare comparison d deep describe detail details
difference differences discuss doesn don everything example examples explain facts find get give go good great hello
help hey hi info information investigate isn issue know learn like list ll look m make matter need nothing ok okay one
ones opinion overview problem question questions re report research review say search show something stuff subject
summarise summarize summary tell thank thanks thing things think topic two use ve want way ways well work write yes
beschreibe erklare finde liste nenne suche vergleich vergleiche zahle zeige
citer comparer cherche decris enumere explique liste trouve
busca compara compare describe encuentra enumera explica lista muestra
"""
GENERIC_WORDS = frozenset(_GENERIC_WORDS.split())
"""Words with which something is asked for, but that name nothing."""

_FAMILIES = """
birth born birthday birthplace bear births
birth geboren geburt geburtstag geburtsort nee naissance nacio nacido nacimiento
death die died dies dead dying
death gestorben starb tod todestag mort morte deces fallecio murio muerte
write wrote written writes writer writers writing author authors authored
direct directed director directors directs directing
compose composed composer composers
perform performed performer performers performs singer singers sang sung sings
produce produced producer producers produces production
create created creator creators creates creating
found founded founder founders founding established
film films movie movies
marry married wife husband spouse marriage
kin father mother parent parents son sons daughter daughters child children brother brothers sister sisters sibling
kin siblings grandfather grandmother grandson granddaughter uncle aunt niece nephew paternal maternal
citizen citizenship nationality
begin began begun begins start started starts
make made makes making maker
win won wins winner winners winning
lead led leads leader leaders leading
know known knew
keep kept keeps keeping keeper keepers
build builds built builder builders construct constructs constructed construction erect erected
high higher highest height heights tall taller tallest
long longer longest length lengths
wide wider widest width widths broad broader breadth
deep deeper deepest depth depths
heavy heavier heaviest weigh weighs weighed weight weights
owner owners owns owned owning ownership
employ employs employed employee employees employer employers employing employment staff worker workers
"""
FAMILIES = {member: line.split()[0] for line in _FAMILIES.strip().splitlines() for member in line.split()}
"""Words that endings alone do not bring together, each with the one that stands for its family."""

_ABBREVIATIONS = """
abb bd geb gest ggf hrsg inkl jh mill mio mme mrd sog std tsd zzgl
adm al approx art bros ca capt cf ch co col corp dept dr ed eds etc ex fig ft gen gov hon inc jr lt ltd maj mr mrs ms
mt mts no nos op p pp pres prof rep rev sen sgt sr st ste vol vs bzw evtl hl nr str usw vgl jan feb mar apr jun jul
aug sep sept oct nov dec
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Words whose full stop does not end a sentence."""

CLOSING_ABBREVIATIONS = frozenset({"bros", "co", "corp", "etc", "inc", "jr", "ltd", "sr", "usw"})
"""Abbreviations that often do stand at the end of one."""

MONTHS = frozenset(month_names(["en"]))
"""The months in English."""


@cache
def everyday_words(language: str) -> frozenset[str]:
    """The commonest words of a language, without accents; none of one whose words are not counted.

    It takes up to a second where they were not asked for before.
    """
    # Reading its lists takes a moment, which no import should.
    from spellchecker import SpellChecker

    try:
        counts = SpellChecker(language=language).word_frequency.dictionary if language else {}
    except ValueError:
        return frozenset()
    return frozenset(map(without_accents, nlargest(EVERYDAY, counts, key=counts.__getitem__)))
