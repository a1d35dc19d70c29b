"""Words that turn a statement round if one stands where the other stood."""

from __future__ import annotations

from itertools import combinations

from ..text.cues import NEGATIONS as _COUNTED
from ..text.words import tokens
from .spelling import key_of, plain

_DENYING = """
lack lacks lacked lacking
avoid avoids avoided avoiding
fail fails failed failing
refuse refuses refused refusing
deny denies denied denying
unable
"""
DENYING = {word: line.split()[0] for line in _DENYING.strip().splitlines() for word in line.split()}
"""Words that negate and can be negated themselves, each with the one that stands for its forms."""
_MORE = "cannot nobody nothing nowhere hardly barely scarcely nichts weder rien personne nada nadie ni"
NEGATIONS = _COUNTED | frozenset(tokens(_MORE)) | DENYING.keys()
"""Words that negate."""
CJK_NEGATIONS = ("不", "没", "沒", "未", "无", "無", "非", "ない", "않", "아니")
"""Signs that negate in writing without spaces."""

_EXCLUSIVE = """
increase|increasing|rise|rose|risen|grow|grew|grown|growth decrease|decreasing|fall|fell|fallen|decline|drop|reduce
first|earliest|initial last|latest|final
first second third fourth fifth sixth seventh eighth ninth tenth last
before after
largest|biggest|greatest|large|big smallest|least|small|little
highest|higher|high|tallest|taller lowest|lower|low|shortest|shorter
longest|longer|long shortest|shorter|short
most|more least|less|fewer|fewest
majority minority
maximum minimum
win|won|wins|winner|winning|victory lose|lost|loses|loser|losing|defeat
north|northern south|southern
east|eastern west|western
northeast|northeastern northwest|northwestern southeast|southeastern southwest|southwestern
oldest|older|old|elder youngest|younger|young|new|newest
best|better|good worst|worse|bad
early|earlier late|later
begin|began|begun|begins|start|started|starts|beginning end|ended|ends|stop|stopped|finish|finished|ceased
open|opened|opens|opening close|closed|closes|closing
accept|accepted|accepts reject|rejected|rejects|refused
allow|permit|permitted ban|banned|prohibit|forbid|forbidden|prevent
support|supported|supports|favour|favor oppose|opposed|opposes
success|succeed|succeeded|successful failure|fail|failed
join|joined left|leave|leaves
buy|bought|buys sell|sold|sells
born die|died|dead
alive dead
male|men|man|boy female|women|woman|girl
father|son|brother|husband|uncle|king mother|daughter|sister|wife|aunt|queen
father|mother|parent son|daughter|child
brother|sister husband|wife
always never
all none
every no
above below
over under
upper lower
inside outside
public private
positive negative
strong|stronger|strongest weak|weaker|weakest
fast|faster|fastest slow|slower|slowest
hot|warm cold|cool
rich poor
hard|difficult easy
cheap|cheaper expensive
left right
import|imported|imports export|exported|exports
enter|entered exit|exited
arrive|arrived|arrives depart|departed|departs
attack|attacked defend|defended
love|loved hate|hated
true|right|correct false|wrong|incorrect
safe dangerous|unsafe
same|identical|similar different
innocent guilty
legal illegal
modern ancient
northernmost southernmost
easternmost westernmost
urban rural
domestic|national foreign|international
major minor
senior junior
full empty
gain|gained|gains loss|lost|loses
include|includes|included|including exclude|excludes|excluded|excluding
few|rare many|common
rarely|seldom often|frequently|usually
never often|sometimes|usually
improve|improved|improves worsen|worsened|worsens
strengthen|strengthened weaken|weakened
create|created|build|built destroy|destroyed|demolished
appear|appeared disappear|disappeared
rise set
profit loss
approve|approved reject|rejected
hire|hired|appointed fire|fired|dismissed
ally|allies enemy|enemies
day night
summer winter
spring autumn
teacher student
buyer seller
lender|creditor borrower|debtor
landlord tenant
plaintiff|victim defendant|suspect
only many
dry wet
heavy|heavier light|lighter
wide|wider narrow|narrower
deep shallow
thick thin
beginning end
ascending descending
plus minus
with without
for against
erste|ersten|erster letzte|letzten|letzter
grosste|grossten|grosster kleinste|kleinsten|kleinster
gestiegen|stieg|steigen gesunken|sank|sinken|fiel|gefallen
vor nach
nord|norden|nordlich sud|suden|sudlich
ost|osten|ostlich west|westen|westlich
gewann|gewonnen verlor|verloren
premier|premiere dernier|derniere
avant apres
nord sud
est ouest
augmente|hausse diminue|baisse
primero|primera ultimo|ultima
antes despues
norte sur
este oeste
mayor menor
"""


def _pairs() -> frozenset[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for line in _EXCLUSIVE.strip().splitlines():
        sides = [{key_of(word) for word in side.split("|")} for side in line.split()]
        for one, other in combinations(sides, 2):
            found |= {pair for mine in one for theirs in other for pair in ((mine, theirs), (theirs, mine))}
    return frozenset((one, other) for one, other in found if one != other)


OPPOSITES = _pairs()
"""Stems of words that exclude each other, in both orders."""
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti", "mis")

_LOOKING_ALIKE = """
display discover discovered discovery distance disease discuss inform informed information intend intended  invest
invested investment import imported inland incoming income union united unity university  impress impressed imposed
interred inborn inlay inside intense instill discount discharge dispatch  dispose disposed distract mission mister
mistress immense nonstop anticipate undertake
"""
_ALONE = frozenset(map(key_of, _LOOKING_ALIKE.split()))
"""Words that only look like the denial of another."""


def are_opposite(one: str, other: str) -> bool:
    """Whether two words exclude each other, by what they mean or by how they are made (possible, impossible)."""
    one, other = key_of(plain(one)), key_of(plain(other))
    if (one, other) in OPPOSITES:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.endswith(short) and long.removesuffix(short) in _PREFIXES:
        return long not in _ALONE
    return long.endswith("less") and long.removesuffix("less") in {short, short.removesuffix("ful")}
