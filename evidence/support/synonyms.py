"""Words that say nearly the same, words of no weight, and words for what is not certain."""

from __future__ import annotations

from deep_research.evidence.support.spelling import key_of
from deep_research.evidence.words import tokens

_GROUPS = """
birth born birthday birthplace
death die died dies dead dying deceased
write wrote written writes writer writers author authored authors penned
direct directed director directors
compose composed composer composers
perform performed performer performs singer sang sung sings sing
produce produced producer producers produces production
create created creator creates creation made make makes making develop developed
found founded founder founding established establish establishes inception
film films movie movies
marry married marriage wed wedding
begin began begun begins start started starts starting commenced
win won wins winner winning awarded award received receive earned
lead led leads leader leading headed
know known knew called named titled dubbed entitled
build built construct constructed erect erected construction
open opened inaugurate inaugurated
complete completed finish finished
buy bought purchase purchased acquire acquired acquisition
sell sold sale sales
grow grew grown growth rise rose risen increase increased increases increasing climbed
fall fell fallen decline declined decrease decreased drop dropped
say said says stated states claimed told
show showed shown shows showing demonstrate demonstrated reveal revealed indicate indicates indicated
use used using utilise utilize utilised utilized employ usage
help helps assist assistance aid aids
begin began launch launched
large big huge great
small little tiny
country countries nation nations
kill killed murder murdered
teach taught teacher
speak spoke spoken speech
choose chose chosen elected elect selected select appointed appoint
give gave given gives provide provided provides
take took taken takes
get got gotten gets obtain obtained
go went gone goes
come came comes
see saw seen sees
hold held holds
run ran runs running
grant granted
lose lost loses loss losing
send sent sends
leave left leaves
become became becomes
child children kid kids
man men
woman women
person people individual individuals
foot feet
mouse mice
think thought believe believed
bring brought
pay paid pays payment
spend spent
stand stood
meet met
cause caused causes causing due because
reduce reduced reduces lower lowered
job jobs employment
work works worked
car cars vehicle vehicles automobile
doctor doctors physician physicians
illness disease sickness
university college
located situated lies
important significant key crucial essential vital major
began became
feature features featured featuring star starring stars starred
release released releases premiered published publish
population inhabitants residents
cost costs price priced
near close nearby
also additionally
need needs require required requires
allow allows allowed enable enables permit permits permitted
usually generally typically commonly often normally
primarily mainly mostly chiefly
american us usa united
british uk britain
english england
french france
german germany
dutch netherlands
spanish spain
swiss switzerland
danish denmark
swedish sweden
polish poland
turkish turkey
welsh wales
irish ireland
scottish scotland
greek greece
chinese china
"""


def _related() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _GROUPS.strip().splitlines():
        group = frozenset(key_of(word) for word in line.split())
        found |= {key: found.get(key, frozenset()) | group for key in group}
    return found


RELATED = _related()
"""Stems of words that say nearly the same, each with all of these."""

_COMMON = """
furthermore moreover ultimately additionally however therefore overall finally next instead meanwhile nevertheless
thus hence indeed similarly conversely likewise subsequently eventually afterwards approximately roughly nearly
context contexts provided mentioned mentions according specifically generally particularly additional
time year people way day man world life part place case work week company system program number point home area
story fact lot right study book word side kind head house service line end member law community name team idea
information back group problem result change thing use used using known called make made become became take give
include including included provide well new good great high large small long different important several various
many much own first last next early late later young old big general common popular major main best state form
today now currently still even since during while however although based context according contexts given yes
person type example also within across among per around along every another whole further once
"""
COMMON = frozenset(key_of(word) for word in _COMMON.split())
"""Stems of words that stand in texts of all kinds and so tell little."""

HEDGES = frozenset(
    tokens(
        "may might could perhaps possibly probably likely allegedly alleged supposedly reportedly rumoured rumored "
        "proposed planned expected projected suggests suggest suggested believed thought appears seems unclear "
        "uncertain disputed unconfirmed estimated vielleicht angeblich vermutlich mutmasslich konnte moglicherweise "
        "peut pourrait presume quizas presunto supuesto"
    )
)
"""Words that make a statement an uncertain one."""
