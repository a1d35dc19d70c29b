"""Words found only in the user's documents never reach search engines, whatever a model tries."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from kit.engines import Answer as ApiAnswer
from kit.engines import found
from kit.openai_server import Received, Reply, say, use
from kit.runs import Shelf, keep_results, new_tool_context
from kit.wire import END, Script, hand_out, search_for, tool_results, wire_lab
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.types import Command

from deep_research.core.dialogue.conversation import Conversation, marked
from deep_research.core.evidence.text.words import STOP_WORDS
from deep_research.core.library.library import Library
from deep_research.core.records.research import Run
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from deep_research.core.writing.notes import ReportNotes
from deep_research.nodes.begin import MIXES_PRIVATE
from deep_research.nodes.turn import OPENING
from deep_research.tools._redaction import everyday_words
from deep_research.tools._web_search import WebSearch, WebSearchArguments
from deep_research.tools.engine import Found
from deep_research.tools.offer import note_user
from deep_research.tools.tool import ToolContext, ToolFailed

ENGLISH = (
    "Project Kestrel: the board resolved to close the Leipzig bottling plant and to sell its patents to Moran and Sons "
    "for 43.7 million euros. Ingrid Vasquez leads the negotiations; account 7719-0042 receives the deposit of "
    "1,250,000 as soon as the unions of both sites have agreed, and nobody outside the steering committee may learn "
    "about the redundancies, which concern 212 employees, before the shareholders have met in Rotterdam."
)
CHINESE = "董事会决定关闭莱比锡灌装厂并将其专利出售给莫兰公司裁减二百一十二名员工此事不得外传"
SECRET = f"# Memorandum\n\n{ENGLISH}\n\n{CHINESE}。\n"
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u4e00-\u9fff]+")


def obedient(english: str = ENGLISH, chinese: str = CHINESE) -> list[str]:
    """The queries: slices of the document, its words joined by signs, and its two languages in one
    query."""
    words = english.split()
    slices = [" ".join(words[start : start + 8]) for start in range(0, len(words), 8)]
    signs = [chinese[start : start + 8] for start in range(0, len(chinese), 8)]
    return [
        *slices,
        *signs,
        *(text.replace(" ", "/") for text in slices),
        *(f"{words[1]}{text}" for text in signs),
    ]


def units(text: str) -> set[str]:
    """The words of a text, and the pairs of its Chinese characters."""
    words = {word.lower() for word in _WORD.findall(_HAN.sub(" ", text))}
    return words | {
        run[start : start + 2] for run in _HAN.findall(text) for start in range(len(run) - 1)
    }


def leaked(queries: Iterable[str], *public: str) -> set[tuple[str, str]]:
    """Words that only the document says and that are not everyday ones, with the query in which
    each stands."""
    private = units(SECRET) - set().union(*map(units, public)) - STOP_WORDS - everyday_words("en")
    return {(unit, query) for query in queries for unit in units(query) & private}


QUESTION = "What does a bottling plant cost, and how do its patents differ?"
PUBLIC = "A bottling plant costs 20 million euros in Saxony; the unions of Rotterdam are strong."
LIMITS = {"max_queries": 200, "max_searches": 400, "max_iterations": 30}
RUN = Run(
    id="question", question="", date="Monday", language="English", is_resumable=False, version="0"
)
RESULT = ApiAnswer([found("https://public.example/plant", "Plants", PUBLIC)])


def documents(folder: Path) -> tuple[Path, ...]:
    (folder / "docs").mkdir()
    (folder / "docs" / "memorandum.md").write_text(SECRET)
    return (folder / "docs",)


def said(request: Received) -> list[str]:
    return [problem for results in tool_results(request) for problem in results["problems"]]


def sending(*queries: str) -> Callable[[Received], Reply]:
    """A researcher that searches for its task, which may be the words of a finding, then sends
    these queries."""

    def researcher(request: Received) -> Reply:
        results, texts = (
            tool_results(request),
            [str(m["content"]) for m in request.messages if m["role"] == "user"],
        )
        task = next(text for text in texts if OPENING not in text).partition("\n\n")[0]
        turns = [search_for(task), search_for(*queries), END]
        return turns[min(sum(not each["results"] or "Plants" in str(each) for each in results), 2)]

    return researcher


def leading(request: Received) -> Reply:
    rounds = request.prompt.count("Found:")
    return END if rounds > 1 else hand_out(ENGLISH if rounds else QUESTION)


SCRIPT: dict[str, Script] = {
    "orchestrator": leading,
    "researcher": sending(*obedient()),
    "finding": lambda _: say(f"Found: {ENGLISH} {CHINESE} [1]"),
    "planner": lambda _: say(f"1. {ENGLISH}"),
}


@pytest.mark.fault("R8")
@pytest.mark.parametrize("whole", [0, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_an_obedient_researcher_sends_no_word_that_only_documents_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    limits = {**LIMITS, "whole_characters": whole}
    with wire_lab(
        tmp_path / "data",
        monkeypatch,
        SCRIPT,
        docs=documents(tmp_path),
        limits=limits,
        verify="off",
    ) as wire:
        wire.engine.otherwise = RESULT
        state = await wire.ask(QUESTION)
        assert state.run
        assert QUESTION in wire.engine.queries
        assert not leaked(wire.engine.queries, QUESTION, PUBLIC, state.run.date)
        problems = " ".join(
            problem for request in wire.requests("finding") for problem in said(request)
        )
        assert "'Kestrel'" in problems and "stand only in the user's documents" in problems
        [note] = [
            note for note in ReportNotes(state).lines() if "are only in your documents" in note
        ]
        assert note in state.messages[-1].text and "mix_private" in note


CODED = base64.b64encode(SECRET.encode()).decode()


def sent_of(*texts: str, size: int) -> list[str]:
    return [text[start : start + size] for text in texts for start in range(0, len(text), size)]


WAYS: dict[str, tuple[list[str], Callable[[list[str]], int]]] = {
    "English": (sent_of(ENGLISH, size=50), lambda queries: sum(map(len, private_words(queries)))),
    "Chinese": (sent_of(CHINESE, size=7), lambda queries: 3 * len(private_words(queries))),
    "base64": (
        sent_of(CODED, size=40),
        lambda queries: sum(map(len, {*re.findall(r"\w+", " ".join(queries))})),
    ),
}


def private_words(queries: list[str]) -> set[str]:
    return {word for word, _ in leaked(queries, QUESTION, PUBLIC)}


@pytest.mark.sweep
@pytest.mark.fault("R8")
@pytest.mark.parametrize("way", WAYS)
async def test_where_mixing_is_allowed_a_run_sends_no_more_than_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Two researchers one after the other send what they have read; they share the budget, and the
    run says so."""
    parts, letters = WAYS[way]
    script = {
        **SCRIPT,
        "researcher": lambda request: END if tool_results(request) else search_for(*parts),
    }
    limits = {**LIMITS, "max_unseen_characters": 100, "whole_characters": 0}
    with wire_lab(
        tmp_path / "data",
        monkeypatch,
        script,
        docs=documents(tmp_path),
        limits=limits,
        verify="off",
        mix_private=True,
    ) as wire:
        state = await wire.ask(QUESTION)
        problems = " ".join(
            problem for request in wire.requests("finding") for problem in said(request)
        )
    assert 40 < letters(wire.engine.queries) <= 100
    assert "(max_unseen_characters)" in problems
    assert (
        state.run
        and MIXES_PRIVATE in state.run.notices
        and MIXES_PRIVATE in state.messages[-1].text
    )


async def test_a_question_goes_on_with_the_mixing_that_it_was_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {
        **SCRIPT,
        "clarifier": [say("Which plant?"), use(("generate_plan", {}))],
        "researcher": sending(*obedient()[1::4]),
    }
    with wire_lab(
        tmp_path / "data", monkeypatch, script, docs=documents(tmp_path), limits=LIMITS
    ) as wire:
        wire.engine.otherwise, wire.settings["verify"] = RESULT, "off"
        await wire.ask(QUESTION)
        wire.settings["mix_private"] = True
        state = await wire.ask(Command(resume="The one in Leipzig."))
        assert state.run and not state.run.scope.mix_private
        assert not leaked(wire.engine.queries, QUESTION, PUBLIC, state.run.date, "Leipzig.")
        assert any("Leipzig" in query for query in wire.engine.queries), "the user has named it"


CLUB = """
# Minutes of the rowing club

The committee discussed the price of a new boat, the annual fee and the cost of winter training. Vera Oberholt will
negotiate with the builder at the Otterness yard. The temperature of the lake fell to 4 degrees in February.
"""
WEB = "Filippi and Empacher build eights for 45,000 euros; carbon riggers cost more. A hull is delivered by road."


async def club_search(tmp_path: Path, **limits: int) -> tuple[WebSearch, Shelf, ToolContext]:
    """A search of one engine beside the private minutes of the club."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "minutes.md").write_text(CLUB)
    context = Context(
        docs=(tmp_path / "docs",), data_dir=tmp_path / "data", limits=Limits(**limits)
    )
    await asyncio.to_thread(Library(context).refresh)
    tool_context, shelf = (
        new_tool_context(),
        Shelf("shelf", Found("Boats", "https://boats.example/", WEB)),
    )
    return WebSearch(context, [shelf], tool_context), shelf, tool_context


async def test_queries_from_the_question_public_pages_and_what_everybody_knows_are_sent_as_they_are(
    tmp_path: Path,
) -> None:
    tool, shelf, tool_context = await club_search(tmp_path)

    async def search(*queries: str) -> str:
        try:
            outcome = await tool.run(WebSearchArguments(queries=list(queries)))
        except ToolFailed as failure:
            return str(failure)
        await keep_results(outcome, tool_context)
        return " ".join(outcome.problems)

    await note_user(tool_context.pages, [HumanMessage("What does an eight for rowers cost?")], RUN)
    first = [
        "eight for rowers price 2026",
        '"Stämpfli" eight, oars cost',
        "FISA boat weight rules",
        "八人艇价格",
    ]
    assert [await search(query) for query in first] == [""] * 4
    assert shelf.asked == first
    assert not await search("Filippi or Empacher hull, carbon riggers")
    assert not await search("eights discussed price negotiate")
    instead = (
        "Searched 'price yard' instead of 'price at the Otterness yard': 'Otterness' stand only"
    )
    assert instead in await search("price at the Otterness yard")
    assert "'Vera', 'Oberholt'" in await search("Vera Oberholt rowers")
    assert "Not searched: '“Oberholt”': 'Oberholt'" in await search("“Oberholt”")
    assert shelf.asked[6:] == ["price yard", "rowers"]


@pytest.mark.fault("R8")
async def test_unseen_words_are_sent_up_to_a_number_of_letters(tmp_path: Path) -> None:
    tool, shelf, _ = await club_search(tmp_path, max_unseen_characters=20)
    arguments = WebSearchArguments(
        queries=["boat Stämpfli", "weight FISA Stämpfli", f"boat {CODED[:40]}"]
    )
    outcome = await tool.run(arguments)
    assert shelf.asked == ["boat Stämpfli", "weight FISA Stämpfli", "boat"]
    assert [
        CODED[:40] in problem and "(max_unseen_characters)" in problem
        for problem in outcome.problems
    ] == [True]


def test_the_planners_lines_of_a_plan_that_the_user_has_edited_are_not_the_users_words() -> None:
    plan_shown = marked("1. Project Kestrel\n2. Prices", "plan")
    copied = HumanMessage("1. Project Kestrel\n2. Prices")
    edited = HumanMessage("1. Project Kestrel\n2. Prices of plants")
    messages: list[AnyMessage] = [HumanMessage("What does it cost?"), plan_shown, copied, edited]
    assert Conversation(messages).texts_of_user == ["What does it cost?", "2. Prices of plants"]
