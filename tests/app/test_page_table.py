"""The page fills a table while it is researched. In a real browser, as in `test_page.py`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kit.commands import WireDesk, wire_desk
from kit.openai_server import Received, Reply, say, use
from kit.page import Reader, ask, served, show_options
from kit.wire import FACTS, plain_run, search_for, tool_results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
GOES_ON = threading.Event()
"""Set when the second row may be filled."""
OFFER = "This asks for a list: as a table?"
LISTED = "Which lights are there, with the year in which they were lit?"
NAMES = ("Skerry Light", "Second light")


def decide(request: Received) -> Reply:
    """The forms of a table, and its summary; otherwise what a trial asks for."""
    if "design_table" in request.tools:
        columns = [{"name": "Light", "is_key": True}, {"name": "Lit", "kind": "date"}]
        design = {"row": "one light", "columns": columns, "ways": ["light"]}
        return use(("design_table", design))
    for form in ("name_ways", "judge_pairs"):
        if form in request.tools:
            return use((form, {}))
    if "the summary above a table" in request.system:
        return say("Two lights were found.")
    trial = plain_run()["trial"]
    assert callable(trial)
    return trial(request)


def offer(request: Received) -> Reply:
    """Offers a table in place of one report."""
    is_offered = "as_table" in json.dumps(request.json) and LISTED in request.prompt
    return use(("generate_plan", {"as_table": OFFER} if is_offered else {}))


def research(request: Received) -> Reply:
    """A scout that finds two lights, and researchers who fill them, the second once it may."""
    if "Find the rows" in request.prompt:
        if not tool_results(request):
            return search_for("light")
        rows = [{"key": [name], "document": 1, "words": FACTS["light"]} for name in NAMES]
        return use(("generate_report", {"rows": rows}))
    name = next(name for name in NAMES if f"Row 1: {name}" in request.prompt)
    if name == NAMES[1]:
        GOES_ON.wait()
    lit = {"column": "Lit", "value": "1844", "document": 1, "words": FACTS["light"]}
    light = {"column": "Light", "value": name, "document": 1, "words": FACTS["light"]}
    return use(("generate_report", {"cells": [light, lit]}))


ROLES = {"clarifier": offer, "trial": decide, "researcher": research}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), **ROLES) as desk:
        yield desk
        GOES_ON.set()


@pytest.fixture(scope="module")
def reader(desk: WireDesk, chromium: Any) -> Iterator[Reader]:
    with served(desk, chromium) as reader:
        yield reader


def test_the_rows_are_shown_as_they_are_found_and_filled(reader: Reader) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Method").select_option("table_research")
        ask(page, "All lights of the coast, with the year in which they were lit.")
        rows = page.locator("table.rows tbody tr")
        rows.filter(has_text="1844").wait_for()
        assert rows.count() == 2
        assert rows.filter(has_text="Second light").locator("td").last.inner_text() == "…"
        GOES_ON.set()
        # The columns of the report's table can be sorted, those of its draft cannot.
        page.locator("article thead button").nth(1).wait_for()
        assert page.locator("article thead button").count() == 2
        assert page.locator("article tbody tr").count() == 2
        assert "Second light" in page.locator("article table").inner_text()


def test_a_table_that_is_offered_is_made_by_a_run_of_its_own(reader: Reader) -> None:
    with reader.page() as page:
        show_options(page)
        page.get_by_label("Show me the plan first").check()
        ask(page, LISTED)
        page.get_by_text(OFFER).wait_for()
        offered = page.url
        page.get_by_role("button", name="As a table").click()
        page.locator(".lines textarea", has_text="Lit (date)").wait_for()
        assert page.url != offered
        assert page.locator("h1.question").inner_text() == LISTED
        page.goto(offered)
        page.get_by_text("You closed this question without a report.").wait_for()
