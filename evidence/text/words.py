"""The words and names of a text, and the word tables that reading rests on."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from heapq import nlargest
from importlib import resources


def without_accents(text: str) -> str:
    """The text with all letters as if they bore no marks, and variants of a letter as the usual one."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


@cache
def word_tables(package: str) -> Mapping[str, str]:
    """Return the tables of a package's `words.toml`, by name: words, a line a group where they go together."""
    tables: dict[str, str] = tomllib.loads(resources.files(package).joinpath("words.toml").read_text("utf-8"))
    return tables


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


UNSPACED = (
    "\u0e00-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109d\u1780-\u17d3\u17d7\u17dc-\u17ff"
    "\u1950-\u19dd\u1a20-\u1a9f\u1aa7\ua9e0-\ua9ff\uaa60-\uaa76\uaa7a-\uaadd"
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
"""The letters, marks and digits of scripts that put no spaces between words, which are read as pairs of neighbours.

Thai, Lao, Burmese, Khmer, Tai, Japanese, Chinese and, as its words are long, Korean.
"""
TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
ASCII_TOKEN = re.compile(r"[a-z0-9]+")
QUOTED = re.compile(r'["“„«《「]([^"“”„«»《》「」]{2,80})["”»》」]')
UNTELLING = STOP_WORDS | GENERIC_WORDS
POSSESSIVE = re.compile(r"['’]s\b")


def tokens(text: str) -> list[str]:
    """The words in order, without case, accents and possessive endings; runs without spaces as pairs of characters."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").lower().replace("'s ", " ")
    if plain.isascii():
        return ASCII_TOKEN.findall(plain)
    return [piece for run in TOKEN.findall(plain) for piece in ([run] if run.isascii() else _pieces(run))]


@lru_cache(maxsize=20_000)
def run_of(name: str) -> str:
    """The words of a name with spaces between them; names come up again and again."""
    return " ".join(tokens(name))


def plain_run(text: str) -> str:
    """The words of a text as they are, between spaces, so that a run of them can be looked for."""
    return f" {' '.join(tokens(text))} "


def stem_run(text: str) -> str:
    """The words of a text in their stems, between spaces."""
    return f" {' '.join(map(stem, tokens(text)))} "


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The word without its commonest English endings; words of one family share one stem."""
    if word in FAMILIES:
        return FAMILIES[word]
    short = _without_ending(word)
    return FAMILIES.get(short, _without_e(short))


def root(word: str) -> str:
    """The word without its commonest English endings, apart from all others of its family."""
    return _without_e(_without_ending(word))


def stems(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


def names(text: str) -> list[str]:
    """Phrases in quotation marks and runs of capitalised words, in order, each once."""
    quoted = [match.group(1).strip(" ,.?!") for match in QUOTED.finditer(text)]
    matches = _name().finditer(POSSESSIVE.sub(" ; ", QUOTED.sub(" ; ", text)))
    runs = dict.fromkeys(_trimmed(match.group()) for match in matches)
    telling = [name for name in runs if not UNTELLING.issuperset(run_of(name).split())]
    found = [*(name for name in quoted if stems(name)), *telling]
    return list(dict.fromkeys(name for name in found if len(name) > 1))


@cache
def _name() -> re.Pattern[str]:
    """A run of capitalised words; which letters are small ones Unicode knows, and Python's patterns do not."""
    small = "".join(letter for letter in map(chr, range(0x10000)) if letter.islower())
    word = rf"(?:[A-Z]\.(?=[\s,;])|[^\W\d_{small}][\w’'\-.]*\w|[A-Z])"
    joint = "(?:of|the|de|del|la|von|van|der|den|ibn|bin|al|du|da|di|y|in|at) "
    return re.compile(rf"(?:\b\d{{4}} )?{word}(?: (?:{joint}){{0,2}}(?:{word}|\d+\b))*")


def _trimmed(run: str) -> str:
    parts = run.split()
    while parts and (parts[0].lower() in STOP_WORDS or not (parts[0][0].isupper() or parts[0].isdigit())):
        parts.pop(0)
    while parts and parts[-1].lower() in STOP_WORDS:
        parts.pop()
    return " ".join(parts)


def _pieces(run: str) -> list[str]:
    if not re.match(rf"[{UNSPACED}]", run):
        return [without_accents(run)]
    return [run[start : start + 2] for start in range(max(1, len(run) - 1))]


def _without_ending(word: str) -> str:
    for ending, rest, replacement in (("ies", 2, "y"), ("sses", 2, "ss"), ("ing", 4, ""), ("ed", 4, ""), ("s", 3, "")):
        if word.endswith(ending) and len(word) >= len(ending) + rest and not word.endswith(("ss", "us", "is")):
            return word.removesuffix(ending) + replacement
    return word


def _without_e(word: str) -> str:
    return word.removesuffix("e") if len(word) > 4 else word
