"""Entry node: classifies the message, checks the settings and freezes per-run values."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from ..core.accounts.ledger import Account
from ..core.dialogue.conversation import (
    Conversation,
    attached_to,
    mark_of,
    marked,
    safe_text,
    with_attached,
)
from ..core.events.log import Emitter
from ..core.events.packets import ChatHeartbeat, DocumentsIndexed, Placement
from ..core.events.tracing import tracing_notices
from ..core.evidence.citations.labels import labels
from ..core.evidence.exclusion import ExcludedSources
from ..core.evidence.text.language import detect_language
from ..core.library.attachments import INCOMING, message_words, take_files
from ..core.library.library import Library, LibraryStatus
from ..core.models.resolve import RoleModels, settings_of
from ..core.reading.web_page import WebReader
from ..core.records.report import Draft, Report
from ..core.records.research import Entry, Run, Scope, Strategy
from ..core.records.sources import Attached
from ..core.settings.context import Context
from ..core.settings.installed import code_version
from ..core.store.pages import AttachedFiles, Pages
from ..core.tables.report_tables import check_adds_columns
from ..core.writing.language import Language, check_writing
from ..core.writing.report import draft_of
from ..core.writing.versions import ThreadVersions
from ..state import ResearchState, StateUpdate, channels_reset
from ..tools.offer import (
    ToolOffer,
    note_user,
)
from ..tools.run_engines import SearchEngines
from ._answers import UserDecision, most_steps, reviewed

_MAX_PROGRESS_PACKETS = 100
"""Maximum number of indexing progress packets."""
_NAMED_IN_NOTICES = 20
"""Maximum number of documents that each kind of notice names."""
_NAMED_IN_PACKET = 5
"""Maximum number of unread documents named in the indexing packet."""
MIXES_PRIVATE = "Web queries may contain words found only in your documents (mix_private)."
_LANGUAGES_NAMED = 3
"""Maximum number of languages of the documents that are named."""
_FOREIGN = (
    "The documents are in {language}, but the question is not. Without a language model, only "
    "words that both have are found: ask in {language}."
)
_RULES_CUT = "Only the beginning of the system message was read (question_characters)."


async def begin(
    state: ResearchState, runtime: Runtime[Context], *, strategy: Strategy
) -> StateUpdate:
    """Start a new question, or continue the current one with the new message.

    Raises if the question, the settings, the models or the tools cannot be used, before anything is
    spent.
    """
    # Clients see immediately that the run has started.
    heartbeat = ChatHeartbeat(placement=Placement(turn_index=0), elapsed_seconds=0.0)
    Emitter(runtime.stream_writer).emit(heartbeat)
    context = settings_of(runtime)
    await ToolOffer(context).load()
    # Messages that were not added by a call of this graph may still contain files.
    messages = await take_files(state.messages, Pages.of_node(runtime.store, ""), context)
    Conversation(messages).check(context.limits.question_characters)
    run = await ThreadVersions(state).run_before_message(Pages.of_node(runtime.store, ""))
    if run != state.run:
        messages = _with_end_of_failed(messages, run)
    state = replace(state, messages=messages, run=run)
    conversation = Conversation(messages)
    entry = conversation.entry(run)
    is_new = not state.run.id or entry == "follow_up"
    goes_on = state.run.entry == "edit" and entry == "continuation"
    if state.edit:
        ThreadVersions(state).check_editable()
    if state.edit or goes_on:
        entry = "edit"
    drop = conversation.refused(context.limits.question_characters)
    # A stopped run leaves its draft; wherever it continues, it writes a new one.
    for message in state.messages:
        if mark_of(message) == "draft":
            drop.append(message)
    if is_new:
        return await _start(state, runtime, strategy, entry, drop)
    return await _continue(state, runtime, context, entry, drop)


def _with_end_of_failed(messages: Sequence[AnyMessage], run: Run) -> list[AnyMessage]:
    """Return the messages with the end of a question that has failed before the user's last one,
    which asks another."""
    last = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    ended = marked(labels(run.language_code).ended, "ended")
    return [*messages[:last], ended, *messages[last:]]


async def _continue(
    state: ResearchState,
    runtime: Runtime[Context],
    context: Context,
    entry: Entry,
    drop: list[AnyMessage],
) -> StateUpdate:
    """Continue the current question with the current keys and models."""
    scope = ExcludedSources(state.excluded).taken_out_of_scope(state.run.scope, state.sources)
    if _has_incoming(state.messages):
        settings = context.within(scope)
        wider, messages, _ = await _index_attached(settings, state.messages, runtime)
        state = replace(state, messages=messages)
        widened = await asyncio.to_thread(_scope_of_index, wider)
        scope = ExcludedSources(state.excluded).taken_out_of_scope(widened, state.sources)
    ToolOffer(context.within(scope)).check()
    await RoleModels(context).load()
    RoleModels(context).check()
    notices = dict.fromkeys((*state.run.notices, *tracing_notices(context)))
    changes = {"entry": entry, "status": "running", "notices": tuple(notices), "scope": scope}
    run = state.run.model_copy(update=changes)
    await note_user(Pages.of_node(runtime.store, run.id), state.messages, run)
    changed = _changed(state.messages, drop)
    update = StateUpdate(run=run, tasks=[], draft=None, messages=changed)
    if entry == "edit":
        assert state.base is not None
        update["draft"] = _draft_to_edit(state, state.base, run)
        update["progress"] = state.progress.model_copy(update={"waiting": ()})
    if entry == "plan_reply" and state.plan:
        replies = [message for message in state.messages if isinstance(message, HumanMessage)]
        answer = UserDecision("respond", safe_text(replies[-1].text).strip())
        update["plan"] = reviewed(state.plan, answer, most_steps(run, context.limits))
    return update


def _draft_to_edit(state: ResearchState, base: Report, run: Run) -> Draft:
    """Return the draft with which an edit starts; findings of the edit itself are new to it."""
    known = list[str]()
    for finding in state.findings.values():
        if finding.question_id != run.id:
            known.append(finding.id)
    return draft_of(base, labels(run.language_code), known)


def _has_incoming(messages: Iterable[AnyMessage]) -> bool:
    """Whether files were attached since the last run."""
    for message in messages:
        for file in attached_to(message):
            if file.code == INCOMING:
                return True
    return False


async def _start(
    state: ResearchState,
    runtime: Runtime[Context],
    strategy: Strategy,
    entry: Entry,
    drop: list[AnyMessage],
) -> StateUpdate:
    """Start a new question, with settings that stay the same for all of it."""
    given = settings_of(runtime)
    await Account(Pages.of_node(runtime.store, "")).check(given)
    started = given.clock.seconds()
    versions = ThreadVersions(state)
    kept = [message for message in state.messages if message not in drop]
    context, messages, attached = await _index_attached(given, kept, runtime)
    ToolOffer(context).check()
    await RoleModels(context).load()
    if entry == "edit":
        versions.check_editable(context)
    warnings = list(RoleModels(context).check())
    warnings += await asyncio.to_thread(check_writing, context)
    base = versions.editable_report
    if strategy == "table" and entry == "follow_up" and RoleModels(context).only_quotes_rows:
        check_adds_columns(Conversation(messages).question, base)
    if entry == "edit" and base:
        language = await Language.of_report(base.text, state.run)
    else:
        language = await Language.decide(context.language, messages, entry, state.run)
    is_extract = labels(language.code).is_extract
    status = await _prepare_documents(given, runtime)
    scope = await asyncio.to_thread(ToolOffer(context).scope, status.documents + attached.documents)
    scope = ExcludedSources(state.excluded).taken_out_of_scope(scope, state.sources)
    question = Conversation(messages).question
    codes = list[str]()
    if scope.documents:
        codes = await asyncio.to_thread(Library(context).languages)
        scope = _with_languages(scope, codes, language)
    is_quoting = RoleModels(context).quotes_only()
    notices = list[str]()
    for warning in warnings:
        if warning == is_quoting:
            # In the report's language, and without advice, since others may read the report.
            warning = is_extract
        notices.append(warning)
    if codes and RoleModels(given).is_extractive("researcher"):
        asked_in = await asyncio.to_thread(detect_language, question)
        if asked_in and asked_in not in codes:
            notices.append(_FOREIGN.format(language=_named(codes)))
    notices += _document_notices(status, attached)
    if len(Conversation(messages).house_rules) > context.limits.question_characters:
        notices.append(_RULES_CUT)
    if context.mix_private and (scope.docs or scope.retrievers) and scope.engines:
        notices.append(MIXES_PRIVATE)
    notices += tracing_notices(context)
    run = Run(
        id=uuid.uuid4().hex,
        question=question,
        date=f"{context.clock.now():%A, %B %d, %Y}",
        language=language.name,
        language_code=language.code,
        # The only sign of a checkpointer that a node can see.
        is_resumable=get_config().get("configurable", {}).get("__pregel_checkpointer") is not None,
        scope=scope,
        version=await asyncio.to_thread(code_version),
        strategy=strategy,
        entry=entry,
        # What a report is to be changed to is in the user's words; a table has no sections.
        outline="" if entry == "edit" or strategy == "table" else context.outline.strip(),
        first_title=state.run.first_title or state.title,
        depth=None if context.depth == "standard" else context.depth,
        is_quick=context.depth == "quick" and entry != "edit",
        active_seconds=context.clock.seconds() - started,
        notices=tuple(notices),
        not_read=tuple(file.not_read for file in status.left_out[:_NAMED_IN_NOTICES]),
    )
    pages = Pages.of_node(runtime.store, run.id)
    await note_user(pages, messages, run)
    update = StateUpdate(messages=_changed(messages, drop), run=run, base=base)
    update.update(channels_reset())
    kept_first = await versions.keep_first(pages)
    if kept_first:
        update["versions"] = kept_first
    if entry == "edit" and base:
        update["draft"] = _draft_to_edit(state, base, run)
    if SearchEngines(context).chosen():
        # Last, so that they start while a model is asked.
        WebReader.start_parsers(context.limits)
    return update


def _with_languages(scope: Scope, codes: Sequence[str], language: Language) -> Scope:
    """Return the scope with a hint for models that word queries, if no documents are in the
    language of the report (`codes`: the documents' languages)."""
    if not codes or not language.code or language.code in codes:
        return scope
    theirs = _named(codes)
    hint = f"They are in {theirs}: search them in {theirs} and in {language.name}."
    return scope.model_copy(update={"documents": f"{scope.documents}\n{hint}"})


def _named(codes: Sequence[str]) -> str:
    """Return the English names of languages."""
    return " and ".join(Language.named(code).name for code in codes[:_LANGUAGES_NAMED])


def _document_notices(status: LibraryStatus, attached: LibraryStatus) -> list[str]:
    """Return notices on documents that were not read, or not completely."""
    notices = list[str]()
    shortened = (*status.shortened, *attached.shortened)
    for path in shortened[:_NAMED_IN_NOTICES]:
        notices.append(f"Only the beginning was read: {path}.")
    in_part = (*status.notes, *attached.notes)
    for note in in_part[:_NAMED_IN_NOTICES]:
        notices.append(f"Read in part: {note}.")
    unnamed = 0
    for left_out in status.left_out[_NAMED_IN_NOTICES:]:
        unnamed += left_out.files
    if unnamed:
        notices.append(f"Not read: {unnamed} more; deep-research doctor lists all.")
    return notices


def _scope_of_index(context: Context) -> Scope:
    """Return what the question may search, with the documents in the index; blocks."""
    documents = sum(1 for _ in Library(context).addresses())
    return ToolOffer(context).scope(documents)


def _changed(messages: Sequence[AnyMessage], drop: list[AnyMessage]) -> list[BaseMessage]:
    """Return the update of the conversation.

    It has removals for `drop`, the messages whose attachments may have changed, and the end of a
    question that has failed, with all that comes after it, which is stored again behind it.
    """
    update = list[BaseMessage]()
    for message in drop:
        update.append(RemoveMessage(id=str(message.id)))
    is_behind = False
    for message in messages:
        if message in drop:
            continue
        if is_behind:
            update.append(RemoveMessage(id=str(message.id)))
        # Only a message that is not stored yet has no id.
        is_behind = is_behind or message.id is None
        if is_behind or attached_to(message):
            update.append(message)
    return update


async def _index_attached(
    context: Context, messages: Sequence[AnyMessage], runtime: Runtime[Context]
) -> tuple[Context, list[AnyMessage], LibraryStatus]:
    """Index the files attached in the thread.

    Returns settings whose `docs` include them, the messages with the unreadable files marked, and
    the index's status.
    """
    thread = Pages.of_node(runtime.store, "").thread
    attached = await asyncio.to_thread(AttachedFiles.below, context.data_dir)
    folder = attached.of_thread(thread)
    status = await _prepare_documents(context.model_copy(update={"docs": (folder,)}), runtime)
    unread = {file.path: file for file in status.left_out}
    updated = list[AnyMessage]()
    for message in messages:
        files = attached_to(message)
        incoming = {file.name for file in files if file.code == INCOMING}
        if not incoming:
            updated.append(message)
            continue
        checked = list[Attached]()
        for file in files:
            if file.name not in incoming:
                checked.append(file)
                continue
            changes = {"reason": "", "code": ""}
            if file.name in unread:
                left_out = unread[file.name]
                changes = {"reason": left_out.reason, "code": left_out.code}
            checked.append(file.model_copy(update=changes))
        updated.append(with_attached(message, message_words(message), checked))
    docs = context.docs
    if status.documents:
        docs = tuple(dict.fromkeys((*docs, folder)))
    return context.model_copy(update={"docs": docs}), updated, status


async def _prepare_documents(context: Context, runtime: Runtime[Context]) -> LibraryStatus:
    """Bring the index of the documents up to date, with packets about its progress.

    Returns its status.
    """
    loop = asyncio.get_running_loop()
    is_over = threading.Event()
    emitter = Emitter(runtime.stream_writer)
    placement = Placement(turn_index=0)
    changed = 0

    def report_progress(done: int, total: int) -> None:
        nonlocal changed
        if is_over.is_set():
            # The run was cancelled; raising stops the thread.
            raise asyncio.CancelledError
        changed = total
        if done < total and done % max(1, total // _MAX_PROGRESS_PACKETS) == 0:
            packet = DocumentsIndexed(placement=placement, done=done, total=total)
            loop.call_soon_threadsafe(emitter.emit, packet)

    try:
        status = await asyncio.to_thread(Library(context).refresh, report_progress)
    finally:
        is_over.set()
    if changed or status.unread:
        unread = [file for file in status.left_out if file.is_document]
        emitter.emit(
            DocumentsIndexed(
                placement=placement,
                done=changed,
                total=changed,
                readable=status.documents,
                unread_total=status.unread,
                unread=tuple(file.not_read for file in unread[:_NAMED_IN_PACKET]),
            )
        )
    return status
