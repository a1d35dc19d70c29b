"""A question in another language than the documents: the notes say so, and models search in both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.runs import lab

from deep_research import research

ENGLISH = (
    "# Board minutes\n\nThe board decided on 4 May 2024 that the museum in Quellheim is led by Petra"
    " Lang from June on. The budget for the coming year was approved by all members.\n"
)
FRENCH = (
    "# Procès-verbal\n\nLe conseil a décidé le 4 mai 2024 que le musée de Quellheim serait dirigé"
    " par Petra Lang à partir de juin. Le budget a été approuvé par tous les membres.\n"
)
GERMAN = (
    "# Protokoll\n\nDer Vorstand hat am 4. Mai 2024 beschlossen, dass das Museum in Quellheim ab Juni"
    " von Petra Lang geleitet wird. Der Haushalt wurde von allen Mitgliedern gebilligt.\n"
)
QUESTION = "Welche Leitung wurde für das Haus beschlossen, und wann geschah dies?"
ADVICE = "Without a language model"


def noted(tmp_path: Path, *texts: str, question: str = QUESTION, **settings: Any) -> str:
    docs = tmp_path / "minutes"
    docs.mkdir()
    for number, text in enumerate(texts):
        (docs / f"{number}.md").write_text(text)
    given: dict[str, Any] = {"models": "extractive", "engines": (), "data_dir": tmp_path}
    return research(question, docs=[docs], **given, **settings).markdown


@pytest.mark.sweep
@pytest.mark.parametrize(("texts", "languages"), [((ENGLISH,), "English"), ((FRENCH,), "French")])
def test_without_a_model_the_notes_say_in_which_language_the_documents_are(
    tmp_path: Path, texts: tuple[str, ...], languages: str
) -> None:
    assert f"The documents are in {languages}, but the question is not." in noted(tmp_path, *texts)


def test_several_languages_are_all_named(tmp_path: Path) -> None:
    text = noted(tmp_path, ENGLISH, FRENCH)
    assert "English and French" in text or "French and English" in text


def test_documents_in_the_language_of_the_question_need_no_note(tmp_path: Path) -> None:
    assert ADVICE not in noted(tmp_path, GERMAN, ENGLISH)


def test_an_english_question_with_a_german_answer_needs_no_note(tmp_path: Path) -> None:
    question = "When did the board decide who leads the museum?"
    assert ADVICE not in noted(tmp_path, ENGLISH, question=question, language="German")


@pytest.mark.parametrize(("text", "is_told"), [(ENGLISH, True), (GERMAN, False)])
async def test_a_model_is_told_to_search_in_both_languages(
    tmp_path: Path, text: str, *, is_told: bool
) -> None:
    docs = tmp_path / "minutes"
    docs.mkdir()
    (docs / "minutes.md").write_text(text)
    run = lab(tmp_path, docs=(docs,))
    state = await run.ask(QUESTION)
    hint = "They are in English: search them in English and in German."
    assert (hint in run.calls("clarifier")[0].text) is is_told
    assert ADVICE not in state.messages[-1].text
