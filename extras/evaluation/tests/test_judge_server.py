"""The judge that knows the labels: what it says of statements that reason, and a check by it over
the wire."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kit.openai_server import OpenAIServer, Received, Reply, openai_server, use

from deep_research_evaluation.__main__ import cli

REQUEST = (
    "We own 900 homes in Ellern and would like to know what heating them with the new network "
    "would cost in a year."
)
TARIFF = "The network charges 708 euros a year for each home. Members of the co-op pay 15% less."
TITLE = "Tariff of the network"
BODY = (
    "Your 900 homes would pay 637,200 euros a year [1]. You own 950 homes. "
    "As a member you would pay 541,620 euros [1]. Begin with a pilot of 40 homes."
)
RIGHT = "You own 900 homes."


def unit(number: int, text: str, label: str, **fields: Any) -> dict[str, Any]:
    """A line of `units.jsonl` about a sentence of the report."""
    line = {
        "id": f"u{number}",
        "report": "heat.md",
        "corpus": "heat",
        "text": text,
        "kind": "sentence",
        "place": "",
        "label": label,
        "cited": [],
        "evidence": [],
        "sentence_id": f"s{number}",
        "sentence": text,
    }
    return {**line, **fields}


def evidence(*passages: str) -> list[dict[str, str]]:
    """The deciding passages of the only document."""
    return [{"doc": "tariff.md", "passage": passage} for passage in passages]


def calculation(*lines: str, decimals: bool = False) -> dict[str, Any]:
    return {"lines": list(lines), "inputs": [], "decimals": decimals}


TOTAL, OWN, MEMBER, PILOT = (f"{text.strip().rstrip('.')}." for text in BODY.split(". "))
UNITS = [
    unit(
        1,
        TOTAL,
        "supported",
        place="premise_total",
        evidence=evidence("708 euros a year for each home"),
        premise=["900 homes"],
        calculation=calculation("900 * 708 = 637,200"),
    ),
    unit(
        2,
        OWN,
        "contradicted",
        place="premise",
        premise=["900 homes"],
        edit="premise",
        right=["You own 900 homes"],
        true_text=RIGHT,
        true_cited=[],
    ),
    unit(
        3,
        MEMBER,
        "supported",
        place="percent",
        evidence=evidence("708 euros a year for each home", "Members of the co-op pay 15% less."),
        premise=["900 homes"],
        calculation=calculation("708 * (100% - 15%) * 900 = 541,620"),
    ),
    unit(4, PILOT, "conclusion", place="advice_number"),
]


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    """A set of one report with the request that it answers."""
    folder = tmp_path / "set"
    for name, text in {
        "corpora/heat/tariff.md": f"# {TITLE}\n\n{TARIFF}\n",
        "reports/heat.md": f"{BODY}\n\n## Sources\n\n- [1] {TITLE}, tariff.md\n",
        "units.jsonl": "".join(f"{json.dumps(line)}\n" for line in UNITS),
        "requests.jsonl": json.dumps(
            {"report": "heat.md", "request": REQUEST, "reader": "owner", "date": "2026-03-02"}
        ),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@cache
def script() -> Any:
    """The script, which belongs to no package, as a module."""
    path = Path(__file__).parents[1] / "judge_server.py"
    spec = importlib.util.spec_from_file_location("judge_server", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge(folder: Path, **options: Any) -> Any:
    """The judge of a set, as the script makes it with `--strict --by-passage`."""
    return script().Judge([folder], strict=True, by_passage=True, **options)


def asked(
    units: Sequence[str],
    passages: Sequence[str] = (TARIFF,),
    verdicts: Sequence[str] = ("supported", "contradicted", "not_found", "reasoning"),
    **knowledge: Any,
) -> dict[str, Any]:
    """A request to judge units; further `knowledge` is shown beside them."""
    shown = {
        **knowledge,
        "sources": [{"source": 1, "title": TITLE, "passages": list(passages)}],
        "units": [{"unit": number, "says": says} for number, says in enumerate(units, 1)],
    }
    verdict = {"verdict": {"enum": list(verdicts), "type": "string"}}
    items = {"type": "object", "properties": verdict}
    parameters = {"properties": {"verdicts": {"type": "array", "items": items}}}
    return {
        "messages": [{"role": "user", "content": json.dumps({"knowledge": shown})}],
        "tools": [
            {"type": "function", "function": {"name": "judge_units", "parameters": parameters}}
        ],
    }


def verdicts(judge: Any, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The verdicts that the judge hands in."""
    tool, arguments = judge.reply(body)
    assert tool == "judge_units"
    said: list[dict[str, Any]] = arguments["verdicts"]
    return said


def test_a_judge_that_is_not_shown_the_request_takes_its_figures_on_trust(heat: Path) -> None:
    total, own, *_ = verdicts(judge(heat), asked([TOTAL, OWN]))
    assert (total["verdict"], own["verdict"]) == ("supported", "reasoning")
    assert total["words"] == "708 euros a year for each home"
    assert total["calculations"] == ["900 * 708 = 637,200"]


def test_a_judge_that_is_shown_the_request_quotes_it_and_contradicts_a_wrong_figure(
    heat: Path,
) -> None:
    total, own = verdicts(judge(heat), asked([TOTAL, OWN], request=[REQUEST, "With 40 if not."]))
    assert total["verdict"] == "supported"
    assert total["words"] == "900 homes\n708 euros a year for each home"
    assert (own["verdict"], own["words"], own["right"]) == (
        "contradicted",
        "900 homes",
        "You own 900 homes",
    )


def test_a_request_that_is_shown_elsewhere_is_quoted_only_if_the_judge_is_told_to(
    heat: Path,
) -> None:
    body = asked([TOTAL])
    body["messages"].insert(0, {"role": "system", "content": f"It was asked: {REQUEST}"})
    for quotes, words in ((False, ""), (True, "900 homes\n")):
        [total] = verdicts(judge(heat, quote_request=quotes), body)
        assert total["words"] == f"{words}708 euros a year for each home"


def test_a_calculated_statement_is_supported_only_if_all_of_its_evidence_is_shown(
    heat: Path,
) -> None:
    shown = TARIFF.partition(". ")[0]
    [member] = verdicts(judge(heat), asked([MEMBER], [shown]))
    assert member["verdict"] == "not_found"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({}, ["708 * (100% - 15%) * 900 = 541,620"]),
        ({"decimals": True}, ["708 * (1 - 0.15) * 900 = 541,620"]),
        ({"rounded": True}, ["100% - 15% = 85%", "708 * 85% * 900 = 541,620"]),
        ({"rounded": True, "decimals": True}, ["1 - 0.15 = 0.85", "708 * 0.85 * 900 = 541,620"]),
    ],
)
def test_calculations_are_written_in_the_form_that_was_chosen(
    heat: Path, options: dict[str, bool], lines: list[str]
) -> None:
    [member] = verdicts(judge(heat, **options), asked([MEMBER]))
    assert member["calculations"] == lines


@pytest.mark.parametrize(
    ("lines", "says", "expected"),
    [
        # Few digits are enough for the last result.
        (
            ["319.8 * 27.4 / 100 = 87.63", "(87.63 + 19) / 2 = 53"],
            "about 53",
            ["319.8 * 27.4 / 100 = 87.6", "87.6 + 19 = 107", "107 / 2 = 53"],
        ),
        # A result that the statement names stays, and so do the digits that it needs.
        (
            ["319.8 * 27.4 / 100 = 87.63", "87.63 + 19 = 106.63"],
            "87.63, together 106.63",
            ["319.8 * 27.4 / 100 = 87.63", "87.63 + 19 = 106.63"],
        ),
        (["Ash, Birch, Elm = 3"], "three trees", ["Ash, Birch, Elm = 3"]),
        (["90 / (30 - (4 + 5 * 2)) = 5.6"], "5.6", ["5 * 2 = 10", "4 + 10 = 14", "30 - 14 = 16", "90 / 16 = 5.6"]),
    ],
)  # fmt: skip
def test_each_line_is_rounded_as_far_as_the_result_allows(
    heat: Path, lines: list[str], says: str, expected: list[str]
) -> None:
    calculated = unit(1, says, "supported", calculation=calculation(*lines))
    assert judge(heat, rounded=True).lines_of(calculated) == expected


@pytest.mark.parametrize(("more", "verdict"), [((), "reasoning"), (("advice",), "advice")])
def test_advice_is_called_so_if_the_verdict_exists(
    heat: Path, more: tuple[str, ...], verdict: str
) -> None:
    known = ("supported", "contradicted", "not_found", "reasoning", *more)
    [pilot] = verdicts(judge(heat), asked([PILOT], verdicts=known))
    assert pilot["verdict"] == verdict


def test_a_second_look_gets_the_same_answer(heat: Path) -> None:
    first = asked([TOTAL], request=[REQUEST])
    again = asked([TOTAL], request=[REQUEST])
    shown = json.loads(again["messages"][0]["content"])
    shown["knowledge"]["units"][0] |= {
        "not_proved": "637,200 follows from nothing given",
        "words_before": "708 euros a year for each home",
    }
    again["messages"][0]["content"] = json.dumps(shown)
    perfect = judge(heat)
    assert verdicts(perfect, again) == verdicts(perfect, first)


def test_a_statement_of_the_trial_is_answered_with_the_passage_that_decides_it(heat: Path) -> None:
    bridge = "The bridge is 84 metres long. Its repair is planned but not yet paid for."
    statements = [
        "The Torne bridge is 84 metres long.",
        "The Torne bridge is 48 metres wide, and its repair is paid for.",
    ]
    said = verdicts(judge(heat), asked(statements, ["The mill ground rye.", bridge]))
    assert [(verdict["verdict"], verdict["words"]) for verdict in said] == [
        ("supported", bridge),
        ("contradicted", bridge),
    ]


@pytest.mark.parametrize(("more", "verdict"), [((), "reasoning"), (("advice",), "advice")])
def test_a_statement_of_the_trial_may_have_calculations_and_rest_on_the_request(
    heat: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], verdict: str
) -> None:
    says = "Set 1,200 euros aside."
    answer = script().Tried("advice", ("40 each", "30 of them"), ("30 * 40 = 1,200",))
    monkeypatch.setitem(script().TRIAL, says, answer)
    known = ("supported", "contradicted", "not_found", "reasoning", *more)
    body = asked([says], ["They cost 40 each."], known, request=["I need 30 of them."])
    assert verdicts(judge(heat), body) == [
        {
            "unit": 1,
            "verdict": verdict,
            "words": "They cost 40 each.\nI need 30 of them.",
            "calculations": ["30 * 40 = 1,200"],
        }
    ]


def checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str, **options: Any
) -> tuple[OpenAIServer, list[str]]:
    """Check a set with its judge as the model, over HTTP; return the server, and what is shown of
    each unit."""
    asked_judge = judge(folder, **options)

    def answer(request: Received) -> Reply:
        return use(asked_judge.reply(request.json))

    out = folder / "out"
    with openai_server(answer) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        given = ["--model", "openai:gpt-4o", "--verify", "repair", "--out", str(out), *more]
        done = CliRunner().invoke(cli, ["checks", str(folder), *given], standalone_mode=False)
    assert done.exception is None, done.output
    # The judge passes the trial, if there is one, and no call fails.
    assert done.output.startswith("heat.md: ") and done.output.count("\n") == 1
    lines = (out / "heat.verdicts.jsonl").read_text("utf-8").splitlines()
    return server, [json.loads(line)["shown"] for line in lines]


def test_a_report_is_checked_on_its_own_day(heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, shown = checked(heat, monkeypatch)
    assert server.requests and len(shown) == len(UNITS)
    assert all("Today is Monday, 02 March 2026." in request.system for request in server.requests)


def test_a_report_is_checked_with_its_request(heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = checked(heat, monkeypatch)
    assert any(REQUEST in request.prompt for request in server.requests)


def test_a_judge_that_agrees_with_everything_is_asked_if_it_is_trusted(
    heat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = checked(heat, monkeypatch, "--trust-verifier", yes="yes")
    assert "Your 900 homes would pay" in server.requests[0].prompt
