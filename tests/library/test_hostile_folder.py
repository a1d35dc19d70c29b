"""A whole run over a folder that is made to hurt it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Desk
from hostile_folder import JAPANESE, READ, REASONS, SECRET, write_hostile
from shelf import Place


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("hostile"))
    write_hostile(desk.docs)
    return desk


@pytest.mark.slow
@pytest.mark.fault(52, "R29")
def test_a_run_over_a_hostile_folder_ends_with_a_report_and_names_what_it_left_out(desk: Desk) -> None:
    question = "When was the Skerry Light lit?"
    ended = desk.run("ask", question, "--docs", "docs", "--model", "extractive", "--thread", "light")
    assert ended.code == 0, ended.err
    assert "The Skerry Light was lit in 1844." in ended.out
    assert SECRET not in ended.out + ended.err
    for name, reason in REASONS.items():
        (line,) = [line for line in ended.out.splitlines() if f"Not read: docs/{name} (" in line]
        assert reason in line
    counted = f"documents indexed: {len(READ)} of {len(READ) + 12}; 12 could not be read: docs/away (it is a link"
    assert counted in ended.err
    assert "), and 7 more: `deep-research doctor` with the same --docs lists them\n" in ended.err
    again = desk.call("ask", question, "--docs", str(desk.docs), "--model", "extractive")
    assert counted in again.err, "it is told again where nothing has changed"
    run = json.loads(desk.run("export", "light", "--format", "json").out)
    assert [one["path"] for one in run["audit"]["not_read"]] == [f"docs/{name}" for name in sorted(REASONS)]


def test_what_can_be_read_in_a_hostile_folder_is_read(desk: Desk, tmp_path: Path) -> None:
    library = Place(desk.docs, tmp_path / "data").library()
    assert library.refresh().documents == len(READ)
    found = [library.read(f"docs:docs/{name}") for name in READ]
    texts = {name: document.text for name, document in zip(READ, found, strict=True) if document}
    assert texts["japanese.txt"] == JAPANESE
    assert texts["deck.pptx"] == "## The lamp of the Skerry Light"
    assert texts["letter.eml"].endswith("was replaced in 1911.\n\nAttached: plan.pdf")
    assert "| 1901 | Ada Moran |" in texts["table.xlsx"]
    assert texts["long.pdf"].startswith("The Skerry Light stands 38 metres tall.")
    assert library.search("灯台の高さ", 1)[0].text == JAPANESE
    assert [document.source.date for document in found if document] == ["", "", "", "2024-05-03", "", "", "2021-03-04"]
