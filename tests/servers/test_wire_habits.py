"""Bad habits of models and servers: the report is right all the same."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from kit.engines import Answer, found
from kit.openai_server import Received, Reply, say
from kit.wire import (
    FACTS,
    PADDING,
    Habit,
    Script,
    Wires,
    all_faults,
    is_right,
    plain_run,
    researched,
    role_of,
    task_of,
)
from test_wire_rungs import as_tags

pytestmark = pytest.mark.slow

Calls = Sequence[tuple[str, Any]]


UNREAD: dict[str, Callable[[Calls], str]] = {
    "gemma": lambda calls: "".join(
        f"<|tool_call>call:{name}{{{','.join(f'{key}:<|{each}|>' for key, each in given.items())}}}<tool_call|>"
        for name, given in calls
    ),
    "json in a fence": lambda calls: (
        f"```json\n{json.dumps([{'name': name, 'arguments': given} for name, given in calls])}\n```"
    ),
}
"""Forms that are recognised, and not read; the last is read where a call is due."""


def by_task(*habits: Habit) -> Habit:
    """Three models at once: each task goes by one of the habits, and who has no task by the first."""
    of_task = dict(zip(FACTS, habits, strict=True))
    return lambda reply, request: of_task.get(task_of(request), habits[0])(reply, request)


@pytest.mark.fault(8, 21)
@pytest.mark.parametrize("dialect", UNREAD)
async def test_a_call_in_an_unknown_format_is_requested_again_and_never_becomes_text(
    wires: Wires, dialect: str
) -> None:
    write, begun = UNREAD[dialect], set[str]()

    def habit(reply: Reply, request: Received) -> Reply:
        who = f"{role_of(request)} {task_of(request)}"
        is_first = who not in begun
        begun.add(who)
        if not reply.calls:
            # A plan, a finding or the report: a call stands in its place at first.
            return (
                replace(reply, text=write([("web_search", {"queries": ["light"]})]))
                if is_first
                else reply
            )
        has_call_format = "A call is written like this" in request.prompt
        return replace(reply, calls=(), text=(as_tags if has_call_format else write)(reply.calls))

    with wires(habit=habit) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert all_faults(wire.requests()) == []
        assert wire.asked()["writer"] == 2 and wire.asked()["planner"] == 2
    assert not re.search(
        r"TOOL_CALLS|tool_call[|>]|\(queries=", wire.prose() + repr(state.transcript)
    )


def first(script: Script, *bad: Habit) -> Script:
    """A role whose first answers, to each task, are bad ones."""
    left = defaultdict[str, Iterator[Habit]](lambda: iter(bad))

    def answer(request: Received) -> Reply:
        assert callable(script)
        good = script(request)
        return next(left[task_of(request)], lambda reply, _: reply)(good, request)

    return answer


def calling(change: Callable[[str, Any], tuple[str, Any]]) -> Habit:
    """A habit of calls."""
    return lambda reply, _: replace(reply, calls=tuple(change(*call) for call in reply.calls))


def fenced(name: str, given: Any) -> tuple[str, Any]:
    return name, given if isinstance(given, str) else f"```json\n{json.dumps(given)}\n```"


ONCE: list[list[Habit]] = [
    [
        # Unknown tools, arguments cut within a word, a message cut off at the limit.
        calling(lambda name, given: ("do_it_now", given)),
        calling(lambda name, given: (name, '{"queries": ["li')),
        lambda reply, _: replace(reply, finish="length"),
    ],
    [
        # Wrong arguments, nothing, only a thought.
        calling(lambda name, given: (name, {"query": 7})),
        lambda *_: say(""),
        lambda *_: say("<think>I shall call web_search.</think>"),
    ],
]
"""What may happen to three models that decide something, at first and when they are asked again."""


@pytest.mark.fault(8, 11, 12, 13, 14)
async def test_an_unusable_decision_is_requested_again_and_arguments_in_a_fence_are_read(
    wires: Wires,
) -> None:
    plain, bad = plain_run(), [by_task(*habits) for habits in ONCE]
    script = {role: first(plain[role], *bad) for role in ("orchestrator", "researcher")}
    with wires(script, habit=calling(fenced)) as wire:
        assert is_right(wire, await wire.ask())
        assert all_faults(wire.requests()) == []
        assert wire.asked() == {
            "clarifier": 1, "planner": 1, "orchestrator": 4, "researcher": 12, "finding": 3, "writer": 1
        }  # fmt: skip


DIRT = "\ud800\0\x1b\x07"
LEFT = re.compile(r"\\u00(00|07|1b)|[\ud800-\udfff]")
"""Dirt in JSON."""


@pytest.mark.fault(23, 51)
async def test_forbidden_characters_are_removed_wherever_they_enter(wires: Wires) -> None:
    """From models, in words, thoughts and arguments; from a search; from a page."""

    def dirty(reply: Reply, request: Received) -> Reply:
        calls = tuple((name, soiled(given)) for name, given in reply.calls)
        streams = task_of(request) != "keeper"
        return replace(
            reply, text=soiled(reply.text), reasoning=soiled("Well."), calls=calls, streams=streams
        )

    with wires({"researcher": researched}, habit=dirty) as wire:
        page = f"<html><title>Light{DIRT}</title><p>{FACTS['light']}{DIRT}&#0;&#xd800;&#27;</p><p>{PADDING}</p></html>"
        wire.web.publish("/light", page.encode("utf-8", "surrogatepass"))
        light = found(wire.web.url("/light"), f"Light{DIRT}", f"{FACTS['light']}{DIRT}")
        wire.engine.on("light", Answer([light]))
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        kept = [message.model_dump() for message in [*state.messages, *state.transcript]]
        kept += [
            record.model_dump() for record in [*state.findings.values(), *state.sources.values()]
        ]
        everything = [*kept, *wire.packets, *(request.json for request in wire.requests())]
    assert [
        each
        for each in everything
        if LEFT.search(json.dumps(each, ensure_ascii=False, default=str))
    ] == []
    assert is_right(wire, state)


def soiled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: soiled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [soiled(part) for part in value]
    return f"{value}{DIRT}" if value else value
