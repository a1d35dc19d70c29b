"""Scripted chat models, a verifier that compares figures, and the forms that models fill in."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput, ModelProfile
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, PrivateAttr
from typing_extensions import override

from deep_research.core.dialogue.transcripts import CHARACTERS_PER_TOKEN
from deep_research.core.evidence.text.numbers import plain_figures
from deep_research.core.writing._judging import JudgeUnits
from deep_research.core.writing.examination import RewriteSentences
from deep_research.core.writing.forms import Form, form_schema
from deep_research.nodes._control import GENERATE_FINDING_SCHEMA, THINK_TOOL_SCHEMA
from deep_research.nodes.cross_check import RecordContradictions
from deep_research.nodes.digest import UpdatePlan
from deep_research.nodes.orchestrate import RESEARCH_AGENT_SCHEMA
from deep_research.nodes.plan_steps import MakePlan
from deep_research.nodes.step.analyze import StepAnalysis
from deep_research.nodes.step.evaluate import UpdateStep
from deep_research.nodes.step_turn import RecordRound
from deep_research.nodes.summarize import RecordSummary
from deep_research.tools.tool import tool_schema

Answer: TypeAlias = str | AIMessage | Exception
Script: TypeAlias = (
    Answer | Callable[[list[BaseMessage], dict[str, Any]], Answer | Awaitable[Answer]]
)
SHOWN_LINES = 3
_CALCULATION = re.compile(r'"calculation": (\d+), "name": "[^"]*", "line": "([^"]*)"')


def complete(message: AIMessage, prompt: Sequence[BaseMessage]) -> AIMessage:
    """Return the answer with the finish reason and the token counts that a provider would add; its
    own ones win."""
    reason = "tool_calls" if message.tool_calls or message.invalid_tool_calls else "stop"
    read, written = _tokens(*prompt), _tokens(message)
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return message.model_copy(
        update={
            "response_metadata": {"finish_reason": reason, **message.response_metadata},
            "usage_metadata": message.usage_metadata or usage,
        }
    )


def in_chunks(message: AIMessage, size: int) -> Iterator[AIMessageChunk]:
    """Yield the answer in pieces of `size` characters that add up to it; the last has the counts
    and finish reason."""
    if message.additional_kwargs:
        yield AIMessageChunk(content="", additional_kwargs=message.additional_kwargs)
    if isinstance(message.content, str):
        yield from (AIMessageChunk(content=piece) for piece in _cut(message.content, size))
    else:
        yield from (AIMessageChunk(content=[block]) for block in message.content)
    for index, (name, arguments, identifier) in enumerate(_raw_calls(message)):
        opening = tool_call_chunk(name=name, args="", id=identifier, index=index)
        pieces = (tool_call_chunk(args=piece, index=index) for piece in _cut(arguments, size))
        yield from (
            AIMessageChunk(content="", tool_call_chunks=[piece]) for piece in (opening, *pieces)
        )
    yield AIMessageChunk(
        content="",
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )


def _tokens(*messages: BaseMessage) -> int:
    raw_calls = (
        call
        for message in messages
        if isinstance(message, AIMessage)
        for call in _raw_calls(message)
    )
    characters = sum(len(arguments) for _, arguments, _ in raw_calls)
    return (characters + sum(len(message.text) for message in messages)) // CHARACTERS_PER_TOKEN


def _raw_calls(message: AIMessage) -> list[tuple[str | None, str, str | None]]:
    calls = [
        (call["name"], json.dumps(call["args"], ensure_ascii=False), call["id"])
        for call in message.tool_calls
    ]
    return [
        *calls,
        *((call["name"], call["args"] or "", call["id"]) for call in message.invalid_tool_calls),
    ]


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


class ScriptExhausted(Exception):
    """The model was called more often than its script foresaw, or with a prompt that the script
    does not know."""


class Call(NamedTuple):
    """One call that the model received."""

    messages: tuple[BaseMessage, ...]
    """The prompt."""
    tools: tuple[str, ...]
    """Names of the tools that were bound."""
    settings: dict[str, Any]
    """Whatever else was bound or passed: `tool_choice`, `max_tokens`, `stop`, …"""

    @property
    def text(self) -> str:
        """The whole prompt as one text."""
        return "\n".join(message.text for message in self.messages)


class Heard(NamedTuple):
    """What a model was asked and answered."""

    calls: tuple[Call, ...]
    given: tuple[tuple[Any, Any], ...]
    """What each reply was found by, and the reply as the script has it."""


class ChatOpenAI(BaseChatModel):
    """Has the name by which the caller knows a class that takes each call as it is meant."""


class ScriptedChatModel(ChatOpenAI):
    """Gives the replies of its script and records every call.

    A reply is a text, a message, an exception to raise, or a function `(messages, settings)`, async
    if it likes, that returns one of these.
    """

    replies: list[Any] | dict[str, Any]
    """In order; or by the name of a tool that is offered or, if no key is one, by a part of the
    first human message, where the longest key wins. The replies of a list are given once each, a
    single one as often as it is asked for."""
    chunk_characters: int = 7
    model_name: str = "scripted"
    """The caller asks for it many times a run, and Pydantic takes long to miss it."""
    calls: list[Call] = Field(default_factory=list)
    """The calls received so far, those of bound copies included."""
    _used: dict[str, int] = PrivateAttr(default_factory=dict)
    _given: list[tuple[str, Script]] = PrivateAttr(default_factory=list)
    """For each call, the key of its reply and the reply itself, as the script has it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """LangChain shows a model for each call; a script with all its messages takes long."""
        return ()

    def unused(self) -> list[str]:
        """Return the replies that no call has asked for, in words."""
        return [
            f"{key!r}: {_shown(reply)}" if key else _shown(reply)
            for key, replies in self._scripts().items()
            if isinstance(replies, list)
            for reply in replies[self._used.get(key, 0) :]
        ]

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the same model with tools; see `BaseChatModel.bind_tools`."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _scripts(self) -> dict[str, Any]:
        return self.replies if isinstance(self.replies, dict) else {"": self.replies}

    def _take(
        self, messages: list[BaseMessage], stop: list[str] | None, settings: dict[str, Any]
    ) -> Script:
        tools = tuple(tool["function"]["name"] for tool in settings.pop("tools", ()))
        if stop is not None:
            settings["stop"] = stop
        self.calls.append(Call(tuple(messages), tools, settings))
        key = self._key(messages, tools)
        reply: Script | list[Script] = self._scripts()[key]
        if not isinstance(reply, list):
            self._given.append((key, reply))
            return reply
        replies, used = reply, self._used.get(key, 0)
        if used == len(replies):
            part = f" for {key!r}" if key else ""
            raise ScriptExhausted(
                f"All {used} replies{part} are used. The prompt was:\n{_prompt_shown(messages)}"
            )
        self._used[key] = used + 1
        self._given.append((key, replies[used]))
        return replies[used]

    def heard(self) -> Heard:
        """Return what it was asked and answered so far."""
        return Heard(tuple(self.calls), tuple(self._given))

    def repeats(self, heard: Heard) -> bool:
        """Whether a model with this script, of which nothing is used, would have answered the same."""
        used = Counter[str]()
        for request, (key, given) in zip(heard.calls, heard.given, strict=True):
            try:
                own_key = self._key(list(request.messages), request.tools)
            except ScriptExhausted:
                return False
            if own_key != key:
                return False
            reply: Script | list[Script] = self._scripts()[key]
            if isinstance(reply, list):
                if used[key] == len(reply):
                    return False
                reply = reply[used[key]]
                used[key] += 1
            if not is_same(reply, given):
                return False
        return True

    def take_over(self, heard: Heard) -> None:
        """Go on as if it had been asked all that."""
        self.calls.extend(heard.calls)
        self._given.extend(heard.given)
        scripts = self._scripts()
        keys = [key for key, _ in heard.given if isinstance(scripts[key], list)]
        self._used.update(Counter(keys))

    def _key(self, messages: list[BaseMessage], tools: Sequence[str]) -> str:
        question = next(
            (message.text for message in messages if isinstance(message, HumanMessage)), ""
        )
        scripts = self._scripts()
        keys = [key for key in scripts if key in tools] or [
            key for key in scripts if key in question
        ]
        if not keys:
            known, offered = (", ".join(map(repr, names)) or "none" for names in (scripts, tools))
            raise ScriptExhausted(
                f"No key of {known} is a tool that is offered ({offered}) or occurs in the prompt:\n"
                f"{_prompt_shown(messages)}"
            )
        return max(keys, key=len)

    async def _answer(
        self, messages: list[BaseMessage], stop: list[str] | None, settings: dict[str, Any]
    ) -> AIMessage:
        reply = self._take(messages, stop, settings)
        answer: Any = reply(messages, settings) if callable(reply) else reply
        return self._finish(await answer if inspect.isawaitable(answer) else answer, messages)

    def _finish(self, answer: Any, messages: list[BaseMessage]) -> AIMessage:
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, str | AIMessage):
            raise TypeError(
                f"a reply must be a text, an AIMessage, an exception or a function, not {answer!r}"
            )
        message = AIMessage(content=answer) if isinstance(answer, str) else answer
        return complete(_with_ids(message, len(self.calls)), messages)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return asyncio.run(self._agenerate(messages, stop, **kwargs))

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=await self._answer(messages, stop, kwargs))]
        )

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in in_chunks(await self._answer(messages, stop, kwargs), self.chunk_characters):
            yield ChatGenerationChunk(message=chunk)


def call(name: str, /, *, id: str | None = "", **arguments: Any) -> ToolCall:
    """Return a tool call for a script; an empty id is filled in when the model replies, None stays
    missing."""
    return tool_call(name=name, args=arguments, id=id)


def calls(*tool_calls: ToolCall | InvalidToolCall, text: str = "", **metadata: Any) -> AIMessage:
    """Return a message with tool calls; `metadata` becomes its response metadata, such as
    `finish_reason="length"`."""
    return AIMessage(
        content=text,
        tool_calls=[entry for entry in tool_calls if entry.get("type") == "tool_call"],
        invalid_tool_calls=[
            entry for entry in tool_calls if entry.get("type") == "invalid_tool_call"
        ],
        response_metadata=metadata,
    )


def _with_ids(message: AIMessage, call_number: int) -> AIMessage:
    entries = [*message.tool_calls, *message.invalid_tool_calls]
    filled = [
        {**entry, "id": f"call-{call_number}-{position}"} if entry["id"] == "" else entry
        for position, entry in enumerate(entries, start=1)
    ]
    cut = len(message.tool_calls)
    return message.model_copy(
        update={"tool_calls": filled[:cut], "invalid_tool_calls": filled[cut:]}
    )


def _prompt_shown(messages: list[BaseMessage]) -> str:
    return "\n".join(f"{message.type}: {_first_lines(message.text)}" for message in messages)


def _first_lines(text: str) -> str:
    lines = text.splitlines()
    return "\n  ".join(lines[:SHOWN_LINES]) + (" …" if len(lines) > SHOWN_LINES else "")


def is_same(reply: Any, other: Any) -> bool:
    """Whether two replies of scripts say the same: texts and messages by their content, functions
    by their code if they hold no values."""
    if reply is other:
        return True
    if inspect.isfunction(reply) and inspect.isfunction(other):
        return reply.__code__ is other.__code__ and not reply.__closure__
    is_said = not callable(reply) and type(reply) is type(other)
    return is_said and repr(reply) == repr(other)


def _shown(reply: Script) -> str:
    if isinstance(reply, AIMessage):
        names = ", ".join(
            str(entry["name"]) for entry in [*reply.tool_calls, *reply.invalid_tool_calls]
        )
        return f"calls of {names}" if names else _first_lines(reply.text)
    return _first_lines(reply) if isinstance(reply, str) else repr(reply)


QUESTIONS = " ".join(f"Who knows more of the year {year}?" for year in range(1844, 1934))
"""Questions, which state nothing and are not judged. They make a section long enough to be judged
while the next one is written."""


def judged(*verdicts: str | tuple[str, str]) -> AIMessage:
    """The verdicts on the units that a verifier is shown, in their order, each alone or with the
    deciding words."""
    pairs = [(verdict, "") if isinstance(verdict, str) else verdict for verdict in verdicts]
    said = [
        {"unit": n, "verdict": verdict, "words": words}
        for n, (verdict, words) in enumerate(pairs, 1)
    ]
    return calls(call("judge_units", verdicts=said))


def units_shown(prompt: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The units of a request to the verifier, and what its sources say by their numbers, without
    the user's request."""
    start = re.search(r'\{"knowledge"', prompt)
    assert start, prompt
    shown = json.JSONDecoder().raw_decode(prompt[start.start() :])[0]["knowledge"]
    said = {source["source"]: "\n".join(source["passages"]) for source in shown.get("sources", ())}
    said.pop("request", None)
    return shown["units"], said


def by_figures(prompt: str) -> AIMessage:
    """A unit is supported if its figures stand in a passage of the sources that it cites, or of any
    if of none."""
    units, said = units_shown(prompt)
    verdicts = list[str | tuple[str, str]]()
    lines = dict(_CALCULATION.findall(prompt))
    for unit in units:
        for number in unit.get("calculations", ()):
            # What was calculated stands in no passage.
            for figure in plain_figures(lines[str(number)]):
                unit["says"] = unit["says"].replace(figure, "")
        cited = unit.get("cites", ())
        own = [said[number] for number in cited if number in said] or [*said.values()]
        each = [_deciding(unit["says"], [passages]) for passages in own]
        words = "\n".join(filter(None, each)) or _deciding(unit["says"], own)
        figures = plain_figures(unit["says"])
        if words and (figures or cited):
            verdicts.append(("supported", words))
        else:
            verdicts.append("contradicted" if cited else "not_found" if figures else "reasoning")
    return judged(*verdicts)


def _deciding(says: str, passages: Sequence[str]) -> str:
    """The sentences that hold all figures of a statement, as few as will do; empty if there are
    none."""
    pieces = (line for passage in passages for line in re.split(r"(?<=[.!?])\s+|\n", passage))
    figures, lines = plain_figures(says), [line for line in pieces if line.strip()]
    by_likeness = sorted(lines, key=lambda line: -len({*says.split()} & {*line.split()}))
    if not figures:
        return by_likeness[0] if by_likeness else ""
    chosen = list[str]()
    for figure in sorted(figures):
        if figure in plain_figures(" ".join(chosen)):
            continue
        holding = next((line for line in by_likeness if figure in plain_figures(line)), None)
        if holding is None:
            return ""
        chosen.append(holding)
    return "\n".join(chosen)


def figure_judge(profile: ModelProfile | None = None) -> ScriptedChatModel:
    """A verifier that judges by figures, as often as it is asked."""
    profile = profile or ModelProfile(max_input_tokens=100_000)
    return ScriptedChatModel(
        replies={"": lambda messages, _: by_figures(messages[-1].text)}, profile=profile
    )


class HeardCalls(BaseCallbackHandler):
    """A callback handler that records the tags and the metadata of each call of a chat model."""

    def __init__(self) -> None:
        self.models: list[tuple[list[str], dict[str, Any]]] = []

    @override
    def on_chat_model_start(self, *_: Any, **known: Any) -> None:
        self.models.append((known["tags"], known["metadata"]))


class Search(BaseModel):
    """Search the documents."""

    queries: list[str] = Field(description="Short queries.")
    limit: int | None = Field(default=None, description="Most results.")


class Open(BaseModel):
    """Read pages."""

    urls: list[str]


SEARCH = tool_schema("internal_search", Search)
OPEN = tool_schema("open_url", Open)
TOOLS = [SEARCH, OPEN, THINK_TOOL_SCHEMA, GENERATE_FINDING_SCHEMA, RESEARCH_AGENT_SCHEMA]

Asked = list[tuple[str, dict[str, Any]]]
ARGUMENTS = {"queries": ["a b", "c"]}
WRITTEN = json.dumps(ARGUMENTS)
ONE: Asked = [("internal_search", ARGUMENTS)]
TWO: Asked = [*ONE, ("open_url", {"urls": ["x"]})]
CALL = f'{{"name": "internal_search", "arguments": {WRITTEN}}}'
OPENING = '{"name": "open_url", "arguments": {"urls": ["x"]}}'
REPORT: Asked = [("generate_report", {})]

FORMS: dict[str, tuple[str, Asked]] = {
    "schema": (f'{{"calls": [{CALL}, {OPENING}]}}', TWO),
    "tagged": (
        f'<tool name="internal_search">{WRITTEN}</tool>\n<tool name="open_url">{{"urls": ["x"]}}</tool>',
        TWO,
    ),
    "tagged without arguments": ('<tool name="generate_report"/>', REPORT),
    "tagged and empty": ("<tool name='generate_report'>\n</tool>", REPORT),
    "name and arguments": (CALL, ONE),
    "name and parameters": (CALL.replace("arguments", "parameters"), ONE),
    "function of the API": (
        json.dumps(
            [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "internal_search", "arguments": WRITTEN},
                }
            ]
        ),
        ONE,
    ),
    "tool calls": (f'{{"tool_calls": [{CALL}]}}', ONE),
    "no arguments": ('{"name": "generate_report"}', REPORT),
    "null arguments": ('{"name": "generate_report", "arguments": null}', REPORT),
    "list": (f"[{CALL}, {OPENING}]", TWO),
    "lines": (f"{CALL}\n{OPENING}", TWO),
    "fence": (f"```json\n{CALL}\n```", ONE),
    "fence without end": (f"```json\n{CALL}", ONE),
    "two fences": (f"```json\n{CALL}\n```\n\n```\n{OPENING}\n```", TWO),
    "list as text": (
        '{"name": "internal_search", "arguments": {"queries": "[\\"a b\\", \\"c\\"]"}}',
        ONE,
    ),
    "null for what is optional": (CALL.replace('"c"]', '"c"], "limit": null'), ONE),
    "other name": (CALL.replace("internal_search", "functions.Internal-Search "), ONE),
    "hermes": (f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OPENING}\n</tool_call>", TWO),
    "hermes without end": (f"<tool_call>{CALL}", ONE),
    "hermes, broken": (f"<tool_call>{CALL[:-1]}</tool_call>", ONE),
    "qwen coder": (
        '<tool_call>\n<function=internal_search>\n<parameter=queries>\n["a b", "c"]\n</parameter>\n</function>\n'
        "</tool_call>",
        ONE,
    ),
    "qwen coder without ends": (
        '<function=internal_search>\n<parameter=queries> ["a b", "c"]\n<parameter=limit> 3',
        [("internal_search", {**ARGUMENTS, "limit": 3})],
    ),
    "gpt-oss": (
        '<|channel|>analysis<|message|>Or {"name": "open_url"}?<|end|><|start|>assistant<|channel|>commentary '
        f"to=functions.internal_search <|constrain|>json<|message|>{WRITTEN}<|call|>",
        ONE,
    ),
    "after a thought": (f"<think>Or {OPENING}?</think>\n{CALL}", ONE),
    "after a thought without beginning": (f"Or {OPENING}?\n</think>\n\n{CALL}", ONE),
    "tags in the arguments": (
        '<tool name="think_tool">{"reasoning": "</tool> <think>x</think> and </think>."}</tool>',
        [("think_tool", {"reasoning": "</tool> <think>x</think> and </think>."})],
    ),
}
UNREAD: dict[str, str] = {
    "gemma": '<|tool_call>call:internal_search{queries:[<|"|>a b<|"|>]}<tool_call|>',
    "mistral": f"[TOOL_CALLS]internal_search[ARGS]{WRITTEN}",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.internal_search:0<|tool_call_argument_begin|>"
    f"{WRITTEN}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi without tokens": f"functions.internal_search:0{WRITTEN}",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>internal_search\n```json\n"
    f"{WRITTEN}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "glm": "<tool_call>internal_search\n<arg_key>queries</arg_key>\n<arg_value>a b</arg_value>\n</tool_call>",
    "minimax": '<minimax:tool_call>\n<invoke name="internal_search">\n<parameter name="queries">["a b"]</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "llama": '<|python_tag|>internal_search.call(queries=["a b"])<|eom_id|>',
    "python": 'internal_search(queries=["a b"])',
    "python in a list": '[internal_search(queries=["a b"]), open_url(urls=["x"])]',
    "python in a fence": '```tool_code\nprint(default_api.internal_search(queries=["a b"]))\n```',
    "steps": f"Action: internal_search\nAction Input: {WRITTEN}",
    "name then object": f"internal_search\n```json\n{WRITTEN}\n```",
    "name alone": "`internal_search`",
    "by name": f'{{"internal_search": {WRITTEN}}}',
    "arguments beside the name": '{"tool": "internal_search", "queries": ["a b"]}',
    "schema of the tool": '{"name": "internal_search", "description": "Search.", "parameters": {"type": "object"}}',
}
"""Forms that are recognised and not read, each with a call of `internal_search`."""
BROKEN: dict[str, str] = {
    "python quotes": str({"name": "internal_search", "arguments": ARGUMENTS}),
    "trailing commas": '{"name": "internal_search", "arguments": {"queries": ["a b", "c",],},}',
    "comments": '{"name": "internal_search", // the search\n "arguments": {"queries": ["a b", "c"] /* two */}}',
    "missing brackets": CALL[:-2],
    "missing bracket within": '{"name": "internal_search", "arguments": {"queries": ["a b", "c"}}',
    "missing comma": '{"name": "internal_search" "arguments": {"queries": ["a b" "c"]}}',
    "bare keys": '{name: "internal_search", arguments: {queries: ["a b", "c"]}}',
    "too many brackets": CALL + "}}",
    "doubly encoded and broken": json.dumps({"name": "internal_search", "arguments": WRITTEN[:-1]}),
}


_HANDED_IN: tuple[type[Form], ...] = (
    *(MakePlan, RecordSummary, RecordRound, UpdateStep, UpdatePlan),
    *(StepAnalysis, RecordContradictions, JudgeUnits, RewriteSentences),
)
FORM_CLASSES: dict[str, type[Form]] = {form.tool_name(): form for form in _HANDED_IN}
SCHEMAS = {form: form_schema(form) for form in _HANDED_IN}
