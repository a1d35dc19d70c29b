"""Questions over a folder, asked as a set and measured: whole runs of the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from exam import HOSTILE, Exam, exam_in, write_lines
from kit.commands import Ended
from kit.engines import Answer, SearchApi, search_api, serving

pytestmark = pytest.mark.slow

ALL = ("--unanswerable", "unanswerable.jsonl")


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    return exam_in(tmp_path_factory.mktemp("place") / "inner" / "exam")


@pytest.fixture(scope="module")
def engine() -> Iterator[SearchApi]:
    with search_api() as api:
        yield api


@pytest.fixture(scope="module")
def ended(exam: Exam, engine: SearchApi) -> Ended:
    return exam.run(*exam.arguments(*ALL, "--jobs", "2"), **engine.environment())


def test_each_question_gets_a_report_and_a_row_and_a_failure_is_one_row(
    exam: Exam, ended: Ended
) -> None:
    rows = exam.rows()
    assert list(rows) == ["light", "keeper", HOSTILE, "long", "nobody"]
    assert ended.code == 1
    assert {row["error"] for key, row in rows.items() if key != "long"} == {""}
    assert "characters" in rows["long"]["error"]
    assert set(exam.reports()) == {row["report"] for row in rows.values() if not row["error"]}
    assert "\n[1]: <file://" in (exam.out / "reports" / "light.md").read_text("utf-8")


def test_only_the_corpus_is_searched(engine: SearchApi, ended: Ended) -> None:
    assert ended.out
    assert engine.requests == []


def test_the_figures_count_answers_that_were_found_and_missed(exam: Exam, ended: Ended) -> None:
    rows = exam.rows()
    found = {
        "answer": 1,
        "answer_in_lead": 1,
        "answer_grounded": 1,
        "gold_recall": 1,
        "all_gold": 1,
    }
    for key in ("light", "keeper", HOSTILE):
        assert rows[key]["run"].items() >= found.items()
        assert rows[key]["baseline"].items() >= found.items()
        assert rows[key]["run"]["precision"] >= rows[key]["baseline"]["precision"] > 0
    assert rows["long"]["run"] == {
        **dict.fromkeys(found, 0),
        "precision": 0,
        "abstained_wrongly": 0,
    }
    assert rows["nobody"]["run"]["abstained_rightly"] == 1
    assert rows["nobody"]["baseline"]["abstained_rightly"] == 0
    assert not {*found, "precision"} & rows["nobody"]["run"].keys()


def test_the_summary_is_the_same_in_markdown_and_json(exam: Exam, ended: Ended) -> None:
    summary = json.loads((exam.out / "summary.json").read_text("utf-8"))
    page = (exam.out / "summary.md").read_text("utf-8")
    assert (summary["questions"], summary["answerable"], summary["unanswerable"]) == (5, 4, 1)
    assert list(summary["failed"]) == ["long"]
    assert summary["run"]["answer"]["value"] == 0.75
    assert summary["run"]["answer"]["low"] < 0.75 < summary["run"]["answer"]["high"]
    assert list(summary["groups"]) == ["kind"]
    assert list(summary["groups"]["kind"]) == ["date", "place"]
    assert "| Answer found | 4 | 75.0 % (30–95) | 75.0 % (30–95) |" in page
    assert "## By kind" in page
    assert page.strip() == ended.out.strip()


def test_a_report_says_in_json_what_it_cites_and_whether_it_answers(
    exam: Exam, ended: Ended
) -> None:
    light, nobody = (
        json.loads((exam.out / "reports" / f"{name}.json").read_text("utf-8"))
        for name in ("light", "nobody")
    )
    assert light["answered"] is True
    assert {"n": 1, "path": "lighthouse.md", "title": "Skerry Light"} in light["sources"]
    assert light["seconds"] > 0
    assert nobody["answered"] is False


def test_a_hostile_id_writes_no_file_elsewhere_and_moves_no_cursor(
    exam: Exam, ended: Ended
) -> None:
    here = exam.folder
    assert {path.name for path in here.iterdir()} == {
        "corpus",
        "data",
        "out",
        "questions.jsonl",
        "unanswerable.jsonl",
    }
    assert {path.name for path in here.parent.iterdir()} == {"exam"}
    assert {path.name for path in here.parent.parent.iterdir()} == {"inner"}
    assert "\x1b" not in ended.err + ended.out
    assert "escaped" in ended.err


def test_the_same_command_keeps_what_is_there_and_goes_on_with_what_failed(
    exam: Exam, ended: Ended
) -> None:
    before = exam.reports()
    said = exam.run(*exam.arguments(*ALL, "--jobs", "1")).err
    assert "4 of 5 reports are kept from before" in said
    assert "long: failed: The question has 50000 characters" in said
    assert "light" not in said
    assert exam.reports() == before


def test_an_evaluation_that_is_killed_or_stopped_leaves_no_process_and_goes_on(
    tmp_path: Path,
) -> None:
    exam = exam_in(tmp_path)
    many = [
        {"id": str(number), "question": "When was the Skerry Light lit?"} for number in range(60)
    ]
    write_lines(tmp_path / "questions.jsonl", many)
    assert stopped(exam, "1 of 60: 0: answered", os.kill, signal.SIGKILL).code == -signal.SIGKILL
    before = exam.reports()
    ended = stopped(
        exam, f"{len(before) + 1} of 60: {len(before)}: answered", os.killpg, signal.SIGINT
    )
    assert ended.code == 130
    assert f"{len(before)} of 60 reports are kept from before" in ended.err
    assert exam.reports().items() > before.items()
    assert ended.err.splitlines()[-1] == "Stopped; the same command goes on."


def test_no_process_outlives_the_command_not_even_in_the_middle_of_a_question(
    tmp_path: Path,
) -> None:
    exam = exam_in(tmp_path)
    begun: list[subprocess.Popen[str]] = []

    def kill(request: object) -> Answer:
        os.kill(begun[0].pid, signal.SIGKILL)
        return Answer(delay=60)

    with serving(kill) as server:
        model = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        with exam.started(
            *exam.arguments("--model", "openai:slow", "--jobs", "1"), **model
        ) as process:
            begun.append(process)
            process.communicate()
        assert len(server.requests) == 1


def lines_until(process: subprocess.Popen[str], words: str) -> list[str]:
    """The lines of progress up to the one that holds these words."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} was never printed, but {lines}")


def stopped(exam: Exam, words: str, send: Callable[[int, int], None], signal_number: int) -> Ended:
    """Stop the command once it has said these words: one process alone, or as a terminal does all
    that belong to it."""
    with exam.started(*exam.arguments("--jobs", "1")) as process:
        lines = lines_until(process, words)
        send(process.pid, signal_number)
        # Every process of it holds these pipes: they end when the last of them has.
        out, err = process.communicate()
    assert "Traceback" not in err
    return Ended(process.returncode, out, "".join(lines) + err)
