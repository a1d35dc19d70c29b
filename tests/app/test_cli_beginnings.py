"""The beginning of a run on the command line: what is said before it works, and what is left if it never did."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Desk, desk_in
from lab import QUESTION
from openai_replies import fail
from wire_desk import wire_desk

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with a finished run and one that waits."""
    desk = desk_in(tmp_path_factory.mktemp("library"))
    docs = ("--docs", str(desk.docs))
    assert desk.call("ask", QUESTION, *docs, "--thread", "5e5c500a-1111-4111-8111-111111111111").code == 0
    assert desk.call("ask", "Compare them?", *docs, "--thread", "5e5c500b-1111-4111-8111-111111111111").code == 3
    return desk


def test_what_limits_cannot_hold_is_said_before_the_run(tmp_path: Path) -> None:
    with wire_desk(tmp_path, planner=lambda _: fail(402, "no credit")) as wire:
        asked = wire.desk.call("ask", "When was it lit?", "--thread", "dear", "--yes", "--limit", "max_usd=1")
        again = wire.desk.call("resume", "dear", "--limit", "max_usd=2")
        later = wire.desk.call("resume", "dear")
    for ended in (asked, again):
        first, second, *_, last = ended.err.splitlines()
        assert (second, last.startswith("Error: ")) == ("Run dear", True)
        assert first.startswith("Note: No price of the model fake-1 is set") and "max_usd holds only if" in first
    assert "Warning" not in later.err


@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["export"], ["resume"]])
def test_a_run_is_found_by_the_beginning_of_its_id(library: Desk, command: list[str]) -> None:
    whole = library.call(*command, "5e5c500a-1111-4111-8111-111111111111")
    assert whole.code == 0
    for beginning in ("5e5c500a", "5E5C500A-1111"):
        assert library.call(*command, beginning).out == whole.out


def test_a_beginning_that_is_too_short_or_that_several_ids_have_is_no_name(library: Desk) -> None:
    for beginning in ("5e5c5", "5e5c500", "5e5c50*"):
        ended = library.call("show", beginning)
        assert (ended.code, ended.err.startswith(f"Error: There is no run {beginning!r}")) == (2, True)
