"""Whole runs over sources that are closed or gone: copies are read and cited, and the report says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from directories import DOI, TITLE, Directories, directories
from proxy import proxy
from search_api import Answer, found
from wire import FACTS, PADDING, REPORT, Wires, plain_run, researched

from deep_research.app.check_file import check_file
from deep_research.app.settings import settings_from_options
from deep_research.core.run.context import Context, within_scope

GONE = "93.184.215.14"
SCRIPT = {**plain_run(), "researcher": researched}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[Directories]:
    with directories(monkeypatch) as running:
        yield running


def page(fact: str) -> str:
    return f"<html><head><title>Copy</title></head><body><p>{fact}</p><p>{PADDING}</p></body></html>"


async def test_a_report_cites_a_closed_paper_and_a_page_that_is_gone_by_their_copies(
    wires: Wires, known: Directories, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = f"http://{GONE}/keeper"
    kept = known.web.url(f"/web/20191231235959/{gone}")
    known.web.publish(f"/web/20191231235959id_/{gone}", page(FACTS["keeper"]))
    known.archive(gone, kept, "20191231235959")
    known.crossref("retraction")
    known.openalex(copy := known.web.publish("/copy", page(FACTS["light"])))
    with wires(SCRIPT, trust_proxy=True) as wire, proxy({GONE: wire.web.port}) as forward:
        monkeypatch.setenv("HTTP_PROXY", forward.url)
        wire.settings["allow_private"] = (wire.web.place, known.web.place)
        wire.web.pages.pop("/keeper")
        paper = wire.web.publish(f"/doi/{DOI}", "Forbidden", 403)
        wire.engine.on("light", Answer([found(paper, TITLE, "A paper on the light.")]))
        wire.engine.on("keeper", Answer([found(gone, "Keepers", "A page on keepers.")]))
        state = await wire.ask()
    assert state.report and state.run
    assert state.report.text == REPORT
    sources = [state.sources[key] for key in state.report.sources]
    assert [one.location for one in sources] == [paper, gone, wire.web.url("/harbour")]
    assert [one.copy_address for one in sources] == [copy, kept, ""]
    text = state.messages[-1].text.replace("\\", "")
    assert (
        f"[1] {TITLE} — 127.0.0.1:{wire.web.port}, scholarly, retracted, read in an open copy: {known.web.place}"
        in text
    )
    assert f"read in an open copy: {known.web.place}, 2019-12-31" in text
    for note in (
        "Source 1 was retracted (Crossref).",
        f"Source 1 was read in an open copy: {copy}",
        f"Source 2 was read in an open copy made on 2019-12-31: {kept}",
    ):
        assert note in text
    [asked] = [one for one in state.run.notices if one.startswith("Asked for")]
    assert {"Crossref", "Europe PMC", "arXiv", "OpenAlex", "Internet Archive"} <= set(
        asked.partition(": ")[2].removesuffix(" (open_copies).").split(", ")
    )
    assert "Unpaywall" not in asked and asked in text, "nobody has given an address"
    fetches = sum(one.fetches for one in state.spending.values())
    assert fetches == 3 + 4 + 1 + 2, (
        "three pages, the look-ups and the copy of the paper, those of the page that is gone"
    )


async def test_switched_off_the_report_names_what_was_not_read_and_nobody_is_asked(
    wires: Wires, known: Directories
) -> None:
    known.openalex(known.web.publish("/copy", page(FACTS["light"])))
    with wires(SCRIPT, open_copies=False) as wire:
        paper = wire.web.publish(f"/doi/{DOI}", "Forbidden", 403)
        wire.engine.on("light", Answer([found(paper, TITLE, FACTS["light"])]))
        state = await wire.ask()
    text = state.messages[-1].text.replace("\\", "")
    assert "could not be opened, search excerpt only" in text
    assert f"Not read: {paper} (its server refuses it (status 403))." in text
    assert state.run and not [one for one in state.run.notices if "open_copies" in one]
    assert known.web.requests == []
    assert not within_scope(Context(), state.run.scope).open_copies, "whoever resumes it asks nobody either"
    assert settings_from_options(no_open_copies=True) == {"open_copies": False}


async def test_a_report_from_elsewhere_is_checked_against_an_open_copy(
    wires: Wires, known: Directories, capsys: pytest.CaptureFixture[str]
) -> None:
    known.openalex(copy := known.web.publish("/copy", page(FACTS["light"])))
    with wires() as wire:
        paper = wire.web.publish(f"/doi/{DOI}", "Forbidden", 403)
        settings = {**wire.settings, "models": "extractive", "allow_private": (wire.web.place, known.web.place)}
        given = f"{FACTS['light']} [1]\n\n## Sources\n\n1. {TITLE}: {paper}\n"
        checked = await check_file(given.encode(), "report.md", Context.model_validate(settings))
    assert [one.outcome for one in checked.statements] == ["supported"]
    assert f"Source 1 was read in an open copy: {copy}" in checked.notes
    assert "Crossref, Europe PMC, arXiv, OpenAlex (open_copies)" in capsys.readouterr().err
