"""The design of a table (what a row is, its columns, where rows may be found) as the text of a
plan, which the user can edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self, get_args

from ..dialogue.plan_text import PlanText
from ..records.research import Plan
from ..records.table import ColumnKind, Kept, TableColumn

MOST_COLUMNS = 30
"""Maximum number of columns of a table."""
EACH_DOCUMENT = "each document"
"""The place to look that makes every document of the user a row."""
_KINDS: Mapping[str, ColumnKind] = {str(kind): kind for kind in get_args(ColumnKind)}
_KEPT: Mapping[str, Kept] = {str(kept): kept for kept in get_args(Kept)}
_KEY = "key"
_KIND = re.compile(rf"\s*\(({'|'.join(map(re.escape, _KINDS))})\b([^()]*)\)\s*:?\s*", re.IGNORECASE)
_ROW, _RULE, _PLACE, _MOST, _KEEP = "One row", "Counts if", "Look in", "At most", "Keep"
"""Beginnings of the lines below the columns."""
_HEADING = "Rows"
_DOCUMENT, _STATEMENT, _ONE_DOCUMENT = "Document", "Statement", "one document"
"""Names of columns and of a row where no model names them."""
_PART = re.compile(r"from character (\d+) of (\S.*)")
_BRACKETED = re.compile(r"\([^()]*\)\s*$")
"""Matches brackets at the end of a column's name."""
_MEASURED = ("number", "money")
"""Kinds that may have a unit or currency."""
_NO_KIND = (
    "is no kind of column. The kinds are (text), (number in metres), (money in EUR), (date), "
    "(yes/no), (choice: one; other) and (link), each with a key as in (text, key). Brackets that "
    "belong to a name stand before its kind"
)
_SEPARATOR = re.compile(r"[,;\n、，；]|\s(?:and|und|et|y|e|en)\s")
"""What separates the columns that a question names."""


class TableDesign(NamedTuple):
    """What a table is to have."""

    title: str
    row: str
    """What one row is, in a phrase."""
    rules: tuple[str, ...]
    """What has to hold for something to count as a row."""
    columns: tuple[TableColumn, ...]
    ways: tuple[str, ...]
    """Where rows may be found: registers, lists, categories, or parts of the key space."""
    max_rows: int
    """Maximum number of rows; 0 if it names none."""
    keeps: Kept = "nothing"
    """What it keeps of the thread's table."""

    @classmethod
    def read(cls, plan: Plan) -> Self:
        """Return the design that the text of a plan has, as a model or the user wrote it.

        If no column is marked as the key, the first one is.
        """
        parts = PlanText.read(plan.text)
        by_name = dict[str, TableColumn]()
        for line in plan.steps:
            column = _column(line)
            if column.name:
                by_name.setdefault(column.name, column)
        columns = list(by_name.values())
        if columns and not any(column.is_key for column in columns):
            columns[0] = columns[0].model_copy(update={"is_key": True})
        lines = _labelled(plan.requirements)
        return cls(
            title=parts.title,
            row="; ".join(lines[_ROW]),
            rules=tuple(lines[_RULE]),
            columns=tuple(columns[:MOST_COLUMNS]),
            ways=tuple(lines[_PLACE]),
            max_rows=_most_in("".join(lines[_MOST])),
            keeps=_kept("".join(lines[_KEEP])),
        )

    def plan(self) -> Plan:
        """Return the plan whose text says this design."""
        text = list[str]()
        if self.title:
            text += [f"# {self.title}", ""]
        columns = list(map(column_line, self.columns))
        for number, line in enumerate(columns, 1):
            text.append(f"{number}. {line}")
        text += ["", f"## {_HEADING}", ""]
        lines = [f"{_ROW}: {self.row}"]
        for rule in self.rules:
            lines.append(f"{_RULE}: {rule}")
        for way in self.ways:
            lines.append(f"{_PLACE}: {way}")
        if self.max_rows:
            lines.append(f"{_MOST}: {self.max_rows} rows")
        if self.keeps != "nothing":
            lines.append(f"{_KEEP}: {self.keeps}")
        for line in lines:
            text.append(f"- {line}")
        return Plan(
            text="\n".join(text),
            title=self.title,
            steps=tuple(columns),
            requirements=tuple(lines),
        )

    @property
    def key_columns(self) -> list[TableColumn]:
        """The columns that tell rows apart."""
        return [column for column in self.columns if column.is_key]

    @property
    def has_row_per_document(self) -> bool:
        """Whether each document of the user is a row, so that none has to be searched for."""
        return any(way.casefold().startswith(EACH_DOCUMENT) for way in self.ways)


class PagePart(NamedTuple):
    """A part of a page or document, as a place to look for rows."""

    address: str
    start: int
    """Offset at which it begins."""

    @property
    def way(self) -> str:
        """It in words, which `read` understands."""
        return f"from character {self.start} of {self.address}"

    @classmethod
    def read(cls, way: str) -> Self | None:
        """Return the part that a place to look names; None if that is no part of a page."""
        found = _PART.fullmatch(way)
        return cls(found[2], int(found[1])) if found else None


def plan_fault(plan: Plan, before: Plan) -> str:
    """Return what is wrong with the lines that the user has changed in the plan of a table, worded
    for the user; empty if each says something."""
    faults = list[str]()
    for line in plan.steps:
        fault = "" if line in before.steps else _column_fault(line)
        if fault:
            faults.append(f"“{line}”: {fault}.")
    for line in plan.requirements:
        if line in before.requirements:
            continue
        label, _, text = line.partition(":")
        known = label.strip().capitalize()
        if known == _MOST and not _most_in(text):
            faults.append(f"“{line}”: name a number, as in “{_MOST}: 40 rows”.")
        if known == _KEEP and text.strip().casefold() not in _KEPT:
            kinds = ", ".join(f"“{kept}”" for kept in sorted(_KEPT, reverse=True))
            faults.append(f"“{line}”: the table keeps one of {kinds}.")
    return " ".join(faults)


def _column_fault(line: str) -> str:
    """Return what is wrong with the kind in the line of a column; empty if nothing is."""
    kind = _KIND.search(line)
    if kind is None:
        brackets = _BRACKETED.search(line.partition(":")[0])
        return f"{brackets[0].strip()} {_NO_KIND}" if brackets else ""
    column = _column(line)
    has_unit = bool(column.unit) and column.kind not in _MEASURED
    return f"{kind[0].strip(' :')} {_NO_KIND}" if has_unit else ""


def _most_in(text: str) -> int:
    """Return the number of rows that a line names; 0 if it names none."""
    found = re.search(r"\d+(?:[,. ]\d{3})*", text)
    return int(re.sub(r"\D", "", found[0])) if found else 0


def _column(line: str) -> TableColumn:
    """Return the column of a line such as `Amount (money in EUR): what was paid`."""
    kind = _KIND.search(line)
    if kind is None:
        name, _, meaning = line.partition(":")
        return TableColumn(name=_plain(name), meaning=meaning.strip())
    details = kind[2].strip(" ,")
    is_key = False
    if details == _KEY or details.endswith(f", {_KEY}"):
        is_key = True
        details = details.removesuffix(_KEY).strip(" ,")
    choices = list[str]()
    unit = details.removeprefix("in ").strip()
    if kind[1].lower() == "choice":
        choices += filter(None, map(str.strip, details.lstrip(": ").split(";")))
        unit = ""
    return TableColumn(
        name=_plain(line[: kind.start()]),
        kind=_KINDS[kind[1].lower()],
        meaning=line[kind.end() :].strip(),
        unit=unit,
        choices=tuple(choices),
        is_key=is_key,
    )


def column_line(column: TableColumn) -> str:
    """Return the line of a column, which `_column` reads."""
    details = str(column.kind)
    if column.choices:
        details += f": {'; '.join(column.choices)}"
    elif column.unit:
        details += f" in {column.unit}"
    if column.is_key:
        details += f", {_KEY}"
    line = f"{column.name} ({details})"
    if column.meaning:
        line += f": {column.meaning}"
    return line


def _plain(name: str) -> str:
    """Return the name of a column without marks that would divide a cell or a line."""
    return " ".join(name.replace("|", "/").replace(":", " ").strip("* ").split())


def _labelled(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the texts behind each of the known beginnings of lines; other lines are rules."""
    found: dict[str, list[str]] = {_ROW: [], _RULE: [], _PLACE: [], _MOST: [], _KEEP: []}
    for line in lines:
        label, _, text = line.partition(":")
        known = label.strip().capitalize()
        if known in found:
            found[known].append(text.strip())
        else:
            found[_RULE].append(line.strip())
    return found


def _kept(words: str) -> Kept:
    """Return what a line says is kept of the thread's table."""
    return _KEPT.get(words.strip().casefold(), "nothing")


def design_without_model(
    question: str, max_rows: int, known: Sequence[TableColumn] = ()
) -> TableDesign:
    """Return the design of a table with a row for each document, whose columns the question names.

    They are what follows its last colon, separated by commas, semicolons or lines. If it names
    none, the only column has what a document says on the question. `known`: the columns of the
    thread's table, which are kept with their cells; the question adds to them.
    """
    _, colon, listed = question.rpartition(":")
    columns = list(known) or [TableColumn(name=_DOCUMENT, is_key=True)]
    if colon:
        for name in _SEPARATOR.split(listed):
            columns.append(_column(name.strip(" .-*")))
    elif not known:
        columns.append(TableColumn(name=_STATEMENT, meaning=" ".join(question.split())))
    is_of_documents = columns[0].name == _DOCUMENT
    return TableDesign(
        title="",
        row=_ONE_DOCUMENT,
        rules=(),
        columns=clean_columns(columns),
        ways=(EACH_DOCUMENT,) if is_of_documents else (),
        max_rows=max_rows,
        keeps="rows and cells" if known else "nothing",
    )


def clean_columns(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """Return columns as the text of a plan can say them: each name once, in one line."""
    clean: dict[str, TableColumn] = {}
    for column in columns[:MOST_COLUMNS]:
        read = _column(column_line(column.model_copy(update={"name": _plain(column.name)})))
        if read.name:
            clean.setdefault(read.name.casefold(), read)
    return tuple(clean.values())
