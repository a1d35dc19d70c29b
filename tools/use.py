"""Runs research tools within the allowance of a researcher, step or run; failures become
results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..core.concurrency import gather_or_cancel
from ..core.dialogue.transcripts import NOT_RUN
from ..core.errors import DeepResearchError, log_failure
from ..core.events.blocks import ToolPackets
from ..core.events.call import CallEvents
from ..core.events.packets import Placement
from ..core.events.tracing import traced_tool
from ..core.masking import Secrets
from ..core.reading.web_page import WebReader
from ..core.records import tool_names
from ..core.records.research import Action, Scope
from ..core.records.sources import NotRead, short_hash, text_hash
from ..core.settings.context import Context
from ..core.store.pages import Pages
from ._addresses import Addresses
from ._open_url import WebPages
from .engine import RETRIEVED
from .offer import research_tool
from .redaction import SHOWN_RESULTS, note_shown
from .results import Result, write_results
from .tool import Hit, Meter, Outcome, ResearchTool, ToolContext, ToolFailed, sources_of

logger = logging.getLogger(__name__)
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
    work = partial(carry_out, research_tool(name, context, tool_context), arguments, time)
    if name in tool_names.OURS:
        outcome = await traced_tool(name, arguments, work, _shown)
    else:
        # LangChain traces its own tools.
        outcome = await work()
    return outcome._replace(asked=tuple(tool_context.meter.asked))


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
    asked: dict[str, None] = {}
    failed: list[str] = []
    fault = ""
    for outcome in outcomes:
        problems |= dict.fromkeys(outcome.problems)
        not_read |= dict.fromkeys(outcome.not_read)
        redacted |= dict.fromkeys(outcome.redacted)
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
        asked=tuple(asked),
        fault=fault,
    )
