"""Carries out the researcher's tool call and writes its result into the notes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from pydantic import ValidationError
from typing_extensions import TypedDict

from deep_research.run.branch import ResearcherState, ToolRequest
from deep_research.run.context import Context, context_of
from deep_research.run.packets import (
    Document,
    OpenUrlDocuments,
    OpenUrlStart,
    OpenUrlUrls,
    Placement,
    SearchToolDocuments,
    SearchToolQueries,
    SearchToolStart,
    SectionEnd,
    document,
    emit,
)
from deep_research.run.pages import Pages, refer
from deep_research.run.spending import seconds_left, total
from deep_research.state import Action, Source, Spent
from deep_research.tools.offer import offered_tools
from deep_research.tools.outcome import Outcome, ResearchTool, ToolFailed
from deep_research.tools.results import read_results, write_results


class UseToolsUpdate(TypedDict, total=False):
    """What `use_tools` writes."""

    notes: list[AnyMessage]
    request: ToolRequest | None
    iteration: int
    step: int
    thinks: int
    seconds: float
    numbered: list[str]
    actions: list[Action]
    sources: dict[str, Source]
    spending: dict[str, Spent]


async def use_tools(state: ResearcherState, runtime: Runtime[Context]) -> UseToolsUpdate:
    """Run the requested tool; whatever happens becomes the result of the call."""
    context, request = context_of(runtime), state.request
    assert request is not None
    start = context.clock.seconds()
    inputs = _inputs(request)
    place = Placement(turn_index=state.task.turn, tab_index=state.task.position, sub_turn_index=state.step)
    _announce(runtime, place, request, inputs)
    outcome = await _carry_out(state, request, runtime)
    found = list(dict.fromkeys(hit.source.key for hit in outcome.hits))
    new = [key for key in found if key not in state.numbered]
    numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
    sources = {hit.source.key: hit.source for hit in outcome.hits}
    pages = Pages(runtime.store, state.task.question_id)
    for hit in outcome.hits:
        if hit.source.content_hash:
            await pages.keep(hit.text, hit.source.content_hash)
    reference = await pages.keep(write_results(outcome, numbers))
    _report(runtime, place, request, [document(source) for source in sources.values()])
    return UseToolsUpdate(
        notes=[refer(request.id, reference)],
        request=None,
        iteration=state.iteration + 1,
        step=state.step + 1,
        thinks=0,
        seconds=state.seconds + context.clock.seconds() - start,
        numbered=new,
        actions=[
            Action(id=request.id, tool=request.tool, inputs=inputs, found=tuple(found), problems=outcome.problems)
        ],
        sources=sources,
        # The ids of calls are unique within one researcher only.
        spending={f"{state.task.id}/{request.id}": _spent(request, outcome)},
    )


async def _carry_out(state: ResearcherState, request: ToolRequest, runtime: Runtime[Context]) -> Outcome:
    context = context_of(runtime)
    left, what = _left(state, request)
    if left is not None and left <= 0:
        return Outcome(problems=(f"Not run: {what}. Write down what was found.",))
    request = request.model_copy(update={"arguments": _first(request.arguments, left)})
    context = context.model_copy(update={"docs": tuple(map(Path, state.task.docs))})
    tool = offered_tools(context, await _excerpts(state, runtime))[request.tool]
    seconds = min(context.limits.tool_seconds, seconds_left(context.limits, state.seconds))
    try:
        async with asyncio.timeout(seconds):
            return await _run(tool, request)
    except TimeoutError:
        return Outcome(problems=(f"The tool did not finish within {seconds:g} s (tool_seconds).",))
    except ToolFailed as failure:
        return Outcome(problems=(str(failure),))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes the result of its call
        # Only its kind is told: a foreign error's text may hold addresses or keys.
        return Outcome(problems=(f"The tool failed ({type(error).__name__}).",))


def _left(state: ResearcherState, request: ToolRequest) -> tuple[int | None, str]:
    """How many queries or addresses the researcher may still use, and what to say when there are none."""
    used, task = total(state.spending), state.task
    if request.tool == "open_url":
        most, spent, what = task.fetches, used.fetches, "no pages are left to open (max_fetches)"
    else:
        most, spent, what = task.searches, used.searches, "no searches are left (max_searches)"
    return (None if most is None else most - spent), what


def _first(arguments: dict[str, Any], count: int | None) -> dict[str, Any]:
    """The arguments with at most so many entries in each list."""
    return {name: value[:count] if isinstance(value, list) else value for name, value in arguments.items()}


async def _run(tool: ResearchTool, request: ToolRequest) -> Outcome:
    try:
        arguments = tool.arguments.model_validate(request.arguments)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ToolFailed(f"Not run: the arguments are wrong ({faults}).") from error
    return await tool.run(arguments)


async def _excerpts(state: ResearcherState, runtime: Runtime[Context]) -> dict[str, str]:
    """What earlier searches showed of each address."""
    notes = await Pages(runtime.store, state.task.question_id).fill_in(state.notes)
    results = [result for note in notes if note.type == "tool" for result in read_results(note.text)]
    return {result["address"]: result["text"] for result in reversed(results)}


def _spent(request: ToolRequest, outcome: Outcome) -> Spent:
    return Spent(role=request.tool, searches=outcome.searches, fetches=outcome.fetches)


def _inputs(request: ToolRequest) -> tuple[str, ...]:
    values: Any = next(iter(request.arguments.values()), ())
    return tuple(map(str, values)) if isinstance(values, list | tuple) else (str(values),)


def _announce(runtime: Runtime[Context], place: Placement, request: ToolRequest, inputs: tuple[str, ...]) -> None:
    if request.tool == "open_url":
        emit(runtime.stream_writer, OpenUrlStart(placement=place), OpenUrlUrls(placement=place, urls=list(inputs)))
        return
    start = SearchToolStart(placement=place, is_internet_search=request.tool == "web_search")
    emit(runtime.stream_writer, start, SearchToolQueries(placement=place, queries=list(inputs)))


def _report(runtime: Runtime[Context], place: Placement, request: ToolRequest, documents: list[Document]) -> None:
    kind = OpenUrlDocuments if request.tool == "open_url" else SearchToolDocuments
    emit(runtime.stream_writer, kind(placement=place, documents=documents), SectionEnd(placement=place))
