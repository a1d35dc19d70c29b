"""The retries of a run's model calls share one budget of waiting time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any

import pytest
from kit.model_calls import Model, Wire
from kit.openai_server import fail, say
from kit.runs import HandClock
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from openai import APIConnectionError, APIStatusError
from typing_extensions import TypedDict

from deep_research.core.models._faults import AnswerBroken, AnswerSilent
from deep_research.core.models._retries import RetryBudget, retry_budget_of
from deep_research.core.models.resolve import resolve_model
from deep_research.core.settings.limits import Limits

Start = Callable[[], AsyncGenerator[AIMessage, None]]
MODEL = "fake-1"


class Run:
    """Makes calls that share a retry budget, and records the waits instead of waiting."""

    def __init__(self, **limits: float) -> None:
        self.budget = RetryBudget(Limits.model_validate(limits), self.sleep, lambda: 0.0)
        self.slept: list[float] = []
        self.time = 0.0
        self.shown_waits: list[tuple[float, str]] = []
        self.restarts = 0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0.001)
        self.time += seconds

    async def __call__(self, start: Start, *, may_repeat: bool = False, model: str = MODEL) -> str:
        text = ""
        stream = self.budget.stream(
            start,
            model,
            may_repeat=lambda: may_repeat,
            on_wait=lambda *wait: self.shown_waits.append(wait),
        )
        async for part in stream:
            self.restarts += part is None
            text = "" if part is None else text + part.text
        return text


def to(model: Model) -> Start:
    """A call to this model."""
    called: Any = resolve_model("planner", model.context)
    return lambda: called.astream("What is known?")


@pytest.mark.fault(1, logs="INFO core.models._retries")
async def test_a_call_waits_as_long_as_the_server_asks_and_the_wait_is_shown(wire: Wire) -> None:
    run, model = Run(), wire([fail(429, retry_after=7), say("Yes.")])
    assert await run(to(model)) == "Yes."
    assert run.slept == [7]
    assert run.shown_waits == [(7, "the provider asks to wait (HTTP 429)")]
    assert len(model.requests) == 2
    assert run.budget.seconds_left == 113


@pytest.mark.fault(2)
async def test_a_wait_beyond_the_budget_is_not_started(wire: Wire) -> None:
    run, model = Run(), wire([fail(429, retry_after=3600)])
    with pytest.raises(APIStatusError):
        await run(to(model))
    assert run.slept == []
    assert len(model.requests) == 1


@pytest.mark.fault(3)
async def test_parallel_calls_do_not_hammer_a_rate_limited_server(wire: Wire) -> None:
    run = Run()
    model = wire(lambda _: fail(429) if run.time < 10 else say("Yes."))
    answers = await asyncio.gather(*(run(to(model)) for _ in range(5)))
    assert answers == ["Yes."] * 5
    assert run.slept == [0.5, 1, 2, 4, 8]
    assert len(model.requests) <= 5 + 5 + 4
    assert run.budget.seconds_left == 120 - 15.5


async def test_calls_of_another_model_do_not_wait() -> None:
    run, other = Run(), asyncio.Event()

    async def slow() -> AsyncGenerator[AIMessage, None]:
        if not run.slept:
            raise AnswerBroken("", {"code": 429})
        await other.wait()
        yield AIMessageChunk(content="One.")

    async def quick() -> AsyncGenerator[AIMessage, None]:
        other.set()
        yield AIMessageChunk(content="Two.")

    assert list(await asyncio.gather(run(slow), run(quick, model="fake-2"))) == ["One.", "Two."]


@pytest.mark.fault(3, logs="INFO core.models._retries")
async def test_a_server_that_stays_rate_limited_uses_up_the_budget_and_no_more(wire: Wire) -> None:
    run, model = Run(retry_seconds=20), wire(lambda _: fail(429))
    results = await asyncio.gather(*(run(to(model)) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, APIStatusError) for result in results)
    assert sum(run.slept) == 15.5
    assert len(model.requests) == 3 + 5


@pytest.mark.fault(4)
@pytest.mark.fault(4, logs="INFO core.models._retries")
async def test_a_failing_server_is_called_again_twice(wire: Wire) -> None:
    run, model = Run(), wire([fail(500), fail(504), say("Yes.")])
    assert await run(to(model)) == "Yes."
    assert run.slept == [0.5, 1]
    run, model = Run(), wire([fail(500), fail(504), fail(500), say("Yes.")])
    with pytest.raises(APIStatusError):
        await run(to(model))
    assert run.slept == [0.5, 1]
    assert len(model.requests) == 3


@pytest.mark.sweep
@pytest.mark.fault(70)
@pytest.mark.parametrize("status", [502, 503])
async def test_calls_wait_together_while_the_server_restarts(wire: Wire, status: int) -> None:
    run = Run()
    model = wire(lambda _: fail(status) if run.time < 60 else say("Yes."))
    assert await asyncio.gather(*(run(to(model)) for _ in range(3))) == ["Yes."] * 3
    assert run.slept == [0.5, 1, 2, 4, 8, 10, 10, 10, 10, 10]
    assert run.shown_waits[0] == (0.5, f"no answer from the model's server (HTTP {status})")


@pytest.mark.fault(70)
async def test_a_server_that_stays_away_uses_up_the_budget_and_no_more(wire: Wire) -> None:
    run, model = Run(retry_seconds=20), wire(lambda _: fail(503))
    results = await asyncio.gather(*(run(to(model)) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, APIStatusError) for result in results)
    assert sum(run.slept) == 15.5


@pytest.mark.fault(70)
async def test_a_server_where_nobody_listens_is_waited_for_only_if_it_has_answered(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, model = Run(retry_seconds=20), wire([say("Yes.")])
    answers = to(model)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    is_gone = to(model)
    with pytest.raises(APIConnectionError):
        await run(is_gone)
    assert run.slept == [0.5, 1], "the address may be wrong"
    assert await run(answers) == "Yes."
    with pytest.raises(APIConnectionError):
        await run(is_gone)
    assert run.slept[2:] == [0.5, 1, 2, 4, 8]
    further = Run(retry_seconds=20)
    with pytest.raises(APIConnectionError):
        await further(is_gone)
    assert further.slept == [0.5, 1, 2, 4, 8], "it has answered in the run before"


async def test_without_seconds_to_wait_nothing_is_retried(wire: Wire) -> None:
    run, model = Run(retry_seconds=0), wire([fail(503), say("Yes.")])
    with pytest.raises(APIStatusError):
        await run(to(model))
    assert len(model.requests) == 1


@pytest.mark.fault(24)
@pytest.mark.parametrize("status", [400, 401])
async def test_a_rejected_request_is_not_repeated(wire: Wire, status: int) -> None:
    model = wire([fail(status)])
    with pytest.raises(APIStatusError):
        await Run()(to(model))
    assert len(model.requests) == 1


@pytest.mark.fault(7)
async def test_a_silent_call_is_repeated_once() -> None:
    async def answer(run: Run, silences: int) -> str:
        tries = iter([AnswerSilent(0.1, "idle_seconds")] * silences)

        async def start() -> AsyncGenerator[AIMessage, None]:
            if silent := next(tries, None):
                raise silent
            yield AIMessageChunk(content="Yes.")

        return await run(start)

    assert await answer(Run(), 1) == "Yes."
    with pytest.raises(AnswerSilent):
        await answer(Run(), 2)


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83")
@pytest.mark.parametrize("ending", ["cut", "broken", "reset"])
async def test_a_broken_answer_is_requested_once_more_unless_it_was_shown(
    wire: Wire, ending: Any
) -> None:
    run, broken = Run(), say("It was lit in 1844.", ending=ending, after=3)
    model = wire([broken, broken, say("Yes.")])
    with pytest.raises(Exception, match=r"broke off|Connection error|incomplete answer"):
        await run(to(model))
    assert len(model.requests) == 1
    assert await run(to(model), may_repeat=True) == "Yes."
    assert run.restarts == 1


@pytest.mark.behaviour("O-83")
async def test_a_call_that_fails_before_its_first_words_is_repeated(wire: Wire) -> None:
    run = Run()
    broken = [say("It was", ending="cut", after=0), say("It was", ending="reset", after=1)]
    model = wire([*broken, say("Yes.")])
    assert await run(to(model)) == "Yes."
    assert run.restarts == 0
    assert len(model.requests) == 3


class Asks(TypedDict, total=False):
    """The state of a graph whose node makes a call."""

    question: Annotated[str, lambda _, latest: latest]


async def budgets_of_a_run(*questions: str) -> list[RetryBudget]:
    """The retry budgets of calls for these questions in one graph run; they are made in an inner
    graph."""
    found: list[RetryBudget] = []

    async def call(state: Asks) -> Asks:
        found.append(retry_budget_of(state["question"], Limits(), HandClock()))
        return {}

    inner = StateGraph(Asks).add_node("call", call).add_edge(START, "call").compile()
    outer = StateGraph(Asks).add_node("inner", inner)
    outer.add_conditional_edges(
        START, lambda _: [Send("inner", {"question": question}) for question in questions]
    )
    await outer.compile().ainvoke({})
    return found


async def test_a_question_has_one_budget_in_each_run_of_a_graph() -> None:
    first, again, other = await budgets_of_a_run("a", "a", "b")
    assert first is again
    assert other is not first
    assert (await budgets_of_a_run("a"))[0] is not first
    outside, again = (retry_budget_of("a", Limits(), HandClock()) for _ in range(2))
    assert outside is not again, "no graph, no run"
