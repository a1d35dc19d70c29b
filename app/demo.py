"""Documents for a first run: the language reference that every CPython carries."""

from __future__ import annotations

from pathlib import Path
from pydoc_data.topics import topics

QUESTION = "What is a context manager, and how does the with statement use it?"


def write_documents(folder: Path) -> int:
    """Write each topic of the reference as a text file; returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in topics.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return len(topics)
