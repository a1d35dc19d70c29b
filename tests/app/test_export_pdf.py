"""A report as PDF, as a reader of such files finds it."""

from __future__ import annotations

import builtins
import logging
import re
from io import BytesIO
from typing import Any

import pytest
from kit.reports import HARM, QUESTION, QUOTE, finished, harmful
from pypdf import PdfReader

from deep_research.app.exports._page import check_pdf, report_pdf
from deep_research.core.errors import ExtraMissing

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def weasyprint_is_usable() -> None:
    try:
        import weasyprint  # noqa: F401
    except (ImportError, OSError):
        pytest.skip("WeasyPrint or its library is missing")


def test_the_file_holds_the_report_its_quotes_and_its_links() -> None:
    reader = PdfReader(BytesIO(report_pdf(finished(), "full")))
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert reader.metadata and reader.metadata.title == QUESTION
    assert "The Skerry Light was lit in 1844." in text and QUOTE in text
    assert "Close" not in text
    links = [note.get_object() for page in reader.pages for note in page.get("/Annots", [])]
    targets = {str(link["/A"].get("/URI")) for link in links if "/A" in link}
    assert any(target.startswith("https://lights.example/skerry#:~:text=") for target in targets)
    assert "evidence-0" in reader.named_destinations
    assert reader.trailer["/Root"]["/Lang"] == "en"  # type: ignore[index]
    assert "/StructTreeRoot" in reader.trailer["/Root"]  # type: ignore[operator]


def test_rendering_a_pdf_sends_no_request(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "weasyprint"):
        assert report_pdf(harmful("\n".join(HARM[:7]))).startswith(b"%PDF")
    assert "load" not in caplog.text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("no"), "make install EXTRAS=pdf"),
        (OSError("cannot load library 'libpango'"), "needs the library Pango"),
    ],
)
def test_a_missing_package_or_library_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    found = builtins.__import__

    def importing(name: str, *rest: Any, **further: Any) -> Any:
        if name == "weasyprint":
            raise error
        return found(name, *rest, **further)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ExtraMissing) as caught:
        report_pdf(finished())
    with pytest.raises(ExtraMissing, match=re.escape(str(caught.value))):
        check_pdf()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
