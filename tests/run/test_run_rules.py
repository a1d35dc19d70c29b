"""Pure functions of a run: reading calls, plans, replies to a plan, the conversation; and the tree
of errors."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.models import call, calls
from kit.runs import broken_call, every_call_has_one_result
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from deep_research.core import errors
from deep_research.core.concurrency import PerLoop, in_pieces
from deep_research.core.dialogue.conversation import marked
from deep_research.core.dialogue.plan_text import PlanText
from deep_research.core.dialogue.transcripts import Calls
from deep_research.core.events.log import Log, StoredLog
from deep_research.core.events.packets import Placement, ReasoningDelta
from deep_research.core.records.research import Plan, Progress, Run
from deep_research.core.settings.context import Context
from deep_research.core.store.pages import Pages
from deep_research.nodes._answers import read_answer, reviewed
from deep_research.nodes._facts import facts_of_run
from deep_research.nodes._orders import decide
from deep_research.state import ResearchState

TOOLS = {"research_agent", "generate_report", "think_tool"}
NAMES = st.sampled_from([*sorted(TOOLS), "browse", ""])
IDS = st.sampled_from(["a", "b", "a-2", None, ""])
CALLS = st.lists(
    st.one_of(
        st.builds(
            lambda name, i, text: call(name, id=i, task=text), NAMES, IDS, st.text(max_size=3)
        ),
        st.builds(lambda name, i: broken_call(name, "{", id=i), NAMES, IDS),
    ),
    max_size=6,
)


@given(
    CALLS,
    st.booleans(),
    st.sets(st.sampled_from(["a", "b", "call-0"])),
    st.integers(0, 4),
    st.booleans(),
)
def test_every_call_of_a_model_gets_exactly_one_result(
    entries: list[Any], is_cut: bool, taken: set[str], thinks: int, has_findings: bool
) -> None:
    message = calls(*entries, **({"finish_reason": "length"} if is_cut else {}))
    read = Calls.read(message, TOOLS, taken=taken)
    progress = Progress(thinks=thinks, mistakes=thinks)
    order = decide(read, progress, has_findings=has_findings, has_assigned=True)
    given_ids = [entry["id"] for entry in read.message.tool_calls]
    assert len(given_ids) == len(entries)
    assert not taken & set(map(str, given_ids))
    assert every_call_has_one_result(read.answered(order.answers))
    assert len(order.tasks) <= 3
    assert {call_id for call_id, _ in order.tasks} == {
        i for i, text in order.answers.items() if not text
    }
    if is_cut:
        assert not order.tasks


@given(st.text(max_size=200), st.integers(1, 8))
def test_a_plan_has_at_least_one_step_and_never_more_than_allowed(text: str, most: int) -> None:
    plan = PlanText.read(text).plan(most)
    assert 1 <= len(plan.steps) <= most


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. One\n2. Two", ("One", "Two")),
        ("1) One\n   more of it\n\n2) Two", ("One more of it", "Two")),
        ("- One\n* Two", ("One", "Two")),
        ("Just one thing", ("Just one thing",)),
        ("1、一\n2、二", ("一", "二")),
        ("In 1844. it was lit", ("In 1844. it was lit",)),
    ],
)
def test_the_steps_of_a_plan_are_parsed_in_any_common_format(
    text: str, steps: tuple[str, ...]
) -> None:
    plan = PlanText.read(text).plan(6)
    assert plan.steps == steps
    assert plan.text == text


@pytest.mark.parametrize(
    ("words", "review", "steps"),
    [
        ("Approve", "approved", "a"),
        ("  Looks good!\n", "approved", "a"),
        ("Einverstanden.", "approved", "a"),
        ("¡Sí, por favor!", "approved", "a"),
        ("はい。", "approved", "a"),
        ("D’accord !", "approved", "a"),
        ("Yes, but leave out step 2", "rejected", "a"),
        ("1. New\n2. Newer", "approved", "New, Newer"),
        ("1) New\n   with a remark\n2) Newer", "approved", "New with a remark, Newer"),
        ("1. is too broad", "rejected", "a"),
        ("2. is too broad\n3. is dear", "rejected", "a"),
        ("Do this:\n1. New\n2. Newer", "rejected", "a"),
    ],
)
def test_a_reply_to_a_plan_approves_edits_or_comments_on_it(
    words: str, review: str, steps: str
) -> None:
    answer = read_answer(words, ("respond",), 100)
    plan = reviewed(Plan(text="1. a", steps=("a",)), answer, 6)
    assert (plan.review, ", ".join(plan.steps)) == (review, steps)
    assert plan.comment == ("" if review == "approved" else words)


@pytest.mark.parametrize("reply", ["yes", "Looks good!", "ok", "Ja, bitte."])
def test_an_approval_of_the_plan_does_not_become_part_of_the_question(reply: str) -> None:
    run = Run(id="q", question="?", date="", language="English", is_resumable=True, version="0")
    shown: list[AnyMessage] = [
        HumanMessage("Who built Petra?"),
        marked("1. Petra", "plan"),
        HumanMessage(reply),
    ]
    commented: list[AnyMessage] = [*shown[:2], HumanMessage("Look at the tombs as well")]
    asked = [
        facts_of_run(ResearchState(messages=messages, run=run), Context()).request
        for messages in (shown, commented)
    ]
    assert asked == ["Who built Petra?", "Who built Petra?\nLook at the tombs as well"]


def test_each_event_loop_has_its_own_value_and_closed_loops_are_released() -> None:
    locks = PerLoop(asyncio.Lock)
    ended: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def contend() -> asyncio.Lock:
        ended.append(weakref.ref(asyncio.get_running_loop()))

        async def hold() -> None:
            async with locks.get():
                await asyncio.sleep(0)

        # A lock that was waited for refers to its loop.
        await asyncio.gather(hold(), hold())
        assert locks.get() is locks.get()
        return locks.get()

    for _ in range(3):
        asyncio.run(contend())
    gc.collect()
    assert sum(loop() is not None for loop in ended) <= 1


async def test_pieces_of_a_thought_are_stored_as_one_but_not_with_those_of_another_researcher() -> (
    None
):
    pages = Pages(InMemoryStore(), "thread")
    log, here, there = (
        Log(pages, "q"),
        Placement(turn_index=1),
        Placement(turn_index=1, tab_index=1),
    )
    for placement, piece in (
        (here, "It was "),
        (here, "lit "),
        (there, "She kept it."),
        (here, "in 1844."),
    ):
        log.append(ReasoningDelta(placement=placement, reasoning=piece).model_dump(mode="json"))
    await log.flush()
    stored = [
        (packet["placement"]["tab_index"], packet["reasoning"])
        for packet in await StoredLog(pages, "q").read()
    ]
    assert stored == [(0, "It was lit "), (1, "She kept it."), (0, "in 1844.")]


WIDTH = 4
"""Characters by which each level of the drawn tree of errors is indented."""


def test_the_tree_of_errors_draws_each_below_its_parent() -> None:
    path, drawn = ["DeepResearchError"], dict[str, str]()
    for indent, name in re.findall(r"^([│ ]*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE):
        path[len(indent) // WIDTH + 1 :] = [name]
        drawn[name] = path[-2]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    own = [
        kind
        for kind in kinds
        if issubclass(kind, errors.DeepResearchError) and kind.__module__ == errors.__name__
    ]
    assert drawn == {
        kind.__name__: next(base.__name__ for base in kind.__bases__ if base in own)
        for kind in own
        if kind is not errors.DeepResearchError
    }


@pytest.mark.fault("57")
async def test_work_in_pieces_keeps_its_order_and_ends_soon_after_its_cancellation() -> None:
    assert await in_pieces(abs, [-1, 2, -3]) == [1, 2, 3]
    loop = asyncio.get_running_loop()
    has_begun = asyncio.Event()

    def work(_: int) -> None:
        loop.call_soon_threadsafe(has_begun.set)

    task = asyncio.create_task(in_pieces(work, range(sys.maxsize)))
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Waits for the threads: endless work that goes on would never end.
    await loop.shutdown_default_executor()
