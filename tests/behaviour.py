"""Writes docs/behaviour.md: what is promised, and which tests show it; `make docs` runs it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "behaviour.md"
HEAD = """# Behaviour

What a run promises, and the tests that show it. Written by `make docs` from `behaviour.rows.toml` and the tests' marks.

| row | behaviour | shown by |
|---|---|---|
"""
TO_COME = "*to come*"


class Rows(NamedTuple):
    """The promises."""

    words: Mapping[str, str]
    """What each row promises, by its id."""
    to_come: frozenset[str]
    """Rows that may be without a test."""


def read_rows() -> Rows:
    """The promises as the data file has them."""
    data = tomllib.loads((ROOT / "docs" / "behaviour.rows.toml").read_text("utf-8"))
    return Rows(data["rows"], frozenset(data["next"]))


def find_marks(source: str) -> Iterator[tuple[str, str]]:
    """Each test, or class of tests, with a row that it is marked with; nothing is executed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for call in (inner for decorator in node.decorator_list for inner in ast.walk(decorator)):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr == "behaviour"
                ):
                    yield from ((node.name, ast.literal_eval(argument)) for argument in call.args)


def find_tests() -> dict[str, list[str]]:
    """The tests that show each row, as pytest names them."""
    shown: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for test, row in find_marks(path.read_text("utf-8")):
            shown.setdefault(row, set()).add(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return {row: sorted(tests) for row, tests in sorted(shown.items())}


def render(rows: Rows, shown: Mapping[str, list[str]]) -> str:
    """The page."""
    return HEAD + "".join(_line(row, words, shown.get(row, [])) for row, words in rows.words.items())


def _line(row: str, words: str, tests: list[str]) -> str:
    return f"| {row} | {words} | {'<br>'.join(f'`{test}`' for test in tests) or TO_COME} |\n"


def without_test(rows: Rows, shown: Mapping[str, list[str]]) -> list[str]:
    """Rows that should have a test and have none."""
    return sorted(rows.words.keys() - rows.to_come - shown.keys())


def unknown(rows: Rows, shown: Mapping[str, list[str]]) -> list[str]:
    """Rows that are named in a mark, or as still to come, and that nothing promises."""
    return sorted((shown.keys() | rows.to_come) - rows.words.keys())


if __name__ == "__main__":
    TARGET.write_text(render(read_rows(), find_tests()), "utf-8")
