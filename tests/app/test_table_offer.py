"""The offer of a table on the command line: an answer with yes starts a run of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from kit.commands import WireDesk, wire_desk
from kit.openai_server import Received, Reply, use

OFFER = "This asks for a list: as a table?"
REQUEST = "All lights of the coast, with the year in which they were lit."
COLUMNS = [{"name": "Light", "is_key": True}, {"name": "Lit", "kind": "date"}]


def offer(request: Received) -> Reply:
    """Offers a table, and a table itself is not offered."""
    is_offered = "as_table" in json.dumps(request.json)
    return use(("generate_plan", {"as_table": OFFER} if is_offered else {}))


def design(_: Received) -> Reply:
    return use(("design_table", {"row": "one light", "columns": COLUMNS, "ways": ["light"]}))


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), clarifier=offer, trial=design) as desk:
        yield desk


def test_yes_starts_a_run_of_the_table_with_the_request_and_the_settings(desk: WireDesk) -> None:
    asked = desk.desk.run("ask", REQUEST, "--thread", "lights", "--review-plan")
    assert asked.code == 3 and OFFER in asked.err
    answered = desk.desk.run("resume", "lights", "--answer", "Yes")
    assert answered.code == 3
    assert "2. Lit (date)" in answered.err
    assert "deep-research resume lights-table --answer TEXT" in answered.err
    run = json.loads(desk.desk.run("show", "lights-table", "--format", "json").out)
    assert (run["question"], run["strategy"], run["status"]) == (REQUEST, "table", "waiting")
    before = json.loads(desk.desk.run("show", "lights", "--format", "json").out)
    assert (before["strategy"], before["status"]) == ("orchestrated", "ended")
