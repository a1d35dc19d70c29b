"""The language in which a question is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import Desk
from kit.openai_server import openai_server
from kit.runs import CLEAR, QUESTION, REPORT, lab, research, written

from deep_research.core.errors import UnknownSetting
from deep_research.core.evidence.text.language import COMMON, OTHERS, detect_language
from deep_research.core.records.research import Run
from deep_research.core.writing.language import Language

pytestmark = pytest.mark.slow

UNDECIDED = "the language of the request"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Wie hoch ist der Eiffelturm?", "de"),
        ("Comment fonctionne PyTorch ?", "fr"),
        ("¿Cuánto cuesta un iPhone?", "es"),
        ("Perché Twitter è stato rinominato X?", "it"),
        ("Quais foram as causas do declínio da Liga Hanseática?", "pt"),
        ("Waarom is Twitter hernoemd naar X?", "nl"),
        ("Skutki uboczne metforminy", "pl"),
        ("Побочные эффекты метформина", "ru"),
        ("斯凯里灯塔是什么时候点亮的？", "zh"),
        ("エッフェル塔の高さは？", "ja"),
        ("에펠탑의 높이는?", "ko"),
        ("كم يبلغ ارتفاع برج إيفل؟", "ar"),
        ("एफिल टॉवर कितना ऊँचा है?", "hi"),
        # Names, quotations and addresses do not count.
        ("Why was Karlheinz Schreiber extradited from Canada?", "en"),
        (
            "Welche Rolle spielte „The Rise and Fall of the Third Reich“ in der deutschen Forschung?",
            "de",
        ),
        (
            "Was sagt https://example.com/what-is-the-answer-to-all-of-this darüber, und warum?",
            "de",
        ),
        ("WHEN WAS THE FIRST LIGHTHOUSE OF SCOTLAND BUILT?", "en"),
        # Names alone and too few words have no language.
        *((words, "") for words in ("Python GIL?", "Angela Merkel", "Giuseppe Verdi Aida", "?!")),
    ],
)
def test_the_language_of_a_question_is_detected_by_its_words(question: str, code: str) -> None:
    assert detect_language(question) == code


def test_questions_full_of_names_are_never_detected_as_another_language(shared_data: Path) -> None:
    lines = (shared_data / "multihop" / "questions.jsonl").read_text("utf-8").splitlines()
    detected = [detect_language(json.loads(line)["question"]) for line in lines]
    assert set(detected) <= {"en", ""}
    assert detected.count("en") >= 0.9 * len(detected)


@given(st.text(max_size=80))
def test_any_text_has_one_language_or_none(text: str) -> None:
    assert len(detect_language(text)) in (0, 2)


@pytest.mark.parametrize(
    ("words", "name", "code"),
    [
        ("German", "German", "de"),
        ("de", "German", "de"),
        ("中文", "Chinese", "zh"),
        ("zh-Hans", "Simplified Chinese", "zh"),
        ("pt_BR", "Brazilian Portuguese", "pt"),
        ("русский", "Russian", "ru"),
        ("anglais", "English", "en"),
        ("Farsi", "Persian", "fa"),
        ("British English", "British English", "en"),
        ("Cantonese", "Cantonese", ""),
        ("klingon", "Klingon", ""),
        ("plain  English for children", "plain English for children", ""),
    ],
)
def test_a_language_is_known_by_name_or_code(words: str, name: str, code: str) -> None:
    assert Language.named(words) == (name, code)


@pytest.mark.parametrize(
    "words", ["klingonn", "xx", "und", "verse", "en_", "English!", "Deutsch/Englisch"]
)
def test_an_unknown_language_is_refused_with_ways_to_name_a_language(words: str) -> None:
    with pytest.raises(UnknownSetting) as refused:
        Language.named(words)
    message = str(refused.value)
    assert (
        message.startswith(f"{words!r} is not a known language (setting language)")
        and "\n" not in message
    )
    assert all(way in message for way in ("'de'", "'German'", "'plain English for children'"))


@given(
    st.lists(st.text(st.characters(categories=["L"]), min_size=1), min_size=2, max_size=4).map(
        " ".join
    )
)
def test_several_words_that_name_no_language_are_kept_as_they_are(words: str) -> None:
    name = Language.named(words).name
    assert name == " ".join(words.split()) or Language.named(name).name == name != ""


@pytest.mark.parametrize("code", f"{COMMON} {OTHERS}".split())
def test_every_detectable_language_has_a_name_with_that_code(code: str) -> None:
    assert Language.named(code).code == code


def of(run: Run | None) -> tuple[str, str]:
    assert run
    return run.language, run.language_code


@pytest.mark.fault(50)
@pytest.mark.behaviour("O-91")
@pytest.mark.parametrize(
    ("wanted", "question", "language", "named"),
    [
        ("", QUESTION, ("English", "en"), ""),
        ("", "Wann wurde der Leuchtturm gebaut?", ("German", "de"), ""),
        ("", "Skerry Light?", (UNDECIDED, ""), ""),
        ("Deutsch", QUESTION, ("German", "de"), ""),
        ("rhymed verse", QUESTION, ("rhymed verse", ""), "'rhymed verse'"),
        ("klingon", QUESTION, ("Klingon", ""), "'Klingon'"),
    ],
)
async def test_a_language_that_is_set_wins_over_that_of_the_question_and_is_noted_if_it_cannot_be_checked(
    tmp_path: Path, wanted: str, question: str, language: tuple[str, str], named: str
) -> None:
    run = (await lab(tmp_path, language=wanted).ask(question)).run
    assert of(run) == language
    notes = [note for note in run.notices if note.startswith("The models are asked to write in ")]
    assert len(notes) == bool(named) and all(named in note for note in notes)


@pytest.mark.behaviour("O-91")
async def test_an_answer_in_another_language_does_not_change_that_of_the_question(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, clarifier=["Welcher Leuchtturm?"])
    assert of((await run.ask("Wann wurde der Leuchtturm gebaut, und von wem?")).run) == (
        "German",
        "de",
    )
    state = await run.ask("The one that they call the Skerry Light, of course.")
    assert state.report and of(state.run) == ("German", "de")


def test_a_command_with_an_unknown_language_ends_in_one_line_and_leaves_no_trace(
    desk: Desk,
) -> None:
    ask = (
        "ask",
        QUESTION,
        "--docs",
        str(desk.docs),
        "--model",
        "openai:fake-1",
        "--thread",
        "light",
    )
    with openai_server([]) as server:
        ended = desk.call(*ask, "--language", "klingonn", **server.environment)
        looked = desk.call("doctor", "--language", "klingonn", **server.environment)
    # A slow machine says every ten seconds what it waits for.
    [error] = [line for line in ended.err.splitlines() if line != "still running"]
    assert (ended.code, ended.out, server.requests) == (2, "", [])
    assert error.startswith("Error: 'klingonn' is not a known language")
    assert (
        looked.code == 2 and "missing  language: 'klingonn' is not a known language" in looked.out
    )
    assert desk.call("show", "light").code == 2


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("And who was the first keeper of the lighthouse?", ("English", "en")),
        ("Ada Moran?", ("German", "de")),
    ],
)
async def test_a_follow_up_is_answered_in_its_own_language_or_in_that_of_before(
    tmp_path: Path, question: str, language: tuple[str, str]
) -> None:
    twice: dict[str, Any] = {
        "clarifier": [CLEAR] * 2,
        "planner": ["1. Der Turm"] * 2,
        "verify": "off",
    }
    writer = ["Er wurde 1844 gebaut. [1]", "1844. [1]"]
    run = lab(
        tmp_path, **twice, orchestrator=[research("light task"), REPORT, REPORT], writer=writer
    )
    await run.ask("Wann wurde der Leuchtturm gebaut, und von wem?")
    assert of((await run.ask(question)).run) == language


def test_quotes_in_another_language_cause_no_language_note(desk: Desk) -> None:
    french = (
        "La Terne fut construite en 1904 par la maison Brandt, qui la livra au port de Tromsø après deux hivers de "
        "travail. Elle porte le nom d'un oiseau que les pêcheurs de la côte connaissent bien."
    )
    written(desk.docs, {"terne_md": f"# La Terne\n\n{french}\n"})
    ended = desk.call("ask", "When was the Terne built?", "--docs", str(desk.docs), "--yes")
    title, quoted, *_ = ended.out.split("\n\n")
    assert (ended.code, title) == (0, "# When was the Terne built?")
    assert quoted.startswith("La Terne fut construite en 1904")
    assert "not in English" not in ended.out
