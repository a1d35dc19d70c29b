"""What the server offers beside LangGraph's own routes: a user's runs, their packets, exports and sources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, get_args

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ...core.evidence.citations.labels import labels
from ...core.evidence.citations.rendering import link_to, shown_title, source_place, time_line
from ...core.records.research import Estimate
from ...core.run.context import Context
from ...core.run.conversation import DRAFT, attached_to, clean, clean_nested, mark_of
from ...core.run.errors import DeepResearchError, UnknownThread, UserMistake
from ...core.run.events.log import LogTail, read_log
from ...core.run.logs import log_failure
from ...core.run.spending import dollars, total
from ...core.run.store.changes import announce, followed, next_change
from ...core.run.store.pages import LOCAL_USER, Pages
from ...core.run.user_settings import UserSettings
from ...core.writing.basis import source_texts
from ...state import ResearchState
from ..export import export_content
from ..run_name import RunName
from ..runs import RunBook, StoredRun, open_runs
from ..words import GRAPHS, STRATEGIES, Evidence, counts_line, in_words
from .auth import opened_books, owner_of_checkpoints
from .check import check_report
from .offer import offer_to, usual_costs
from .users import user_of

LISTED = 50
"""Runs in the list, the latest."""
LABEL_CHARACTERS = 200
"""Longest name that a user can give a run."""
BEGIN_SECONDS = 30
"""Seconds that a stream waits for a run to begin."""
GAP_SECONDS, OTHERS_SECONDS = 0.3, 1.0
"""Seconds between two reads of a run at least, and between two looks at what other processes wrote for any stream."""
MEDIA_TYPES: dict[str, str] = {
    "md": "text/markdown",
    "json": "application/json",
    "html": "text/html",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pdf": "application/pdf",
    "bibtex": "application/x-bibtex",
    "csl-json": "application/vnd.citationstyles.csl+json",
}
"""Media type of each form of export."""
_ENDINGS = {"bibtex": "bib", "csl-json": "csl.json"}


@asynccontextmanager
async def opened_book(app: Starlette) -> AsyncIterator[None]:
    """Keep the runs of the data folder open for the routes."""
    async with open_runs(Context().data_dir) as book:
        for strategy in STRATEGIES:
            # Compiling a graph would block the server.
            await asyncio.to_thread(book.graph, strategy)
        app.state.book = book
        opened_books.append(book)
        watching = asyncio.create_task(_watch_others(book))
        yield
        opened_books.remove(book)
        watching.cancel()


async def offer(request: Request) -> Response:
    """Say which strategies, documents, engines, models and formats of export a user may choose, and what they cost."""
    user = _user(request)
    context = await asyncio.to_thread(UserSettings().context_of, user)
    offered = await asyncio.to_thread(offer_to, user, context)
    costs = await usual_costs(Pages(_book(request).database.store, "", user), context)
    return JSONResponse(clean_nested({**offered, "costs": costs}))


async def list_runs(request: Request) -> Response:
    """List the user's latest runs, the latest first; `search` keeps those that contain all of its words."""
    book, user = _book(request), _user(request)
    words = request.query_params.get("search", "").casefold().split()
    listed = list[dict[str, Any]]()
    for thread in await book.ids():
        if await asyncio.to_thread(owner_of_checkpoints, thread) == user:
            line = await _line(book, thread)
            text = " ".join(str(line.get(name, "")) for name in ("label", "title", "question", "asked")).casefold()
            listed += [line] if all(word in text for word in words) else []
        if len(listed) == LISTED:
            break
    return JSONResponse(listed)


async def rename_run(request: Request) -> Response:
    """Rename a run to the `label` of the body; an empty one restores the question."""
    stored = await _run(request)
    try:
        label = (await request.json())["label"]
    except (ValueError, TypeError, KeyError):
        label = None
    if not isinstance(label, str) or len(label) > LABEL_CHARACTERS:
        raise HTTPException(422, f'label: send {{"label": "..."}} with {LABEL_CHARACTERS} characters at most.')
    await _book(request).rename(stored, label)
    return JSONResponse({"label": label})


async def delete_run(request: Request) -> Response:
    """Stop a run if it is at work, and delete its thread, checkpoints and stored texts."""
    thread = request.path_params["thread"]
    # A run that cannot be read can still be deleted.
    if await asyncio.to_thread(owner_of_checkpoints, thread) != _user(request):
        raise _no_run(thread)
    client = get_client()
    with suppress(NotFoundError):
        for status in ("pending", "running"):
            for run in await client.runs.list(thread, status=status):
                await client.runs.cancel(thread, run["run_id"], wait=True, action="interrupt")
    await _book(request).delete(thread)
    with suppress(NotFoundError):
        # A run of the command line is not among the server's threads.
        await client.threads.delete(thread)
    return Response(status_code=204)


async def list_earlier(request: Request) -> Response:
    """Return the thread's earlier questions in their order, each as it ended, with its packets."""
    book, stored = _book(request), await _run(request)
    pages = Pages(book.database.store, stored.thread)
    ended = [
        {**run_data(run), "messages": [], "packets": await read_log(pages, run.state.run.id)}
        for run in await book.earlier(stored)
    ]
    return JSONResponse(clean_nested(ended), headers={"Cache-Control": "no-store"})


async def stream_packets(request: Request) -> Response:
    """Stream the packets of a run's latest question, those from its log and those to come, and how the run stands.

    A thread without a run is waited for, `BEGIN_SECONDS` at most. An event `run` holds how it stands, with its
    conversation. An event `packets` holds those that follow the first `held` of the packets that this stream has
    brought of the question `question_id`. An event `refused` says why there is nothing more.
    """
    thread, user = request.path_params["thread"], _user(request)
    if await asyncio.to_thread(owner_of_checkpoints, thread) not in (None, user):
        raise _no_run(thread)
    events = _events(_book(request), thread, user)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def export_run(request: Request) -> Response:
    """Return a run's report in one of the formats of `deep-research export`; `question` is the id of an earlier one."""
    export_format = request.query_params.get("format", "md")
    if export_format not in MEDIA_TYPES:
        raise HTTPException(422, f"format: there is no {export_format!r}; there are {', '.join(MEDIA_TYPES)}.")
    evidence = next((one for one in get_args(Evidence) if one == request.query_params.get("evidence")), None)
    stored = await _run(request)
    name = RunName(stored.thread, None)
    try:
        content = await asyncio.to_thread(export_content, stored, export_format, name, evidence)
    except UserMistake as error:
        raise HTTPException(409, str(error)) from error
    file = f"report-{stored.thread[:8]}.{_ENDINGS.get(export_format, export_format)}"
    headers = {
        "Content-Disposition": f'attachment; filename="{file}"',
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "no-store",
    }
    return Response(content, media_type=MEDIA_TYPES[export_format], headers=headers)


async def show_source(request: Request) -> Response:
    """Return a source of a run: title, address, the text of it that was read, and what the report quotes.

    It goes by its number; with `of=thread` the report need not cite it. The report is the latest, or that of the
    earlier question with the id `question`.
    """
    stored, number = await _run(request), request.path_params["number"]
    report, sources = stored.state.report, stored.state.sources
    in_thread = {source.number: key for key, source in sources.items() if source.number}
    key = (in_thread if request.query_params.get("of") == "thread" else (report.keys if report else {})).get(number)
    if key is None:
        raise HTTPException(404, f"There is no source {number}.")
    texts = await source_texts(sources, [key], Pages(_book(request).database.store, stored.thread))
    passages = [passage for claim in (report.claims if report else ()) for passage in claim.passages]
    source, link = sources[key], link_to(sources[key])
    shown = {
        "number": next((own for own, cited in (report.keys if report else {}).items() if cited == key), 0),
        "title": shown_title(source),
        "quotes": [passage.quote for passage in passages if passage.source == key and passage.quote],
        # A browser opens no file for a page of the web.
        "link": link if link.startswith(("http://", "https://")) else "",
        "read_at": source.read_at,
        "texts": [text.text for text in texts.get(key, ())],
    }
    return JSONResponse(clean_nested(shown), headers={"Cache-Control": "no-store"})


ROUTES: Sequence[Route] = (
    Route("/research/offer", offer),
    Route("/research/check", check_report, methods=["POST"]),
    Route("/research/runs", list_runs),
    Route("/research/runs/{thread}", rename_run, methods=["PATCH"]),
    Route("/research/runs/{thread}", delete_run, methods=["DELETE"]),
    Route("/research/runs/{thread}/earlier", list_earlier),
    Route("/research/runs/{thread}/packets", stream_packets),
    Route("/research/runs/{thread}/export", export_run),
    Route("/research/runs/{thread}/sources/{number:int}", show_source),
)
"""All that is served here, each under a user's token."""


def run_data(stored: StoredRun) -> dict[str, Any]:
    """Return how a run stands, with its conversation."""
    state = stored.state
    spent, audit = total(state.spending), state.report.audit if state.report else None
    shown = {
        "thread": stored.thread,
        "name": stored.name,
        "label": stored.label,
        "title": stored.title,
        "question": stored.question,
        "asked": next((clean(one.text) for one in state.messages if isinstance(one, HumanMessage)), ""),
        "graph": GRAPHS[stored.strategy],
        "status": stored.status,
        "is_unfinished": stored.is_unfinished,
        "waiting": dict(stored.waiting),
        "changed": stored.changed,
        "failure": stored.failure,
        "question_id": state.run.id,
        "first_title": state.run.first_title,
        "depth": "recalled"
        if state.run.is_recalled
        else "quick"
        if state.run.is_quick
        else state.run.depth or "standard",
        "plan": state.plan.text if state.plan else "",
        "seconds": state.run.active_seconds,
        "stop_reason": state.run.stop_reason,
        "estimate": _expected(state.run.estimate) if state.run.estimate else "",
        "spent": {"calls": spent.calls, "tokens": spent.input_tokens + spent.output_tokens, "usd": spent.usd},
        "has_report": state.report is not None,
        "sources": _sources(state),
        "checked": counts_line(audit) if audit else "",
        "open_gaps": list(audit.open_gaps) if audit else [],
        "messages": [_message(message) for message in state.messages if mark_of(message) != DRAFT],
    }
    return clean_nested(shown)


def _expected(estimate: Estimate) -> str:
    """Return what a run will take in a few words; with too few finished runs, the limit on its time."""
    if not estimate.seconds:
        return f"at most {in_words(estimate.max_seconds)}" if estimate.max_seconds else ""
    return f"about {in_words(estimate.seconds.likely)}" + (f", {dollars(estimate.usd.likely)}" if estimate.usd else "")


def _sources(state: ResearchState) -> list[dict[str, Any]]:
    """Return the sources that the report cites, as the page shows them on cards."""
    words = labels(state.run.language_code)
    return [
        {
            "number": source.number,
            "title": shown_title(source),
            "kind": source.kind,
            "place": source_place(source),
            "extent": source.extent,
            "facts": [
                fact
                for fact in (source.kind == "web" and words.origin(source), time_line(source), words.remark(source))
                if fact
            ],
        }
        for source in (state.report.cited(state.sources) if state.report else ())
    ]


async def _watch_others(book: RunBook) -> None:
    """Announce to all streams what other processes write; runs of this process announce it themselves."""
    known = dict[str, tuple[Any, ...]]()
    while True:
        await asyncio.sleep(OTHERS_SECONDS)
        try:
            versions = await book.database.saver.versions(threads) if (threads := followed()) else {}
        except Exception as error:  # noqa: BLE001 - a database that cannot be read now may be later
            log_failure(__name__, error, "What other processes write is not seen")
            continue
        for thread in known.keys() | versions.keys():
            *_, owner = version = versions.get(thread, (None,))
            if owner or version != known.get(thread):
                announce(thread)
        known = versions


async def _owner(thread: str) -> str | None:
    """Return the user of a thread once a run has begun on it; none if none begins in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(BEGIN_SECONDS):
            while True:
                change = next_change(thread)
                if owner := await asyncio.to_thread(owner_of_checkpoints, thread):
                    return owner
                await change.wait()
    return None


async def _events(book: RunBook, thread: str, user: str) -> AsyncIterator[str]:
    yield ": nothing yet\n\n"
    if (owner := await _owner(thread)) != user:
        # Somebody else may have begun one under this id in the meantime.
        words = _no_run(thread).detail if owner else f"No run has begun on the thread {thread} in {BEGIN_SECONDS} s."
        yield _event("refused", {"detail": words})
        return
    tail, question_id, last = LogTail(Pages(book.database.store, thread), ""), "", ""
    while True:
        change = next_change(thread)
        try:
            stored = await book.read(thread)
        except DeepResearchError as error:
            # It was deleted, or is damaged.
            yield _event("refused", {"detail": " ".join(str(error).split())})
            return
        data = run_data(stored)
        if data["question_id"] != question_id:
            question_id = data["question_id"]
            tail = LogTail(Pages(book.database.store, thread), question_id)
        held, packets = await tail.news()
        if (said := json.dumps(data)) != last:
            yield _event("run", data)
            last = said
        if packets:
            yield _event("packets", {"question_id": question_id, "held": held, "packets": packets})
        await asyncio.sleep(GAP_SECONDS)
        await change.wait()


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _message(message: AnyMessage) -> dict[str, Any]:
    role = "user" if isinstance(message, HumanMessage) else "assistant"
    attached = [one.model_dump() for one in attached_to(message)]
    return {"role": role, "kind": mark_of(message), "text": message.text, "attached": attached}


async def _line(book: RunBook, thread: str) -> dict[str, Any]:
    try:
        stored = await book.read(thread)
    except Exception as error:  # noqa: BLE001 - one run that cannot be read must not hide the others
        log_failure(__name__, error, "The run %s cannot be read", thread)
        return {"thread": thread, "status": "unreadable", "title": "", "question": clean(" ".join(str(error).split()))}
    data = run_data(stored)
    names = ("thread", "name", "label", "title", "first_title", "question", "asked", "graph", "status", "changed")
    return {name: data[name] for name in names} | {"open": len(data["open_gaps"])}


async def _run(request: Request) -> StoredRun:
    """Return the run of a request, at its question; raises status 404 if the user has none of this id."""
    thread, question = request.path_params["thread"], request.query_params.get("question")
    book = _book(request)._replace(user=_user(request))
    try:
        stored = await book.read(thread)
    except UnknownThread:
        raise _no_run(thread) from None
    if question in (None, stored.state.run.id):
        return stored
    for earlier in await book.earlier(stored):
        if earlier.state.run.id == question:
            return earlier
    raise HTTPException(404, f"The run {thread} has no question {question}.")


def _no_run(thread: str) -> HTTPException:
    return HTTPException(404, f"There is no run {thread}.")


def _book(request: Request) -> RunBook:
    book: RunBook = request.app.state.book
    return book


def _user(request: Request) -> str:
    client = request.client.host if request.client else ""
    return user_of(request.headers, client) or LOCAL_USER
