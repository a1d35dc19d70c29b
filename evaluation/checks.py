"""Puts finished reports through the check that ends a run, to measure what it finds, mends and spoils.

A set is a folder with `reports/NAME.md` and the documents that they cite in `corpora/NAME/`; the list of sources at the
end of a report names them.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from deep_research import Context, SourceDocument, check_report

VERDICTS = {"yes": "supported", "part": "missing", "no": "contradicted"}
NEEDS_NO_SOURCE = ("conclusion", "gap_statement", "no_claim")


def load(folder: Path) -> Any:
    """The judge server of a set as a module, which answers what `verify_report` asks."""
    spec = importlib.util.spec_from_file_location("judge_server", folder / "judge_server.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server: Any = module
    rewritten = server.answer

    class Judge(server.Judge):  # type: ignore[misc]
        """The judge, asked about units and sources instead of pairs."""

        def reply(self, body: Any) -> Any:
            asked = _asked(body)
            if asked is None:
                return None
            form, shown = asked
            if form == "rewrite":
                return rewritten("rewrite", [(one["number"], self.rewrite(one)) for one in shown["sentences"]])
            passages = {one["source"]: one["passages"] for one in shown.get("sources", ())}
            return "judge_units", {"verdicts": [self._judged(unit, passages) for unit in shown["units"]]}

        def _judged(self, unit: Any, passages: Any) -> dict[str, Any]:
            own = [text for number in unit.get("cites") or passages for text in passages.get(number, ())]
            places = [place for text in own if (place := self.place_of(unit["says"], text))]
            found = self.units_in(unit["says"], places[0][0] if places else None)
            if found and all(one["label"] in NEEDS_NO_SOURCE for one, *_ in found):
                return {"unit": unit["unit"], "verdict": "own"}
            said = [self.verdict(unit["says"], text) for text in own]
            best = next((word for word in ("yes", "part", "no") if word in said), "no")
            return {"unit": unit["unit"], "verdict": VERDICTS[best]}

    server.Judge = Judge
    server.questions = lambda body: _asked(body) and ("judge", [])
    return server


def _asked(body: Any) -> tuple[str, Any] | None:
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    form = "judge" if "judge_units" in names else "rewrite" if "rewrite_sentences" in names else ""
    for message in reversed(body.get("messages", [])) if form else ():
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
        for start in re.finditer(r'\{"knowledge"', content):
            shown, _ = json.JSONDecoder().raw_decode(content[start.start() :])
            return form, shown["knowledge"]
    return None


_LIST = re.compile(r"^## (?:Sources|Quellen|Références)\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[(\d+)\] (.+), (\S+)$", re.MULTILINE)


class Checked(NamedTuple):
    """A report that went through the check."""

    name: str
    """Name of its file."""
    text: str
    """What became of it, with its list of sources."""
    report: Any
    """The same as `check_report` returns it, with its claims and its audit."""


async def check_reports(folder: Path, context: Context) -> list[Checked]:
    """Check the reports of a set, one after the other, with these settings."""
    return [await _check(path, folder / "corpora" / path.stem, context) for path in sorted(folder.glob("reports/*.md"))]


async def _check(path: Path, corpus: Path, context: Context) -> Checked:
    text = path.read_text("utf-8")
    entries = {int(number): (title, file) for number, title, file in _ENTRY.findall(text)}
    sources = {
        number: SourceDocument(title, (corpus / file).read_text("utf-8")) for number, (title, file) in entries.items()
    }
    report = await check_report(_LIST.split(text)[0].strip(), sources, context)
    listed = [f"- [{place}] {', '.join(entries[int(key)])}" for place, key in enumerate(report.sources, 1)]
    return Checked(path.name, "\n".join([report.text, "", "## Sources", "", *listed, ""]), report)
