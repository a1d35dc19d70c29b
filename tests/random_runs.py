"""Small scripts of whole runs, made by hypothesis."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st
from lab import PLAN, REPORT, Lab, lab, research, search, think
from langchain_core.messages import AIMessage
from scripted import call, calls

WORDS = st.sampled_from(["Skerry", "Light", "Ada Moran", "harbour", "tide"])
THOUGHTS = st.sampled_from(["", 'What is missing? é \\ " ]', "One\n\nTwo"])
FINDINGS = st.sampled_from(["Lit in 1844. [1]", "Known. [1][2] More. [9]", "Nothing was found."])
REPORTS = st.sampled_from(["Lit [1] and tall [2]. [1]", "Nothing is cited.", "All [1], [2] and [3]; `[1]` is code."])


class Script(NamedTuple):
    """What the models of one run answer."""

    planner: list[Any]
    orchestrator: list[Any]
    researchers: dict[str, list[Any]]
    writer: list[Any]

    def lab(self, folder: Path) -> Lab:
        """A thread that follows it."""
        return lab(
            folder,
            planner=self.planner,
            orchestrator=self.orchestrator,
            # A text that cites nothing is requested once more.
            researcher={task: [*replies, replies[-1]] for task, replies in self.researchers.items()},
            writer=[*self.writer, self.writer[-1]],
        )


def reasoned(text: str, thought: str) -> Any:
    """An answer with a thought of the model's own before it."""
    return AIMessage(text, additional_kwargs={"reasoning_content": thought}) if thought else text


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    """What one researcher does, up to its finding."""
    fails = draw(st.integers(0, 3)) == 0
    kinds = ["think", "search", "both", "open", "wrong"]
    script = [draw(step(kind)) for kind in draw(st.lists(st.sampled_from(kinds), max_size=3))]
    finding = ValueError("the model is gone") if fails else reasoned(draw(FINDINGS), draw(THOUGHTS))
    return [*script, REPORT, finding]


def step(kind: str) -> st.SearchStrategy[Any]:
    """One decision of a researcher."""
    if kind == "think":
        return THOUGHTS.map(lambda thought: think(thought or "Hm."))
    if kind == "search":
        return st.lists(WORDS, min_size=1, max_size=2).map(lambda words: search(*words))
    if kind == "both":
        return THOUGHTS.map(lambda thought: search("Ada Moran").model_copy(update={"content": thought}))
    name, given = ("open_url", {"urls": ["file:///none"]}) if kind == "open" else ("dance", {"how": "well"})
    return st.just(calls(call(name, **given)))


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """A run: thoughts and rounds of one to three tasks, failures among them, then the report."""
    orchestrator: list[Any] = []
    researchers: dict[str, list[Any]] = {}
    for round_number in range(draw(st.integers(1, 2))):
        orchestrator += [think(draw(THOUGHTS) or "Hm.") for _ in range(draw(st.integers(0, 3)))]
        tasks = [f"task {round_number}-{position}." for position in range(draw(st.integers(1, 3)))]
        researchers |= {task: draw(steps()) for task in tasks}
        thought = draw(THOUGHTS)
        orchestrator.append(research(*tasks).model_copy(update={"content": thought}))
    # Where every researcher failed, a report has to be asked for twice.
    orchestrator += [REPORT.model_copy(update={"content": draw(THOUGHTS)}) for _ in range(2)]
    planner = [reasoned(PLAN, draw(THOUGHTS))]
    return Script(planner, orchestrator, researchers, [reasoned(draw(REPORTS), draw(THOUGHTS))])
