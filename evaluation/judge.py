"""Adapts the judge of a labelled set, a server that knows what is right, to the forms of this project's checks."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

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
