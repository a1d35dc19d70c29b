"""Rebuilds a run from its packets: deep-research ask "…" --docs FOLDER --json | python example_client.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any


def rebuild(lines: Iterable[str]) -> dict[str, Any]:
    """Plan, thoughts, researchers with their steps, report, sources with links, and how the run ended."""
    run: dict[str, Any] = {"plan": "", "report": "", "sources": {}, "stop_reason": None}
    thoughts: dict[int, str] = {}
    agents: dict[tuple[int, int], dict[str, Any]] = {}
    documents: dict[str, Any] = {}
    for packet in map(json.loads, lines):
        placement = packet["placement"]
        turn, branch = placement["turn_index"], (placement["turn_index"], placement["tab_index"])
        agent, number = agents.get(branch, {}), placement["sub_turn_index"]
        step = {} if number is None else agent["steps"].setdefault(number, {})
        match packet["type"]:
            case "deep_research_plan_start":
                run["plan"] = ""
            case "deep_research_plan_delta":
                run["plan"] += packet["content"]
            case "reasoning_delta" if number is None:
                thoughts[turn] = thoughts.get(turn, "") + packet["reasoning"]
            case "reasoning_delta":
                step["thought"] = step.get("thought", "") + packet["reasoning"]
            case "research_agent_start":
                agents[branch] = {"task": packet["research_task"], "steps": {}, "finding": "", "cited": []}
            case "search_tool_queries_delta" | "open_url_urls":
                step["asked"] = packet.get("queries") or packet.get("urls")
            case "search_tool_documents_delta" | "open_url_documents":
                step["documents"] = [document["title"] for document in packet["documents"]]
            case "intermediate_report_start":
                agent["finding"] = ""
            case "intermediate_report_delta":
                agent["finding"] += packet["content"]
            case "intermediate_report_cited_docs":
                agent["cited"] = [document["title"] for document in packet["cited_docs"]]
            case "error":
                agent.setdefault("errors", []).append(packet["message"])
            case "message_start":
                run |= {"report": "", "sources": {}}
                documents = {document["document_id"]: document for document in packet["final_documents"] or ()}
            case "message_delta":
                run["report"] += packet["content"]
            case "citation_info":
                run["sources"][packet["citation_number"]] = documents[packet["document_id"]]["link"]
            case "notes_added" | "stop":
                run |= {name: packet[name] for name in ("above", "notes", "stop_reason") if name in packet}
    for agent in agents.values():
        agent["steps"] = [step for _, step in sorted(agent["steps"].items()) if step]
    return {**run, "thoughts": list(thoughts.values()), "researchers": [agents[branch] for branch in sorted(agents)]}


if __name__ == "__main__":
    json.dump(rebuild(sys.stdin), sys.stdout, indent=2)
