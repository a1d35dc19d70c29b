"""Two runs of an evaluation are compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from deep_research_evaluation.__main__ import cli
from deep_research_evaluation.compare import changes
from deep_research_evaluation.summary import Row, read_rows, write_rows

FIGURES = st.dictionaries(
    st.sampled_from(["answer", "gold_recall", "abstained_wrongly", "cited"]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
RUNS = st.dictionaries(st.sampled_from("abcdef"), FIGURES)


def row(question_id: str, figures: dict[str, float]) -> Row:
    return Row(
        id=question_id,
        is_answerable=True,
        groups={},
        report="1",
        error="",
        run=figures,
        baseline={},
    )


def rows(figures: dict[str, dict[str, float]]) -> dict[str, Row]:
    return {key: row(key, measured) for key, measured in figures.items()}


def compared(
    tmp_path: Path, before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]
) -> Result:
    for name, figures in (("a", before), ("b", after)):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name, list(rows(figures).values()))
    return CliRunner().invoke(cli, ["compare", str(tmp_path / "a"), str(tmp_path / "b")])


def test_a_comparison_counts_and_names_the_questions_that_changed(tmp_path: Path) -> None:
    before = {
        "one": {"answer": 0.0, "words": 80.0},
        "two": {"answer": 0.0},
        "three": {"answer": 1.0},
        "old": {},
    }
    after = {
        "one": {"answer": 1.0, "words": 60.0},
        "two": {"answer": 1.0},
        "three": {"answer": 1.0},
        "x|\n": {},
    }
    result = compared(tmp_path, before, after)
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"# {tmp_path / 'a'} (A) and {tmp_path / 'b'} (B)\n")
    assert "3 questions are in both, 1 in A only, 1 in B only." in result.output
    assert (
        "| Answer found | 33.3 % | 100.0 % | +66.7 (+0.0 to +100.0) | 2 | 0 | 1 | 0.500 |"
        in result.output
    )
    assert "- Answer found, better: one, two" in result.output
    assert "| Words | 80.0 | 60.0 | -20.0 (-20.0 to -20.0) | 0 | 1 | 0 | 1.000 |" in result.output
    assert "- Words" not in result.output


@pytest.mark.parametrize("key", ["abstained_wrongly", "seconds"])
def test_lower_is_better_for_some_measures(key: str) -> None:
    (change,) = changes(rows({"one": {key: 1.0}}), rows({"one": {key: 0.0}}))
    assert (change.better, change.worse) == (("one",), ())


@given(RUNS, RUNS)
def test_a_comparison_turned_round_is_the_opposite(
    before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]
) -> None:
    there, back = list(changes(rows(before), rows(after))), list(changes(rows(after), rows(before)))
    assert [
        (change.before, change.after, set(change.better), set(change.worse), change.same)
        for change in there
    ] == [
        (change.after, change.before, set(change.worse), set(change.better), change.same)
        for change in back
    ]


@given(RUNS)
def test_a_run_does_not_differ_from_itself(figures: dict[str, dict[str, float]]) -> None:
    for change in changes(rows(figures), rows(figures)):
        assert (change.better, change.worse, change.low, change.high) == ((), (), 0, 0)


@given(RUNS)
def test_written_rows_are_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, figures: dict[str, dict[str, float]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write_rows(folder, list(rows(figures).values()))
    assert read_rows(folder) == rows(figures)


def test_runs_that_cannot_be_compared_are_refused_in_a_line(tmp_path: Path) -> None:
    result = compared(tmp_path, {"one": {}}, {"two": {}})
    assert (result.exit_code, "no question in common" in result.output) == (2, True)
    (tmp_path / "c").mkdir()
    result = CliRunner().invoke(cli, ["compare", str(tmp_path / "c"), str(tmp_path / "a")])
    assert (result.exit_code, "c: this is no finished run" in result.output) == (2, True)
    (tmp_path / "c" / "rows.jsonl").write_text('{"id": 1}\n')
    result = CliRunner().invoke(cli, ["compare", str(tmp_path / "c"), str(tmp_path / "a")])
    assert (result.exit_code, "was not written by this command" in result.output) == (2, True)
