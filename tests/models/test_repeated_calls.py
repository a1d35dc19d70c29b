"""What happens to a call that breaks off: before its first word, after it, and while others wait."""

from __future__ import annotations

from typing import Any

import pytest
from openai_server import openai_server, say
from patient import Caller, at


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83")
@pytest.mark.parametrize("ending", ["cut", "broken", "reset"])
async def test_what_was_shown_is_not_repeated(monkeypatch: pytest.MonkeyPatch, ending: Any) -> None:
    answer = say("It was lit in 1844.", ending=ending)
    with openai_server([answer]) as server, pytest.raises(Exception, match=r"broke off|Connection error"):
        await Caller()(at(server.url, monkeypatch))
    assert len(server.requests) == 1


@pytest.mark.fault(5, 6)
@pytest.mark.parametrize("ending", ["cut", "broken", "reset"])
async def test_what_was_not_shown_is_dropped_and_asked_for_once_more(
    monkeypatch: pytest.MonkeyPatch, ending: Any
) -> None:
    caller = Caller()
    with openai_server([say("It was lit in 1844.", ending=ending, after=3), say("Yes.")]) as server:
        assert await caller(at(server.url, monkeypatch), may_repeat=True) == "Yes."
    assert caller.voids == 1


@pytest.mark.behaviour("O-83")
async def test_a_call_that_fails_before_its_first_words_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()
    with openai_server([say("It was", ending="cut", after=0), say("It was", ending="reset", after=1), say("Yes.")]) as (
        server
    ):
        assert await caller(at(server.url, monkeypatch)) == "Yes."
    assert caller.voids == 0
    assert len(server.requests) == 3
