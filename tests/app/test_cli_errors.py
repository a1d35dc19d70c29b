"""Bad input and damaged databases at the command line: one clear line, the right exit code, and
nothing lost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.commands import Desk, Ended, desk_in
from kit.stored_runs import queried

WHEN = "When was the Skerry Light lit?"
PAGE = 4096
ASK = ("ask", WHEN, "--docs", "docs", "--thread")
COMMANDS = (
    *((*ASK, thread) for thread in ("new", "light")),
    *((command, "light") for command in ("resume", "show", "export", "audit", "refresh")),
    ("show", "light", "--json"),
    ("runs",),
    ("doctor",),
)
"""Every command that opens the database."""
Damage = Callable[[bytes, random.Random], bytes]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return desk_in(tmp_path)


def complaint(ended: Ended) -> str:
    """The single error line of a command that was refused."""
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


@pytest.mark.fault(39, 48, 49)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["\u200b\u2060\ufeff", "--docs", "docs"], "The question is empty"),
        (
            ["x" * 32_001, "--docs", "docs"],
            "The question has 32001 characters; at most 32000 are accepted",
        ),
        ([WHEN, "--docs", "docs", "--thread", ""], "The name of the run (--thread) is empty"),
        ([WHEN, "--no-web"], "--docs"),
        (
            [WHEN, "--docs", "nowhere"],
            "nowhere: there is no such folder or file; create it or correct the path (setting `docs`",
        ),
        ([WHEN, "--docs", "empty"], "empty: there is no document in it that can be read"),
        ([WHEN, "--docs", "broken"], "broken.pdf: "),
        ([WHEN, "--attach", "docs"], "--attach 'docs': this is a folder; use --docs for folders."),
        (
            [WHEN, "--docs", "~nobody-of-it/f"],
            "'~nobody-of-it/f': unknown user in the path; write the path in full.",
        ),
        (
            [WHEN, "--docs", "docs", "--outline", "nowhere.md"],
            "--outline 'nowhere.md' cannot be read: No such file or directory.",
        ),
        ([WHEN, "--docs", "docs", "--outline", "docs"], "--outline 'docs' cannot be read: "),
        (
            [WHEN, "--docs", "docs", "--outline", "broken.md"],
            "--outline 'broken.md' cannot be read: it is not UTF-8.",
        ),
        (
            [WHEN, "--docs", "docs", "--outline", "empty.md"],
            "--outline 'empty.md': the file is empty.",
        ),
        (
            [WHEN, "--docs", "docs", "--outline", "words.md"],
            "outline: it has no section; write a heading such as `## Risks` for each section",
        ),
        ([WHEN, "--engine", "gogle"], "engines: unknown engine 'gogle'"),
        ([WHEN, "--attach", "picture.gif"], "picture.gif: unsupported format; supported: "),
        ([WHEN, "--attach", "offer.doc"], "offer.doc: .doc files are not read: save it as .docx"),
        (
            [WHEN, "--docs", "docs", "--limit", "nonsense=1"],
            "nonsense: there is no such limit; `deep-research limits`",
        ),
        (
            [WHEN, "--docs", "docs", "--limit", "max_cycle=1"],
            "there is no such limit (did you mean max_cycles?)",
        ),
        (
            [WHEN, "--docs", "docs", "--limit", "max_cycles"],
            "--limit takes NAME=VALUE, not 'max_cycles'.",
        ),
        (
            [WHEN, "--docs", "docs", "--limit", "max_cycles=abc"],
            "limit max_cycles: Input should be a valid integer",
        ),
        (
            [WHEN, "--docs", "docs", "--model", "gpt-nonsense"],
            "The model 'gpt-nonsense' is unknown",
        ),
        (
            [WHEN, "--docs", "docs", "--out", "report.xyz"],
            "unknown suffix; use one of .md, .markdown, .txt, .json",
        ),
        (
            [WHEN, "--docs", "docs", "--out", "nowhere/report.md"],
            "'nowhere/report.md': the folder 'nowhere' does not",
        ),
        # Not even root can write there.
        (
            [WHEN, "--docs", "docs", "--out", "/proc/x.md"],
            "--out '/proc/x.md': the file cannot be written (No such",
        ),
    ],
)
def test_wrong_arguments_are_reported_in_one_line_and_leave_no_run(
    desk: Desk, arguments: list[str], words: str
) -> None:
    (desk.folder / "empty").mkdir()
    (desk.folder / "broken").mkdir()
    (desk.folder / "broken" / "broken.pdf").write_bytes(b"%PDF-1.4\n nothing more")
    (desk.folder / "broken.md").write_bytes(b"## R\xe9sum\xe9\n")
    (desk.folder / "empty.md").write_text(" \n")
    (desk.folder / "words.md").write_text("Three pages on the light.\n")
    (desk.folder / "picture.gif").write_bytes(b"GIF8")
    (desk.folder / "offer.doc").write_bytes(b"\xd0\xcf\x11\xe0")
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
        ("DEEP_RESEARCH_LIMITS", "max_cycles=3", '{"max_cycles": 4}'),
    ],
)
def test_a_wrong_value_is_named_by_its_environment_variable(
    desk: Desk, name: str, value: str, words: str
) -> None:
    for command in (
        ["ask", WHEN, "--docs", "docs"],
        ["runs"],
        ["show", "light"],
        ["resume", "light"],
    ):
        line = complaint(desk.call(*command, **{name: value}))
        assert f"{name}: " in line
        assert words in line
    assert not desk.data.exists()


@pytest.mark.parametrize(
    "command", [("check", "report.md"), ("refresh", "light"), ("resume", "light"), ("doctor",)]
)
def test_an_option_that_cannot_be_read_is_one_line(desk: Desk, command: tuple[str, ...]) -> None:
    assert (
        complaint(desk.call(*command, "--limit", "max_cycles"))
        == "--limit takes NAME=VALUE, not 'max_cycles'."
    )


@pytest.mark.fault(46)
def test_reading_runs_creates_no_folder_and_an_answer_to_a_finished_run_is_refused(
    desk: Desk,
) -> None:
    ended = desk.call("runs")
    assert (ended.code, ended.err.startswith("No runs yet")) == (0, True)
    assert (
        complaint(desk.call("show", "light"))
        == "There is no run 'light'; `deep-research runs` lists them all."
    )
    assert not desk.data.exists()
    assert desk.call(*ASK, "light").code == 0
    line = complaint(desk.call("resume", "light", "--answer", "Yes."))
    assert line.startswith("The run 'light' is finished; to ask a follow-up question:")


def test_an_unknown_variable_causes_a_warning_and_no_error(desk: Desk) -> None:
    ended = desk.call("runs", DEEP_RESEARCH_MAX_CYCLE="3", DEEP_RESEARCH_XYZZY="3")
    first, second = ended.err.splitlines()
    guess = "DEEP_RESEARCH_MAX_CYCLE is not a setting (did you mean DEEP_RESEARCH_MAX_CYCLES?)"
    assert (ended.code, first) == (0, f"Warning: {guess}; DEEP_RESEARCH_XYZZY is not a setting.")
    assert second.startswith("No runs yet")
    assert (
        "Warning"
        not in desk.call("runs", DEEP_RESEARCH_MAX_CYCLES="3", DEEP_RESEARCH_DOCS="docs").err
    )


@pytest.mark.fault("R19")
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(
            ("DEEP_RESEARCH_DATABASE", address)
            for address in (
                "postgresql ://u:SECRET@h/db",
                " postgresql://u:SECRET@h/db",
                "postgresql:/u:SECRET@h/db",
                "postgresql:u:SECRET@h",
                "postgres ://u:SECRET/x@h",
                "host=h password=SECRET",
                "u:SECRET@h/db",
                "mysql://u:SECRET@h/x",
            )
        ),
        ("DEEP_RESEARCH_ENGINES", "http://u:SECRET@h"),
        ("DEEP_RESEARCH_ALLOW_PRIVATE", "http://u:SECRET@h"),
        ("DEEP_RESEARCH_MCP", '{"x": {"url": "http://h", "headers": "SECRET"}, "y": "SECRET"}'),
    ],
)
def test_no_error_shows_the_password_of_a_setting(desk: Desk, variable: str, value: str) -> None:
    line = complaint(desk.call(*ASK, "light", **{variable: value}))
    assert "SECRET" not in line
    if variable == "DEEP_RESEARCH_DATABASE" and value != "u:SECRET@h/db":
        assert "postgresql://USER:PASSWORD@HOST/NAME" in line
        assert "DEEP_RESEARCH_DATABASE" in line


@pytest.mark.fault(37)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_cannot_be_written_is_printed_instead(desk: Desk) -> None:
    ended = desk.call("ask", WHEN, "--docs", "docs", "--out", "/dev/full")
    assert ended.code == 1
    assert ended.out.startswith(
        "# When was the Skerry Light lit?\n\nThe Skerry Light was lit for the first time in 1844."
    )
    assert ended.err.splitlines()[-1] == (
        "Error: --out '/dev/full': No space left on device. The report is printed instead."
    )


def pages_changed(whole: bytes, chance: random.Random) -> bytes:
    changed, pages = bytearray(whole), len(whole) // PAGE
    for page in chance.sample(range(pages), chance.choice((1, 3, 20, pages))):
        length = chance.choice((8, PAGE))
        changed[page * PAGE : page * PAGE + length] = chance.randbytes(length)
    return bytes(changed)


def schema_changed(whole: bytes, chance: random.Random) -> bytes:
    # SQLite quotes what it finds there in its errors, text or not.
    changed = bytearray(whole)
    for position in chance.sample(
        [position for position in range(100, PAGE) if 32 < whole[position] < 127], 8
    ):
        changed[position] |= 128
    return bytes(changed)


def truncated(whole: bytes, chance: random.Random) -> bytes:
    return whole[: chance.randrange(1, len(whole))]


def entries_shuffled(whole: bytes, chance: random.Random) -> bytes:
    # Each page of an index begins with its kind; the offsets of its entries follow its header.
    changed = bytearray(whole)
    for start in range(0, len(whole), PAGE):
        if whole[start] == 10:
            count = int.from_bytes(whole[start + 3 : start + 5])
            offsets = [whole[start + 8 + 2 * n : start + 10 + 2 * n] for n in range(count)]
            chance.shuffle(offsets)
            changed[start + 8 : start + 8 + 2 * count] = b"".join(offsets)
    return bytes(changed)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A folder with two runs."""
    damaged = desk_in(tmp_path_factory.mktemp("damaged"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(damaged.folder)
        assert [damaged.call(*ASK, name).code for name in ("light", "tower")] == [0, 0]
    return damaged


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damage", [pages_changed, schema_changed, truncated])
def test_a_damaged_database_is_reported_in_one_line(
    damaged: Desk, damage: Damage, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(damaged.folder)
    whole = (damaged.data / "runs.sqlite").read_bytes()
    for number, command in enumerate(COMMANDS):
        # Connections that failed commands left open in this process must not see the next file.
        file = tmp_path / f"{number}.sqlite"
        file.write_bytes(damage(whole, random.Random(seed)))
        says_what_is_wrong(damaged, command, file)


@pytest.mark.fault(64)
def test_runs_that_a_damaged_index_gives_several_times_are_listed_once(
    damaged: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(damaged.folder)
    file = tmp_path / "runs.sqlite"
    whole = (damaged.data / "runs.sqlite").read_bytes()
    file.write_bytes(entries_shuffled(whole, random.Random(1)))
    given = [row[0] for row in queried(file, "SELECT thread_id FROM checkpoints GROUP BY 1")]
    assert len(given) > len(set(given)) == 2
    # In a process of its own, which is waited for only for a while.
    monkeypatch.setenv("DEEP_RESEARCH_DATABASE", str(file))
    ended = damaged.run("runs")
    assert ended.code == 0
    assert sorted(line[:6] for line in ended.out.splitlines()) == sorted(
        {thread[:6] for thread in given}
    )
    report = damaged.run("doctor")
    assert report.code != 0
    assert f"missing  runs: The database '{file}' cannot be used: " in report.out
    assert "It is damaged: restore a backup" in report.out


@pytest.mark.fault(40)
@pytest.mark.parametrize("kind", ["a folder", "/proc/version", "a bit of the schema"])
def test_a_file_that_is_no_database_is_reported_in_one_line(
    damaged: Desk, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(damaged.folder)
    file = tmp_path / "runs.sqlite" if kind[0] != "/" else Path(kind)
    if kind == "a folder":
        file.mkdir()
    elif kind[0] != "/":
        file.write_bytes(
            schema_changed((damaged.data / "runs.sqlite").read_bytes(), random.Random(4))
        )
    for command in COMMANDS:
        assert says_what_is_wrong(damaged, command, file) == 2


def says_what_is_wrong(damaged: Desk, command: tuple[str, ...], database: Path) -> int:
    """Run the command, check that a failure names the file in one line, and return the exit code."""
    ended = damaged.call(*command, DEEP_RESEARCH_DATABASE=str(database))
    if ended.code not in (0, 3):
        # `doctor` prints its findings to standard output.
        said = [*ended.out.splitlines(), *ended.err.splitlines()]
        [line] = [line for line in said if line.startswith(("Error: ", "missing  runs: "))]
        assert str(database) in line
        assert "It is damaged: restore a backup" in line or not re.search(
            "malformed|not a database", line
        )
    return ended.code
