"""Whole runs that read the web: which pages are opened, how much of them is shown, how often they are fetched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from openai_server import Received, Reply
from search_api import Answer, found
from wire import (
    END,
    FACTS,
    PADDING,
    Script,
    Wires,
    hand_out,
    is_right,
    open_pages,
    researched,
    search_for,
    tool_results,
)
from wire_checks import all_faults

UNREAD = "You have search results that you have not read"


def one_task(researcher: Callable[[Received], Reply], task: str = "light") -> dict[str, Script]:
    return {
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out(task),
        "researcher": researcher,
    }


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
async def test_pages_are_advised_after_a_search_and_keep_their_numbers_when_they_are_opened(wires: Wires) -> None:
    steps = search_for("nothing at all"), search_for("light"), all_found, END
    with wires(one_task(in_turn(*steps))) as wire:
        wire.engine.on("light", Answer([found(wire.web.url("/light?utm_source=x"), "Light", FACTS["light"])]))
        state = await wire.ask()
        advised = [UNREAD in request.messages[-1]["content"] for request in wire.requests("researcher")]
        assert advised == [False, False, True, False], "only where a search found something that was not opened"
        [_, searched, opened] = tool_results(wire.requests("finding")[0])
        shown = wire.of_type("search_tool_documents_delta", "open_url_documents")
    assert [result["document"] for result in searched["results"] + opened["results"]] == [1, 1]
    [source] = state.sources.values()
    assert (source.number, source.title, source.content_hash != "") == (1, "Light", True)
    assert [[document["document_id"] for document in packet["documents"]] for packet in shown[1:]] == [[source.key]] * 2
    assert state.report and state.report.text == f"{FACTS['light']} [1]"


@pytest.mark.behaviour("O-68")
async def test_a_page_is_fetched_once_whoever_opens_it_and_whenever(wires: Wires) -> None:
    """Three researchers open the same page at the same time, and a later question opens it again."""
    with wires({"researcher": researched}) as wire:
        for name in FACTS:
            wire.engine.on(name, Answer([found(wire.web.url("/light"), "Light", "About it.")]))
        state = await wire.ask()
        assert wire.web.asked("/light") == 1
        wire.script["orchestrator"] = [hand_out("light"), END]
        state = await wire.ask("And when was that?")
        assert wire.web.asked("/light") == 1
        assert all_faults(wire.requests()) == []
        read = [tool_results(request)[1]["results"][0]["text"] for request in wire.requests("finding")]
        assert len(read) == 4 and all(FACTS["light"] in text for text in read)
    assert len(state.sources) == 1
    assert state.report and state.report.text == f"{FACTS['light']} [1]"


@pytest.mark.fault("R7", "R10", logs="INFO tools.open_url")
async def test_only_addresses_that_were_given_are_opened(wires: Wires) -> None:
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
        wire.script.update(one_task(in_turn(
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


@pytest.mark.fault("R7", "R13")
@pytest.mark.parametrize(("limit", "most"), [("max_pages", 2), ("max_host_pages", 1)])
async def test_pages_are_counted_over_all_researchers(wires: Wires, limit: str, most: int) -> None:
    with wires({"researcher": researched}, limits={limit: most}) as wire:
        state = await wire.ask()
        fetched = sum(wire.web.asked(f"/{name}") for name in FACTS)
        prompts = "".join(request.prompt for request in wire.requests("finding"))
        assert is_right(wire, state), "what the search showed is still there"
    assert fetched == most
    assert f"({limit})" in prompts
