"""`refresh` reads sources again and `audit` compares stored texts: which sentences of a report
still hold."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from kit.commands import COMMAND, Desk, desk_in, wire_desk
from kit.openai_server import fail, say, use
from kit.runs import QUESTION as USUAL_QUESTION
from kit.runs import write_documents
from kit.wire import role_of

QUESTION = "When was the Skerry Light lit, who keeps it and how tall is it?"
LIGHT = "The Skerry Light was lit for the first time in 1844. [1]"
KEEPER = "Ada Moran kept the Skerry Light from 1901 to 1932. [2]"
SCHEDULE = (
    (Path(__file__).parents[2] / "docs" / "guides" / "reports.md")
    .read_text("utf-8")
    .partition("### On a schedule")[2]
)
NOTES = """
## Visitors

The tower opens in summer. The shop beside it sells maps, and people came in June.
"""
WARNING = "Warning: a source text of this report is gone or has changed since the check: deep-research audit light\n"
NO_TEXT = "DELETE FROM store WHERE length(key) = 64"
OTHER_TEXT = """UPDATE store SET value = '{"text": "Lit in 1846."}' WHERE length(key) = 64"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose run `light` is finished."""
    desk = desk_in(tmp_path_factory.mktemp("asked"))
    with (desk.docs / "lighthouse.md").open("a", encoding="utf-8") as file:
        file.write(NOTES)
    ended = desk.call(
        "ask", QUESTION, "--docs", str(desk.docs), "--model", "extractive", "--thread", "light"
    )
    assert ended.code == 0 and LIGHT in ended.out and KEEPER in ended.out
    return desk


@pytest.fixture
def desk(asked: Desk) -> Desk:
    """The same desk, with its documents restored before each test."""
    kept = asked.folder / "kept"
    if not kept.exists():
        shutil.copytree(asked.docs, kept)
    # With their old modification times.
    shutil.rmtree(asked.docs)
    shutil.copytree(kept, asked.docs)
    return asked


def edit(desk: Desk, changes: dict[str, str]) -> None:
    """Replace words in the document on the light."""
    text = (desk.docs / "lighthouse.md").read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (desk.docs / "lighthouse.md").write_text(text, encoding="utf-8")


def test_a_changed_and_a_missing_source_are_shown_and_nothing_else(desk: Desk) -> None:
    report = desk.call("export", "light").out
    edit(desk, {"1844": "1846", "and people": "and nobody"})
    (desk.docs / "keeper.md").unlink()
    ended = desk.call("refresh", "light")
    assert ended.code == 1
    assert (ended.out.count("**Changed**"), ended.out.count("**Can no longer be checked**")) == (
        1,
        2,
    )
    assert f"```diff\n- {LIGHT}\n```" in ended.out
    assert "> Then: The Skerry Light was lit for the first time in 1844." in ended.out
    assert "> Now: The Skerry Light was lit for the first time in 1846." in ended.out
    assert f"```diff\n  {KEEPER}\n```" in ended.out
    assert "nobody" not in ended.out
    assert ", 1 changed, 2 can no longer be checked." in ended.out.splitlines()[2]
    assert desk.call("export", "light").out == report


def test_layout_order_and_name_of_a_document_change_no_sentence(desk: Desk) -> None:
    title, light, visitors, shop = (
        (desk.docs / "lighthouse.md").read_text("utf-8").strip().split("\n\n")
    )
    light = light.replace(" was lit", "\nwas **lit**")
    moved = "\n\n\n".join(
        [title.strip("# ") + "\n============", visitors, shop, "## The tower", light]
    )
    (desk.docs / "lighthouse.md").write_text(moved, encoding="utf-8")
    (desk.docs / "keeper.md").rename(desk.docs / "keepers.txt")
    ended = desk.call("refresh", "light")
    assert ended.code == 0
    assert "0 changed, 0 can no longer be checked" in ended.out
    assert re.search(r"keeper\.md: .*keepers\.txt", ended.out)


def test_if_changed_reports_something_new_once_and_is_silent_otherwise(
    desk: Desk, tmp_path: Path
) -> None:
    given = "refresh", "light", "--if-changed"
    changes = tmp_path / "changes.md"
    assert desk.call(*given) == desk.call(*given, "--out", str(changes)) == (0, "", "")
    assert not changes.exists()
    edit(desk, {"1844": "1846"})
    ended = desk.call(*given)
    assert ended.code == 5 and f"```diff\n- {LIGHT}\n" in ended.out
    assert desk.call(*given, "--out", str(changes)).code == 5
    written = changes.read_text("utf-8")
    changes.write_text(re.sub(r"read again on .*", "read again on another day.", written), "utf-8")
    assert desk.call(*given, "--out", str(changes)) == (
        0,
        "",
        "",
    ) and "another day" in changes.read_text("utf-8")
    (desk.docs / "keeper.md").unlink()
    assert desk.call(*given, "--out", str(changes)).code == 5 and KEEPER in changes.read_text(
        "utf-8"
    )
    failed = desk.call("refresh", "nobody", "--if-changed")
    assert (failed.code, failed.out, failed.err.count("\n")) == (2, "", 1)


@pytest.mark.slow
def test_the_cron_line_of_the_docs_works_in_a_shell(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "research"
    folder.mkdir()
    (folder / ".env").write_text(f"DEEP_RESEARCH_DATA_DIR={desk.data}\n", "utf-8")
    [line] = re.findall(r"^0 6 \* \* 1-5 +(.+)$", SCHEDULE, re.MULTILINE)
    # The environment that cron provides.
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin",
        "SHELL": "/bin/sh",
    }
    edit(desk, {"1844": "1846"})
    command = ["/bin/sh", "-c", line.replace("THREAD", "light")]
    ended = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, encoding="utf-8", check=False
    )
    mail = ended.stdout + ended.stderr
    assert ended.returncode == 5 and "1 changed" in mail and "changes.md" in mail
    assert LIGHT in (folder / "changes.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "fault", "form"),
    [(NO_TEXT, "is no longer stored", "md"), (OTHER_TEXT, "has changed since it was read", "json")],
)
def test_an_export_points_to_the_audit_if_stored_texts_changed(
    library: Desk, tmp_path: Path, statement: str, fault: str, form: str
) -> None:
    export = ("export", "light", "--format", form)
    audit, before = library.call("audit", "light"), library.call(*export)
    assert (audit.code, audit.err, "Fault" in audit.out, before.code, before.err) == (
        0,
        "",
        False,
        0,
        "",
    )
    shutil.copytree(library.folder, tmp_path, dirs_exist_ok=True)
    with closing(sqlite3.connect(tmp_path / "data" / "runs.sqlite")) as database, database:
        assert database.execute(statement).rowcount
    assert Desk(tmp_path).call(*export) == (0, before.out, WARNING)
    audit = Desk(tmp_path).call("audit", "light")
    assert audit.code == 1 and fault in audit.out


@pytest.mark.slow
def test_an_audit_with_a_model_judges_a_report_again_and_shows_what_changed(tmp_path: Path) -> None:
    with wire_desk(
        tmp_path, writer=lambda _: say("Its lamp is older than any other one of that coast [1].")
    ) as wire:
        asked = wire.desk.call(
            "ask", USUAL_QUESTION, "--thread", "light", "--limit", "max_opinions=0"
        )
        assert asked.code == 0 and "not verified" not in asked.out
        wire.forget()
        offline = wire.desk.call("audit", "light")
        assert (offline.code, wire.lab.models.requests) == (0, [])
        assert "Changed   0 verdicts" in offline.out
        wire.lab.script["verifier"] = lambda _: use(
            ("judge_units", {"verdicts": [{"unit": 1, "verdict": "not_found"}]})
        )
        audit = wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert audit.code == 1
        assert [role_of(request) for request in wire.lab.models.requests] == ["verifier"]
        assert "Changed   1 verdict since" in audit.out and "Cost      1 model call," in audit.out
        assert "unsupported, not marked (before: unchecked): Its lamp is older than" in audit.out
        assert wire.desk.call("export", "light").out == asked.out
        wire.lab.script["verifier"] = lambda _: fail(
            401, "Incorrect API key provided.", code="invalid_api_key"
        )
        refused = wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert (refused.code, refused.out) == (2, "") and refused.err.endswith(
            "check OPENAI_API_KEY.\n"
        )


@pytest.mark.slow
def test_an_audit_with_a_model_also_judges_a_quick_answer(tmp_path: Path) -> None:
    with wire_desk(
        tmp_path, writer=lambda _: say("Its lamp is older than any other one of that coast [1].")
    ) as wire:
        options = ("--depth", "quick", "--docs", str(write_documents(wire.desk.docs)), "--no-web")
        assert wire.desk.call("ask", USUAL_QUESTION, "--thread", "light", *options).code == 0
        wire.lab.script["verifier"] = lambda _: use(
            ("judge_units", {"verdicts": [{"unit": 1, "verdict": "not_found"}]})
        )
        wire.forget()
        audit = wire.desk.call("audit", "light", "--model", "openai:fake-1")
        assert {role_of(request) for request in wire.lab.models.requests} == {"verifier"}
        assert (
            audit.code == 1
            and "unsupported, not marked (before: unchecked): Its lamp is older than" in audit.out
        )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed here")
def test_systemd_accepts_the_unit_and_the_timer_of_the_docs(tmp_path: Path) -> None:
    unit, timer = re.findall(r"^```ini\n(.+?)^```", SCHEDULE, re.MULTILINE | re.DOTALL)
    command = "/path/to/checkout/.venv/bin/deep-research"
    assert command in unit
    (tmp_path / "refresh@.service").write_text(unit.replace(command, f'"{COMMAND}"'), "utf-8")
    (tmp_path / "refresh@.timer").write_text(timer, "utf-8")
    names = [str(tmp_path / f"refresh@.{kind}") for kind in ("service", "timer")]
    verified = subprocess.run(
        ["systemd-analyze", "verify", *names], capture_output=True, encoding="utf-8", check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
