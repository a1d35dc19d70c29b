"""What a site's robots.txt forbids to automatic readers (RFC 9309).

The standard library knows no wildcards, and matching them by regular expressions takes endless time on hostile
patterns; here each rule takes one pass over the address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .addresses import encoded

ROBOTS_BYTES = 500_000
EVERYBODY = "*"


class Rule(NamedTuple):
    """One line of robots.txt."""

    is_allowed: bool
    pattern: str

    def fits(self, target: str) -> bool:
        """Whether the pattern, with its wildcards, is the beginning of this path and query."""
        is_whole = self.pattern.endswith("$")
        first, *others = self.pattern.removesuffix("$").split("*")
        if not target.startswith(first):
            return False
        if not others:
            return not is_whole or len(target) == len(first)
        place = len(first)
        for part in others[:-1]:
            found = target.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        return target.endswith(others[-1], place) if is_whole else target.find(others[-1], place) >= 0


class Robots:
    """The rules of one site for one reader."""

    def __init__(self, text: str, agent: str) -> None:
        groups = list(_groups(text))
        own = [rules for agents, rules in groups if agent in agents]
        others = [rules for agents, rules in groups if EVERYBODY in agents]
        rules = [rule for group in own or others for rule in group]
        # The longest pattern decides; of two equal ones that which allows.
        self._rules = sorted(rules, key=lambda rule: (len(rule.pattern), rule.is_allowed), reverse=True)

    def allows(self, target: str) -> bool:
        """Whether a path with its query may be read."""
        return next((rule.is_allowed for rule in self._rules if rule.fits(target)), True)


def _groups(text: str) -> Iterator[tuple[set[str], list[Rule]]]:
    agents: set[str] = set()
    rules: list[Rule] = []
    has_rules = False
    for name, value in _fields(text):
        if name == "user-agent":
            if has_rules:
                yield agents, rules
                agents, rules, has_rules = set(), [], False
            agents.add(value.lower().partition("/")[0])
        elif name in ("allow", "disallow"):
            has_rules = True
            if value:
                rules.append(Rule(name == "allow", encoded(value)))
    yield agents, rules


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()
