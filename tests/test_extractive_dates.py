"""What brackets with two years tell of a thing, and how quickly they are read."""

from __future__ import annotations

import time

import pytest

from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.sentences import Quotable

SECONDS = 2.0
"""Far more than it takes, and far less than it would take if a bracket were searched anew from each of its digits."""


def stems_of(sentence: str) -> frozenset[str]:
    return Pool([Text(1, "Velm", (Quotable(sentence),))], "Who was Velm?").sentences[0].stems


@pytest.mark.parametrize(
    "bracket", ["(1870–1940)", "(3 May 1870 – 1 June 1940)", "(a note) and (born 870-942 in Osk)", "((1870-1940)"]
)
def test_two_years_in_a_bracket_tell_birth_and_death(bracket: str) -> None:
    assert {"birth", "death"} <= stems_of(f"Mara Ellingsen {bracket} was a sailor.")


def test_they_tell_the_begin_and_the_end_of_other_things() -> None:
    assert {"begin", "end"} <= stems_of("The Velm war (1870–1874) was fought at sea.")


@pytest.mark.parametrize(
    "bracket", ["(1870)", "(1870 and 1940)", "(18–40)", "(–1870 1940–)", "(1870–1940", "(1870) – (1940)"]
)
def test_other_brackets_do_not(bracket: str) -> None:
    assert not {"birth", "death"} & stems_of(f"Mara Ellingsen {bracket} was a sailor.")


@pytest.mark.parametrize("unit", ["1234-", "1234", "-", "(1234-1234", "(", "()"])
def test_a_sentence_full_of_years_that_closes_no_bracket_is_read_in_a_moment(unit: str) -> None:
    begin = time.perf_counter()
    stems_of(f"({unit * (8_000 // len(unit))} is never closed.")
    assert time.perf_counter() - begin < SECONDS
