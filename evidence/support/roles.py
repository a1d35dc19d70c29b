"""Offices and trades: where a passage says it of somebody in another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .alignment import Alignment
from .matching import Matches
from .spelling import key_of, plain
from .terms import Term, is_telling

_ROLES = """
mayor alderman
minister premier chancellor secretary
minister priest vicar pastor chaplain parson
rector dean chancellor
president chairman chairwoman chairperson
governor viceroy
senator congressman congresswoman
ambassador envoy diplomat
consul
king emperor sultan tsar
queen empress
prince duke earl baron
princess duchess countess baroness
bishop archbishop cardinal
pope
monk abbot friar
nun abbess
judge magistrate
lawyer solicitor barrister attorney prosecutor
doctor physician surgeon dentist psychiatrist
nurse midwife
teacher lecturer tutor headmaster headmistress professor
student pupil apprentice
engineer inventor
architect
painter illustrator
sculptor
photographer
composer songwriter
conductor
pianist
violinist
singer songwriter
poet
novelist
playwright dramatist screenwriter
translator interpreter
publisher
journalist reporter correspondent editor
historian
archaeologist
chemist pharmacist
physicist astronomer astrophysicist
biologist botanist zoologist naturalist
geologist
mathematician
economist
philosopher
psychologist psychiatrist
director manager
treasurer bursar
accountant bookkeeper auditor
clerk
captain skipper sailor seaman
admiral commodore
colonel
lieutenant
corporal
pilot aviator
driver
policeman policewoman constable detective inspector sheriff sergeant
fireman firefighter
farmer
miller
baker
butcher
brewer
cook chef
carpenter joiner
blacksmith
mason bricklayer
plumber
tailor
shoemaker cobbler
goldsmith jeweller
merchant trader dealer shopkeeper grocer
banker
butler
gardener
librarian archivist
curator
actor actress
dancer
coach trainer manager
goalkeeper
striker
midfielder
spokesman spokeswoman spokesperson
fisherman
founder
"""
_LINES = [frozenset(map(key_of, line.split())) for line in _ROLES.strip().splitlines()]
ROLES = {role: frozenset[str]().union(*(line for line in _LINES if role in line)) for line in _LINES for role in line}
"""Stems of words for what somebody is, each with those that can be said of the same person in its place.

Words as wide as leader, officer or artist are left out, since they can stand for many, and so are words for a part in
a story, such as victim, which can stand for anybody.
"""


def changed_roles(matches: Matches, alignment: Alignment) -> Iterator[tuple[str, float]]:
    """Roles in the place of others, in plain words, and how much of the rest of the claim is the same, from 0 to 1."""
    for difference in alignment.differences:
        mine, other = _only(difference.claim), _only(difference.passage)
        if mine and other and _are_apart(mine, other) and mine.key not in matches.held:
            yield f"the passage says '{other.raw}', not '{mine.raw}'", difference.rest


def _only(terms: Sequence[Term]) -> Term | None:
    """The only word with a meaning."""
    telling = list(filter(is_telling, terms))
    return telling[0] if len(telling) == 1 else None


def _are_apart(one: Term, other: Term) -> bool:
    mine, theirs = key_of(plain(one.raw)), key_of(plain(other.raw))
    return theirs in ROLES and mine in ROLES and mine not in ROLES[theirs]
