"""Runs research tools within the allowance of a researcher, step or run, one by one or as a round
of searches; failures become results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage
from langgraph.errors import GraphBubbleUp
from pydantic import ValidationError

from ..core.concurrency import gather_or_cancel
from ..core.dialogue.transcripts import NOT_RUN
from ..core.errors import DeepResearchError, failure_of, log_failure
from ..core.events.blocks import ToolPackets
from ..core.events.call import CallEvents
from ..core.events.packets import Placement
from ..core.events.tracing import traced_tool
from ..core.evidence.text.similarity import distinct, interleave
from ..core.masking import Secrets
from ..core.reading.web_page import WebReader
from ..core.records import tool_names
from ..core.records.research import Action, Scope
from ..core.records.sources import NotRead, Source, short_hash, text_hash, unopened
from ..core.settings.context import Context, Watch
from ..core.store.pages import Pages
from ..state import StepState
from ._addresses import Addresses
from ._open_url import WebPages
from ._redaction import SHOWN_RESULTS, note_shown
from .engine import RETRIEVED
from .offer import (
    DOCUMENTS_CALL,
    ToolOffer,
)
from .results import Result, results_in, write_results
from .tool import Hit, Meter, Outcome, ResearchTool, ToolContext, ToolFailed, sources_of

logger = logging.getLogger(__name__)
READ_PER_QUERY = 1
"""Pages opened per query of a round in which no model chooses pages."""
_NEVER_SENT = (
    "the arguments hold a key or password of this system's settings, which is never sent. Leave it "
    "out."
)


class TimeLimit(NamedTuple):
    """Time limit of a tool call."""

    seconds: float
    """Zero or less if no time is left."""
    limit: str
    """Name of the setting behind the limit."""


async def carry_out(tool: ResearchTool, arguments: dict[str, Any], time: TimeLimit) -> Outcome:
    """Call a tool and return the outcome; a failure or timeout becomes a problem, a sentence for
    the model.

    Raises `DeepResearchError`, which only the user can resolve.
    """
    if time.seconds <= 0:
        return _not_run(f"no time is left ({time.limit}). Write down what was found.")
    clock = asyncio.timeout(time.seconds)
    try:
        async with clock:
            return await _run(tool, arguments)
    except ToolFailed as failure:
        kinds: tuple[str, ...] = ()
        cause = failure.__cause__
        if cause:
            log_failure(__name__, cause, "%s failed", tool.name, keeps_text=True)
            kinds = (type(cause).__name__,)
        else:
            logger.info("%s had no result, and the model is shown why", tool.name)
        return Outcome(
            problems=(str(failure),),
            not_read=failure.not_read,
            redacted=failure.redacted,
            failed=kinds,
        )
    except DeepResearchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes its result
        # The logs may quote errors of tools that the app itself passed.
        keeps_text = tool.name not in tool_names.OURS
        log_failure(__name__, error, "%s failed", tool.name, keeps_text=keeps_text)
        if isinstance(error, TimeoutError) and clock.expired():
            seconds = f"{round(time.seconds, 3):g} s"
            return _broken(f"The tool did not finish within {seconds} ({time.limit}).", time.limit)
        # For third-party exceptions only the type is reported: the text may hold addresses or keys.
        return _broken(f"The tool failed ({type(error).__name__}).", type(error).__name__)


def _not_run(reason: str) -> Outcome:
    return Outcome(problems=(f"{NOT_RUN} {reason}",))


def _broken(words: str, kind: str) -> Outcome:
    return Outcome(problems=(words,), broken=(words,), failed=(kind,))


async def _run(tool: ResearchTool, arguments: dict[str, Any]) -> Outcome:
    """Check the arguments and call the tool; raises `ToolFailed` for invalid arguments."""
    try:
        checked = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        faults: list[str] = []
        for fault in error.errors():
            location = ".".join(map(str, fault["loc"]))
            faults.append(f"{location}: {fault['msg']}")
        raise ToolFailed(f"{NOT_RUN} the arguments are wrong ({'; '.join(faults)}).") from None
    return await tool.run(checked)


async def use_tool(
    name: str,
    arguments: dict[str, Any],
    context: Context,
    tool_context: ToolContext,
    time: TimeLimit,
) -> Outcome:
    """Run the tool unless its allowance is used up or its arguments contain secrets; raises
    `DeepResearchError`."""
    reason = tool_context.meter.used_up(name)
    if reason:
        logger.warning("%s was not called: %s", name, reason)
        return _not_run(f"{reason}. Write down what was found.")
    if Secrets(context.mcp).are_in(arguments):
        logger.warning("%s was not called: its arguments hold a secret of the settings", name)
        return _not_run(_NEVER_SENT)
    tool_context.meter.calls += 1
    work = partial(carry_out, ToolOffer(context).tool(name, tool_context), arguments, time)
    if name in tool_names.OURS:
        outcome = await traced_tool(name, arguments, work, _shown)
    else:
        # LangChain traces its own tools.
        outcome = await work()
    outcome = _without_excluded(outcome, tool_context.excluded)
    return outcome._replace(asked=tuple(tool_context.meter.asked))


def _without_excluded(outcome: Outcome, excluded: Collection[str]) -> Outcome:
    """Return an outcome without results from excluded sources, and with a sentence on these."""
    kept = tuple(hit for hit in outcome.hits if hit.source.key not in excluded)
    left_out = len(outcome.hits) - len(kept)
    if not left_out:
        return outcome
    problem = f"{left_out} results were left out: the user has excluded these sources."
    return outcome._replace(hits=kept, problems=(*outcome.problems, problem))


def _shown(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as traces show it."""
    found: list[dict[str, str]] = []
    for hit in outcome.hits:
        found.append(
            {"title": hit.source.title, "address": hit.source.address, "text": hit.excerpt}
        )
    return {"found": found, "problems": list(outcome.problems)}


async def read_pages(
    addresses: Sequence[str], context: Context, tool_context: ToolContext
) -> list[Hit | NotRead | str]:
    """Read web pages, as many at once as one call of a tool may open.

    Return for each its hit, or why it was not read: a sentence if it was not requested.
    """
    await Addresses(tool_context.pages, tool_context.question_id).allow(addresses)
    web = WebPages(context, tool_context)
    most = context.limits.max_open
    results = list[Hit | NotRead | str]()
    async with WebReader(context) as reader:
        for start in range(0, len(addresses), most):
            batch = addresses[start : start + most]
            results += await gather_or_cancel(web.read(address, reader) for address in batch)
    return results


async def keep(
    outcome: Outcome,
    numbers: Mapping[str, int],
    pages: Pages,
    question_id: str,
    earlier: Iterable[Result] = (),
    *,
    is_shared: bool = False,
) -> str:
    """Store the results in full, and the text in which the model is shown them; return the hash of
    that text.

    `numbers`: of the sources, by key. `earlier`: results shown before, which are not repeated.
    `is_shared`: whether the text must be identical in several conversations, so that providers
    cache it. The pages found may be opened from now on.
    """
    fence_name = short_hash(question_id)[:8] if is_shared else ""
    shown = write_results(outcome, numbers, earlier, fence_name)
    reference = text_hash(shown)
    whole: dict[str, str] = {}
    excerpts: dict[str, str] = {}
    found_on_web: list[str] = []
    records: dict[str, dict[str, Any]] = {}
    for hit in outcome.hits:
        source = hit.source
        if source.content_hash and not hit.is_kept:
            whole[source.content_hash] = hit.text
        if source.excerpts:
            excerpts[text_hash(hit.excerpt)] = hit.excerpt
        if source.kind == "web":
            found_on_web.append(source.address)
        is_recorded = source.address.startswith(RETRIEVED) or source.is_earlier
        if is_recorded and not hit.is_kept:
            records[source.address] = {"source": source.model_dump(), "links": []}
    texts = {**whole, **excerpts, reference: shown}
    async with pages.lock(SHOWN_RESULTS):
        notes = await note_shown(pages, outcome, reference)
        await Addresses(pages, question_id).allow(found_on_web, texts, records, notes)
    return reference


@contextmanager
def shown_use(
    events: CallEvents,
    placement: Placement,
    name: str,
    inputs: Sequence[str],
    scope: Scope,
    meters: Sequence[Meter],
) -> Iterator[list[Outcome]]:
    """Emit the packets of a tool use and record its cost in any case; the block appends the
    outcomes."""
    packets = ToolPackets(placement, name)
    events.emit(*packets.start(inputs, scope))
    outcomes: list[Outcome] = []
    try:
        yield outcomes
    finally:
        for meter in meters:
            events.bill.add(meter.spent(name))
        failed: list[str] = []
        for outcome in outcomes:
            failed += [f"{file.path}: {file.reason}" for file in outcome.not_read]
        for outcome in outcomes:
            failed += outcome.broken
        sources = sources_of(outcomes).values()
        events.emit(*packets.end(sources, failed))


def action_of(
    action_id: str, name: str, inputs: Iterable[str], outcomes: Sequence[Outcome]
) -> Action:
    """Return the record of a tool use with these outcomes."""
    # Dicts keep each entry once, in order.
    problems: dict[str, None] = {}
    not_read: dict[NotRead, None] = {}
    redacted: dict[str, None] = {}
    broken: dict[str, None] = {}
    partial: dict[str, None] = {}
    asked: dict[str, None] = {}
    failed: list[str] = []
    fault = ""
    for outcome in outcomes:
        problems |= dict.fromkeys(outcome.problems)
        not_read |= dict.fromkeys(outcome.not_read)
        redacted |= dict.fromkeys(outcome.redacted)
        partial |= dict.fromkeys(outcome.partial)
        asked |= dict.fromkeys(outcome.asked)
        failed += outcome.failed
        if not outcome.failed:
            broken |= dict.fromkeys(outcome.broken + outcome.replaced)
        fault = fault or outcome.fault
    return Action(
        id=action_id,
        tool=name,
        inputs=tuple(inputs),
        found=tuple(sources_of(outcomes)),
        problems=tuple(problems),
        not_read=tuple(not_read),
        redacted=tuple(redacted),
        failed=tuple(failed),
        broken=tuple(broken),
        partial=tuple(partial),
        asked=tuple(asked),
        fault=fault,
    )


class SearchRound:
    """Makes the tool calls of one iteration of a step and emits their packets; the fields are the
    results."""

    def __init__(
        self, state: StepState, context: Context, pages: Pages, events: CallEvents, watch: Watch
    ) -> None:
        self.state = state
        self.context = context
        self.pages = pages
        self.events = events
        self.watch = watch
        self.task = state.task
        self.turn = state.turn
        self.actions = list[Action]()
        """The tool calls made."""
        self._reads_first = self.task.scope.reads_all and state.iteration == 1
        self.queries: list[str] = []
        """The queries sent, and the step's title if all documents were read."""
        self._outcomes: list[Outcome] = []
        self._earlier: list[Result] = []
        """The results of earlier rounds, as shown to the model."""
        self.notes: list[AnyMessage] = []
        """The results as shown to the model."""
        self.has_results = False
        self.sources: dict[str, Source] = {}
        """All sources found or read."""
        self.failures: list[str] = []
        """Reasons of failed calls."""

    @property
    def new(self) -> list[str]:
        """Keys of the sources that are new to the step."""
        return [key for key in sources_of(self._outcomes) if key not in self.state.keys]

    async def do(self, *, is_only: bool = False) -> str:
        """Search, read and store the results; return the failure, empty if there was none.

        Results found before a failure are kept. `is_only`: whether no iteration follows, so that a
        round that reads all documents also searches. Raises errors that stop the whole run.
        """
        try:
            self._earlier = results_in(await self.pages.fill_in(self.state.notes))
            if self._reads_first:
                # All of the user's documents are read whole.
                documents = list(self.task.scope.whole)
                call = ({"documents": documents}, self._tool_context(self._meter()))
                self._outcomes += await self._use(tool_names.READ_DOCUMENTS, documents, [call])
                self.queries.append(self.task.step.title)
            if is_only or not self._reads_first:
                for name in ToolOffer(self.context).built_in(
                    has_read_all=self.task.scope.reads_all
                ):
                    if name != tool_names.OPEN_URL:
                        await self._search(name)
            await self._read()
            await self._keep()
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails, only this step ends
            log_failure(
                __name__, error, "A round of searches failed; its step ends with what it has"
            )
            self.failures.append(failure_of(error))
            return self.failures[-1]
        return ""

    def lasting_fault(self) -> str:
        """Return why no tool can search any more; empty if one can. Raises `SearchFailed` if the
        run must end."""
        has_found = bool(self.state.keys or self.new)
        faults = [
            outcome.lasting_fault(self.task, has_found=has_found) for outcome in self._outcomes
        ]
        if self.has_results or not faults or not all(faults):
            return ""
        return faults[0]

    async def _keep(self) -> None:
        """Store all results, and what a model is shown of them as one note."""
        keys = [*self.state.keys, *self.new]
        numbers = {key: number for number, key in enumerate(keys, 1)}
        fused = self._fused()
        self.has_results = bool(fused.hits)
        text_hash = await keep(
            fused,
            numbers,
            self.pages,
            self.task.question_id,
            self._earlier,
            is_shared=self._reads_first,
        )
        call_id = DOCUMENTS_CALL if self._reads_first else self.state.call_id
        self.notes.append(self.pages.reference(call_id, text_hash))

    def _fused(self) -> Outcome:
        """Return the outcomes as one, which may show as much as one search."""
        limits = self.context.limits
        problems: dict[str, None] = {}
        for outcome in self._outcomes:
            problems |= dict.fromkeys(outcome.problems)
        by_outcome = [outcome.hits for outcome in self._outcomes]
        hits = list[Hit]()
        excerpts = passages = 0
        for hit in distinct(interleave(by_outcome), lambda hit: (hit.source.key, hit.excerpt)):
            if hit.source.kind == "web" and not hit.text:
                excerpts += 1
                if excerpts > limits.max_web_results:
                    continue
            if hit.source.kind == "document" and hit.excerpt != hit.text:
                passages += 1
                if passages > limits.max_results:
                    continue
            hits.append(hit)
        return Outcome(tuple(hits), tuple(problems))

    async def _search(self, name: str) -> None:
        """Send all queries to one tool in parallel."""
        meter = self._meter()
        left = [most for most in (meter.most_searches, meter.most_calls) if most is not None]
        count = max(1, min([*left, len(self.state.queries)]))
        queries = self.state.queries[:count]
        if not queries:
            return

        def share(limit: int | None) -> int | None:
            """Return one parallel call's share of a limit."""
            return None if limit is None else limit // len(queries)

        calls: list[tuple[dict[str, Any], ToolContext]] = []
        for query in queries:
            of_query = Meter(
                share(meter.most_searches), share(meter.most_fetches), share(meter.most_calls)
            )
            calls.append(({"queries": [query]}, self._tool_context(of_query)))
        self._outcomes += await self._use(name, queries, calls)
        self.queries += queries

    async def _read(self) -> None:
        """Open the pages that the model named, or the best of each query where it cannot choose;
        replace excerpts with their passages."""
        unread: list[list[Hit]] = []
        for outcome in self._outcomes:
            unread.append([hit for hit in outcome.hits if not hit.source.content_hash])
        wanted = list(self.state.open_next)
        if not wanted and self.state.opens_best:
            wanted = self._best_of_each(unread)
        addresses = list(dict.fromkeys(wanted))[: self.context.limits.max_open]
        if not addresses:
            return
        excerpts = {result["address"]: result["text"] for result in reversed(self._earlier)}
        found_now = distinct(interleave(unread), lambda hit: hit.source.key)
        excerpts |= {hit.source.address: hit.excerpt for hit in found_now}
        tool_context = self._tool_context(self._meter(), excerpts=excerpts, topic=self.task.text)
        found_addresses = [hit.source.address for hit in found_now]
        await Addresses(self.pages, self.task.question_id).allow(found_addresses)
        call = ({"urls": addresses}, tool_context)
        [opened] = await self._use(tool_names.OPEN_URL, addresses, [call])
        read = {hit.source.key: hit for hit in opened.hits}
        found = sources_of(self._outcomes)
        outcomes: list[Outcome] = []
        for outcome in self._outcomes:
            with_passages = list[Hit]()
            for hit in outcome.hits:
                with_passages.append(read.get(hit.source.key, hit))
            outcomes.append(outcome._replace(hits=tuple(with_passages)))
        further = tuple(hit for hit in opened.hits if hit.source.key not in found)
        self._outcomes = [*outcomes, opened._replace(hits=further)]

    def _best_of_each(self, unread: Sequence[Sequence[Hit]]) -> list[str]:
        """Return the addresses of the best results of each query that the step has not read."""
        read_before = {key for key, source in self.state.sources.items() if source.content_hash}
        best: list[list[Hit]] = []
        for of_query in unread:
            new = [hit for hit in of_query if hit.source.key not in read_before]
            best.append(new[:READ_PER_QUERY])
        hits = distinct(interleave(best), lambda hit: hit.source.key)
        return [hit.source.address for hit in hits]

    def _meter(self) -> Meter:
        return Meter.of_task(self.task, {**self.state.spending, **self.events.bill.costs})

    def _tool_context(self, meter: Meter, **seen: Any) -> ToolContext:
        excluded = self.task.scope.excluded
        return ToolContext(self.pages, self.task.question_id, meter, excluded=excluded, **seen)

    async def _use(
        self, name: str, inputs: Sequence[str], calls: Sequence[tuple[dict[str, Any], ToolContext]]
    ) -> list[Outcome]:
        """Return the outcomes of parallel calls, emitted and charged as one use of the tool."""
        turn = self.turn
        self.turn += 1
        placement = Placement.of(self.task).model_copy(update={"sub_turn_index": turn})
        left = TimeLimit(self.task.seconds - self.watch.seconds, "max_seconds_planned")
        time = min(TimeLimit(self.context.limits.tool_seconds, "tool_seconds"), left)
        meters = [tool_context.meter for _, tool_context in calls]
        with shown_use(self.events, placement, name, inputs, self.task.scope, meters) as outcomes:
            outcomes += await gather_or_cancel(
                use_tool(name, arguments, self.context, tool_context, time)
                for arguments, tool_context in calls
            )
        action = action_of(short_hash(self.task.id, str(turn)), name, inputs, outcomes)
        self.sources |= sources_of(outcomes) | unopened(self.sources, action.not_read)
        for outcome in outcomes:
            self.failures += [problem.rstrip(".") for problem in outcome.broken]
        self.actions.append(action)
        return outcomes
