"""The formats in which reports and runs are written."""

from __future__ import annotations

from typing import Literal

Format = Literal["md", "json"]
"""How a report is printed."""
ExportFormat = Literal["md", "json", "html", "docx", "pdf", "bibtex", "csl-json"]
"""How a finished report is written."""
