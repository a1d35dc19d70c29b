"""Writes docs/behaviour.md and docs/faults.md: what is promised, and which tests show it; `make docs` runs it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TO_COME = "*to come*"
NOT_DONE = "Not done:"
"""How the words of a row begin that says why something does not hold; no test shows it."""


class Page(NamedTuple):
    """A page of promises."""

    name: str
    """Name of the page, and of its data file."""
    mark: str
    """The mark of the tests that show its rows."""
    head: str

    @property
    def target(self) -> Path:
        """Where it is written."""
        return ROOT / "docs" / f"{self.name}.md"


BEHAVIOUR = Page(
    "behaviour",
    "behaviour",
    "# Behaviour\n\nWhat a run promises, and the tests that show it. Written by `make docs` from `behaviour.rows.toml` "
    "and the tests' marks.\n\n| row | behaviour | shown by |\n|---|---|---|\n",
)
FAULTS = Page(
    "faults",
    "fault",
    "# Faults\n\nWhat a run survives and what it refuses, and the tests that show it. Written by `make docs` from "
    "`faults.rows.toml` and the tests' marks.\n\n| row | what happens | shown by |\n|---|---|---|\n",
)
PAGES = (BEHAVIOUR, FAULTS)


class Rows(NamedTuple):
    """The promises."""

    words: Mapping[str, str]
    """What each row promises, by its id."""
    to_come: frozenset[str]
    """Rows that may be without a test."""


def read_rows(page: Page) -> Rows:
    """The promises as the data file has them."""
    data = tomllib.loads((ROOT / "docs" / f"{page.name}.rows.toml").read_text("utf-8"))
    return Rows(data["rows"], frozenset(map(str, data["next"])))


def find_calls(source: str, mark: str) -> Iterator[tuple[str, ast.Call]]:
    """Each test, or class of tests, with a mark of this name; nothing is executed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for call in (inner for decorator in node.decorator_list for inner in ast.walk(decorator)):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == mark:
                    yield node.name, call


def find_marks(source: str, mark: str) -> Iterator[tuple[str, str]]:
    """Each test, or class of tests, with a row that it is marked with."""
    for name, call in find_calls(source, mark):
        yield from ((name, str(ast.literal_eval(argument))) for argument in call.args)


def find_logged() -> set[str]:
    """The faults of which a test shows that they leave a record in the log: `logs` in its mark."""
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    marks = [call for source in sources for _, call in find_calls(source, FAULTS.mark) if call.keywords]
    return {str(ast.literal_eval(row)) for call in marks for row in call.args}


def read_unlogged() -> dict[str, list[str]]:
    """The faults that leave none, by the reason."""
    data = tomllib.loads((ROOT / "docs" / "faults.rows.toml").read_text("utf-8"))
    return {reason: list(map(str, rows)) for reason, rows in data["unlogged"].items()}


@cache
def find_tests(page: Page) -> dict[str, list[str]]:
    """The tests that show each row, as pytest names them."""
    shown: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for test, row in find_marks(path.read_text("utf-8"), page.mark):
            shown.setdefault(row, set()).add(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return {row: sorted(tests) for row, tests in sorted(shown.items())}


def render(page: Page, rows: Rows, shown: Mapping[str, list[str]]) -> str:
    """The page."""
    return page.head + "".join(_line(row, words, shown.get(row, [])) for row, words in rows.words.items())


def _line(row: str, words: str, tests: list[str]) -> str:
    none = "" if words.startswith(NOT_DONE) else TO_COME
    return f"| {row} | {words} | {'<br>'.join(f'`{test}`' for test in tests) or none} |\n"


def without_test(rows: Rows, shown: Mapping[str, list[str]]) -> list[str]:
    """Rows that should have a test and have none."""
    promised = {row for row, words in rows.words.items() if not words.startswith(NOT_DONE)}
    return sorted(promised - rows.to_come - shown.keys())


def unknown(rows: Rows, shown: Mapping[str, list[str]]) -> list[str]:
    """Rows that are named in a mark, or as still to come, and that nothing promises."""
    return sorted((shown.keys() | rows.to_come) - rows.words.keys())


if __name__ == "__main__":
    for each in PAGES:
        each.target.write_text(render(each, read_rows(each), find_tests(each)), "utf-8")
