"""What the planned strategy is about, in friendly words that vary."""

from __future__ import annotations

from typing import Literal

from ...records.sources import short_hash
from .packets import Activity, Icon, Placement

ActivityKind = Literal[
    "understand", "clarify", "summarize", "plan", "search", "analyze", "adapt", "cross_check", "frame", "verify"
]

WORDINGS: dict[ActivityKind, tuple[Icon, tuple[str, str, str, str, str]]] = {
    "understand": (
        "lightbulb",
        (
            "Getting a first picture of your question",
            "Finding out what your question is about",
            "Having a first look around",
            "Reading up on the subject",
            "Taking in what you want to know",
        ),
    ),
    "clarify": (
        "shapes",
        (
            "Making sure that I understand you right",
            "Checking whether anything is unclear",
            "Seeing whether I should ask you something",
            "Looking at your question from all sides",
            "Weighing what you may have in mind",
        ),
    ),
    "summarize": (
        "brain",
        (
            "Summing up what you said",
            "Putting your wishes into a few words",
            "Gathering what I know so far",
            "Going through our conversation once more",
            "Noting down what matters to you",
        ),
    ),
    "plan": (
        "brain",
        (
            "Drawing up a plan",
            "Laying out the steps",
            "Thinking about the best way to go",
            "Dividing the question into steps",
            "Deciding what to look into first",
        ),
    ),
    "search": (
        "globe",
        (
            "Looking for sources",
            "Searching and reading",
            "Going through what can be found",
            "Following the trail",
            "Digging deeper",
        ),
    ),
    "analyze": (
        "brain",
        (
            "Thinking over what was found",
            "Putting the pieces together",
            "Connecting the findings",
            "Drawing conclusions",
            "Weighing what it all means",
        ),
    ),
    "adapt": (
        "brain",
        (
            "Looking whether the plan still fits",
            "Adapting the plan to what was found",
            "Deciding what comes next",
            "Taking stock",
            "Seeing what is still missing",
        ),
    ),
    "cross_check": (
        "brain",
        (
            "Checking whether the sources agree",
            "Holding the findings against each other",
            "Looking for contradictions",
            "Testing whether it all fits together",
            "Comparing what the sources say",
        ),
    ),
    "frame": (
        "brain",
        (
            "Thinking about what the report should say",
            "Finding the main message",
            "Getting ready to write",
            "Deciding how to tell it",
            "Arranging the report",
        ),
    ),
    "verify": (
        "brain",
        (
            "Holding each sentence against its source",
            "Checking the report against what was read",
            "Looking up every citation",
            "Testing each claim by its passage",
            "Making sure that the sources say so",
        ),
    ),
}
"""The icon and the five wordings of each kind."""


def activity(kind: ActivityKind, seed: str, placement: Placement, step_title: str = "") -> Activity:
    """Return a wording of this kind at this place; the same seed has the same wording there, so runs can be repeated.

    The seed is the question; `step_title` names the step that it is an activity of.
    """
    icon, texts = WORDINGS[kind]
    choice = int(short_hash(seed, kind, placement.model_dump_json()), 16) % len(texts)
    return Activity(placement=placement, text=texts[choice], icon=icon, step_title=step_title)
