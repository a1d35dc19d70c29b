"""What the docs take from the code, packets above all, is up to date, and every promise is shown by
a test."""

from __future__ import annotations

from typing import Any

import pytest
from generated_docs import BEHAVIOUR, DOCS, FAULTS, PAGES, Promises, packet_classes, packet_schema

from deep_research.core.events.packets import Packet

# The page to get started holds the report of a run.
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name == "get-started.md" else [])
    for name in PAGES
]
ON_BOTH_PAGES = pytest.mark.parametrize("promises", [BEHAVIOUR, FAULTS], ids=["behaviour", "fault"])


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_up_to_date(name: str) -> None:
    text = (DOCS / name).read_text("utf-8")
    assert PAGES[name](text) == text, "run make docs"


@ON_BOTH_PAGES
def test_every_row_has_a_test_and_every_mark_a_row(promises: Promises) -> None:
    assert promises.without_test == []
    assert promises.unknown == []


def test_every_fault_leaves_a_record_in_the_log_or_says_why_there_is_none() -> None:
    assert sorted([*FAULTS.logged, *FAULTS.unlogged]) == sorted(FAULTS.rows)


KEPT = {
    "deep_research_plan_start": {},
    "deep_research_plan_delta": {"content": "string"},
    "research_agent_start": {"research_task": "string"},
    "intermediate_report_start": {},
    "intermediate_report_delta": {"content": "string"},
    "intermediate_report_cited_docs": {"cited_docs": "array"},
    "top_level_branching": {"num_parallel_branches": "integer"},
    "section_end": {},
    "reasoning_start": {},
    "reasoning_delta": {"reasoning": "string"},
    "reasoning_done": {},
    "message_start": {"final_documents": None, "pre_answer_processing_seconds": None},
    "message_delta": {"content": "string"},
    "citation_info": {"citation_number": "integer", "document_id": "string"},
    "search_tool_start": {"is_internet_search": "boolean"},
    "search_tool_queries_delta": {"queries": "array"},
    "search_tool_documents_delta": {"documents": "array"},
    "open_url_start": {},
    "open_url_urls": {"urls": "array"},
    "open_url_documents": {"documents": "array"},
}
"""Types whose fields are exactly those that clients of the reference know."""
WIDER = {"search_tool_filter_delta", "error", "chat_heartbeat", "stop"}
"""Types that such clients know with fewer fields."""


def by_type() -> dict[str, dict[str, Any]]:
    """Return the schema of each packet by its wire name."""
    schema = packet_schema()
    names = schema["discriminator"]["mapping"]
    return {wire: schema["$defs"][path.rpartition("/")[2]] for wire, path in names.items()}


def test_every_packet_is_in_the_schema_with_all_its_fields_and_on_the_page() -> None:
    classes = set(packet_classes())
    assert classes == set(Packet.__subclasses__())
    assert {packet.model_fields["type"].default for packet in classes} == by_type().keys()
    assert all(
        set(packet["required"]) == set(packet["properties"]) for packet in by_type().values()
    )
    page = (DOCS / "reference" / "packets.md").read_text("utf-8")
    assert all(f"\n| `{wire}` |" in page for wire in by_type())


def test_names_and_fields_that_clients_know_are_never_changed() -> None:
    packets = by_type()
    for wire, fields in KEPT.items():
        types = {name: entry.get("type") for name, entry in packets[wire]["properties"].items()}
        assert {
            name: kind for name, kind in types.items() if name not in ("type", "placement")
        } == fields
    assert packets.keys() >= WIDER
    placement = packet_schema()["$defs"]["Placement"]["properties"]
    assert list(placement) == ["turn_index", "tab_index", "sub_turn_index", "model_index"]
