"""Makes PDFs by programs that are not ours."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path


class ProgramMissing(Exception):
    """A program or package that makes PDFs is not installed."""


def by_latex(body: str, *, options: str = "", preamble: str = "") -> bytes:
    """Typeset a body with pdfLaTeX, class `article`."""
    source = (
        rf"\documentclass[{options}]{{article}}"
        "\n"
        r"\usepackage[T1]{fontenc}\usepackage{lmodern}\usepackage{textcomp}"
        "\n"
        f"{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=batchmode", "file.tex"]
    return _run(source.encode(), "file.tex", command, times=2)


def by_chromium(html: str) -> bytes:
    """Print a page with Chromium."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--no-pdf-header-footer", "--print-to-pdf=file.pdf", "file.html"]
    return _run(html.encode(), "file.html", command)


def by_office(content: bytes, suffix: str) -> bytes:
    """Convert a document or sheet with LibreOffice."""
    name = f"file{suffix}"
    command = ["soffice", "-env:UserInstallation=file:///tmp/pdf-layouts-office", "--headless"]
    return _run(content, name, [*command, "--convert-to", "pdf", name])


def by_weasyprint(html: str) -> bytes:
    """Print a page with WeasyPrint."""
    try:
        from weasyprint import HTML
    except ImportError as error:
        raise ProgramMissing("weasyprint") from error
    content: bytes = HTML(string=html).write_pdf()
    return content


def _run(content: bytes, name: str, command: list[str], *, times: int = 1) -> bytes:
    """Run a program in a folder of its own and return the PDF that it writes there."""
    if not shutil.which(command[0]):
        raise ProgramMissing(command[0])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(content)
        for _ in range(times):
            subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
        return Path(folder, "file.pdf").read_bytes()
