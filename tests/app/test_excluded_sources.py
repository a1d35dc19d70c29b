"""Excluding sources of a finished run on the command line."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from kit.commands import Desk

from deep_research.app.runs import RunBook


@pytest.fixture
def finished(library: Desk, tmp_path: Path) -> Desk:
    """A copy of a data folder with a finished run."""
    shutil.copytree(library.folder, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)


def cited(desk: Desk) -> list[str]:
    """The keys of the sources of the latest report."""
    data = json.loads(desk.call("show", "light", "--format", "json").out)
    return [source["location"] for source in data["sources"]]


def test_an_excluded_source_is_named_by_number_or_file_and_not_cited_again(finished: Desk) -> None:
    assert any(location.endswith("lighthouse.md") for location in cited(finished))
    exclude = ("exclude", "light", "lighthouse.md", "--because", "out of date")
    done = finished.call(*exclude, "--replace")
    assert done.code == 0 and "Excluded: [1] Skerry Light" in done.err
    assert "Before and after:" in done.err and "[-" in done.err
    # A version without the source is made at once.
    assert not any(location.endswith("lighthouse.md") for location in cited(finished))
    assert 'that rested on the excluded source "Skerry Light" were taken out.' in done.out
    searched = "No other sources were searched for what was taken out"
    assert f"{searched}: that needs a language model" in done.out
    page = finished.call("show", "light").out
    assert "Excluded by you" in page and "out of date" in page and "version 2" in page
    question = ("ask", "When was the Skerry Light lit?", "--thread", "light", "--no-web")
    assert finished.call(*question).code == 0
    assert not any(location.endswith("lighthouse.md") for location in cited(finished))
    assert finished.call("include", "light", "lighthouse.md").code == 0
    assert "Excluded by you" not in finished.call("show", "light").out
    assert finished.call(*question).code == 0
    assert any(location.endswith("lighthouse.md") for location in cited(finished))


def test_an_unknown_source_is_an_error_that_lists_the_sources(finished: Desk) -> None:
    wrong = finished.call("exclude", "light", "77")
    assert wrong.code == 2 and "'77'" in wrong.err and "1: Skerry Light" in wrong.err
    none = finished.call("include", "light", "1")
    assert none.code == 2 and "No source of the run 'light' is excluded." in none.err


def test_an_earlier_version_names_the_exclusion_and_is_put_back_without_the_source(
    finished: Desk,
) -> None:
    finished.call("exclude", "light", "lighthouse.md", "--because", "out of date")
    differences = finished.call("show", "light", "--diff", "1", "2").out
    notes = differences.partition("## Notes")[2]
    assert "{+- 2 statements that rested on" in notes and "extract" not in notes
    first = finished.call("show", "light", "--version", "1").out
    assert "1844" in first
    assert "Excluded by the user since: Skerry Light" in first
    assert finished.call("revert", "light", "1").code == 0
    assert not any(location.endswith("lighthouse.md") for location in cited(finished))
    assert (
        "lit for the first time in 1844" not in finished.call("show", "light", "--version", "3").out
    )


def test_an_exclusion_that_was_stopped_before_its_new_version_goes_on(finished: Desk) -> None:
    async def exclude() -> None:
        async with RunBook.open(finished.data) as book:
            await book.exclude("light", ["lighthouse.md"])

    asyncio.run(exclude())
    # As if killed here: the report still cites the source, and no model is shown it any more.
    assert any(location.endswith("lighthouse.md") for location in cited(finished))
    assert finished.call("exclude", "light", "lighthouse.md").code == 0
    assert not any(location.endswith("lighthouse.md") for location in cited(finished))
    assert "version 2" in finished.call("show", "light").out
