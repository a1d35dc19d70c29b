"""A verifier that compares figures: what it is shown is read as a model would be given it."""

from __future__ import annotations

import json
import re
from typing import Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage
from scripted import ScriptedChatModel, call, calls

from deep_research.core.evidence.checking.source_text import figures_of


def judged(*verdicts: str) -> AIMessage:
    """The verdicts on the units that a verifier is shown, in their order."""
    return calls(call("judge_units", verdicts=[{"unit": n, "verdict": one} for n, one in enumerate(verdicts, 1)]))


def units_shown(prompt: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The units of a request to the verifier, and what its sources say by their numbers."""
    start = re.search(r'\{"knowledge"', prompt)
    assert start, prompt
    shown = json.JSONDecoder().raw_decode(prompt[start.start() :])[0]["knowledge"]
    return shown["units"], {one["source"]: " ".join(one["passages"]) for one in shown.get("sources", ())}


def by_figures(prompt: str) -> AIMessage:
    """A unit is supported if its figures stand in the passages of the sources that it cites, or of any if of none."""
    units, said = units_shown(prompt)
    verdicts = []
    for unit in units:
        own = [said[number] for number in unit["cites"] if number in said] or [*said.values()]
        is_held = bool(own) and figures_of(unit["says"]) <= figures_of(" ".join(own))
        verdicts.append("supported" if is_held else "contradicted" if unit["cites"] else "missing")
    return judged(*verdicts)


def figure_judge(profile: ModelProfile | None = None) -> ScriptedChatModel:
    """A verifier that judges by figures, as often as it is asked."""
    profile = profile or ModelProfile(max_input_tokens=100_000)
    return ScriptedChatModel(replies={"": lambda messages, _: by_figures(messages[-1].text)}, profile=profile)
