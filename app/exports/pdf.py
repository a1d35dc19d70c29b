"""A report as PDF: its page, laid out for paper."""

from __future__ import annotations

from ...run.errors import ExtraMissing
from .finished import Finished
from .page import report_page


def check_pdf() -> None:
    """Raise `ExtraMissing` without WeasyPrint or its library."""
    try:
        import weasyprint  # noqa: F401
        from weasyprint.urls import URLFetcher  # noqa: F401
    except ImportError:
        raise ExtraMissing('--format pdf needs WeasyPrint: pip install "deep-research[pdf]"') from None
    except OSError:
        raise ExtraMissing(
            "--format pdf needs the library Pango 1.44 or newer (Debian, Ubuntu: apt install libpango-1.0-0 "
            "libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango); --format html can be printed from any "
            "browser."
        ) from None


def report_pdf(finished: Finished) -> bytes:
    """The PDF, tagged for screen readers; raises `ExtraMissing` as `check_pdf` does."""
    check_pdf()
    import weasyprint
    from weasyprint.urls import URLFetcher

    # The page needs nothing from outside, and so nothing may be asked for.
    nothing = URLFetcher(allowed_protocols=())
    page = weasyprint.HTML(string=report_page(finished, is_on_paper=True), url_fetcher=nothing)
    data: bytes = page.write_pdf(pdf_tags=True)
    return data
