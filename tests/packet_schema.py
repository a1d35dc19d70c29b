"""Writes docs/packets.schema.json, and the table of docs/packets.md; `make docs` runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from deep_research.core.run.events.packets import AnyPacket

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCHEMA = DOCS / "packets.schema.json"
PAGE = DOCS / "packets.md"
TABLE = re.compile(r"(?<=<!-- packets -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = "| type | fields | when |\n|---|---|---|\n"


class OnTheWire(GenerateJsonSchema):
    """Every field is always there, those with a default too."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True


def schema() -> dict[str, Any]:
    """The JSON schema of one packet, as it is on the wire."""
    of_all: TypeAdapter[AnyPacket] = TypeAdapter(AnyPacket)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Packet",
        "description": "One packet of a research run; `type` says which.",
        **of_all.json_schema(mode="serialization", schema_generator=OnTheWire),
    }


def rendered() -> str:
    """The schema as the file holds it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def with_table(page: str) -> str:
    """The page with the present table."""
    return TABLE.sub(lambda _: HEAD + "".join(map(_row, kinds())), page)


def kinds() -> tuple[Any, ...]:
    """The classes of all packets, in the order of the union."""
    return get_args(get_args(AnyPacket)[0])


def _row(kind: Any) -> str:
    properties = kind.model_json_schema(mode="serialization")["properties"]
    fields = [_field(name, entry) for name, entry in properties.items() if name not in ("type", "placement")]
    return f"| `{kind.model_fields['type'].default}` | {'<br>'.join(fields) or '–'} | {kind.__doc__} |\n"


def _field(name: str, entry: Mapping[str, Any]) -> str:
    words = entry.get("description", "").replace("\n", " ")
    return f"`{name}`: {_kind(entry)}" + (f" – {words}" if words else "")


def _kind(entry: Mapping[str, Any]) -> str:
    if "anyOf" in entry:
        return " or ".join(map(_kind, entry["anyOf"]))
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    if "$ref" in entry:
        return str(entry["$ref"]).rpartition("/")[2].lower()
    return f"list of {_kind(entry['items'])}" if entry["type"] == "array" else str(entry["type"])


if __name__ == "__main__":
    SCHEMA.write_text(rendered(), "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
