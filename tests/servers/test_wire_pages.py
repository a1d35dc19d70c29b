"""Whole runs that read the web: which pages are opened, how often, and copies of pages that are
closed or gone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from kit.engines import DOI, TITLE, Answer, Directories, found, proxy
from kit.openai_server import Received, Reply, say, use
from kit.wire import (
    END,
    FACTS,
    PADDING,
    REPORT,
    Script,
    Wires,
    all_faults,
    hand_out,
    is_right,
    open_pages,
    plain_run,
    researched,
    search_for,
    tool_results,
    verified,
)

from deep_research.app.check_file import check_file
from deep_research.core.records.research import total
from deep_research.core.settings.context import Context
from deep_research.core.writing.notes import ReportNotes

UNREAD = "You have search results that you have not read"


def single_task(researcher: Callable[[Received], Reply]) -> dict[str, Script]:
    return {"orchestrator": plain_run(["light"])["orchestrator"], "researcher": researcher}


def in_turn(*steps: Callable[[Received], Reply] | Reply) -> Callable[[Received], Reply]:
    """A researcher that takes these steps, by the results that it has; the last one ever after."""

    def answer(request: Received) -> Reply:
        step = steps[min(len(tool_results(request)), len(steps) - 1)]
        return step(request) if callable(step) else step

    return answer


def all_found(request: Received) -> Reply:
    """Open all that the latest search has found."""
    return open_pages(*(result["address"] for result in tool_results(request)[-1]["results"]))


def page(body: str, title: str = "A page") -> str:
    return f"<html><head><title>{title}</title></head><body><p>{body}</p><p>{PADDING}</p></body></html>"


@pytest.mark.behaviour("O-54", "O-75")
@pytest.mark.fault(27)
async def test_a_search_suggests_opening_pages_which_keep_their_numbers(wires: Wires) -> None:
    steps = search_for("nothing at all"), search_for("light"), all_found, END
    with wires(single_task(in_turn(*steps))) as wire:
        wire.engine.on(
            "light", Answer([found(wire.web.url("/light?utm_source=x"), "Light", FACTS["light"])])
        )
        state = await wire.ask()
        advised = [
            UNREAD in request.messages[-1]["content"] for request in wire.requests("researcher")
        ]
        assert advised == [False, False, True, False], (
            "only where a search found something that was not opened"
        )
        assert "try other words" in wire.requests("researcher")[1].prompt
        [_, searched, opened] = tool_results(wire.requests("finding")[0])
        shown = wire.of_type("search_tool_documents_delta", "open_url_documents")
    assert [result["document"] for result in searched["results"] + opened["results"]] == [1, 1]
    [source] = state.sources.values()
    assert (source.number, source.title, source.content_hash != "") == (1, "Light", True)
    assert [
        [document["document_id"] for document in packet["documents"]] for packet in shown[1:]
    ] == [[source.key]] * 2
    assert state.report and state.report.text == f"{FACTS['light']} [1]"


@pytest.mark.behaviour("O-68")
async def test_a_page_is_fetched_only_once_in_a_thread(wires: Wires) -> None:
    """Three researchers open the same page at the same time, and a later question opens it again."""
    with wires({"researcher": researched}) as wire:
        for name in FACTS:
            wire.engine.on(name, Answer([found(wire.web.url("/light"), "Light", "About it.")]))
        state = await wire.ask()
        assert wire.web.asked("/light") == 1
        first = len(wire.requests())
        assert all_faults(wire.requests()) == []
        wire.script["orchestrator"] = [hand_out("light"), END]
        state = await wire.ask("And when was that?")
        assert wire.web.asked("/light") == 1
        # A follow-up may also change the report, so its clarifier has further tools.
        assert all_faults(wire.requests()[first:]) == []
        read = [
            tool_results(request)[1]["results"][0]["text"] for request in wire.requests("finding")
        ]
        assert len(read) == 4 and all(FACTS["light"] in text for text in read)
    assert len(state.sources) == 1
    assert state.report and state.report.text == f"{FACTS['light']} [1]"


@pytest.mark.slow
@pytest.mark.fault("R7", "R10", logs="INFO tools._open_url")
async def test_only_addresses_from_the_user_results_or_pages_are_opened(wires: Wires) -> None:
    """By the user, by a result, by a page that was read; nothing that a model puts together."""
    with wires() as wire:
        url = wire.web.url
        wire.web.publish("/named", page(f"More is told <a href='/linked'>there</a>. {PADDING}"))
        wire.web.publish("/linked", page(f"{FACTS['light']} {PADDING}"))
        for path in ("/composed", "/hidden", "/light/secret"):
            wire.web.publish(path, page("Never read."))
        composed = [
            url("/composed"),
            url("/light/secret"),
            url("/light?q=what-the-user-said"),
            url("/light", host="user@127.0.0.1"),
            "http://attacker.invalid/?leak=1",
            "file:///etc/passwd",
        ]
        wire.script.update(single_task(in_turn(
            search_for("light"),
            open_pages(url("/named#part"), url("/light"), *composed),
            open_pages(url("/linked"), url("/hidden")),
            END,
        )))  # fmt: skip
        state = await wire.ask(f"What is said at {url('/named')}, and is it true?")
        assert all_faults(wire.requests()) == []
        opened = {request.target for request in wire.web.requests} - {"/robots.txt"}
        assert opened == {"/named", "/light", "/linked"}
        [_, first, second] = tool_results(wire.requests("finding")[0])
    assert len(first["results"]) == 2 and len(first["problems"]) == len(composed)
    assert all(repr(address) in " ".join(first["problems"]) for address in composed)
    assert len(second["results"]) == 1 and "/hidden" in second["problems"][0]
    assert state.report and state.report.sources


@pytest.mark.sweep
@pytest.mark.fault("R7", "R13")
@pytest.mark.parametrize(("limit", "most"), [("max_pages", 2), ("max_host_pages", 1)])
async def test_the_page_limit_counts_over_all_researchers(
    wires: Wires, limit: str, most: int
) -> None:
    with wires({"researcher": researched}, limits={limit: most}) as wire:
        state = await wire.ask()
        fetched = sum(wire.web.asked(f"/{name}") for name in FACTS)
        prompts = "".join(request.prompt for request in wire.requests("finding"))
        assert is_right(wire, state), "what the search showed is still there"
    assert fetched == most
    assert f"({limit})" in prompts


GONE = "93.184.215.14"
SCRIPT = {**plain_run(), "researcher": researched}


async def test_reports_cite_and_are_checked_against_open_copies_of_a_closed_paper_and_a_missing_page(
    wires: Wires,
    known: Directories,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone = f"http://{GONE}/keeper"
    kept = known.web.url(f"/web/20191231235959/{gone}")
    known.web.publish(f"/web/20191231235959id_/{gone}", page(FACTS["keeper"]))
    known.archive(gone, kept, "20191231235959")
    known.crossref("retraction")
    known.openalex(copy := known.web.publish("/copy", page(FACTS["light"])))
    with wires(SCRIPT, trust_proxy=True) as wire, proxy({GONE: wire.web.port}) as forward:
        monkeypatch.setenv("HTTP_PROXY", forward.url)
        wire.settings["allow_private"] = (wire.web.netloc, known.web.netloc)
        wire.web.pages.pop("/keeper")
        paper = wire.web.publish(f"/doi/{DOI}", "Forbidden", 403)
        wire.engine.on("light", Answer([found(paper, TITLE, "A paper on the light.")]))
        wire.engine.on("keeper", Answer([found(gone, "Keepers", "A page on keepers.")]))
        state = await wire.ask()
        foreign = f"{FACTS['light']} [1]\n\n## Sources\n\n1. {TITLE}: {paper}\n".encode()
        context = Context.model_validate({**wire.settings, "models": "extractive"})
        checked = await check_file(foreign, "report.md", context)
    assert state.report and state.run
    assert state.report.text == REPORT
    sources = [state.sources[key] for key in state.report.sources]
    assert [source.location for source in sources] == [paper, gone, wire.web.url("/harbour")]
    assert [source.copy_address for source in sources] == [copy, kept, ""]
    text = state.messages[-1].text.replace("\\", "")
    assert (
        f"[1] {TITLE} — 127.0.0.1:{wire.web.port}, scholarly, retracted, read in an open copy: {known.web.netloc}"
        in text
    )
    assert f"read in an open copy: {known.web.netloc}, 2019-12-31" in text
    for note in (
        "Source 1 was retracted (Crossref).",
        f"Source 1 was read in an open copy: {copy}",
        f"Source 2 was read in an open copy made on 2019-12-31: {kept}",
    ):
        assert note in text
    [asked] = [notice for notice in state.run.notices if notice.startswith("Asked for")]
    assert {"Crossref", "Europe PMC", "arXiv", "OpenAlex", "Internet Archive"} <= set(
        asked.partition(": ")[2].removesuffix(" (open_copies).").split(", ")
    )
    assert "Unpaywall" not in asked and asked in text, "nobody has given an address"
    fetches = sum(spent.fetches for spent in state.spending.values())
    assert fetches == 3 + 4 + 1 + 2, (
        "three pages, the look-ups and the copy of the paper, those of the page that is gone"
    )
    assert [statement.outcome for statement in checked.statements] == ["supported"]
    assert f"Source 1 was read in an open copy: {copy}" in checked.notes
    assert "Crossref, Europe PMC, arXiv, OpenAlex (open_copies)" in capsys.readouterr().err


async def test_the_check_reads_a_page_before_its_excerpt_costs_a_statement_its_support(
    wires: Wires,
) -> None:
    light, keeper = FACTS["light"], FACTS["keeper"]
    harbour = "The harbour of Port Anlow was deepened in 1893."
    script = single_task(in_turn(search_for(*FACTS), END))
    script["finding"] = lambda _: say(
        f"Found: {light} [1]\nFound: {keeper} [2]\nFound: {harbour} [3]"
    )
    rewriting = list[str]()

    def corrected_or_verified(request: Received) -> Reply:
        if "rewrite_sentences" not in json.dumps(request.json["tools"]):
            return verified(request)
        rewriting.append(request.prompt)
        return use(("rewrite_sentences", {"sentences": []}))

    script["verifier"] = corrected_or_verified
    with wires(script, limits={"max_fetches": 2}) as wire:
        wire.web.publish("/keeper", "It is gone.", status=404)
        for name in FACTS:
            excerpt = f"The {name} of Port Anlow is known to everybody."
            wire.engine.on(name, Answer([found(wire.web.url(f"/{name}"), name.title(), excerpt)]))
        state = await wire.ask()
        opened = [wire.web.asked(f"/{name}") for name in FACTS]
    marked = f"{keeper} [2] *(not verified)* {harbour} [3] *(not verified)*"
    assert state.report and state.report.text == f"{light} [1] {marked}"
    assert opened == [1, 1, 0]
    assert len(rewriting) == 1 and keeper in rewriting[0] and light not in rewriting[0]
    read, unread, left = (state.sources[key] for key in state.report.sources)
    assert [read.number, unread.number, left.number] == [1, 2, 3]
    assert [read.extent, unread.extent, left.extent] == ["whole", "not opened", "excerpt"]
    assert state.report.claims[0].passages[0].content_hash == read.content_hash
    assert total(state.spending).fetches == 2
    assert [failed.path for failed in ReportNotes(state).not_read()] == [unread.location]
