"""Designs the table: what a row is, its columns, and where rows may be found."""

from __future__ import annotations

from pydantic import Field, field_validator

from ..core.errors import ModelFailed, NoPlan
from ..core.events.blocks import PlanPackets
from ..core.models.resolve import RoleModels
from ..core.records.table import ColumnKind, Kept, TableColumn
from ..core.tables.design import (
    EACH_DOCUMENT,
    MOST_COLUMNS,
    TableDesign,
    clean_columns,
    column_line,
    design_without_model,
)
from ..core.writing.forms import Form
from ..state import ResearchState, StateUpdate
from ._answers import offer_plan, without_plan
from .turn import NodeRuntime, Turn, begin_turn

_MOST_WAYS = 12
"""Maximum number of ways to look in the plan; scouts may name further ones."""
_TITLE = "title of the document"
"""What a key column has if each document is a row and the model does not say."""


class PlannedColumn(Form):
    """A column."""

    name: str
    """One to four words."""
    meaning: str = ""
    """What its cells say, in a phrase, if the name alone does not say it."""
    kind: ColumnKind = "text"
    """What its values are; `money` has a currency, `number` may have a unit of measure."""
    unit: str = ""
    """Unit of measure or currency that the request names for it; else empty."""
    choices: list[str] = Field(default_factory=list)
    """The values to choose from, if `kind` is `choice`."""
    is_key: bool = False
    """Whether it tells rows apart: mostly the name alone. Key columns come first."""


class DesignTable(Form):
    """Hand in the design of the table."""

    title: str = ""
    """Title of the table, ten words at most."""
    row: str
    """What one row is, in a phrase: one grant, one contract."""
    rules: list[str] = Field(default_factory=list)
    """What has to hold for something to count as a row, one condition per item."""
    columns: list[PlannedColumn]
    """The columns in their order."""
    ways: list[str] = Field(default_factory=list)
    """Where rows may be found, each in a phrase that is understood alone: a register, a list page, a category, a family of queries, or a part such as a year or a country."""  # noqa: E501
    is_row_per_document: bool = False
    """Whether each of the user's documents is one row, as with contracts or invoices in a folder."""  # noqa: E501
    max_rows: int = 0
    """The number of rows that the request asks for at most; 0 if it names none."""

    @field_validator("columns")
    @classmethod
    def _have_names(cls, columns: list[PlannedColumn]) -> list[PlannedColumn]:
        if not any(column.name.strip() for column in columns):
            raise ValueError("a table has at least one column with a name")
        return columns


class ChangeTable(DesignTable):
    """Hand in the design of the table that the user now wants."""

    keeps: Kept = "nothing"
    """What stays of the table before: `rows and cells` if rows or columns are added to it, `rows` if its cells are to be looked for again, `nothing` for another table."""  # noqa: E501


async def plan_table(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the planner's model for the design of the table and offer it to the user as a plan.

    Without a model, each document is a row, and the question names the columns; a follow-up adds
    its columns to those of the thread's table.
    """
    turn = await begin_turn(state, runtime)
    turn.announce("plan")
    if _needs_no_model(turn):
        known = state.base.columns if state.base else ()
        most = turn.context.limits.max_rows
        written = design_without_model(state.run.question, most, known).plan()
    else:
        async with turn.paid():
            form = await _ask(turn)
        written = _design(form, turn).plan()
    packets = PlanPackets(turn.placement)
    turn.emit(packets.start(), packets.piece(written.text), packets.end())
    update = await offer_plan(turn, written)
    progress = turn.advanced(opening=len(state.messages), seen_messages=len(state.messages))
    return {**update, "progress": progress}


def _needs_no_model(turn: Turn) -> bool:
    """Whether rows are the documents and cells are quotations, since no model looks for rows;
    raises `NoPlan` if there are no documents either."""
    if not RoleModels(turn.context).only_quotes_rows:
        return False
    if not turn.state.run.scope.docs:
        raise NoPlan(
            "Without a language model, the rows of a table are your documents: name a folder "
            "(docs), or choose a model (models)."
        )
    return True


def _design(form: DesignTable, turn: Turn) -> TableDesign:
    """Return the design that a form says."""
    has_row_per_document = form.is_row_per_document and bool(turn.state.run.scope.docs)
    columns = list[TableColumn]()
    for column in sorted(form.columns, key=lambda column: not column.is_key):
        meaning = " ".join(column.meaning.split())
        if column.is_key and has_row_per_document:
            meaning = meaning or _TITLE
        columns.append(
            TableColumn(
                name=column.name,
                kind=column.kind,
                meaning=meaning,
                unit=" ".join(column.unit.split()),
                choices=tuple(column.choices),
                is_key=column.is_key,
            )
        )
    ways = [" ".join(way.split()) for way in form.ways[:_MOST_WAYS]]
    if has_row_per_document:
        ways = [EACH_DOCUMENT]
    most = turn.context.limits.max_rows
    keeps: Kept = "nothing"
    if isinstance(form, ChangeTable):
        keeps = form.keeps
    return TableDesign(
        keeps=keeps,
        title=" ".join(form.title.split()),
        row=" ".join(form.row.split()),
        rules=tuple(" ".join(rule.split()) for rule in form.rules if rule.strip()),
        columns=clean_columns(columns),
        ways=tuple(filter(None, ways)),
        max_rows=min(form.max_rows or most, most),
    )


async def _ask(turn: Turn) -> DesignTable:
    """Return the planner's form.

    Raises `NoPlan` if the model does not fill it in, or the error of a failed call.
    """
    run = turn.state.run
    context = turn.context
    base = turn.state.base
    form = DesignTable
    table = ""
    if base and base.columns:
        form = ChangeTable
        table = "\n".join(map(column_line, base.columns))
    try:
        return await turn.filler.ask(
            form,
            "planner",
            "plan_table",
            turn.conversation,
            max_columns=MOST_COLUMNS,
            max_rows=context.limits.max_rows,
            instructions=context.instructions,
            assumptions=run.assumptions,
            documents=run.scope.documents,
            has_web=bool(run.scope.engines),
            table=table,
        )
    except ModelFailed as error:
        raise without_plan(error) from None
