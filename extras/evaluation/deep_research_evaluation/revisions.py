"""The command `revisions`: extends, follows up and edits finished reports, and counts what is lost.

A set is a folder as for `checks`. A scripted model plays all roles: its draft is the report of the
set, its grade says that one requirement is open, its additions stand at random positions, its edits
are those of `edits`, and its verdicts go by the figures of the statements.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import override

from deep_research import Context, build_graph, thread_id
from deep_research.core.evidence.citations.rendering import without_marks
from deep_research.core.writing.blocks import report_blocks
from deep_research_evaluation.checks import split_report
from deep_research_evaluation.edits import (
    EACH,
    KINDS,
    MARKER,
    NEW_DOCUMENT,
    NEW_SOURCE,
    NEW_TITLE,
    ScriptedEdit,
    pieces_of,
    scripted_edits,
    with_uniform_rows,
)

_RESULT = re.compile(r'"document": (\d+), "title": "((?:[^"\\]|\\.)*)"')
_SOURCE = re.compile(r"^\[(\d+)\] ([^;\n]+)", re.MULTILINE)
_LINE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|$)", re.MULTILINE)
"""Matches a sentence of a passage."""
_BLOCK = re.compile(r'"block": (\d+), "kind"')
"""Matches the number of a block as it is shown; edits name it elsewhere."""
_TITLE = re.compile(r"# .+")
_BETWEEN_CITATIONS = re.compile(r"(?<=\]) (?=\[\d)")
"""Matches the space with which a document shows two citations in a row."""
_CHARACTERS_PER_TOKEN = 4
_WORD = re.compile(r"\w+")
PLAN = "1. All of it\n\n## Checklist\n\n- The subject\n- What is new"
ADDED = "This was added afterwards"
FOLLOW_UP = "And what else is known of it?"


class Revised(NamedTuple):
    """The outcome of a report."""

    name: str
    sentences: int
    """Number of its sentences, headings and rows, with citations."""
    lost_by_additions: int
    """Those that are missing, changed or out of order after additions."""
    added: int
    """Number of added passages."""
    lost_by_follow_up: int
    """Those that are missing in the thread after a follow-up."""


class Edited(NamedTuple):
    """The outcome of an edit of a report."""

    name: str
    kind: str
    untouched: int
    """Number of blocks that the edit does not name."""
    changed: int
    """Those that are missing, changed or out of order afterwards."""
    lost: int
    """Number of sentences and rows that the edit writes or moves and that are missing."""
    lost_citations: int
    """Number of citations that should be in the report and are not."""
    calls: int
    """Number of model calls beside those of the check."""
    tokens: int
    """Estimated tokens of these calls."""
    judged: int
    """Number of units that the check sent to the model."""
    units: int
    """Number of units of the edited report."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost or changed that the edit leaves."""
        return not (self.changed or self.lost or self.lost_citations)


class ScriptedModel(BaseChatModel):
    """Plays all roles of a run with a given draft."""

    report: str
    titles: dict[int, str]
    """Titles of its sources by the numbers in the report."""
    seed: int = 0
    draft: str = ""
    """The report with the numbers of the thread; set when written."""
    grades: int = 0
    edit: ScriptedEdit | None = None
    """The edit that it makes; without one it adds text."""
    answered: int = 0
    """Number of forms that it has filled in for the edit."""
    new_number: str = ""
    """Number of the document that the research of an edit found."""
    judged: int = 0
    """Number of units on which it was asked for a verdict."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=200_000, tool_calling=True)

    @override
    def bind_tools(
        self, tools: Any, *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Return the same model with tools; see `BaseChatModel.bind_tools`."""
        forms = [convert_to_openai_tool(tool) for tool in tools]
        names = [form["function"]["name"] for form in forms]
        return self.bind(offered=names, form_characters=len(json.dumps(forms)))

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        offered: tuple[str, ...] = (),
        form_characters: int = 0,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, offered)
        read = form_characters + sum(map(_characters, messages))
        input_tokens = read // _CHARACTERS_PER_TOKEN
        output_tokens = _characters(reply) // _CHARACTERS_PER_TOKEN
        reply.usage_metadata = UsageMetadata(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            total_tokens=input_tokens + output_tokens,
        )
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, messages: list[BaseMessage], offered: tuple[str, ...]) -> AIMessage:
        prompt = "\n".join(message.text for message in messages)
        if "judge_units" in offered:
            verdicts = _verdicts(messages[-1].text)
            self.judged += len(verdicts)
            return _call("judge_units", verdicts=verdicts)
        if "answer_from_read" in offered:
            return _call("answer_from_read")
        if "generate_plan" in offered:
            return _call("generate_plan")
        if "research_agent" in offered:
            done = any(isinstance(message, ToolMessage) and message.text for message in messages)
            return (
                _call("generate_report")
                if done
                else _call("research_agent", task="All that the documents say")
            )
        if "grade_report" in offered:
            self.grades += 1
            if self.grades == 1:
                verdict = {"verdict": "not answered", "missing": "More of it", "task": "More of it"}
                return _call("grade_report", grades=[{"number": 2, **verdict}])
            answered = [{"number": 1, "verdict": "answered"}]
            edits = self._additions(prompt) if self.grades == 2 else []
            return _call("grade_report", grades=answered, edits=edits)
        if self.edit and "edit_report" in offered:
            return self._answer(self.edit, prompt)
        if (
            any(isinstance(message, ToolMessage) for message in messages)
            and "generate_report" in offered
        ):
            return AIMessage(
                "\n".join(f"{title} is a source. [{n}]" for n, title in _RESULT.findall(prompt))
            )
        if "You write the final answer" in prompt:
            return AIMessage(self._write(messages))
        return AIMessage(f"{self._title}\n\n{PLAN}")

    @property
    def _title(self) -> str:
        """The line with the title of the report, which the plan gives it."""
        titled = _TITLE.match(self.report)
        return titled[0] if titled else "# A report"

    def _write(self, messages: list[BaseMessage]) -> str:
        said = [message.text for message in messages if isinstance(message, HumanMessage)]
        if any(FOLLOW_UP in text for text in said):
            number = min(map(int, MARKER.findall(self.draft)))
            return f"Nothing else is known. [{number}]"
        numbers = {title.strip(): number for number, title in _SOURCE.findall(said[-1])}

        def of_thread(marker: re.Match[str]) -> str:
            return f"[{numbers[self.titles[int(marker[1])]]}]"

        self.draft = MARKER.sub(of_thread, self.report)
        return self.draft

    def _answer(self, edit: ScriptedEdit, prompt: str) -> AIMessage:
        """Return the next form of an edit, or the last again."""
        form = json.dumps(edit.answers[min(self.answered, len(edit.answers) - 1)])
        self.answered += 1
        for number, title in _SOURCE.findall(prompt):
            if title.strip() == NEW_TITLE:
                self.new_number = number
                form = form.replace(NEW_SOURCE, f"[{number}]")
        return _call("edit_report", **json.loads(form))

    def _additions(self, prompt: str) -> list[dict[str, Any]]:
        """Return three additions after random blocks, the first of which continues its block."""
        blocks = max(map(int, _BLOCK.findall(prompt)))
        drawn = random.Random(self.seed)  # noqa: S311 - it only chooses positions
        number = MARKER.findall(self.draft)[0]
        return [
            {
                "kind": "insert_after",
                "block": drawn.randint(0, blocks),
                "is_continued": index == 0,
                "text": f"{ADDED} {index}. [{number}]",
            }
            for index in range(3)
        ]


def _call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name=name, args=arguments, id=f"call-{name}")])


def _characters(message: BaseMessage) -> int:
    """Return the length of a message with its calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(message.text) + (len(json.dumps(calls)) if calls else 0)


def _verdicts(prompt: str) -> list[dict[str, Any]]:
    """Return the verdicts on the units of a request to the judge: "supported" by the sentence of
    the passages that shares most words with the unit, if it has all of its figures; otherwise
    "not_found", or "reasoning" if the unit cites nothing."""
    shown, _ = json.JSONDecoder().raw_decode(prompt[prompt.index('{"knowledge"') :])
    words = dict[str, set[str]]()
    for source in shown["knowledge"].get("sources", ()):
        for passage in source["passages"]:
            for sentence in _LINE.findall(passage):
                words[sentence.strip()] = set(_WORD.findall(sentence))
    verdicts = list[dict[str, Any]]()
    for unit in shown["knowledge"]["units"]:
        own = set(_WORD.findall(unit["says"]))
        figures = {word for word in own if word.isdecimal()}
        fitting = [sentence for sentence, its in words.items() if figures <= its & own]
        nearest = max(fitting, key=lambda sentence: len(words[sentence] & own), default="")
        verdict = {"verdict": "supported", "words": nearest}
        if not nearest:
            verdict = {"verdict": "not_found" if "cites" in unit else "reasoning"}
        verdicts.append({"unit": unit["unit"], **verdict})
    return verdicts


async def revise_reports(folder: Path) -> list[Revised]:
    """Extend and follow up the reports of a set."""
    return [
        await _revise(path, folder / "corpora" / path.stem)
        for path in sorted(folder.glob("reports/*.md"))
    ]


async def _revise(path: Path, corpus: Path) -> Revised:
    body, entries = split_report(path)
    model = ScriptedModel(report=body, titles=_titles(entries))
    context = _context(model, [corpus], verify="off")
    graph = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": thread_id(path.stem)}}
    done = await graph.ainvoke(
        {"messages": [HumanMessage("Report on it.")]}, config, context=context
    )
    pieces = pieces_of(model.draft)
    shown = done["messages"][-1].text
    again = await graph.ainvoke({"messages": [HumanMessage(FOLLOW_UP)]}, config, context=context)
    kept = next((message.text for message in again["messages"] if message.text == shown), "")
    return Revised(
        path.name, len(pieces), lost_of(pieces, shown), shown.count(ADDED), lost_of(pieces, kept)
    )


def _titles(entries: Mapping[int, tuple[str, str]]) -> dict[int, str]:
    return {number: title for number, (title, _) in entries.items()}


def _context(model: ScriptedModel, folders: Sequence[Path], verify: str) -> Context:
    """Return the settings of a run over folders."""
    return Context.model_validate(
        {
            "models": model,
            "docs": folders,
            "engines": (),
            "verify": verify,
            "trust_verifier": True,
            "clarify": "assume",
            "limits": {"whole_characters": 200_000},
        }
    )


async def edit_reports(folder: Path) -> list[Edited]:
    """Make the scripted edits: each in the next report of a set, as far as one has what it needs.

    Each starts from the checked report, without the other edits.
    """
    threads = list[_EditedThread]()
    for path in sorted(folder.glob("reports/*.md")):
        threads.append(await _EditedThread.begin(path, folder / "corpora" / path.stem))
    edited = list[Edited]()
    for index, (kind, number) in enumerate(product(KINDS, range(EACH))):
        start = index % len(threads) if threads else 0
        for thread in [*threads[start:], *threads[:start]]:
            own = [edit for edit in thread.edits if edit.kind == kind]
            if number < len(own):
                edited.append(await thread.make(own[number]))
                break
    return edited


class _EditedThread:
    """A thread with a checked report, from which each edit starts."""

    def __init__(self, name: str, corpus: Path, model: ScriptedModel) -> None:
        self._name = name
        self._corpus = corpus
        self._model = model
        self._graph = build_graph(checkpointer=InMemorySaver())
        self._config: Any = {"configurable": {"thread_id": thread_id(name)}}
        self._first: Any = None
        self._before = ""
        self._language = ""
        self.edits = list[ScriptedEdit]()
        """The edits that its report has room for."""

    @classmethod
    async def begin(cls, path: Path, corpus: Path) -> _EditedThread:
        """Have the report of a file written and checked."""
        body, entries = split_report(path)
        # It begins with the third grade, which leaves nothing open and adds nothing.
        model = ScriptedModel(report=body, titles=_titles(entries), grades=2)
        thread = cls(path.name, corpus, model)
        asked = {"messages": [HumanMessage("Report on it.")]}
        context = _context(model, [corpus], verify="check")
        await thread._graph.ainvoke(asked, thread._config, context=context)
        thread._first = await thread._graph.aget_state(thread._config)
        values = thread._first.values
        thread._before = values["report"].text
        files = dict(entries.values())
        documents = dict[int, str]()
        for source in values["sources"].values():
            documents[source.number] = (corpus / files[source.title]).read_text("utf-8")
        thread._language = values["run"].language_code
        thread.edits = list(scripted_edits(thread._before, documents, thread._language))
        return thread

    async def make(self, edit: ScriptedEdit) -> Edited:
        """Make an edit, with one document more than the report had."""
        model = self._model
        model.edit, model.answered, model.judged = edit, 0, 0
        asked = {"messages": [HumanMessage(edit.request)], "edit": True}
        with tempfile.TemporaryDirectory() as name:
            more = Path(name)
            await asyncio.to_thread((more / "nordhaven.md").write_text, NEW_DOCUMENT, "utf-8")
            context = _context(model, [self._corpus, more], verify="check")
            await self._graph.ainvoke(asked, self._first.config, context=context)
        state = await self._graph.aget_state(self._config)
        return _measured(self._name, self._before, self._language, model, state.values)


def _measured(
    name: str, before: str, language: str, model: ScriptedModel, values: Mapping[str, Any]
) -> Edited:
    """Return the outcome of the model's edit of a report in this language (code); `values` are
    those of the state."""
    edit = model.edit
    assert edit
    report = values["report"]
    untouched = [block.text for block in report_blocks(before) if block.number not in edit.named]
    written = "\n".join(edit.texts).replace(NEW_SOURCE, f"[{model.new_number}]")
    after = without_marks(report.text)
    expected = without_marks("\n".join([*untouched, written]))
    shown = report.text
    if values["run"].language_code != language:
        # So are the marks of the check.
        untouched = list(map(without_marks, untouched))
        shown = after
    lost = _counted(written) - _counted(after)
    lost_citations = Counter(MARKER.findall(expected)) - Counter(MARKER.findall(after))
    beside = [spent for spent in values["spending"].values() if spent.role != "verifier"]
    calls = [spent for spent in beside if spent.input_tokens]
    return Edited(
        name=name,
        kind=edit.kind,
        untouched=len(untouched),
        changed=lost_of(untouched, shown),
        lost=lost.total(),
        lost_citations=lost_citations.total(),
        calls=len(calls),
        tokens=sum(spent.input_tokens + spent.output_tokens for spent in calls),
        judged=model.judged,
        units=len(report.verdicts),
    )


def _counted(text: str) -> Counter[str]:
    """Return the pieces of a text with how often each stands there."""
    return Counter(pieces_of(with_uniform_rows(text)))


def edits_table(edited: Iterable[Edited]) -> str:
    """Return a Markdown table of edits by kind, with the largest counts of each."""
    lines = [
        "| edit | edits | blocks changed that it does not name | statements lost | citations lost "
        "| calls beside the check | tokens beside the check | units judged |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kinds = dict[str, list[Edited]]()
    for edit in edited:
        kinds.setdefault(edit.kind, []).append(edit)
    for kind, edits in kinds.items():
        values = [
            kind,
            len(edits),
            f"{sum(edit.changed for edit in edits)} of {sum(edit.untouched for edit in edits)}",
            sum(edit.lost for edit in edits),
            sum(edit.lost_citations for edit in edits),
            max(edit.calls for edit in edits),
            max(edit.tokens for edit in edits),
            f"{sum(edit.judged for edit in edits)} of {sum(edit.units for edit in edits)}",
        ]
        lines.append(f"| {' | '.join(map(str, values))} |")
    return "\n".join(lines)


def lost_of(pieces: list[str], text: str) -> int:
    """Return how many pieces do not follow the previous piece in a text."""
    lost, end = 0, 0
    text = _BETWEEN_CITATIONS.sub("", text)
    for piece in pieces:
        joined = _BETWEEN_CITATIONS.sub("", piece)
        found = text.find(joined, end)
        lost, end = (lost + 1, end) if found < 0 else (lost, found + len(joined))
    return lost
