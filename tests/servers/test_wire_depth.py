"""How much a question is worth: answered from one search in two calls, researched, or researched
with wider limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.engines import Answer, found
from kit.openai_server import Received, Reply, fail, say, use
from kit.packets import faults
from kit.runs import write_documents
from kit.wire import FACTS, WireLab, Wires
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.app.words import STRATEGIES
from deep_research.core.errors import NoReport, RunFailed
from deep_research.core.records.research import Strategy
from deep_research.state import ResearchState

LIT = "When was the Skerry Light lit?"
LARGE = (
    "Compare the Skerry Light and the ferry of Port Anlow, with their history and their keepers."
)


def looked_up(*queries: str) -> Reply:
    return use(("look_up", {"queries": list(queries)}))


def answered(request: Received) -> Reply:
    """The facts in the passages, with the numbers behind them."""
    passages = "\n".join(
        str(message["content"]) for message in request.messages if message.get("role") == "tool"
    )
    shown = re.split(r"Source \[(\d+)\]:", passages)
    numbers = {fact: number for number, text in zip(shown[1::2], shown[2::2], strict=True) for fact in FACTS.values()
               if fact in text}  # fmt: skip
    cited = [f"{fact} [{numbers[fact]}]" for fact in FACTS.values() if fact in numbers]
    return say(" ".join(cited) or "No source says so.")


@pytest.fixture
def quick(wires: Wires) -> Wires:
    """Runs of depth `quick` on the web, unless something else is given."""

    @contextmanager
    def quick_lab(strategy: Strategy = "orchestrated", **given: Any) -> Iterator[WireLab]:
        script = {
            "clarifier": lambda _: looked_up("light"),
            "writer": answered,
            **given.pop("script", {}),
        }
        with wires(script, **{"depth": "quick", **given}) as wire:
            yield replace(wire, graph=build_graph(strategy, checkpointer=InMemorySaver()))

    return quick_lab


def has_said(state: ResearchState, *facts: str) -> bool:
    """Whether the report says these facts, each with the source that says it, and nothing of it is
    doubted."""
    assert state.report and state.report.audit
    said = " ".join(f"{FACTS[fact]} [{number}]" for number, fact in enumerate(facts, 1))
    assert state.report.text == said
    return (state.report.audit.supported, state.report.audit.checked) == (len(facts), len(facts))


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("depth", "tools", "words"),
    [
        ("quick", [], "Answered from"),
        ("auto", ["generate_plan"], "A small question: answered from"),
    ],
)
async def test_a_quick_answer_and_its_follow_up_take_two_calls_each_and_cite_the_pages_that_they_opened(
    quick: Wires, strategy: Strategy, depth: str, tools: list[str], words: str
) -> None:
    with quick(strategy, depth=depth) as wire:
        before = await wire.ask(LIT)
        assert wire.asked() == {"clarifier": 1, "writer": 1}
        first, last = wire.requests()
        assert first.tools == [*tools, "look_up"] and not last.tools
        assert has_said(before, "light")
        # The search shows an excerpt alone; what is cited was read on the page.
        assert before.report and before.sources[before.report.sources[0]].extent == "whole"
        has_oriented = (depth, strategy) == ("auto", "planned")
        assert len(wire.engine.requests) == 1 + has_oriented
        assert (before.run.status, before.run.depth, before.run.is_quick) == (
            "completed",
            depth,
            True,
        )
        assert f"{words} one search." in [packet["text"] for packet in wire.of_type("activity")]
        assert not faults(await wire.replayed())
        # What a follow-up of the planned strategy rests on.
        learned = " ".join(learning.text for learning in before.learnings.values())
        assert strategy == "orchestrated" or FACTS["light"] in learned
        wire.script["clarifier"] = lambda _: looked_up("keeper")
        wire.models.requests.clear()
        state = await wire.ask("And who kept it?")
        assert wire.asked() == {"clarifier": 1, "writer": 1}
        assert LIT in wire.requests("clarifier")[0].prompt
        # The writer sees both searches, each source under the number that it has in the thread.
        assert has_said(state, "light", "keeper")
        numbers = {key: source.number for key, source in before.sources.items() if source.number}
        assert (
            numbers.items() <= {key: source.number for key, source in state.sources.items()}.items()
        )


async def test_the_numbers_of_a_quick_answer_are_checked_and_nothing_is_marked(
    quick: Wires,
) -> None:
    wrong = lambda request: say(f"{FACTS['light']} [1] It was lit again in 1977, so they say. [1]")  # noqa: E731
    with quick(script={"writer": wrong}) as wire:
        state = await wire.ask(LIT)
        assert (
            "Numbers and quotations looked up in the sources cited: 1 found, 1 not found."
            in state.messages[-1].text
        )
        assert "*(" not in state.messages[-1].text and wire.asked() == {"clarifier": 1, "writer": 1}


@pytest.mark.sweep
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_an_answer_without_results_says_so_after_two_calls(
    quick: Wires, strategy: Strategy
) -> None:
    script = {"clarifier": lambda _: looked_up("Atlantis")}
    with quick(strategy, script=script) as wire:
        wire.engine.on("Atlantis", Answer([]))
        state = await wire.ask("How deep does Atlantis lie?")
        assert len(wire.models.requests) == 2
        assert "Nothing was found." in wire.requests("writer")[0].prompt
        assert state.run and state.run.status == "completed_with_gaps"
        assert "Not found: How deep does Atlantis lie?" in state.messages[-1].text


async def test_short_documents_are_read_whole_and_the_web_is_searched_as_well(
    quick: Wires, tmp_path: Path
) -> None:
    docs = write_documents(tmp_path / "docs")
    with quick(docs=docs, engines=["tavily"]) as wire:
        await wire.ask(LIT)
        shown = wire.requests("writer")[0].prompt
        assert "Its ferry sails twice a day." in shown and FACTS["light"] in shown
        assert len(wire.models.requests) == 2


async def test_a_page_named_in_the_question_is_opened(quick: Wires) -> None:
    with quick() as wire:
        state = await wire.ask(f"Who kept the light, by {wire.web.url('/keeper')}?")
        assert has_said(state, "light", "keeper")
        assert len(wire.models.requests) == 2


@pytest.mark.sweep
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_question_back_is_one_of_the_two_calls(quick: Wires, strategy: Strategy) -> None:
    script = {"clarifier": lambda _: say("Which light do you mean?")}
    with quick(strategy, script=script) as wire:
        words = "When was the light lit? The one at Skerry."
        wire.engine.on(words, Answer([found(wire.web.url("/light"), "Light", FACTS["light"])]))
        asked = await wire.ask("When was the light lit?")
        assert asked.run and asked.run.status == "waiting"
        state = await wire.ask(Command(resume="The one at Skerry."))
        assert wire.asked() == {"clarifier": 1, "writer": 1}
        assert has_said(state, "light")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "reply", [use(("look_up", {})), use(("look_up", "{")), use(("generate_plan", {}))]
)
async def test_without_a_query_of_the_model_the_users_words_are_searched(
    quick: Wires, reply: Reply
) -> None:
    with quick(script={"clarifier": lambda _: reply}) as wire:
        wire.engine.on(LIT, Answer([found(wire.web.url("/light"), "Light", FACTS["light"])]))
        assert has_said(await wire.ask(LIT), "light")
        assert len(wire.models.requests) == 2


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("is_input", [False, True])
async def test_a_run_that_failed_between_its_calls_repeats_only_the_second_and_sees_new_messages(
    quick: Wires, strategy: Strategy, is_input: bool
) -> None:
    with quick(strategy, limits={"retry_seconds": 0}) as wire:
        wire.script["writer"] = lambda _: fail(500, "Down.")
        with pytest.raises(RunFailed):
            await wire.ask(LIT)
        wire.script["writer"] = answered
        wire.models.requests.clear()
        words = "In one sentence, please."
        state = await wire.ask(
            words if is_input else Command(update={"messages": [HumanMessage(words)]})
        )
        assert wire.asked() == {"writer": 1}
        assert words in wire.requests("writer")[0].prompt
        assert has_said(state, "light")
        assert len(wire.engine.requests) == 1


async def test_a_truncated_or_empty_quick_answer_is_not_requested_again(quick: Wires) -> None:
    with quick() as wire:
        wire.script["writer"] = lambda _: replace(
            say("The Skerry Light was lit [1]. It"), finish="length"
        )
        state = await wire.ask(LIT)
        assert len(wire.models.requests) == 2
        assert state.run and "cut off" in state.run.stop_reason
        wire.script["writer"] = lambda _: say("")
        await wire.fail(NoReport, "And since when?")
        assert len(wire.models.requests) == 4


@pytest.mark.slow
async def test_depth_auto_researches_a_large_question_with_the_same_calls_as_standard(
    wires: Wires,
) -> None:
    asked = {}
    for depth in ("auto", "standard"):
        script = {"clarifier": lambda _: use(("generate_plan", {}))}
        with wires(script, depth=depth) as wire:
            state = await wire.ask(LARGE)
            asked[depth] = wire.asked()
            assert state.plan and state.run and not state.run.is_quick
            offered = wire.requests("clarifier")[0].tools
            assert offered == ["generate_plan", *(["look_up"] if depth == "auto" else [])]
    assert asked["auto"] == asked["standard"]
