"""Our routes in addition to LangGraph's: runs with their packets, exports and sources, and checks
of reports."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, get_args
from urllib.parse import quote

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ...core.concurrency import decode_base64, in_thread
from ...core.dialogue.conversation import (
    attached_to,
    check_query,
    clean_nested,
    mark_of,
    safe_text,
)
from ...core.errors import (
    DeepResearchError,
    NoResearch,
    QuestionRefused,
    ReportUnreadable,
    ThreadBusy,
    UnknownThread,
    UserMistake,
    log_failure,
)
from ...core.events.log import StoredLog
from ...core.evidence.citations.citing import by_number
from ...core.evidence.citations.labels import labels
from ...core.evidence.citations.rendering import link_to
from ...core.records.research import total
from ...core.records.sources import Source
from ...core.settings.context import Context
from ...core.settings.server_settings import UserSettings
from ...core.store.pages import LOCAL_USER, Pages, thread_changes
from ...core.writing.basis import ReportBasis
from ...core.writing.versions import ThreadVersions, UnknownVersion
from ...state import ResearchState
from ..exports.formats import FORMATS, export_formats
from ..runs import RunBook, StoredRun
from ..words import GRAPHS, EvidenceShown
from ._bodies import sent_json
from ._check_pool import UserChecks, end_idle_checkers
from ._examples import model_examples
from ._offer import offer_to, usual_costs
from ._originals import file_name, original_of
from ._run_search import contains, excerpt, run_texts
from ._trust import trust_with_lists
from .auth import opened_books, owner_of_checkpoints
from .users import user_of

_LISTED = 50
"""Maximum number of listed runs; the latest are listed."""
_LABEL_CHARACTERS = 200
"""Maximum length of a run's name."""
_FILE_CHARACTERS = 80
"""Maximum length of the name of an exported file, without its suffix."""
_NOT_IN_FILES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')
"""Matches characters that names of files cannot have."""
_NUMBER_DIGITS = 6
"""Maximum number of digits of a version's number."""
BEGIN_SECONDS = 30
"""Seconds that a packet stream waits for a run to start."""
_GAP_SECONDS, _OTHERS_SECONDS = 0.3, 1.0
"""Minimum seconds between two reads of a run, and seconds between two polls for changes by other
processes."""
_HEARTBEAT_SECONDS = 15.0
"""Seconds of silence after which a comment keeps the stream of a check open."""
_LINE = (
    "thread", "name", "label", "title", "first_title", "question", "asked", "graph", "status",
    "changed", "doubts", "kind",
)  # fmt: skip
"""Data of a run (`run_data`) that the list of runs shows."""
_REPORT_SUFFIXES = (".md", ".markdown", ".txt", ".html", ".htm", ".docx")
"""Suffixes of reports that can be checked."""


@asynccontextmanager
async def opened_book() -> AsyncIterator[None]:
    """Open the runs of the data folder for the routes while this context is active."""
    async with RunBook.open(Context().data_dir) as book:
        for strategy in GRAPHS:
            # Compiling a graph would block the server.
            await asyncio.to_thread(book.graph, strategy)
        operator = await asyncio.to_thread(lambda: UserSettings().operator)
        book = book._replace(server_address=operator.server_address)
        opened_books.append(book)
        watching = asyncio.create_task(_watch_others(book))
        yield
        opened_books.remove(book)
        watching.cancel()
        await end_idle_checkers()


async def offer(request: Request) -> Response:
    """Return the strategies, documents, engines, models and formats that the user may choose, and
    usual costs."""
    user = _user(request)
    context = await asyncio.to_thread(UserSettings().context_of, user)
    offered = await asyncio.to_thread(offer_to, user, context)
    costs = await usual_costs(Pages(opened_books[-1].database.store, "", user), context)
    return JSONResponse(clean_nested({**offered, **costs}))


async def suggest_examples(request: Request) -> JSONResponse:
    """Return example questions that a model words from the user's documents; an empty list if it
    does not, so that the page keeps those of the offer."""
    user = _user(request)
    context = await asyncio.to_thread(UserSettings().context_of, user)
    pages = Pages(opened_books[-1].database.store, "examples", user)
    return JSONResponse(clean_nested(await model_examples(pages, context)))


async def list_runs(request: Request) -> Response:
    """List the user's latest runs, newest first.

    `search` limits them to runs whose names, questions and reports contain all its words; `found`
    is an excerpt.
    """
    book = opened_books[-1]
    user = _user(request)
    search = request.query_params.get("search", "")
    try:
        check_query(search)
    except QuestionRefused as error:
        raise HTTPException(422, str(error)) from error
    words = search.casefold().split()
    threads = await book.database.saver.thread_ids()
    versions = await book.database.saver.versions(threads) if words else {}
    listed = list[dict[str, Any]]()
    for thread in threads:
        if await asyncio.to_thread(owner_of_checkpoints, thread) != user:
            continue
        text = ""
        if words:
            text = await run_texts.read(book, thread, versions.get(thread))
            if not contains(text, words):
                continue
        line = await _line(book, thread)
        names = [str(line.get(name, "")) for name in ("label", "first_title", "asked")]
        line["found"] = excerpt(text, words, names)
        listed.append(line)
        if len(listed) == _LISTED:
            break
    return JSONResponse(listed)


async def rename_run(request: Request) -> Response:
    """Set the label of a run to the `label` in the body; an empty label shows the question
    again."""
    stored = await _run(request)
    sent = sent_json(request)
    label = sent.get("label") if isinstance(sent, dict) else None
    if not isinstance(label, str) or len(label) > _LABEL_CHARACTERS:
        raise HTTPException(
            422, f'label: send {{"label": "..."}} with at most {_LABEL_CHARACTERS} characters.'
        )
    await opened_books[-1].rename(stored, label)
    return JSONResponse({"label": label})


async def delete_run(request: Request) -> Response:
    """Stop a run if it is active, and delete its thread, checkpoints and stored texts."""
    thread = request.path_params["thread"]
    # The run itself is not read, so that damaged runs can be deleted too.
    if await asyncio.to_thread(owner_of_checkpoints, thread) != _user(request):
        raise _no_run(thread)
    client = get_client()
    with suppress(NotFoundError):
        for status in ("pending", "running"):
            for run in await client.runs.list(thread, status=status):
                await client.runs.cancel(thread, run["run_id"], wait=True, action="interrupt")
    await opened_books[-1].delete(thread)
    run_texts.forget(thread)
    with suppress(NotFoundError):
        # A run of the command line is not among the server's threads.
        await client.threads.delete(thread)
    return Response(status_code=204)


async def list_earlier(request: Request) -> Response:
    """Return the thread's earlier questions, oldest first, each with its final state and
    packets."""
    book = opened_books[-1]
    stored = await _run(request)
    pages = Pages(book.database.store, stored.thread)
    earlier = list[dict[str, Any]]()
    for run in await book.earlier(stored):
        data = await _with_sent(book, run)
        data["messages"] = []
        data["packets"] = await StoredLog(pages, run.state.run.id).read()
        earlier.append(data)
    return JSONResponse(clean_nested(earlier), headers={"Cache-Control": "no-store"})


async def stream_packets(request: Request) -> Response:
    """Stream the status and packets of a run's latest question, first from its log, then live.

    Waits up to `BEGIN_SECONDS` for a run on the thread. An event `run` contains the status and the
    conversation. An event `packets` contains new packets of the question `question_id`; keep the
    first `held` packets of this stream and replace the rest with them. An event `refused` says why
    the stream ends.
    """
    thread = request.path_params["thread"]
    user = _user(request)
    if await asyncio.to_thread(owner_of_checkpoints, thread) not in (None, user):
        raise _no_run(thread)
    return _stream(_packet_events(opened_books[-1], thread, user))


async def check_report(request: Request) -> Response:
    """Check a report and stream events, `notice` for progress, then `checked` or `refused`.

    The body is JSON with the `name` of the file, whose suffix determines the format, its content
    as `base64` and, if known, the `request` that the report answers. A report that cannot be read
    or is too long has status 422.
    """
    user = _user(request)
    try:
        sent = sent_json(request)
        name = str(sent["name"])
        asked = str(sent.get("request") or "")
        # The request lasts as long as the check, and need not keep the report twice.
        data = await in_thread(decode_base64, str(sent.pop("base64")))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise HTTPException(422, 'Send {"name": "report.md", "base64": "..."}.') from None
    if not name.lower().endswith(_REPORT_SUFFIXES):
        suffixes = ", ".join(_REPORT_SUFFIXES)
        raise HTTPException(422, f"{name}: a report must be Markdown, HTML or Word ({suffixes}).")
    checks = checks_of(user)
    try:
        report = await checks.read(data, name)
    except ReportUnreadable as error:
        raise HTTPException(422, str(error)) from error
    return _stream(_check_events(checks, report, name, asked))


def checks_of(user: str) -> UserChecks:
    """Return what reads and checks reports for a user."""
    return UserChecks(user, Pages(opened_books[-1].database.store, "", user))


async def export_run(request: Request) -> Response:
    """Return a run's report in a format of `deep-research export`: the latest version, or the one
    that `version`, `answer` (numbers) or `question` (the id of a question) selects."""
    formats = await asyncio.to_thread(export_formats)
    wanted = request.query_params.get("format", FORMATS[0].name)
    export_format = formats.get(wanted)
    if export_format is None:
        raise HTTPException(
            422, f"format: unknown format {wanted!r}; choose from {', '.join(formats)}."
        )
    evidence: Any = request.query_params.get("evidence")
    if evidence not in get_args(EvidenceShown):
        evidence = None
    try:
        stored = await _run_at_version(request)
        stored.finished_report()
        content = await asyncio.to_thread(export_format.write, stored, evidence)
    except UnknownVersion as error:
        raise HTTPException(404, str(error)) from error
    except UserMistake as error:
        raise HTTPException(409, str(error)) from error
    headers = {
        "Content-Disposition": _file_names(stored, export_format.suffixes[0]),
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "no-store",
    }
    return Response(content, media_type=export_format.media_type, headers=headers)


def _file_names(stored: StoredRun, suffix: str) -> str:
    """Return the header that names an exported file: after the title of the report, and after the
    run for clients that know only ASCII."""
    title = " ".join(_NOT_IN_FILES.sub(" ", stored.title).split())
    name = title[:_FILE_CHARACTERS].strip(" .…") or "Report"
    own_name = f"report-{stored.thread[:8]}{suffix}"
    titled = quote(f"{name}{suffix}", safe="")
    return f"attachment; filename=\"{own_name}\"; filename*=UTF-8''{titled}"


async def compare_versions(request: Request) -> Response:
    """Return what differs between the versions `old` and `new` of a run's report: a list of blocks,
    each a list of pieces with `change` (same, removed, added) and `text`."""
    stored = await _run(request)
    numbers = [_number(request, name) for name in ("old", "new")]
    if None in numbers:
        raise HTTPException(422, "Send ?old=NUMBER&new=NUMBER, the numbers of two versions.")
    try:
        differences = await opened_books[-1].differences(stored, *filter(None, numbers))
    except UserMistake as error:
        raise HTTPException(404, str(error)) from error
    return JSONResponse(differences.data, headers={"Cache-Control": "no-store"})


async def revert_run(request: Request) -> Response:
    """Make a new version of a run's report with the text of the `version` in the body; return its
    number."""
    stored = await _run(request)
    sent = sent_json(request)
    number = sent.get("version") if isinstance(sent, dict) else None
    if not isinstance(number, int):
        raise HTTPException(422, 'Send {"version": NUMBER}, the number of a version.')
    try:
        new = await opened_books[-1].revert(stored, number)
    except UnknownVersion as error:
        raise HTTPException(404, str(error)) from error
    except (UserMistake, ThreadBusy) as error:
        raise HTTPException(409, str(error)) from error
    return JSONResponse({"version": new.number})


async def show_source(request: Request) -> Response:
    """Return a source of a run by number, with title, link, the text that was read, and the quoted
    passages.

    The number is the one in the latest report, or in the report on the earlier question with the id
    `question`; with `of=thread`, it is the number in the thread, where uncited sources have numbers
    too.
    """
    stored = await _run(request)
    source = _source(request, stored)
    key = source.key
    report = stored.state.report
    keys = report.keys if report else {}
    pages = Pages(opened_books[-1].database.store, stored.thread)
    texts = await ReportBasis(stored.state).texts(pages, [key])
    number_in_report = 0
    for cited_number, cited_key in keys.items():
        if cited_key == key:
            number_in_report = cited_number
            break
    quotes = list[str]()
    for claim in report.claims if report else ():
        for passage in claim.passages:
            if passage.source == key and passage.quote:
                quotes.append(passage.quote)
    link = link_to(source)
    if not link.startswith(("http://", "https://")):
        # Browsers do not open local files from a web page.
        link = ""
    # An earlier question has the exclusions of its time.
    current = await _own_book(request).read(stored.thread)
    data = {
        "number": number_in_report,
        "title": source.shown_title,
        "quotes": quotes,
        "link": link,
        "file": file_name(source),
        "read_at": source.read_at,
        "number_in_thread": source.number,
        "is_excluded": source.key in current.state.excluded,
        "texts": [text.text for text in texts.get(key, ())],
    }
    return JSONResponse(clean_nested(data), headers={"Cache-Control": "no-store"})


async def open_file(request: Request) -> Response:
    """Return the file of a cited document, as it is now; its number is read as by `show_source`."""
    stored = await _run(request)
    source = _source(request, stored)
    return await asyncio.to_thread(original_of, source, _user(request), stored.thread)


async def exclude_source(request: Request) -> Response:
    """Exclude the source with this number in the thread; `because` in the body is the reason, and
    `replace` says whether other sources are to be found in its place.

    Returns the words of the `edit` that makes a version of the report without it, or with others in
    its place, to be sent as the input of a run; empty if neither is needed.
    """
    stored = await _run(request)
    sent = sent_json(request)
    given = sent if isinstance(sent, dict) else {}
    because = given.get("because", "")
    is_replacing = given.get("replace", False)
    if not isinstance(is_replacing, bool):
        raise HTTPException(422, "replace: send true or false.")
    if not isinstance(because, str) or len(because) > _LABEL_CHARACTERS:
        raise HTTPException(
            422, f'because: send {{"because": "..."}} with at most {_LABEL_CHARACTERS} characters.'
        )
    number = str(request.path_params["number"])
    with _refused_change():
        book = _own_book(request)
        sources = await book.exclude(stored.thread, [number], because, is_replacing=is_replacing)
        stored = await book.read(stored.thread)
    return JSONResponse({"edit": safe_text(stored.words_without(sources, because))})


async def send_message(request: Request) -> Response:
    """Send the `text` in the body to the research at work; return the message's id.

    An event `packets` says who has read it (`message_read`). Status 409 if no researcher would.
    """
    stored = await _run(request)
    sent = sent_json(request)
    text = sent.get("text") if isinstance(sent, dict) else None
    if not isinstance(text, str):
        raise HTTPException(422, 'Send {"text": "..."}.')
    with _refused_change():
        return JSONResponse({"id": await opened_books[-1].send(stored, text)})


async def finish_research(request: Request) -> Response:
    """End the research at work, and have the report written from what was found; status 409 if
    there is none."""
    stored = await _run(request)
    with _refused_change():
        await opened_books[-1].finish(stored)
    return Response(status_code=204)


async def include_source(request: Request) -> Response:
    """Use an excluded source again."""
    stored = await _run(request)
    with _refused_change():
        number = str(request.path_params["number"])
        await _own_book(request).include(stored.thread, [number])
    return Response(status_code=204)


@contextmanager
def _refused_change() -> Iterator[None]:
    """Answer with status 409 if the run is at work, or is not but would have to be, and 422 if the
    change is refused."""
    try:
        yield
    except (ThreadBusy, NoResearch) as error:
        raise HTTPException(409, str(error)) from error
    except UserMistake as error:
        raise HTTPException(422, str(error)) from error


ROUTES: Sequence[Route] = (
    Route("/research/offer", offer),
    Route("/research/examples", suggest_examples),
    Route("/research/check", check_report, methods=["POST"]),
    Route("/research/runs", list_runs),
    Route("/research/runs/{thread}", rename_run, methods=["PATCH"]),
    Route("/research/runs/{thread}", delete_run, methods=["DELETE"]),
    Route("/research/runs/{thread}/earlier", list_earlier),
    Route("/research/runs/{thread}/packets", stream_packets),
    Route("/research/runs/{thread}/messages", send_message, methods=["POST"]),
    Route("/research/runs/{thread}/finish", finish_research, methods=["POST"]),
    Route("/research/runs/{thread}/export", export_run),
    Route("/research/runs/{thread}/differences", compare_versions),
    Route("/research/runs/{thread}/revert", revert_run, methods=["POST"]),
    Route("/research/runs/{thread}/sources/{number:int}", show_source),
    Route("/research/runs/{thread}/sources/{number:int}/file", open_file),
    Route("/research/runs/{thread}/excluded/{number:int}", exclude_source, methods=["PUT"]),
    Route("/research/runs/{thread}/excluded/{number:int}", include_source, methods=["DELETE"]),
)
"""All our routes; each requires a user's token."""


def run_data(stored: StoredRun) -> dict[str, Any]:
    """Return the status and conversation of a run, as JSON data for clients."""
    state = stored.state
    run = state.run
    depth: str = run.depth or "standard"
    if run.is_recalled:
        depth = "recalled"
    elif run.is_quick:
        depth = "quick"
    messages = list[dict[str, Any]]()
    for message in state.messages:
        if mark_of(message) == "draft":
            continue
        messages.append(
            {
                "role": "user" if isinstance(message, HumanMessage) else "assistant",
                "id": message.id or "",
                "kind": mark_of(message),
                "text": message.text,
                "attached": [attachment.model_dump() for attachment in attached_to(message)],
            }
        )
    spent = total(state.spending)
    cited = list[Source]()
    uncited = list[Source]()
    if state.report:
        cited = ThreadVersions(state).finished(state.report).cited
        keys = {source.key for source in cited}
        for source in by_number(state.sources.values()).values():
            if source.key not in keys.union(state.excluded):
                uncited.append(source)
    data = {
        "thread": stored.thread,
        "name": stored.name,
        "label": stored.label,
        "title": stored.title,
        "question": stored.question,
        "asked": _first_question(state.messages),
        "graph": GRAPHS[stored.strategy],
        "status": stored.status,
        "is_unfinished": stored.is_unfinished,
        "nodes": list(stored.nodes),
        "is_edit": run.entry == "edit",
        "waiting": dict(stored.waiting),
        "changed": stored.changed,
        "failure": stored.failure,
        "question_id": run.id,
        "first_title": run.first_title,
        "depth": depth,
        "plan": state.plan.text if state.plan else "",
        "seconds": run.active_seconds,
        "stop_reason": run.stop_reason,
        "estimate": stored.estimate,
        "spent": {
            "calls": spent.calls,
            "tokens": spent.input_tokens + spent.output_tokens,
            "usd": spent.usd,
        },
        "has_report": state.report is not None,
        "versions": [version.listed for version in stored.versions],
        "sources": _cards(state, cited),
        "uncited": _cards(state, uncited),
        "excluded": _cards(state, [state.sources[key] for key in state.excluded]),
        "trust": trust_with_lists(stored),
        "follow_ups": list(state.report.follow_ups) if state.report else [],
        "doubts": stored.trust.doubts if stored.trust else "",
        "kind": _kind(stored),
        "done": run.done,
        "messages": messages,
    }
    return clean_nested(data)


async def _with_sent(book: RunBook, stored: StoredRun) -> dict[str, Any]:
    """Return the data of a run with what the user has sent to its research."""
    sent = await book.inbox(stored)
    messages = [{"id": message.id, "text": message.text} for message in sent.messages]
    return {**run_data(stored), "sent": messages, "is_finishing": sent.is_finishing}


def _first_question(messages: Sequence[BaseMessage]) -> str:
    """Return the first message of the user; empty if there is none."""
    for message in messages:
        if isinstance(message, HumanMessage):
            return safe_text(message.text)
    return ""


def _cards(state: ResearchState, sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Return what the page shows of each of these sources."""
    words = labels(state.run.language_code)
    cards = list[dict[str, Any]]()
    for source in sources:
        facts = [words.time_of(source), words.remark(source)]
        if source.kind == "web":
            facts = [source.shown_publisher, words.origin(source), *facts]
        cards.append(
            {
                "number": source.number,
                "title": source.shown_title,
                "kind": source.kind,
                "extent": source.extent,
                "place": source.short_location,
                "facts": list(filter(None, facts)),
            }
        )
    return cards


async def _watch_others(book: RunBook) -> None:
    """Notify all streams of changes by other processes; runs in this process send their own
    notifications."""
    known = dict[str, tuple[Any, ...]]()
    while True:
        await asyncio.sleep(_OTHERS_SECONDS)
        try:
            threads = thread_changes.followed()
            versions = await book.database.saver.versions(threads) if threads else {}
        except Exception as error:  # noqa: BLE001 - the database may be readable again later
            log_failure(__name__, error, "Changes by other processes cannot be read")
            continue
        for thread in known.keys() | versions.keys():
            version = versions.get(thread, (None,))
            owner = version[-1]
            if owner or version != known.get(thread):
                thread_changes.announce(thread)
        known = versions


async def _packet_events(book: RunBook, thread: str, user: str) -> AsyncIterator[str]:
    yield ": nothing yet\n\n"
    owner: str | None = None
    with suppress(TimeoutError):
        async with asyncio.timeout(BEGIN_SECONDS):
            change = thread_changes.next(thread)
            while not (owner := await asyncio.to_thread(owner_of_checkpoints, thread)):
                await change.wait()
                change = thread_changes.next(thread)
    if owner != user:
        # Another user may have started a run on this thread in the meantime.
        words = f"No run has started on thread {thread} within {BEGIN_SECONDS} s."
        if owner:
            words = _no_run(thread).detail
        yield _event("refused", {"detail": words})
        return
    question_id = ""
    tail = StoredLog(Pages(book.database.store, thread), question_id)
    last = ""
    while True:
        change = thread_changes.next(thread)
        try:
            stored = await book.read(thread)
        except DeepResearchError as error:
            # The run was deleted or is damaged.
            yield _refusal(error)
            return
        data = await _with_sent(book, stored)
        if data["question_id"] != question_id:
            question_id = data["question_id"]
            tail = StoredLog(Pages(book.database.store, thread), question_id)
        held, packets = await tail.read_new()
        text = json.dumps(data)
        if text != last:
            worked = tail.worked(is_at_work=bool(stored.runner))
            yield _event("run", {**data, "worked": worked})
            last = text
        if packets:
            yield _event("packets", {"question_id": question_id, "held": held, "packets": packets})
        await asyncio.sleep(_GAP_SECONDS)
        await change.wait()


async def _check_events(
    checks: UserChecks, report: bytes, name: str, asked: str
) -> AsyncIterator[str]:
    notices = asyncio.Queue[str]()
    check = asyncio.create_task(checks.check(report, name, asked, notices.put_nowait))
    check.add_done_callback(lambda _: notices.put_nowait(""))
    try:
        while not check.done():
            try:
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    words = await notices.get()
            except TimeoutError:
                yield ": still checking\n\n"
            else:
                yield _event("notice", {"words": words}) if words else ""
        page = await check
        yield _event("checked", {"summary": page.checked.summary, "html": page.html})
    except DeepResearchError as error:
        yield _refusal(error)
    finally:
        # The client may have disconnected.
        check.cancel()


def _stream(events: AsyncIterator[str]) -> Response:
    return StreamingResponse(
        events, media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


def _refusal(error: DeepResearchError) -> str:
    return _event("refused", {"detail": " ".join(str(error).split())})


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _line(book: RunBook, thread: str) -> dict[str, Any]:
    try:
        stored = await book.read(thread)
    except Exception as error:  # noqa: BLE001 - an unreadable run must not hide others
        log_failure(__name__, error, "The run %s cannot be read", thread)
        return {
            "thread": thread,
            "status": "unreadable",
            "title": "",
            "question": safe_text(" ".join(str(error).split())),
        }
    data = run_data(stored)
    data["doubts"] = data["doubts"] or await _doubts_of_report(book, stored)
    return {name: data[name] for name in _LINE}


async def _doubts_of_report(book: RunBook, stored: StoredRun) -> str:
    """Return what keeps the report of a thread from being plainly done after an answer about it;
    empty if nothing does or there is no answer."""
    latest = ThreadVersions(stored.state).latest
    if not stored.state.report or latest is None or latest.question_id == stored.state.run.id:
        return ""
    try:
        trust = (await book.with_version(stored, latest)).trust
    except UnknownVersion:
        return ""
    return trust.doubts if trust else ""


def _kind(stored: StoredRun) -> str:
    """Return what a thread has come to: `table`, `report` or `answer`; empty if it has nothing
    yet."""
    kinds = {version.kind for version in stored.versions}
    if not kinds:
        return ""
    if stored.strategy == "table":
        return "table"
    return "answer" if kinds == {"answer"} else "report"


async def _run(request: Request) -> StoredRun:
    """Return the requested run of the user, at the requested question; raises status 404."""
    thread = request.path_params["thread"]
    question = request.query_params.get("question")
    book = _own_book(request)
    try:
        stored = await book.read(thread)
    except UnknownThread:
        raise _no_run(thread) from None
    if question in (None, stored.state.run.id):
        return stored
    for earlier in await book.earlier(stored):
        if earlier.state.run.id == question:
            return earlier
    raise HTTPException(404, f"Run {thread} has no question {question}.")


async def _run_at_version(request: Request) -> StoredRun:
    """Return the requested run at the requested version, answer or question, or else at its latest
    version; raises status 404 or 422, and `UserMistake` for an unknown version."""
    stored = await _run(request)
    book = opened_books[-1]
    for name in ("version", "answer"):
        number = _number(request, name)
        if number is not None:
            return await book.at_version(stored, number, is_answer=name == "answer")
    if "question" not in request.query_params:
        return await book.at_version(stored)
    version = ThreadVersions(stored.state).of_question(stored.state.run.id)
    return await book.with_version(stored, version) if version else stored


def _source(request: Request, stored: StoredRun) -> Source:
    """Return the source with the number in the path of a request; raises status 404."""
    number = request.path_params["number"]
    sources = stored.state.sources
    in_thread = {source.number: key for key, source in sources.items() if source.number}
    key = in_thread.get(number)
    report = stored.state.report
    if report and request.query_params.get("of") != "thread":
        # Numbers in a report are those in the thread; its table of disputes may cite a source that
        # its text does not.
        key = report.keys.get(number, key)
    if key is None:
        raise HTTPException(404, f"Source {number} does not exist.")
    return sources[key]


def _number(request: Request, name: str) -> int | None:
    """Return a number in the query of a request, None if it has none; raises status 422."""
    text = request.query_params.get(name)
    if text is None:
        return None
    # Longer numbers are none of a version, and could be too long to be read.
    if not text.isdecimal() or len(text) > _NUMBER_DIGITS:
        raise HTTPException(422, f"{name}: send a number, such as {name}=1.")
    return int(text)


def _own_book(request: Request) -> RunBook:
    """Return the runs of the user who sends the request."""
    return opened_books[-1]._replace(user=_user(request))


def _no_run(thread: str) -> HTTPException:
    return HTTPException(404, f"Run {thread} does not exist.")


def _user(request: Request) -> str:
    client = request.client.host if request.client else ""
    return user_of(request.headers, client) or LOCAL_USER
