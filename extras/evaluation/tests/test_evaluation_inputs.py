"""Inputs of an evaluation: invalid questions, unusual ids, and folders with other content."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from click import UsageError
from click.testing import CliRunner, Result
from exam import QUESTIONS, Exam, exam_in, write_lines
from hypothesis import given
from hypothesis import strategies as st
from kit.engines import Answer, serving

from deep_research_evaluation.__main__ import cli
from deep_research_evaluation.asking import outcomes
from deep_research_evaluation.measures import measure_report
from deep_research_evaluation.questions import (
    Question,
    missing_documents,
    sample,
    without_documents,
)
from deep_research_evaluation.reports import (
    Cited,
    Report,
    ReportFolder,
    Settings,
    file_name,
    open_reports,
)

REPORT = Report(
    id="a/b",
    question="Who?",
    seconds=1.5,
    text="Ada [1].",
    sources=(Cited(n=1, path="a", title="A"),),
)
LINE = json.dumps(QUESTIONS[0])
QUESTION_LIST = [Question(id=str(number), question="Who?") for number in range(20)]


@pytest.fixture
def exam(tmp_path: Path) -> Exam:
    return exam_in(tmp_path)


def refused(exam: Exam, *more: str) -> str:
    """The message of a call that is refused."""
    options = {
        "--corpus": exam.folder / "corpus",
        "--questions": exam.folder / "questions.jsonl",
        "--out": exam.out,
    }
    given = [str(word) for pair in options.items() for word in pair]
    result: Result = CliRunner().invoke(cli, ["closed-corpus", *given, *more])
    assert result.exit_code == 2, result.output
    assert not (exam.out / "reports").exists()
    return result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no question in it"),
        ("\n \n", "there is no question in it"),
        (f"{LINE}\n{{'id': 1}}\n", "line 2: this is not JSON"),
        (f"{LINE}\n\n[]\n", "line 3: : Input should be a valid dictionary"),
        ('{"id": "1"}', "line 1: question: Field required"),
        ('{"id": "", "question": "Who?"}', "line 1: id: String should have at least 1 character"),
        (
            '{"id": "1", "question": "Who?", "answers": "Ada"}',
            "line 1: answers: Input should be a valid tuple",
        ),
        ('{"id": "\\ud800", "question": "Who?"}', "line 1: id: Input should be a valid string"),
        (f"{LINE}\n{LINE}\n", "line 2: the id 'light' is already used in"),
        ("[" * 100_000, "line 1: this is not JSON"),
    ],
)
def test_a_line_that_is_wrong_is_named(exam: Exam, text: str, words: str) -> None:
    (exam.folder / "questions.jsonl").write_text(text)
    said = refused(exam)
    assert "--questions" in said
    assert words in " ".join(said.split())


def test_a_missing_file_is_named_by_its_option(exam: Exam) -> None:
    assert "'--corpus'" in refused(exam, "--corpus", "elsewhere")
    assert "'--questions'" in refused(exam, "--questions", "elsewhere")
    assert "'--out'" in refused(exam, "--out", str(exam.folder / "questions.jsonl"))
    assert "--unanswerable" in refused(exam, "--unanswerable", str(exam.folder / "questions.jsonl"))
    assert "lies in the corpus" in refused(exam, "--out", str(exam.folder / "corpus" / "run"))
    (exam.folder / "questions.jsonl").write_bytes(b"\xff\xfe\xfd")
    assert "is not UTF-8 text" in refused(exam)


@pytest.mark.slow
def test_an_error_of_all_questions_and_missing_gold_documents_are_reported_once(
    exam: Exam,
) -> None:
    (exam.folder / "empty").mkdir()
    assert "there is no document in it" in refused(exam, "--corpus", str(exam.folder / "empty"))
    lines = [
        {"id": key, "question": "Who?", "gold_docs": ["keeper.md", f"gone{key}.md"]} for key in "12"
    ]
    write_lines(exam.folder / "questions.jsonl", lines)
    ended = exam.run(*exam.arguments("--model", "nobody:nothing", "--jobs", "1"))
    assert ended.code == 2
    said = ended.err
    assert (
        "2 gold documents are not in the corpus; the first: gone1.md of question 1. What is cited is not "
        in said
    )
    assert "nobody" in said.splitlines()[-1]
    assert "failed" not in said


def test_a_question_whose_gold_documents_are_missing_is_not_measured_by_them(exam: Exam) -> None:
    asked = [
        Question(
            id="found", question="Who?", gold_docs=("keeper.md",), answer_docs=("birds/gannets.md",)
        ),
        Question(id="lost", question="Who?", gold_docs=("keeper.md", "gone.md"), answers=("Ada",)),
        Question(id="free", question="Who?"),
    ]
    missing = missing_documents(asked, exam.folder / "corpus")
    assert missing == {"gone.md": "lost"}
    found, lost, free = (without_documents(question, {*missing}) for question in asked)
    assert found.gold_docs == ("keeper.md",)
    assert {"gold_recall", "precision", "answer_grounded"}.isdisjoint(measure_report(lost, None))
    assert [question.is_answerable for question in (found, lost, free)] == [True, True, None]


def test_a_run_of_another_model_is_not_mixed_in(exam: Exam) -> None:
    settings = Settings(corpus=exam.folder / "corpus", model="openai:gpt", strategy="orchestrated")
    open_reports(exam.out, settings).write(REPORT, "# Ada")
    with pytest.raises(UsageError, match="model 'openai:gpt'"):
        open_reports(exam.out, settings.model_copy(update={"model": "openai:other"}))
    assert open_reports(exam.out, settings).read(REPORT.id, REPORT.question) == REPORT


def test_a_wrong_setting_of_the_environment_is_named(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_VERIFY", "never")
    assert "environment is wrong: verify: Input should be 'off', 'check' or 'repair'." in refused(
        exam
    )
    monkeypatch.setenv("DEEP_RESEARCH_LIMITS", "{")
    assert 'field "limits"' in refused(exam)


@given(st.text(min_size=1))
def test_a_file_name_stays_in_its_folder(question_id: str) -> None:
    name = file_name(question_id)
    assert name.isascii()
    assert Path("folder", f"{name}.md").parent == Path("folder")
    assert not name.startswith(".")
    assert len(name) <= 120


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_ids_have_two_file_names(first: str, other: str) -> None:
    assert (file_name(first) == file_name(other)) == (first == other)
    assert file_name(file_name(first)) == file_name(first) or "~" in file_name(first)


@given(st.floats(0.01, 1), st.integers())
def test_a_random_share_is_repeatable_and_keeps_the_order(share: float, seed: int) -> None:
    chosen = sample(QUESTION_LIST, share, seed)
    assert chosen == sample(QUESTION_LIST, share, seed)
    assert chosen == [question for question in QUESTION_LIST if question in chosen]
    assert len(chosen) == max(1, round(20 * share))


def test_another_seed_is_another_share() -> None:
    assert len({tuple(sample(QUESTION_LIST, 0.5, seed)) for seed in range(5)}) == 5


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_without_reports_and_ctrl_c_does_not_reach_it(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals = iter([signal.SIGINT, signal.SIGKILL])

    def send(request: object) -> Answer:
        (process,) = multiprocessing.active_children()
        os.kill(process.pid or 0, next(signals))
        return Answer(hangs_up=True)

    with serving(send) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        settings = Settings(
            corpus=exam.folder / "corpus", model="openai:held", strategy="orchestrated"
        )
        found = list(outcomes(QUESTION_LIST[:2], settings, 1))
    assert {outcome.question.id: outcome.error for outcome in found} == dict.fromkeys(
        ("0", "1"), "a process was killed; the same command goes on"
    )
    assert multiprocessing.active_children() == []


def test_a_report_is_reused_only_for_the_same_question(tmp_path: Path) -> None:
    reports = ReportFolder(tmp_path / "reports")
    assert reports.read("a/b", "Who?") is None
    reports.write(REPORT, "# Ada")
    assert reports.read("a/b", "Who?") == REPORT
    assert reports.read("a/b", "Who was it?") is None
    (broken,) = (tmp_path / "reports").glob("*.json")
    broken.write_text(broken.read_text()[:-9])
    assert reports.read("a/b", "Who?") is None
