"""A report as PDF: its page, laid out for paper."""

from __future__ import annotations

from typing import Any

from deep_research.app.exports.extras import ExtraMissing
from deep_research.app.exports.finished import Finished
from deep_research.app.exports.page import report_page


def report_pdf(finished: Finished) -> bytes:
    """The PDF, tagged for screen readers; raises `ExtraMissing` without WeasyPrint or its library."""
    try:
        import weasyprint
    except ImportError:
        raise ExtraMissing('--format pdf needs WeasyPrint: pip install "deep-research[pdf]"') from None
    except OSError:
        raise ExtraMissing(
            "--format pdf needs the library Pango 1.44 or newer (Debian, Ubuntu: apt install libpango-1.0-0 "
            "libpangoft2-1.0-0; macOS: brew install pango); --format html can be printed from any browser."
        ) from None
    page = weasyprint.HTML(string=report_page(finished, is_on_paper=True), url_fetcher=_refuse)
    data: bytes = page.write_pdf(pdf_tags=True)
    return data


def _refuse(address: str, *_: Any, **__: Any) -> Any:
    raise ValueError(f"the page needs nothing from outside: {address}")
