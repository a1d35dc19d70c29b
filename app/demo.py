"""Documents for a first run: the language reference that every CPython carries."""

from __future__ import annotations

from pathlib import Path
from pydoc_data.topics import topics

QUESTION = (
    "When is a default parameter value evaluated, what does the global statement do, and how are class variables "
    "shared by instances?"
)


def write_documents(folder: Path) -> int:
    """Write each topic of the reference as a text file; returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in topics.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return len(topics)
