"""Writes the pages, tables and drawings of `docs/` that follow from the code; `make docs` runs it.

`PAGES` names each page with the function that brings it up to date; a test compares the pages with
what they return.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from deep_research import Context, research
from deep_research.app.cli import cli
from deep_research.app.commands import DOCUMENTS, QUESTION
from deep_research.app.exports.formats import FORMATS
from deep_research.core.events.packets import AnyPacket
from deep_research.core.settings.limits import Limits
from deep_research.graph.drawable import compile_drawable
from deep_research.graph.orchestrated import build_orchestrated_graph, build_researcher_graph
from deep_research.graph.planned import build_planned_graph, build_step_graph
from deep_research.graph.table import build_table_graph

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_DIAGRAM = re.compile(r"```mermaid\n.*?\n```", re.DOTALL)
_FRONT_MATTER = re.compile(r"^---\n.*?---\n", re.DOTALL)
_QUOTED = re.compile(r"(?<=\n\n)(?:>.*\n)+")


# Drawings and the report of the demo


def draw_graphs(text: str, *builders: Callable[[], Any]) -> str:
    """Replace the Mermaid blocks of a page, in their order, by drawings of the graphs."""
    graphs = (compile_drawable(build()).get_graph().draw_mermaid() for build in builders)
    drawings = iter(
        [f"```mermaid\n{_FRONT_MATTER.sub('', graph).strip()}\n```" for graph in graphs]
    )
    return _DIAGRAM.sub(lambda _: next(drawings), text)


def demo_report() -> str:
    """Run the demo and return its report as a quotation in Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        report = research(
            QUESTION, docs=[DOCUMENTS], models="extractive", data_dir=Path(folder)
        ).report
    assert report is not None
    return "".join(f"> {line}".rstrip() + "\n" for line in report.text.strip().splitlines())


# Settings, limits, export formats and the command line


def _fill(text: str, name: str, content: str) -> str:
    """Replace what stands between `<!-- name -->` and `<!-- end -->`."""
    block = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    filled, count = block.subn(lambda _: content, text)
    assert count == 1, name
    return filled


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def settings_table() -> str:
    """Return a row for each setting: name, default, meaning."""
    rows = [
        f"| `{name}` | {_default(field)} | {_cell(field.description)} |\n"
        for name, field in Context.model_fields.items()
        if name not in ("limits", "clock")
    ]
    return "| setting | default | meaning |\n|---|---|---|\n" + "".join(rows)


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Path):
        return "of the system"
    if value is None or value in ("", (), {}):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{', '.join(map(str, value)) if isinstance(value, tuple) else value}`"


def limits_table() -> str:
    """Return a row for each limit: name, default, meaning."""
    rows = [
        f"| `{name}` | {'–' if field.default is None else field.default} | {_cell(field.description)} |\n"
        for name, field in Limits.model_fields.items()
    ]
    return "| limit | default | meaning |\n|---|---|---|\n" + "".join(rows)


def formats_table() -> str:
    """Return a row for each of our export formats: label, name, suffixes, verdicts shown by
    default."""
    rows = list[str]()
    for export_format in FORMATS:
        suffixes = " ".join(f"`{suffix}`" for suffix in export_format.suffixes)
        evidence = f"`{export_format.evidence}`" if export_format.evidence else "–"
        rows.append(
            f"| {export_format.label} | `{export_format.name}` | {suffixes} | {evidence} |\n"
        )
    return (
        "| format | `--format` | `--out` | default of `--evidence` |\n|---|---|---|---|\n"
        + "".join(rows)
    )


def command_line() -> str:
    """Return the page on the command line: the help of each command, and a table of its options."""
    parts = [
        "# Command line\n\nWritten by `make docs`; `deep-research COMMAND --help` shows the same.\n",
        f"{_prose(cli)}\n\n{_options(cli)}",
    ]
    for name, command in sorted(cli.commands.items()):
        context = click.Context(command, info_name=f"deep-research {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(
            f"## {name}\n\n`deep-research {name} {usage}`\n\n{_prose(command)}\n\n{_options(command)}"
        )
    return "\n".join(parts)


def _prose(command: click.Command) -> str:
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")
    )


def _options(command: click.Command) -> str:
    context = click.Context(command)
    records = [
        record
        for parameter in command.params
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    rows = [f"| `{_cell(names)}` | {_cell(words)} |\n" for names, words in records]
    return "| option | meaning |\n|---|---|\n" + "".join(rows) if rows else ""


# Packets


class _OnTheWire(GenerateJsonSchema):
    """Every field is always sent, those with a default too."""

    def field_is_required(self, *_: Any, **__: Any) -> bool:
        return True


def packet_classes() -> tuple[Any, ...]:
    """Return the classes of all packets, in the order of the union."""
    return get_args(get_args(AnyPacket)[0])


def packet_schema() -> dict[str, Any]:
    """Return the JSON schema of one packet, as it is on the wire."""
    adapter: TypeAdapter[AnyPacket] = TypeAdapter(AnyPacket)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Packet",
        "description": "One packet of a research run; `type` says which.",
        **adapter.json_schema(mode="serialization", schema_generator=_OnTheWire),
    }


def packet_table() -> str:
    """Return a row for each packet: type, fields, when it is sent."""
    return "| type | fields | when |\n|---|---|---|\n" + "".join(map(_packet_row, packet_classes()))


def _packet_row(packet: Any) -> str:
    properties = packet.model_json_schema(mode="serialization")["properties"]
    fields = [
        _packet_field(name, entry)
        for name, entry in properties.items()
        if name not in ("type", "placement")
    ]
    return f"| `{packet.model_fields['type'].default}` | {'<br>'.join(fields) or '–'} | {_cell(packet.__doc__)} |\n"


def _packet_field(name: str, entry: Mapping[str, Any]) -> str:
    words = entry.get("description", "").replace("\n", " ")
    return f"`{name}`: {_type_name(entry)}" + (f" – {words}" if words else "")


def _type_name(entry: Mapping[str, Any]) -> str:
    if "anyOf" in entry:
        return " or ".join(map(_type_name, entry["anyOf"]))
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    if "$ref" in entry:
        return str(entry["$ref"]).rpartition("/")[2].lower()
    return (
        f"list of {_type_name(entry['items'])}" if entry["type"] == "array" else str(entry["type"])
    )


# Promises, and the tests that show them


class Promises(NamedTuple):
    """A page of promises; each row is shown by tests with the page's mark."""

    mark: str
    """Name of the pytest mark."""
    rows: Mapping[str, str]
    """What each row promises, by its id; a row that begins with "Not done:" needs no test."""
    pending: frozenset[str]
    """Rows that may be without a test for now."""
    unlogged: frozenset[str]
    """Faults that leave no record in the log; the data file gives the reasons."""

    @property
    def shown(self) -> dict[str, list[str]]:
        """The tests that show each row, as pytest names them."""
        return _marked_tests(self.mark)

    @property
    def without_test(self) -> list[str]:
        """Rows that should have a test and have none."""
        expected = {row for row, words in self.rows.items() if not words.startswith("Not done:")}
        return sorted(expected - self.pending - self.shown.keys())

    @property
    def unknown(self) -> list[str]:
        """Rows in marks, or among the pending, that no page promises."""
        return sorted((self.shown.keys() | self.pending) - self.rows.keys())

    @property
    def logged(self) -> set[str]:
        """Faults of which a test shows that they leave a record in the log: `logs` in its mark."""
        calls = [call for _, _, call in _marks(self.mark) if call.keywords]
        return {str(ast.literal_eval(argument)) for call in calls for argument in call.args}


def read_promises(name: str, mark: str) -> Promises:
    """Read `docs/contributing/{name}.rows.toml`."""
    data = tomllib.loads((DOCS / "contributing" / f"{name}.rows.toml").read_text("utf-8"))
    unlogged = [str(row) for rows in data.get("unlogged", {}).values() for row in rows]
    return Promises(mark, data["rows"], frozenset(map(str, data["next"])), frozenset(unlogged))


BEHAVIOUR = read_promises("behaviour", "behaviour")
FAULTS = read_promises("faults", "fault")


@cache
def _marks(mark: str) -> list[tuple[Path, str, ast.Call]]:
    """Return the marks of this name with file and name of the test, or of the class of tests;
    nothing is executed."""
    found = list[tuple[Path, str, ast.Call]]()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if f".{mark}(" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                calls = _calls_in(node.decorator_list)
                found += [(path, node.name, call) for call in calls if _name_of(call) == mark]
    return found


def _calls_in(decorators: list[ast.expr]) -> Iterator[ast.Call]:
    for decorator in decorators:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call):
                yield node


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


@cache
def _marked_tests(mark: str) -> dict[str, list[str]]:
    shown: dict[str, set[str]] = {}
    for path, test, call in _marks(mark):
        for argument in call.args:
            row = str(ast.literal_eval(argument))
            shown.setdefault(row, set()).add(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return {row: sorted(tests) for row, tests in sorted(shown.items())}


def promises_page(promises: Promises, head: str) -> str:
    """Return the page of promises with the tests that show them."""
    rows = [
        f"| {row} | {words} | {'<br>'.join(f'`{test}`' for test in promises.shown.get(row, []))} |\n"
        for row, words in promises.rows.items()
    ]
    return head + "".join(rows)


def _behaviour(_: str) -> str:
    return promises_page(
        BEHAVIOUR,
        "# Behaviour\n\nWhat a run promises, and the tests that show it. Written by `make docs` from "
        "`behaviour.rows.toml` and the tests' marks.\n\n| row | behaviour | shown by |\n|---|---|---|\n",
    )


def _faults(_: str) -> str:
    return promises_page(
        FAULTS,
        "# Faults\n\nWhat a run survives and what it refuses, and the tests that show it. Written by `make docs` from "
        "`faults.rows.toml` and the tests' marks.\n\n| row | what happens | shown by |\n|---|---|---|\n",
    )


PAGES: Mapping[str, Callable[[str], str]] = {
    "get-started.md": lambda text: _QUOTED.sub(lambda _: demo_report(), text, count=1),
    "concepts.md": lambda text: draw_graphs(text, build_orchestrated_graph),
    "contributing/architecture.md": lambda text: draw_graphs(
        text, build_researcher_graph, build_planned_graph, build_step_graph, build_table_graph
    ),
    "contributing/behaviour.md": _behaviour,
    "contributing/faults.md": _faults,
    "guides/reports.md": lambda text: _fill(text, "formats", formats_table()),
    "reference/settings.md": lambda text: _fill(text, "settings", settings_table()),
    "reference/limits.md": lambda text: _fill(text, "limits", limits_table()),
    "reference/command-line.md": lambda _: command_line(),
    "reference/packets.md": lambda text: _fill(text, "packets", packet_table()),
    "reference/packets.schema.json": lambda _: (
        json.dumps(packet_schema(), indent=2, ensure_ascii=False) + "\n"
    ),
}
"""Each page below `docs/` with what brings its text up to date."""


if __name__ == "__main__":
    for name, update in PAGES.items():
        page = DOCS / name
        page.write_text(update(page.read_text("utf-8")), "utf-8")
