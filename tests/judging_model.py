"""A verifier that compares figures: what it is shown is read as a model would be given it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage
from scripted import ScriptedChatModel, call, calls

from deep_research.core.evidence.text.quantities import figures_of


def judged(*verdicts: str | tuple[str, str]) -> AIMessage:
    """The verdicts on the units that a verifier is shown, in their order, each alone or with the deciding words."""
    pairs = [(one, "") if isinstance(one, str) else one for one in verdicts]
    said = [{"unit": n, "verdict": verdict, "words": words} for n, (verdict, words) in enumerate(pairs, 1)]
    return calls(call("judge_units", verdicts=said))


def units_shown(prompt: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The units of a request to the verifier, and what its sources say by their numbers."""
    start = re.search(r'\{"knowledge"', prompt)
    assert start, prompt
    shown = json.JSONDecoder().raw_decode(prompt[start.start() :])[0]["knowledge"]
    return shown["units"], {one["source"]: "\n".join(one["passages"]) for one in shown.get("sources", ())}


def by_figures(prompt: str) -> AIMessage:
    """A unit is supported if its figures stand in a passage of the sources that it cites, or of any if of none."""
    units, said = units_shown(prompt)
    verdicts = list[str | tuple[str, str]]()
    for unit in units:
        cited = unit.get("cites", ())
        own = [said[number] for number in cited if number in said] or [*said.values()]
        each = [_deciding(unit["says"], [passages]) for passages in own]
        words = "\n".join(filter(None, each)) or _deciding(unit["says"], own)
        figures = figures_of(unit["says"])
        if words and (figures or cited):
            verdicts.append(("supported", words))
        else:
            verdicts.append("contradicted" if cited else "not_found" if figures else "reasoning")
    return judged(*verdicts)


def _deciding(says: str, passages: Sequence[str]) -> str:
    """The sentences that hold all figures of a statement, as few as will do; empty if there are none."""
    pieces = (line for passage in passages for line in re.split(r"(?<=[.!?])\s+|\n", passage))
    figures, lines = figures_of(says), [line for line in pieces if line.strip()]
    by_likeness = sorted(lines, key=lambda line: -len({*says.split()} & {*line.split()}))
    if not figures:
        return by_likeness[0] if by_likeness else ""
    chosen = list[str]()
    for figure in sorted(figures):
        if figure in figures_of(" ".join(chosen)):
            continue
        holding = next((line for line in by_likeness if figure in figures_of(line)), None)
        if holding is None:
            return ""
        chosen.append(holding)
    return "\n".join(chosen)


def figure_judge(profile: ModelProfile | None = None) -> ScriptedChatModel:
    """A verifier that judges by figures, as often as it is asked."""
    profile = profile or ModelProfile(max_input_tokens=100_000)
    return ScriptedChatModel(replies={"": lambda messages, _: by_figures(messages[-1].text)}, profile=profile)
