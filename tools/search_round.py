"""One round of searches: sends its queries to all search tools in parallel and reads the best pages
found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.errors import GraphBubbleUp

from ..core.concurrency import gather_or_cancel
from ..core.errors import failure_of, log_failure
from ..core.events.call import CallEvents
from ..core.events.packets import Placement
from ..core.evidence.text.similarity import distinct, interleave
from ..core.records import tool_names
from ..core.records.research import Action
from ..core.records.sources import Source, short_hash, unopened
from ..core.settings.context import Context, Watch
from ..core.store.pages import Pages
from ..state import StepState
from ._addresses import Addresses
from .offer import DOCUMENTS_CALL, offered_tools
from .results import results_in
from .tool import Hit, Meter, Outcome, ToolContext, sources_of
from .use import (
    TimeLimit,
    action_of,
    keep,
    shown_use,
    use_tool,
)

READ_PER_QUERY = 1
"""Pages opened per query if the model has named none."""


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
            if self._reads_first:
                # All of the user's documents are read whole.
                documents = list(self.task.scope.whole)
                call = ({"documents": documents}, self._tool_context(self._meter()))
                self._outcomes += await self._use(tool_names.READ_DOCUMENTS, documents, [call])
                self.queries.append(self.task.step.title)
            if is_only or not self._reads_first:
                for name in offered_tools(self.context, has_read_all=self.task.scope.reads_all):
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
        earlier = results_in(await self.pages.fill_in(self.state.notes))
        fused = self._fused()
        self.has_results = bool(fused.hits)
        text_hash = await keep(
            fused,
            numbers,
            self.pages,
            self.task.question_id,
            earlier,
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
        """Open the pages that the model named, or else the best of each query; replace excerpts
        with their passages."""
        read_before = {key for key, source in self.state.sources.items() if source.content_hash}
        unread: list[list[Hit]] = []
        best_of_each: list[list[Hit]] = []
        for outcome in self._outcomes:
            of_query = [hit for hit in outcome.hits if not hit.source.content_hash]
            new = [hit for hit in of_query if hit.source.key not in read_before]
            unread.append(of_query)
            best_of_each.append(new[:READ_PER_QUERY])
        hits = distinct(interleave(unread), lambda hit: hit.source.key)
        best = distinct(interleave(best_of_each), lambda hit: hit.source.key)
        wanted = self.state.open_next or [hit.source.address for hit in best]
        addresses = list(dict.fromkeys(wanted))[: self.context.limits.max_open]
        if not addresses:
            return
        excerpts = {hit.source.address: hit.excerpt for hit in hits}
        tool_context = self._tool_context(self._meter(), excerpts=excerpts, topic=self.task.text)
        await Addresses(self.pages, self.task.question_id).allow(excerpts.keys())
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

    def _meter(self) -> Meter:
        return Meter.of_task(self.task, {**self.state.spending, **self.events.bill.costs})

    def _tool_context(self, meter: Meter, **seen: Any) -> ToolContext:
        return ToolContext(self.pages, self.task.question_id, meter, **seen)

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
