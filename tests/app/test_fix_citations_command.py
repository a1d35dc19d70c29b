"""`deep-research fix-citations` as a user meets it, on small drafts and on real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Desk, desk_in

from deep_research.app.fix_draft import MAX_BYTES
from deep_research.core.evidence.citations.drafts.fix import fix_citations

DRAFT = "Gulls nest. [4] Terns too [2][4], [9].\n\n## Sources\n\n[2] Terns: https://t.test\n[4] Gulls: https://g.test\n"
FIXED = "Gulls nest. [1] Terns too [2][1].\n\n## Sources\n\n- [1] Gulls: https://g.test\n- [2] Terns: https://t.test\n"
LINE = "3 citations with a source before, 3 after; merged 0, removed 1, linked 0, uncited 0"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


def test_a_draft_is_printed_in_order_with_one_line_of_counts_beside_it(desk: Desk) -> None:
    (desk.folder / "draft.md").write_text(DRAFT, "utf-8")
    ended = desk.run("fix-citations", "draft.md")
    assert ended == (0, FIXED, f"{LINE}\n")
    assert not desk.data.exists()


@pytest.mark.slow
def test_a_draft_can_come_from_a_pipe_and_go_to_a_file(desk: Desk) -> None:
    (desk.folder / "draft.md").write_bytes(b"\xef\xbb\xbf" + DRAFT.replace("\n", "\r\n").encode())
    with (desk.folder / "draft.md").open("rb") as draft:
        tracing = {**desk.environment, "PYTHONPROFILEIMPORTTIME": "1"}
        ended = desk.run("fix-citations", "-", "--out", "fixed.md", stdin=draft, env=tracing)
    assert (ended.code, ended.out) == (0, "")
    assert LINE in ended.err.splitlines()
    assert "deep_research.core.evidence.citations.drafts.fix" in ended.err and "deep_research.graph" not in ended.err
    assert (desk.folder / "fixed.md").read_text("utf-8") == FIXED


def test_a_file_may_be_fixed_in_its_place_and_stays_as_it_is_then(desk: Desk) -> None:
    draft = desk.folder / "draft.md"
    draft.write_text(DRAFT, "utf-8")
    for _ in range(2):
        assert desk.call("fix-citations", str(draft), "--out", str(draft)).code == 0
        assert draft.read_text("utf-8") == FIXED


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"caf\xe9", "is no text in UTF-8 (byte 3); save it as UTF-8."),
        (b"a\0b", "is no text: it holds a zero byte (at 1)."),
        (b"a" * (MAX_BYTES + 1), "is larger than 5,000,000 bytes, the most that a draft may have."),
    ],
)
def test_what_is_no_draft_is_refused_in_one_line(desk: Desk, data: bytes | None, complaint: str) -> None:
    draft = desk.folder / "draft.md"
    if data is not None:
        draft.write_bytes(data)
    ended = desk.call("fix-citations", str(draft), "--out", str(desk.folder / "out.md"))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert ended.err.startswith("Error: ")
    assert complaint in ended.err
    assert not (desk.folder / "out.md").exists()


def test_a_folder_and_a_place_that_takes_no_file_are_refused(desk: Desk) -> None:
    assert "cannot be read (Is a directory)" in desk.call("fix-citations", str(desk.docs)).err
    (desk.folder / "draft.md").write_text(DRAFT, "utf-8")
    ended = desk.call("fix-citations", str(desk.folder / "draft.md"), "--out", str(desk.folder / "no" / "out.md"))
    assert (ended.code, "there is no folder" in ended.err) == (2, True)


@pytest.mark.slow
def test_an_auditor_finds_nothing_wrong_with_real_drafts_and_no_citation_is_lost(
    shared_data: Path, tmp_path: Path
) -> None:
    desk = desk_in(tmp_path)
    audit = [sys.executable, str(shared_data / "reports" / "audit_citations.py"), str(tmp_path / "out")]
    files = sorted((shared_data / "reports").glob("*.jsonl"))
    drafts = [json.loads(line) for file in files for line in file.read_text("utf-8").split("\n") if line]
    (tmp_path / "out").mkdir()
    for draft in drafts:
        (tmp_path / "draft.md").write_text(draft["report"], "utf-8")
        out = tmp_path / "out" / f"{draft['id']}.md"
        assert desk.call("fix-citations", str(tmp_path / "draft.md"), "--out", str(out)).code == 0
        fixed, text = fix_citations(draft["report"]), out.read_text("utf-8")
        assert fixed.counts.before == fixed.counts.after > 0
        assert fix_citations(text).text == text == fixed.text
    result = subprocess.run(
        [*audit, "--json", str(tmp_path / "audit.json")], capture_output=True, text=True, check=False
    )
    (audited,) = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    assert (result.returncode, len(audited["reports"])) == (0, len(drafts))
    assert [report["report"] for report in audited["reports"] if report["defective"]] == []
