"""Scans among the documents of a run: cited by page, read once, and listed if they cannot be read."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from kit.commands import desk_in
from kit.files import file_of, has_fonts, pdf_of, pdf_of_scans, printed, scanned
from pypdf import PdfReader, PdfWriter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

if not has_fonts():
    pytest.skip("the fonts DejaVu and Liberation are missing", allow_module_level=True)

QUESTION = "When was the Skerry Light lit, and who kept it?"
TRADE = "The board of trade met in Tralee, and paid for the granite of the tower."
LIGHT = "The Skerry Light was lit in 1844. It stands 38 metres tall."
KEEPER = "Ada Moran kept the Skerry Light from 1901 to 1932."
INSTALL = (
    "recognising text needs RapidOCR: make install EXTRAS=ocr in the checkout of deep_research, "
    'or pip install -e ".[ocr]" there'
)
LIMIT = ("--limit", "parse_seconds=60")
SHORT = 330
"""Height of a page in pixels that holds these texts; blank paper is searched for text, too."""


def write_scans(folder: Path, *others: str) -> Path:
    """Write two scans, the first with a page for each of the other texts before its own."""
    folder.mkdir()
    pages = [scanned(printed(text, width=60, height=SHORT)) for text in (*others, LIGHT, KEEPER)]
    (folder / "light.pdf").write_bytes(pdf_of_scans(pages[:-1]))
    (folder / "keeper.png").write_bytes(file_of(pages[-1], "PNG"))
    return folder


def with_text(scan: bytes) -> bytes:
    """The scan behind a page of text."""
    writer, written = PdfWriter(), io.BytesIO()
    for data in (pdf_of("The mail boat calls at Tralee twice a week, in winter once."), scan):
        writer.append(PdfReader(io.BytesIO(data)))
    writer.write(written)
    return written.getvalue()


def test_a_run_over_scans_cites_their_pages_and_reads_them_once(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    docs = str(write_scans(desk.folder / "scans", TRADE))
    ended = desk.call("ask", QUESTION, "--docs", docs, "--thread", "light", *LIMIT)
    assert ended.code == 0 and "documents indexed: 2 of 2" in ended.err, ended.err
    file = desk.folder / "run.json"
    assert desk.call("export", "light", "--out", str(file)).code == 0
    run = json.loads(file.read_text("utf-8"))
    pages = {
        passage["quote"]: passage["page"]
        for claim in run["claims"]
        for passage in claim["passages"]
    }
    assert pages["The Skerry Light was lit in 1844."] == 2
    again = desk.call("ask", QUESTION, "--docs", docs, "--thread", "again", *LIMIT)
    assert again.code == 0 and "documents indexed" not in again.err


def test_without_the_extra_one_line_says_what_to_install_and_with_it_the_scan_is_read(
    tmp_path: Path,
) -> None:
    desk = desk_in(tmp_path)
    docs = write_scans(desk.folder / "scans")
    (docs / "notes.md").write_text("The harbour of Tralee was deepened in 1893.")
    (docs / "mixed.pdf").write_bytes(
        with_text(pdf_of_scans([scanned(printed(KEEPER, width=60, height=SHORT))]))
    )
    # As if it were missing: neither the module nor the version of it that is installed is found.
    absent = tmp_path / "absent"
    (absent / "rapidocr-0.dist-info").mkdir(parents=True)
    (absent / "rapidocr-0.dist-info" / "METADATA").write_text("Name: rapidocr\nVersion: 0\n")
    (absent / "rapidocr.py").write_text("raise ImportError")
    file = desk.folder / "report.md"
    ask = ("ask", QUESTION, "--docs", str(docs), *LIMIT, "--out", str(file))
    ended = desk.run(
        *ask, "--thread", "without", env={**desk.environment, "PYTHONPATH": str(absent)}
    )
    assert ended.code == 0, ended.err
    report = file.read_text("utf-8")
    assert report.count(f"(it is a scan; {INSTALL})") == 2, report
    assert f"Read in part: scans/mixed.pdf: page 2 not read: {INSTALL}." in report, report
    ended, report = desk.call(*ask, "--thread", "with"), file.read_text("utf-8")
    assert ended.code == 0 and "lit in 1844" in report and INSTALL not in report, report
