"""Asks the model that needs no key, in a whole run over files that are written for it."""

from __future__ import annotations

import re
from pathlib import Path

from deep_research import Answer, research
from deep_research.app.words import Strategy

CITED = re.compile(r"\[(\d+)\]")


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder with these files, named by their suffixes: `ship_md` is "ship.md"."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, "utf-8")
    return folder


def answer(folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str) -> Answer:
    """What comes back on a question over these files."""
    docs = written(folder / "documents", files)
    return research(question, strategy, docs=(docs,), models="extractive", engines=(), data_dir=folder / "data")


def ask(folder: Path, question: str, strategy: Strategy = "orchestrated", **files: str) -> str:
    """The text of the report."""
    return answer(folder, question, strategy, **files).report.text


def cited_titles(given: Answer) -> list[str]:
    """The titles of the documents that a report cites, in the order of their numbers."""
    numbers = {int(number) for number in CITED.findall(given.report.text)}
    return [given.sources[number - 1].title for number in sorted(numbers)]
