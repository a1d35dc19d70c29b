"""The command `revisions`: extends and follows up finished reports, and counts lost sentences.

A set is a folder as for `checks`. A scripted model plays all roles: its draft is the report of the
set, its grade says that one requirement is open, and its additions stand at random positions.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import override

from deep_research import Context, build_graph, thread_id
from deep_research_evaluation.checks import split_report

_RESULT = re.compile(r'"document": (\d+), "title": "((?:[^"\\]|\\.)*)"')
_SOURCE = re.compile(r"^\[(\d+)\] ([^;\n]+)", re.MULTILINE)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?:\s*\[\d+\])*(?=\s|$)|$)", re.MULTILINE)
_MARKER = re.compile(r"\[(\d+)\]")
_BLOCK = re.compile(r'"block": (\d+), "kind"')
"""Matches the number of a block as it is shown; edits name it elsewhere."""
_TITLE = re.compile(r"# .+")
_BETWEEN_CITATIONS = re.compile(r"(?<=\]) (?=\[\d)")
"""Matches the space with which a document shows two citations in a row."""
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


class ScriptedModel(BaseChatModel):
    """Plays all roles of a run with a given draft."""

    report: str
    titles: dict[int, str]
    """Titles of its sources by the numbers in the report."""
    seed: int = 0
    draft: str = ""
    """The report with the numbers of the thread; set when written."""
    grades: int = 0

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
        return self.bind(
            offered=[convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        )

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        offered: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, offered)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, messages: list[BaseMessage], offered: tuple[str, ...]) -> AIMessage:
        prompt = "\n".join(message.text for message in messages)
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
            verdict = (
                {"verdict": "answered"}
                if self.grades > 1
                else {"verdict": "not answered", "missing": "More of it", "task": "More of it"}
            )
            return _call(
                "grade_report", grades=[{"number": 1 if self.grades > 1 else 2, **verdict}]
            )
        if "edit_report" in offered:
            return _call("edit_report", edits=self._additions(prompt))
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
            number = min(map(int, _MARKER.findall(self.draft)))
            return f"Nothing else is known. [{number}]"
        numbers = {title.strip(): number for number, title in _SOURCE.findall(said[-1])}

        def of_thread(marker: re.Match[str]) -> str:
            return f"[{numbers[self.titles[int(marker[1])]]}]"

        self.draft = _MARKER.sub(of_thread, self.report)
        return self.draft

    def _additions(self, prompt: str) -> list[dict[str, Any]]:
        """Return three additions after random blocks, the first of which continues its block."""
        blocks = max(map(int, _BLOCK.findall(prompt)))
        drawn = random.Random(self.seed)  # noqa: S311 - it only chooses positions
        number = _MARKER.findall(self.draft)[0]
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


async def revise_reports(folder: Path) -> list[Revised]:
    """Extend and follow up the reports of a set."""
    return [
        await _revise(path, folder / "corpora" / path.stem)
        for path in sorted(folder.glob("reports/*.md"))
    ]


async def _revise(path: Path, corpus: Path) -> Revised:
    body, entries = split_report(path)
    model = ScriptedModel(
        report=body, titles={number: title for number, (title, _) in entries.items()}
    )
    limits = {"whole_characters": 200_000}
    context = Context.model_validate(
        {
            "models": model,
            "docs": [corpus],
            "engines": (),
            "verify": "off",
            "clarify": "assume",
            "limits": limits,
        }
    )
    graph = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": thread_id(path.stem)}}
    done = await graph.ainvoke(
        {"messages": [HumanMessage("Report on it.")]}, config, context=context
    )
    pieces = [piece.strip() for piece in _SENTENCE.findall(model.draft) if piece.strip()]
    shown = done["messages"][-1].text
    again = await graph.ainvoke({"messages": [HumanMessage(FOLLOW_UP)]}, config, context=context)
    kept = next((message.text for message in again["messages"] if message.text == shown), "")
    return Revised(
        path.name, len(pieces), lost_of(pieces, shown), shown.count(ADDED), lost_of(pieces, kept)
    )


def lost_of(pieces: list[str], text: str) -> int:
    """Return how many pieces do not follow the previous piece in a text."""
    lost, end = 0, 0
    text = _BETWEEN_CITATIONS.sub("", text)
    for piece in pieces:
        joined = _BETWEEN_CITATIONS.sub("", piece)
        found = text.find(joined, end)
        lost, end = (lost + 1, end) if found < 0 else (lost, found + len(joined))
    return lost
