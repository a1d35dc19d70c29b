"""The page fills a table while it is researched. In a real browser, as in `test_page.py`."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire"), trial=decide, researcher=research) as desk:
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
