"""The chat model that makes any other one call tools: through its API, as JSON, or as tagged text,
as far as its server can."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from pydantic import PrivateAttr, SkipValidation
from typing_extensions import override

from ..dialogue.conversation import safe_text
from ..dialogue.transcripts import REASONING
from ..errors import ToolsMissing, log_failure
from ..records.report import JudgeGrade
from ._faults import fault_kind, message_of
from ._known_abilities import Ability, ModelMemory
from ._reply import read_reply
from ._rungs import LADDER, RungName, TextKey, as_tags, flattened, prepare
from ._thoughts import Piece, ThoughtFilter, split_thoughts
from ._trial import find_ability
from ._wrapping import AnswerPart, WrappingChatModel, reasoning_of
from ._written_calls import CallGuard

_TEMPERATURE = 0.1
"""Temperature for models that write calls as text, unless the model has one set."""
_ABOUT_TOOLS = re.compile("tool|function", re.IGNORECASE)
_NO_CALLS = Ability("tags", calls_tools=False)
"""Ability of a model that calls tools in none of the three ways."""
_without_calls = set[ModelMemory]()
"""Where it is stored that trials of this process found such a model; not tried again."""
_ignored_calls = Counter[ModelMemory]()
"""How often in a row a model wrote text where it had to call a tool through the API; in this
process."""
_MOST_IGNORED = 2
"""Number of such answers after which calls are requested in another way."""


class CompatibleChatModel(WrappingChatModel):
    """Calls tools with any chat model, whatever its server can do; answers have native tool calls.

    Settings that a call may have: `tools` (schemas in OpenAI's format), `tool_choice` (`any`,
    `auto` or `none`), `asks_user`, `hides_tools` and `shows_text` (see `Request`); the wrapped
    model is bound all others. Text is streamed only if no tool may be called, since it may turn out
    to be a call, or if `shows_text` is set. The last part has the whole `answer`.
    """

    model: SkipValidation[BaseChatModel]
    """The wrapped model. It may have `learned` and `recall`, the traits of its server."""
    data_dir: Path
    """The folder of `models.json`, where its ability is stored."""
    at_server: str
    """The model and its server, as in `Profile`."""
    tool_calls: RungName | Literal["auto"] = "auto"
    """The way to call tools that the user has set; `auto`: the one that trials find."""
    role: str
    """Its role, for logs."""
    subject: str
    """How messages to the user name it."""
    is_described: bool = False
    """Whether it is used without a trial."""
    trial: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered for a trial; may announce it and convert its errors."""
    _ability: Ability | None = PrivateAttr(default=None)
    _has_fallen: bool = PrivateAttr(default=False)

    @property
    def _llm_type(self) -> str:
        return "compatible"

    @property
    def memory(self) -> ModelMemory:
        """Where its ability is stored."""
        return ModelMemory(self.data_dir, self.at_server, self.tool_calls)

    async def get_ready(
        self, messages: Sequence[AnyMessage], settings: Mapping[str, Any] | None = None
    ) -> Ability:
        """Return what is known about the model; test it first if these messages and the tools in
        the settings (by default the bound ones) require it.

        Otherwise the first call does so. Raises `ToolsMissing` if the model cannot call any tools,
        or the errors of the trial calls.
        """
        if settings is None:
            settings = self.bound
        tools = settings.get("tools", ())
        has_tools = bool(tools) and settings.get("tool_choice") != "none"
        has_results = any(isinstance(message, ToolMessage) for message in messages)
        async with self.memory.lock:
            known = await self.memory.load()
            if known and hasattr(self.model, "recall"):
                self.model.recall(known.quirks, known.output_tokens)
            is_tried = known and (known.calls_tools or not has_tools)
            may_try = bool(tools) or has_results
            if self.tool_calls != "auto":
                self._ability = (known or Ability())._replace(rung=self.tool_calls)
            elif is_tried or self.is_described or not may_try:
                self._ability = known or Ability()
            elif self.memory in _without_calls:
                raise self._tools_missing
            else:
                self._ability = await self._try_out(has_tools=has_tools)
            return self._ability

    @override
    async def parts(
        self,
        messages: Sequence[AnyMessage],
        config: RunnableConfig | None,
        *,
        is_streamed: bool,
        settings: dict[str, Any],
    ) -> AsyncGenerator[AIMessage, None]:
        """Make a call; if the server refuses its form, repeat it in another one."""
        ability = self._ability or await self.get_ready(messages, settings)
        form = _Form.of(ability)
        is_ignored = _ignored_calls[self.memory] >= _MOST_IGNORED
        if is_ignored and form.rung == "native" and self.tool_calls == "auto":
            # The trial's call may have been an easy one.
            form = _lowered(form) or form
        while True:
            call = _Call(self, form, messages, dict(settings))
            try:
                async with aclosing(call.parts(config, is_streamed=is_streamed)) as parts:
                    async for part in parts:
                        yield part
                return
            except Exception as error:
                other = None if call.has_text else await self._other_form(call, error)
                if other is None:
                    raise
                log_failure(
                    __name__,
                    error,
                    "The %s's model failed (%s); retrying with a changed request",
                    self.role,
                    fault_kind(error),
                )
            yield AnswerPart(content="", is_restart=True)
            form = other

    async def _other_form(self, call: _Call, error: Exception) -> _Form | None:
        """Return the form in which to repeat a failed call; None if none is left."""
        form = call.form
        kind = fault_kind(error)
        is_refused = kind in ("rejected", "no_tools")
        if kind == "down" and _ABOUT_TOOLS.search(message_of(error)):
            is_refused = True
        if is_refused and call.has_bare_results:
            return form._replace(has_plain_history=True)
        # If the user has set the way, the error names that setting instead.
        if self.tool_calls != "auto":
            return None
        is_lowered = form.rung != form.ability.rung
        if kind == "bad_call" or (is_lowered and is_refused):
            # Only for this call: the server may be able to read the model's next one.
            return _lowered(form)
        if kind != "no_tools" or self._has_fallen:
            return None
        self._has_fallen = True
        self._ability = await self._other_ability(form.ability)
        if self._ability.rung == form.rung:
            # The trial's call was accepted, such as one that is forced.
            return _lowered(form)
        return _Form.of(self._ability)

    async def find_out(self) -> Ability | None:
        """Test how the model calls tools and store it; None if it calls none. Raises the errors of
        the trial calls."""
        ability = await find_ability(self.model)
        if ability:
            await self._remember(ability)
        return ability

    async def grade_of_judge(self) -> JudgeGrade | None:
        """How far it can be trusted as a verifier, by its trial; None if it was not tried."""
        known = await self.memory.load()
        return known.judge_grade if known else None

    async def remember_grade(self, grade: JudgeGrade) -> None:
        """Store how far it can be trusted as a verifier."""
        known = await self.memory.load() or Ability()
        await self._remember(known._replace(judge_grade=grade))

    async def _remember(self, ability: Ability) -> None:
        """Store an ability, together with what this process has learned about the server."""
        await self.memory.save(ability.with_learned(self.model))

    async def _other_ability(self, refused: Ability) -> Ability:
        """Return an ability with another way to call tools, after the server refused this one."""
        async with self.memory.lock:
            known = await self.memory.load()
            if known and known.rung != refused.rung:
                return known
            return await self._try_out(has_tools=True)

    async def _try_out(self, *, has_tools: bool) -> Ability:
        """Test how the model calls tools, store the result and return it; for the errors, see
        `get_ready`."""
        with self.trial():
            ability = await self.find_out()
        if ability:
            return ability
        await self._remember(_NO_CALLS)
        _without_calls.add(self.memory)
        if has_tools:
            raise self._tools_missing
        return _NO_CALLS

    @property
    def _tools_missing(self) -> ToolsMissing:
        return ToolsMissing(
            f"{self.subject} cannot call tools in any supported way. "
            "Choose another model (setting models), or set small to auto, so that it only lists "
            "facts and writes."
        )


class _Form(NamedTuple):
    """How a call is sent."""

    ability: Ability
    """What is stored about the model."""
    rung: RungName
    """The way to call tools: that of the ability, or a lower one if the server could not read the
    model's call."""
    has_plain_history: bool
    """Whether earlier calls and results are text if no tool may be called."""

    @classmethod
    def of(cls, ability: Ability) -> _Form:
        """Return the usual form."""
        return cls(ability, ability.rung, ability.has_plain_history)


def _lowered(form: _Form) -> _Form | None:
    """Return the form with the next lower way to call tools; None if there is none."""
    lower = LADDER[LADDER.index(form.rung) + 1 :]
    return form._replace(rung=lower[0]) if lower else None


class _Call:
    """One call of the wrapped model, with the request and the answer in a form."""

    def __init__(
        self,
        chat: CompatibleChatModel,
        form: _Form,
        messages: Sequence[AnyMessage],
        settings: dict[str, Any],
    ) -> None:
        self.form = form
        self.has_text = False
        """Whether a part with text was yielded."""
        self._chat = chat
        self._messages = messages
        self._tools: Sequence[dict[str, Any]] = settings.pop("tools", ())
        self._tool_choice: str = settings.pop("tool_choice", "any")
        self._text_key: TextKey = "answer"
        if settings.pop("asks_user", False):
            self._text_key = "question_to_user"
        if settings.pop("hides_tools", False) and form.rung != "native":
            self._tools = ()
        shows_text: bool = settings.pop("shows_text", False)
        self._settings = settings
        self._may_call = bool(self._tools) and self._tool_choice != "none"
        self._is_prose = shows_text or not self._may_call

    @property
    def has_bare_results(self) -> bool:
        """Whether the request has earlier calls or results as such, but no tool may be called."""
        if self._may_call or self.form.has_plain_history or self.form.rung != "native":
            return False
        for message in self._messages:
            is_call = isinstance(message, AIMessage) and bool(message.tool_calls)
            if is_call or isinstance(message, ToolMessage):
                return True
        return False

    async def parts(
        self, config: RunnableConfig | None, *, is_streamed: bool
    ) -> AsyncGenerator[AIMessage, None]:
        """Make the call; yield the parts of the answer, the last one with the whole of it."""
        chat, rung = self._chat, self.form.rung
        messages = self._messages
        if self.form.has_plain_history and not self._may_call:
            messages = flattened(messages, as_tags)
        prepared = prepare(rung, messages, self._tools, self._tool_choice, self._text_key)
        settings = self._settings
        if rung != "native" and getattr(chat.model, "temperature", None) is None:
            # Local servers default to 0.8, at which small models often break the format.
            settings = {"temperature": _TEMPERATURE, **settings}
        bound = prepared.bind(chat.model, self._tool_choice, **settings)
        received = chat.received(bound, prepared.messages, config, is_streamed=is_streamed)
        reader = self._new_reader()
        async with aclosing(received):
            async for part, answer in received:  # noqa: B007 - the last one is the whole answer
                if isinstance(part, AnswerPart) and part.is_restart:
                    reader = self._new_reader()
                    yield part
                    continue
                for piece in reader.feed(part):
                    self.has_text = self.has_text or bool(piece.text)
                    yield piece
        message = answer.message()
        for piece in reader.finish():
            yield piece
        await self._learn_from(message)
        last = self._last_part(message, reader)
        self._count_ignored(last)
        yield last

    def _count_ignored(self, last: AnswerPart) -> None:
        """Count an answer without the call that its request forced; any call ends the count."""
        is_forced = self._may_call and self._tool_choice == "any"
        # Only the ability of a model that was tried is in doubt.
        if not is_forced or self.form.rung != "native" or self._chat.is_described:
            return
        memory = self._chat.memory
        if last.tool_calls or last.invalid_tool_calls:
            _ignored_calls.pop(memory, None)
        elif last.answer is not None and last.answer.text.strip():
            _ignored_calls[memory] += 1

    def _new_reader(self) -> _PartReader:
        return _PartReader(is_prose=self._is_prose, begins_inside=self.form.ability.begins_inside)

    async def _learn_from(self, message: AIMessage) -> None:
        """Store what the call showed about the model and its server, if it is new."""
        ability = self.form.ability
        began_inside = split_thoughts(message.text).began_inside
        shown = ability._replace(
            begins_inside=ability.begins_inside or began_inside,
            has_plain_history=self.form.has_plain_history,
        )
        shown = shown.with_learned(self._chat.model)
        if shown != ability:
            await self._chat.memory.save(shown)

    def _last_part(self, message: AIMessage, reader: _PartReader) -> AnswerPart:
        """Return the part that has the whole answer, and as its own content what was not yet
        yielded."""
        if not self._is_prose:
            # Parse calls from the unfiltered text: an argument may contain text that looks like a
            # thought.
            message = message.model_copy(update={"content": safe_text(message.text)})
            message = read_reply(message, self._tools)
            rest = str(message.text)
        else:
            prose = split_thoughts(reader.text).text
            message = message.model_copy(update={"content": prose})
            rest = ""
        return AnswerPart(
            content=rest,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            id=message.id,
            tool_calls=message.tool_calls,
            invalid_tool_calls=message.invalid_tool_calls,
            chunk_position="last",
            answer=message,
        )


class _PartReader:
    """Separates the parts of an answer into thoughts, text and arriving calls."""

    def __init__(self, *, is_prose: bool, begins_inside: bool) -> None:
        """`is_prose`: the answer has no calls, so that its text is yielded as it arrives;
        `begins_inside`: see `ThoughtFilter`."""
        self.text = ""
        """The prose so far, without thoughts and written calls."""
        self._filter = ThoughtFilter(begins_inside=begins_inside, hides_calls=is_prose)
        self._guard = CallGuard() if is_prose else None

    def feed(self, part: AIMessage) -> Iterator[AnswerPart]:
        """Add the next part, or the whole message of a model that cannot stream."""
        thought = reasoning_of(part)
        if thought:
            yield AnswerPart(content="", additional_kwargs={REASONING: thought})
        yield from self._read(self._filter.feed(part.text))
        if isinstance(part, AIMessageChunk) and part.tool_call_chunks:
            yield AnswerPart(content="", arriving_calls=part.tool_call_chunks)

    def finish(self) -> Iterator[AnswerPart]:
        """Yield what was still withheld after the last part."""
        yield from self._read(self._filter.finish())
        if self._guard:
            yield from self._said(self._guard.finish())

    def _read(self, pieces: Sequence[Piece]) -> Iterator[AnswerPart]:
        for piece in pieces:
            if piece.kind == "thought":
                yield AnswerPart(content="", leaked_thought=piece.words)
            elif self._guard:
                yield from self._said(self._guard.feed(safe_text(piece.words)))

    def _said(self, words: str) -> Iterator[AnswerPart]:
        if words:
            self.text += words
            yield AnswerPart(content=words)
