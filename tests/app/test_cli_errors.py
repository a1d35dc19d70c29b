"""Bad input at the command line: one clear line, the right exit code, and nothing lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from command import Desk, Ended, desk_in

WHEN = "When was the Skerry Light lit?"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return desk_in(tmp_path)


def complaint(ended: Ended, code: int = 2) -> str:
    """The one line that says what is wrong."""
    assert (ended.code, ended.out) == (code, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


@pytest.mark.fault(39, 48, 49)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["\u200b\u2060\ufeff", "--docs", "docs"], "The question is empty"),
        (["x" * 32_001, "--docs", "docs"], "The question has 32001 characters; at most 32000 are accepted"),
        ([WHEN, "--docs", "docs", "--thread", ""], "The name of the run is an empty text (--thread)"),
        ([WHEN, "--no-web"], "There is nothing to search: name a folder of documents by --docs"),
        (
            [WHEN, "--docs", "nowhere"],
            "nowhere: there is no such folder or file (setting `docs`, options `--docs`",
        ),
        ([WHEN, "--docs", "empty"], "empty: there is no document in it that can be read"),
        ([WHEN, "--docs", "broken"], "broken.pdf: "),
        ([WHEN, "--attach", "docs"], "--attach 'docs': this is a folder; --docs searches folders, --attach files."),
        (
            [WHEN, "--docs", "~nobody-of-this-name/f"],
            "'~nobody-of-this-name/f': there is no such user; write the path in full.",
        ),
        ([WHEN, "--engine", "gogle"], "engines: there is no 'gogle' here; there are arxiv, brave, "),
        ([WHEN, "--attach", "picture.gif"], "picture.gif: its format cannot be read; these can: "),
        ([WHEN, "--docs", "docs", "--limit", "nonsense=1"], "nonsense: there is no such limit; `deep-research limits`"),
        (
            [WHEN, "--docs", "docs", "--limit", "max_cycle=1"],
            "max_cycle: there is no such limit (did you mean max_cycles?)",
        ),
        ([WHEN, "--docs", "docs", "--limit", "max_cycles=abc"], "limit max_cycles: Input should be a valid integer"),
        ([WHEN, "--docs", "docs", "--limit", "max_cycles"], "--limit takes NAME=VALUE, not 'max_cycles'."),
        ([WHEN, "--docs", "docs", "--model", "gpt-nonsense"], "Unknown model 'gpt-nonsense' for the clarifier"),
        ([WHEN, "--docs", "docs", "--out", "report.xyz"], "no format has this ending; these are known: .bib, .docx"),
        ([WHEN, "--docs", "docs", "--out", "nowhere/report.md"], "--out 'nowhere/report.md': there is no folder"),
    ],
)
def test_a_wrong_call_gets_one_line_and_leaves_no_run(desk: Desk, arguments: list[str], words: str) -> None:
    (desk.folder / "empty").mkdir()
    (desk.folder / "broken").mkdir()
    (desk.folder / "broken" / "broken.pdf").write_bytes(b"%PDF-1.4\n nothing more")
    (desk.folder / "picture.gif").write_bytes(b"GIF8")
    ended = desk.call("ask", *arguments)
    assert words in [line for line in ended.err.splitlines() if line.startswith("Error: ")][-1]
    if not {"broken", "empty"} & set(arguments):
        assert words in complaint(ended)
    assert desk.call("runs").err.startswith("No runs yet")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DEEP_RESEARCH_MAX_CYCLES", "abc", "Input should be a valid integer"),
        ("DEEP_RESEARCH_PORTS", "80,99999", "Input should be less than or equal to 65535"),
        ("DEEP_RESEARCH_LIMITS", "max_cycles=3", 'this is no JSON, as {"max_cycles": 4} is.'),
    ],
)
def test_a_wrong_value_in_the_environment_is_named_by_its_variable(
    desk: Desk, name: str, value: str, words: str
) -> None:
    for command in (["ask", WHEN, "--docs", "docs"], ["runs"], ["show", "light"], ["resume", "light"]):
        line = complaint(desk.call(*command, **{name: value}))
        assert f"{name}: " in line
        assert words in line
    assert not desk.data.exists()


def test_what_is_given_in_the_call_wins_over_the_environment(desk: Desk) -> None:
    environment = {"DEEP_RESEARCH_MAX_CYCLES": "abc", "DEEP_RESEARCH_MODELS": "nonsense", "DEEP_RESEARCH_DOCS": "none"}
    given = ("--limit", "max_cycles=2", "--model", "extractive", "--docs", "docs", "--data-dir", "elsewhere")
    assert desk.call("ask", WHEN, *given, **environment).code == 0
    assert (desk.folder / "elsewhere" / "runs.sqlite").is_file()
    assert not desk.data.exists()


@pytest.mark.fault(46)
def test_an_answer_to_a_run_that_asks_nothing_is_refused(desk: Desk) -> None:
    assert desk.call("ask", WHEN, "--docs", "docs", "--thread", "light").code == 0
    line = complaint(desk.call("resume", "light", "--answer", "Yes."))
    assert line.startswith("The run 'light' is finished: put a further question by")


def foreign(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE addresses (name TEXT)")
    connection.close()


@pytest.mark.fault(40)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda file: file.write_bytes(b"this is no database" * 99), "cannot be used: file is not a database"),
        (foreign, "is a database of another program"),
    ],
)
@pytest.mark.parametrize("command", [["ask", WHEN, "--docs", "docs"], ["resume", "one"], ["runs"]])
def test_a_corrupt_or_foreign_database_is_named_and_left_alone(
    desk: Desk, spoil: object, words: str, command: list[str]
) -> None:
    assert callable(spoil)
    desk.data.mkdir()
    file = desk.data / "runs.sqlite"
    spoil(file)
    before = file.read_bytes()
    line = complaint(desk.call(*command))
    assert words in line
    assert str(file) in line
    assert "(setting data_dir)" in line
    assert file.read_bytes() == before


@pytest.mark.fault(39)
def test_a_data_folder_that_cannot_be_written_is_named(desk: Desk) -> None:
    # Not even root may write there.
    folder = Path("/sys/deep-research")
    if not folder.parent.is_dir():
        pytest.skip("there is no /sys here")
    for command in (["ask", WHEN, "--docs", "docs"], ["resume", "light"]):
        line = complaint(desk.call(*command, "--data-dir", str(folder)))
        assert "'/sys/deep-research/runs.sqlite' cannot be opened: " in line
        assert "(setting data_dir)" in line


def test_looking_for_runs_makes_no_folder(desk: Desk) -> None:
    ended = desk.call("runs")
    assert (ended.code, ended.err.startswith("No runs yet")) == (0, True)
    assert complaint(desk.call("show", "light")) == "There is no run 'light'; `deep-research runs` lists all."
    assert not desk.data.exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("DEEP_RESEARCH_MAX_CYCLE", "DEEP_RESEARCH_MAX_CYCLE is no setting (did you mean DEEP_RESEARCH_MAX_CYCLES?)"),
        ("DEEP_RESEARCH_XYZZY", "DEEP_RESEARCH_XYZZY is no setting"),
    ],
)
def test_a_variable_that_is_no_setting_gets_one_line_and_stops_nothing(desk: Desk, name: str, words: str) -> None:
    ended = desk.call("runs", **{name: "3"})
    assert ended.code == 0
    first, second = ended.err.splitlines()
    assert first == f"Warning: {words}."
    assert second.startswith("No runs yet")
    assert "Warning" not in desk.call("runs", DEEP_RESEARCH_MAX_CYCLES="3", DEEP_RESEARCH_DOCS="docs").err


@pytest.mark.fault(37)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_cannot_be_written_is_printed_instead(desk: Desk) -> None:
    ended = desk.call("ask", WHEN, "--docs", "docs", "--out", "/dev/full")
    assert ended.code == 1
    assert ended.out.startswith("The Skerry Light was lit for the first time in 1844.")
    assert ended.err.splitlines()[-1] == (
        "Error: --out '/dev/full': No space left on device. The report is printed instead."
    )


def test_a_dash_stands_for_standard_output(desk: Desk) -> None:
    ended = desk.call("ask", WHEN, "--docs", "docs", "--thread", "light", "--out", "-")
    assert ended.code == 0
    assert ended.out.startswith("The Skerry Light was lit for the first time in 1844.")
    assert desk.call("export", "light", "--out", "-").out == ended.out
    assert desk.call("resume", "light", "--json", "--out", "-").out.splitlines()[-1].startswith('{"placement"')
    assert not (desk.folder / "-").exists()


def test_documents_that_cannot_be_read_are_listed_with_the_reason(desk: Desk) -> None:
    (desk.docs / "broken.pdf").write_bytes(b"%PDF-1.4\n nothing more")
    (desk.docs / "huge.txt").write_text("x" * 5000)
    given = ("--docs", "docs", "--limit", "max_document_bytes=4000", "--limit", "parse_seconds=20")
    ended = desk.call("ask", WHEN, *given)
    assert ended.code == 0
    notes = ended.out.split("## Notes")[1]
    for name, reason in (("broken.pdf", "broken PDF"), ("huge.txt", "limit max_document_bytes")):
        (line,) = [line for line in notes.splitlines() if f"docs/{name} " in line]
        assert line.startswith("- Not read: ")
        assert reason in line


def test_a_wrong_call_of_the_real_command_has_no_traceback(desk: Desk) -> None:
    assert "limit max_cycles" in complaint(desk.run("ask", WHEN, "--docs", "docs", "--limit", "max_cycles=abc"))
    unknown = desk.run("ask", WHEN, "--nonsense")
    assert unknown.code == 2
    assert unknown.err.splitlines()[-1].startswith("Error: No such option")
