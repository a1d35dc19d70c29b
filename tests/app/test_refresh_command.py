"""`refresh` reads the sources of a finished report again and says which of its sentences still hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command import COMMAND, Desk, Ended, desk_in
from lab import write_documents
from openai_server import say
from wire_desk import wire_desk

QUESTION = "When was the Skerry Light lit, who keeps it and how tall is it?"
LIGHT = "The Skerry Light was lit for the first time in 1844. [1]"
KEEPER = "Ada Moran kept the Skerry Light from 1901 to 1932. [2]"
SCHEDULE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8").partition("### On a schedule")[2]
NOTES = """
## Visitors

The tower opens in summer. The shop beside it sells maps, and 300 people came in June.
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose run `light` is finished."""
    desk = desk_in(tmp_path_factory.mktemp("asked"))
    (desk.docs / "lighthouse.md").write_text(
        (desk.docs / "lighthouse.md").read_text("utf-8").strip() + "\n" + NOTES, encoding="utf-8"
    )
    ended = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--model", "extractive", "--thread", "light")
    assert ended.code == 0 and LIGHT in ended.out and KEEPER in ended.out
    return desk


@pytest.fixture
def desk(asked: Desk) -> Desk:
    """The same, with documents that a test may change and that are put back for the next one."""
    kept = asked.folder / "kept"
    if not kept.exists():
        shutil.copytree(asked.docs, kept)
    for file in asked.docs.iterdir():
        if not (kept / file.name).exists():
            file.unlink()
    for file in kept.iterdir():
        # What is as it was stays so: a file that is written anew may be a new one.
        if not (asked.docs / file.name).exists() or (asked.docs / file.name).read_bytes() != file.read_bytes():
            shutil.copyfile(file, asked.docs / file.name)
    return asked


def edit(desk: Desk, name: str, **changes: str) -> None:
    text = (desk.docs / name).read_text("utf-8")
    for old, new in zip(changes["old"].split("|"), changes["new"].split("|"), strict=True):
        assert old in text
        text = text.replace(old, new)
    (desk.docs / name).write_text(text, encoding="utf-8")


def changed(ended: Ended) -> list[str]:
    """The sentences that are shown as changed."""
    return re.findall(r"^```diff\n- (.+)$", ended.out, re.MULTILINE)


def test_two_changes_of_a_folder_are_shown_and_no_others(desk: Desk) -> None:
    report = desk.call("export", "light").out
    edit(desk, "lighthouse.md", old="1844|300 people", new="1846|412 people")
    (desk.docs / "keeper.md").unlink()
    ended = desk.run("refresh", "light")
    assert ended.code == 1
    assert (ended.out.count("**Changed**"), ended.out.count("**Can no longer be checked**")) == (1, 2)
    assert f"```diff\n- {LIGHT}\n```" in ended.out
    assert "> Then: The Skerry Light was lit for the first time in 1844." in ended.out
    assert "> Now: The Skerry Light was lit for the first time in 1846." in ended.out
    assert f"```diff\n  {KEEPER}\n```" in ended.out and "there is no such document any more" in ended.out
    assert "412" not in ended.out
    assert ", 1 changed, 2 can no longer be checked." in ended.out.splitlines()[2]
    assert desk.call("export", "light").out == report


def test_a_sentence_rests_on_the_citation_at_the_end_of_its_paragraph(tmp_path: Path) -> None:
    said = "The Skerry Light was lit for the first time in 1844. It stands 38 metres tall. [1]"
    with wire_desk(tmp_path, writer=lambda _: say(said)) as wire:
        desk = wire.desk
        write_documents(desk.docs)
        options = "--docs", str(desk.docs / "lighthouse.md"), "--no-web", "--thread", "light", "--verify", "off"
        asked = desk.call("ask", QUESTION, *options)
        assert said in asked.out
        edit(desk, "lighthouse.md", old="1844", new="1846")
        ended = desk.call("refresh", "light", "--model", "extractive")
        assert changed(ended) == [LIGHT.removesuffix(" [1]")] and ", 0 can no longer be checked" in ended.out


@pytest.mark.slow
def test_an_untouched_folder_has_changed_nothing(desk: Desk) -> None:
    ended = desk.run("refresh", "light")
    assert ended.code == 0
    assert "0 changed, 0 can no longer be checked" in ended.out and "##" not in ended.out


def test_layout_order_and_name_of_a_document_change_no_sentence(desk: Desk) -> None:
    title, light, visitors, shop = (desk.docs / "lighthouse.md").read_text("utf-8").strip().split("\n\n")
    moved = [
        title.strip("# ") + "\n============",
        visitors,
        shop,
        "## The tower",
        light.replace(" was lit", "\nwas **lit**"),
    ]
    (desk.docs / "lighthouse.md").write_text("\n\n\n".join(moved), encoding="utf-8")
    (desk.docs / "keeper.md").rename(desk.docs / "keepers.txt")
    ended = desk.call("refresh", "light")
    assert ended.code == 0
    assert "0 changed, 0 can no longer be checked" in ended.out
    assert "keeper.md: its text stands in keepers.txt now" in ended.out


@pytest.mark.parametrize(
    ("old", "new"),
    [("Moran kept", "Moran never kept"), (" Ada Moran kept the Skerry Light from 1901 to 1932.", "")],
)
def test_a_passage_that_was_edited_is_shown_beside_the_new_one(desk: Desk, old: str, new: str) -> None:
    (desk.docs / "keeper.md").write_text(
        "# Keepers\n\nShe was born in Tralee. Ada Moran kept the Skerry Light from 1901 to 1932. She had a dog.\n",
        encoding="utf-8",
    )
    edit(desk, "keeper.md", old=old, new=new)
    ended = desk.call("refresh", "light")
    assert changed(ended) == [KEEPER] and ended.out.count("words it otherwise now, or no longer says it") == 1
    plain = KEEPER.removesuffix(" [2]")
    assert f"> Then: {plain}" in ended.out and (not new or plain.replace(old, new) in ended.out)


def test_if_changed_is_silent_until_there_is_something_new_and_says_it_once(desk: Desk, tmp_path: Path) -> None:
    given = "refresh", "light", "--if-changed"
    assert desk.call(*given) == (0, "", "")
    edit(desk, "lighthouse.md", old="1844", new="1846")
    ended = desk.call(*given)
    assert ended.code == 5 and LIGHT in changed(ended)
    changes = tmp_path / "changes.md"
    assert desk.call(*given, "--out", str(changes)).code == 5
    written = changes.read_text("utf-8")
    changes.write_text(re.sub(r"read again on .*", "read again on another day.", written), "utf-8")
    assert desk.call(*given, "--out", str(changes)) == (0, "", "") and "another day" in changes.read_text("utf-8")
    (desk.docs / "keeper.md").unlink()
    assert desk.call(*given, "--out", str(changes)).code == 5 and KEEPER in changes.read_text("utf-8")
    failed = desk.call("refresh", "nobody", "--if-changed")
    assert (failed.code, failed.out, failed.err.count("\n")) == (2, "", 1)


def test_the_cron_line_of_the_docs_is_carried_out_by_a_shell(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "research"
    folder.mkdir()
    (folder / ".env").write_text(f"DEEP_RESEARCH_DATA_DIR={desk.data}\n", "utf-8")
    [line] = re.findall(r"^0 6 \* \* 1-5 +(.+)$", SCHEDULE, re.MULTILINE)
    # No more than cron gives.
    environment = {"HOME": str(tmp_path), "PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin", "SHELL": "/bin/sh"}

    def carried_out() -> tuple[int, str]:
        command = ["/bin/sh", "-c", line.replace("THREAD", "light")]
        ended = subprocess.run(command, env=environment, cwd="/", capture_output=True, encoding="utf-8", check=False)
        return ended.returncode, ended.stdout + ended.stderr

    assert carried_out() == (0, "")
    edit(desk, "lighthouse.md", old="1844", new="1846")
    code, mail = carried_out()
    assert code == 5 and "1 changed" in mail and "changes.md" in mail
    assert LIGHT in (folder / "changes.md").read_text("utf-8")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed here")
def test_systemd_finds_no_fault_with_the_unit_and_the_timer_of_the_docs(tmp_path: Path) -> None:
    unit, timer = re.findall(r"^```ini\n(.+?)^```", SCHEDULE, re.MULTILINE | re.DOTALL)
    command = "/path/to/checkout/.venv/bin/deep-research"
    assert command in unit
    (tmp_path / "refresh@.service").write_text(unit.replace(command, f'"{COMMAND}"'), "utf-8")
    (tmp_path / "refresh@.timer").write_text(timer, "utf-8")
    names = [str(tmp_path / f"refresh@.{kind}") for kind in ("service", "timer")]
    verified = subprocess.run(["systemd-analyze", "verify", *names], capture_output=True, encoding="utf-8", check=False)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_folder_that_is_gone_leaves_all_sentences_unchecked(desk: Desk) -> None:
    shutil.move(desk.docs, desk.folder / "away")
    try:
        ended = desk.call("refresh", "light")
    finally:
        shutil.move(desk.folder / "away", desk.docs)
    assert ended.code == 1 and "**0 sentences hold, 0 changed, " in ended.out
    parts = ended.out.split("**Can no longer be checked**")[1:]
    assert parts and all("there is no such folder or file" in part for part in parts)


def test_a_wrong_call_is_refused_in_one_line(desk: Desk) -> None:
    ended = desk.call("refresh", "nobody")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1) and "There is no run 'nobody'" in ended.err
