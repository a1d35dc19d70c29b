"""Questions that go on from an earlier one."""

from __future__ import annotations

import pytest
from extracting import marked
from langchain_core.messages import HumanMessage

from deep_research.models.extractive.reading import question_in

FIRST = "Who designed the Terne?"


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("And when?", "And when? (Who designed the Terne)"),
        ("Where was he born?", "Where was he born? (Who designed the Terne)"),
        ("Und wann?", "Und wann? (Who designed the Terne)"),
        ("When was Yngve Fosse born?", "When was Yngve Fosse born?"),
        ("Where was Ada Moran when she wrote it?", "Where was Ada Moran when she wrote it?"),
        ("How heavy are the batteries?", "How heavy are the batteries?"),
    ],
)
def test_a_question_that_says_too_little_is_read_with_the_one_before(question: str, read: str) -> None:
    messages = [HumanMessage(FIRST), marked("Yngve Fosse designed it.", "report"), HumanMessage(question)]
    assert question_in(messages) == read


def test_only_the_last_question_is_added_and_the_first_one_has_none_before_it() -> None:
    assert question_in([HumanMessage("And when?")]) == "And when?"
    messages = [HumanMessage(FIRST), marked("A.", "report"), HumanMessage("How heavy is it?"), marked("B.", "report")]
    assert question_in([*messages, HumanMessage("And why?")]) == "And why? (How heavy is it (Who designed the Terne))"
